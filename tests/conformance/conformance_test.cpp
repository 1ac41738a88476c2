// Every operator case of tests/fixtures/cases, compiled and run, against eager PyTorch.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_VERBOSE=1        every failure, not the first few of each operator
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "tests/conformance/case_program.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/exceptions.h"
#include "wick/portable_kernels.h"

namespace wick::conformance {
namespace {

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr size_t kShownPerOperator = 3;

struct Setting {
  const char* name;
  compiler::Profile profile;
  IsaLevel isa;
  Operands operands = Operands::inputs;
};
constexpr Setting kSettings[] = {
    {"baseline", compiler::Profile::automatic, IsaLevel::baseline},
    {"fastest", compiler::Profile::automatic, IsaLevel::avx512},
    {"native", compiler::Profile::native, IsaLevel::avx512},
    {"folded", compiler::Profile::automatic, IsaLevel::baseline, Operands::constants},
};

template <typename Table>
const auto* entry_of(const Table& table, const Case& test) {
  for (const auto& entry : table) {
    if (entry.family == test.family && entry.line == test.line && entry.op == test.op) return &entry;
  }
  return static_cast<decltype(&table[0])>(nullptr);
}

Tolerance tolerance_for(const Case& test, const HostTensor& want) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  Tolerance tolerance = tolerance_of(def ? *def->tolerance : compiler::kRoundings, want);
  if (const IllConditioned* known = entry_of(kIllConditioned, test)) tolerance.absolute = known->absolute;
  return tolerance;
}

std::string check_tensor(const Case& test, const HostValue& got, const CaseTensor& want, bool first) {
  if (got.tag != Tag::tensor) return "got something that is not a tensor";
  if (test.shape_only) return shape_difference(got.tensor, want.value);
  const Quirk* quirk = first ? entry_of(kQuirks, test) : nullptr;
  return difference(got.tensor, want.value, tolerance_for(test, want.value),
                    quirk ? std::vector<size_t>(quirk->elements) : std::vector<size_t>());
}

std::string check_number(const HostValue& got, const HostValue& want) {
  if (want.tag == Tag::real) {
    const bool same =
        got.tag == Tag::real && (got.real == want.real || (got.real != got.real && want.real != want.real));
    return same ? "" : fmt::format("got {}, expected {}", got.real, want.real);
  }
  // A truth value read from a tensor is an integer in the program.
  const int64_t wanted = want.tag == Tag::boolean ? want.boolean : want.integer;
  const int64_t found = got.tag == Tag::boolean ? got.boolean : got.integer;
  const bool same = (got.tag == Tag::boolean || got.tag == Tag::integer) && found == wanted;
  return same ? "" : fmt::format("got {}, expected {}", found, wanted);
}

const CaseTensor* find(const std::vector<std::pair<std::string, CaseTensor>>& list, const std::string& name) {
  for (const auto& [key, tensor] : list) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

std::string check_outputs(const Case& test, const CompiledCase& compiled, const std::vector<HostValue>& outputs) {
  size_t next = 0;
  size_t updated = 0;
  for (const int32_t input : compiled.mutated_inputs) {
    if (next >= outputs.size() || static_cast<size_t>(input) >= test.tensors.size())
      return "the program has too few outputs";
    const auto& [name, before] = test.tensors[static_cast<size_t>(input)];
    const CaseTensor* after = find(test.mutated, name);
    updated += after != nullptr;
    const std::string wrong = check_tensor(test, outputs[next++], after ? *after : before, false);
    if (!wrong.empty()) return fmt::format("mutated {}: {}", name, wrong);
  }
  if (updated != test.mutated.size())
    return fmt::format("{} of {} changed inputs are updated", updated, test.mutated.size());
  for (size_t i = 0; i < test.expect.size(); ++i) {
    const Expected& expected = test.expect[i];
    if (expected.kind == Expected::Kind::none) continue;
    const size_t count = expected.kind == Expected::Kind::number ? 1 : expected.tensors.size();
    for (size_t k = 0; k < count; ++k) {
      if (next >= outputs.size()) return "the program has too few outputs";
      const HostValue& got = outputs[next++];
      const std::string wrong = expected.kind == Expected::Kind::number
                                    ? check_number(got, expected.number)
                                    : check_tensor(test, got, expected.tensors[k], i == 0 && k == 0);
      if (!wrong.empty()) return fmt::format("result {}{}: {}", i, count > 1 ? fmt::format("[{}]", k) : "", wrong);
    }
  }
  return next == outputs.size() ? "" : "the program has too many outputs";
}

constexpr Setting kDynamic = {"dynamic", compiler::Profile::automatic, IsaLevel::avx512, Operands::dynamic_inputs};

// "" if the case holds in this setting, else why not. With dynamic sizes the compiler may refuse.
std::string run_case(const Case& test, const Setting& setting, size_t* refused = nullptr) {
  auto compiled = compile_case(test, setting.profile, setting.operands);
  if (!compiled.ok()) {
    if (test.error && compiled.diag().code != compiler::Code::internal) return "";
    if (refused && compiled.diag().code == compiler::Code::unsupported_model) return ++*refused, "";
    return "does not compile: " + compiler::render(compiled.diag());
  }
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.max_isa = setting.isa;
  ModuleError error;
  const auto module = Module::load({compiled->pte.data(), compiled->pte.size()}, options, &error);
  if (!module) return "does not load: " + error.message;
  if (!module->method("forward", &error)) return "does not load: " + error.message;
  std::vector<HostValue> inputs, outputs;
  for (const auto& [name, tensor] : test.tensors) {
    if (setting.operands != Operands::constants) inputs.emplace_back(tensor.value);
  }
  if (!module->forward(inputs, &outputs, &error)) return test.error ? "" : "does not run: " + error.message;
  if (test.error) return "runs, but eager says: " + *test.error;
  return check_outputs(test, *compiled, outputs);
}

bool is_expected_failure(const Case& test) { return entry_of(kExpectedFailures, test) != nullptr; }

std::string shapes(const Case& test) {
  std::string text;
  for (const auto& [name, tensor] : test.tensors) {
    text += fmt::format(" {}: {}[", name, dtype_name(tensor.value.dtype));
    for (size_t i = 0; i < tensor.value.sizes.size(); ++i)
      text += fmt::format("{}{}", i ? ", " : "", tensor.value.sizes[i]);
    text += "]";
  }
  return text;
}

struct Tally {
  size_t passed = 0, failed = 0, known = 0;
};

class Conformance : public testing::TestWithParam<const char*> {};

TEST_P(Conformance, EveryCaseGivesWhatEagerGives) {
  const auto begin = std::chrono::steady_clock::now();
  const char* filter = std::getenv("WICK_CASES");
  const bool verbose = std::getenv("WICK_CASES_VERBOSE") != nullptr;
  auto cases = read_cases(kFolder, GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  Tally total;
  std::map<std::string, Tally> operators;
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    std::string failure;
    for (const Setting& setting : kSettings) {
      if (setting.operands == Operands::constants && !test.mutated.empty()) continue;  // a constant cannot change
      const std::string wrong = run_case(test, setting);
      if (wrong.empty()) continue;
      failure = fmt::format("[{}] {}", setting.name, wrong);
      break;
    }
    Tally& tally = operators[test.op];
    if (is_expected_failure(test)) {
      EXPECT_FALSE(failure.empty()) << test.family << " line " << test.line << " " << test.op
                                    << " passes: take it off the list";
      ++total.known;
      continue;
    }
    ++(failure.empty() ? tally.passed : tally.failed);
    ++(failure.empty() ? total.passed : total.failed);
    if (failure.empty() || (!verbose && tally.failed > kShownPerOperator)) continue;
    std::printf("FAIL %s line %zu %s%s\n  %s\n  %s\n", test.family.c_str(), test.line, test.op.c_str(),
                shapes(test).c_str(), test.arguments.c_str(), failure.c_str());
  }
  for (const auto& [op, tally] : operators) {
    if (tally.failed) std::printf("  %-50s %zu of %zu fail\n", op.c_str(), tally.failed, tally.failed + tally.passed);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%-15s %5zu operators %5zu pass %5zu fail %3zu known  %.1f s\n", GetParam(), operators.size(),
              total.passed, total.failed, total.known, seconds.count());
  EXPECT_EQ(total.failed, 0u);
}

TEST_P(Conformance, DynamicSizesGiveTheSameOrAreRefused) {
  const char* filter = std::getenv("WICK_CASES");
  auto cases = read_cases(kFolder, GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  size_t passed = 0, refused = 0, failed = 0;
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    const compiler::OpDef* def = compiler::find_op(test.op);
    // Sizes that depend on values come from the exported file.
    if (is_expected_failure(test) || !def || def->has(compiler::kDataDependent)) continue;
    const size_t before = refused;
    const std::string wrong = run_case(test, kDynamic, &refused);
    if (!wrong.empty()) {
      ++failed;
      std::printf("FAIL %s line %zu %s%s\n  %s\n  [dynamic] %s\n", test.family.c_str(), test.line, test.op.c_str(),
                  shapes(test).c_str(), test.arguments.c_str(), wrong.c_str());
    } else if (refused == before) {
      ++passed;
    } else if (std::getenv("WICK_CASES_REFUSED")) {
      std::printf("refused %s line %zu %s%s\n", test.family.c_str(), test.line, test.op.c_str(), shapes(test).c_str());
    }
  }
  std::printf("%-15s dynamic: %5zu pass %5zu refused %5zu fail\n", GetParam(), passed, refused, failed);
  EXPECT_EQ(failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Families, Conformance, testing::ValuesIn(kFamilies),
                         [](const testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

}  // namespace
}  // namespace wick::conformance
