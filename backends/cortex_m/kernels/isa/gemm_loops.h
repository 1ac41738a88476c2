// The inner loops of gemm.h that are assembly: what their arguments mean. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick::cortex_m {

/// How far a loop over rows of weights goes: groups of four weights (more than 0) of `count` rows (more than 0), `skip`
/// bytes between the end of one and the next.
struct WeightRows {
  int32_t groups, skip, count;
};

/// What turns the sums of four rows and `count` (more than 0) outputs into int8: each rescaled by its multiplier and
/// its shift (less than 0), plus offset, saturated. `rows` are the distances of rows 1 to 3 from row 0 in bytes.
struct RowResults {
  int32_t offset, rows[3], count;
};

}  // namespace wick::cortex_m
