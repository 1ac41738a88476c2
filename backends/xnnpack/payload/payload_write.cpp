// Payload -> blob.
#include <string.h>

#include "backends/xnnpack/payload/payload_generated.h"
#include "backends/xnnpack/payload/payload_header.h"
#include "backends/xnnpack/payload/payload_nodes.h"
#include "schema/header.h"

namespace wick::xnnpack {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// An entry whose bytes are found by name.
constexpr uint64_t kNamed = UINT64_MAX;

Offset<flatbuffers::Vector<uint32_t>> list(FlatBufferBuilder& fbb, const std::vector<uint32_t>& items) {
  return fbb.CreateVector(items);
}

Offset<void> write_quantization(FlatBufferBuilder& fbb, const PayloadValue& value, xnn::QuantParams* type) {
  const Quantization& q = value.quantization;
  const uint32_t num_scales = [&] {
    uint64_t count = q.channel_dim >= 0 && static_cast<size_t>(q.channel_dim) < value.dims.size()
                         ? value.dims[static_cast<size_t>(q.channel_dim)]
                         : 0;
    if (q.kind == Quantization::Kind::per_group && q.group_size > 0 && value.dims.size() == 2) {
      count *= value.dims[1] / q.group_size;
    }
    return static_cast<uint32_t>(count);
  }();
  switch (q.kind) {
    case Quantization::Kind::none: break;
    case Quantization::Kind::per_tensor:
      *type = xnn::QuantParams::PerTensorQuant;
      return xnn::CreatePerTensorQuant(fbb, q.scale, q.zero_point).Union();
    case Quantization::Kind::per_token:
      *type = xnn::QuantParams::PerTokenDynamicQuant;
      return xnn::CreatePerTokenDynamicQuant(fbb, static_cast<int32_t>(q.num_nonbatch_dims)).Union();
    case Quantization::Kind::per_channel: {
      *type = xnn::QuantParams::PerChannelQuant;
      const auto scales = fbb.CreateVector(q.inline_scales);
      return xnn::CreatePerChannelQuant(fbb, scales, q.channel_dim, q.scale_constant, num_scales).Union();
    }
    case Quantization::Kind::per_group: {
      *type = xnn::QuantParams::PerChannelGroupQuant;
      const auto scales = fbb.CreateVector(q.inline_scales);
      return xnn::CreatePerChannelGroupQuant(fbb, scales, q.channel_dim, static_cast<int32_t>(q.group_size), 0,
                                             q.scale_constant, num_scales)
          .Union();
    }
  }
  *type = xnn::QuantParams::NONE;
  return {};
}

Offset<xnn::Value> write_value(FlatBufferBuilder& fbb, const PayloadValue& value, uint32_t id) {
  const auto dims = list(fbb, value.dims);
  const uint32_t flags = (value.is_input ? 1u : 0u) | (value.is_output ? 2u : 0u);
  const auto tensor =
      xnn::CreateTensorValue(fbb, static_cast<int16_t>(value.type), static_cast<uint32_t>(value.dims.size()), dims,
                             value.constant, value.external_id, flags, id);
  if (value.quantization.kind == Quantization::Kind::none) {
    return xnn::CreateValue(fbb, xnn::ValueUnion::TensorValue, tensor.Union());
  }
  xnn::QuantParams type;
  const Offset<void> params = write_quantization(fbb, value, &type);
  const auto quantized = xnn::CreateQuantizedTensorValue(fbb, tensor, type, params);
  return xnn::CreateValue(fbb, xnn::ValueUnion::QuantizedTensorValue, quantized.Union());
}

Offset<void> write_convolution(FlatBufferBuilder& fbb, const PayloadNode& n) {
  const PayloadNode::Window& w = n.window;
  return xnn::CreateConvolution(fbb, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0], w.kernel[1],
                                w.stride[0], w.stride[1], w.dilation[0], w.dilation[1], n.group_input_channels,
                                n.group_output_channels, n.groups, w.adjustment[0], w.adjustment[1], n.inputs[0],
                                n.inputs[1], n.inputs[2], n.output, n.flags)
      .Union();
}

Offset<void> write_pooling(FlatBufferBuilder& fbb, const PayloadNode& n) {
  const PayloadNode::Window& w = n.window;
  if (n.type == NodeType::arg_max_pooling_2d) {
    return xnn::CreateArgMaxPooling(fbb, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0], w.kernel[1],
                                    n.inputs[0], n.output, n.output_index, n.flags)
        .Union();
  }
  return xnn::CreatePooling(fbb, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel[0], w.kernel[1],
                            w.stride[0], w.stride[1], w.dilation[0], w.dilation[1], n.inputs[0], n.output, n.flags)
      .Union();
}

Offset<void> write_shape_node(FlatBufferBuilder& fbb, const PayloadNode& n, NodeLayout layout) {
  const auto first = list(fbb, n.first);
  const uint32_t rank = static_cast<uint32_t>(n.first.size());
  if (layout == NodeLayout::transpose) {
    return xnn::CreateTranspose(fbb, rank, first, n.inputs[0], n.output, n.flags).Union();
  }
  if (layout == NodeLayout::reshape) {
    return xnn::CreateReshape(fbb, rank, first, n.inputs[0], n.output, n.flags).Union();
  }
  const auto second = list(fbb, n.second);
  if (layout == NodeLayout::slice) {
    return xnn::CreateSlice(fbb, rank, first, second, n.inputs[0], n.output, n.flags).Union();
  }
  return xnn::CreateConstantPad(fbb, first, second, n.value, n.inputs[0], n.output, n.flags).Union();
}

Offset<void> write_node_union(FlatBufferBuilder& fbb, const PayloadNode& n) {
  const uint32_t* in = n.inputs;
  const NodeLayout layout = row_of(n.type).layout;
  switch (layout) {
    case NodeLayout::none: break;
    case NodeLayout::unary: return xnn::CreateUnary(fbb, in[0], n.output, n.flags).Union();
    case NodeLayout::binary: return xnn::CreateBinary(fbb, in[0], in[1], n.output, n.flags).Union();
    case NodeLayout::fully_connected:
      return xnn::CreateFullyConnected(fbb, in[0], in[1], in[2], n.output, n.flags).Union();
    case NodeLayout::convolution: return write_convolution(fbb, n);
    case NodeLayout::pooling:
    case NodeLayout::arg_max_pooling: return write_pooling(fbb, n);
    case NodeLayout::transpose:
    case NodeLayout::reshape:
    case NodeLayout::slice:
    case NodeLayout::constant_pad: return write_shape_node(fbb, n, layout);
    case NodeLayout::resize:
      return xnn::CreateResizeBilinear(fbb, n.first[0], n.first[1], in[0], n.output, n.flags).Union();
    case NodeLayout::sloped: return xnn::CreateSloped(fbb, n.value, in[0], n.output, n.flags).Union();
    case NodeLayout::concatenate:
      return xnn::CreateConcatenate(fbb, n.axis, in[0], in[1], in[2], in[3], n.output, n.flags, in[4]).Union();
  }
  return {};
}

Offset<xnn::Node> write_node(FlatBufferBuilder& fbb, const PayloadNode& node) {
  const Offset<void> inner = write_node_union(fbb, node);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Offset<xnn::OutputMinMax> bounds;
  if (node.output_min != -kInfinity || node.output_max != kInfinity) {
    bounds = xnn::CreateOutputMinMax(fbb, node.output_min, node.output_max);
  }
  return xnn::CreateNode(fbb, static_cast<xnn::NodeUnion>(node.type), inner, node.debug_handle, bounds);
}

Offset<xnn::ConstantDataOffset> write_constant(FlatBufferBuilder& fbb, const PayloadConstant& constant, size_t index) {
  if (index == 0) return xnn::CreateConstantDataOffset(fbb, 0, 0, fbb.CreateString(""));
  return xnn::CreateConstantDataOffset(fbb, kNamed, constant.size_bytes, fbb.CreateString(constant.key));
}

void write_tables(FlatBufferBuilder& fbb, const Payload& payload) {
  std::vector<Offset<xnn::Value>> values;
  for (size_t i = 0; i < payload.values.size(); ++i) {
    values.push_back(write_value(fbb, payload.values[i], static_cast<uint32_t>(i)));
  }
  std::vector<Offset<xnn::Node>> nodes;
  for (const PayloadNode& node : payload.nodes) nodes.push_back(write_node(fbb, node));
  std::vector<Offset<xnn::ConstantDataOffset>> constants;
  for (size_t i = 0; i < payload.constants.size() || i == 0; ++i) {
    constants.push_back(write_constant(fbb, i == 0 ? PayloadConstant() : payload.constants[i], i));
  }
  const auto version = fbb.CreateString("0");
  const auto node_list = fbb.CreateVector(nodes);
  const auto value_list = fbb.CreateVector(values);
  const auto inputs = list(fbb, payload.input_ids);
  const auto outputs = list(fbb, payload.output_ids);
  const auto constant_list = fbb.CreateVector(constants);
  fbb.Finish(xnn::CreateGraph(fbb, version, node_list, value_list, payload.num_externals, inputs, outputs, 0, 0,
                              constant_list),
             kIdentifier);
}

void put(std::vector<uint8_t>& blob, size_t offset, uint64_t value, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; ++i) blob[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

std::vector<uint8_t> write_payload(const Payload& payload) {
  FlatBufferBuilder fbb;
  write_tables(fbb, payload);
  const size_t padded = (fbb.GetSize() + 15) / 16 * 16;
  std::vector<uint8_t> blob(kTablesOffset + padded);
  memcpy(&blob[schema::kIdentifierOffset], kHeaderMagic, schema::kIdentifierSize);
  put(blob, 8, kHeaderLength, 2);
  put(blob, 10, kTablesOffset, 4);
  put(blob, 14, fbb.GetSize(), 4);
  put(blob, 18, blob.size(), 4);
  put(blob, 22, 0, 8);
  memcpy(&blob[kTablesOffset], fbb.GetBufferPointer(), fbb.GetSize());
  return blob;
}

}  // namespace wick::xnnpack
