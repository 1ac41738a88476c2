// Runs every operator case of which the XNNPACK backend takes a part and compares with eager PyTorch.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_VERBOSE=1        every failure, not the first few of each operator
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "backends/xnnpack/compile/target.h"
#include "compiler/ir/builder.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/failure.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/exceptions.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::conformance::xnnpack_test {
namespace {

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr size_t kShownPerOperator = 3;

struct Setting {
  const char* name;
  Operands operands;
  bool strict_nan;
};
constexpr Setting kSettings[] = {
    {"inputs", Operands::inputs, false},
    {"weights", Operands::first_input, false},
    {"symbolic sizes", Operands::dynamic_inputs, false},
    {"inputs, strict", Operands::inputs, true},
    {"weights, strict", Operands::first_input, true},
};

// The XNNPACK target, which here takes pure data movement too.
const compiler::Target& target() {
  static const compiler::Target target = [] {
    compiler::Target out = xnnpack::kTarget;
    out.partition.profitable = nullptr;
    return out;
  }();
  return target;
}

compiler::CompileOptions options_of(const Setting& setting) {
  compiler::CompileOptions options;
  options.targets = {&target()};
  options.strict_nan = setting.strict_nan;
  return options;
}

// Whether a node of a delegate has a note: NaN and infinities may then differ from eager's.
bool is_noted(const compiler::PartitionReport& report) {
  for (const compiler::NodePlace& place : report.nodes) {
    if (!place.backend.empty() && !place.reason.empty()) return true;
  }
  return false;
}

struct Tally {
  size_t delegated = 0, failed = 0;
};

// The outputs of a run, or why there are none.
struct Outcome {
  std::vector<HostValue> outputs;
  std::string error;
};

Outcome run_program(const CompiledCase& compiled, const std::vector<HostValue>& inputs) {
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&xnnpack_backend()};
  options.max_isa = IsaLevel::avx512;
  Outcome outcome;
  ModuleError error;
  const auto module = Module::load({compiled.pte.data(), compiled.pte.size()}, options, &error);
  if (!module || !module->method("forward", &error)) {
    outcome.error = "does not load: " + error.message;
  } else if (!module->forward(inputs, &outcome.outputs, &error)) {
    outcome.error = "does not run: " + error.message;
  }
  return outcome;
}

std::vector<HostValue> inputs_of(const Case& test, const Setting& setting) {
  std::vector<HostValue> inputs;
  for (const auto& [name, tensor] : test.tensors) {
    if (setting.operands != Operands::first_input || inputs.empty()) inputs.emplace_back(tensor.value);
  }
  return inputs;
}

// Sets the bits of an f32 or f16 element; does nothing for other dtypes.
void set_element(HostTensor& tensor, size_t index, uint32_t f32, uint16_t f16) {
  if (tensor.dtype == DType::f32) std::memcpy(&tensor.bytes[index * 4], &f32, sizeof f32);
  if (tensor.dtype == DType::f16) std::memcpy(&tensor.bytes[index * 2], &f16, sizeof f16);
}

// Replaces subnormal f32 elements by 0, as the library does.
void flush(HostTensor& tensor) {
  for (size_t i = 0; tensor.dtype == DType::f32 && i < tensor.bytes.size() / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, &tensor.bytes[i * sizeof value], sizeof value);
    if (std::fabs(value) < 0x1p-126f) set_element(tensor, i, 0, 0);
  }
}

bool has_tiny_weights(const Case& test, const Setting& setting) {
  if (setting.operands != Operands::first_input) return false;
  for (size_t i = 1; i < test.tensors.size(); ++i) {
    HostTensor flushed = test.tensors[i].second.value;
    flush(flushed);
    if (flushed.bytes != test.tensors[i].second.value.bytes) return true;
  }
  return false;
}

// Puts NaN and, if there is room, both infinities into every float input. False if there is no float input.
bool poison(std::vector<HostValue>& inputs) {
  bool any = false;
  for (HostValue& input : inputs) {
    const size_t step = dtype_size_bytes(input.tensor.dtype), count = input.tensor.bytes.size() / step;
    if ((input.tensor.dtype != DType::f32 && input.tensor.dtype != DType::f16) || count < 1) continue;
    flush(input.tensor);
    set_element(input.tensor, count / 2, 0x7fc00000, 0x7e00);
    if (count > 8) set_element(input.tensor, count - 1, 0x7f800000, 0x7c00);
    if (count > 16) set_element(input.tensor, 0, 0xff800000, 0xfc00);
    any = true;
  }
  return any;
}

// Runs the case with NaN and infinities among its inputs and compares with portable kernels.
std::string run_poisoned(const Case& test, const Setting& setting, const CompiledCase& compiled) {
  std::vector<HostValue> inputs = inputs_of(test, setting);
  if (!poison(inputs) || has_tiny_weights(test, setting)) return "";
  const auto portable = compile_case(test, compiler::Profile::automatic, setting.operands);
  if (!portable.ok()) return "";
  const Outcome want = run_program(*portable, inputs), got = run_program(compiled, inputs);
  if (!want.error.empty()) return "";
  if (!got.error.empty()) return "with NaN and infinities " + got.error;
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    if (want.outputs[i].tag != Tag::tensor) continue;
    const HostTensor& wanted = want.outputs[i].tensor;
    const std::string wrong = difference(got.outputs[i].tensor, wanted, tolerance_for(test, wanted));
    if (!wrong.empty()) return "with NaN and infinities output " + wrong;
  }
  return "";
}

std::string check(const Case& test, const CompiledCase& compiled, std::vector<HostValue> outputs) {
  const bool noted = is_noted(compiled.partition);
  for (HostValue& output : outputs) {
    if (output.tag != Tag::tensor) continue;
    for (const auto& [name, after] : test.mutated) overlook_extremes(test, noted, output.tensor, after.value);
    for (const Expected& expected : test.expect) {
      if (expected.kind == Expected::Kind::tensor)
        overlook_extremes(test, noted, output.tensor, expected.tensors[0].value);
    }
  }
  double absolute = 0;
  for (const IllConditioned& known : kXnnpackRoundings) {
    if (known.family == test.family && known.line == test.line && known.op == test.op) absolute = known.absolute;
  }
  return check_outputs(test, compiled, outputs, noted ? Elements::finite : Elements::all, absolute);
}

// A pass: replaces each float output r by 1 / r, which shows the signs of zeros.
compiler::Result<compiler::Changed> invert_results(compiler::Graph& graph) {
  RETURN_IF_ERROR(compiler::catch_failure([&] {
    compiler::Builder b(graph, nullptr);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      compiler::Value* value = graph.outputs[i].value;
      if (value && value->producer && value->type.is_tensor() && is_floating(value->dtype()))
        graph.set_output(i, b.call("aten.reciprocal", {value}));
    }
  }));
  return compiler::Changed::yes;
}

// Puts zeros of both signs among the elements of every float input. False if there is no float input.
bool put_zeros(std::vector<HostValue>& inputs) {
  bool any = false;
  for (HostValue& input : inputs) {
    if (input.tensor.dtype != DType::f32 && input.tensor.dtype != DType::f16) continue;
    flush(input.tensor);
    const size_t count = input.tensor.bytes.size() / dtype_size_bytes(input.tensor.dtype);
    for (size_t i = 0; i < count; i += 2)
      set_element(input.tensor, i, i % 4 == 0 ? 0x80000000 : 0, i % 4 == 0 ? 0x8000 : 0);
    any |= count > 0;
  }
  return any;
}

bool is_infinite(const HostTensor& tensor, size_t at, bool* negative) {
  if (tensor.dtype == DType::f16) {
    uint16_t bits;
    std::memcpy(&bits, &tensor.bytes[at * sizeof bits], sizeof bits);
    *negative = bits >> 15 != 0;
    return (bits & 0x7fff) == 0x7c00;
  }
  float value;
  std::memcpy(&value, &tensor.bytes[at * sizeof value], sizeof value);
  *negative = value < 0;
  return std::isinf(value);
}

// Runs the case with zeros of both signs among its inputs and inverted outputs, and compares with portable kernels. ""
// if every zero among the outputs has the right sign.
std::string run_zeros(const Case& test, const Setting& setting) {
  std::vector<HostValue> inputs = inputs_of(test, setting);
  if (!put_zeros(inputs) || !test.mutated.empty() || has_tiny_weights(test, setting)) return "";
  compiler::CompileOptions options = options_of(setting), portable_options;
  const compiler::ExtraPass pass{"invert_results", invert_results, compiler::Phase::prepare};
  options.extra_passes.push_back(pass);
  portable_options.extra_passes.push_back(pass);
  const auto compiled = compile_case(test, options, setting.operands),
             portable = compile_case(test, portable_options, setting.operands);
  if (!compiled.ok() || !portable.ok() || compiled->partition.num_delegates == 0) return "";
  const Outcome want = run_program(*portable, inputs), got = run_program(*compiled, inputs);
  if (!want.error.empty()) return "";
  if (!got.error.empty()) return "with zeros " + got.error;
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    const HostTensor &a = got.outputs[i].tensor, &b = want.outputs[i].tensor;
    if (b.dtype != DType::f32 && b.dtype != DType::f16) continue;
    for (size_t at = 0; at < b.bytes.size() / dtype_size_bytes(b.dtype); ++at) {
      bool below = false, wanted_below = false;
      if (is_infinite(a, at, &below) && is_infinite(b, at, &wanted_below) && below != wanted_below)
        return fmt::format("with zeros, element {} of output {} is a zero of the other sign", at, i);
    }
  }
  return "";
}

bool has_half(const Case& test) {
  const auto is_half = [](const CaseTensor& tensor) { return tensor.value.dtype == DType::f16; };
  for (const auto& [name, tensor] : test.tensors) {
    if (is_half(tensor)) return true;
  }
  for (const Expected& expected : test.expect) {
    if (std::any_of(expected.tensors.begin(), expected.tensors.end(), is_half)) return true;
  }
  return false;
}

// "" if the case holds, also if the backend takes no part of it.
std::string run_case(const Case& test, const Setting& setting, Tally& tally) {
  auto compiled = compile_case(test, options_of(setting), setting.operands);
  if (!compiled.ok()) {
    if (test.error && compiled.diag().code != compiler::Code::internal) return "";
    const bool symbolic = setting.operands == Operands::dynamic_inputs;
    if (symbolic && compiled.diag().code == compiler::Code::unsupported_model) return "";
    return "does not compile: " + compiler::render(compiled.diag());
  }
  if (compiled->partition.num_delegates == 0) return "";
  if (has_half(test) && !xnnpack_has_all_kernels()) return "";
  ++tally.delegated;
  const Outcome outcome = run_program(*compiled, inputs_of(test, setting));
  if (!outcome.error.empty()) return test.error ? "" : outcome.error;
  if (test.error) return "runs, but eager says: " + *test.error;
  std::string wrong = check(test, *compiled, outcome.outputs);
  if (wrong.empty() && !setting.strict_nan) wrong = run_zeros(test, setting);
  return wrong.empty() && setting.strict_nan ? run_poisoned(test, setting, *compiled) : wrong;
}

// Whether the case can run in this setting.
bool fits(const Case& test, const Setting& setting) {
  // A mix with an f64 result is left out: steps in f32 do not give it enough digits.
  const bool is_f64 = !test.expect.empty() && test.expect[0].kind == Expected::Kind::tensor &&
                      test.expect[0].tensors[0].value.dtype == DType::f64;
  if (test.family == "mixes" && is_f64) return false;
  const compiler::OpDef* def = compiler::find_op(test.op);
  // The size of a data-dependent result comes from the exported file, so it cannot be symbolic here.
  if (setting.operands == Operands::dynamic_inputs) return def && !def->has(compiler::kDataDependent);
  if (setting.operands == Operands::inputs) return true;
  return test.tensors.size() > 1 && test.mutated.empty();
}

class XnnpackCases : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  }
};

TEST_P(XnnpackCases, GiveWhatEagerGives) {
  const char* filter = std::getenv("WICK_CASES");
  const bool verbose = std::getenv("WICK_CASES_VERBOSE") != nullptr;
  auto cases = read_cases(kFolder, GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  Tally total;
  std::map<std::string, size_t> failures;
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    for (const Setting& setting : kSettings) {
      if (!fits(test, setting)) continue;
      const std::string wrong = run_case(test, setting, total);
      if (wrong.empty() || mix_exception(test, wrong)) continue;
      ++total.failed;
      if (!verbose && ++failures[test.op] > kShownPerOperator) break;
      std::printf("FAIL %s line %zu %s%s\n  %s\n  [%s] %s\n", test.family.c_str(), test.line, test.op.c_str(),
                  shapes(test).c_str(), test.arguments.c_str(), setting.name, wrong.c_str());
      break;
    }
  }
  std::printf("%-15s %5zu runs with delegates %5zu fail\n", GetParam(), total.delegated, total.failed);
  EXPECT_EQ(total.failed, 0u);
}

// Partitions and lowers the imported graph before any pass, so that nodes have the forms that files have.
TEST_P(XnnpackCases, WhatIsTakenCanBeLowered) {
  auto cases = read_cases(kFolder, GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  size_t taken = 0;
  for (const Case& test : *cases) {
    for (const Operands operands : {Operands::inputs, Operands::first_input, Operands::dynamic_inputs}) {
      if (test.error || (operands == Operands::first_input && !test.mutated.empty())) continue;
      auto function = import_case(test, operands);
      if (!function.ok()) continue;
      const auto report =
          compiler::partition(*function->graph, target(), {}, compiler::ask_all(*function->graph, target(), {}));
      EXPECT_TRUE(report.ok()) << test.family << " line " << test.line << " " << test.op << shapes(test) << "\n"
                               << test.arguments << "\n"
                               << compiler::render(report.diag());
      if (report.ok()) taken += report->num_delegates;
    }
  }
  std::printf("%-15s %5zu nodes lowered\n", GetParam(), taken);
}

// All families but the last one, dtypes.
INSTANTIATE_TEST_SUITE_P(Families, XnnpackCases, ::testing::ValuesIn(std::begin(kFamilies), std::end(kFamilies) - 1),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

INSTANTIATE_TEST_SUITE_P(Dtypes, XnnpackCases, ::testing::ValuesIn(kDtypeFamilies),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

}  // namespace
}  // namespace wick::conformance::xnnpack_test
