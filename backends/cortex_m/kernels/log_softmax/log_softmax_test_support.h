// Shared by the tests of log_softmax and log_softmax_int16: the comparison with exact arithmetic. C++20, hosted.
#pragma once
#include <algorithm>

#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {

/// Whether `found` is the log-softmax of the rows `x`, computed in double. The allowed error is `units` units of 2^-20,
/// plus `rounding` of a step.
inline testing::AssertionResult is_log_softmax(const std::vector<int64_t>& x, int32_t columns, int64_t multiplier,
                                               int64_t shift, const OutputParameters& to, double units, double rounding,
                                               const std::vector<int64_t>& found) {
  const double step = std::ldexp(static_cast<double>(multiplier), static_cast<int>(shift) - 31 - 20);
  const double factor = std::ldexp(static_cast<double>(to.multiplier), to.shift - 31 + 20);
  const double slack = factor * units * std::ldexp(1, -20) + rounding;
  for (auto row = x.begin(); row != x.end(); row += columns) {
    const auto most = static_cast<double>(*std::max_element(row, row + columns));
    double sum = 0;
    for (int32_t i = 0; i < columns; ++i) sum += std::exp((static_cast<double>(row[i]) - most) * step);
    for (int32_t i = 0; i < columns; ++i) {
      const double exact = ((static_cast<double>(row[i]) - most) * step - std::log(sum)) * factor + to.offset;
      const double low = std::clamp<double>(std::floor(exact + 0.5 - slack), to.min, to.max),
                   high = std::clamp<double>(std::floor(exact + 0.5 + slack), to.min, to.max);
      const auto got = static_cast<double>(found[static_cast<size_t>(row - x.begin() + i)]);
      if (got < low || got > high) return testing::AssertionFailure() << got << " for " << exact;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace wick::cortex_m
