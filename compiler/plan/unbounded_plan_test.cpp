// Plans of values without an upper bound: which values lie outside the arena, and where their memory is freed.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/text/text.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/plan/unbounded_values.h"

namespace wick::compiler {
namespace {

Result<MethodPlan> plan_of_text(const std::string& text, LinearizeOptions options = {}) {
  auto function = parse_graph(text);
  if (!function.ok()) return function.diag();
  return linearize(*function, options);
}

MethodPlan unbounded_plan(const std::string& text) {
  auto plan = plan_of_text(text);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : render(plan.diag()));
  if (!plan.ok()) return {};
  plan_memory(*plan);
  EXPECT_TRUE(verify_plan(*plan).ok());
  return std::move(*plan);
}

// "relu free jump>3 ..": kernels by their short names.
std::string steps_of(const MethodPlan& plan) {
  std::string text;
  for (const Instruction& at : plan.instructions) {
    if (!text.empty()) text += ' ';
    if (at.kind == Instruction::Kind::jump_false) {
      text += "jump>" + std::to_string(at.args[1]);
    } else if (at.kind == Instruction::Kind::free) {
      const auto& tensor = std::get<PlannedTensor>(plan.values[static_cast<size_t>(at.args[0])]);
      text += "free:" + plan.storages[tensor.storage].label;
    } else {
      const std::string& name = plan.operators[at.op].name;
      text += name.substr(name.rfind(':') + 1);
    }
  }
  return text;
}

TEST(UnboundedPlan, WhatFollowsFromASizeWithoutABoundLiesOutsideTheArena) {
  const MethodPlan plan = unbounded_plan(R"(graph forward(%x: f32[s0, 4], %y: f32[4]) {
    range s0: 0..inf
    %a: f32[s0, 4] = aten.relu(%x)
    %b: f32[s0, 4] = aten.neg(%a)
    %c: f32[4] = aten.relu(%y)
    %d: f32[s0, 4] = aten.relu(%b)
    return %d, %c
  })");
  EXPECT_EQ(steps_of(plan), "sym_size relu neg free:a relu relu free:b");
  EXPECT_EQ(plan.arena_bytes, 32u) << "y and c";
  const auto values = unbounded_values(plan);
  std::string text;
  for (const UnboundedValue& value : values) text += value.name + ": " + value.memory + "; ";
  EXPECT_EQ(text,
            "x: the caller's; a: freed after instruction 2; b: freed after instruction 5; d: kept until the next "
            "execution; ");
  for (const PlannedValue& value : plan.values) {
    const auto* tensor = std::get_if<PlannedTensor>(&value);
    if (tensor && tensor->unbounded) EXPECT_EQ(tensor->sizes, (std::vector<int64_t>{0, 4}));
  }
  const std::string drawn = draw_plan(plan);
  EXPECT_NE(drawn.find("without an upper bound, in memory of the caller's allocator: 4\n"), std::string::npos);
  EXPECT_NE(drawn.find("  d: kept until the next execution\n"), std::string::npos);
}

TEST(UnboundedPlan, TooManyElementsAtTheBoundsAreNoBound) {
  for (const auto& [most, is_unbounded] : {std::pair("65535", false), std::pair("65536", true)}) {
    const MethodPlan plan = unbounded_plan(R"(graph forward(%x: f32[s0, s1]) {
      range s0: 1..32768
      range s1: 1..)" + std::string(most) + R"(
      %y: f32[s0, s1] = aten.relu(%x)
      return %y
    })");
    EXPECT_EQ(unbounded_values(plan).empty(), !is_unbounded) << most;
  }
}

TEST(UnboundedPlan, AViewKeepsTheMemoryOfItsSource) {
  const MethodPlan plan = unbounded_plan(R"(graph forward(%x: f32[s0, 4]) {
    range s0: 0..inf
    %a: f32[s0, 4] = aten.relu(%x)
    %v: f32[4*s0] = aten.view(%a, [4*s0])
    %b: f32[4*s0] = aten.neg(%v)
    %c: f32[4*s0] = aten.relu(%b)
    return %c
  })");
  EXPECT_EQ(steps_of(plan), "sym_size relu mul et_view neg free:a relu free:b");
}

// Both branches end at the instruction that frees the value they read.
TEST(UnboundedPlan, JumpsLandBeforeTheFreesBehindThem) {
  const MethodPlan plan = unbounded_plan(R"(graph forward(%p: bool[], %x: f32[s0]) {
    range s0: 0..inf
    %a: f32[s0] = aten.relu(%x)
    %y: f32[s0] = higher_order.cond(%p, [%a]) graph(%b: f32[s0]) {
      %r: f32[s0] = aten.relu(%b)
      return %r
    } graph(%b: f32[s0]) {
      %r: f32[s0] = aten.neg(%b)
      return %r
    }
    return %y
  })");
  EXPECT_EQ(steps_of(plan), "sym_size relu jump>7 relu clone free:r jump>10 neg free:a clone free:r");
}

TEST(UnboundedPlan, ALoopFreesBehindItsLastRoundWhatItReadsFromOutside) {
  const MethodPlan plan = unbounded_plan(R"(graph forward(%i: i64[], %x: f32[s0]) {
    range s0: 0..inf
    %a: f32[s0] = aten.relu(%x)
    %n: i64[], %y: f32[s0] = higher_order.while_loop([%i, %x], [%a]) graph(%j: i64[], %u: f32[s0], %v: f32[s0]) {
      %more: bool[] = aten.lt.Scalar(%j, 3)
      return %more
    } graph(%j: i64[], %u: f32[s0], %v: f32[s0]) {
      %k: i64[] = aten.add.Scalar(%j, 1)
      %t: f32[s0] = aten.add.Tensor(%u, %v)
      return %k, %t
    }
    return %y
  })");
  EXPECT_EQ(steps_of(plan), "sym_size relu clone clone lt jump>12 add add clone clone free:t jump>4 free:a");
}

TEST(UnboundedPlan, ProgramsForStockAreRefusedWithAWayOut) {
  const auto plan = plan_of_text(R"(graph forward(%x: f32[s0*s1, 2]) {
    range s0: 1..9
    %y = aten.relu(%x)
    return %y
  })",
                                 {.stock_only = true});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.diag().message,
            "dimension 0 of 'x' has no usable upper bound, and stock's runtime has no memory for such a value");
  EXPECT_TRUE(plan.diag().help.starts_with("give it one: --max-size s1=N; or in the model")) << plan.diag().help;
  EXPECT_NE(plan.diag().help.find("torch.export.Dim"), std::string::npos);
}

TEST(UnboundedPlan, ATensorOfFixedSizeIsNeverUnbounded) {
  const auto plan = plan_of_text(R"(graph forward(%x: f32[65536, 65536]) {
    %y: f32[65536, 65536] = aten.relu(%x)
    return %y
  })");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.diag().code, Code::limit);
}

}  // namespace
}  // namespace wick::compiler
