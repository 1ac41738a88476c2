// Tests that a program that compiles runs for every size that its ranges allow. In turn, each dimension of each operand
// of each operator becomes dynamic. One loaded program is called with sizes below, at and above the traced one, with 0
// and 1 where the operator takes them, and with smaller sizes after larger ones. The reference: portable kernels,
// compiled for the sizes of the call.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_PER_OPERATOR=n   how many cases of each operator; default 2
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "backends/xnnpack/compile/target.h"
#include "common/float16.h"
#include "compiler/passes/pipeline.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "tests/conformance/compare.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::conformance::dynamic_sizes_test {
namespace {

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr size_t kCasesPerOperator = 2;
constexpr int64_t kMaxSize = 64;  // largest traced size of a dimension that changes
constexpr size_t kMaxElements = 4096;
constexpr double kRounding = 1e-4;

// The XNNPACK target, which here takes pure data movement too.
const compiler::Target& target() {
  static const compiler::Target target = [] {
    compiler::Target out = xnnpack::kTarget;
    out.partition.profitable = nullptr;
    return out;
  }();
  return target;
}

// Options without the passes of phase optimize: they remove nodes whose results are empty, and then no kernel judges
// the call.
compiler::CompileOptions judge_options() {
  compiler::CompileOptions options;
  for (const compiler::Pass& pass : compiler::pass_table()) {
    if (pass.phase == compiler::Phase::optimize) options.skip_passes.emplace_back(pass.name);
  }
  return options;
}

compiler::CompileOptions options_of(bool delegates) {
  compiler::CompileOptions options;
  if (delegates) options.targets = {&target()};
  return options;
}

// Replaces the elements by moderate numbers with few digits, so that rounding matters little. Other tests use extreme
// numbers.
void calm(HostTensor& tensor) {
  constexpr float kSteps = 64, kMost = 1024;
  const size_t step = dtype_size_bytes(tensor.dtype);
  if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16) return;
  for (size_t i = 0; i < tensor.bytes.size() / step; ++i) {
    float value;
    uint16_t half;
    std::memcpy(&half, &tensor.bytes[i * step], sizeof half);
    if (step == sizeof value) std::memcpy(&value, &tensor.bytes[i * step], sizeof value);
    if (step == sizeof half) value = Half::to_float(half);
    const float rounded = std::round(value * kSteps) / kSteps;
    value = std::fabs(value) < kMost && rounded != 0 ? rounded : 0.25f * static_cast<float>(i % 7) + 0.125f;
    half = Half(value).bits;
    if (step == sizeof value) std::memcpy(&tensor.bytes[i * step], &value, sizeof value);
    if (step == sizeof half) std::memcpy(&tensor.bytes[i * step], &half, sizeof half);
  }
}

// Changes the size of dimension `dim`, repeating the tensor's elements along it.
void resize(CaseTensor& tensor, size_t dim, int64_t size) {
  HostTensor& value = tensor.value;
  size_t inner = dtype_size_bytes(value.dtype), outer = 1;
  for (size_t i = dim + 1; i < value.sizes.size(); ++i) inner *= static_cast<size_t>(value.sizes[i]);
  for (size_t i = 0; i < dim; ++i) outer *= static_cast<size_t>(value.sizes[i]);
  const auto old = static_cast<size_t>(value.sizes[dim]), fresh = static_cast<size_t>(size);
  std::vector<uint8_t> bytes(outer * fresh * inner);
  for (size_t row = 0; row < outer; ++row) {
    for (size_t i = 0; i < fresh; ++i)
      std::copy_n(&value.bytes[(row * old + i % old) * inner], inner,
                  bytes.begin() + static_cast<ptrdiff_t>((row * fresh + i) * inner));
  }
  value.bytes = std::move(bytes);
  value.sizes[dim] = static_cast<int32_t>(size);
  int64_t stride = 1;
  for (size_t i = value.sizes.size(); i-- > 0; stride *= value.sizes[i]) tensor.strides[i] = stride;
}

Case resized(const Case& test, const OneSize& at, int64_t size) {
  Case out = test;
  for (const auto& [tensor, dim] : at.places) resize(out.tensors[tensor].second, dim, size);
  return out;
}

// A loaded program, or why there is none.
struct Program {
  CompiledCase compiled;
  std::unique_ptr<Module> module;
  std::string error;
  bool is_refused = false;
};

Program load(const Case& test, const compiler::CompileOptions& options, Operands operands, const OneSize& size) {
  Program out;
  auto compiled = compile_case(test, options, operands, size);
  if (!compiled.ok()) {
    out.is_refused = compiled.diag().code == compiler::Code::unsupported_model;
    out.error = "does not compile: " + compiler::render(compiled.diag());
    return out;
  }
  out.compiled = std::move(*compiled);
  ModuleOptions module_options;
  module_options.kernels = {portable_kernels()};
  module_options.backends = {&xnnpack_backend()};
  module_options.max_isa = IsaLevel::avx512;
  ModuleError error;
  out.module = Module::load({out.compiled.pte.data(), out.compiled.pte.size()}, module_options, &error);
  if (!out.module || !out.module->method("forward", &error)) out.error = "does not load: " + error.message;
  return out;
}

std::vector<HostValue> inputs_of(const Case& test, Operands operands) {
  std::vector<HostValue> inputs;
  for (const auto& [name, tensor] : test.tensors) {
    if (operands != Operands::first_input || inputs.empty()) inputs.emplace_back(tensor.value);
  }
  return inputs;
}

struct Call {
  int64_t size;
  std::vector<HostValue> inputs, wanted;
};

// Whether all tensors have one element and one is a 16-bit float. Eager rounds these differently from larger tensors; a
// program with dynamic sizes does not.
bool is_single_half(const Case& test) {
  const auto is_one = [](const auto& tensor) {
    const HostTensor& value = tensor.second.value;
    return value.bytes.size() == dtype_size_bytes(value.dtype);
  };
  const auto is_half = [](const auto& tensor) {
    return tensor.second.value.dtype == DType::f16 || tensor.second.value.dtype == DType::bf16;
  };
  return std::any_of(test.tensors.begin(), test.tensors.end(), is_half) &&
         std::all_of(test.tensors.begin(), test.tensors.end(), is_one);
}

// The call at this size with the expected results; nothing if the operator does not take the size.
std::optional<Call> call_at(const Case& test, const OneSize& at, Operands operands, int64_t size) {
  const Case now = resized(test, at, size);
  if (is_single_half(now)) return std::nullopt;
  Program program = load(now, judge_options(), operands, {});
  if (!program.error.empty()) return std::nullopt;
  Call call{size, inputs_of(now, operands), {}};
  ModuleError error;
  if (!program.module->forward(call.inputs, &call.wanted, &error)) return std::nullopt;
  return call;
}

size_t rank_of(const Call& call) {
  size_t sum = 0;
  for (const HostValue& value : call.wanted) sum += value.tag == Tag::tensor ? value.tensor.sizes.size() : 0;
  return sum;
}

// Calls at those of these sizes that the operator takes and that give results of one rank: the traced size, its
// neighbors, twice the traced size plus 1, and 1 and 0, these two only if all sizes tried in between are taken. In the
// order in which they run. Empty unless the operator takes the traced size and the next larger one.
std::vector<Call> calls_of(const Case& test, const OneSize& at, Operands operands, int64_t traced) {
  std::map<int64_t, Call> known;
  const auto takes = [&](int64_t size) {
    if (known.count(size)) return true;
    auto call = call_at(test, at, operands, size);
    if (!call || (!known.empty() && rank_of(*call) != rank_of(known.begin()->second))) return false;
    known.emplace(size, std::move(*call));
    return true;
  };
  if (!takes(traced) || !takes(traced + 1)) return {};
  takes(2 * traced + 1);
  (void)(takes(traced - 1) && takes(1) && takes(0));
  std::vector<Call> calls;
  for (const int64_t size :
       {traced, int64_t{1}, traced + 1, traced - 1, int64_t{0}, 2 * traced + 1, int64_t{0}, traced, int64_t{1}}) {
    if (known.count(size)) calls.push_back(known.at(size));
  }
  return calls;
}

struct Tally {
  size_t programs = 0, delegated = 0, calls = 0, refused = 0, failed = 0;
};

// Whether a node of a delegate has a note: NaN and infinities may then differ from eager's.
bool is_noted(const compiler::PartitionReport& report) {
  return std::any_of(report.nodes.begin(), report.nodes.end(),
                     [](const compiler::NodePlace& place) { return !place.backend.empty() && !place.reason.empty(); });
}

// "" if the outputs agree within the operator's tolerance or within loose * (1 + |wanted|); else what differs.
std::string compare(const Case& test, bool noted, std::vector<HostValue> got, const std::vector<HostValue>& wanted,
                    double loose = 0) {
  if (got.size() != wanted.size()) return "a different number of outputs";
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].tag != Tag::tensor) continue;
    const HostTensor& want = wanted[i].tensor;
    Tolerance tolerance = tolerance_for(test, want);
    tolerance.absolute = std::max(tolerance.absolute, loose);
    tolerance.relative = std::max(tolerance.relative, loose);
    if (noted && shape_difference(got[i].tensor, want).empty()) overlook_infinite(got[i].tensor, want);
    std::string wrong = difference(got[i].tensor, want, tolerance);
    if (!wrong.empty()) return fmt::format("output {}: {}", i, wrong);
  }
  return "";
}

// Whether a difference is only the library's rounding: the outputs are close to the wanted ones, and equal to those of
// a program with delegates that is compiled for this size alone.
bool is_rounding(const Case& test, const OneSize& at, Operands operands, const Call& call,
                 const std::vector<HostValue>& outputs) {
  if (!compare(test, true, outputs, call.wanted, kRounding).empty()) return false;
  const Program fixed = load(resized(test, at, call.size), options_of(true), operands, {});
  std::vector<HostValue> wanted;
  ModuleError error;
  return fixed.error.empty() && fixed.module->forward(call.inputs, &wanted, &error) &&
         compare(test, true, outputs, wanted).empty();
}

bool is_all_empty(const std::vector<HostValue>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const HostValue& value) { return value.tag == Tag::tensor && value.tensor.bytes.empty(); });
}

// "" if the program gives the right results in all calls, else the first difference. At sizes at which all results are
// empty, the portable kernel decides whether the operator takes them: `refused` collects the sizes that it refuses, and
// there the program with delegates may fail, too.
std::string run(const Case& test, OneSize at, Operands operands, bool delegates, const std::vector<Call>& calls,
                std::set<int64_t>& refused, Tally& tally) {
  const auto by_size = [](const Call& a, const Call& b) { return a.size < b.size; };
  at.min = std::min_element(calls.begin(), calls.end(), by_size)->size;
  at.max = std::max_element(calls.begin(), calls.end(), by_size)->size;
  const Program program = load(test, options_of(delegates), operands, at);
  if (program.is_refused) return ++tally.refused, "";
  if (!program.error.empty()) return program.error;
  if (delegates && program.compiled.partition.num_delegates == 0) return "";
  ++tally.programs;
  tally.delegated += delegates;
  const bool noted = is_noted(program.compiled.partition);
  std::string before;
  for (const Call& call : calls) {
    ++tally.calls;
    std::vector<HostValue> outputs;
    ModuleError error;
    const bool runs = program.module->forward(call.inputs, &outputs, &error);
    if (!runs && !delegates && is_all_empty(call.wanted)) refused.insert(call.size);
    if (!runs && refused.count(call.size)) continue;
    std::string wrong = runs ? compare(test, noted, outputs, call.wanted) : "does not run: " + error.message;
    if (runs && !wrong.empty() && delegates && is_rounding(test, at, operands, call, outputs)) wrong = "";
    if (!wrong.empty()) return fmt::format("at {}{}: {}", call.size, before, wrong);
    before = fmt::format(" behind {}", call.size);
  }
  return "";
}

// The sets of dimensions that become dynamic together: each dimension alone, and all dimensions of equal size.
std::vector<OneSize> groups_of(const Case& test, Operands operands) {
  std::set<std::vector<std::pair<size_t, size_t>>> groups;
  std::map<int32_t, std::vector<std::pair<size_t, size_t>>> equal;
  const size_t count = operands == Operands::first_input ? 1 : test.tensors.size();
  for (size_t i = 0; i < count; ++i) {
    const std::vector<int32_t>& sizes = test.tensors[i].second.value.sizes;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      if (sizes[dim] < 2 || sizes[dim] > kMaxSize) continue;
      groups.insert({{i, dim}});
      equal[sizes[dim]].push_back({i, dim});
    }
  }
  for (const auto& [size, places] : equal) groups.insert(places);
  std::vector<OneSize> out;
  for (const auto& places : groups) out.push_back({places});
  return out;
}

bool is_plain(const Case& test) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  if (!def || !def->infer || def->has(compiler::kDataDependent) || test.shape_only || !test.mutated.empty() ||
      !is_small_function(test, kMaxElements))
    return false;
  for (const auto& [name, tensor] : test.tensors) {
    int64_t stride = 1;
    size_t count = 1;
    for (size_t i = tensor.value.sizes.size(); i-- > 0; stride *= tensor.value.sizes[i]) {
      if (tensor.value.sizes[i] != 1 && tensor.strides[i] != stride) return false;
      count *= static_cast<size_t>(tensor.value.sizes[i]);
    }
    if (count == 0 || count > kMaxElements) return false;
  }
  return !test.tensors.empty();
}

void check(Case test, Tally& tally) {
  for (auto& [name, tensor] : test.tensors) calm(tensor.value);
  for (const Operands operands : {Operands::inputs, Operands::first_input}) {
    if (operands == Operands::first_input && test.tensors.size() < 2) continue;
    for (const OneSize& at : groups_of(test, operands)) {
      const int64_t traced = test.tensors[at.places[0].first].second.value.sizes[at.places[0].second];
      const std::vector<Call> calls = calls_of(test, at, operands, traced);
      if (calls.empty()) continue;
      std::set<int64_t> refused;
      for (const bool delegates : {false, true}) {
        if (delegates && !has_xnnpack_library()) continue;
        const std::string wrong = run(test, at, operands, delegates, calls, refused, tally);
        if (wrong.empty()) continue;
        ++tally.failed;
        std::printf("FAIL %s line %zu %s%s\n  %s\n  [%s%s, tensor %zu dim %zu of %zu places] %s\n", test.family.c_str(),
                    test.line, test.op.c_str(), shapes(test).c_str(), test.arguments.c_str(),
                    delegates ? "xnnpack" : "portable", operands == Operands::first_input ? ", weights" : "",
                    at.places[0].first, at.places[0].second, at.places.size(), wrong.c_str());
      }
    }
  }
}

class DynamicSizes : public ::testing::TestWithParam<const char*> {};

TEST_P(DynamicSizes, WhatCompilesRunsInAllSizes) {
  const char* filter = std::getenv("WICK_CASES");
  const char* most = std::getenv("WICK_CASES_PER_OPERATOR");
  const size_t per_operator = most ? static_cast<size_t>(std::strtoul(most, nullptr, 10)) : kCasesPerOperator;
  auto cases = read_cases(kFolder, GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  Tally tally;
  std::map<std::string, size_t> seen;
  for (const Case& test : *cases) {
    if ((filter && test.op.find(filter) == std::string::npos) || !is_plain(test)) continue;
    if (++seen[test.op] > per_operator) continue;
    check(test, tally);
  }
  std::printf("%-15s %5zu programs, %5zu with delegates, %6zu calls, %5zu refused, %5zu fail\n", GetParam(),
              tally.programs, tally.delegated, tally.calls, tally.refused, tally.failed);
  EXPECT_EQ(tally.failed, 0u);
}

// All families but the last one, dtypes.
INSTANTIATE_TEST_SUITE_P(Families, DynamicSizes, ::testing::ValuesIn(std::begin(kFamilies), std::end(kFamilies) - 1),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

}  // namespace
}  // namespace wick::conformance::dynamic_sizes_test
