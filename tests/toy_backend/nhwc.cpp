// Form kernels with a layout: convolutions whose images and filters are channels last.
#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ops/rules.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {

using compiler::Builder;
using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;
using compiler::layout::LayoutRule;

namespace {

// x [n, c, h, w], filter [o, c, kh, kw]: [n, o, h - kh + 1, w - kw + 1].
void infer_conv2d(Node& node) {
  const Value *x = node.tensor("x"), *filter = node.tensor("filter");
  const compiler::Sizes &in = x->sizes(), &k = filter->sizes();
  compiler::set_result(node, DType::f32, {in[0], k[0], in[2] - k[2] + 1, in[3] - k[3] + 1});
}

constexpr compiler::OpDef kRows[] = {
    {"toy::conv2d(Tensor x, Tensor filter) -> Tensor", infer_conv2d, nullptr, "toy::conv2d.out", compiler::kNoStock},
};

bool all_are(const std::vector<int64_t>& list, int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](int64_t item) { return item == value; });
}

Verdict takes_convolution(const Node& node, const TargetContext&) {
  if (!node.is("aten.convolution.default")) return Verdict::no("an operator other than convolution");
  const Value *x = node.tensor("input"), *filter = node.tensor("weight");
  if (x->rank() != 4 || x->dtype() != DType::f32) return Verdict::no("an image other than f32 [n, c, h, w]");
  if (!is_static(x->sizes())) return Verdict::no("sizes that are known only at run time");
  if (!filter->is_constant()) return Verdict::no("a filter that is computed");
  if (node.optional_tensor("bias")) return Verdict::no("a bias");
  const bool plain = !node.boolean("transposed") && node.static_integer("groups") == 1 &&
                     all_are(node.static_ints("stride"), 1) && all_are(node.static_ints("padding"), 0) &&
                     all_are(node.static_ints("dilation"), 1);
  return plain ? Verdict::yes() : Verdict::no("strides, padding, dilation or groups");
}

std::vector<Value*> to_conv2d(Builder& b, Node& node, const TargetContext&) {
  return {b.call("toy.conv2d", {node.tensor("input"), node.tensor("weight")})};
}

LayoutRule channels_last(const Node& node) {
  LayoutRule rule = compiler::layout::channels_last(node);
  rule.others = {rule.order};
  return rule;
}

bool is_channels_last(const Tensor& tensor) {
  static constexpr uint8_t kOrder[] = {0, 2, 3, 1};
  return tensor.rank == 4 && tensor.dtype == DType::f32 && std::equal(kOrder, kOrder + 4, tensor.dim_order);
}

// One pixel of one image: `at` points to its first channel.
void convolve(const Tensor& x, const Tensor& filter, const float* at, float* out) {
  const int64_t channels = x.sizes[1], row = int64_t{x.sizes[3]} * channels;
  const int64_t taps = int64_t{filter.sizes[3]} * channels;  // of one row of the filter
  const float* weights = filter.as<const float>();
  for (int32_t o = 0; o < filter.sizes[0]; ++o) {
    float sum = 0;
    for (int32_t y = 0; y < filter.sizes[2]; ++y) {
      for (int64_t i = 0; i < taps; ++i) sum += at[y * row + i] * *weights++;
    }
    out[o] = sum;
  }
}

}  // namespace

void conv2d_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &x = *args[0]->tensor, &filter = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!is_channels_last(x) || !is_channels_last(filter) || !is_channels_last(out))
    return context.fail(Error::InvalidArgument, "toy::conv2d takes f32 tensors in dim order 0, 2, 3, 1");
  const int32_t height = x.sizes[2] - filter.sizes[2] + 1, width = x.sizes[3] - filter.sizes[3] + 1;
  const int32_t sizes[] = {x.sizes[0], filter.sizes[0], height, width};
  if (filter.sizes[1] != x.sizes[1] || !std::equal(sizes, sizes + 4, out.sizes))
    return context.fail(Error::InvalidArgument, "toy::conv2d: sizes that do not go together");
  float* to = out.as<float>();
  for (int64_t n = 0; n < sizes[0]; ++n) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t w = 0; w < width; ++w, to += filter.sizes[0]) {
        const int64_t at = ((n * x.sizes[2] + y) * x.sizes[3] + w) * x.sizes[1];
        convolve(x, filter, x.as<const float>() + at, to);
      }
    }
  }
}

const compiler::Target kNhwcTarget = {
    .name = "toy-nhwc",
    .partition = {.supports = takes_convolution},
    .kernels = {.rewrite = to_conv2d, .ops = kRows, .layout = channels_last},
};

}  // namespace wick::toy
