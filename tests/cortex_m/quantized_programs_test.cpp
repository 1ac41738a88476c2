// Quantized programs of all forms: each imports, folds and computes what its graph computes in eager.
#include <gtest/gtest.h>

#include "compiler/testing/pipeline.h"
#include "tests/cortex_m/quantized_fixtures.h"

namespace wick::cortex_m {
namespace {

using testing::Pipeline;

class CortexMQuantized : public ::testing::TestWithParam<std::string> {};

// Both compute in float between quantize and dequantize. A sum in another order may turn a rounding, which later layers
// see.
TEST_P(CortexMQuantized, IsOnPortableKernelsWhatItIsInEager) {
  const auto program = quantized_program(GetParam());
  ASSERT_TRUE(program);
  ASSERT_FALSE(program->eager.empty());
  Pipeline p = Pipeline::from_bytes({program->pt2.data(), program->pt2.size()}, GetParam());
  p.run_and_compare({.quantization_steps = 1.001}, program->inputs, program->eager);
  EXPECT_EQ(p.failures(), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, CortexMQuantized, ::testing::ValuesIn(quantized_program_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::cortex_m
