// How delegates reach the executor: a backend is a table of functions. C++17, freestanding.
#pragma once
#include "wick/kernel.h"
#include "wick/program.h"

namespace wick {

struct Tracer;

/// A finished piece of work inside a delegate. The strings live as long as the delegate.
struct DelegateEvent {
  const char* kind;       // name of its kind in the payload: "fully_connected"
  const char* name;       // name of the code that executes it: "Fully Connected (NC, F32) GEMM"
  uint32_t debug_handle;  // which node of the model it came from, as the compiler numbered them; ~0: none
  uint64_t start_ns;      // since the delegate began
  uint64_t duration_ns;
};

/// Options of the caller of a load for delegates. Used during load only.
struct DelegateOptions {
  /// The device to run on: "NAME:1". A backend ignores a name that is not one of its devices and uses its default
  /// device.
  const char* device = "";
  /// Identifies a session: methods that are loaded with equal sessions share mutable state inside delegates by name.
  /// Null: each method is a session of its own.
  const void* session = nullptr;
  /// False: backends refuse payloads that hold machine code, because it cannot be checked.
  bool allow_device_code = true;
};

/// The services that a backend may use while a delegate is loaded. Memory from `allocate` lives as long as the method.
class BackendInit {
 public:
  BackendInit(const MethodMeta& method, size_t delegate, Span<const DataMap> data, Span<uint8_t>* arena,
              Parallelism* parallelism, IsaLevel isa, ErrorText* text, const void* instance = nullptr,
              const Tracer* tracer = nullptr, uint64_t* heap_budget = nullptr, DelegateOptions options = {})
      : method_(method),
        delegate_(delegate),
        data_(data),
        arena_(arena),
        parallelism_(parallelism),
        isa_(isa),
        text_(text),
        instance_(instance),
        tracer_(tracer),
        heap_budget_(heap_budget),
        options_(options) {}

  const MethodMeta& method() const { return method_; }
  size_t num_specs() const { return method_.delegate(delegate_).num_specs; }
  CompileSpec spec(size_t index) const { return method_.compile_spec(delegate_, index); }
  /// A named blob: from the .ptd files first, then from the program.
  Result<Span<const uint8_t>> named_data(const char* key) const;
  /// Returns bytes of the method arena, or null if there are too few (then return DelegateMemoryAllocationFailed).
  void* allocate(size_t size_bytes, size_t alignment = 16);
  Parallelism* parallelism() const { return parallelism_; }
  IsaLevel isa() const { return isa_; }
  /// Explains a failure; may be null.
  ErrorText* text() const { return text_; }
  /// Identifies the loaded method. It is the same for the method's delegates, which never run at the same time, and
  /// different for every other loaded method. Null: unknown.
  const void* instance() const { return instance_; }
  /// Identifies the session of the loaded method: delegates with equal sessions share state by name. Null: unknown.
  const void* session() const { return options_.session ? options_.session : instance_; }
  /// The name of a device, "" for the default one. Never null.
  const char* device() const { return options_.device ? options_.device : ""; }
  bool allows_device_code() const { return options_.allow_device_code; }
  /// The tracer to which work inside the delegate is reported; usually null. It outlives the delegate.
  const Tracer* tracer() const { return tracer_; }
  /// Bytes that the method's delegates may still allocate outside the arena.
  uint64_t heap_budget() const { return heap_budget_ ? *heap_budget_ : UINT64_MAX; }
  /// Takes bytes from that budget. False if it is too small (then return DelegateMemoryAllocationFailed).
  bool take_heap(uint64_t size_bytes) {
    if (size_bytes > heap_budget()) return false;
    if (heap_budget_) *heap_budget_ -= size_bytes;
    return true;
  }

 private:
  const MethodMeta& method_;
  size_t delegate_;
  Span<const DataMap> data_;
  Span<uint8_t>* arena_;  // what is left of the method arena
  Parallelism* parallelism_;
  IsaLevel isa_;
  ErrorText* text_;
  const void* instance_;
  const Tracer* tracer_;
  uint64_t* heap_budget_;
  DelegateOptions options_;
};

/// Memory of a device. Addresses may mean nothing on the host.
struct DeviceMemory {
  void* data = nullptr;
  size_t size_bytes = 0;
  void* owner = nullptr;  // the argument of Backend::free_arena
};

/// The functions of a backend. `payload` is untrusted and stays in place while the delegate lives. `execute` receives
/// inputs, then outputs, and reports failure through the context. It checks tags, dtypes and sizes itself and changes
/// no tag. `destroy` may be null.
struct Backend {
  const char* id;
  Error (*init)(BackendInit& context, Span<const uint8_t> payload, void** handle);
  void (*execute)(KernelContext& context, void* handle, Span<EValue*> args);
  void (*destroy)(void* handle);
  /// DeviceType of schema/program.fbs: arenas on such a device are memory from `allocate_arena`, and arguments of the
  /// backend's delegates may lie in them. 0: delegates take host memory only, and the two functions are null.
  uint8_t device_type = 0;
  /// Allocates `size_bytes` (at least one), aligned to 256, with any content. `text` (may be null) explains a failure.
  Error (*allocate_arena)(const DelegateOptions& options, uint64_t size_bytes, ErrorText* text,
                          DeviceMemory* memory) = nullptr;
  void (*free_arena)(void* owner) = nullptr;
};

}  // namespace wick
