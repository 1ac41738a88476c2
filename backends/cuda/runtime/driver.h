// The CUDA driver's library, opened when it is needed. Nothing links it, so programs start without it. C++17.
#pragma once
#include <string>

#include "backends/cuda/runtime/driver_api.h"
#include "backends/cuda/runtime/failure.h"

namespace wick::cuda {

/// The library's functions. All of them exist, except for those at the end.
class Driver {
 public:
  /// Opens the library at `path` ("": the system's), initialises it and looks for devices. It stays open until the
  /// process ends. Thread-safe; returns the same object for the same path. Null, with the reason, if there is no usable
  /// driver or device; the next call tries again.
  static const Driver* open(const std::string& path, Failure* failure);

#define WICK_CUDA_FUNCTION(member, symbol, parameters) DriverStatus(*member) parameters = nullptr;
#include "backends/cuda/runtime/driver_functions.inc"
#undef WICK_CUDA_FUNCTION
  /// Position and size of a kernel's parameter; kInvalidValue beyond the last one. Null before CUDA 12.4.
  DriverStatus (*parameter_info)(DriverFunction* function, size_t index, size_t* offset, size_t* size_bytes) = nullptr;

  int num_devices() const { return num_devices_; }
  /// As cuDriverGetVersion counts: 13000 is 13.0.
  int version() const { return version_; }
  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string text_of(DriverStatus status) const;

 private:
  Failure resolve(void* library, const std::string& name);
  Failure start(const std::string& name);
  int num_devices_ = 0, version_ = 0;
};

/// Whether a status means that no one in this process can use the context any more.
bool poisons_context(DriverStatus status);
/// "13.0".
std::string version_text(int version);

}  // namespace wick::cuda
