// Programs that call kernels with arguments no exporter writes: two cases of each operator.
//   WICK_CASES=roi_align        only operators whose name contains the text
//   WICK_HOSTILE_CASES=100      that many cases of each operator, and longer
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/conformance/case_program.h"
#include "tests/hostile/kernel_attack.h"

namespace wick::testing {
namespace {

using conformance::Case;

constexpr size_t kCombinations = 20;

std::vector<AttackedProgram> programs_of(const std::vector<Case>& cases) {
  std::vector<AttackedProgram> programs;
  for (const Case& test : cases) {
    auto compiled = conformance::compile_case(test, compiler::Profile::native, conformance::Operands::inputs);
    if (!compiled.ok()) continue;
    AttackedProgram& program = programs.emplace_back();
    program.pte = std::move(compiled->pte);
    for (const auto& [name, tensor] : test.tensors) program.inputs.push_back(tensor.value.bytes);
  }
  return programs;
}

TEST(HostileKernels, RefuseOrSurviveAnyArguments) {
  const char* filter = std::getenv("WICK_CASES");
  const char* count = std::getenv("WICK_HOSTILE_CASES");
  const auto all = conformance::first_cases("tests/fixtures/cases", count ? std::strtoul(count, nullptr, 10) : 2);
  ASSERT_TRUE(all.ok()) << compiler::render(all.diag());
  std::vector<AttackedGroup> groups;
  for (const auto& [op, cases] : *all) {
    if (!filter || op.find(filter) != std::string::npos)
      groups.push_back({op, [&list = cases] { return programs_of(list); }});
  }
  attack_kernels(groups, count ? 5 * kCombinations : kCombinations);
}

}  // namespace
}  // namespace wick::testing
