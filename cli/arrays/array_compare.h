// Compares two arrays.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/arrays/npz.h"

namespace wick::cli {

/// |found - wanted| <= absolute + of_largest * max |wanted| + relative * |wanted| + of_roundings. Integers and bools
/// use only the last term. Cancellation and intermediate roundings leave an error in proportion to the largest element.
struct Tolerance {
  std::optional<double> relative, absolute;  // none: by dtype (tolerance_of)
  double of_largest = 0;                     // set by tolerance_of
  double of_roundings = 0;  // for rounding flips (rounding_flips.h); 0 if an absolute tolerance is given
  bool on_grid = false;     // the elements lie on a quantization grid, whose step is of_roundings
};

/// relative, absolute and of_largest. f32, f64, c64, c128: 1e-4, 1e-5, 1e-5; f16, c32: 1e-2, 1e-5, 1e-2; bf16: 4e-2,
/// 1e-4, 4e-2; 8-bit floats: 5e-2, 1e-2, 5e-2; others: 0. If a relative tolerance is given, of_largest keeps its
/// proportion to it. If an absolute tolerance is given, of_largest and of_roundings are 0. If none is given, the
/// absolute tolerance of elements on a grid is at most kFloatError of a step.
Tolerance tolerance_of(DType dtype, const Tolerance& asked);

struct Difference {
  bool same_type = true;    // dtype and shape agree; else nothing below holds
  uint64_t count = 0;       // elements (complex: real and imaginary parts count apart)
  uint64_t mismatches = 0;  // outside the tolerance; NaN matches only NaN, infinity only itself
  double max_abs = 0, max_rel = 0;
  double of_roundings = 0;     // the largest that was allowed to an element
  std::vector<int64_t> where;  // index of the largest absolute difference
  bool ok() const { return same_type && mismatches == 0; }
};
/// `of_each`: what rounding flips add to the tolerance of each element; empty: nothing. Not used if an absolute
/// tolerance is given.
Difference compare_arrays(const NamedArray& found, const NamedArray& wanted, const Tolerance& tolerance,
                          const std::vector<double>& of_each = {});

/// "max abs 1.2e-03, max rel 4.0e-02, 7 of 10 elements outside, worst at [0, 3]".
std::string to_text(const Difference& difference);

}  // namespace wick::cli
