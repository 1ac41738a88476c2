// Compiles calls with degenerate operands: 0-d ones, ones with a dimension of size 0, complex ones, and complex number
// arguments, derived from the first case of each operator. The compiler must compile or refuse each call; it must not
// crash or report an internal error.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_ALL=1            every case of every family, not the first one of each operator
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "backends/compile_table.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/decompose.h"
#include "compiler/support/failure.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "tests/hostile/apart.h"

namespace wick::conformance::degenerate_operands_test {
namespace {

using compiler::Function;
using compiler::Result;
using compiler::Target;

constexpr long kMaxSeconds = 300;  // for one operator, also under sanitizers

// A changed call, and the change in words.
struct Variant {
  std::string change;
  Case call;
};

void resize(CaseTensor& tensor, std::vector<int32_t> sizes) {
  size_t bytes = dtype_size_bytes(tensor.value.dtype);
  for (const int32_t size : sizes) bytes *= static_cast<size_t>(size);
  tensor.value.bytes.resize(bytes);
  tensor.value.sizes = std::move(sizes);
  tensor.strides.assign(tensor.value.sizes.size(), 1);
  for (size_t d = tensor.strides.size(); d-- > 1;)
    tensor.strides[d - 1] = tensor.strides[d] * std::max(tensor.value.sizes[d], 1);
}

// The call with contiguous operands.
Case bare(const Case& test) {
  Case out = test;
  for (auto& [name, tensor] : out.tensors) resize(tensor, tensor.value.sizes);
  return out;
}

void make_empty(CaseTensor& tensor, int32_t size) {
  std::vector<int32_t> sizes = tensor.value.sizes;
  std::replace(sizes.begin(), sizes.end(), size, 0);
  resize(tensor, std::move(sizes));
}

// Adds calls with all operands changed together, so that their sizes still fit, and with each one changed alone.
void add_degenerate(const Case& test, std::vector<Variant>& out) {
  Case all = test;
  for (auto& [name, tensor] : all.tensors) resize(tensor, {});
  if (!test.tensors.empty()) out.push_back({"all 0-d", std::move(all)});
  std::set<int32_t> sizes;
  for (size_t i = 0; i < test.tensors.size(); ++i) {
    const auto& [name, tensor] = test.tensors[i];
    sizes.insert(tensor.value.sizes.begin(), tensor.value.sizes.end());
    if (tensor.value.sizes.empty()) continue;
    out.push_back({name + " 0-d", test});
    resize(out.back().call.tensors[i].second, {});
    for (size_t d = 0; d < tensor.value.sizes.size(); ++d) {
      out.push_back({fmt::format("{} empty in dimension {}", name, d), test});
      std::vector<int32_t> emptied = tensor.value.sizes;
      emptied[d] = 0;
      resize(out.back().call.tensors[i].second, std::move(emptied));
    }
  }
  for (const int32_t size : sizes) {
    out.push_back({fmt::format("sizes of {} are 0", size), test});
    for (auto& [name, tensor] : out.back().call.tensors) make_empty(tensor, size);
  }
}

// Adds calls with complex numbers for more and more of the number arguments, with complex and with real operands.
void add_complex(const compiler::OpDef& def, const Case& test, std::vector<Variant>& out) {
  Case complex = test;
  for (auto& [name, tensor] : complex.tensors) {
    if (!is_floating(tensor.value.dtype)) continue;
    tensor.value.dtype = DType::c64;
    resize(tensor, tensor.value.sizes);
    std::fill(tensor.value.bytes.begin(), tensor.value.bytes.end(), uint8_t{0});
  }
  std::vector<compiler::pt2::NamedArgument> inputs = test.inputs;
  for (const compiler::ArgSpec& spec : def.parsed->args) {
    if (spec.type != compiler::ArgType::scalar) continue;
    auto at = std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name == spec.name; });
    if (at == inputs.end()) {
      inputs.emplace_back();
      at = std::prev(inputs.end());
      at->name = spec.name;
      at->kind = compiler::pt2::ArgumentKind::keyword;
    }
    at->arg = compiler::pt2::ComplexArg{0.5, 1};
    out.push_back({"complex numbers up to " + spec.name, complex});
    out.back().call.inputs = inputs;
    out.push_back({"complex numbers up to " + spec.name + ", real operands", test});
    out.back().call.inputs = inputs;
  }
}

// Imports the call without recorded result types: shape functions infer them. Composites without a shape function are
// decomposed.
Result<Function> imported(const Case& test) {
  ASSIGN_OR_RETURN(Function function, import_case(test, Operands::untyped_results));
  RETURN_IF_ERROR(compiler::catch_failure([&] {
    for (compiler::Node* node : function.graph->node_list()) {
      if (!node->op->infer && node->op->decompose && !node->results().empty())
        compiler::decompose_untyped(*function.graph, node);
    }
  }));
  return function;
}

compiler::TargetRequest request_for(const Target& target) {
  compiler::TargetRequest request(&target);
  for (const compiler::TargetOption& option : target.options.list) {
    if (std::strcmp(option.name, "gpu") == 0) request.settings.emplace_back("gpu", "none");  // no machine code
  }
  return request;
}

// Computes ranges and verdicts for the imported nodes. The pipeline would replace most of these nodes first.
void ask_all_about(const compiler::Graph& graph) {
  const compiler::ValueRanges ranges(graph);
  for (const Target* target : compiler::known_targets()) {
    const compiler::TargetRequest request = request_for(*target);
    compiler::TargetContext context;
    context.ranges = &ranges;
    context.options.settings = &request.settings;
    context.graph = &graph;
    for (const auto& node : graph.nodes()) {
      if (target->partition.keep && !node->results().empty()) target->partition.keep(*node, context);
      compiler::ask(*target, *node, context);
    }
  }
}

struct Counts {
  size_t calls = 0, compiled = 0, refused = 0;
};

// The text of an internal error, or "". `target` null: portable kernels only.
std::string try_compile(const Case& test, const Target* target, Counts& counts) {
  Result<Function> function = imported(test);
  compiler::CompileOptions options;
  if (target) options.targets = {request_for(*target)};
  compiler::Status status = function.ok() ? compiler::Status() : compiler::Status(std::move(function.diag()));
  if (status.ok() && !target) ask_all_about(*function->graph);
  if (status.ok()) status = compiler::optimize(*function, options);
  if (status.ok()) {
    auto compiled = write_case(*function, options.profile);
    if (!compiled.ok()) status = compiler::Status(std::move(compiled.diag()));
  }
  ++counts.calls;
  ++(status.ok() ? counts.compiled : counts.refused);
  return status.ok() || status.diag().code != compiler::Code::internal ? "" : compiler::render(status.diag());
}

std::vector<Variant> variants_of(const compiler::OpDef& def, const Case& test) {
  std::vector<Variant> out;
  const Case plain = bare(test);
  add_degenerate(plain, out);
  add_complex(def, plain, out);
  return out;
}

struct Operator {
  const compiler::OpDef* def;
  const std::vector<Case>* cases;
};

// Compiles every variant of an operator's cases for every target. After a crash `progress` names the call; internal
// errors are printed.
void try_operator(const Operator& tried, testing::Progress& progress, Counts& counts) {
  std::vector<const Target*> targets = {nullptr};
  targets.insert(targets.end(), compiler::known_targets().begin(), compiler::known_targets().end());
  std::vector<std::string> failures;
  for (const Case& test : *tried.cases) {
    for (const Variant& variant : variants_of(*tried.def, test)) {
      for (const Target* target : targets) {
        progress.say(fmt::format("{} {}, {}, for {}", shapes(variant.call), test.arguments, variant.change,
                                 target ? target->name : "portable"));
        const std::string wrong = try_compile(variant.call, target, counts);
        if (!wrong.empty()) failures.push_back(fmt::format("{}{}: {}", tried.def->name(), progress.text, wrong));
      }
    }
  }
  for (const std::string& failure : failures) std::printf("%s\n", failure.c_str());
  std::fflush(stdout);
  if (!failures.empty()) _exit(1);
}

TEST(DegenerateOperands, CompileOrAreRefused) {
  const char* filter = std::getenv("WICK_CASES");  // NOLINT(concurrency-mt-unsafe)
  const bool all = std::getenv("WICK_CASES_ALL");  // NOLINT(concurrency-mt-unsafe)
  const auto cases = first_cases("tests/fixtures/cases", all ? 1000 : 1);
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::vector<Operator> operators;
  for (const auto& [op, list] : *cases) {
    const compiler::OpDef* def = compiler::find_op(op);
    if (def && (!filter || op.find(filter) != std::string::npos)) operators.push_back({def, &list});
  }
  compiler::known_targets();
  const testing::SharedWithChildren<Counts> counts;
  testing::run_apart(
      operators.size(), kMaxSeconds, [&](size_t i) { return std::string(operators[i].def->name()); },
      [&](size_t i, testing::Progress& progress) { try_operator(operators[i], progress, *counts); });
  std::printf("%zu operators, %zu calls: %zu compile, %zu are refused\n", operators.size(), counts->calls,
              counts->compiled, counts->refused);
  if (!filter) {
    EXPECT_GT(counts->compiled, counts->calls / 4);
  }
}

}  // namespace
}  // namespace wick::conformance::degenerate_operands_test
