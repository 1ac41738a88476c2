#include "backends/cortex_m/compile/cost/convolution_forms.h"

#include <algorithm>
#include <initializer_list>

#include "backends/cortex_m/kernels/conv2d/mve_forms.h"
#include "backends/cortex_m/kernels/conv2d_int4/unpacked.h"
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

// A call's operands by what they are.
struct Operands {
  const CallArgument &x, &result, &scratch, &stride, &padding, &dilation;
  int64_t kernel[2], inputs;  // inputs of a group
};

// Axis 0 or 1. False if a size is beyond the kernel's.
bool axis_of(const Operands& c, size_t d, WindowAxis* axis) {
  const int64_t from = entry(c.x.sizes, 2 + d, 0), to = entry(c.result.sizes, 2 + d, 0), kernel = c.kernel[d];
  const int64_t stride = entry(c.stride.numbers, d, 1), padding = entry(c.padding.numbers, d, 0);
  const int64_t dilation = entry(c.dilation.numbers, d, 1);
  if (!lie_between({from, to, kernel, stride, dilation}, 1, kFar) || !lie_between({padding}, 0, kFar) ||
      from + 2 * padding + stride + dilation > kFar || (to - 1) * stride > kFar || (kernel - 1) * dilation > kFar)
    return false;
  *axis = {static_cast<int32_t>(from),   static_cast<int32_t>(to),      static_cast<int32_t>(kernel),
           static_cast<int32_t>(stride), static_cast<int32_t>(padding), static_cast<int32_t>(dilation)};
  return true;
}

int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }

// The convolution with `outputs` channels of each group and `room` bytes of scratch.
struct CountedConvolution {
  WindowAxis height, width;
  int64_t batch = 0, groups = 0, inputs = 0, outputs = 0, terms = 0;

  bool read(const Operands& c) {
    if (!axis_of(c, 0, &height) || !axis_of(c, 1, &width)) return false;
    const int64_t all = entry(c.result.sizes, 1, 0), channels = entry(c.x.sizes, 1, 0);
    batch = entry(c.x.sizes, 0, 0), inputs = c.inputs, terms = int64_t{height.kernel} * width.kernel;
    if (!lie_between({batch, all, inputs, channels}, 1, kFar)) return false;
    groups = std::max<int64_t>(channels / std::max<int64_t>(inputs, 1), 1),
    outputs = std::max<int64_t>(all / groups, 1);
    return checked_mul(terms, inputs, &terms) && terms <= kFar;
  }
  double instructions(int64_t of_group, int64_t room) const {
    return ConvolutionForms(height, width, narrow(batch), narrow(groups), narrow(inputs), narrow(of_group),
                            narrow(std::clamp<int64_t>(room, 0, INT32_MAX)))
        .instructions();
  }
};

}  // namespace

double convolution_on_vectors(const compiler::OperatorCall& call) {
  constexpr size_t kLeastArguments = 8;
  if (call.arguments.size() < kLeastArguments) return 0;
  const std::vector<CallArgument>& a = call.arguments;
  const std::vector<int64_t>& weights = a[1].sizes;
  const bool depthwise = entry(a[0].sizes, 1, 0) == 1 && entry(weights, 0, 0) == 1;
  CountedConvolution c;
  if (!c.read({a[0],
               a.back(),
               a[a.size() - 2],
               a[3],
               a[4],
               a[5],
               {entry(weights, 1, 0), entry(weights, 2, 0)},
               depthwise ? 1 : entry(weights, 3, 0)}))
    return 0;
  int64_t turned = depthwise ? c.terms : 0;  // weights in scratch
  if (!checked_mul(turned, entry(a.back().sizes, 1, 0), &turned)) return 0;
  return c.instructions(c.outputs, entry(a[a.size() - 2].sizes, 0, 0) - turned);
}

double packed_convolution_on_vectors(const compiler::OperatorCall& call) {
  constexpr size_t kLeastArguments = 11;
  if (call.arguments.size() < kLeastArguments) return 0;
  const std::vector<CallArgument>& a = call.arguments;
  const int64_t groups = std::max<int64_t>(entry(a[5].numbers, 0, 1), 1), channels = entry(a[0].sizes, 1, 0);
  CountedConvolution c;
  if (!c.read({a[0],
               a.back(),
               a[a.size() - 2],
               a[6],
               a[7],
               a[8],
               {entry(a[4].numbers, 0, 0), entry(a[4].numbers, 1, 0)},
               channels / groups}))
    return 0;
  const auto& padding = a[7].numbers;
  const bool pixels =
      c.terms == c.inputs && std::all_of(padding.begin(), padding.end(), [](int64_t p) { return p == 0; });
  const int64_t scratch = entry(a[a.size() - 2].sizes, 0, 0);
  const int64_t most = unpacked_channels(scratch, c.terms, c.outputs, pixels);
  if (most <= 0) return 0;
  const int64_t room = scratch - most * c.terms, whole = c.outputs / most, rest = c.outputs % most;
  return static_cast<double>(whole) * c.instructions(most, room) + (rest > 0 ? c.instructions(rest, room) : 0);
}

}  // namespace wick::cortex_m
