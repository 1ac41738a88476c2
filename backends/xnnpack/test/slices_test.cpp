#include "backends/xnnpack/slices.h"

#include "backends/xnnpack/library_graph.h"
#include "backends/xnnpack/payload_nodes.h"
#include "backends/xnnpack/test/runtime_test_support.h"

namespace wick::xnnpack {
namespace {

using Slices = std::vector<uint32_t>;

/// One output, computed with this policy.
Floats run_with(const TestDelegate& delegate, const Floats& input, const SlicePolicy& policy) {
  const schema::AlignedBytes file = delegate.program();
  const Result<Program> program = Program::load(file.span());
  EXPECT_TRUE(program.ok());
  const MethodMeta method = program->method(0);
  char buffer[512];
  ErrorText text(buffer);
  Payload payload;
  Dims dims;
  EXPECT_EQ(read_payload(method.delegate(0).payload, &payload, &text), Error::Ok) << text.c_str();
  EXPECT_EQ(check_payload(payload, nullptr, &dims, &text), Error::Ok) << text.c_str();
  Span<uint8_t> arena;
  BackendInit context(method, 0, {}, &arena, nullptr, IsaLevel::baseline, &text);
  LibraryGraph graph;
  EXPECT_EQ(graph.build(context, payload, dims, policy), Error::Ok) << text.c_str();
  if (::testing::Test::HasFailure()) return {};
  Floats in = input, out(count_of(dims[payload.output_ids[0]]) + XNN_EXTRA_BYTES);
  in.resize(in.size() + XNN_EXTRA_BYTES);
  const xnn_external_value values[] = {{0, in.data()}, {1, out.data()}};
  EXPECT_EQ(xnn_reshape_runtime(graph.runtime()), xnn_status_success);
  EXPECT_EQ(xnn_setup_runtime_v2(graph.runtime(), 2, values), xnn_status_success);
  EXPECT_EQ(xnn_invoke_runtime(graph.runtime()), xnn_status_success);
  out.resize(out.size() - XNN_EXTRA_BYTES);
  return out;
}

constexpr SlicePolicy kSmall = {/*above_bytes=*/1000, /*slice_bytes=*/100, /*min_rows=*/1};

TestDelegate linear_of(uint32_t rows, uint32_t ic, uint32_t oc, bool has_bias) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({2, rows, ic}), out = delegate.output({2, rows, oc});
  const uint32_t filter = delegate.constant({oc, ic}, some_floats(oc * ic, 5));
  const uint32_t bias = has_bias ? delegate.constant({oc}, some_floats(oc, 7)) : kNoValue;
  delegate.node(NodeType::fully_connected, {in, filter, bias}, out).output_min = -3;
  return delegate;
}

TEST(Slices, HaveAboutTheWantedSize) {
  const auto slices = [](const TestDelegate& delegate, const SlicePolicy& policy) {
    Dims dims;
    EXPECT_EQ(check_payload(delegate.payload, nullptr, &dims, nullptr), Error::Ok);
    return slices_of(delegate.payload, delegate.payload.nodes[0], dims, policy);
  };
  const TestDelegate linear = linear_of(32, 96, 700, true);  // 269 kB of weights
  EXPECT_EQ(slices(linear, {1 << 16, 1 << 16, 48}), (Slices{192, 192, 192, 124}));
  EXPECT_EQ(slices(linear, {1 << 20, 1 << 16, 48}), Slices{});
  EXPECT_EQ(slices(linear, {1 << 16, 1 << 16, 65}), Slices{});
  EXPECT_EQ(slices(linear, {}), Slices{});
  TestDelegate transposed = linear_of(32, 96, 96, false);
  transposed.payload.nodes[0].flags = kTransposeWeights;
  EXPECT_EQ(slices(transposed, kSmall), Slices{});
}

TEST(Slices, OfALinearLayerGiveTheSameNumbers) {
  for (const bool has_bias : {false, true}) {
    for (const uint32_t oc : {130u, 700u}) {  // 3 slices; 11, which are put together in two steps
      const TestDelegate delegate = linear_of(5, 33, oc, has_bias);
      const Floats input = some_floats(2 * 5 * 33, 3);
      const Floats whole = run_with(delegate, input, {});
      EXPECT_EQ(whole.size(), 2 * 5 * oc);
      EXPECT_EQ(run_with(delegate, input, kSmall), whole);
    }
  }
}

TEST(Slices, OfAConvolutionGiveTheSameNumbers) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 9, 8, 5}), out = delegate.output({1, 5, 4, 200});
  const uint32_t filter = delegate.constant({200, 3, 3, 5}, some_floats(200 * 45, 5));
  const uint32_t bias = delegate.constant({200}, some_floats(200, 7));
  PayloadNode& node = delegate.node(NodeType::conv_2d, {in, filter, bias}, out);
  node.window.kernel[0] = node.window.kernel[1] = 3;
  node.window.stride[0] = node.window.stride[1] = 2;
  node.window.pad_top = node.window.pad_left = node.window.pad_bottom = node.window.pad_right = 1;
  node.group_input_channels = 5;
  node.group_output_channels = 200;
  const Floats input = some_floats(9 * 8 * 5, 3);
  const Floats whole = run_with(delegate, input, {});
  EXPECT_EQ(whole.size(), 5u * 4 * 200);
  EXPECT_EQ(run_with(delegate, input, kSmall), whole);
}

}  // namespace
}  // namespace wick::xnnpack
