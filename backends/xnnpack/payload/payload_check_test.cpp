#include <gtest/gtest.h>

#include "backends/xnnpack/payload/payload.h"
#include "backends/xnnpack/payload/payload_test_support.h"

namespace wick::xnnpack::payload_check_test {
namespace {

std::string refusal(const Payload& payload, const std::vector<Dims>* inputs = nullptr,
                    std::vector<Dims>* dims = nullptr) {
  char buffer[300];
  ErrorText text(buffer);
  std::vector<Dims> found;
  const Error error = check_payload(payload, inputs, dims ? dims : &found, &text);
  if (error == Error::Ok) return "";
  EXPECT_EQ(error, Error::DelegateInvalidCompatibility);
  return text.size() ? text.c_str() : "no text";
}

struct Wrong {
  NodeType type;
  const char* text;
  void (*change)(Payload&, PayloadNode&);
};

// Each is a good payload with one change.
void expect_refused(Span<const Wrong> cases) {
  for (const Wrong& wrong : cases) {
    Payload payload = payload_of(wrong.type);
    ASSERT_EQ(refusal(payload), "") << name_of(wrong.type);
    wrong.change(payload, payload.nodes[0]);
    const std::string text = refusal(payload);
    EXPECT_NE(text.find(wrong.text), std::string::npos)
        << name_of(wrong.type) << ": " << text << " is not: " << wrong.text;
  }
}

// All values that are not constants get this type.
void retype(Payload& payload, DataType type) {
  for (PayloadValue& value : payload.values) {
    if (value.constant == 0) value.type = type;
    if (value.constant == 0 && (type == DataType::qint8 || type == DataType::quint8)) {
      value.quantization.kind = Quantization::Kind::per_tensor;
      value.quantization.scale = 0.5f;
    }
  }
}

TEST(XnnpackPayloadCheck, ValuesMustMakeSense) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Wrong cases[] = {
      {N::abs, "value 0 is without elements", [](P& p, O&) { p.values[0].dims[0] = 0; }},
      {N::abs, "value 0 is of 2^31 elements", [](P& p, O&) { p.values[0].dims = {1u << 16, 1u << 15}; }},
      {N::abs, "(qpint8) that is not taken", [](P& p, O&) { p.values[0].type = DataType::qpint8; }},
      {N::abs, "(pfp32) that is not taken", [](P& p, O&) { p.values[0].type = DataType::pfp32; }},
      {N::abs, "input 0 is int32", [](P& p, O&) { retype(p, DataType::int32); }},
      {N::abs, "quantized in a different way than its type qint8",
       [](P& p, O&) { p.values[0].type = DataType::qint8; }},
      {N::abs, "quantized at run time, yet not inside", [](P& p, O&) { p.values[0].type = DataType::qdint8; }},
      {N::convert, "scale that is not a positive", [](P& p, O&) { p.values[1].quantization.scale = 0; }},
      {N::convert, "scale that is not a positive", [](P& p, O&) { p.values[1].quantization.scale = -1; }},
      {N::convert, "scale that is not a positive", [](P& p, O&) { p.values[1].quantization.scale = 1e-40f; }},
      {N::convert, "scale that is not a positive",
       [](P& p, O&) { p.values[1].quantization.scale = std::numeric_limits<float>::infinity(); }},
      {N::convert, "scale that is not a positive",
       [](P& p, O&) { p.values[1].quantization.scale = std::numeric_limits<float>::quiet_NaN(); }},
      {N::convert, "zero point 128", [](P& p, O&) { p.values[1].quantization.zero_point = 128; }},
      {N::fully_connected, "a constant of 191 bytes and needs 192", [](P& p, O&) { p.constants[1].size_bytes = 191; }},
      {N::fully_connected, "quantized along dim 2 of 2",
       [](P& p, O&) {
         p.values[1].type = DataType::qcint8;
         p.values[1].quantization.kind = Quantization::Kind::per_channel;
         p.values[1].quantization.channel_dim = 2;
       }},
      {N::fully_connected, "a different number of scales than it has channels",
       [](P& p, O&) {
         p.values[1].type = DataType::qcint8;
         p.values[1].quantization.kind = Quantization::Kind::per_channel;
         p.values[1].quantization.inline_scales = {1, 2};
       }},
      {N::fully_connected, "in groups of 32, no multiple of 32 that divides 8",
       [](P& p, O&) {
         p.values[1].type = DataType::qbint4;
         p.values[1].quantization.kind = Quantization::Kind::per_group;
         p.values[1].quantization.group_size = 32;
       }},
      {N::abs, "of type qint32 but no constant", [](P& p, O&) { p.values[0].type = DataType::qint32; }},
  };
  expect_refused(cases);
}

TEST(XnnpackPayloadCheck, NodesReadWhatIsWrittenOnce) {
  using N = NodeType;
  const Wrong cases[] = {
      {N::add, "the list of inputs is not", [](Payload& p, PayloadNode&) { p.input_ids = {1, 0}; }},
      {N::add, "name other values", [](Payload& p, PayloadNode&) { p.output_ids = {2, 2}; }},
      {N::add, "value 2 is read before it is written", [](Payload&, PayloadNode& n) { n.inputs[0] = 2; }},
      {N::add, "value 0 is written although", [](Payload&, PayloadNode& n) { n.output = 0; }},
      {N::add, "value 2 is written although", [](Payload& p, PayloadNode&) { p.nodes.push_back(p.nodes[0]); }},
      {N::prelu, "value 1 is written although", [](Payload&, PayloadNode& n) { n.output = 1; }},
      {N::add, "output value 2 is never written", [](Payload& p, PayloadNode&) { p.nodes.clear(); }},
      {N::add, "output value 2 gets other sizes", [](Payload& p, PayloadNode&) { p.values[2].dims[0] = 1; }},
      {N::arg_max_pooling_2d, "value 1 is written although", [](Payload&, PayloadNode& n) { n.output_index = 1; }},
      {N::add, "bounds are not a range", [](Payload&, PayloadNode& n) { n.output_min = 7, n.output_max = 6; }},
      {N::add, "bounds are not a range",
       [](Payload&, PayloadNode& n) { n.output_min = std::numeric_limits<float>::quiet_NaN(); }},
      {N::add, "flags 1 have no meaning", [](Payload&, PayloadNode& n) { n.flags = 1; }},
      {N::conv_2d, "flags 4 have no meaning", [](Payload&, PayloadNode& n) { n.flags = 4; }},
      {N::fully_connected, "flags 4 have no meaning", [](Payload&, PayloadNode& n) { n.flags = 4; }},
      {N::batch_matrix_multiply, "flags 2 have no meaning", [](Payload&, PayloadNode& n) { n.flags = 2; }},
  };
  expect_refused(cases);
}

TEST(XnnpackPayloadCheck, ElementwiseNodes) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Wrong cases[] = {
      {N::add, "cannot be broadcast to one shape", [](P& p, O&) { p.values[1].dims = {3, 3}; }},
      {N::add, "is fp32 and the output fp16", [](P& p, O&) { p.values[2].type = DataType::fp16; }},
      {N::add, "input 1 is int32", [](P& p, O&) { p.values[1].type = DataType::int32; }},
      {N::add, "too far apart", [](P& p, O&) { retype(p, DataType::qint8), p.values[1].quantization.scale = 1000; }},
      {N::subtract, "too far apart",
       [](P& p, O&) { retype(p, DataType::quint8), p.values[2].quantization.scale = 1000; }},
      {N::multiply, "too far apart",
       [](P& p, O&) { retype(p, DataType::qint8), p.values[2].quantization.scale = 1e-4f; }},
      {N::prelu, "slope cannot be broadcast",
       [](P& p, O&) { p.values[1].dims = {4, 2, 3}, p.constants[1].size_bytes = 0; }},
      {N::prelu, "slope cannot be broadcast", [](P& p, O&) { p.values[1].dims = {2}; }},
      {N::prelu, "is quint8", [](P& p, O&) { retype(p, DataType::quint8); }},
      {N::elu, "a bad slope", [](P&, O& n) { n.value = -1; }},
      {N::leaky_relu, "a bad slope", [](P&, O& n) { n.value = std::numeric_limits<float>::infinity(); }},
      {N::leaky_relu, "too far apart",
       [](P& p, O&) { retype(p, DataType::qint8), p.values[0].quantization.scale = 100; }},
      {N::clamp, "differ in scale", [](P& p, O&) { retype(p, DataType::qint8), p.values[0].quantization.scale = 1; }},
      {N::softmax, "flags 1 have no meaning", [](P&, O& n) { n.flags = 1; }},
      {N::softmax, "is qint8", [](P& p, O&) { retype(p, DataType::qint8); }},
      {N::softmax, "rank 0", [](P& p, O&) { p.values[0].dims = p.values[1].dims = {}; }},
      {N::convert, "no conversion from fp32 to fp32",
       [](P& p, O&) { retype(p, DataType::fp32), p.values[1].quantization = {}; }},
      {N::convert, "no conversion from fp16 to quint8",
       [](P& p, O&) { p.values[0].type = DataType::fp16, p.values[1].type = DataType::quint8; }},
      {N::convert, "too far apart", [](P& p, O&) { retype(p, DataType::qint8), p.values[0].quantization.scale = 100; }},
  };
  expect_refused(cases);
}

TEST(XnnpackPayloadCheck, NodesThatMoveElements) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Wrong cases[] = {
      {N::static_transpose, "not of the input's rank", [](P&, O& n) { n.first = {1, 0}; }},
      {N::static_transpose, "the permutation is none", [](P&, O& n) { n.first = {1, 1, 0}; }},
      {N::static_transpose, "the permutation is none", [](P&, O& n) { n.first = {1, 3, 0}; }},
      {N::static_reshape, "more than one size", [](P&, O& n) { n.first = {0, 0}; }},
      {N::static_reshape, "a different number of elements", [](P&, O& n) { n.first = {0, 5}; }},
      {N::static_reshape, "a different number of elements", [](P&, O& n) { n.first = {5, 4}; }},
      {N::static_reshape, "a different number of elements", [](P&, O& n) { n.first = {~0u, ~0u, 0}; }},
      {N::static_reshape, "above 6", [](P&, O& n) { n.first = {24, 1, 1, 1, 1, 1, 1}; }},
      {N::static_slice, "not of the input's rank", [](P&, O& n) { n.first = {0, 0}; }},
      {N::static_slice, "not of the input's rank", [](P&, O& n) { n.second = {1, 1}; }},
      {N::static_slice, "dim 1 of 3 has no elements 2 to 4", [](P&, O& n) { n.first[1] = 2; }},
      {N::static_slice, "dim 2 of 4 has no elements", [](P&, O& n) { n.first[2] = ~0u; }},
      {N::static_slice, "dim 1 of 3 has no elements", [](P&, O& n) { n.second[1] = 0; }},
      {N::static_constant_pad, "not of the input's rank", [](P&, O& n) { n.first = {0}; }},
      {N::static_constant_pad, "too large", [](P&, O& n) { n.second[1] = ~0u; }},
      {N::static_constant_pad, "2^31 elements", [](P&, O& n) { n.second = {1u << 16, 1u << 16}; }},
      {N::concatenate_2, "dim 2 of 2", [](P&, O& n) { n.axis = 2; }},
      {N::concatenate_3, "input 1 differs from the first", [](P& p, O&) { p.values[1].dims = {3, 3}; }},
      {N::concatenate_4, "input 3 differs from the first", [](P& p, O&) { p.values[3].dims = {2, 3, 1}; }},
      {N::concatenate_5, "input 4 is fp16", [](P& p, O&) { p.values[4].type = DataType::fp16; }},
      {N::copy, "differ in scale or zero point",
       [](P& p, O&) { retype(p, DataType::qint8), p.values[0].quantization.zero_point = 3; }},
      {N::copy, "input 0 is int32", [](P& p, O&) { retype(p, DataType::int32); }},
  };
  expect_refused(cases);
}

TEST(XnnpackPayloadCheck, Products) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Wrong cases[] = {
      {N::fully_connected, "input 1 has rank 3, not 2", [](P& p, O&) { p.values[1].dims = {6, 8, 1}; }},
      {N::fully_connected, "not the filter's 7 channels", [](P& p, O&) { p.values[1].dims = {6, 7}; }},
      {N::fully_connected, "not the filter's 8 channels", [](P& p, O&) { p.values[0].dims = {}; }},
      {N::fully_connected, "a bias of 6 elements for 8 channels", [](P&, O& n) { n.flags = kTransposeWeights; }},
      {N::fully_connected, "a bias of 5 elements for 6 channels", [](P& p, O&) { p.values[2].dims = {5}; }},
      {N::fully_connected, "with a bias of int32 gives fp32", [](P& p, O&) { p.values[2].type = DataType::int32; }},
      {N::fully_connected, "no product of fp32 and fp16", [](P& p, O&) { p.values[1].type = DataType::fp16; }},
      {N::batch_matrix_multiply, "an input is not a matrix", [](P& p, O&) { p.values[1].dims = {4}; }},
      {N::batch_matrix_multiply, "rows of 4 elements meet columns of 5", [](P&, O& n) { n.flags = 0; }},
      {N::batch_matrix_multiply, "batches of 2 and 3", [](P& p, O&) { p.values[1].dims = {3, 5, 4}; }},
      {N::batch_matrix_multiply, "is qint8", [](P& p, O&) { retype(p, DataType::qint8); }},
  };
  expect_refused(cases);
}

TEST(XnnpackPayloadCheck, Convolutions) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Wrong cases[] = {
      {N::conv_2d, "input 0 has rank 3, not 4", [](P& p, O&) { p.values[0].dims = {8, 8, 4}; }},
      {N::conv_2d, "input 1 has rank 3, not 4", [](P& p, O&) { p.values[1].dims = {6, 9, 2}; }},
      {N::conv_2d, "an input of 4 channels for 2", [](P&, O& n) { n.groups = 1, n.group_output_channels = 6; }},
      {N::conv_2d, "an input of 4 channels for 8589934590", [](P&, O& n) { n.group_input_channels = ~0u; }},
      {N::conv_2d, "no groups or channels", [](P&, O& n) { n.groups = 0; }},
      {N::conv_2d, "no groups or channels", [](P&, O& n) { n.group_output_channels = 0; }},
      {N::conv_2d, "dim 0 of the filter is 6, not 4", [](P&, O& n) { n.group_output_channels = 2; }},
      {N::conv_2d, "dim 1 of the filter is 3, not 5", [](P&, O& n) { n.window.kernel[0] = 5; }},
      {N::conv_2d, "dim 3 of the filter is 1, not 2", [](P& p, O&) { p.values[1].dims[3] = 1; }},
      {N::conv_2d, "dilation of 0", [](P&, O& n) { n.window.dilation[1] = 0; }},
      {N::conv_2d, "stride or dilation of 0", [](P&, O& n) { n.window.stride[0] = 0; }},
      {N::conv_2d, "a window over 17 of 10", [](P&, O& n) { n.window.dilation[0] = 8; }},
      {N::conv_2d, "a window too large", [](P&, O& n) { n.window.dilation[0] = ~0u; }},
      {N::conv_2d, "a window too large", [](P&, O& n) { n.window.pad_left = ~0u; }},
      {N::conv_2d, "too many elements in all windows",
       [](P&, O& n) { n.window.pad_left = n.window.pad_top = 1u << 17; }},
      {N::conv_2d, "an adjustment", [](P&, O& n) { n.window.adjustment[0] = 1; }},
      {N::conv_2d, "the filter is not a constant",
       [](P& p, O& n) {
         p.values[1].constant = 0;
         p.nodes.insert(p.nodes.begin(), PayloadNode{});
         p.nodes[0].type = NodeType::static_reshape;
         p.nodes[0].first = p.values[1].dims = {6, 3, 3, 2};
         p.values[0].dims = {1, 3, 3, 12};
         p.nodes[0].inputs[0] = 0;
         p.nodes[0].output = 1;
       }},
      {N::conv_2d, "no product of fp16 and fp16",
       [](P& p, O&) { retype(p, DataType::fp16), p.values[1].type = p.values[2].type = DataType::fp16; }},
      {N::conv_2d, "the filter has zero point 1",
       [](P& p, O&) {
         retype(p, DataType::qint8);
         p.values[1].type = DataType::qint8;
         p.values[1].quantization = p.values[0].quantization;
         p.values[1].quantization.zero_point = 1;
         p.values[2].type = DataType::qint32;
         p.values[2].quantization = p.values[0].quantization;
       }},
      {N::depthwise_conv_2d, "groups of 2 input channels", [](P&, O& n) { n.group_input_channels = 2; }},
      {N::depthwise_conv_2d, "an input of 4 channels for 3", [](P&, O& n) { n.groups = 3; }},
      {N::depthwise_conv_2d, "dim 3 of the filter is 4, not 8", [](P&, O& n) { n.group_output_channels = 2; }},
      {N::depthwise_conv_2d, "a bias of 5 elements for 4",
       [](P& p, O&) { p.values[2].dims = {5}, p.constants[2].size_bytes = 0; }},
      {N::conv_transpose_2d, "an adjustment of 2, not below the stride", [](P&, O& n) { n.window.adjustment[0] = 2; }},
      {N::conv_transpose_2d, "smaller than its stride", [](P&, O& n) { n.window.pad_top = 16; }},
      {N::conv_transpose_2d, "smaller than its stride", [](P&, O& n) { n.window.pad_top = 1u << 30; }},
      {N::conv_transpose_2d, "without rows or columns",
       [](P&, O& n) { n.window.pad_top = 32, n.window.dilation[0] = 2; }},
      {N::conv_transpose_2d, "a result too large", [](P&, O& n) { n.window.stride[0] = ~0u; }},
      {N::conv_transpose_2d, "too many elements in all windows",
       [](P&, O& n) { n.window.stride[0] = n.window.stride[1] = 1u << 12; }},
  };
  expect_refused(cases);
}

TEST(XnnpackPayloadCheck, PoolingAndResizing) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Wrong cases[] = {
      {N::max_pooling_2d, "a window of one element", [](P&, O& n) { n.window = {}; }},
      {N::avg_pooling_2d, "a window of one element", [](P&, O& n) { n.window = {}; }},
      {N::max_pooling_2d, "a stride larger than the window", [](P&, O& n) { n.window.stride[0] = 3; }},
      {N::max_pooling_2d, "a window of padding only", [](P&, O& n) { n.window.pad_top = 2; }},
      {N::max_pooling_2d, "a dilated window that begins behind the image",
       [](P&, O& n) { n.window.dilation[1] = 2, n.window.stride[0] = 1, n.window.pad_top = n.window.pad_bottom = 1; }},
      {N::max_pooling_2d, "a window over 9 of 8", [](P&, O& n) { n.window.kernel[1] = 9; }},
      {N::avg_pooling_2d, "stride or dilation of 0", [](P&, O& n) { n.window.kernel[0] = 0; }},
      {N::avg_pooling_2d, "a dilated average", [](P&, O& n) { n.window.dilation[0] = 2; }},
      {N::avg_pooling_2d, "is qint8", [](P& p, O&) { retype(p, DataType::qint8); }},
      {N::avg_pooling_2d, "input 0 has rank 2", [](P& p, O&) { p.values[0].dims = {8, 8}; }},
      {N::max_pooling_2d, "differ in scale",
       [](P& p, O&) { retype(p, DataType::qint8), p.values[0].quantization.scale = 1; }},
      {N::arg_max_pooling_2d, "takes fp32 only", [](P& p, O&) { p.values[0].type = DataType::fp16; }},
      {N::arg_max_pooling_2d, "the indices are not int32", [](P& p, O&) { p.values[2].type = DataType::fp32; }},
      {N::arg_max_pooling_2d, "a window over 9 of 8", [](P&, O& n) { n.window.kernel[0] = 9; }},
      {N::arg_max_pooling_2d, "a window of one element", [](P&, O& n) { n.window.kernel[0] = n.window.kernel[1] = 1; }},
      {N::global_avg_pooling_2d, "rank 2, below 3", [](P& p, O&) { p.values[0].dims = {8, 4}; }},
      {N::static_resize_bilinear_2d, "a size of 0", [](P&, O& n) { n.first[0] = 0; }},
      {N::static_resize_bilinear_2d, "or too large", [](P&, O& n) { n.first[1] = 1 << 24; }},
      {N::static_resize_bilinear_2d, "no new height and width", [](P&, O& n) { n.first.clear(); }},
      {N::static_resize_bilinear_2d, "input 0 has rank 3", [](P& p, O&) { p.values[0].dims = {4, 4, 3}; }},
  };
  expect_refused(cases);
}

// Values with which the library would read beyond its parameters.
TEST(XnnpackPayloadCheck, RowsQuantizedAtRunTimeFitTheirReader) {
  PayloadBuilder b;
  const uint32_t in = b.input({3, 4, 8}), dynamic = b.value(DataType::qdint8, {3, 4, 8});
  b.node(NodeType::convert, {in}, dynamic);
  b.node(NodeType::fully_connected, {dynamic, b.constant({6, 8}, DataType::qcint8)}, b.output({3, 4, 6}));
  EXPECT_EQ(refusal(b.payload), "");
  b.payload.values[dynamic].quantization.num_nonbatch_dims = 2;
  EXPECT_NE(refusal(b.payload).find("quantized over 2 dims, not 1"), std::string::npos);
  b.payload.values[dynamic].quantization.num_nonbatch_dims = 4;
  EXPECT_NE(refusal(b.payload).find("over 4 dims of 3"), std::string::npos);
  b.payload.values[dynamic].quantization.num_nonbatch_dims = 1;
  b.payload.values[b.payload.nodes[1].inputs[1]].quantization.channel_dim = 1;
  EXPECT_NE(refusal(b.payload).find("not along the channels"), std::string::npos);
}

// From each float to each one, for each kind of weights; other conversions of bf16 are refused.
TEST(XnnpackPayloadCheck, RowsOfBf16AreQuantizedAtRunTimeToo) {
  for (const DataType filter : {DataType::qcint8, DataType::qcint4, DataType::qbint4}) {
    for (const DataType from : {DataType::fp32, DataType::fp16, DataType::bf16}) {
      for (const DataType to : {DataType::fp32, DataType::fp16, DataType::bf16}) {
        PayloadBuilder b;
        const uint32_t in = b.input({3, 64}), dynamic = b.value(DataType::qdint8, {3, 64});
        const uint32_t out = b.output({3, 6}), weights = b.constant({6, 64}, filter), bias = b.constant({6});
        b.payload.values[in].type = from;
        b.payload.values[out].type = to;
        b.node(NodeType::convert, {in}, dynamic);
        b.node(NodeType::fully_connected, {dynamic, weights, bias}, out);
        EXPECT_EQ(refusal(b.payload), "");
        b.payload.values[bias].type = DataType::bf16;
        EXPECT_NE(refusal(b.payload).find("with a bias of bf16"), std::string::npos) << refusal(b.payload);
      }
    }
  }
  for (const DataType to : {DataType::fp16, DataType::qint8, DataType::quint8, DataType::fp32}) {
    PayloadBuilder b;
    const uint32_t in = b.input({3, 8}, DataType::bf16), out = b.output({3, 8}, to);
    b.node(NodeType::convert, {in}, out);
    EXPECT_NE(refusal(b.payload).find("no conversion from bf16"), std::string::npos) << refusal(b.payload);
  }
}

TEST(XnnpackPayloadCheck, FiltersOfFullyConnectedMayBeComputedInFp32Only) {
  PayloadBuilder b;
  const uint32_t in = b.input({3, 8}), filter = b.input({6, 8}), bias = b.input({6}), out = b.output({3, 6});
  b.node(NodeType::fully_connected, {in, filter, bias}, out);
  EXPECT_EQ(refusal(b.payload), "");
  retype(b.payload, DataType::fp16);
  EXPECT_NE(refusal(b.payload).find("the filter is not a constant"), std::string::npos);
}

TEST(XnnpackPayloadCheck, ProductsOfBf16KeepAnFp32Bias) {
  Payload payload = payload_of(NodeType::fully_connected);
  retype(payload, DataType::bf16);
  EXPECT_NE(refusal(payload).find("no product of bf16 and fp32"), std::string::npos);
  payload.values[1].type = DataType::bf16;
  EXPECT_EQ(refusal(payload), "");
}

TEST(XnnpackPayloadCheck, DimsFollowTheInputs) {
  PayloadBuilder b;
  const uint32_t in = b.input({9, 4, 8});
  const uint32_t hidden = b.value(DataType::fp32, {1});  // what is declared inside does not count
  const uint32_t flat = b.value(DataType::fp32, {});
  b.node(NodeType::fully_connected, {in, b.constant({6, 8})}, hidden);
  b.node(NodeType::static_reshape, {hidden}, flat).first = {0, 3, 2};
  b.node(NodeType::static_slice, {flat}, b.output({36, 1, 2})).first = {0, 1, 0};
  b.payload.nodes.back().second = {0, 1, 2};
  std::vector<Dims> dims;
  EXPECT_EQ(refusal(b.payload, nullptr, &dims), "");
  EXPECT_EQ(dims[hidden], (Dims{9, 4, 6}));
  EXPECT_EQ(dims[flat], (Dims{36, 3, 2}));

  std::vector<Dims> given = {{2, 5, 8}};
  EXPECT_EQ(refusal(b.payload, &given, &dims), "");
  EXPECT_EQ(dims[in], (Dims{2, 5, 8}));
  EXPECT_EQ(dims[hidden], (Dims{2, 5, 6}));
  EXPECT_EQ(dims[b.payload.output_ids[0]], (Dims{10, 1, 2}));

  given = {{2, 5, 7}};
  EXPECT_NE(refusal(b.payload, &given).find("not the filter's 8 channels"), std::string::npos);
  given = {{2, 8}};
  EXPECT_NE(refusal(b.payload, &given).find("input 0 has a different rank"), std::string::npos);
  given = {{2, 0, 8}};
  EXPECT_NE(refusal(b.payload, &given).find("input 0 has no elements"), std::string::npos);
  given = {{~0u, 5, 8}};
  EXPECT_NE(refusal(b.payload, &given).find("2^31 elements"), std::string::npos);
  given = {};
  EXPECT_NE(refusal(b.payload, &given).find("0 inputs for a payload with 1"), std::string::npos);
}

struct Shape {
  NodeType type;
  void (*change)(Payload&, PayloadNode&);
  Dims out;
};

TEST(XnnpackPayloadCheck, SizesOfResults) {
  using N = NodeType;
  using P = Payload;
  using O = PayloadNode;
  const Shape cases[] = {
      {N::global_avg_pooling_2d, [](P&, O& n) { n.flags = 0; }, {2, 4}},
      {N::global_avg_pooling_2d, [](P& p, O&) { p.values[0].dims = {5, 7, 8, 9, 4}; }, {5, 7, 1, 1, 4}},
      {N::batch_matrix_multiply, [](P& p, O& n) { p.values[1].dims = {4, 7}, n.flags = 0; }, {2, 3, 7}},
      {N::batch_matrix_multiply,
       [](P& p, O&) { p.values[0].dims = {3, 4}, p.values[1].dims = {6, 1, 5, 4}; },
       {6, 1, 3, 5}},
      {N::conv_2d,
       [](P&, O& n) { n.window.pad_bottom = 0, n.window.stride[1] = 1, n.window.dilation[1] = 2; },
       {1, 4, 6, 6}},
      {N::conv_transpose_2d, [](P&, O& n) { n.window.stride[0] = 3, n.window.dilation[1] = 2; }, {1, 23, 18, 6}},
      {N::max_pooling_2d, [](P&, O& n) { n.window.kernel[0] = 3, n.window.pad_top = 1; }, {1, 4, 4, 4}},
      {N::arg_max_pooling_2d, [](P&, O& n) { n.window.kernel[0] = 3; }, {1, 2, 4, 4}},
      {N::static_reshape, [](P&, O& n) { n.first = {}; }, {}},
      {N::minimum, [](P& p, O&) { p.values[0].dims = {}; }, {3, 1}},
      {N::fully_connected,
       [](P& p, O& n) { p.values[1].dims = {8, 5}, n.flags = kTransposeWeights, n.inputs[2] = kNoValue; },
       {3, 5}},
  };
  for (const Shape& shape : cases) {
    Payload payload = payload_of(shape.type);
    shape.change(payload, payload.nodes[0]);
    const uint32_t out = payload.nodes[0].output;
    payload.values[out].dims = shape.out;
    if (shape.type == N::static_reshape) payload.values[0].dims = {1, 1};
    if (shape.type == N::arg_max_pooling_2d) payload.values[payload.nodes[0].output_index].dims = shape.out;
    std::vector<Dims> dims;
    EXPECT_EQ(refusal(payload, nullptr, &dims), "") << name_of(shape.type);
    ASSERT_GT(dims.size(), out);
    EXPECT_EQ(dims[out], shape.out) << name_of(shape.type);
  }
}

TEST(XnnpackPayloadCheck, FourBitElementsArePackedByRows) {
  PayloadValue value;
  uint64_t size_bytes = 0;
  value.type = DataType::qcint4;
  value.dims = {3, 5};
  ASSERT_TRUE(size_of(value, &size_bytes));
  EXPECT_EQ(size_bytes, 9u);
  value.type = DataType::fp16;
  ASSERT_TRUE(size_of(value, &size_bytes));
  EXPECT_EQ(size_bytes, 30u);
  value.dims = {};
  ASSERT_TRUE(size_of(value, &size_bytes));
  EXPECT_EQ(size_bytes, 2u);
  value.dims = {~0u, ~0u, ~0u};
  EXPECT_FALSE(size_of(value, &size_bytes));
}

TEST(XnnpackPayloadCheck, NodeTypesHaveNames) {
  EXPECT_STREQ(name_of(NodeType::fully_connected), "fully_connected");
  EXPECT_STREQ(name_of(NodeType::cos), "cos");
  EXPECT_STREQ(name_of(static_cast<NodeType>(99)), "?");
  EXPECT_EQ(num_inputs(NodeType::concatenate_5), 5u);
  EXPECT_EQ(num_inputs(NodeType::conv_transpose_2d), 3u);
  EXPECT_EQ(num_inputs(NodeType::exp), 1u);
}

}  // namespace
}  // namespace wick::xnnpack::payload_check_test
