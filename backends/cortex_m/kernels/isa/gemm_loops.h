// The arguments of the assembly inner loops of gemm.h. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick::cortex_m {

/// The range of a loop over rows of weights: `groups` groups of four weights (more than 0) in each of `count` rows
/// (more than 0); `skip`: bytes between the end of one row and the next.
struct WeightRows {
  int32_t groups, skip, count;
};

/// How sums of four rows and `count` (more than 0) outputs become int8: each is rescaled by its multiplier and shift
/// (less than 0), the offset is added, and the result saturates. `rows`: bytes from row 0 to rows 1, 2 and 3.
struct RowResults {
  int32_t offset, rows[3], count;
};

}  // namespace wick::cortex_m
