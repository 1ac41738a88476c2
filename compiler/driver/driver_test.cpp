// Targets in the driver: which composites are kept for them, and what happens to the nodes that they leave.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/compile_table.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/model_hash.h"
#include "compiler/ir/text/text.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler {
namespace {

Function parse(const std::string& text) {
  auto function = parse_graph(text);
  if (function.ok()) return std::move(*function);
  ADD_FAILURE() << render(function.diag()) << text;
  return {"", std::make_unique<Graph>(), "", "", {}};
}

Result<Delegate> lower_bytes(const Graph& graph, const TargetContext&) {
  Delegate delegate;
  delegate.id = "TestBackend";
  delegate.payload = {1, 2, 3};
  delegate.num_nodes = graph.num_nodes();
  return delegate;
}

// Keeps gelu and silu whole; takes gelu and sigmoid.
const Target kTest = {
    .name = "test",
    .partition = {.keep =
                      [](const Node& node, const TargetContext&) {
                        return node.is("aten.gelu.default") || node.is("aten.silu.default") ? Verdict::yes()
                                                                                            : Verdict::no("");
                      },
                  .supports =
                      [](const Node& node, const TargetContext& context) {
                        if (node.is("aten.gelu.default"))
                          return context.options.strict_nan ? Verdict::no("NaN") : Verdict::yes("NaN differs");
                        return node.is("aten.sigmoid.default") ? Verdict::yes() : Verdict::no("not taken");
                      }},
    .delegate = {.id = "TestBackend", .lower = lower_bytes},
};

// Keeps gelu and silu whole; takes gelu of quantized values, which it sees only once quantization is folded.
const Target kQuantizedTest = {
    .name = "test",
    .partition = {.keep = kTest.partition.keep,
                  .supports =
                      [](const Node& node, const TargetContext&) {
                        const bool quantized = !node.operands().empty() && node.operands()[0]->tensor().quantization;
                        return node.is("aten.gelu.default") && quantized ? Verdict::yes() : Verdict::no("not taken");
                      }},
    .passes = {.names = {"fold_quantization"}},
    .delegate = {.id = "TestBackend", .lower = lower_bytes},
};

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> out;
  for (const auto& node : graph.nodes()) out.emplace_back(node->op->name());
  return out;
}
using Names = std::vector<std::string>;

CompileOptions with_target() {
  CompileOptions options;
  options.targets = {&kTest};
  return options;
}

constexpr char kGelu[] = "graph f(%x: f32[2]) { %a = aten.gelu(%x) %b = aten.neg(%a) return %b }";

constexpr char kQuantizedGelu[] = R"(graph f(%x: i8[2], %k: f32[2]) {
  %d = quantized_decomposed.dequantize_per_tensor(%x, 0.125, 3, -128, 127, i8)
  %g = aten.gelu(%d)
  %q = quantized_decomposed.quantize_per_tensor(%g, 0.25, -1, -128, 127, i8)
  %s = aten.silu(%k)
  return %q, %s
})";

// Passes run again after silu is refused. They see a gelu of floats, which the target would refuse.
TEST(Targets, AVerdictOnFoldedQuantizationHoldsForLaterPasses) {
  Function f = parse(kQuantizedGelu);
  CompileOptions options;
  options.targets = {&kQuantizedTest};
  PartitionReport report;
  const Status status = optimize(f, options, &report);
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(report.num_delegates, 1u);
  EXPECT_EQ(ops(*f.graph), (Names{"wick.call_delegate.default", "aten.sigmoid.default", "aten.mul.Tensor"}));
  EXPECT_EQ(f.graph->nodes().front()->result()->type, Type::of(DType::i8, {2})) << "facts do not leave the target";
  const auto gelu = std::find_if(report.nodes.begin(), report.nodes.end(),
                                 [](const NodePlace& place) { return place.op == "aten.gelu.default"; });
  ASSERT_NE(gelu, report.nodes.end());
  EXPECT_EQ(gelu->quantization, "i8[2]q(scale=0.125, zero=3) -> i8[2]q(scale=0.25, zero=-1)");
}

TEST(Targets, ACompositeThatATargetKeepsReachesItWhole) {
  Function f = parse(kGelu);
  const Status status = optimize(f, with_target());
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.neg.default"}));
  EXPECT_EQ(f.graph->delegates.at(0)->num_nodes, 1u);
}

TEST(Targets, PartsOfACompositeThatIsRefusedAreAskedFor) {
  Function f = parse("graph f(%x: f32[2]) { %a = aten.silu(%x) return %a }");
  const Status status = optimize(f, with_target());
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(ops(*f.graph), (Names{kCallDelegate, "aten.mul.Tensor"}));
}

TEST(Targets, WhatIsLeftIsWhatItIsWithoutTargets) {
  Function without = parse(kGelu), strict = parse(kGelu);
  CompileOptions options = with_target();
  options.strict_nan = true;
  ASSERT_TRUE(optimize(without, {}).ok());
  ASSERT_TRUE(optimize(strict, options).ok());
  EXPECT_EQ(to_text(*strict.graph, "f"), to_text(*without.graph, "f"));
}

// The library multiplies integers with one scale for each row, but not those in groups.
TEST(Constants, QuantizedWeightsThatBecomeFloatsAreNoted) {
  for (const bool groups : {true, false}) {
    std::vector<Function> functions;
    functions.push_back(parse(std::string("graph f(%x: f32[3, 64]) {\n const %e: i8[2, 64] = ...\n") +
                              (groups ? " const %s: f32[2, 2] = [0.5, 0.25, 0.75, 1]\n"
                                        " %w = torchao.dequantize_affine(%e, [1, 32], %s, none, i8)\n"
                                      : " const %s: f32[2, 1] = [0.5, 0.25]\n"
                                        " %w = torchao.dequantize_affine(%e, [1, 64], %s, none, i8)\n") +
                              " %y = aten.linear(%x, %w)\n return %y\n}"));
    CompileOptions options;
    options.targets = *find_targets("xnnpack");
    const Result<CompileResult> result = compile(std::move(functions), options);
    ASSERT_TRUE(result.ok()) << render(result.diag());
    Names wanted;
    if (groups)
      wanted = {
          "the constants take 512 bytes, those of the model 144: quantized weights are stored as floats where no "
          "kernel multiplies their integers"};
    EXPECT_EQ(result->methods[0].notes, wanted);
  }
}

Result<CompileResult> compile_for(const char* targets, const std::string& text) {
  std::vector<Function> functions;
  functions.push_back(parse(text));
  CompileOptions options;
  options.targets = *find_targets(targets);
  return compile(std::move(functions), options);
}

// A table of bags by indices would take 64 MB, one of bags by indices by columns 1 GB.
TEST(Memory, BagsOfRowsTakeThatOfTheRows) {
  const uint64_t row_bytes = 8192 * 16 * sizeof(float);
  for (const char* targets : {"portable", "xnnpack"}) {
    for (const char* mode : {"0", "1", "2"}) {
      for (const char* padding : {"none", "3"}) {
        const auto result =
            compile_for(targets, std::string("graph f(%w: f32[50, 16], %i: i64[8192], %o: i64[2048]) {\n"
                                             " %y: f32[2048, 16], %a: i64[0], %b: i64[0], %c: i64[0] = "
                                             "aten.embedding_bag.padding_idx(%w, %i, %o, false, ") +
                                     mode + ", false, none, false, " + padding + ")\n return %y\n}");
        ASSERT_TRUE(result.ok()) << render(result.diag());
        EXPECT_LE(result->methods[0].arena_bytes, 8 * row_bytes) << targets << mode << padding;
      }
    }
  }
}

// A causal mask is made of positions while the program runs, block by block.
TEST(Memory, LargeCausalMasksAreNeitherStoredNorInTheArena) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const char* heads : {"1", "3"}) {
      const std::string type = std::string(dtype) + "[1, " + heads + ", 2500, 4]";
      const auto result = compile_for("xnnpack", "graph f(%q: " + type + ", %k: " + type + ", %v: " + type +
                                                     ") {\n %y = aten.scaled_dot_product_attention(%q, %k, %v, none, "
                                                     "0.0, true)\n return %y\n}");
      ASSERT_TRUE(result.ok()) << render(result.diag());
      EXPECT_LE(result->program.constant_bytes, uint64_t{64} << 10);
      EXPECT_EQ(result->methods[0].delegates, 1u);
      EXPECT_EQ(result->methods[0].kernels, 0u);
    }
  }
}

uint64_t hash_of(const std::string& text, uint8_t weight = 1) {
  Function f = parse(text);
  const auto bytes = std::make_shared<std::vector<uint8_t>>(100, weight);
  for (Value* constant : f.graph->constants()) constant->data = ConstantData({bytes->data(), bytes->size()}, bytes);
  ContentHash hash;
  add_to_hash(f, nullptr, hash);
  return hash.value();
}

TEST(ModelHash, IsOfNodesAndWeightsAndNotOfPlacesInTheSource) {
  const auto graph = [](const char* op, const char* place) {
    return std::string("graph f(%x: i8[100]) {\n const %w: i8[100] = ...\n %y = aten.") + op + "(%x, %w)" + place +
           "\n return %y\n}";
  };
  const uint64_t first = hash_of(graph("maximum", " @ \"a\" \"/home/a.py:1\""));
  EXPECT_EQ(hash_of(graph("maximum", " @ \"b\" \"/tmp/b.py:2\"")), first);
  EXPECT_NE(hash_of(graph("minimum", "")), first);
  EXPECT_NE(hash_of(graph("maximum", ""), 2), first);
}

TEST(Targets, XnnpackIsUsedWhereTheUserNamesNoBackend) {
  const auto& known = known_targets();
  const bool is_built = std::any_of(known.begin(), known.end(),
                                    [](const Target* target) { return std::string_view(target->name) == "xnnpack"; });
  EXPECT_EQ(default_targets(), is_built ? "xnnpack" : "");
}

TEST(Targets, FullDelegationIsABudget) {
  Function f = parse(kGelu), whole = parse("graph f(%x: f32[2]) { %a = aten.gelu(%x) return %a }");
  CompileOptions options = with_target();
  options.require_full_delegation = true;
  EXPECT_TRUE(optimize(whole, options).ok());
  const Status status = optimize(f, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(exit_code(status.diag().code), 6);
  ASSERT_EQ(status.diag().notes.size(), 1u);
  EXPECT_EQ(status.diag().notes[0], "aten.neg.default: not taken");
  options.targets.clear();
  EXPECT_EQ(optimize(whole, options).diag().code, Code::usage);
}

// Nodes with one reason are one note; the rest is counted.
TEST(Targets, FullDelegationNamesTenReasons) {
  const auto notes_of = [](size_t operators) {
    constexpr const char* kOps[] = {"neg",  "abs",  "sin",   "cos",  "exp", "sqrt",
                                    "tanh", "relu", "floor", "ceil", "erf", "log"};
    std::string text = "graph f(%x: f32[2], %y: f32[2]) {", results;
    for (size_t i = 0; i < operators; ++i) {
      for (const char* input : {"x", "y"}) {
        text += fmt::format(" %{0}{1} = aten.{2}(%{0})", input, i, kOps[i]);
        results += fmt::format("{}%{}{}", results.empty() ? " return " : ", ", input, i);
      }
    }
    Function f = parse(text + results + " }");
    CompileOptions options = with_target();
    options.require_full_delegation = true;
    const Status status = optimize(f, options);
    return status.ok() ? std::vector<std::string>() : status.diag().notes;
  };
  const std::vector<std::string> ten = notes_of(10), twelve = notes_of(12);
  ASSERT_EQ(ten.size(), 10u);
  EXPECT_EQ(ten[0], "aten.neg.default: not taken, and 1 more");
  ASSERT_EQ(twelve.size(), 11u);
  EXPECT_EQ(twelve[10], "4 more nodes for 2 other reasons; `wick explain` lists all");
}

TEST(Targets, PassesOfOtherPhasesAreNotATargets) {
  Target target = kTest;
  target.passes.names = {"canonicalize"};
  CompileOptions options;
  options.targets = {&target};
  Function f = parse(kGelu);
  const Status status = optimize(f, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diag().code, Code::internal);
}

TEST(Targets, AreFoundByName) {
  const auto portable = find_targets("portable");
  ASSERT_TRUE(portable.ok());
  EXPECT_TRUE(portable->empty());
  for (const Target* target : known_targets()) {
    const auto found = find_targets(std::string(target->name) + ",portable");
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().target, target);
  }
  const auto unknown = find_targets("portable,nothing");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.diag().code, Code::usage);
  EXPECT_NE(unknown.diag().wanted.find("portable"), std::string::npos);
}

}  // namespace
}  // namespace wick::compiler
