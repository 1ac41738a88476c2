#include "backends/cortex_m/compile/centered_weights.h"

#include <algorithm>
#include <cmath>

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Sizes;
using compiler::Value;
using compiler::Values;

namespace {

// How many 8-bit weights add up to a 9-bit one.
int64_t copies_of(int32_t weight) {
  int64_t copies = 1;
  for (; weight > copies * INT8_MAX || weight < copies * INT8_MIN; ++copies) {
  }
  return copies;
}

}  // namespace

Refusal refuse_zero_points(const compiler::Quantization& quantization) {
  const std::vector<double> zeros = quantization.zero_points.all();
  const bool fit = std::all_of(zeros.begin(), zeros.end(), [](double zero) {
    return zero == std::floor(zero) && zero >= INT8_MIN && zero <= INT8_MAX;
  });
  return fit ? Refusal{}
             : Refusal{"a zero point of its weights is outside int8",
                       "quantize the weights with zero points within -128..127, best 0"};
}

CenteredWeights centered_weights(const std::vector<int8_t>& weights, size_t inputs, const std::vector<double>& zeros) {
  const size_t of_output = weights.size() / zeros.size();
  std::vector<int32_t> wide;
  CenteredWeights centered;
  for (size_t i = 0; i < weights.size(); ++i) {
    wide.push_back(weights[i] - static_cast<int32_t>(zeros[i / of_output]));
    centered.copies = std::max(centered.copies, copies_of(wide.back()));
  }
  for (size_t first = 0; first < wide.size(); first += inputs) {
    for (int64_t copy = 0; copy < centered.copies; ++copy) {
      for (size_t i = first; i < first + inputs; ++i) {
        const int32_t part = std::clamp<int32_t>(wide[i], INT8_MIN, INT8_MAX);
        centered.elements.push_back(static_cast<int8_t>(part));
        wide[i] -= part;
      }
    }
  }
  return centered;
}

Value* repeated_inputs(Builder& b, Value* x, size_t dim, int64_t groups, int64_t copies) {
  if (copies == 1) return x;
  const auto at = static_cast<int64_t>(dim);
  if (groups == 1) return b.call("aten.cat", {Values(static_cast<size_t>(copies), x), at});
  Sizes sizes = x->sizes(), split = sizes;
  const int64_t count = sizes[dim].value();
  split[dim] = groups;
  split.insert(split.begin() + at + 1, count / groups);
  x = b.call("aten.cat", {Values(static_cast<size_t>(copies), b.reshape(x, split)), at + 1});
  sizes[dim] = copies * count;
  return b.reshape(x, std::move(sizes));
}

}  // namespace wick::cortex_m
