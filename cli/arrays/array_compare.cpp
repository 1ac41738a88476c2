#include "cli/arrays/array_compare.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/arrays/array_summary.h"
#include "compiler/analysis/rounding_limits.h"

namespace wick::cli {
namespace {

// A complex array as its parts: one more dimension of size 2.
NamedArray parts_of(const NamedArray& array) {
  NamedArray parts = array;
  if (!is_complex(array.dtype)) return parts;
  parts.dtype = array.dtype == DType::c32 ? DType::f16 : array.dtype == DType::c64 ? DType::f32 : DType::f64;
  parts.sizes.push_back(2);
  return parts;
}

std::vector<int64_t> index_of(uint64_t flat, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = static_cast<int64_t>(flat % static_cast<uint64_t>(sizes[d]));
    flat /= static_cast<uint64_t>(sizes[d]);
  }
  return index;
}

double largest_of(const NamedArray& array, uint64_t count) {
  double largest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double value = std::fabs(element_of(array, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

}  // namespace

Tolerance tolerance_of(DType dtype, const Tolerance& asked) {
  const double of_roundings = asked.absolute ? 0 : asked.of_roundings;
  if (!is_floating(dtype) && !is_complex(dtype)) return {0.0, 0.0, 0.0, of_roundings};
  double relative = 5e-2, absolute = 1e-2, of_relative = 1;
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::c64 || dtype == DType::c128) {
    relative = 1e-4;
    absolute = 1e-5;
    of_relative = 0.1;
  } else if (dtype == DType::f16 || dtype == DType::c32) {
    relative = 1e-2;
    absolute = 1e-5;
  } else if (dtype == DType::bf16) {
    relative = 4e-2;
    absolute = 1e-4;
  }
  if (asked.on_grid) absolute = std::min(absolute, compiler::kFloatError * asked.of_roundings);
  relative = asked.relative.value_or(relative);
  return {relative, asked.absolute.value_or(absolute), asked.absolute ? 0 : relative * of_relative, of_roundings};
}

Difference compare_arrays(const NamedArray& found_array, const NamedArray& wanted_array, const Tolerance& asked,
                          const std::vector<double>& of_each) {
  Difference result;
  result.same_type = found_array.dtype == wanted_array.dtype && found_array.sizes == wanted_array.sizes;
  if (!result.same_type) return result;
  const Tolerance tolerance = tolerance_of(found_array.dtype, asked);
  const NamedArray found = parts_of(found_array), wanted = parts_of(wanted_array);
  const size_t item = dtype_size_bytes(found.dtype);
  result.count = found.bytes.size() / item;
  result.of_roundings = tolerance.of_roundings;
  const bool has_each = of_each.size() == result.count && !asked.absolute;
  if (has_each && !of_each.empty()) result.of_roundings += *std::max_element(of_each.begin(), of_each.end());
  double of_all = *tolerance.absolute;
  if (tolerance.of_largest > 0) of_all += tolerance.of_largest * largest_of(wanted, result.count);
  uint64_t worst = 0;
  double worst_abs = -1;
  for (uint64_t i = 0; i < result.count; ++i) {
    if (memcmp(found.bytes.data() + i * item, wanted.bytes.data() + i * item, item) == 0) continue;
    const double a = element_of(found, i), b = element_of(wanted, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    double difference = std::fabs(a - b);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    const double of_roundings = tolerance.of_roundings + (has_each ? of_each[i] : 0);
    const double allowed = of_all + of_roundings + *tolerance.relative * std::fabs(b);
    // 64-bit integers beyond 2^53 may look equal as doubles.
    const bool outside = is_floating(found.dtype) ? !(difference <= allowed) || std::isinf(difference)
                                                  : !(difference > 0 && difference <= of_roundings);
    result.mismatches += outside;
    result.max_abs = std::max(result.max_abs, difference);
    if (difference > 0)
      result.max_rel =
          std::max(result.max_rel, b == 0 ? std::numeric_limits<double>::infinity() : difference / std::fabs(b));
    if (difference > worst_abs) {
      worst_abs = difference;
      worst = i;
    }
  }
  if (worst_abs >= 0) result.where = index_of(worst, found.sizes);
  return result;
}

std::string to_text(const Difference& difference) {
  if (!difference.same_type) return "a different dtype or shape";
  if (difference.where.empty() && difference.max_abs == 0 && difference.mismatches == 0)
    return fmt::format("{} elements, all equal", difference.count);
  return fmt::format("max abs {:.3g}, max rel {:.3g}, {} of {} elements outside, worst at [{}]", difference.max_abs,
                     difference.max_rel, difference.mismatches, difference.count, fmt::join(difference.where, ", ")) +
         (difference.of_roundings > 0
              ? fmt::format("; {:.3g} allowed for roundings of quantized values", difference.of_roundings)
              : "");
}

}  // namespace wick::cli
