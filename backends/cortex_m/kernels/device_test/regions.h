// Memory for the tensors of a call, each between borders. On a board, the MPU turns a read or write beyond them into a
// fault: on Armv8-M also a write to an operand; on Armv7-M, which has few ranges, calls with many tensors have some of
// their borders in turn. Bytes around tensors, and operands, are compared, too. On hosts each tensor is a block of its
// own, for AddressSanitizer. C++17.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if !defined(WICK_HOST_REGIONS) && __ARM_ARCH >= 8
#define WICK_MPU_REGIONS 1  // what may be accessed
#elif !defined(WICK_HOST_REGIONS)
#define WICK_MPU_GAPS 1  // what may not
#endif

namespace wick::cortex_m {

enum class Access : uint8_t { read, write, scratch };
/// Which end of each tensor lies at a border; the other one is less than a granule from the next border.
enum class Side : uint8_t { end, begin };

class Regions {
 public:
  /// Forgets all regions and makes their memory ordinary.
  void clear(Side side = Side::end);
  /// `size_bytes` with that side at a border; scratch begins at a multiple of 16. Never null.
  void* add(size_t size_bytes, Access access);
  /// Fills what may be written, and all bytes between regions, with bytes that depend on `seed`.
  void poison(uint32_t seed);
  /// From here on accesses outside the regions are faults. `turn`: which borders, where not all can be had.
  void close(uint32_t turn);
  void open();
  /// Have the bytes between the regions, and operands, still the values that they had at poison()?
  bool intact() const;

 private:
  static constexpr size_t kMaxRegions = 14;
  struct Region {
    uint8_t *begin, *end;  // of what may be accessed
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
  bool mapped_ = false;   // they are those of the regions
#endif
};

}  // namespace wick::cortex_m
