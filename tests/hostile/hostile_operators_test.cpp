// Calls of operators that no exporter writes, through the compiler: a case of each operator with operands of other
// ranks and sizes, and with numbers and lists at their edges; as inputs of fixed and of dynamic sizes, and as
// constants, which it computes with. It must refuse each, or compile it.
//   WICK_CASES=roi_align        only operators whose name contains the text
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "backends/compile_table.h"
#include "tests/conformance/case_program.h"
#include "tests/hostile/apart.h"

namespace wick::testing {
namespace {

using compiler::pt2::NamedArgument;
using conformance::Case;
using conformance::Operands;
using Sizes = std::vector<int32_t>;

constexpr long kMaxSeconds = 60;  // of processor time for all calls of an operator, with sanitizers

struct Counts {
  uint64_t calls = 0, compiled = 0;
};

void resize(conformance::CaseTensor& tensor, const Sizes& sizes) {
  size_t count = 1;
  for (const int32_t size : sizes) count *= static_cast<size_t>(size);
  tensor.value.sizes = sizes;
  tensor.value.bytes.assign(count * dtype_size_bytes(tensor.value.dtype), 0);
  tensor.strides.assign(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) tensor.strides[d - 1] = tensor.strides[d] * sizes[d];
}

// The case with one change after the other.
class Attack {
 public:
  Attack(const Case& test, Counts& counts, Progress& progress) : test_(test), counts_(counts), progress_(progress) {
    for (const compiler::Target* target : compiler::known_targets()) {
      compiler::CompileOptions& options = options_.emplace_back();
      options.targets = {{target, settings_of(*target)}};
    }
  }

  void run() {
    compile(test_, "as it is");
    for (size_t i = 0; i < test_.tensors.size(); ++i) change_sizes(i);
    for (size_t i = 0; i < test_.inputs.size(); ++i) change_argument(i);
    change_all_sizes();
  }

 private:
  void compile(const Case& changed, const std::string& what) {
    progress_.say(test_.arguments.substr(0, 200) + ", " + what);
    for (const Operands operands : {Operands::inputs, Operands::constants, Operands::dynamic_inputs})
      count(conformance::compile_case(changed, compiler::Profile::native, operands));
    for (const compiler::CompileOptions& options : options_)
      count(conformance::compile_case(changed, options, Operands::inputs));
  }

  void count(const compiler::Result<conformance::CompiledCase>& compiled) {
    ++counts_.calls;
    counts_.compiled += compiled.ok();
    if (compiled.ok() || compiled.diag().code != compiler::Code::internal) return;
    std::printf("%s", compiler::render(compiled.diag()).c_str());
    std::fflush(stdout);
    _exit(1);
  }

  void change_sizes(size_t i) {
    const Sizes before = test_.tensors[i].second.value.sizes;
    std::vector<Sizes> all = {{}, {0}, {1}, {2, 3}, {2, 3, 1, 2, 3, 2}};
    if (!before.empty()) {
      all.emplace_back(before.begin() + 1, before.end());
      all.push_back(before);
      all.back().back() = 0;
      all.push_back(before);
      all.back()[0] += 1;
    }
    all.push_back(before);
    all.back().insert(all.back().begin(), 2);
    for (const Sizes& sizes : all) {
      Case changed = test_;
      resize(changed.tensors[i].second, sizes);
      compile(changed, "tensor " + std::to_string(i) + " of rank " + std::to_string(sizes.size()));
    }
  }

  void change_all_sizes() {
    for (const Sizes& sizes : std::vector<Sizes>{{}, {0}, {1}, {2, 2, 2}}) {
      Case changed = test_;
      for (auto& [name, tensor] : changed.tensors) resize(tensor, sizes);
      compile(changed, "all tensors of rank " + std::to_string(sizes.size()));
    }
  }

  void change_argument(size_t i) {
    const auto set = [&](auto value, const std::string& what) {
      Case changed = test_;
      changed.inputs[i].arg = std::move(value);
      compile(changed, test_.inputs[i].name + " = " + what);
    };
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
    if (std::holds_alternative<int64_t>(test_.inputs[i].arg)) {
      for (const int64_t edge : {kLeast, int64_t{-9}, int64_t{-1}, int64_t{0}, int64_t{9}, int64_t{1} << 33, kMost})
        set(edge, std::to_string(edge));
    }
    if (std::holds_alternative<double>(test_.inputs[i].arg)) {
      for (const double edge : {-1e300, -0.5, 0.0, 1e300, std::numeric_limits<double>::quiet_NaN()})
        set(edge, std::to_string(edge));
    }
    if (const auto* list = std::get_if<std::vector<int64_t>>(&test_.inputs[i].arg)) {
      set(std::vector<int64_t>{}, "[]");
      std::vector<int64_t> longer = *list;
      longer.push_back(longer.empty() ? 1 : longer.back());
      set(longer, "one more");
      for (const int64_t edge : {kLeast, int64_t{-9}, int64_t{0}, int64_t{9}, kMost})
        set(std::vector<int64_t>(list->size(), edge), "all " + std::to_string(edge));
    }
    if (std::holds_alternative<std::string>(test_.inputs[i].arg)) set(std::string("other"), "other");
    if (!std::holds_alternative<compiler::pt2::NoneArg>(test_.inputs[i].arg)) set(compiler::pt2::NoneArg{}, "None");
  }

  // Without device code: no compiler for it takes part.
  static compiler::TargetSettings settings_of(const compiler::Target& target) {
    for (const compiler::TargetOption& option : target.options.list) {
      if (std::string_view(option.name) == "gpu") return {{"gpu", "none"}};
    }
    return {};
  }

  const Case& test_;
  std::vector<compiler::CompileOptions> options_;
  Counts& counts_;
  Progress& progress_;
};

TEST(HostileOperators, AreRefusedOrCompiled) {
  const char* filter = std::getenv("WICK_CASES");
  const auto all = conformance::first_cases("tests/fixtures/cases", 1);
  ASSERT_TRUE(all.ok()) << compiler::render(all.diag());
  std::vector<const Case*> cases;
  for (const auto& [op, list] : *all) {
    for (const Case& test : list) {
      if (!filter || op.find(filter) != std::string::npos) cases.push_back(&test);
    }
  }
  const SharedWithChildren<Counts> counts;
  run_apart(
      cases.size(), kMaxSeconds, [&](size_t i) { return cases[i]->op; },
      [&](size_t i, Progress& progress) { Attack(*cases[i], *counts, progress).run(); });
  std::printf("%llu calls, %llu compiled\n", static_cast<unsigned long long>(counts->calls),
              static_cast<unsigned long long>(counts->compiled));
  EXPECT_GT(counts->compiled, cases.size() / 2);
}

}  // namespace
}  // namespace wick::testing
