// The executor's table for a delegate that is an object on the heap. C++17.
#pragma once
#include <new>

#include "wick/backend.h"

namespace wick {

/// The table of a class with
///   Error load(BackendInit& context, Span<const uint8_t> payload);   called once; an error destroys the object
///   void execute(KernelContext& context, Span<EValue*> args);
template <typename Delegate>
constexpr Backend delegate_table(const char* id) {
  return {id,
          [](BackendInit& context, Span<const uint8_t> payload, void** handle) {
            Delegate* delegate = new (std::nothrow) Delegate;
            if (!delegate) return Error::DelegateMemoryAllocationFailed;
            const Error error = delegate->load(context, payload);
            if (error != Error::Ok) {
              delete delegate;
              return error;
            }
            *handle = delegate;
            return Error::Ok;
          },
          [](KernelContext& context, void* handle, Span<EValue*> args) {
            static_cast<Delegate*>(handle)->execute(context, args);
          },
          [](void* handle) { delete static_cast<Delegate*>(handle); }};
}

}  // namespace wick
