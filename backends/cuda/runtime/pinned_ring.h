// Pinned memory of the host through which large copies go. C++17.
#pragma once
#include <mutex>

#include "backends/cuda/runtime/driver.h"

namespace wick::cuda {

/// Two pieces of memory that the device reads and writes by itself: while it copies one, the processor fills or empties
/// the other. Small copies, and all of them where the driver has no pinned memory to give, go the driver's own way.
/// Takes its memory with the first large copy. The context must be current. Thread-safe.
class PinnedRing {
 public:
  PinnedRing() = default;
  PinnedRing(const PinnedRing&) = delete;
  /// In the order of the stream. `from` may change when it returns.
  DriverStatus copy_to_device(const Driver& driver, DevicePtr to, const void* from, uint64_t size_bytes,
                              DriverStream* stream);
  /// In the order of the stream. A large copy is done when it returns.
  DriverStatus copy_to_host(const Driver& driver, void* to, DevicePtr from, uint64_t size_bytes, DriverStream* stream);
  /// Waits for what is under way. Nothing may follow.
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
