// Quantized programs of all forms: each imports, folds and computes what its graph computes in eager, in integers on
// Cortex-M, with the bytes of the program that stock's flow makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/testing/pipeline.h"
#include "tests/cortex_m/quantized_fixtures.h"

namespace wick::cortex_m {
namespace {

using testing::Pipeline;
using testing::Stage;
using testing::Tolerance;

// Programs in which stock computes an operator in two roundings, or rounds a zero point, and Wick in one rounding.
const std::set<std::string, std::less<>> kStepsFromStock = {"conv_hardsigmoid", "conv_hardswish"};

// Roundings of many layers add up. Stock's own tests of MobileNet allow as many steps, and have no EfficientNet. h of
// an LSTM has 15 bits, which results of int16 with a finer scale show.
const std::map<std::string, double, std::less<>> kSteps = {{"cmsis_nn_lstm_2_s16", 2.001},
                                                           {"cmsis_nn_lstm_stateful_batch_major_multibatch_s16", 2.001},
                                                           {"efficientnet_lite", 6},
                                                           {"mobilenet_v2", 10},
                                                           {"mobilenet_v3_small", 20}};

Tolerance tolerance_of(const std::string& name) {
  const auto found = kSteps.find(name);
  return {.absolute = 1e-6,
          .relative = 1e-6,
          .of_largest = 0,
          .quantization_steps = found == kSteps.end() ? 1.001 : found->second};
}

class CortexMQuantized : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    program_ = quantized_program(GetParam());
    ASSERT_TRUE(program_);
    ASSERT_FALSE(program_->eager.empty());
  }
  Pipeline pipeline() const { return Pipeline::from_bytes({program_->pt2.data(), program_->pt2.size()}, GetParam()); }
  std::optional<QuantizedProgram> program_;
};

// Both compute in float between quantize and dequantize. A sum in another order may turn a rounding, which later layers
// see.
TEST_P(CortexMQuantized, IsOnPortableKernelsWhatItIsInEager) {
  Pipeline p = pipeline();
  p.run_and_compare({.quantization_steps = 1.001}, program_->inputs, program_->eager);
  EXPECT_EQ(p.failures(), "");
}

TEST_P(CortexMQuantized, IsInIntegersWhatItIsInEager) {
  for (const char* cpu : {"m55", "m4", "m3"}) {
    SCOPED_TRACE(cpu);
    Pipeline p = pipeline();
    p.backend("cortex-m:cpu=cortex-" + std::string(cpu));
    p.at(Stage::lower).check_outside({});
    p.run_and_compare(tolerance_of(GetParam()), program_->inputs, program_->eager);
    EXPECT_EQ(p.failures(), "");
  }
}

// Scratch memory is part of the arena.
TEST_P(CortexMQuantized, NeedsLittleMoreMemoryThanIsAliveAtOnce) {
  for (const char* cpu : {"m55", "m4", "m3"}) {
    SCOPED_TRACE(cpu);
    Pipeline p = pipeline();
    p.backend("cortex-m:cpu=cortex-" + std::string(cpu));
    ASSERT_NE(p.compiled(), nullptr) << p.failures();
    for (const compiler::MethodReport& method : p.compiled()->methods) {
      EXPECT_GT(method.arena_lower_bound_bytes, 0u);
      EXPECT_LE(static_cast<double>(method.arena_bytes), 1.05 * static_cast<double>(method.arena_lower_bound_bytes))
          << method.above_lower_bound;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CortexMQuantized, ::testing::ValuesIn(quantized_program_names()),
                         [](const auto& test) { return test.param; });

class CortexMStockTwin : public CortexMQuantized {};

TEST_P(CortexMStockTwin, GivesTheBytesOfStocksProgram) {
  ASSERT_TRUE(program_->has_stock);
  const std::vector<HostValue> stock = run_stock_program(GetParam(), program_->inputs);
  Pipeline p = pipeline();
  p.backend("cortex-m");
  const double steps = kStepsFromStock.count(GetParam()) ? 1.001 : 0;
  p.run_and_compare({.absolute = 0, .relative = 0, .of_largest = 0, .quantization_steps = steps}, program_->inputs,
                    stock);
  EXPECT_EQ(p.failures(), "");
}

// Arena and scratch of the program for each instruction set that stock's flow wrote one for.
TEST_P(CortexMStockTwin, NeedsNoMoreMemoryThanStocksProgram) {
  const std::pair<const char*, const char*> targets[] = {{"mve", "m55"}, {"dsp", "m4"}, {"scalar", "m3"}};
  size_t compared = 0;
  for (const auto& [isa, cpu] : targets) {
    const std::optional<uint64_t> stock = stock_memory_bytes(GetParam(), isa);
    if (!stock) continue;
    SCOPED_TRACE(cpu);
    Pipeline p = pipeline();
    p.backend("cortex-m:cpu=cortex-" + std::string(cpu));
    ASSERT_NE(p.compiled(), nullptr) << p.failures();
    for (const compiler::MethodReport& method : p.compiled()->methods) EXPECT_LE(method.arena_bytes, *stock);
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

std::vector<std::string> twin_names() {
  std::vector<std::string> names = quantized_program_names();
  names.erase(std::remove_if(names.begin(), names.end(), [](const auto& name) { return !has_stock_program(name); }),
              names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Programs, CortexMStockTwin, ::testing::ValuesIn(twin_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::cortex_m
