// Inputs without elements: the library has none, the delegate answers for it.
#include <cmath>

#include "backends/xnnpack/test/runtime_test_support.h"

namespace wick::xnnpack {
namespace {

TEST(XnnpackEmptyInputs, GiveEmptyOutputsOfTheSizesThatFollow) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t in = delegate.input({6, 7}), weights = delegate.constant({5, 7}, some_floats(35)),
                 out = delegate.output({6, 5}), twice = delegate.output({12, 5});
  delegate.node(NodeType::fully_connected, {in, weights, kNoValue}, out);
  delegate.node(NodeType::concatenate_2, {out, out}, twice).axis = 0;
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  for (const int32_t rows : {3, 0, 3, 2, 0, 6}) {
    HostTensor32 x({rows, 7}, some_floats(static_cast<size_t>(rows) * 7));
    ASSERT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
    ASSERT_EQ(test.harness().method().execute(), Error::Ok) << test.harness().last_error();
    EXPECT_EQ(test.harness().method().output(0).tensor->sizes[0], rows);
    EXPECT_EQ(test.harness().method().output(0).tensor->sizes[1], 5);
    EXPECT_EQ(test.harness().method().output(1).tensor->sizes[0], 2 * rows);
    Floats expected = test.output<float>(0);
    expected.insert(expected.end(), expected.begin(), expected.begin() + 5 * rows);
    EXPECT_EQ(test.output<float>(1), expected);
  }
}

// Each result has elements although an input has none, and so have the nodes behind it.
TEST(XnnpackEmptyInputs, GiveWhatTheirAbsenceLeaves) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t x = delegate.input({1, 6, 1, 2}), other = delegate.input({1, 1, 1, 2}),
                 two = delegate.constant({1}, Floats{2}), one = delegate.constant({1}, Floats{1});
  const uint32_t mean = delegate.output({1, 1, 1, 2}), total = delegate.value(DataType::fp32, {1, 1, 1, 2}),
                 product = delegate.value(DataType::fp32, {1, 1, 2, 2}),
                 rows = delegate.value(DataType::fp32, {1, 1, 2, 6}),
                 columns = delegate.value(DataType::fp32, {1, 1, 6, 2}), sum = delegate.output({1, 1, 1, 2}),
                 gram = delegate.output({1, 1, 2, 2}), padded = delegate.output({1, 7, 1, 2}),
                 joined = delegate.output({1, 7, 1, 2}), doubled = delegate.output({1, 1, 1, 2}),
                 same = delegate.output({1, 6, 1, 2});
  delegate.node(NodeType::global_avg_pooling_2d, {x}, mean).flags = kKeepDims;
  delegate.node(NodeType::global_avg_pooling_2d, {x}, total).flags = kKeepDims | kZeroOfNone;
  delegate.node(NodeType::add, {total, one}, sum);
  const uint32_t weights = delegate.constant({3, 2}, Floats{1, 0, 0, 1, 2, 3}),
                 bias = delegate.constant({3}, Floats(3));
  const uint32_t linear = delegate.output({1, 1, 1, 3});
  delegate.node(NodeType::fully_connected, {mean, weights, bias}, linear);
  delegate.node(NodeType::static_transpose, {x}, rows).first = {0, 2, 3, 1};
  delegate.node(NodeType::static_transpose, {x}, columns).first = {0, 2, 1, 3};
  delegate.node(NodeType::batch_matrix_multiply, {rows, columns}, product);
  delegate.node(NodeType::add, {product, two}, gram);
  PayloadNode& pad = delegate.node(NodeType::static_constant_pad, {x}, padded);
  pad.first = {0, 1, 0, 0};
  pad.second = {0, 0, 0, 0};
  pad.value = 3;
  delegate.node(NodeType::concatenate_2, {x, other}, joined).axis = 1;
  delegate.node(NodeType::multiply, {other, two}, doubled);
  delegate.node(NodeType::abs, {x}, same);
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  HostTensor32 y({1, 1, 1, 2}, {0.5f, -1.5f});
  for (const int32_t count : {0, 1, 0, 0}) {
    HostTensor32 t({1, count, 1, 2}, count == 0 ? Floats{} : Floats{4, -2});
    ASSERT_EQ(test.harness().method().set_input(1, y.tensor), Error::Ok) << test.harness().last_error();
    ASSERT_EQ(test.harness().method().set_input(0, t.tensor), Error::Ok) << test.harness().last_error();
    ASSERT_EQ(test.harness().method().execute(), Error::Ok) << test.harness().last_error();
    const bool none = count == 0;
    const Floats means = test.output<float>(0);
    ASSERT_EQ(means.size(), 2u);
    EXPECT_EQ(std::isnan(means[0]), none);
    EXPECT_EQ(std::isnan(means[1]), none);
    for (const float element : test.output<float>(7)) EXPECT_EQ(std::isnan(element), none);
    EXPECT_EQ(test.output<float>(1), none ? Floats({1, 1}) : Floats({5, -1}));
    EXPECT_EQ(test.output<float>(2), none ? Floats({2, 2, 2, 2}) : Floats({18, -6, -6, 6}));
    EXPECT_EQ(test.output<float>(3), none ? Floats({3, 3}) : Floats({3, 3, 4, -2}));
    EXPECT_EQ(test.output<float>(4), none ? Floats({0.5f, -1.5f}) : Floats({4, -2, 0.5f, -1.5f}));
    EXPECT_EQ(test.output<float>(5), Floats({1, -3}));
    EXPECT_EQ(test.output<float>(6), none ? Floats{} : Floats({4, 2}));
  }
}

TEST(XnnpackEmptyInputs, AreRefusedWhereAnOutputNeedsTheirElements) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t in = delegate.input({6, 4}), out = delegate.output({1, 4});
  PayloadNode& slice = delegate.node(NodeType::static_slice, {in}, out);
  slice.first = {0, 0};
  slice.second = {1, 4};
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  HostTensor32 x({0, 4}, {});
  ASSERT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.harness().method().execute(), Error::NotSupported);
  EXPECT_NE(test.harness().last_error().find("an output that needs an element of an empty tensor"), std::string::npos)
      << test.harness().last_error();
}

// The library would go on with pointers that it made for other channels.
TEST(XnnpackChannels, OfAPoolOrResizeChangeOnlyWithItsHeightOrWidth) {
  for (const NodeType type : {NodeType::max_pooling_2d, NodeType::static_resize_bilinear_2d}) {
    TestDelegate delegate;
    delegate.is_dynamic = true;
    const uint32_t in = delegate.input({1, 6, 4, 8}), out = delegate.output({1, 3, 2, 8});
    PayloadNode& node = delegate.node(type, {in}, out);
    for (uint32_t& size : node.window.kernel) size = 2;
    for (uint32_t& size : node.window.stride) size = 2;
    if (type == NodeType::static_resize_bilinear_2d) node.first = {3, 2};
    TestRun test(delegate);
    ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
    struct {
      int32_t height, channels;
      Error wanted;
    } constexpr kCalls[] = {{6, 8, Error::Ok}, {6, 5, Error::NotSupported}, {6, 8, Error::Ok}};
    for (const auto& call : kCalls) {
      HostTensor32 x({1, call.height, 4, call.channels},
                     some_floats(static_cast<size_t>(call.height * 4 * call.channels)));
      ASSERT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
      EXPECT_EQ(test.harness().method().execute(), call.wanted) << test.harness().last_error();
    }
  }
}

}  // namespace
}  // namespace wick::xnnpack
