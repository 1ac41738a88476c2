// Every operator case of tests/fixtures/cases, compiled and run, against eager PyTorch.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_VERBOSE=1        every failure, not the first few of each operator
//   WICK_CASES_PART=3/16        every 16th case, from number 3 on
//   WICK_CASES_FOLDER=DIR       cases of a folder that export.py wrote elsewhere
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "wick/portable_kernels.h"

namespace wick::conformance::conformance_test {
namespace {

std::string cases_folder() {
  const char* folder = std::getenv("WICK_CASES_FOLDER");
  return folder ? folder : "tests/fixtures/cases";
}
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

constexpr Setting kUnbounded = {"unbounded", compiler::Profile::automatic, IsaLevel::avx512,
                                Operands::unbounded_inputs};
constexpr Setting kDynamic = {"dynamic", compiler::Profile::automatic, IsaLevel::avx512, Operands::dynamic_inputs};

// "" if the case holds in this setting, else why not. If `refused` is not null, the compiler may refuse the case;
// `refused` counts these.
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

struct Tally {
  size_t passed = 0, failed = 0, known = 0;
};

class Conformance : public ::testing::TestWithParam<const char*> {};

TEST_P(Conformance, EveryCaseGivesWhatEagerGives) {
  const auto begin = std::chrono::steady_clock::now();
  const char* filter = std::getenv("WICK_CASES");
  const bool verbose = std::getenv("WICK_CASES_VERBOSE") != nullptr;
  auto cases = read_cases(cases_folder(), GetParam());
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  Tally total;
  std::map<std::string, Tally> operators;
  std::set<const DtypeException*> parted;  // entries of kMixExceptions that a case needed
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    const DtypeException* exception = dtype_exception(test);
    std::string failure;
    for (const Setting& setting : kSettings) {
      if (setting.operands == Operands::constants && !test.mutated.empty()) continue;  // a constant cannot change
      const std::string wrong = run_case(test, setting);
      if (wrong.empty()) continue;
      EXPECT_TRUE(!exception || explains(*exception, wrong)) << test.op << shapes(test) << ": " << wrong;
      failure = fmt::format("[{}] {}", setting.name, wrong);
      break;
    }
    Tally& tally = operators[test.op];
    const DtypeException* mix =
        failure.empty() ? nullptr : mix_exception(test, std::string_view(failure).substr(failure.find(']') + 2));
    if (mix) {
      parted.insert(mix);
      ++total.known;
      continue;
    }
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
  if (filter || is_part_wanted() || std::string_view(GetParam()) != "mixes") return;
  for (const DtypeException& entry : kMixExceptions)
    EXPECT_EQ(parted.count(&entry), 1u) << entry.op << " no longer parts from eager: take it off the list";
}

// Runs the cases of a family whose operator `takes` accepts, with symbols as sizes.
void run_symbolic(const char* family, const Setting& setting, bool (*takes)(const compiler::OpDef&)) {
  const char* filter = std::getenv("WICK_CASES");
  auto cases = read_cases(cases_folder(), family);
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  size_t passed = 0, refused = 0, failed = 0;
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    const compiler::OpDef* def = compiler::find_op(test.op);
    if (is_expected_failure(test) || mix_exception(test) || !def || !takes(*def)) continue;
    const size_t before = refused;
    const std::string wrong = run_case(test, setting, &refused);
    if (!wrong.empty()) {
      ++failed;
      std::printf("FAIL %s line %zu %s%s\n  %s\n  [%s] %s\n", test.family.c_str(), test.line, test.op.c_str(),
                  shapes(test).c_str(), test.arguments.c_str(), setting.name, wrong.c_str());
    } else if (refused == before) {
      ++passed;
    } else if (std::getenv("WICK_CASES_REFUSED")) {
      std::printf("refused %s line %zu %s%s\n", test.family.c_str(), test.line, test.op.c_str(), shapes(test).c_str());
    }
  }
  std::printf("%-15s %s: %5zu pass %5zu refused %5zu fail\n", family, setting.name, passed, refused, failed);
  EXPECT_EQ(failed, 0u);
}

// Leaves out data-dependent operators: the size of their results comes from the exported file.
TEST_P(Conformance, DynamicSizesGiveTheSameOrAreRefused) {
  run_symbolic(GetParam(), kDynamic, [](const compiler::OpDef& def) { return !def.has(compiler::kDataDependent); });
}

TEST_P(Conformance, SizesWithoutABoundGiveTheSameOrAreRefused) {
  run_symbolic(GetParam(), kUnbounded, [](const compiler::OpDef&) { return true; });
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Conformance, ::testing::ValuesIn(kDtypeFamilies),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Families, Conformance, ::testing::ValuesIn(kFamilies),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

}  // namespace
}  // namespace wick::conformance::conformance_test
