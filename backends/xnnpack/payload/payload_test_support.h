// Small payloads for tests: one per node type, and text that shows everything in a payload.
#pragma once
#include <string>

#include "backends/xnnpack/payload/payload.h"

namespace wick::xnnpack {

/// A payload in the making. Values are numbered in the order of the calls.
struct PayloadBuilder {
  Payload payload;

  PayloadBuilder() { payload.constants.resize(1); }

  uint32_t value(DataType type, std::vector<uint32_t> dims) {
    PayloadValue value;
    value.type = type;
    value.dims = std::move(dims);
    if (type == DataType::qint8 || type == DataType::quint8 || type == DataType::qint32) {
      value.quantization.kind = Quantization::Kind::per_tensor;
      value.quantization.scale = 0.5f;
    }
    if (type == DataType::qdint8) {
      value.quantization.kind = Quantization::Kind::per_token;
      value.quantization.num_nonbatch_dims = 1;
    }
    payload.values.push_back(value);
    return static_cast<uint32_t>(payload.values.size() - 1);
  }
  uint32_t external(DataType type, std::vector<uint32_t> dims, bool is_input) {
    const uint32_t id = value(type, std::move(dims));
    payload.values[id].external_id = payload.num_externals++;
    payload.values[id].is_input = is_input;
    payload.values[id].is_output = !is_input;
    (is_input ? payload.input_ids : payload.output_ids).push_back(id);
    return id;
  }
  uint32_t input(std::vector<uint32_t> dims, DataType type = DataType::fp32) { return external(type, dims, true); }
  uint32_t output(std::vector<uint32_t> dims, DataType type = DataType::fp32) { return external(type, dims, false); }

  /// Named after its value. Scales of channels (dim 0) or of groups of 32 come along.
  uint32_t constant(std::vector<uint32_t> dims, DataType type = DataType::fp32) {
    const uint32_t id = value(type, std::move(dims));
    PayloadValue& made = payload.values[id];
    made.constant = named("c" + std::to_string(id));
    uint64_t size_bytes = 0;
    if (size_of(made, &size_bytes)) payload.constants.back().size_bytes = size_bytes;
    const bool grouped = type == DataType::qbint4;
    if (grouped || type == DataType::qcint8 || type == DataType::qcint32 || type == DataType::qcint4) {
      made.quantization.kind = grouped ? Quantization::Kind::per_group : Quantization::Kind::per_channel;
      made.quantization.group_size = grouped ? 32 : 0;
      made.quantization.scale_constant = named("s" + std::to_string(id));
    }
    return id;
  }
  uint32_t named(const std::string& key) {
    PayloadConstant entry;
    entry.key = key;
    payload.constants.push_back(entry);
    return static_cast<uint32_t>(payload.constants.size() - 1);
  }

  PayloadNode& node(NodeType type, std::vector<uint32_t> inputs, uint32_t output) {
    PayloadNode node;
    node.type = type;
    for (size_t i = 0; i < inputs.size(); ++i) node.inputs[i] = inputs[i];
    node.output = output;
    payload.nodes.push_back(node);
    return payload.nodes.back();
  }
};

/// One node of this type between its inputs and outputs. Value 0 is the first input.
inline Payload payload_of(NodeType type) {
  PayloadBuilder b;
  const size_t count = num_inputs(type);
  switch (type) {
    case NodeType::fully_connected:
      b.node(type, {b.input({3, 8}), b.constant({6, 8}), b.constant({6})}, b.output({3, 6}));
      break;
    case NodeType::conv_2d:
    case NodeType::depthwise_conv_2d:
    case NodeType::conv_transpose_2d: {
      const bool depthwise = type == NodeType::depthwise_conv_2d, up = type == NodeType::conv_transpose_2d;
      const std::vector<uint32_t> filter =
          depthwise ? std::vector<uint32_t>{1, 3, 3, 4} : std::vector<uint32_t>{6, 3, 3, 2};
      const uint32_t in = b.input({1, 8, 8, 4});
      const uint32_t size = up ? 16 : 4, channels = depthwise ? 4 : 6;
      PayloadNode& n =
          b.node(type, {in, b.constant(filter), b.constant({channels})}, b.output({1, size, size, channels}));
      n.window.pad_top = n.window.pad_left = n.window.pad_bottom = n.window.pad_right = 1;
      for (size_t i = 0; i < 2; ++i) {
        n.window.kernel[i] = 3;
        n.window.stride[i] = 2;
        n.window.adjustment[i] = up ? 1 : 0;
      }
      n.groups = depthwise ? 4 : 2;
      n.group_input_channels = depthwise ? 1 : 2;
      n.group_output_channels = depthwise ? 1 : 3;
      break;
    }
    case NodeType::avg_pooling_2d:
    case NodeType::max_pooling_2d:
    case NodeType::arg_max_pooling_2d: {
      PayloadNode& n = b.node(type, {b.input({1, 8, 8, 4})}, b.output({1, 4, 4, 4}));
      for (size_t i = 0; i < 2; ++i) n.window.kernel[i] = n.window.stride[i] = 2;
      if (type == NodeType::arg_max_pooling_2d) {
        n.window.stride[0] = n.window.stride[1] = 1;  // not written
        n.output_index = b.output({1, 4, 4, 4}, DataType::int32);
      }
      break;
    }
    case NodeType::global_avg_pooling_2d:
      b.node(type, {b.input({2, 8, 8, 4})}, b.output({2, 1, 1, 4})).flags = kKeepDims;
      break;
    case NodeType::static_resize_bilinear_2d: {
      PayloadNode& n = b.node(type, {b.input({1, 4, 4, 3})}, b.output({1, 8, 9, 3}));
      n.first = {8, 9};
      n.flags = kAlignCorners;
      break;
    }
    case NodeType::static_transpose: b.node(type, {b.input({2, 3, 4})}, b.output({4, 2, 3})).first = {2, 0, 1}; break;
    case NodeType::static_reshape: b.node(type, {b.input({2, 3, 4})}, b.output({6, 4})).first = {0, 4}; break;
    case NodeType::static_slice: {
      PayloadNode& n = b.node(type, {b.input({2, 3, 4})}, b.output({2, 2, 3}));
      n.first = {0, 1, 1};
      n.second = {0, 2, 3};
      break;
    }
    case NodeType::static_constant_pad: {
      PayloadNode& n = b.node(type, {b.input({2, 3})}, b.output({3, 6}));
      n.first = {0, 1};
      n.second = {1, 2};
      n.value = 1.5f;
      break;
    }
    case NodeType::batch_matrix_multiply:
      b.node(type, {b.input({2, 3, 4}), b.input({1, 5, 4})}, b.output({2, 3, 5})).flags = kTransposeWeights;
      break;
    case NodeType::convert: b.node(type, {b.input({2, 3})}, b.output({2, 3}, DataType::qint8)); break;
    case NodeType::prelu: b.node(type, {b.input({2, 3}), b.constant({3})}, b.output({2, 3})); break;
    case NodeType::leaky_relu:
    case NodeType::elu: b.node(type, {b.input({2, 3})}, b.output({2, 3})).value = 0.25f; break;
    case NodeType::clamp: {
      PayloadNode& n = b.node(type, {b.input({2, 3})}, b.output({2, 3}));
      n.output_min = 0;
      n.output_max = 6;
      break;
    }
    case NodeType::concatenate_2:
    case NodeType::concatenate_3:
    case NodeType::concatenate_4:
    case NodeType::concatenate_5: {
      std::vector<uint32_t> inputs;
      for (size_t i = 0; i < count; ++i) inputs.push_back(b.input({2, 3}));
      b.node(type, inputs, b.output({2, static_cast<uint32_t>(3 * count)})).axis = 1;
      break;
    }
    default:
      if (count == 2) {
        b.node(type, {b.input({2, 1, 4}), b.input({3, 1})}, b.output({2, 3, 4}));
      } else {
        b.node(type, {b.input({2, 3})}, b.output({2, 3}));
      }
  }
  b.payload.nodes[0].debug_handle = 7;
  return b.payload;
}

/// Everything that a payload says, in lines.
inline std::string text_of(const Payload& payload) {
  std::string text;
  const auto number = [&](double x) { text += std::to_string(x) + " "; };
  const auto list = [&](const auto& items) {
    text += "[";
    for (const auto& item : items) number(item);
    text += "] ";
  };
  number(payload.num_externals);
  list(payload.input_ids);
  list(payload.output_ids);
  for (const PayloadConstant& constant : payload.constants) {
    text += "\nconstant " + constant.key + " " + std::to_string(constant.offset) + " ";
    number(static_cast<double>(constant.size_bytes));
  }
  for (const PayloadValue& value : payload.values) {
    const Quantization& q = value.quantization;
    text += "\nvalue ";
    for (double x :
         {double(value.type), double(value.constant), double(value.external_id), double(value.is_input),
          double(value.is_output), double(q.kind), double(q.scale), double(q.zero_point), double(q.channel_dim),
          double(q.group_size), double(q.num_nonbatch_dims), double(q.scale_constant)}) {
      number(x);
    }
    list(value.dims);
    list(q.inline_scales);
  }
  for (const PayloadNode& n : payload.nodes) {
    const PayloadNode::Window& w = n.window;
    text += std::string("\n") + name_of(n.type) + " ";
    list(n.inputs);
    for (double x : {double(n.output), double(n.output_index), double(n.flags), double(n.debug_handle),
                     double(n.output_min), double(n.output_max), double(w.pad_top), double(w.pad_right),
                     double(w.pad_bottom), double(w.pad_left), double(n.groups), double(n.group_input_channels),
                     double(n.group_output_channels), double(n.axis), double(n.value)}) {
      number(x);
    }
    for (const auto& pair : {w.kernel, w.stride, w.dilation, w.adjustment}) list(Span<const uint32_t>(pair, 2));
    list(n.first);
    list(n.second);
  }
  return text + "\n";
}

}  // namespace wick::xnnpack
