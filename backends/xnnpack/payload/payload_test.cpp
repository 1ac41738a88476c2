#include "backends/xnnpack/payload/payload.h"

#include <gtest/gtest.h>
#include <string.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/xnnpack/payload/payload_generated.h"
#include "backends/xnnpack/payload/payload_test_support.h"

namespace wick::xnnpack::payload_test {
namespace {

using Blob = std::vector<uint8_t>;

// The text of the refusal; "" if the blob is read.
std::string refusal(Span<const uint8_t> blob, Payload* payload) {
  char buffer[300];
  ErrorText text(buffer);
  const Error error = read_payload(blob, payload, &text);
  if (error == Error::Ok) return "";
  EXPECT_EQ(error, Error::DelegateInvalidCompatibility);
  return text.size() ? text.c_str() : "no text";
}

std::string refusal(const Blob& blob) {
  Payload payload;
  return refusal({blob.data(), blob.size()}, &payload);
}

std::string check(const Payload& payload) {
  char buffer[300];
  ErrorText text(buffer);
  std::vector<std::vector<uint32_t>> dims;
  return check_payload(payload, nullptr, &dims, &text) == Error::Ok ? "" : text.c_str();
}

Blob bytes_of(const flatbuffers::FlatBufferBuilder& fbb) {
  return Blob(fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize());
}

TEST(XnnpackPayload, EveryNodeTypeIsReadAsItWasWritten) {
  for (size_t i = 1; i < kNumNodeTypes; ++i) {
    const NodeType type = static_cast<NodeType>(i);
    if (type == NodeType::scaled_dot_product_attention) continue;
    const Payload written = payload_of(type);
    EXPECT_EQ(check(written), "") << name_of(type);
    const Blob blob = write_payload(written);
    EXPECT_EQ(blob, write_payload(written));
    Payload read;
    EXPECT_EQ(refusal({blob.data(), blob.size()}, &read), "") << name_of(type);
    EXPECT_EQ(text_of(read), text_of(written));
  }
}

TEST(XnnpackPayload, QuantizationIsReadAsItWasWritten) {
  PayloadBuilder b;
  const uint32_t in = b.input({3, 64}), dynamic = b.value(DataType::qdint8, {3, 64});
  b.node(NodeType::convert, {in}, dynamic);
  b.node(NodeType::fully_connected, {dynamic, b.constant({6, 64}, DataType::qbint4), b.constant({6})},
         b.output({3, 6}));
  b.node(NodeType::fully_connected, {dynamic, b.constant({5, 64}, DataType::qcint4)}, b.output({3, 5}));
  b.node(NodeType::fully_connected, {dynamic, b.constant({4, 64}, DataType::qcint8)}, b.output({3, 4}));
  Quantization& inlined = b.payload.values.at(b.payload.nodes.back().inputs[1]).quantization;
  inlined.scale_constant = 0;
  inlined.inline_scales = {1, 0.5f, 0.25f, 2};
  EXPECT_EQ(check(b.payload), "");
  const Blob blob = write_payload(b.payload);
  Payload read;
  EXPECT_EQ(refusal({blob.data(), blob.size()}, &read), "");
  EXPECT_EQ(text_of(read), text_of(b.payload));
}

// Old tables hold the scales of groups as bf16, with or without fp32 ones beside them.
TEST(XnnpackPayload, Bf16ScalesInTheTableAreRead) {
  for (const bool beside : {false, true}) {
    flatbuffers::FlatBufferBuilder fbb;
    const std::vector<uint32_t> dims = {2, 64}, none;
    const std::vector<uint16_t> bf16 = {0x3f80, 0x4000, 0x3dcd, 0x0080};
    const std::vector<float> fp32 = {9, 9, 9, 9};
    const auto group = xnn::CreatePerChannelGroupQuantDirect(fbb, beside ? &fp32 : nullptr, 0, 32, &bf16);
    const auto tensor =
        xnn::CreateTensorValueDirect(fbb, static_cast<int16_t>(DataType::qbint4), 2, &dims, 0, kNoValue);
    const std::vector<flatbuffers::Offset<xnn::Value>> values = {xnn::CreateValue(
        fbb, xnn::ValueUnion::QuantizedTensorValue,
        xnn::CreateQuantizedTensorValue(fbb, tensor, xnn::QuantParams::PerChannelGroupQuant, group.Union()).Union())};
    const std::vector<flatbuffers::Offset<xnn::Node>> nodes;
    fbb.Finish(xnn::CreateGraphDirect(fbb, "0", &nodes, &values, 0, &none, &none), "XN01");
    const Blob blob = bytes_of(fbb);
    Payload read;
    ASSERT_EQ(refusal({blob.data(), blob.size()}, &read), "");
    EXPECT_EQ(read.values.at(0).quantization.group_size, 32u);
    EXPECT_EQ(read.values.at(0).quantization.inline_scales, (std::vector<float>{1, 2, 0x1.9ap-4f, 0x1p-126f}));
  }
}

TEST(XnnpackPayload, TheHeaderIsThatOfStock) {
  const Blob blob = write_payload(payload_of(NodeType::add));
  EXPECT_EQ(blob.size() % 16, 0u);
  EXPECT_EQ(std::string(blob.begin(), blob.begin() + 12), std::string("\0\0\0\0XH00\x1e\0\x20\0", 12));
  uint32_t tables_size, region_offset;
  memcpy(&tables_size, &blob[14], 4);
  memcpy(&region_offset, &blob[18], 4);
  EXPECT_EQ(region_offset, blob.size());
  EXPECT_EQ(32 + (tables_size + 15) / 16 * 16, blob.size());
  EXPECT_EQ(std::string(blob.begin() + 22, blob.begin() + 32), std::string(10, '\0'));
  EXPECT_EQ(std::string(blob.begin() + 36, blob.begin() + 40), "XN01");
}

TEST(XnnpackPayload, NamedConstantsHaveNoOffset) {
  const Blob blob = write_payload(payload_of(NodeType::prelu));
  const auto* entries = flatbuffers::GetRoot<xnn::Graph>(&blob[32])->constant_data();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->Get(1)->offset(), UINT64_MAX);
  EXPECT_EQ(entries->Get(1)->size(), 12u);
  EXPECT_EQ(entries->Get(1)->named_key()->str(), "c1");
}

TEST(XnnpackPayload, TablesWithoutHeaderAreRead) {
  const Payload written = payload_of(NodeType::conv_2d);
  const Blob blob = write_payload(written);
  Payload read;
  EXPECT_EQ(refusal({&blob[32], blob.size() - 32}, &read), "");
  EXPECT_EQ(text_of(read), text_of(written));
}

TEST(XnnpackPayload, MisalignedBlobsAreRead) {
  const Payload written = payload_of(NodeType::conv_2d);
  Blob blob = write_payload(written);
  blob.insert(blob.begin(), 3, 0);
  Payload read;
  EXPECT_EQ(refusal({&blob[3], blob.size() - 3}, &read), "");
  EXPECT_EQ(text_of(read), text_of(written));
}

TEST(XnnpackPayload, ConstantsInsideOldTablesAreRead) {
  flatbuffers::FlatBufferBuilder fbb;
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<uint32_t> dims = {2}, outputs = {1}, inputs;
  const std::vector<flatbuffers::Offset<xnn::Buffer>> buffers = {xnn::CreateBufferDirect(fbb),
                                                                 xnn::CreateBufferDirect(fbb, &bytes)};
  const std::vector<flatbuffers::Offset<xnn::Value>> values = {
      xnn::CreateValue(fbb, xnn::ValueUnion::TensorValue,
                       xnn::CreateTensorValueDirect(fbb, 1, 1, &dims, 1, kNoValue, 0, 0).Union()),
      xnn::CreateValue(fbb, xnn::ValueUnion::TensorValue,
                       xnn::CreateTensorValueDirect(fbb, 1, 1, &dims, 0, 0, 2, 1).Union())};
  const std::vector<flatbuffers::Offset<xnn::Node>> nodes = {
      xnn::CreateNode(fbb, xnn::NodeUnion::abs, xnn::CreateUnary(fbb, 0, 1).Union())};
  fbb.Finish(xnn::CreateGraphDirect(fbb, "0", &nodes, &values, 1, &inputs, &outputs, &buffers), "XN00");
  const Blob blob = bytes_of(fbb);
  Payload payload;
  ASSERT_EQ(refusal({blob.data(), blob.size()}, &payload), "");
  EXPECT_EQ(check(payload), "");
  const PayloadConstant& constant = payload.constants.at(1);
  ASSERT_EQ(constant.size_bytes, 8u);
  EXPECT_EQ(0, memcmp(payload.region.data() + constant.offset, bytes.data(), 8));
}

TEST(XnnpackPayload, ArgumentsAreInTheOrderOfTheirExternalIds) {
  Payload payload = payload_of(NodeType::add);
  std::swap(payload.values[0].external_id, payload.values[1].external_id);
  const Blob blob = write_payload(payload);  // with input_ids as they were
  Payload read;
  EXPECT_EQ(refusal({blob.data(), blob.size()}, &read), "");
  EXPECT_EQ(read.input_ids, (std::vector<uint32_t>{1, 0}));
}

struct Damage {
  const char* text;
  size_t offset;
  std::vector<uint8_t> bytes;
};

TEST(XnnpackPayload, DamagedHeadersAreRefused) {
  const Blob good = write_payload(payload_of(NodeType::add));
  const Damage cases[] = {
      {"neither XN01 nor XN00", 4, {'X', 'H', '0', '1'}},
      {"header is too short", 8, {29, 0}},
      {"header is too short", 10, {29, 0, 0, 0}},
      {"tables lie outside", 10, {255, 255, 255, 255}},
      {"tables lie outside", 14, {255, 255, 0, 0}},
      {"tables lie outside", 14, {7, 0, 0, 0}},
      {"constants lie before the end of its tables", 18, {32, 0, 0, 0}},
      {"constants lie outside", 18, {255, 255, 0, 0}},
      {"constants lie outside", 22, {1}},
      {"constants lie outside", 22, {255, 255, 255, 255, 255, 255, 255, 255}},
      {"neither XN01 nor XN00", 36, {'X', 'N', '0', '2'}},
      {"tables are corrupt", 32, {255, 0, 0, 0}},
  };
  for (const Damage& damage : cases) {
    Blob blob = good;
    for (size_t i = 0; i < damage.bytes.size(); ++i) blob[damage.offset + i] = damage.bytes[i];
    EXPECT_NE(refusal(blob).find(damage.text), std::string::npos) << refusal(blob) << " is not: " << damage.text;
  }
}

TEST(XnnpackPayload, EveryTruncationIsRefused) {
  const Blob good = write_payload(payload_of(NodeType::conv_2d));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(refusal(Blob(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))), "") << size;
  }
}

struct WrongIndex {
  const char* text;
  void (*change)(Payload&);
};

// Written as they are, then read.
TEST(XnnpackPayload, IndicesThatDoNotExistAreRefused) {
  const WrongIndex cases[] = {
      {"7 sizes for rank 7", [](Payload& p) { p.values[0].dims.resize(7, 1); }},
      {"value 1: constant 9 does not exist", [](Payload& p) { p.values[1].constant = 9; }},
      {"external id 5 of 2", [](Payload& p) { p.values[0].external_id = 5; }},
      {"belongs to two values", [](Payload& p) { p.values[3].external_id = 0; }},
      {"belongs to no value", [](Payload& p) { p.num_externals = 3; }},
      {"both an input and an output", [](Payload& p) { p.values[0].is_output = true; }},
      {"has an external id", [](Payload& p) { p.values[0].is_input = false; }},
      {"both external and a constant", [](Payload& p) { p.values[0].constant = 1; }},
      {"5000 external values", [](Payload& p) { p.num_externals = 5000; }},
      {"input 77 is not a value", [](Payload& p) { p.nodes[0].inputs[1] = 77; }},
      {"input 4294967295 is not a value", [](Payload& p) { p.nodes[0].inputs[1] = kNoValue; }},
      {"output 78 is not a value", [](Payload& p) { p.nodes[0].output = 78; }},
      {"of type 36, which nothing executes",
       [](Payload& p) { p.nodes[0].type = NodeType::scaled_dot_product_attention; }},
      {"of type 0, which nothing executes", [](Payload& p) { p.nodes[0].type = NodeType::none; }},
      {"unknown data type 0", [](Payload& p) { p.values[2].type = DataType::invalid; }},
      {"unknown data type 15", [](Payload& p) { p.values[2].type = static_cast<DataType>(15); }},
      {"has an empty name", [](Payload& p) { p.constants[1].key = ""; }},
      {"its size overflows", [](Payload& p) { p.values[1].dims = {~0u, ~0u, ~0u, ~0u}; }},
  };
  for (const WrongIndex& wrong : cases) {
    Payload payload = payload_of(NodeType::fully_connected);
    wrong.change(payload);
    const std::string text = refusal(write_payload(payload));
    EXPECT_NE(text.find(wrong.text), std::string::npos) << text << " is not: " << wrong.text;
  }
}

TEST(XnnpackPayload, OldFormsThatAreNotTakenAreNamed) {
  flatbuffers::FlatBufferBuilder fbb;
  const std::vector<uint32_t> dims = {2}, none;
  const std::vector<flatbuffers::Offset<xnn::Node>> nodes;
  const std::vector<flatbuffers::Offset<xnn::Value>> values = {xnn::CreateValue(
      fbb, xnn::ValueUnion::TensorValue, xnn::CreateTensorValueDirect(fbb, 1, 1, &dims, 0, kNoValue, 0, 0, 9).Union())};
  fbb.Finish(xnn::CreateGraphDirect(fbb, "0", &nodes, &values, 0, &none, &none), "XN00");
  EXPECT_NE(refusal(bytes_of(fbb)).find("dq_datatype"), std::string::npos);
}

TEST(XnnpackPayload, OneTableNamedManyTimesIsRefused) {
  flatbuffers::FlatBufferBuilder fbb;
  const std::vector<uint32_t> none;
  const std::vector<flatbuffers::Offset<xnn::Node>> nodes(
      20000, xnn::CreateNode(fbb, xnn::NodeUnion::abs, xnn::CreateUnary(fbb, 0, 1).Union()));
  const std::vector<flatbuffers::Offset<xnn::Value>> values;
  fbb.Finish(xnn::CreateGraphDirect(fbb, "0", &nodes, &values, 0, &none, &none), "XN01");
  EXPECT_NE(refusal(bytes_of(fbb)).find("more items than a payload of this size can hold"), std::string::npos);
}

// Made by stock ExecuTorch; tests/fixtures/exporters/xnnpack.py.
TEST(XnnpackPayload, WhatStockWritesIsReadCheckedAndWrittenBack) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures/xnnpack")) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const Blob blob((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Payload payload, again;
    ASSERT_EQ(refusal({blob.data(), blob.size()}, &payload), "");
    EXPECT_EQ(check(payload), "");
    for (size_t i = 1; i < payload.constants.size(); ++i) EXPECT_NE(payload.constants[i].key, "");
    for (const PayloadValue& value : payload.values) {
      uint64_t size_bytes = 0;
      ASSERT_TRUE(size_of(value, &size_bytes));
      if (value.constant) {
        EXPECT_EQ(size_bytes, payload.constants[value.constant].size_bytes);
      }
    }
    const Blob rewritten = write_payload(payload);
    ASSERT_EQ(refusal({rewritten.data(), rewritten.size()}, &again), "");
    EXPECT_EQ(text_of(again), text_of(payload));
    ++count;
  }
  EXPECT_GE(count, 14u);
}

}  // namespace
}  // namespace wick::xnnpack::payload_test
