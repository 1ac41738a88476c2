// Tests that a decomposition does not read the types of its own results. They are not set yet while a graph is read or
// when one decomposition calls another. So it must give the same graph for results with and without types.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "compiler/ir/decompose.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"
#include "tests/conformance/case_program.h"

namespace wick::conformance {
namespace {

using compiler::Graph;

bool is_composite(const Case& test) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  if (!def || !def->decompose || def->infer || test.error) return false;
  return !test.expect.empty() && test.expect.size() == def->parsed->returns.size();
}

compiler::Node* composite_of(Graph& graph, const std::string& op) {
  for (compiler::Node* node : graph.node_list()) {
    if (node->op->name() == op) return node;
  }
  return nullptr;
}

// The text of the decomposed graph, or the error of the decomposition. Nothing if the importer refuses the call.
std::optional<std::string> decomposed(const Case& test, bool typed) {
  auto function = import_case(test, Operands::inputs);
  if (!function.ok()) return std::nullopt;
  Graph& graph = *function->graph;
  compiler::Node* node = composite_of(graph, test.op);
  if (!node) return std::nullopt;
  if (!typed) {
    for (compiler::Value* result : node->results()) result->type = compiler::Type();
  }
  const compiler::Status status = compiler::catch_failure([&] {
    if (typed)
      compiler::decompose_node(graph, node, nullptr);
    else
      compiler::decompose_untyped(graph, node);
  });
  return status.ok() ? compiler::to_text(graph, "f", {.origins = false}) : compiler::render(status.diag());
}

TEST(UntypedResults, GiveTheGraphThatTypedOnesGive) {
  size_t calls = 0;
  for (const char* family : kFamilies) {
    const auto cases = read_cases("tests/fixtures/cases", family);
    ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
    for (const Case& test : *cases) {
      if (!is_composite(test)) continue;
      const auto typed = decomposed(test, true);
      if (!typed) continue;
      ++calls;
      EXPECT_EQ(decomposed(test, false), typed) << test.op << test.arguments;
    }
  }
  std::printf("%zu calls\n", calls);
  if (!is_part_wanted()) EXPECT_GT(calls, 1000u);
}

}  // namespace
}  // namespace wick::conformance
