// The dim orders that the backend's own operators accept.
#include "backends/cortex_m/compile/operators.h"
#include "compiler/ops/rules.h"
#include "compiler/partition/rule_table.h"

namespace wick::cortex_m {

using compiler::Node;
using compiler::Value;
using compiler::layout::LayoutRule;

namespace {

// Any dim order if all tensors have the same sizes. Otherwise channels last, in which [1, C, 1, 1] has a single layout.
LayoutRule pointwise_layout(const Node& node) {
  for (const Value* operand : node.operands()) {
    if (!(operand->sizes() == node.result()->sizes()))
      return node.result()->rank() == 4 ? compiler::layout::channels_last(node) : compiler::layout::contiguous(node);
  }
  return compiler::layout::any_dim_order(node);
}

LayoutRule images_channels_last(const Node& node) {
  return node.result()->rank() == 4 ? compiler::layout::channels_last(node) : compiler::layout::contiguous(node);
}

LayoutRule softmax_layout(const Node& node) {
  const size_t rank = node.result()->rank();
  return compiler::layout::innermost(static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), rank)));
}

struct LayoutRow {
  const char* op;
  LayoutRule (*layout)(const Node& node);
};

constexpr LayoutRow kLayouts[] = {
    {"cortex_m.quantize_per_tensor.default", compiler::layout::any_dim_order},
    {"cortex_m.dequantize_per_tensor.default", compiler::layout::any_dim_order},
    {"cortex_m.quantized_add.default", pointwise_layout},
    {"cortex_m.quantized_mul.default", pointwise_layout},
    {"cortex_m.quantized_div.default", compiler::layout::any_dim_order},
    {"cortex_m.quantized_activation.default", compiler::layout::any_dim_order},
    {"cortex_m.minimum.default", pointwise_layout},
    {"cortex_m.maximum.default", pointwise_layout},
    {"cortex_m.softmax.default", softmax_layout},
    {"wick_cortex_m.requantize.default", compiler::layout::any_dim_order},
    {"wick_cortex_m.graded_lookup_int16.default", compiler::layout::any_dim_order},
    {"wick_cortex_m.lookup_int16.default", compiler::layout::any_dim_order},
    {"wick_cortex_m.add_int16.default", pointwise_layout},
    {"wick_cortex_m.mul_int16.default", pointwise_layout},
    {"wick_cortex_m.conv2d.default", compiler::layout::channels_last},
    {"wick_cortex_m.conv2d_int4.default", compiler::layout::channels_last},
    {"wick_cortex_m.depthwise_conv2d.default", compiler::layout::channels_last},
    {"wick_cortex_m.depthwise_conv2d_int4.default", compiler::layout::channels_last},
    {"wick_cortex_m.conv2d_int16.default", compiler::layout::channels_last},
    {"wick_cortex_m.depthwise_conv2d_int16.default", compiler::layout::channels_last},
    {"cortex_m.pad.default", images_channels_last},
    {"cortex_m.quantized_conv2d.default", compiler::layout::channels_last},
    {"cortex_m.quantized_depthwise_conv2d.default", compiler::layout::channels_last},
    {"cortex_m.quantized_transpose_conv2d.default", compiler::layout::channels_last},
    {"cortex_m.quantized_avg_pool2d.default", compiler::layout::channels_last},
    {"cortex_m.quantized_max_pool2d.default", compiler::layout::channels_last},
    {"wick_cortex_m.sum_pool2d.default", compiler::layout::channels_last},
    {"wick_cortex_m.resize2d.default", compiler::layout::channels_last},
    {"wick_cortex_m.resize2d_int16.default", compiler::layout::channels_last},
    {"wick_cortex_m.group_norm.default", images_channels_last},
};

}  // namespace

LayoutRule layout(const Node& node) {
  static const compiler::RuleTable<LayoutRow> kTable({Span<const LayoutRow>(kLayouts)});
  const LayoutRow* row = kTable.find(node);
  return row ? row->layout(node) : compiler::layout::contiguous(node);
}

}  // namespace wick::cortex_m
