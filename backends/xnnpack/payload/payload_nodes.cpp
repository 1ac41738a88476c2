// The table of node types, and the checks of indices that reader and check_payload share.
#include "backends/xnnpack/payload/payload_nodes.h"

#include "backends/xnnpack/payload/payload_check.h"
#include "common/checked.h"

namespace wick::xnnpack {
namespace {

// Indexed by NodeType.
constexpr NodeRow kRows[] = {
    {"none", 0, NodeLayout::none, 0, nullptr},
    {"add", 2, NodeLayout::binary, 0, check_binary},
    {"fully_connected", 3, NodeLayout::fully_connected, kTransposeWeights, check_fully_connected},
    {"softmax", 1, NodeLayout::unary, kZeroRows, check_softmax},
    {"sigmoid", 1, NodeLayout::unary, 0, check_unary},
    {"static_transpose", 1, NodeLayout::transpose, 0, check_transpose},
    {"clamp", 1, NodeLayout::unary, 0, check_clamp},
    {"conv_2d", 3, NodeLayout::convolution, 0, check_convolution},
    {"div", 2, NodeLayout::binary, 0, check_binary},
    {"static_resize_bilinear_2d", 1, NodeLayout::resize, kAlignCorners, check_resize},
    {"static_constant_pad", 1, NodeLayout::constant_pad, 0, check_constant_pad},
    {"avg_pooling_2d", 1, NodeLayout::pooling, kKeepDims, check_pooling},
    {"minimum", 2, NodeLayout::binary, 0, check_binary},
    {"depthwise_conv_2d", 3, NodeLayout::convolution, 0, check_depthwise},
    {"max_pooling_2d", 1, NodeLayout::pooling, kKeepDims, check_pooling},
    {"multiply", 2, NodeLayout::binary, 0, check_binary},
    {"subtract", 2, NodeLayout::binary, 0, check_binary},
    {"floor", 1, NodeLayout::unary, 0, check_unary},
    {"convert", 1, NodeLayout::unary, kZeroPointOfLeast, check_convert},
    {"global_avg_pooling_2d", 1, NodeLayout::unary, kKeepDims | kZeroOfNone, check_global_pooling},
    {"static_reshape", 1, NodeLayout::reshape, 0, check_reshape},
    {"arg_max_pooling_2d", 1, NodeLayout::arg_max_pooling, 0, check_arg_max_pooling},
    {"square_root", 1, NodeLayout::unary, 0, check_unary},
    {"ceiling", 1, NodeLayout::unary, 0, check_unary},
    {"hardswish", 1, NodeLayout::unary, 0, check_unary},
    {"leaky_relu", 1, NodeLayout::sloped, 0, check_sloped},
    {"maximum", 2, NodeLayout::binary, 0, check_binary},
    {"negate", 1, NodeLayout::unary, 0, check_unary},
    {"square", 1, NodeLayout::unary, 0, check_unary},
    {"elu", 1, NodeLayout::sloped, 0, check_sloped},
    {"abs", 1, NodeLayout::unary, 0, check_unary},
    {"prelu", 2, NodeLayout::binary, 0, check_prelu},
    {"concatenate_2", 2, NodeLayout::concatenate, 0, check_concatenate},
    {"concatenate_3", 3, NodeLayout::concatenate, 0, check_concatenate},
    {"concatenate_4", 4, NodeLayout::concatenate, 0, check_concatenate},
    {"static_slice", 1, NodeLayout::slice, 0, check_slice},
    {"scaled_dot_product_attention", 5, NodeLayout::none, 0, nullptr},
    {"batch_matrix_multiply", 2, NodeLayout::binary, kTransposeWeights, check_batch_matrix_multiply},
    {"concatenate_5", 5, NodeLayout::concatenate, 0, check_concatenate},
    {"conv_transpose_2d", 3, NodeLayout::convolution, 0, check_transposed_convolution},
    {"reciprocal_square_root", 1, NodeLayout::unary, 0, check_unary},
    {"log", 1, NodeLayout::unary, 0, check_unary},
    {"gelu", 1, NodeLayout::unary, 0, check_unary},
    {"tanh", 1, NodeLayout::unary, 0, check_unary},
    {"exp", 1, NodeLayout::unary, 0, check_unary},
    {"sin", 1, NodeLayout::unary, 0, check_unary},
    {"copy", 1, NodeLayout::unary, 0, check_copy},
    {"cos", 1, NodeLayout::unary, 0, check_unary},
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kNumNodeTypes, "one row per node type");

Error check_value(const Payload& payload, size_t index, ErrorText* text) {
  const PayloadValue& value = payload.values[index];
  const uint64_t i = index;
  if (value.dims.size() > kMaxRank) {
    return refuse(text, "value ", i, " has rank ", static_cast<uint64_t>(value.dims.size()), ", above 6");
  }
  if (value.constant != 0 && value.constant >= payload.constants.size()) {
    return refuse(text, "value ", i, ": constant ", value.constant, " does not exist");
  }
  const uint32_t scales = value.quantization.scale_constant;
  if (scales != 0 && scales >= payload.constants.size()) {
    return refuse(text, "value ", i, ": constant ", scales, " (scales) does not exist");
  }
  uint64_t size_bytes;
  if (!size_of(value, &size_bytes)) return refuse(text, "value ", i, ": its size overflows");
  const bool external = value.external_id != kNoValue;
  if (external != (value.is_input || value.is_output)) {
    return refuse(text, "value ", i, ": an input or output has an external id, and no other value");
  }
  if (!external) return Error::Ok;
  if (value.is_input && value.is_output) return refuse(text, "value ", i, " is both an input and an output");
  if (value.constant != 0) return refuse(text, "value ", i, " is both external and a constant");
  if (value.external_id >= payload.num_externals) {
    return refuse(text, "value ", i, ": external id ", value.external_id, " of ", payload.num_externals);
  }
  return Error::Ok;
}

// Each argument of the delegate belongs to one value, and input_ids and output_ids are those values in argument order.
Error check_externals(const Payload& payload, ErrorText* text) {
  std::vector<uint32_t> owner(payload.num_externals, kNoValue);
  for (uint32_t i = 0; i < payload.values.size(); ++i) {
    const uint32_t external = payload.values[i].external_id;
    if (external == kNoValue) continue;
    if (owner[external] != kNoValue) return refuse(text, "external id ", external, " belongs to two values");
    owner[external] = i;
  }
  size_t inputs = 0, outputs = 0;
  for (uint32_t external = 0; external < payload.num_externals; ++external) {
    if (owner[external] == kNoValue) return refuse(text, "external id ", external, " belongs to no value");
    const bool is_input = payload.values[owner[external]].is_input;
    const std::vector<uint32_t>& ids = is_input ? payload.input_ids : payload.output_ids;
    size_t& next = is_input ? inputs : outputs;
    if (next >= ids.size() || ids[next] != owner[external]) {
      return refuse(text, "the list of ", is_input ? "inputs" : "outputs", " is not that of the external values");
    }
    ++next;
  }
  if (inputs != payload.input_ids.size() || outputs != payload.output_ids.size()) {
    return refuse(text, "the lists of inputs and outputs name other values than the external ones");
  }
  return Error::Ok;
}

Error check_node(const Payload& payload, size_t index, ErrorText* text) {
  const PayloadNode& node = payload.nodes[index];
  const uint64_t i = index;
  if (static_cast<size_t>(node.type) >= kNumNodeTypes || !row_of(node.type).check) {
    return refuse(text, "node ", i, " is of type ", static_cast<uint32_t>(node.type), ", which nothing executes");
  }
  const NodeRow& row = row_of(node.type);
  for (size_t k = 0; k < row.num_inputs; ++k) {
    if (node.inputs[k] == kNoValue && k == 2 && has_optional_bias(node.type)) continue;
    if (node.inputs[k] >= payload.values.size()) {
      return refuse(text, "node ", i, " (", row.name, "): input ", node.inputs[k], " is not a value");
    }
  }
  if (node.output >= payload.values.size()) {
    return refuse(text, "node ", i, " (", row.name, "): output ", node.output, " is not a value");
  }
  if (node.type == NodeType::arg_max_pooling_2d && node.output_index >= payload.values.size()) {
    return refuse(text, "node ", i, " (", row.name, "): output ", node.output_index, " is not a value");
  }
  return Error::Ok;
}

}  // namespace

const NodeRow& row_of(NodeType type) { return kRows[static_cast<size_t>(type)]; }

const char* name_of(NodeType type) { return static_cast<size_t>(type) < kNumNodeTypes ? row_of(type).name : "?"; }

size_t num_inputs(NodeType type) { return static_cast<size_t>(type) < kNumNodeTypes ? row_of(type).num_inputs : 0; }

bool keeps_pointers(NodeType type) {
  return type == NodeType::max_pooling_2d || type == NodeType::static_resize_bilinear_2d;
}

bool has_optional_bias(NodeType type) {
  const NodeLayout layout = row_of(type).layout;
  return layout == NodeLayout::fully_connected || layout == NodeLayout::convolution;
}

Error check_indices(const Payload& payload, ErrorText* text) {
  if (payload.num_externals > kMaxExternals) {
    return refuse(text, payload.num_externals, " external values, more than ", kMaxExternals);
  }
  for (size_t i = 1; i < payload.constants.size(); ++i) {
    const PayloadConstant& constant = payload.constants[i];
    if (!constant.key.empty() || range_fits(constant.offset, constant.size_bytes, payload.region.size())) continue;
    return refuse(text, "constant ", static_cast<uint64_t>(i), " lies outside the blob");
  }
  for (size_t i = 0; i < payload.values.size(); ++i) {
    const Error error = check_value(payload, i, text);
    if (error != Error::Ok) return error;
  }
  const Error error = check_externals(payload, text);
  if (error != Error::Ok) return error;
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    const Error bad = check_node(payload, i, text);
    if (bad != Error::Ok) return bad;
  }
  return Error::Ok;
}

}  // namespace wick::xnnpack
