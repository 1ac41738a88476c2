// Tests the value ranges that the analysis states for every operator. The cases of each operator run on finite elements
// of ordinary size, with their number arguments as they are and at their edges. The results must lie in the ranges.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "backends/xnnpack/compile/target.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/passes/pipeline.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/case_values.h"
#include "tests/conformance/check_case.h"
#include "wick/portable_kernels.h"

namespace wick::conformance::ranges_test {
namespace {

using compiler::ValueRange;

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr size_t kMaxElements = 8192;  // elements of an operand
constexpr double kNumbers[] = {0.0, 1.0, -1.0, 0.5, -2.0, -0.0, 20.0, -0.25, 3.5, -20.0, 0.001, 2.0};
constexpr size_t kNumNumbers = std::size(kNumbers), kShifts[] = {0, 5, 7};

// Operators whose range rules assume what models guarantee but this test does not: a variance is not negative.
constexpr std::string_view kVariances[] = {
    "aten._batch_norm_no_update.default", "aten._native_batch_norm_legit_no_training.default",
    "aten.batch_norm.default", "aten.instance_norm.default", "aten.native_batch_norm.default"};

bool is_wide(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

HostTensor ordinary(const HostTensor& like, size_t first) {
  compiler::CaseTensor tensor;
  tensor.dtype = like.dtype;
  tensor.sizes.assign(like.sizes.begin(), like.sizes.end());
  tensor.fill.kind = compiler::CaseFill::Kind::values;
  for (size_t i = 0; i < kNumNumbers; ++i) tensor.fill.values.push_back(kNumbers[(first + i) % kNumNumbers]);
  return filled(tensor);
}

double element(const HostTensor& tensor, size_t at) {
  double wide = 0;
  float narrow = 0;
  if (tensor.dtype == DType::f64) std::memcpy(&wide, tensor.bytes.data() + at, sizeof wide);
  if (tensor.dtype == DType::f32) std::memcpy(&narrow, tensor.bytes.data() + at, sizeof narrow);
  return tensor.dtype == DType::f64 ? wide : static_cast<double>(narrow);
}

// "" if all elements lie in the range; else the first one that does not, and the range.
std::string outside(const HostTensor& tensor, const ValueRange& range) {
  const size_t size = dtype_size_bytes(tensor.dtype);
  for (size_t at = 0; at < tensor.bytes.size(); at += size) {
    const double x = element(tensor, at);
    const double slack = 1e-5 * (1 + std::abs(x));
    if (std::isnan(x)   ? range.nan
        : std::isinf(x) ? (x > 0 ? range.above : range.below)
                        : range.min - slack <= x && x <= range.max + slack)
      continue;
    return fmt::format("{} is not in {} .. {}{}{}{}", x, range.min, range.max, range.above ? " +inf" : "",
                       range.below ? " -inf" : "", range.nan ? " NaN" : "");
  }
  return "";
}

bool counts(const Case& test) {
  return is_small_function(test, kMaxElements) &&
         std::any_of(test.tensors.begin(), test.tensors.end(),
                     [](const auto& tensor) { return is_wide(tensor.second.value.dtype); });
}

// The case as backends see it: composites that a backend keeps are not decomposed.
struct Prepared {
  compiler::Function function;
  std::vector<ValueRange> ranges;  // one for each output
};

std::optional<Prepared> prepared(const Case& test) {
  auto function = import_case(test, Operands::inputs);
  if (!function.ok()) return std::nullopt;
  Prepared out{std::move(*function), {}};
  compiler::PipelineOptions options;
  options.keep = [](const compiler::Node& node) { return xnnpack::kTarget.partition.keep(node, {}).taken; };
  if (!compiler::run_pipeline(*out.function.graph, options).ok()) return std::nullopt;
  const compiler::ValueRanges ranges(*out.function.graph);
  for (const compiler::GraphOutput& output : out.function.graph->outputs)
    out.ranges.push_back(output.value ? ranges.of(output.value) : ValueRange());
  return out;
}

// Runs the case on several sets of ordinary numbers. "" if all results lie in their ranges, else the first that does
// not.
std::string check(const Case& test) {
  const auto known = prepared(test);
  const auto compiled = compile_case(test, compiler::Profile::automatic, Operands::inputs);
  if (!known || !compiled.ok()) return "";
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  ModuleError error;
  const auto module = Module::load({compiled->pte.data(), compiled->pte.size()}, options, &error);
  if (!module) return "";
  for (const size_t shift : kShifts) {
    std::vector<HostValue> inputs, outputs;
    for (const auto& [name, tensor] : test.tensors)
      inputs.emplace_back(is_wide(tensor.value.dtype) ? ordinary(tensor.value, shift + inputs.size()) : tensor.value);
    if (!module->forward(inputs, &outputs, &error) || outputs.size() != known->ranges.size()) continue;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].tag != Tag::tensor || !is_wide(outputs[i].tensor.dtype)) continue;
      const std::string found = outside(outputs[i].tensor, known->ranges[i]);
      if (!found.empty()) return found;
    }
  }
  return "";
}

TEST(ValueRanges, HoldWhatKernelsMakeOfOrdinaryNumbers) {
  std::map<std::string, std::string> wrong;  // the first failure of each operator
  for (const char* family : kFamilies) {
    if (std::string_view(family) == "dtypes") continue;
    const auto cases = read_cases(kFolder, family);
    ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
    for (const Case& test : *cases) {
      if (!counts(test) || wrong.count(test.op) != 0) continue;
      const std::string found = check(test);
      if (!found.empty()) wrong[test.op] = fmt::format("{} line {}{}: {}", family, test.line, shapes(test), found);
    }
  }
  for (const std::string_view op : kVariances)
    EXPECT_EQ(wrong.erase(std::string(op)), 1u) << op << " need not be among the exceptions";
  for (const auto& [op, found] : wrong) ADD_FAILURE() << op << ": " << found;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Copies of the case, in each of which one number argument (Scalar or float) has an edge value.
std::vector<std::pair<std::string, Case>> at_edges(const Case& test) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  std::vector<std::pair<std::string, Case>> out;
  if (!def) return out;
  for (const compiler::ArgSpec& spec : def->parsed->args) {
    if (spec.type != compiler::ArgType::scalar && spec.type != compiler::ArgType::real) continue;
    for (const double edge : {0.0, -0.0, 1.0, -1.0, -2.5, kInfinity, -kInfinity, kNan}) {
      Case changed = test;
      const auto given = std::find_if(changed.inputs.begin(), changed.inputs.end(),
                                      [&](const auto& input) { return input.name == spec.name; });
      if (given == changed.inputs.end()) {
        changed.inputs.push_back({spec.name, {}});
        changed.inputs.back().arg.emplace<double>(edge);
      } else {
        given->arg.emplace<double>(edge);
      }
      out.emplace_back(fmt::format("{}={}", spec.name, edge), std::move(changed));
    }
  }
  return out;
}

// Whether the operator takes the root of variance + epsilon. A model keeps that sum positive; an
// epsilon at its edges does not.
bool takes_root_of_variance(std::string_view op) {
  return op.find("batch_norm") != std::string_view::npos || op == "aten.instance_norm.default" ||
         op == "aten._transformer_encoder_layer_fwd.default";
}

// An argument that is infinite, NaN or a zero divisor can give results that are not finite for finite elements.
TEST(ValueRanges, HoldWhatKernelsMakeOfNumbersAtTheirEdges) {
  constexpr size_t kCases = 3;  // for each operator
  std::map<std::string, size_t> cases_of;
  size_t calls = 0;
  for (const char* family : kFamilies) {
    if (std::string_view(family) == "dtypes") continue;
    const auto cases = read_cases(kFolder, family);
    ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
    for (const Case& test : *cases) {
      if (!counts(test) || test.error || takes_root_of_variance(test.op) || cases_of[test.op]++ >= kCases) continue;
      for (const auto& [what, changed] : at_edges(test)) {
        const std::string found = check(changed);
        ++calls;
        if (!found.empty()) ADD_FAILURE() << test.op << " with " << what << shapes(test) << ": " << found;
      }
    }
  }
  EXPECT_GE(calls, 2000u);
}

}  // namespace
}  // namespace wick::conformance::ranges_test
