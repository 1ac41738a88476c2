#include "backends/xnnpack/runtime/xnn/library_nodes.h"

#include <math.h>

namespace wick::xnnpack {
namespace {

bool is_clamped(const PayloadNode& node) { return node.output_min != -INFINITY || node.output_max != INFINITY; }

struct Define {
  xnn_subgraph_t graph;
  const PayloadNode& node;
  const std::vector<uint32_t>& ids;

  uint32_t in(size_t i) const { return node.inputs[i] == kNoValue ? XNN_INVALID_VALUE_ID : ids[node.inputs[i]]; }
  uint32_t out() const { return ids[node.output]; }
  uint32_t flag(NodeFlags which, uint32_t library_flag) const { return node.flags & which ? library_flag : 0; }
};

xnn_status unary(const Define& d, xnn_unary_operator op, const xnn_unary_params* params = nullptr) {
  return xnn_define_unary(d.graph, op, params, d.in(0), d.out(), 0);
}
template <xnn_unary_operator op>
xnn_status plain_unary(const Define& d) {
  return unary(d, op);
}
xnn_status convert(const Define& d) {
  return xnn_define_unary(d.graph, xnn_unary_convert, nullptr, d.in(0), d.out(),
                          d.flag(kZeroPointOfLeast, kZeroPointOfLeast));
}
xnn_status clamp(const Define& d) {
  xnn_unary_params params;
  params.clamp.min = d.node.output_min;
  params.clamp.max = d.node.output_max;
  return unary(d, xnn_unary_clamp, &params);
}
xnn_status elu(const Define& d) {
  xnn_unary_params params;
  params.elu.alpha = d.node.value;
  return unary(d, xnn_unary_elu, &params);
}
xnn_status leaky_relu(const Define& d) {
  xnn_unary_params params;
  params.leaky_relu.negative_slope = d.node.value;
  return unary(d, xnn_unary_leaky_relu, &params);
}

template <xnn_binary_operator op>
xnn_status binary(const Define& d) {
  const xnn_binary_params params = {d.node.output_min, d.node.output_max};
  return xnn_define_binary(d.graph, op, is_clamped(d.node) ? &params : nullptr, d.in(0), d.in(1), d.out(), 0);
}

xnn_status fully_connected(const Define& d) {
  return xnn_define_fully_connected(d.graph, d.node.output_min, d.node.output_max, d.in(0), d.in(1), d.in(2), d.out(),
                                    d.flag(kTransposeWeights, XNN_FLAG_TRANSPOSE_WEIGHTS));
}
xnn_status batch_matrix_multiply(const Define& d) {
  return xnn_define_batch_matrix_multiply(d.graph, d.in(0), d.in(1), d.out(),
                                          d.flag(kTransposeWeights, XNN_FLAG_TRANSPOSE_B));
}
xnn_status softmax(const Define& d) {
  return xnn_define_softmax(d.graph, d.in(0), d.out(), d.flag(kZeroRows, kZeroRows));
}
xnn_status copy(const Define& d) { return xnn_define_copy(d.graph, d.in(0), d.out(), 0); }

xnn_status conv_2d(const Define& d) {
  const PayloadNode::Window& w = d.node.window;
  return xnn_define_convolution_2d(d.graph, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0], w.kernel[1],
                                   w.stride[0], w.stride[1], w.dilation[0], w.dilation[1], d.node.groups,
                                   d.node.group_input_channels, d.node.group_output_channels, d.node.output_min,
                                   d.node.output_max, d.in(0), d.in(1), d.in(2), d.out(), 0);
}
xnn_status depthwise_conv_2d(const Define& d) {
  const PayloadNode::Window& w = d.node.window;
  if (d.node.group_input_channels != 1) return xnn_status_unsupported_parameter;
  return xnn_define_depthwise_convolution_2d(d.graph, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0],
                                             w.kernel[1], w.stride[0], w.stride[1], w.dilation[0], w.dilation[1],
                                             /*depth_multiplier=*/d.node.group_output_channels,
                                             /*input_channels=*/d.node.groups, d.node.output_min, d.node.output_max,
                                             d.in(0), d.in(1), d.in(2), d.out(), 0);
}
xnn_status conv_transpose_2d(const Define& d) {
  const PayloadNode::Window& w = d.node.window;
  return xnn_define_deconvolution_2d(
      d.graph, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.adjustment[0], w.adjustment[1], w.kernel[0],
      w.kernel[1], w.stride[0], w.stride[1], w.dilation[0], w.dilation[1], d.node.groups, d.node.group_input_channels,
      d.node.group_output_channels, d.node.output_min, d.node.output_max, d.in(0), d.in(1), d.in(2), d.out(), 0);
}

xnn_status max_pooling_2d(const Define& d) {
  const PayloadNode::Window& w = d.node.window;
  return xnn_define_max_pooling_2d(d.graph, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0], w.kernel[1],
                                   w.stride[0], w.stride[1], w.dilation[0], w.dilation[1], d.node.output_min,
                                   d.node.output_max, d.in(0), d.out(), 0);
}
xnn_status avg_pooling_2d(const Define& d) {
  const PayloadNode::Window& w = d.node.window;
  return xnn_define_average_pooling_2d(d.graph, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0],
                                       w.kernel[1], w.stride[0], w.stride[1], d.node.output_min, d.node.output_max,
                                       d.in(0), d.out(), 0);
}
xnn_status arg_max_pooling_2d(const Define& d) {
  const PayloadNode::Window& w = d.node.window;
  return xnn_define_argmax_pooling_2d(d.graph, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0],
                                      w.kernel[1], d.in(0), d.out(), d.ids[d.node.output_index], 0);
}
/// The mean over the second and third dimension from the end, of any rank from 3.
xnn_status global_avg_pooling_2d(const Define& d) {
  return xnn_define_global_average_pooling_2d(d.graph, d.node.output_min, d.node.output_max, d.in(0), d.out(),
                                              d.flag(kKeepDims, XNN_FLAG_KEEP_DIMS));
}

using Sizes = std::vector<size_t>;
xnn_status static_transpose(const Define& d) {
  const Sizes permutation(d.node.first.begin(), d.node.first.end());
  return xnn_define_static_transpose(d.graph, permutation.size(), permutation.data(), d.in(0), d.out(), 0);
}
xnn_status static_reshape(const Define& d) {
  const Sizes shape(d.node.first.begin(), d.node.first.end());
  return xnn_define_static_reshape(d.graph, shape.size(), shape.data(), d.in(0), d.out(), 0);
}
xnn_status static_slice(const Define& d) {
  const Sizes offsets(d.node.first.begin(), d.node.first.end()), sizes(d.node.second.begin(), d.node.second.end());
  return xnn_define_static_slice(d.graph, sizes.size(), offsets.data(), sizes.data(), d.in(0), d.out(), 0);
}
xnn_status static_constant_pad(const Define& d) {
  // The library takes as many as the input has dimensions, six at most.
  Sizes before(d.node.first.begin(), d.node.first.end()), after(d.node.second.begin(), d.node.second.end());
  before.resize(XNN_MAX_TENSOR_DIMS);
  after.resize(XNN_MAX_TENSOR_DIMS);
  return xnn_define_static_constant_pad(d.graph, before.data(), after.data(), d.node.value, d.in(0), d.out(), 0);
}
xnn_status static_resize_bilinear_2d(const Define& d) {
  return xnn_define_static_resize_bilinear_2d(d.graph, d.node.first[0], d.node.first[1], d.in(0), d.out(),
                                              d.flag(kAlignCorners, XNN_FLAG_ALIGN_CORNERS));
}

xnn_status concatenate_2(const Define& d) {
  return xnn_define_concatenate2(d.graph, static_cast<int32_t>(d.node.axis), d.in(0), d.in(1), d.out(), 0);
}
xnn_status concatenate_3(const Define& d) {
  return xnn_define_concatenate3(d.graph, static_cast<int32_t>(d.node.axis), d.in(0), d.in(1), d.in(2), d.out(), 0);
}
xnn_status concatenate_4(const Define& d) {
  return xnn_define_concatenate4(d.graph, static_cast<int32_t>(d.node.axis), d.in(0), d.in(1), d.in(2), d.in(3),
                                 d.out(), 0);
}
xnn_status concatenate_5(const Define& d) {
  return xnn_define_concatenate5(d.graph, static_cast<int32_t>(d.node.axis), d.in(0), d.in(1), d.in(2), d.in(3),
                                 d.in(4), d.out(), 0);
}

struct Row {
  NodeType type;
  xnn_status (*define)(const Define&);
};
constexpr Row kRows[] = {
    {NodeType::add, binary<xnn_binary_add>},
    {NodeType::fully_connected, fully_connected},
    {NodeType::softmax, softmax},
    {NodeType::sigmoid, plain_unary<xnn_unary_sigmoid>},
    {NodeType::static_transpose, static_transpose},
    {NodeType::clamp, clamp},
    {NodeType::conv_2d, conv_2d},
    {NodeType::div, binary<xnn_binary_divide>},
    {NodeType::static_resize_bilinear_2d, static_resize_bilinear_2d},
    {NodeType::static_constant_pad, static_constant_pad},
    {NodeType::avg_pooling_2d, avg_pooling_2d},
    {NodeType::minimum, binary<xnn_binary_minimum>},
    {NodeType::depthwise_conv_2d, depthwise_conv_2d},
    {NodeType::max_pooling_2d, max_pooling_2d},
    {NodeType::multiply, binary<xnn_binary_multiply>},
    {NodeType::subtract, binary<xnn_binary_subtract>},
    {NodeType::floor, plain_unary<xnn_unary_floor>},
    {NodeType::convert, convert},
    {NodeType::global_avg_pooling_2d, global_avg_pooling_2d},
    {NodeType::static_reshape, static_reshape},
    {NodeType::arg_max_pooling_2d, arg_max_pooling_2d},
    {NodeType::square_root, plain_unary<xnn_unary_square_root>},
    {NodeType::ceiling, plain_unary<xnn_unary_ceiling>},
    {NodeType::hardswish, plain_unary<xnn_unary_hardswish>},
    {NodeType::leaky_relu, leaky_relu},
    {NodeType::maximum, binary<xnn_binary_maximum>},
    {NodeType::negate, plain_unary<xnn_unary_negate>},
    {NodeType::square, plain_unary<xnn_unary_square>},
    {NodeType::elu, elu},
    {NodeType::abs, plain_unary<xnn_unary_abs>},
    {NodeType::prelu, binary<xnn_binary_prelu>},
    {NodeType::concatenate_2, concatenate_2},
    {NodeType::concatenate_3, concatenate_3},
    {NodeType::concatenate_4, concatenate_4},
    {NodeType::static_slice, static_slice},
    {NodeType::batch_matrix_multiply, batch_matrix_multiply},
    {NodeType::concatenate_5, concatenate_5},
    {NodeType::conv_transpose_2d, conv_transpose_2d},
    {NodeType::reciprocal_square_root, plain_unary<xnn_unary_reciprocal_square_root>},
    {NodeType::log, plain_unary<xnn_unary_log>},
    {NodeType::gelu, plain_unary<xnn_unary_gelu>},
    {NodeType::tanh, plain_unary<xnn_unary_tanh>},
    {NodeType::exp, plain_unary<xnn_unary_exp>},
    {NodeType::sin, plain_unary<xnn_unary_sine>},
    {NodeType::copy, copy},
    {NodeType::cos, plain_unary<xnn_unary_cosine>},
};

}  // namespace

xnn_datatype library_type(DataType type) {
  switch (type) {
    case DataType::fp32: return xnn_datatype_fp32;
    case DataType::fp16: return xnn_datatype_fp16;
    case DataType::qint8: return xnn_datatype_qint8;
    case DataType::quint8: return xnn_datatype_quint8;
    case DataType::qint32: return xnn_datatype_qint32;
    case DataType::qcint8: return xnn_datatype_qcint8;
    case DataType::qcint32: return xnn_datatype_qcint32;
    case DataType::qcint4: return xnn_datatype_qcint4;
    case DataType::qdint8: return xnn_datatype_qdint8;
    case DataType::qbint4: return xnn_datatype_qbint4;
    case DataType::int32: return xnn_datatype_int32;
    case DataType::bf16: return xnn_datatype_fp32;  // widened
    case DataType::invalid:
    case DataType::qpint8:
    case DataType::pfp32: return xnn_datatype_invalid;
  }
  return xnn_datatype_invalid;
}

xnn_status define_node(xnn_subgraph_t graph, const PayloadNode& node, const std::vector<uint32_t>& ids) {
  for (const Row& row : kRows) {
    if (row.type == node.type) return row.define({graph, node, ids});
  }
  return xnn_status_unsupported_parameter;
}

bool adds_clamp(const PayloadNode& node) {
  switch (node.type) {
    case NodeType::add:
    case NodeType::subtract:
    case NodeType::multiply:
    case NodeType::div:
    case NodeType::minimum:
    case NodeType::maximum:
    case NodeType::prelu:
    case NodeType::global_avg_pooling_2d: return is_clamped(node);
    default: return false;
  }
}

const char* status_text(xnn_status status) {
  switch (status) {
    case xnn_status_invalid_parameter: return "invalid parameter";
    case xnn_status_unsupported_parameter: return "unsupported parameter";
    case xnn_status_unsupported_hardware: return "unsupported hardware: half precision takes AVX2, FMA and F16C";
    case xnn_status_out_of_memory: return "out of memory";
    case xnn_status_uninitialized: return "not initialised";
    default: return "invalid state";
  }
}

}  // namespace wick::xnnpack
