#include "backends/cuda/runtime/pinned_ring.h"

#include <string.h>

#include <algorithm>

namespace wick::cuda {
namespace {

// The driver sends smaller copies together with the command.
constexpr uint64_t kSmallBytes = uint64_t{64} << 10;
constexpr uint64_t kHalfBytes = uint64_t{4} << 20;

uint8_t* advance(void* bytes, uint64_t by) { return static_cast<uint8_t*>(bytes) + by; }
const uint8_t* advance(const void* bytes, uint64_t by) { return static_cast<const uint8_t*>(bytes) + by; }

}  // namespace

bool PinnedRing::is_ready(const Driver& driver) {
  if (was_tried_) return has_memory_;
  was_tried_ = true;
  has_memory_ = true;
  for (Half& half : halves_) {
    has_memory_ = has_memory_ && driver.host_allocate(&half.bytes, kHalfBytes) == kSuccess &&
                  driver.event_create(&half.done, kEventNoTiming) == kSuccess;
  }
  return has_memory_;
}

DriverStatus PinnedRing::wait_for(const Driver& driver, Half& half) {
  if (!half.is_busy) return kSuccess;
  half.is_busy = false;
  return driver.event_wait(half.done);
}

DriverStatus PinnedRing::copy_to_device(const Driver& driver, DevicePtr to, const void* from, uint64_t size_bytes,
                                        DriverStream* stream) {
  if (size_bytes < kSmallBytes) return driver.copy_to_device(to, from, size_bytes, stream);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_ready(driver)) return driver.copy_to_device(to, from, size_bytes, stream);
  DriverStatus status = kSuccess;
  for (uint64_t at = 0, part = 0; status == kSuccess && at < size_bytes; at += kHalfBytes, ++part) {
    Half& half = halves_[part % 2];
    const uint64_t bytes = std::min(kHalfBytes, size_bytes - at);
    status = wait_for(driver, half);
    if (status != kSuccess) return status;
    memcpy(half.bytes, advance(from, at), bytes);
    status = driver.copy_to_device(to + at, half.bytes, bytes, stream);
    if (status == kSuccess) status = driver.event_record(half.done, stream);
    half.is_busy = status == kSuccess;
  }
  return status;
}

DriverStatus PinnedRing::copy_to_host(const Driver& driver, void* to, DevicePtr from, uint64_t size_bytes,
                                      DriverStream* stream) {
  if (size_bytes < kSmallBytes) return driver.copy_to_host(to, from, size_bytes, stream);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_ready(driver)) return driver.copy_to_host(to, from, size_bytes, stream);
  const uint64_t parts = (size_bytes + kHalfBytes - 1) / kHalfBytes;
  const auto bytes_of = [&](uint64_t part) { return std::min(kHalfBytes, size_bytes - part * kHalfBytes); };
  DriverStatus status = kSuccess;
  // The host empties the previous part while the device copies this one.
  for (uint64_t part = 0; status == kSuccess && part <= parts; ++part) {
    if (part < parts) {
      Half& half = halves_[part % 2];
      status = wait_for(driver, half);
      if (status == kSuccess)
        status = driver.copy_to_host(half.bytes, from + part * kHalfBytes, bytes_of(part), stream);
      if (status == kSuccess) status = driver.event_record(half.done, stream);
      half.is_busy = status == kSuccess;
    }
    if (part == 0 || status != kSuccess) continue;
    Half& before = halves_[(part - 1) % 2];
    status = wait_for(driver, before);
    if (status == kSuccess) memcpy(advance(to, (part - 1) * kHalfBytes), before.bytes, bytes_of(part - 1));
  }
  return status;
}

void PinnedRing::release(const Driver& driver) {
  for (Half& half : halves_) {
    (void)wait_for(driver, half);
    if (half.done) (void)driver.event_destroy(half.done);
    if (half.bytes) (void)driver.host_free(half.bytes);
  }
}

}  // namespace wick::cuda
