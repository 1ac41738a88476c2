// Measures the time that devices work, without the host's. Hosted.
#pragma once
#include <cstdint>

namespace wick {

/// While it lives, delegates that this thread executes on a device other than the processor wait for it and add the
/// time that it took for their steps, without copies of inputs and outputs. Timers nest: the innermost one counts.
class DeviceTimer {
 public:
  DeviceTimer() : outer_(t_innermost) { t_innermost = this; }
  ~DeviceTimer() { t_innermost = outer_; }
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  void add(uint64_t time_ns) { time_ns_ += time_ns; }
  /// The time in nanoseconds that was added since the last call of take().
  uint64_t take() {
    const uint64_t time_ns = time_ns_;
    time_ns_ = 0;
    return time_ns;
  }
  /// The innermost one of this thread, or null.
  static DeviceTimer* current() { return t_innermost; }

 private:
  static inline thread_local DeviceTimer* t_innermost = nullptr;
  uint64_t time_ns_ = 0;
  DeviceTimer* outer_;
};

}  // namespace wick
