// Which partitions become delegates: not those that the library computes with more work than portable kernels.
#include <gtest/gtest.h>

#include <string>

#include "compiler/testing/pipeline.h"

namespace wick::testing::profitable_test {
namespace {

constexpr char kReason[] = ": the partition holds only what the library computes slower than portable kernels";

struct Case {
  const char* graph;
  std::vector<std::string> outside;  // the operators that stay in the program
};

const Case kCases[] = {
    {"(%x: f32[2, 8]) { %y = aten.sin(%x) return %y }", {"aten.sin.default"}},
    {"(%x: f32[2, 8]) { %y = aten.cos(%x) return %y }", {"aten.cos.default"}},
    {"(%x: f32[2, 8]) { %y = aten.cumsum(%x, 1) return %y }", {"aten.cumsum.default"}},
    {"(%x: f32[2, 8]) { %y = aten.logsumexp(%x, [1]) return %y }", {"aten.logsumexp.default"}},
    {"(%x: f32[2, 8]) { %s = aten.sin(%x)\n %c = aten.cumsum(%s, 1) return %c }",
     {"aten.cumsum.default", "aten.sin.default"}},
    // In halves the portable kernels convert each element.
    {"(%x: f16[2, 8]) { %y = aten.sin(%x) return %y }", {}},
    // Beside others they stay: leaving would add delegates or calls.
    {"(%x: f32[2, 8]) { %s = aten.sin(%x)\n %y = aten.abs(%s) return %y }", {}},
    {"(%x: f32[2, 8]) { %a = aten.abs(%x)\n %s = aten.cumsum(%a, 1)\n %y = aten.abs(%s) return %y }", {}},
    // Transposed convolutions of few and of many channels a group.
    {"(%x: f32[1, 8, 5, 5]) { const %w: f32[8, 1, 3, 3] = ...\n"
     " %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [0, 0], 8) return %y }",
     {"aten.convolution.default"}},
    {"(%x: f32[1, 6, 5, 5]) { const %w: f32[6, 3, 3, 3] = ...\n"
     " %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [0, 0], 2) return %y }",
     {"aten.convolution.default"}},
    {"(%x: f32[1, 8, 5, 5]) { const %w: f32[8, 4, 3, 3] = ...\n"
     " %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [0, 0], 2) return %y }",
     {}},
    {"(%x: f32[1, 8, 5, 5]) { const %w: f32[8, 1, 3, 3] = ...\n"
     " %y = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8) return %y }",
     {}},
};

TEST(Profitable, APartitionThatTheLibraryOnlySlowsDownIsNoDelegate) {
  for (const Case& each : kCases) {
    Pipeline p = Pipeline::from_text(std::string("graph f") + each.graph);
    std::vector<std::string> outside;
    for (const std::string& op : each.outside) outside.push_back(op + kReason);
    p.backend("xnnpack").at(Stage::partition).check_delegates(each.outside.empty() ? 1 : 0).check_outside(outside);
    EXPECT_EQ(p.failures(), "") << each.graph;
  }
}

}  // namespace
}  // namespace wick::testing::profitable_test
