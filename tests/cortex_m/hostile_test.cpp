// Programs for Cortex-M with arguments that no compiler writes: each kernel refuses them, or stays within its tensors.
//   WICK_CASES=conv             only programs whose name contains the text
//   WICK_CASES_PART=3/16        only every 16th program, from number 3 on
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/testing/pipeline.h"
#include "schema/test_program_builder.h"
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

// quantized_add of ExecuTorch 1.2, and quantized_avg_pool2d of 1.4 and of 1.3.
std::vector<AttackedProgram> programs_of_older_versions() {
  schema::TestProgram program;
  program.arena_sizes = {0, 0};
  const auto image = [&](int32_t side) {
    schema::TestTensor tensor{.dtype = DType::i8, .sizes = {1, 2, side, side}, .dim_order = {0, 2, 3, 1}};
    tensor.memory_id = 1;
    tensor.memory_offset = static_cast<uint64_t>(program.arena_sizes[1]);
    program.arena_sizes[1] += 64;
    return program.tensor(tensor);
  };
  const int32_t x = image(4), y = image(4), sum = image(4), half = image(2), last = image(1);
  const auto number = [&](int64_t value) { return program.integer(value); };
  program.call(program.op("cortex_m::quantized_add", "out"),
               {x, number(0), number(1 << 30), number(0), y, number(1), number(1 << 30), number(0), number(-3),
                number(1 << 30), number(-19), sum, sum});
  const auto pool = [&](int32_t from, int32_t to, bool has_scratch) {
    std::vector<int32_t> args = {from,
                                 program.int_list({number(2), number(2)}),
                                 program.int_list({number(2), number(2)}),
                                 program.int_list({number(0), number(0)}),
                                 number(0),
                                 number(1),
                                 number(0)};
    if (has_scratch) args.push_back(program.planned(DType::u8, {32}));
    args.insert(args.end(), {to, to});
    program.call(program.op("cortex_m::quantized_avg_pool2d", "out"), args);
  };
  pool(sum, half, true);
  pool(half, last, false);
  program.inputs = {x, y};
  program.outputs = {sum, half, last};
  const schema::AlignedBytes pte = program.build();
  const std::vector<uint8_t> elements(32, 5);
  return {{{pte.data(), pte.data() + pte.size()}, {elements, elements}, fuzz::Room::exact}};
}

TEST(CortexMHostile, KernelsRefuseOrSurviveAnyArguments) {
  const char* filter = std::getenv("WICK_CASES");
  std::vector<AttackedGroup> groups;
  const std::optional<testing::Part> part = testing::wanted_part();
  ASSERT_TRUE(part.has_value()) << "WICK_CASES_PART names no part";
  size_t number = 0;
  const auto add = [&](const std::string& name, std::function<std::vector<AttackedProgram>()> make) {
    if ((!filter || name.find(filter) != std::string::npos) && part->has(number++))
      groups.push_back({name, std::move(make)});
  };
  for (const std::string& name : quantized_program_names()) add(name, [name] { return programs_of(name); });
  add("older_versions", programs_of_older_versions);
  const testing::AttackCounts counts = attack_kernels(groups, kCombinations);
  if (!filter) EXPECT_GT(counts.programs, 100 / part->step);
}

}  // namespace
}  // namespace wick::cortex_m
