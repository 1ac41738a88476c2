#include "backends/xnnpack/payload/payload_memory.h"

#include <gtest/gtest.h>

#include "backends/xnnpack/payload/payload_test_support.h"

namespace wick::xnnpack {
namespace {

uint64_t memory(const Payload& payload) {
  std::vector<std::vector<uint32_t>> dims;
  char buffer[256];
  ErrorText text(buffer);
  EXPECT_EQ(check_payload(payload, nullptr, &dims, &text), Error::Ok) << text.c_str();
  return memory_of(payload, dims);
}

// x -> negate -> negate .., each of `rows` x 1024 fp32 values, and a constant.
Payload chain(uint32_t rows, size_t length) {
  PayloadBuilder b;
  const std::vector<uint32_t> dims = {rows, 1024};
  uint32_t at = b.input(dims);
  for (size_t i = 0; i + 1 < length; ++i) {
    const uint32_t next = b.value(DataType::fp32, dims);
    b.node(NodeType::negate, {at}, next);
    at = next;
  }
  b.node(NodeType::negate, {at}, b.output(dims));
  return b.payload;
}

TEST(PayloadMemory, CountsWhatIsAliveTogether) {
  const uint64_t value = 256 * 1024 * 4;
  // Input, output and two intermediate values, with half of those for gaps.
  EXPECT_GE(memory(chain(256, 8)), 4 * value);
  EXPECT_LT(memory(chain(256, 8)), 6 * value);
  EXPECT_LT(memory(chain(256, 64)), 7 * value);
}

TEST(PayloadMemory, CountsWhatGrowsFromSmallFiles) {
  // A product that blows up: [n, 1] + [1, n] of two small constants.
  PayloadBuilder outer;
  const uint32_t sum = outer.value(DataType::fp32, {40000, 40000});
  outer.node(NodeType::add, {outer.input({40000, 1}), outer.input({1, 40000})}, sum);
  PayloadNode& slice = outer.node(NodeType::static_slice, {sum}, outer.output({1, 1}));
  slice.first = {0, 0};
  slice.second = {1, 1};
  EXPECT_GT(memory(outer.payload), uint64_t{40000} * 40000 * 4);

  // A window of 16 x 16 pointers at each of 40,000 places.
  PayloadBuilder pool;
  PayloadNode& node =
      pool.node(NodeType::max_pooling_2d, {pool.input({1, 215, 215, 1})}, pool.output({1, 200, 200, 1}));
  node.window.kernel[0] = node.window.kernel[1] = 16;
  EXPECT_GT(memory(pool.payload), uint64_t{40000} * 16 * 16 * 8);
}

TEST(PayloadMemory, CountsEachPackingOfTheSameWeights) {
  PayloadBuilder b;
  const uint32_t weights = b.constant({1024, 1024});
  uint32_t at = b.input({1, 1024});
  for (int i = 0; i < 10; ++i) {
    const uint32_t next = i == 9 ? b.output({1, 1024}) : b.value(DataType::fp32, {1, 1024});
    b.node(NodeType::fully_connected, {at, weights, kNoValue}, next).output_max = static_cast<float>(i + 1);
    at = next;
  }
  EXPECT_GE(memory(b.payload), uint64_t{10} * 1024 * 1024 * 4);
  EXPECT_LT(memory(b.payload), uint64_t{12} * 1024 * 1024 * 4);
}

}  // namespace
}  // namespace wick::xnnpack
