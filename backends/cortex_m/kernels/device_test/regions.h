// Memory for the tensors of a call, with protected borders around each. On a board, the MPU turns accesses beyond a
// tensor into faults; on Armv8-M also writes to an operand. Armv7-M has few MPU ranges, so for calls with many tensors
// a part of the borders is protected, in turn. Bytes around tensors, and operands, are also compared with their values
// before. On hosts each tensor is a separate allocation, which AddressSanitizer checks. C++17.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if !defined(WICK_HOST_REGIONS) && __ARM_ARCH >= 8
#define WICK_MPU_REGIONS 1  // ranges say what may be accessed
#elif !defined(WICK_HOST_REGIONS)
#define WICK_MPU_GAPS 1  // ranges say what must not be accessed
#endif

namespace wick::cortex_m {

enum class Access : uint8_t { read, write, scratch };
/// Which end of each tensor is at a border. The other end is less than a granule away from the next border.
enum class Side : uint8_t { end, begin };

class Regions {
 public:
  /// Removes all regions and their protection.
  void clear(Side side = Side::end);
  /// Adds a region of `size_bytes`, that side at a border; scratch begins at a multiple of 16. Never null.
  void* add(size_t size_bytes, Access access);
  /// Fills writable memory, and all bytes between regions, with bytes that depend on `seed`.
  void poison(uint32_t seed);
  /// Protects the borders. `turn` selects which ones if the MPU has too few ranges for all.
  void close(uint32_t turn);
  void open();
  /// Whether the bytes between regions, and the operands, are as they were after poison().
  bool intact() const;

 private:
  static constexpr size_t kMaxRegions = 14;
  struct Region {
    uint8_t *begin, *end;  // accessible bytes
    uint8_t *data, *data_end;
    Access access;
  };
  template <typename Fn>
  void for_each_gap(const Fn& fn) const;

  uint32_t operand_sum() const;

  Region regions_[kMaxRegions];
  size_t count_ = 0, used_ = 0;
  Side side_ = Side::end;
  uint32_t seed_ = 0, operand_sum_ = 0;
#ifdef WICK_MPU_REGIONS
  uint32_t enabled_ = 0;  // ranges that the MPU has
  bool mapped_ = false;   // whether they are set to the regions
#endif
};

}  // namespace wick::cortex_m
