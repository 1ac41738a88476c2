#include "backends/cortex_m/compile/cost/convolution_forms.h"

#include <algorithm>
#include <initializer_list>

#include "backends/cortex_m/kernels/conv2d/mve_forms.h"
#include "common/checked.h"

namespace wick::cortex_m {

using compiler::CallArgument;

namespace {

constexpr int64_t kFar = INT32_MAX / 4;  // as near_positions.h

int64_t entry(const std::vector<int64_t>& list, size_t index, int64_t otherwise) {
  return index < list.size() ? list[index] : otherwise;
}
bool lie_between(std::initializer_list<int64_t> values, int64_t least, int64_t most) {
  return std::all_of(values.begin(), values.end(), [&](int64_t each) { return each >= least && each <= most; });
}

// Axis 0 or 1 of (x, weights, bias, stride, padding, dilation, .., result). False if a size is beyond the kernel's.
bool axis_of(const compiler::OperatorCall& call, size_t d, WindowAxis* axis) {
  const int64_t from = entry(call.arguments[0].sizes, 2 + d, 0), to = entry(call.arguments.back().sizes, 2 + d, 0);
  const int64_t kernel = entry(call.arguments[1].sizes, 1 + d, 0), stride = entry(call.arguments[3].numbers, d, 1);
  const int64_t padding = entry(call.arguments[4].numbers, d, 0), dilation = entry(call.arguments[5].numbers, d, 1);
  if (!lie_between({from, to, kernel, stride, dilation}, 1, kFar) || !lie_between({padding}, 0, kFar) ||
      from + 2 * padding + stride + dilation > kFar || (to - 1) * stride > kFar || (kernel - 1) * dilation > kFar)
    return false;
  *axis = {static_cast<int32_t>(from),   static_cast<int32_t>(to),      static_cast<int32_t>(kernel),
           static_cast<int32_t>(stride), static_cast<int32_t>(padding), static_cast<int32_t>(dilation)};
  return true;
}

}  // namespace

double convolution_on_vectors(const compiler::OperatorCall& call) {
  constexpr size_t kLeastArguments = 8;
  if (call.arguments.size() < kLeastArguments) return 0;
  const CallArgument &x = call.arguments[0], &weights = call.arguments[1], &result = call.arguments.back();
  WindowAxis height, width;
  if (!axis_of(call, 0, &height) || !axis_of(call, 1, &width)) return 0;
  const int64_t batch = entry(x.sizes, 0, 0), outputs = entry(result.sizes, 1, 0);
  const bool depthwise = entry(x.sizes, 1, 0) == 1 && entry(weights.sizes, 0, 0) == 1;
  const int64_t inputs = depthwise ? 1 : entry(weights.sizes, 3, 0), channels = entry(x.sizes, 1, 0);
  if (!lie_between({batch, outputs, inputs, channels}, 1, kFar)) return 0;
  const int64_t groups = std::max<int64_t>(channels / inputs, 1), of_group = std::max<int64_t>(outputs / groups, 1);
  int64_t terms = int64_t{height.kernel} * width.kernel, weight_bytes = 0;
  const int64_t turned = depthwise ? terms : 0;  // weights in scratch
  if (!checked_mul(terms, inputs, &terms) || terms > kFar || !checked_mul(turned, outputs, &weight_bytes)) return 0;
  const CallArgument& scratch = call.arguments[call.arguments.size() - 2];
  const int64_t room = std::clamp<int64_t>(entry(scratch.sizes, 0, 0) - weight_bytes, 0, INT32_MAX);
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  return ConvolutionForms(height, width, narrow(batch), narrow(groups), narrow(inputs), narrow(of_group), narrow(room))
      .instructions();
}

}  // namespace wick::cortex_m
