#include "backends/xnnpack/runtime/xnn/operator_times.h"

#include "backends/xnnpack/test/runtime_test_support.h"

namespace wick::xnnpack {
namespace {

using Matches = std::vector<uint32_t>;

TEST(MatchOperators, MergedNodesAreLeftOut) {
  const std::vector<NodeType> nodes = {
      NodeType::static_constant_pad, NodeType::conv_2d, NodeType::clamp, NodeType::gelu, NodeType::clamp,
      NodeType::fully_connected};
  const std::string pad = "Constant Pad (ND, X32)", conv = "Convolution (NHWC, F32) IGEMM",
                    unary = "Unary Elementwise (NC)", linear = "Fully Connected (NC, F32) GEMM";
  EXPECT_EQ(match_operators(nodes, {pad, conv, unary, unary, unary, linear}), (Matches{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(match_operators(nodes, {conv, unary, linear}), (Matches{1, 3, 5}));
  EXPECT_EQ(match_operators(nodes, {conv, linear}), Matches{});
  EXPECT_EQ(match_operators(nodes, {pad, pad, conv, unary, unary, unary, linear}), Matches{});
}

TEST(MatchOperators, WithoutMergesUnknownNamesDoNotMatter) {
  EXPECT_EQ(match_operators({NodeType::add, NodeType::softmax}, {"A", "B"}), (Matches{0, 1}));
  EXPECT_EQ(match_operators({}, {}), Matches{});
}

struct Recorded {
  std::vector<std::string> kinds, names;
  std::vector<uint32_t> handles;
  uint64_t end_ns = 0;
};

/// Records the events that a tracer gets from one run.
Recorded record(const TestDelegate& delegate, const std::vector<std::vector<uint8_t>>& inputs) {
  Recorded recorded;
  const Tracer tracer = {[](void*, const InstructionInfo&) {}, [](void*, const InstructionInfo&, Error) {}, &recorded,
                         [](void* state, const DelegateEvent& event) {
                           auto& all = *static_cast<Recorded*>(state);
                           EXPECT_EQ(event.start_ns, all.end_ns);
                           all.end_ns = event.start_ns + event.duration_ns;
                           all.kinds.push_back(event.kind);
                           all.names.push_back(event.name);
                           all.handles.push_back(event.debug_handle);
                         }};
  TestRun test(delegate);
  test.harness().options.tracer = &tracer;
  EXPECT_EQ(test.load(), Error::Ok) << test.harness().text;
  if (::testing::Test::HasFailure()) return {};
  EXPECT_EQ(test.execute(inputs), Error::Ok);
  return recorded;
}

TEST(OperatorTimes, EachNodeIsToldOfWithItsHandle) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({64, 48}), hidden = delegate.value(DataType::fp32, {64, 96}),
                 out = delegate.output({64, 96});
  const uint32_t w = delegate.constant({96, 48}, some_floats(96 * 48));
  delegate.node(NodeType::fully_connected, {in, w, kNoValue}, hidden).debug_handle = 7;
  delegate.node(NodeType::sigmoid, {hidden}, out).debug_handle = 3;
  const Recorded recorded = record(delegate, {bytes_of(some_floats(64 * 48))});
  EXPECT_EQ(recorded.kinds, (std::vector<std::string>{"fully_connected", "sigmoid"}));
  EXPECT_EQ(recorded.handles, (std::vector<uint32_t>{7, 3}));
  ASSERT_EQ(recorded.names.size(), 2u);
  EXPECT_EQ(recorded.names[0].rfind("Fully Connected (NC, F32)", 0), 0u) << recorded.names[0];
}

TEST(OperatorTimes, AClampThatTheLibraryAddsBelongsToItsNode) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 4, 5, 6}), doubled = delegate.value(DataType::fp32, {1, 4, 5, 6}),
                 product = delegate.value(DataType::fp32, {1, 4, 5, 6}), out = delegate.output({1, 1, 1, 6});
  const uint32_t w = delegate.constant({6, 6}, some_floats(36));
  const auto add = [&](NodeType type, const Shape& inputs, uint32_t output, uint32_t handle) {
    PayloadNode& node = delegate.node(type, inputs, output);
    node.debug_handle = handle;
    node.output_min = 0;
    return &node;
  };
  add(NodeType::add, {in, in}, doubled, 5);
  add(NodeType::fully_connected, {doubled, w, kNoValue}, product, 8);
  add(NodeType::global_avg_pooling_2d, {product}, out, 9)->flags = kKeepDims;
  const Recorded recorded = record(delegate, {bytes_of(some_floats(120))});
  EXPECT_EQ(recorded.kinds,
            (std::vector<std::string>{"add", "clamp", "fully_connected", "global_avg_pooling_2d", "clamp"}));
  EXPECT_EQ(recorded.handles, (std::vector<uint32_t>{5, 5, 8, 9, 9}));
}

}  // namespace
}  // namespace wick::xnnpack
