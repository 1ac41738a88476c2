// Runs the operator cases with tensors in dim orders other than 0, 1, 2 .. Every kernel must honor the dim orders of
// its tensors or refuse them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>

#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "wick/portable_kernels.h"

namespace wick::conformance::dim_order_test {
namespace {

using compiler::Graph;
using compiler::Value;

// Channels last; for rank 2, column-major.
std::vector<uint8_t> other_order(size_t rank) {
  std::vector<uint8_t> order(rank);
  std::iota(order.begin(), order.end(), uint8_t{0});
  if (rank >= 2) std::rotate(order.begin() + (rank > 2 ? 1 : 0), order.begin() + (rank > 2 ? 2 : 1), order.end());
  return order;
}

void reorder(Value& value) {
  if (value.type.is_tensor() && value.rank() >= 2) value.type.tensor.dim_order = other_order(value.rank());
}

void reorder_inputs(Graph& graph) {
  for (const compiler::GraphInput& input : graph.inputs) {
    if (input.value) reorder(*input.value);
  }
}
void reorder_results(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (Value* result : node->results()) reorder(*result);
  }
}
void reorder_all(Graph& graph) {
  reorder_inputs(graph);
  reorder_results(graph);
}

struct Change {
  const char* name;
  void (*apply)(Graph& graph);
};
constexpr Change kChanges[] = {{"inputs", reorder_inputs}, {"results", reorder_results}, {"all", reorder_all}};

// "" if the case holds, "refused .." if a kernel refuses, else why it fails.
std::string run_case(const Case& test, const Change& change, IsaLevel isa) {
  const auto compiled = compile_case(test, {}, Operands::inputs, change.apply);
  if (!compiled.ok()) return "does not compile: " + compiler::render(compiled.diag());
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.max_isa = isa;
  ModuleError error;
  const auto module = Module::load({compiled->pte.data(), compiled->pte.size()}, options, &error);
  if (!module) return "does not load: " + error.message;
  std::vector<HostValue> inputs, outputs;
  for (const auto& [name, tensor] : test.tensors) inputs.emplace_back(tensor.value);
  if (!module->forward(inputs, &outputs, &error)) return "refused: " + error.message;
  return check_outputs(test, *compiled, outputs);
}

class DimOrders : public ::testing::TestWithParam<const char*> {};

TEST_P(DimOrders, AreHonouredOrRefused) {
  const char* filter = std::getenv("WICK_CASES");
  const auto cases = read_cases("tests/fixtures/cases", GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  size_t passed = 0, refused = 0, failed = 0;
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    if (test.error || is_expected_failure(test)) continue;
    // as_strided addresses the storage by strides, as in eager: with another dim order it reads other elements.
    if (test.op.starts_with("aten.as_strided")) continue;
    const compiler::OpDef* def = compiler::find_op(test.op);
    const bool pointwise = def && def->has(compiler::kPointwise) && def->kernel;
    for (const Change& change : kChanges) {
      for (const IsaLevel isa : {IsaLevel::baseline, IsaLevel::avx512}) {
        const std::string wrong = run_case(test, change, isa);
        // compiler/layout relies on it that pointwise kernels take any dim order that all their tensors share.
        const bool must_run = pointwise && change.apply == reorder_all;
        const bool is_refused = wrong.starts_with("refused") && !must_run;
        ++(wrong.empty() ? passed : is_refused ? refused : failed);
        if (wrong.empty() || (is_refused && !std::getenv("WICK_CASES_REFUSED"))) continue;
        std::printf("%s line %zu %s%s\n  %s\n  [%s] %s\n", test.family.c_str(), test.line, test.op.c_str(),
                    shapes(test).c_str(), test.arguments.c_str(), change.name, wrong.c_str());
      }
    }
  }
  std::printf("%-15s dim orders: %5zu pass %5zu refused %5zu fail\n", GetParam(), passed, refused, failed);
  EXPECT_EQ(failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Families, DimOrders, ::testing::ValuesIn(kFamilies),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

}  // namespace
}  // namespace wick::conformance::dim_order_test
