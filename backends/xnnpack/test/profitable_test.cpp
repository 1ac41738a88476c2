// Which partitions become delegates: not those that the library computes with more work than portable kernels.
#include <gtest/gtest.h>

#include <string>

#include "compiler/testing/pipeline.h"

namespace wick::testing::profitable_test {
namespace {

constexpr char kReason[] = ": the partition holds only what the library computes slower than portable kernels";

constexpr char kNoneFaster[] =
    ": the library computes some nodes of the partition slower than portable kernels, and none faster";
constexpr char kSpills[] =
    ": the library computes no node of the partition faster than portable kernels, and would need more memory for the "
    "large values between them";

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
    // Functions that the library computes one by one, or that take several of its operators.
    {"(%x: f32[2, 8]) { %y = aten.exp(%x) return %y }", {"aten.exp.default"}},
    {"(%x: f32[2, 8]) { %y = aten._log_softmax(%x, 1, false) return %y }", {"aten._log_softmax.default"}},
    {"(%x: f32[2, 8]) { %y = aten._softmax(%x, 1, false) return %y }", {}},
    {"(%x: f32[2, 8]) { %y = aten.sqrt(%x) return %y }", {"aten.sqrt.default"}},
    {"(%x: f32[2, 8]) { %y = aten.round(%x) return %y }", {"aten.round.default"}},
    {"(%x: f32[2, 8]) { %y = aten.floor(%x) return %y }", {}},
    {"(%x: f32[2, 8]) { %y = aten.softplus(%x) return %y }", {"aten.softplus.default"}},
    {"(%x: f32[2, 8]) { %y = aten.sigmoid(%x) return %y }", {}},
    {"(%x: f32[2, 8]) { %y = aten.gelu(%x, \"tanh\") return %y }", {"aten.gelu.default"}},
    {"(%x: f32[2, 8]) { %y = aten.gelu(%x) return %y }", {}},
    {"(%x: f32[2, 8]) { %y = aten.pow.Tensor_Scalar(%x, 0.5) return %y }", {"aten.pow.Tensor_Scalar"}},
    {"(%x: f32[2, 8]) { %y = aten.pow.Tensor_Scalar(%x, 3.0) return %y }", {}},
    // Sums are products with as many ones.
    {"(%x: f32[2, 513]) { %y = aten.mean.dim(%x, [1]) return %y }", {"aten.mean.dim"}},
    {"(%x: f32[2, 512]) { %y = aten.mean.dim(%x, [1]) return %y }", {}},
    {"(%x: f32[3, 19, 9]) { %y = aten.sum.dim_IntList(%x, []) return %y }", {"aten.sum.dim_IntList"}},
    {"(%x: f32[3, 19, 8]) { %y = aten.sum.dim_IntList(%x, []) return %y }", {}},
    {"(%x: f32[1, 8, 6, 6]) { %y = aten.adaptive_avg_pool2d(%x, [1, 1]) return %y }",
     {"aten.adaptive_avg_pool2d.default"}},
    {"(%x: f32[1, 8, 6, 6]) { %y = aten.adaptive_avg_pool2d(%x, [2, 2]) return %y }", {}},
    {"(%x: f32[2, 8], %a: f32[8], %b: f32[8]) { %y = aten.clamp.Tensor(%x, %a, %b) return %y }", {"aten.clamp.Tensor"}},
    {"(%x: f32[2, 8], %a: f32[8]) { %y = aten.clamp.Tensor(%x, %a, none) return %y }", {}},
    // Matmuls of two computed tensors with few rows or columns.
    {"(%x: f32[3, 8], %z: f32[8, 9]) { %y = aten.mm(%x, %z) return %y }", {"aten.mm.default"}},
    {"(%x: f32[9, 8], %z: f32[8, 3]) { %y = aten.mm(%x, %z) return %y }", {"aten.mm.default"}},
    {"(%x: f32[4, 8], %z: f32[8, 4]) { %y = aten.mm(%x, %z) return %y }", {}},
    {"(%x: f32[2, 1, 8], %z: f32[2, 8, 9]) { %y = aten.bmm(%x, %z) return %y }", {"aten.bmm.default"}},
    {"(%x: f32[1, 8]) { const %w: f32[8, 9] = ...\n %y = aten.mm(%x, %w) return %y }", {}},
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

TEST(Profitable, APartitionThatOnlyMovesElementsIsNoDelegate) {
  const std::pair<const char*, const char*> graphs[] = {
      {"(%x: f32[2, 8]) { %y = aten.roll(%x, [3], [1]) return %y }", "aten.roll.default"},
      {"(%x: f32[2, 8]) { %y = aten.cat([%x, %x], 1) return %y }", "aten.cat.default"},
      {"(%x: f32[2, 8]) { %y = aten.constant_pad_nd(%x, [1, 2], 0) return %y }", "aten.constant_pad_nd.default"},
      {"(%x: f32[1, 8, 3, 3]) { %y = aten.pixel_shuffle(%x, 2) return %y }", "aten.pixel_shuffle.default"},
  };
  for (const auto& [graph, op] : graphs) {
    Pipeline p = Pipeline::from_text(std::string("graph f") + graph);
    p.backend("xnnpack").at(Stage::partition).check_delegates(0);
    p.check_outside({std::string(op) +
                     ": the partition only moves or converts elements: calling it would cost more than it saves"});
    EXPECT_EQ(p.failures(), "") << graph;
  }
  Pipeline p =
      Pipeline::from_text("graph f(%x: f32[2, 8]) { %a = aten.abs(%x)\n %y = aten.cat([%x, %a], 1) return %y }");
  p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
  EXPECT_EQ(p.failures(), "");
}

TEST(Profitable, APartitionThatTheLibraryOnlySlowsDownIsNoDelegate) {
  for (const Case& each : kCases) {
    Pipeline p = Pipeline::from_text(std::string("graph f") + each.graph);
    std::vector<std::string> outside;
    for (const std::string& op : each.outside) outside.push_back(op + kReason);
    p.backend("xnnpack").at(Stage::partition).check_delegates(each.outside.empty() ? 1 : 0).check_outside(outside);
    EXPECT_EQ(p.failures(), "") << each.graph;
  }
}

// A partition of `graph`, in which N stands for a number of elements and M for N - 1, stays outside from `first`
// elements on.
struct Sized {
  const char* graph;
  int64_t first;
  const char* reason;
  std::vector<std::string> outside;
};

const Sized kSized[] = {
    // Slower nodes beside others that gain nothing.
    {"(%x: f32[N]) { %a = aten.abs(%x)\n %y = aten.sin(%a) return %y }",
     (1 << 14) + 1,
     kNoneFaster,
     {"aten.abs.default", "aten.sin.default"}},
    {"(%x: f32[N], %z: f32[N]) { %y = aten.mse_loss(%x, %z) return %y }",
     (1 << 14) + 1,
     kNoneFaster,
     {"aten.mean.dim", "aten.mul.Tensor", "aten.sub.Tensor"}},
    {"(%x: f32[1, N]) { %y = aten.tril(%x) return %y }",
     (1 << 14) + 1,
     kNoneFaster,
     {"aten.clamp.default", "aten.mul.Tensor"}},
    // None is slower, but there are values between them.
    {"(%x: f32[N], %z: f32[N]) { %y = aten.addcmul(%x, %x, %z) return %y }",
     (1 << 18) + 1,
     kSpills,
     {"aten.add.Tensor", "aten.mul.Tensor"}},
    {"(%x: f32[N], %z: f32[N]) { %y = aten.lerp.Scalar(%x, %z, 0.3) return %y }",
     (1 << 18) + 1,
     kSpills,
     {"aten.add.Tensor", "aten.mul.Scalar", "aten.sub.Tensor"}},
    {"(%x: f32[N]) { %y: f32[M] = aten.diff(%x) return %y }",
     (1 << 18) + 2,
     kSpills,
     {"aten.slice.Tensor", "aten.sub.Tensor"}},
};

std::string with_size(const char* graph, int64_t elements) {
  std::string text = std::string("graph f") + graph;
  for (size_t at = text.find_first_of("NM"); at != std::string::npos; at = text.find_first_of("NM", at))
    text.replace(at, 1, std::to_string(text[at] == 'N' ? elements : elements - 1));
  return text;
}

TEST(Profitable, LargePartitionsInWhichTheLibraryIsNowhereFasterAreNoDelegates) {
  for (const Sized& each : kSized) {
    Pipeline small = Pipeline::from_text(with_size(each.graph, each.first - 1));
    small.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
    EXPECT_EQ(small.failures(), "") << each.graph;
    Pipeline large = Pipeline::from_text(with_size(each.graph, each.first));
    std::vector<std::string> outside;
    for (const std::string& op : each.outside) outside.push_back(op + each.reason);
    large.backend("xnnpack").at(Stage::partition).check_delegates(0).check_outside(outside);
    EXPECT_EQ(large.failures(), "") << each.graph;
  }
}

TEST(Profitable, ANodeThatTheLibraryComputesFasterKeepsAllOthers) {
  for (const char* graph :
       {"(%x: f32[N]) { %a = aten.sigmoid(%x)\n %b = aten.sin(%a)\n %y = aten.add.Tensor(%b, %a) return %y }",
        "(%x: f32[1, N]) { const %w: f32[4, N] = ...\n %s = aten.sin(%x)\n %y = aten.linear(%s, %w) return %y }",
        "(%x: f16[N], %z: f16[N]) { %a = aten.mul.Tensor(%x, %z)\n %y = aten.add.Tensor(%a, %x) return %y }",
        "(%x: f32[N], %z: f32[N]) { %y = aten.add.Tensor(%x, %z) return %y }"}) {
    Pipeline p = Pipeline::from_text(with_size(graph, (1 << 18) + 1));
    p.backend("xnnpack").at(Stage::partition).check_delegates(1).check_outside({});
    EXPECT_EQ(p.failures(), "") << graph;
  }
}

TEST(Profitable, UpperBoundsCountWhereSizesAreUnknown) {
  for (const int64_t most : {1 << 18, (1 << 18) + 1}) {
    Pipeline p = Pipeline::from_text("graph f(%x: f32[s0], %z: f32[s0]) {\n  range s0: 2.." + std::to_string(most) +
                                     "\n  %y: f32[s0] = aten.addcmul(%x, %x, %z)\n  return %y\n}");
    p.backend("xnnpack").at(Stage::partition).check_delegates(most == 1 << 18 ? 1 : 0);
    EXPECT_EQ(p.failures(), "") << most;
  }
}

// A mask that is added up before something outside reads it, of attention scores with `rows` rows.
std::string masked(int64_t rows, const char* of_mask) {
  const std::string n = std::to_string(rows);
  return "graph f(%x: f32[" + n + ", 8], %m: f32[" + n +
         "]) {\n  const %w: f32[8, 8] = ...\n  const %z: f32[] = [0.0]\n" + "  %y = aten.linear(%x, %w)\n  %a: f32[" +
         n + "] = " + of_mask + "\n  %s: f32[" + n + "], %i: i64[" + n + "] = aten.sort(%a)\n  %v = aten.view(%s, [" +
         n + ", 1])\n  %o = aten.mul.Tensor(%y, %v)\n  %l = aten.linear(%o, %w)\n  return %l\n}";
}

// The same mask, of a size known only at run time.
std::string masked_up_to(int64_t rows) {
  std::string text = masked(7, "aten.add.Tensor(%m, %m)");
  text.insert(text.find('{') + 1, "\n  range s0: 2.." + std::to_string(rows));
  for (size_t at = text.find("[7"); at != std::string::npos; at = text.find("[7", at + 1)) text.replace(at, 2, "[s0");
  return text;
}

TEST(Profitable, LightNodesBeforeANodeOutsideAreNoDelegate) {
  for (const int64_t rows : {8, 1 << 14}) {
    Pipeline p = Pipeline::from_text(masked(rows, "aten.add.Tensor(%m, %m)"));
    p.backend("xnnpack").at(Stage::partition).check_delegates(1);
    EXPECT_EQ(p.failures(), "") << rows;
  }
  for (const int64_t rows : {int64_t{1} << 14, (int64_t{1} << 14) + 1}) {
    Pipeline p = Pipeline::from_text(masked_up_to(rows));
    p.backend("xnnpack").at(Stage::partition).check_delegates(rows == 1 << 14 ? 1 : 2);
    EXPECT_EQ(p.failures(), "") << rows;
  }
  Pipeline many = Pipeline::from_text(masked((1 << 14) + 1, "aten.add.Tensor(%m, %m)"));
  many.backend("xnnpack").at(Stage::partition).check_delegates(2);
  EXPECT_EQ(many.failures(), "");
  // Stock's runtime has no kernel for it.
  Pipeline silu = Pipeline::from_text(masked(8, "aten.silu(%m)"));
  silu.backend("xnnpack").at(Stage::partition).check_delegates(2);
  EXPECT_EQ(silu.failures(), "");
  Pipeline sum = Pipeline::from_text(masked(8, "aten.softmax.int(%m, 0)"));
  sum.backend("xnnpack").at(Stage::partition).check_delegates(2);
  EXPECT_EQ(sum.failures(), "");
}

// A model that computes positions behind its layers: `of_sorted` reads %s, as many numbers as there are rows.
std::string ending(int64_t rows, const char* of_sorted) {
  const std::string n = std::to_string(rows);
  return "graph f(%x: f32[" + n + ", 8]) {\n  const %w: f32[1, 8] = ...\n  %y = aten.linear(%x, %w)\n  %a: f32[" + n +
         "] = aten.view(%y, [" + n + "])\n  %s: f32[" + n + "], %i: i64[" + n + "] = aten.sort(%a)\n  " + of_sorted +
         "\n  return %o, %i\n}";
}

TEST(Profitable, LightNodesBehindANodeOutsideAreNoDelegate) {
  constexpr char kAdd[] = "%o = aten.add.Tensor(%s, %a)", kSum[] = "%o: f32[1] = aten.sum.dim_IntList(%s, [0], true)",
                 kMost[] = "%o: f32[] = aten.amax(%s, [0])";
  for (const char* light : {kAdd, kSum, kMost}) {
    for (const int64_t rows : {8, 1 << 14, (1 << 14) + 1}) {
      Pipeline p = Pipeline::from_text(ending(rows, light));
      // A sum of so many elements is no delegate either.
      const bool two = rows > 1 << 14 && light != kSum;
      p.backend("xnnpack").at(Stage::partition).check_delegates(two ? 2 : 1);
      p.run_and_compare();
      EXPECT_EQ(p.failures(), "") << light << rows;
    }
  }
  // All together count; stock's runtime has no kernel; neither pointwise nor a reduction of one operand.
  for (const char* heavy :
       {"%p = aten.add.Tensor(%s, %a)\n  %q = aten.add.Tensor(%p, %s)\n  %o = aten.mul.Tensor(%q, %p)",
        "%p = aten.silu(%s)\n  %o = aten.add.Tensor(%p, %a)", "%o = aten.softmax.int(%s, 0)"}) {
    Pipeline p = Pipeline::from_text(ending(6000, heavy));
    p.backend("xnnpack").at(Stage::partition).check_delegates(2);
    EXPECT_EQ(p.failures(), "") << heavy;
  }
}

}  // namespace
}  // namespace wick::testing::profitable_test
