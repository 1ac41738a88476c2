#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"

namespace wick::compiler {
namespace {

MethodPlan planned(const char* text) {
  auto function = parse_graph(text);
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  if (!function.ok()) return {};
  auto plan = linearize(*function, {});
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : render(plan.diag()));
  if (!plan.ok()) return {};
  plan_memory(*plan);
  const Status verified = verify_plan(*plan);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : render(verified.diag()));
  return std::move(*plan);
}

std::vector<std::string> calls(const MethodPlan& plan) {
  std::vector<std::string> names;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::jump_false) {
      names.push_back("jump");
    } else if (instruction.kind == Instruction::Kind::delegate) {
      names.push_back("delegate " + std::to_string(instruction.op));
    } else {
      const Operator& op = plan.operators[instruction.op];
      names.push_back(op.overload.empty() ? op.name : op.name + "." + op.overload);
    }
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Linearize, AConstantThatControlFlowCapturesAndDoesNotReadIsNotStored) {
  const auto constants = [](const std::string& inside, const std::string& result) {
    const MethodPlan plan = planned(("graph f(%p: bool[], %x: f32[2]) {\n const %w: f32[2] = [1.0, 2.0]\n"
                                     " %r: f32[2] = higher_order.cond(%p, [%x, %w]) graph (%a: f32[2], %b: f32[2]) {" +
                                     inside + "} graph (%c: f32[2], %d: f32[2]) { return %c }\n return " + result + "}")
                                        .c_str());
    return std::count_if(plan.storages.begin(), plan.storages.end(),
                         [](const Storage& storage) { return storage.kind == Storage::Kind::constant; });
  };
  EXPECT_EQ(constants("return %a", "%r"), 0);
  EXPECT_EQ(constants("return %b", "%r"), 1);
  EXPECT_EQ(constants("%e: f32[2] = aten.add.Tensor(%a, %b) return %e", "%r"), 1);
  EXPECT_EQ(constants("return %a", "%r, %w"), 1);
}

TEST(Linearize, ContiguousViewsCostNoInstruction) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[4, 6]) {
    %rows: f32[2, 6] = aten.slice.Tensor(%x, 0, 1, 3)
    %row: f32[6] = aten.select.int(%rows, 0, 1)
    %flat: f32[2, 3] = aten.view(%row, [2, 3])
    %y: f32[2, 3] = aten.relu(%flat)
    return %y
  })");
  EXPECT_EQ(calls(plan), Names{"aten::relu.out"});
  EXPECT_TRUE(plan.copies.empty());
}

TEST(Linearize, AViewThatIsNoContiguousRangeCostsOneCopyWithItsReason) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[4, 6]) {
    %columns: f32[4, 2] = aten.slice.Tensor(%x, 1, 1, 3)
    %y: f32[4, 2] = aten.relu(%columns)
    return %y
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::slice_copy.Tensor_out", "aten::relu.out"}));
  ASSERT_EQ(plan.copies.size(), 1u);
  EXPECT_NE(plan.copies[0].reason.find("contiguous"), std::string::npos);
}

TEST(Linearize, TensorsHaveTheDimOrdersOfTheirTypes) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[1, 3, 4, 5]) {
    %a: f32[1, 3, 4, 5]{0,2,3,1} = aten.relu(%x)
    %y: f32[1, 3, 4, 5] = aten.tanh(%a)
    return %y
  })");
  std::vector<std::vector<uint8_t>> orders;
  for (const PlannedValue& value : plan.values) {
    if (const auto* tensor = std::get_if<PlannedTensor>(&value)) orders.push_back(tensor->dim_order);
  }
  EXPECT_EQ(orders, (std::vector<std::vector<uint8_t>>{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 1, 2, 3}}));
}

// Whether a view of channels last shares its operand's memory follows from where its elements lie.
TEST(Linearize, ViewsShareMemoryWhereTheDimOrderAllowsIt) {
  struct Case {
    const char *type, *call, *kernel;  // null: no instruction
    uint64_t offset_bytes;
  };
  const Case cases[] = {
      // rows of the image are outermost, but for the batch
      {"f32[1, 3, 1, 5]{0,2,3,1}", "aten.slice.Tensor(%a, 2, 1, 2)", nullptr, 60},
      {"f32[1, 3, 1, 5]", "aten.slice.Tensor(%a, 2, 1, 2)", "aten::slice_copy.Tensor_out", 0},
      {"f32[1, 1, 4, 5]{0,2,3,1}", "aten.slice.Tensor(%a, 1, 1, 2)", "aten::slice_copy.Tensor_out", 0},
      {"f32[1, 3, 5]{0,2,1}", "aten.select.int(%a, 2, 3)", nullptr, 180},
      {"f32[1, 3, 5]", "aten.select.int(%a, 2, 3)", "aten::select_copy.int_out", 0},
      {"f32[1, 4, 5, 3]", "aten.permute(%a, [0, 2, 3, 1])", nullptr, 0},
      {"f32[1, 4, 5, 3]{0,3,1,2}", "aten.permute(%a, [0, 2, 3, 1])", "aten::permute_copy.out", 0},
      {"f32[1, 3, 20]{0,2,1}", "aten.view(%a, [1, 3, 20])", nullptr, 0},
      {"f32[1, 3, 20]", "aten.view(%a, [1, 3, 20])", "aten::view_copy.out", 0},
      {"f32[60]", "aten.view(%a, [60])", "aten::view_copy.out", 0},
      {"f32[1, 1, 3, 4, 5]{0,1,3,4,2}", "aten.expand(%a, [1, 1, 3, 4, 5])", nullptr, 0},
      {"f32[1, 3, 4, 5]", "dim_order_ops._to_dim_order_copy(%a, none, none, none, none, false, [0, 1, 2, 3])",
       "dim_order_ops::_to_dim_order_copy.out", 0},
      {"f32[1, 1, 3, 4, 5]", "aten.expand(%a, [1, 1, 3, 4, 5])", "aten::expand_copy.out", 0},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.type) + " " + each.call);
    const std::string text = std::string("graph forward(%x: f32[1, 3, 4, 5]) {\n") +
                             "%a: f32[1, 3, 4, 5]{0,2,3,1} = aten.relu(%x)\n%v: " + each.type + " = " + each.call +
                             "\n%y = aten.tanh(%v)\nreturn %y\n}";
    const MethodPlan plan = planned(text.c_str());
    EXPECT_EQ(calls(plan), each.kernel ? (Names{"aten::relu.out", each.kernel, "aten::tanh.out"})
                                       : (Names{"aten::relu.out", "aten::tanh.out"}));
    const Instruction& last = plan.instructions.back();
    EXPECT_EQ(std::get<PlannedTensor>(plan.values[static_cast<size_t>(last.args[0])]).offset_bytes, each.offset_bytes);
  }
}

// One channel, or one pixel: the bytes are the same.
TEST(Linearize, ACopyToAnotherDimOrderOfTheSameBytesCostsNothing) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2, 1, 4, 5]) {
    %a: f32[2, 1, 4, 5]{0,2,3,1} = dim_order_ops._to_dim_order_copy(%x, none, none, none, none, false, [0, 2, 3, 1])
    %y: f32[2, 1, 4, 5]{0,2,3,1} = aten.tanh(%a)
    return %y
  })");
  EXPECT_EQ(calls(plan), Names{"aten::tanh.out"});
}

TEST(Linearize, AViewOfADynamicSizeIsCopiedWhereItIsNotContiguous) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[s0, 3, 4, 5]) {
    range s0: 1..8
    %a: f32[s0, 3, 4, 5]{0,2,3,1} = aten.relu(%x)
    %v: f32[s0, 60] = aten.view(%a, [s0, 60])
    %y: f32[s0, 60] = aten.tanh(%v)
    return %y
  })");
  const Names names = calls(plan);
  EXPECT_EQ(std::count(names.begin(), names.end(), "executorch_prim::et_view"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "aten::view_copy.out"), 1);
}

TEST(Linearize, AConcatenationIsWrittenInPlaceAlongItsOutermostDimensionInMemory) {
  const auto concatenation = [](const char* b, const char* result, int dim) {
    return std::string(R"(graph forward(%x: f32[1, 3, 4, 5]) {
      %a: f32[1, 3, 4, 5]{0,2,3,1} = aten.relu(%x)
      %b: f32[1, 3, 4, 5])") +
           b + " = aten.tanh(%x)\n%c: f32" + result + "{0,2,3,1} = aten.cat([%a, %b], " + std::to_string(dim) +
           ")\nreturn %c\n}";
  };
  const Names in_place = {"aten::relu.out", "aten::tanh.out"},
              copied = {"aten::relu.out", "aten::tanh.out", "aten::cat.out"};
  EXPECT_EQ(calls(planned(concatenation("{0,2,3,1}", "[1, 3, 8, 5]", 2).c_str())), in_place);
  EXPECT_EQ(calls(planned(concatenation("", "[1, 3, 8, 5]", 2).c_str())), copied);
  EXPECT_EQ(calls(planned(concatenation("{0,2,3,1}", "[1, 6, 4, 5]", 1).c_str())), copied);
}

TEST(Linearize, OperandsOfAnOutermostConcatenationAreWrittenInPlace) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[1, 2, 3]) {
    %a: f32[1, 2, 3] = aten.relu(%x)
    %b: f32[1, 2, 3] = aten.neg(%x)
    %c: f32[1, 4, 3] = aten.cat([%a, %b], 1)
    return %c
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::relu.out", "aten::neg.out"}));
}

const PlannedTensor& tensor_of(const MethodPlan& plan, int32_t index) {
  return std::get<PlannedTensor>(plan.values[static_cast<size_t>(index)]);
}

TEST(Linearize, ADelegateTakesItsInputsThenItsOutputs) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[4, 6]) {
    delegate "B" 16
    %rows: f32[2, 6] = aten.slice.Tensor(%x, 0, 1, 3)
    %a: f32[2, 6], %b: f32[2] = wick.call_delegate([%rows, %x], 0)
    %y: f32[2] = aten.neg(%b)
    return %a, %y
  })");
  EXPECT_EQ(calls(plan), (Names{"delegate 0", "aten::neg.out"}));
  ASSERT_EQ(plan.delegates.size(), 1u);
  EXPECT_EQ(plan.delegates[0]->id, "B");
  const std::vector<int32_t>& args = plan.instructions[0].args;
  ASSERT_EQ(args.size(), 4u);
  EXPECT_EQ(tensor_of(plan, args[0]).offset_bytes, 24u);  // the rows cost no copy
  EXPECT_EQ(args[1], plan.inputs[0]);
  EXPECT_EQ(args[2], plan.outputs[0]);
  // Memory of inputs and outputs is disjoint, and read-ahead stays in the arena.
  const Storage& in = plan.storages[tensor_of(plan, args[1]).storage];
  for (size_t i : {2u, 3u}) {
    const Storage& out = plan.storages[tensor_of(plan, args[i]).storage];
    EXPECT_TRUE(out.offset >= in.offset + in.size_bytes || in.offset >= out.offset + out.size_bytes);
    EXPECT_GE(plan.arena_bytes, out.offset + out.size_bytes + kReadBehindBytes);
  }
}

TEST(Linearize, AViewThatIsNoContiguousRangeIsCopiedForADelegate) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[4, 6]) {
    delegate "B" 16
    %columns: f32[4, 2] = aten.slice.Tensor(%x, 1, 1, 3)
    %y: f32[4, 2] = wick.call_delegate([%columns], 0)
    return %y
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::slice_copy.Tensor_out", "delegate 0"}));
}

MethodPlan planned_on(const std::vector<std::string>& devices, const std::string& text) {
  auto function = parse_graph(text);
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  for (size_t i = 0; i < devices.size(); ++i) {
    Delegate delegate = *function->graph->delegates[i];
    if (!devices[i].empty()) delegate.device = {1, devices[i]};
    function->graph->delegates[i] = std::make_shared<const Delegate>(delegate);
  }
  auto plan = linearize(*function, {});
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : render(plan.diag()));
  plan_memory(*plan);
  const Status verified = verify_plan(*plan);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : render(verified.diag()));
  return std::move(*plan);
}

Names on_device(const MethodPlan& plan) {
  Names names;
  for (const Storage& storage : plan.storages) {
    if (storage.on_device) names.push_back(storage.label);
  }
  return names;
}

// %a goes from delegate to delegate, %b to a kernel too, %c is an output.
constexpr char kThreeCalls[] = R"(graph f(%x: f32[8]) {
  delegate "A" 16
  delegate "B" 16
  delegate "C" 16
  %a: f32[8], %b: f32[8] = wick.call_delegate([%x], 0)
  %n: f32[8] = aten.neg(%b)
  %c: f32[8], %d: f32[4] = wick.call_delegate([%a, %b, %n], 1)
  %e: f32[8] = wick.call_delegate([%a, %d], 2)
  return %c, %e
})";

TEST(MemoryPlan, WhatOnlyDelegatesOfADeviceTouchLiesThere) {
  const MethodPlan plan = planned_on({"toy:0", "toy:0", "toy:0"}, kThreeCalls);
  EXPECT_EQ(on_device(plan), (Names{"a", "d"}));
  EXPECT_EQ(plan.device.name, "toy:0");
  EXPECT_EQ(plan.device_arena_bytes, 48u);
  const MethodPlan host = planned_on({}, kThreeCalls);
  EXPECT_EQ(on_device(host), Names{});
  EXPECT_EQ(host.device_arena_bytes, 0u);
  EXPECT_LT(plan.arena_bytes, host.arena_bytes);
}

TEST(MemoryPlan, WhatDelegatesOfTheHostTouchTooDoesNotLieOnADevice) {
  EXPECT_EQ(on_device(planned_on({"toy:0", "", "toy:0"}, kThreeCalls)), Names{});
  EXPECT_EQ(on_device(planned_on({"toy:0", "toy:0", ""}, kThreeCalls)), Names{});
  EXPECT_TRUE(planned_on({"toy:0", "", "toy:0"}, kThreeCalls).device.is_host());
}

TEST(Linearize, DelegatesOfBranchesAreTheMethods) {
  const MethodPlan plan = planned(R"(graph forward(%p: bool[], %x: f32[2]) {
    delegate "A" 16
    %a: f32[2] = wick.call_delegate([%x], 0)
    %r: f32[2] = higher_order.cond(%p, [%a]) graph (%u: f32[2]) {
      delegate "B" 16
      %s: f32[2] = wick.call_delegate([%u], 0)
      return %s
    } graph (%v: f32[2]) {
      return %v
    }
    return %r
  })");
  ASSERT_EQ(plan.delegates.size(), 2u);
  EXPECT_EQ(plan.delegates[0]->id, "A");
  EXPECT_EQ(plan.delegates[1]->id, "B");
}

TEST(Linearize, ABufferThatADelegateComputesIsCopiedAtTheEnd) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2]) {
    delegate "B" 16
    state %s: f32[2] "s" = [1.0, 2.0]
    %n: f32[2] = wick.call_delegate([%s, %x], 0)
    update %s = %n
    return %x
  })");
  EXPECT_EQ(calls(plan), (Names{"delegate 0", "aten::copy_"}));
}

TEST(Linearize, DelegatesThatNobodyCallsAreLeftOut) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2]) {
    delegate "A" 16
    delegate "B" 16
    %n: f32[2] = wick.call_delegate([%x], 1)
    return %n
  })");
  ASSERT_EQ(plan.delegates.size(), 1u);
  EXPECT_EQ(plan.delegates[0]->id, "B");
}

TEST(Linearize, AConcatenationOfInnerDimensionsCopies) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2, 3]) {
    %a: f32[2, 3] = aten.relu(%x)
    %b: f32[2, 3] = aten.neg(%x)
    %c: f32[2, 6] = aten.cat([%a, %b], 1)
    return %c
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::relu.out", "aten::neg.out", "aten::cat.out"}));
  ASSERT_EQ(plan.copies.size(), 1u);
  EXPECT_EQ(plan.copies[0].reason, "what it joins does not lie in one piece in the result");
}

// Permutes that keep the bytes lie in between, as when convolutions produce images that are joined along their rows.
TEST(Linearize, WhatAConcatenationSeesWholeThroughViewsIsWrittenInPlace) {
  const auto joined = [](const char* views) {
    return std::string(
               "graph forward(%x: f32[1, 3, 4, 5]) {\n%a: f32[1, 3, 4, 5]{0,2,3,1} = aten.relu(%x)\n"
               "%b: f32[1, 3, 4, 5]{0,2,3,1} = aten.neg(%x)\n") +
           views + "return %c\n}";
  };
  const Names in_place = {"aten::relu.out", "aten::neg.out"};
  const MethodPlan rows =
      planned(joined("%p: f32[1, 4, 5, 3] = aten.permute(%a, [0, 2, 3, 1])\n%q: f32[4, 5, 3] = "
                     "aten.view(%p, [4, 5, 3])\n%r: f32[1, 4, 5, 3] = aten.permute(%b, [0, 2, 3, 1])\n%s: f32[4, 5, 3] "
                     "= aten.view(%r, [4, 5, 3])\n%c: f32[8, 5, 3] = aten.cat([%q, %s], 0)\n")
                  .c_str());
  EXPECT_EQ(calls(rows), in_place);
  EXPECT_EQ(std::get<PlannedTensor>(rows.values[static_cast<size_t>(rows.instructions[1].args.back())]).offset_bytes,
            240u);
  EXPECT_TRUE(rows.copies.empty());
  const MethodPlan part = planned(joined("%p: f32[1, 3, 2, 5]{0,2,3,1} = aten.slice.Tensor(%a, 2, 0, 2)\n"
                                         "%c: f32[1, 3, 6, 5]{0,2,3,1} = aten.cat([%p, %b], 2)\n")
                                      .c_str());
  EXPECT_EQ(calls(part), (Names{"aten::relu.out", "aten::neg.out", "aten::cat.out"}));
  ASSERT_EQ(part.copies.size(), 1u);
  EXPECT_EQ(part.copies[0].reason, "an operand is not made for it alone");
}

TEST(Linearize, ConcatenationsOfConcatenationsAreWrittenInPlace) {
  const auto joined = [](const char* second) {
    return std::string(
               "graph forward(%x: f32[2, 3]) {\n%a: f32[2, 3] = aten.relu(%x)\n%b: f32[2, 3] = aten.neg(%x)\n"
               "%d: f32[2, 3] = aten.tanh(%x)\n%c: f32[4, 3] = aten.cat([%a, %b], 0)\n%y: f32[6, 3] = "
               "aten.cat([%c, ") +
           second + "], 0)\nreturn %y\n}";
  };
  const MethodPlan whole = planned(joined("%d").c_str());
  EXPECT_EQ(calls(whole), (Names{"aten::relu.out", "aten::neg.out", "aten::tanh.out"}));
  std::vector<uint64_t> offsets;
  for (const Instruction& each : whole.instructions)
    offsets.push_back(std::get<PlannedTensor>(whole.values[static_cast<size_t>(each.args.back())]).offset_bytes);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 24, 48}));
  // An operand of both concatenations lies in the result of the outer one.
  EXPECT_EQ(calls(planned(joined("%a").c_str())),
            (Names{"aten::relu.out", "aten::neg.out", "aten::tanh.out", "aten::cat.out"}));
}

TEST(Linearize, ABufferIsUpdatedInPlaceWhenNobodyReadsItsOldValueLater) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2]) {
    state %s: f32[2] "s" = [1.0, 2.0]
    %n: f32[2] = aten.add.Tensor(%s, %x)
    update %s = %n
    return %n
  })");
  EXPECT_EQ(calls(plan), Names{"aten::add.out"});
}

TEST(Linearize, ALaterReaderOfTheOldValueForcesACopy) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2]) {
    state %s: f32[2] "s" = [1.0, 2.0]
    %n: f32[2] = aten.add.Tensor(%s, %x)
    %old: f32[2] = aten.neg(%s)
    update %s = %n
    return %old
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::add.out", "aten::neg.out", "aten::copy_"}));
}

TEST(Linearize, TheOldContentsOfABufferAreReturnedAsACopy) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[2]) {
    state %s: f32[2] "s" = [1.0, 2.0]
    %n: f32[2] = aten.add.Tensor(%s, %x)
    update %s = %n
    return %s
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::add.out", "aten::clone.out", "aten::copy_"}));
}

TEST(Linearize, SwappedBuffersKeepTheirValues) {
  const MethodPlan plan = planned(R"(graph forward() {
    state %a: f32[2] "a" = [1.0, 2.0]
    state %b: f32[2] "b" = [3.0, 4.0]
    update %a = %b
    update %b = %a
    return
  })");
  EXPECT_EQ(calls(plan), (Names{"aten::clone.out", "aten::clone.out", "aten::copy_", "aten::copy_"}));
}

TEST(Linearize, SymbolicSizesAreComputedOnce) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[s0, 4]) {
    range s0: 1..8
    %a: f32[2*s0, 2] = aten.view(%x, [2*s0, 2])
    %b: f32[2*s0, 2] = aten.relu(%a)
    %c: f32[2*s0*2] = aten.view(%b, [4*s0])
    %d: f32[4*s0] = aten.relu(%c)
    return %d, 2*s0
  })");
  const Names names = calls(plan);
  EXPECT_EQ(std::count(names.begin(), names.end(), "aten::sym_size.int"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "executorch_prim::mul.Scalar"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "executorch_prim::et_view.default"), 2);
}

TEST(Linearize, BranchesPutTheirResultsInOnePlace) {
  const MethodPlan plan = planned(R"(graph forward(%p: bool[], %x: f32[2]) {
    %y: f32[2] = higher_order.cond(%p, [%x]) graph(%a: f32[2]) {
      %r: f32[2] = aten.relu(%a)
      return %r
    } graph(%a: f32[2]) {
      %r: f32[2] = aten.neg(%a)
      return %r
    }
    return %y
  })");
  EXPECT_EQ(calls(plan),
            (Names{"jump", "aten::relu.out", "aten::clone.out", "jump", "aten::neg.out", "aten::clone.out"}));
}

TEST(MemoryPlan, BuffersAliveTogetherNeverOverlap) {
  MethodPlan plan;
  plan.instructions.resize(40);
  uint64_t seed = 1;
  auto random = [&](uint64_t limit) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % limit;
  };
  for (int i = 0; i < 200; ++i) {
    Storage storage;
    storage.size_bytes = 16 * (1 + random(64));
    storage.first = static_cast<uint32_t>(random(40));
    storage.last = static_cast<uint32_t>(std::min<uint64_t>(39, storage.first + random(6)));
    storage.used = true;
    plan.storages.push_back(storage);
  }
  plan_memory(plan);
  EXPECT_TRUE(verify_plan(plan).ok());
  EXPECT_GE(plan.arena_bytes, plan.arena_lower_bound_bytes);
  EXPECT_LE(plan.arena_bytes, plan.arena_lower_bound_bytes * 3 / 2);
}

TEST(MemoryPlan, TheVerifierFindsAnOverlap) {
  MethodPlan plan;
  plan.instructions.resize(2);
  for (int i = 0; i < 2; ++i) {
    Storage storage;
    storage.size_bytes = 32;
    storage.last = 1;
    storage.used = true;
    storage.label = i ? "b" : "a";
    plan.storages.push_back(storage);
  }
  plan_memory(plan);
  EXPECT_EQ(plan.arena_bytes, 64u);
  plan.storages[1].offset = 16;
  plan.storages[0].offset = 0;
  const Status status = verify_plan(plan);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.diag().message.find("are alive together and overlap"), std::string::npos) << status.diag().message;
}

TEST(MemoryPlan, ManyBuffersAliveAtOnceReachTheLowerBound) {
  MethodPlan plan;
  plan.instructions.resize(4000);
  for (uint32_t i = 0; i < 2000; ++i) {
    Storage storage;
    storage.size_bytes = 16 * (1 + i % 7);
    storage.first = i;
    storage.last = i + 1999;
    storage.used = true;
    plan.storages.push_back(storage);
  }
  plan_memory(plan);
  EXPECT_TRUE(verify_plan(plan).ok());
  EXPECT_EQ(plan.arena_bytes, plan.arena_lower_bound_bytes);
}

TEST(MemoryPlan, SaysWhatKeepsTheArenaAboveItsLowerBound) {
  MethodPlan plan;
  plan.instructions.resize(3);
  for (uint32_t i = 0; i < 3; ++i) {  // the third overlaps both in time, the others only it
    Storage storage;
    storage.size_bytes = 32;
    storage.first = i == 1 ? 2 : 0;
    storage.last = i == 0 ? 0 : 2;
    storage.used = true;
    storage.label = std::string(1, static_cast<char>('a' + i));
    plan.storages.push_back(storage);
  }
  plan_memory(plan);
  EXPECT_EQ(above_lower_bound(plan), "");
  plan.storages[0].offset = 16;
  plan.storages[1].offset = 0;
  plan.storages[2].offset = 48;
  plan.arena_bytes = 80;
  EXPECT_EQ(
      above_lower_bound(plan),
      "16 bytes above the lower bound: 'c' has the last 32 bytes from instruction 0 to 2; no more than 0 bytes in "
      "a row are free all that time");
}

std::string numbers_text(const InputNumbers& numbers) {
  std::string text = numbers.below.text() + ":";
  for (const Sym& number : numbers.elements) text += " " + number.text();
  return text;
}

TEST(InputNumbers, AreFoundBehindViewsAndConversions) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[4, 6], %v: i32[5], %n: u8[1], %i: i16[2, 3], %w: i64[6]) {
    range u0: 1..4
    range u1: 1..6
    %s: i32[2] = aten.slice.Tensor(%v, 0, -4, 9223372036854775807, 2)
    %e: i32[] = aten.select.int(%s, 0, -1)
    %l: i64[] = aten._to_copy(%e, i64)
    %a: int(u0) = aten._local_scalar_dense(%l)
    %m: u8[] = aten.view(%n, [])
    %b: int(u1) = aten._local_scalar_dense(%m)
    %r: f32[u0, 6] = aten.slice.Tensor(%x, 0, 0, u0)
    %c: f32[4, u1] = aten.slice.Tensor(%x, 1, 0, u1)
    %j: i64[2, 3] = aten._to_copy(%i, i64)
    %g: f32[2, 3] = aten.gather(%x, 1, %j)
    %p: f32[4, 2, 3] = aten.index.Tensor(%x, [none, %j])
    %q: f32[2, 3, 6] = aten.embedding(%x, %j)
    %h: f32[6] = aten.index.Tensor(%x, [%w, %w])
    return %r, %c, %g, %p, %q, %h
  })");
  std::vector<std::string> texts;
  for (const InputNumbers& numbers : plan.input_numbers) texts.push_back(numbers_text(numbers));
  EXPECT_EQ(texts, (std::vector<std::string>{"0:", "0: 0 0 0 u0", "0: u1", "4:", "4:"}));
}

TEST(InputNumbers, AreFoundBehindAnyNumberOfConversions) {
  auto function = parse_graph(R"(graph forward(%v: i32[1], %x: f32[4]) {
    range u0: 1..4
    %e: i64[1] = aten._to_copy(%v, i64)
    %n: int(u0) = aten._local_scalar_dense(%e)
    %r: f32[u0] = aten.slice.Tensor(%x, 0, 0, u0)
    return %r
  })");
  ASSERT_TRUE(function.ok()) << render(function.diag());
  Graph& graph = *function->graph;
  Value* const input = graph.inputs[0].value;
  Node* const reads = std::next(graph.nodes().begin())->get();
  Builder b(graph, reads);
  Value* last = graph.nodes().front()->result();
  for (int i = 0; i < 50'000; ++i) last = b.cast(b.cast(last, DType::i32), DType::i64);
  graph.set_arg(reads, 0, last);
  EXPECT_EQ(numbers_text(numbers_in(*input)), "0: u0");
}

TEST(InputNumbers, StepsMayBeAsLargeAsNumbers) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[4], %v: i32[5]) {
    range u0: 1..4
    %s: i32[1] = aten.slice.Tensor(%v, 0, 3, 9223372036854775807, 9223372036854775805)
    %e: i32[] = aten.select.int(%s, 0, 0)
    %n: int(u0) = aten._local_scalar_dense(%e)
    %r: f32[u0] = aten.slice.Tensor(%x, 0, 0, u0)
    return %r
  })");
  ASSERT_EQ(plan.input_numbers.size(), 2u);
  EXPECT_EQ(numbers_text(plan.input_numbers[1]), "0: 0 0 0 u0");
}

TEST(MemoryPlan, AChainOfEqualBuffersNeedsTwo) {
  const MethodPlan plan = planned(R"(graph forward(%x: f32[16]) {
    %a = aten.relu(%x)
    %b = aten.neg(%a)
    %c = aten.exp(%b)
    %d = aten.relu(%c)
    return %d
  })");
  EXPECT_EQ(plan.arena_bytes, 128u);
  EXPECT_EQ(plan.arena_lower_bound_bytes, 128u);
}

TEST(MemoryPlan, SharedStatesHaveOnePlaceInAllMethods) {
  std::vector<MethodPlan> methods;
  for (int i = 0; i < 3; ++i) {
    methods.push_back(planned(R"(graph forward(%x: f32[2]) {
      state %s: f32[2] "cache" = [1.0, 2.0]
      %n: f32[2] = aten.add.Tensor(%s, %x)
      update %s = %n
      return %n
    })"));
  }
  methods[0].shared_states = {{"cache", "cache", "a"}};
  methods[1].shared_states = {{"cache", "cache", "a"}};
  share_states(methods);
  for (size_t i = 0; i < methods.size(); ++i) {
    plan_memory(methods[i]);
    EXPECT_TRUE(verify_plan(methods[i]).ok());
    EXPECT_EQ(methods[i].shared_arena_bytes, 16u);
    EXPECT_EQ(methods[i].arena_bytes, i < 2 ? 16u : 32u) << i;
  }
  methods[0].shared_arena_bytes = 8;
  EXPECT_FALSE(verify_plan(methods[0]).ok());
}

TEST(SharedStates, AreSaidOncePerOwner) {
  const std::vector<SharedState> shared = {{"k0", "k0", "a"}, {"own", "own", "b"}, {"s", "s", "c"},  {"k1", "k1", "a"},
                                           {"k2", "k2", "a"}, {"k3", "k3", "a"},   {"k4", "k4", "a"}};
  EXPECT_EQ(sharing_text("b", shared),
            (std::vector<std::string>{"method 'b' uses the states 'k0', 'k1', 'k2', 'k3' and 1 more of method 'a'",
                                      "method 'b' uses the state 's' of method 'c'"}));
}

}  // namespace
}  // namespace wick::compiler
