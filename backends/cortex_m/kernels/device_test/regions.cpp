#include "backends/cortex_m/kernels/device_test/regions.h"

#ifdef WICK_HOST_REGIONS
#include <stdlib.h>
#endif

namespace wick::cortex_m {
namespace {

#ifndef WICK_HOST_REGIONS
constexpr size_t kGranule = 64, kGap = 64;
constexpr size_t kMemoryBytes = size_t{1} << 20;
__attribute__((section(".bulk"), aligned(64))) uint8_t memory[kMemoryBytes];
#endif

uint8_t poison_at(uint32_t seed, const uint8_t* at) {
  return static_cast<uint8_t>((static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at)) + seed) * 0x9e3779b1u >> 24);
}

#ifndef WICK_HOST_REGIONS
volatile uint32_t& mpu(uint32_t offset) { return *reinterpret_cast<volatile uint32_t*>(0xE000ED90u + offset); }
void barrier() { asm volatile("dsb\n isb" ::: "memory"); }
#endif

#ifdef WICK_MPU_REGIONS
/// Sets MPU region `index` to [begin, end), both multiples of 32.
void map(uint32_t index, uintptr_t begin, uintptr_t end, bool writable, bool executable) {
  mpu(0x8) = index;
  mpu(0xC) = static_cast<uint32_t>(begin) | (writable ? 0u : 2u << 1) | (executable ? 0u : 1u);
  mpu(0x10) = (static_cast<uint32_t>(end - 1) & ~31u) | 1u;
}
#endif

#ifdef WICK_MPU_GAPS
// Range 0 guards the stack (devices/board); the others are for gaps.
constexpr uint32_t kFirstRange = 1, kRanges = 7;

/// Forbids all accesses to a gap; it begins at `begin`, a multiple of its size.
void forbid(uint32_t index, uintptr_t begin) {
  constexpr uint32_t kSizeField = 5, kNeverExecute = 1u << 28, kEnable = 1;  // 2 to the power of 5 + 1 bytes
  static_assert(kGap == 64, "the size field");
  mpu(0x8) = index;
  mpu(0xC) = static_cast<uint32_t>(begin);
  mpu(0x10) = kNeverExecute | kSizeField << 1 | kEnable;
}
#endif

}  // namespace

void Regions::clear(Side side) {
  open();
  side_ = side;
#ifdef WICK_HOST_REGIONS
  for (size_t i = 0; i < count_; ++i) free(regions_[i].begin);
#endif
  count_ = used_ = 0;
#ifdef WICK_MPU_REGIONS
  mapped_ = false;
#endif
}

void* Regions::add(size_t size_bytes, Access access) {
  Region& region = regions_[count_++];
  region.access = access;
#ifdef WICK_HOST_REGIONS
  region.begin = region.data = static_cast<uint8_t*>(malloc(size_bytes));
  region.end = region.data + size_bytes;
#else
  region.begin = memory + used_ + kGap;
  region.end = region.begin + (size_bytes + kGranule - 1) / kGranule * kGranule;
  const size_t slack = static_cast<size_t>(region.end - region.begin) - size_bytes;
  const size_t lead = side_ == Side::begin ? 0 : access == Access::scratch ? slack & ~size_t{15} : slack;
  region.data = region.begin + lead;
  used_ = static_cast<size_t>(region.end - memory);
  if (used_ + kGap > kMemoryBytes) __builtin_trap();
#endif
  region.data_end = region.data + size_bytes;
  return region.data;
}

template <typename Fn>
void Regions::for_each_gap(const Fn& fn) const {
#ifndef WICK_HOST_REGIONS
  uint8_t* at = memory;
  for (size_t i = 0; i < count_; ++i) {
    for (; at < regions_[i].data; ++at) fn(at);
    at = regions_[i].data_end;
  }
  const uint8_t* const end = memory + used_ + kGap;
  for (; at < end; ++at) fn(at);
#endif
}

uint32_t Regions::operand_sum() const {
  uint32_t sum = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (regions_[i].access != Access::read) continue;
    for (const uint8_t* at = regions_[i].data; at < regions_[i].data_end; ++at) sum = sum * 31 + *at;
  }
  return sum;
}

void Regions::poison(uint32_t seed) {
  seed_ = seed;
  for_each_gap([seed](uint8_t* at) { *at = poison_at(seed, at); });
  for (size_t i = 0; i < count_; ++i) {
    if (regions_[i].access == Access::read) continue;
    for (uint8_t* at = regions_[i].data; at < regions_[i].data_end; ++at) *at = poison_at(seed, at);
  }
  operand_sum_ = operand_sum();
}

bool Regions::intact() const {
  bool same = true;
  for_each_gap([&](const uint8_t* at) { same = same && *at == poison_at(seed_, at); });
  return same && operand_sum() == operand_sum_;
}

void Regions::close(uint32_t turn) {
#ifdef WICK_MPU_REGIONS
  if (!mapped_) {
    map(0, 0x60000000, 0x61000000, false, true);
    map(1, 0x20000000, 0x20080000, true, false);
    uint32_t used = 2;
    for (size_t i = 0; i < count_; ++i) {
      const Region& region = regions_[i];
      if (region.begin == region.end) continue;
      map(used++, reinterpret_cast<uintptr_t>(region.begin), reinterpret_cast<uintptr_t>(region.end),
          region.access != Access::read, false);
    }
    for (uint32_t index = used; index < enabled_; ++index) {
      mpu(0x8) = index;
      mpu(0x10) = 0;
    }
    enabled_ = used;
    mapped_ = true;
  }
  mpu(0x4) = 1;
  barrier();
#endif
#ifdef WICK_MPU_GAPS
  constexpr uint32_t kEnable = 1, kOtherMemoryAsUsual = 1u << 2;
  const uint32_t gaps = static_cast<uint32_t>(count_) + 1, used = gaps < kRanges ? gaps : kRanges;
  for (uint32_t i = 0; i < used; ++i) {
    const uint32_t gap = (turn + i) % gaps;
    forbid(kFirstRange + i, reinterpret_cast<uintptr_t>(gap == 0 ? memory : regions_[gap - 1].end));
  }
  for (uint32_t i = used; i < kRanges; ++i) {
    mpu(0x8) = kFirstRange + i;
    mpu(0x10) = 0;
  }
  mpu(0x4) = kOtherMemoryAsUsual | kEnable;
  barrier();
#endif
}

void Regions::open() {
#ifdef WICK_MPU_REGIONS
  mpu(0x4) = 0;
  barrier();
#endif
#ifdef WICK_MPU_GAPS
  for (uint32_t i = 0; i < kRanges; ++i) {
    mpu(0x8) = kFirstRange + i;
    mpu(0x10) = 0;
  }
  barrier();
#endif
}

}  // namespace wick::cortex_m
