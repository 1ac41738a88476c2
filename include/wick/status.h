// Error codes and Result<T> of the runtime. C++17, freestanding.
#pragma once
#include <stdint.h>

#include <new>
#include <type_traits>
#include <utility>

namespace wick {

/// Errors at run time. The numbers are ExecuTorch's, so a tool for one runtime can read those of the other.
enum class Error : uint32_t {
  Ok = 0x00,
  Internal = 0x01,
  InvalidState = 0x02,
  EndOfMethod = 0x03,
  AlreadyLoaded = 0x04,
  NotSupported = 0x10,
  NotImplemented = 0x11,
  InvalidArgument = 0x12,
  InvalidType = 0x13,
  OperatorMissing = 0x14,
  RegistrationExceedingMaxKernels = 0x15,
  RegistrationAlreadyRegistered = 0x16,
  NotFound = 0x20,
  MemoryAllocationFailed = 0x21,
  AccessFailed = 0x22,
  InvalidProgram = 0x23,
  InvalidExternalData = 0x24,
  OutOfResources = 0x25,
  DelegateInvalidCompatibility = 0x30,
  DelegateMemoryAllocationFailed = 0x31,
  DelegateInvalidHandle = 0x32,
};

/// The enumerator's name, for example "InvalidProgram"; "Unknown" for any other number.
const char* error_name(Error error);

/// A value of type T or the error that prevented it. Never holds Error::Ok without a value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(Error error) : error_(error == Error::Ok ? Error::Internal : error) {}
  Result(const T& value) : error_(Error::Ok) { new (&storage_) T(value); }
  Result(T&& value) : error_(Error::Ok) { new (&storage_) T(std::move(value)); }
  Result(Result&& other) noexcept : error_(other.error_) {
    if (ok()) new (&storage_) T(std::move(other.get()));
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;
  ~Result() {
    if (ok()) get().~T();
  }

  bool ok() const { return error_ == Error::Ok; }
  explicit operator bool() const { return ok(); }
  Error error() const { return error_; }
  /// The value. Only when ok().
  T& get() { return *reinterpret_cast<T*>(&storage_); }
  const T& get() const { return *reinterpret_cast<const T*>(&storage_); }
  T& operator*() { return get(); }
  const T& operator*() const { return get(); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

 private:
  Error error_;
  typename std::aligned_storage<sizeof(T), alignof(T)>::type storage_;
};

}  // namespace wick
