// Pinned host memory for large copies. C++17.
#pragma once
#include <mutex>

#include "backends/cuda/runtime/driver.h"

namespace wick::cuda {

/// Two pieces of pinned memory: while the device copies one, the host fills or empties the other. Small copies, and all
/// copies if the driver has no pinned memory, are left to the driver. Allocates its memory for the first large copy.
/// Requires: the context is current. Thread-safe.
class PinnedRing {
 public:
  PinnedRing() = default;
  PinnedRing(const PinnedRing&) = delete;
  /// Copies in the order of the stream. The caller may change `from` when it returns.
  DriverStatus copy_to_device(const Driver& driver, DevicePtr to, const void* from, uint64_t size_bytes,
                              DriverStream* stream);
  /// Copies in the order of the stream. A large copy is complete when it returns.
  DriverStatus copy_to_host(const Driver& driver, void* to, DevicePtr from, uint64_t size_bytes, DriverStream* stream);
  /// Waits for copies that are under way, and frees the memory. Must be the last call.
  void release(const Driver& driver);

 private:
  struct Half {
    void* bytes = nullptr;
    DriverEvent* done = nullptr;
    bool is_busy = false;
  };
  bool is_ready(const Driver& driver);
  DriverStatus wait_for(const Driver& driver, Half& half);

  std::mutex mutex_;
  Half halves_[2];
  bool was_tried_ = false, has_memory_ = false;
};

}  // namespace wick::cuda
