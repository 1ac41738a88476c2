// The CUDA delegate, for MethodOptions::backends and ModuleOptions::backends.
#pragma once
#include "wick/backend.h"

namespace wick {

/// Runs delegates with the id "WickCudaBackend" on NVIDIA devices. Hosted. It opens the driver's library when the first
/// delegate is loaded; without a driver, a device or code for the device, `init` refuses and says what is missing.
///
/// Devices (DelegateOptions::device): "cuda" or "" is the first one, "cuda:1" the second. "cuda-twin=FILE" is a library
/// in place of the driver that holds the program's kernels as host code.
///
/// Delegates share constants of equal bytes and device code on one device, and state by name within a session. Inputs
/// and outputs lie in host memory and are copied, unless a CudaStreamScope says otherwise. Use a delegate from one
/// thread at a time, different ones from any threads. After a fault of a kernel (an illegal address) all calls on the
/// device fail. With WICK_CUDA_DEBUG=1 in the environment each kernel is waited for, so that the fault names it.
const Backend& cuda_backend();

/// Whether this is the name of a device of the CUDA backend, present or not.
bool is_cuda_device(const char* name);
/// Whether a delegate could be loaded for the device, as far as that is known without one; `text` (may be null) says
/// why not.
bool is_cuda_available(const char* device, ErrorText* text);

/// How pointers of tensors are checked while a CudaStreamScope lives.
enum class CudaPointers : uint8_t {
  checked,    // a pointer must be memory of a device: a host pointer is refused
  unchecked,  // not at all
};

/// While it lives, delegates that this thread executes take the data of all their tensors as addresses on the device,
/// copy nothing, and run in the order of `stream` (a CUstream; null: the default stream of the device's primary
/// context). `execute` returns before they are done, unless the delegate checks indices: then it waits. Calls of one
/// delegate on different streams wait for each other, and so do those of delegates that share state. Scopes nest.
class CudaStreamScope {
 public:
  explicit CudaStreamScope(void* stream, CudaPointers pointers = CudaPointers::checked);
  ~CudaStreamScope();
  CudaStreamScope(const CudaStreamScope&) = delete;
  CudaStreamScope& operator=(const CudaStreamScope&) = delete;

  void* stream() const { return stream_; }
  CudaPointers pointers() const { return pointers_; }
  /// The innermost one of this thread, or null.
  static const CudaStreamScope* current();

 private:
  void* stream_;
  CudaPointers pointers_;
  const CudaStreamScope* outer_;
};

/// A stream of a device and memory there, for callers that do not use CUDA themselves: tensors in device memory for
/// calls within CudaStreamScope(stream.handle()). Use it from one thread at a time. Errors are those of the device;
/// after a fault of a kernel all calls fail.
class CudaStream {
 public:
  CudaStream() = default;
  /// Waits for what is under way and frees the memory.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  /// Must be called once, before all other functions. `device`: a name as above. False if there is no such device;
  /// `text` (may be null) says why.
  bool open(const char* device, ErrorText* text);

  /// The CUstream.
  void* handle() const;
  /// Memory of the device, 256-byte aligned, uninitialised. It belongs to the stream. Null if there is too little.
  void* allocate(size_t size_bytes);
  /// Copies in the order of the stream. `from` may change as soon as the call returns.
  Error copy_to_device(void* to, const void* from, size_t size_bytes);
  /// Copies after all earlier work of the stream, and waits for the copy.
  Error copy_to_host(void* to, const void* from, size_t size_bytes);
  Error wait();

 private:
  struct State;
  State* state_ = nullptr;
};

}  // namespace wick
