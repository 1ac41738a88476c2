// Every program of tests/fixtures/quantized: what becomes of it for XNNPACK and for CUDA, and its numbers against those
// of stock ExecuTorch, or of eager, for the same program.
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "common/float16.h"
#include "compiler/support/diag.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/support/program_runner.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

// Static int8 ends on a grid: outputs are equal or a step apart. Products whose input is quantized at run time give
// floats; a sum in another order may turn a rounding, which the next layers see.
struct Quantized {
  const char* name;
  size_t kernels;             // calls outside the delegate: embeddings, masks, positions
  double least_equal;         // share of outputs that are equal
  double largest_error;       // of the others, of the largest magnitude
  bool same_choices = false;  // the largest of each row is the same one
};
constexpr Quantized kPrograms[] = {
    {"static_per_channel", 0, 0.999, 0.02},
    {"static_per_tensor", 0, 0.999, 0.02},
    {"static_resnet", 0, 0.999, 0.02},
    {"static_mobilenet_v2", 0, 0.999, 0.02},
    {"static_uint8_translator", 9, 0, 0.05},
    {"static_uint8_molecule", 9, 0, 0.05},
    {"static_mixed", 0, 0, 0.02},  // judged by eager, which rounds between operators
    {"dynamic_convolutions", 0, 0, 1e-5},
    {"dynamic_deit", 0, 0, 1e-5},
    {"dynamic_decoder", 1, 0, 1e-5},
    {"dynamic_int8_rows", 1, 0, 1e-5},
    // Judged by eager: stock rounds the scales of groups.
    {"dynamic_int4_rows", 1, 0, 1e-5, true},
    {"dynamic_int4_groups", 1, 0, 1e-5, true},
    {"dynamic_int4_llama", 1, 0, 1e-5, true},
    {"subclass_int4_groups", 0, 0, 1e-5},
    {"core_int4_groups", 0, 0, 1e-5},
    {"subclass_int8_groups", 0, 0, 1e-5},
    {"dynamic_int8_groups", 1, 0, 1e-5, true},
    {"subclass_int8_rows", 0, 0, 1e-5},
    {"subclass_int8_weights", 0, 0, 1e-5},
    {"subclass_int8_products", 0, 0, 1e-5},
    {"dynamic_half", 0, 0, 0.01},  // judged by eager
};
void PrintTo(const Quantized& program, std::ostream* out) { *out << program.name; }

std::vector<float> floats(const cli::NamedArray& array) {
  if (array.dtype == DType::f16) {
    std::vector<uint16_t> halves(array.bytes.size() / sizeof(uint16_t));
    memcpy(halves.data(), array.bytes.data(), array.bytes.size());
    std::vector<float> out;
    for (const uint16_t bits : halves) out.push_back(Half::to_float(bits));
    return out;
  }
  std::vector<float> out(array.bytes.size() / sizeof(float));
  memcpy(out.data(), array.bytes.data(), out.size() * sizeof(float));
  return out;
}

std::vector<std::ptrdiff_t> choices(const std::vector<float>& logits, size_t columns) {
  std::vector<std::ptrdiff_t> out;
  for (auto row = logits.begin(); row != logits.end(); row += static_cast<std::ptrdiff_t>(columns))
    out.push_back(std::max_element(row, row + static_cast<std::ptrdiff_t>(columns)) - row);
  return out;
}

class QuantizedProgram : public ::testing::TestWithParam<Quantized> {
 protected:
  void compare(const FixtureStep& step, const std::vector<cli::NamedArray>& outputs) {
    const Quantized& wanted = GetParam();
    ASSERT_EQ(outputs.size(), step.outputs.size());
    double count = 0, equal = 0;
    for (const SampledArray& expected : step.outputs) {
      const auto got = std::find_if(outputs.begin(), outputs.end(),
                                    [&](const cli::NamedArray& array) { return array.name == expected.array.name; });
      ASSERT_NE(got, outputs.end());
      ASSERT_EQ(got->sizes, expected.array.sizes);
      ASSERT_EQ(expected.every, 1);
      const std::vector<float> a = floats(*got), b = floats(expected.array);
      ASSERT_EQ(a.size(), b.size());
      float scale = 0, worst = 0;
      for (const float value : b) scale = std::max(scale, std::fabs(value));
      for (size_t i = 0; i < a.size(); ++i) {
        worst = std::max(worst, std::fabs(a[i] - b[i]));
        equal += a[i] == b[i];
      }
      count += static_cast<double>(a.size());
      if (wanted.same_choices) {
        const auto columns = static_cast<size_t>(got->sizes.back());
        EXPECT_EQ(choices(a, columns), choices(b, columns));
      }
      EXPECT_LE(worst, wanted.largest_error * static_cast<double>(scale)) << expected.array.name;
    }
    EXPECT_GE(equal, wanted.least_equal * count);
  }
};

TEST_P(QuantizedProgram, IsOneDelegateAndAnswersLikeStock) {
  const Quantized& wanted = GetParam();
  auto fixture = expand_fixture("tests/fixtures/quantized/" + std::string(wanted.name) + ".wfix.gz");
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("xnnpack");
  std::string error;
  auto program = CompiledProgram::make({{"forward", wanted.name, {fixture->pt2.data(), fixture->pt2.size()}}}, options,
                                       IsaLevel::avx512, &error);
  ASSERT_TRUE(program) << error;
  const compiler::MethodReport& method = program->compiled().methods[0];
  EXPECT_EQ(method.delegates, 1u);
  EXPECT_EQ(method.kernels, wanted.kernels);
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";

  const FixtureStep& step = fixture->steps.at(0);
  std::vector<cli::NamedArray> outputs;
  const bool ran = program->run("forward", step.inputs, &outputs, &error);
  if (!ran && !xnnpack_has_all_kernels() && error.find("AVX2, FMA and F16C") != std::string::npos)
    GTEST_SKIP() << error;
  ASSERT_TRUE(ran) << error;
  compare(step, outputs);
}

// Device code takes no part: the kernels are compiled for the host (docs/cuda.md, "The twin").
TEST_P(QuantizedProgram, OnTheCudaTwinIsOneDelegateWithIntegersForWeights) {
  const Quantized& wanted = GetParam();
  auto fixture = expand_fixture("tests/fixtures/quantized/" + std::string(wanted.name) + ".wfix.gz");
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  const ScratchFolder folder;
  const std::string twin = folder.file("twin.so");
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cuda", {{"gpu", "none"}, {"twin", twin}});
  std::string error;
  auto program = CompiledProgram::make({{"forward", wanted.name, {fixture->pt2.data(), fixture->pt2.size()}}}, options,
                                       IsaLevel::avx512, &error, "cuda-twin=" + twin);
  ASSERT_TRUE(program) << error;
  const compiler::MethodReport& method = program->compiled().methods[0];
  EXPECT_EQ(method.delegates, 1u);
  EXPECT_TRUE(method.outside.empty());
  const FixtureStep& step = fixture->steps.back();  // eager's answers
  std::vector<cli::NamedArray> outputs;
  ASSERT_TRUE(program->run("forward", step.inputs, &outputs, &error)) << error;
  compare(step, outputs);
  const size_t launches = program->compiled().method_plans[0].delegates[0]->num_nodes;
  printf("%s on the CUDA twin: %zu launches, %zu bytes\n", wanted.name, launches, program->pte().size());
}

INSTANTIATE_TEST_SUITE_P(Programs, QuantizedProgram, ::testing::ValuesIn(kPrograms),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace wick::testing
