// Programs for Cortex-M with arguments that no compiler writes: each kernel refuses them, or stays within its tensors.
//   WICK_CASES=conv             only programs whose name contains the text
//   WICK_CASES_PART=3/16        only every 16th program, from number 3 on
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/testing/pipeline.h"
#include "tests/cortex_m/quantized_fixtures.h"
#include "tests/hostile/kernel_attack.h"
#include "tests/support/wanted_part.h"

namespace wick::cortex_m {
namespace {

using testing::AttackedGroup;
using testing::AttackedProgram;

// Larger programs repeat the operators of smaller ones.
constexpr size_t kMostBytes = 12000;
constexpr size_t kCombinations = 4;

// For the instruction sets whose operators or scratch differ; references run all of them.
std::vector<AttackedProgram> programs_of(const std::string& name) {
  std::vector<AttackedProgram> programs;
  const auto model = quantized_program(name);
  if (!model) return programs;
  for (const char* target : {"cortex-m:cpu=cortex-m55,memory=tight", "cortex-m:cpu=cortex-m4"}) {
    testing::Pipeline pipeline = testing::Pipeline::from_bytes({model->pt2.data(), model->pt2.size()}, name);
    pipeline.backend(target);
    const compiler::CompileResult* compiled = pipeline.compiled();
    if (!compiled) continue;
    AttackedProgram program{compiled->program.pte.join(), {}, fuzz::Room::exact};
    if (program.pte.size() > kMostBytes) continue;
    for (const HostValue& input : model->inputs) program.inputs.push_back(input.tensor.bytes);
    programs.push_back(std::move(program));
  }
  return programs;
}

TEST(CortexMHostile, KernelsRefuseOrSurviveAnyArguments) {
  const char* filter = std::getenv("WICK_CASES");
  std::vector<AttackedGroup> groups;
  const std::optional<testing::Part> part = testing::wanted_part();
  ASSERT_TRUE(part.has_value()) << "WICK_CASES_PART names no part";
  size_t number = 0;
  for (const std::string& name : quantized_program_names()) {
    if ((!filter || name.find(filter) != std::string::npos) && part->has(number++))
      groups.push_back({name, [name] { return programs_of(name); }});
  }
  const testing::AttackCounts counts = attack_kernels(groups, kCombinations);
  if (!filter) EXPECT_GT(counts.programs, 100 / part->step);
}

}  // namespace
}  // namespace wick::cortex_m
