// Memory for the tensors of a call, each behind a border: where the core has an MPU for ranges of any size (Armv8-M), a
// read or write behind a tensor, or a write to an operand, is a fault; elsewhere bytes around it are compared. On hosts
// each tensor is a block of its own, for AddressSanitizer. C++17.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__ARM_ARCH) && __ARM_ARCH >= 8 && !defined(WICK_HOST_REGIONS)
#define WICK_MPU_REGIONS 1
#endif

namespace wick::cortex_m {

enum class Access : uint8_t { read, write, scratch };

class Regions {
 public:
  /// Forgets all regions and makes their memory ordinary.
  void clear();
  /// `size_bytes` that end at a border; scratch begins at a multiple of 16. Never null.
  void* add(size_t size_bytes, Access access);
  /// Fills what may be written, and all bytes between regions, with bytes that depend on `seed`.
  void poison(uint32_t seed);
  /// From here on accesses outside the regions are faults.
  void close();
  void open();
  /// Do the bytes between the regions still have the values of poison()?
  bool intact() const;

 private:
  static constexpr size_t kMaxRegions = 12;
  struct Region {
    uint8_t *begin, *end;  // of what may be accessed
    uint8_t *data, *data_end;
    Access access;
  };
  template <typename Fn>
  void for_each_gap(const Fn& fn) const;

  Region regions_[kMaxRegions];
  size_t count_ = 0, used_ = 0;
  uint32_t seed_ = 0;
#ifdef WICK_MPU_REGIONS
  uint32_t enabled_ = 0;  // ranges that the MPU has
  bool mapped_ = false;   // they are those of the regions
#endif
};

}  // namespace wick::cortex_m
