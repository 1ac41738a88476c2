#include "backends/cortex_m/compile/ops/int16/sums.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/convolution/convolution.h"
#include "backends/cortex_m/kernels/requantize.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Value;

namespace {

constexpr int kWideBits = 47;  // of a sum's magnitude: a multiplier of 16 bits makes it 63

// An upper bound of the sum of `output`, for input elements in their range.
int64_t largest_sum(const std::vector<int8_t>& weights, size_t outputs, size_t output, const Affine& input) {
  const int64_t reach = std::max(std::abs(input.min), std::abs(input.max));
  const size_t count = weights.size() / outputs;
  int64_t total = 0;
  for (size_t k = 0; k < count; ++k) total += std::abs(int64_t{weights[output * count + k]});
  return total * reach;
}

}  // namespace

Refusal read_int16_sums(const std::vector<int8_t>& weights, size_t outputs, const std::vector<double>& steps,
                        const Affine& input, const Affine& output, const Value* bias, Int16Sums* sums) {
  Refusal reason = bias ? quantize_bias(*bias, outputs, steps, kWideBits, &sums->bias) : Refusal{};
  if (!reason.empty()) return reason;
  for (const double step : steps) {
    const auto found = requantization(step / output.scale);
    if (!found || found->shift > kMaxWideShift)
      return {"the scale of its result is too far from those of input and weights", kNearerScale};
    sums->scales.push_back(*found);
  }
  for (size_t o = 0; o < outputs; ++o) {
    const int64_t largest =
        largest_sum(weights, outputs, o, input) + (sums->bias.empty() ? 0 : std::abs(sums->bias[o]));
    if (largest >= int64_t{1} << kWideBits) return {"its sums could exceed 48 bits", kSmallerSums};
    if (!keeps_32_bits(largest, sums->scales[sums->scales.size() == 1 ? 0 : o])) sums->wide = true;
  }
  return {};
}

Int16Operands operands_of(Builder& b, const Int16Sums& sums, size_t outputs) {
  std::vector<int32_t> multipliers, shifts;
  for (const Requantization& each : sums.scales) {
    multipliers.push_back(each.multiplier);
    shifts.push_back(each.shift);
  }
  const auto count = static_cast<int64_t>(outputs), scales = static_cast<int64_t>(multipliers.size());
  Int16Operands out = {compiler::Arg(compiler::None()), constant(b, {scales}, multipliers, "multipliers"),
                       constant(b, {scales}, shifts, "shifts")};
  std::vector<int64_t> bias = sums.bias;
  if (sums.wide) {
    bias.resize(outputs);
    out.bias = constant(b, {count}, std::move(bias), "bias");
  } else if (!bias.empty()) {
    out.bias = constant(b, {count}, std::vector<int32_t>(bias.begin(), bias.end()), "bias");
  }
  return out;
}

}  // namespace wick::cortex_m
