#include "backends/cortex_m/compile/isa.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"
#include "compiler/driver/compile.h"

namespace wick::cortex_m {
namespace {

compiler::Result<Configuration> read(compiler::TargetSettings settings) {
  compiler::TargetOptions options;
  options.settings = &settings;
  return read_configuration(options);
}

std::string shown(compiler::TargetSettings settings) {
  const auto found = read(std::move(settings));
  return found.ok() ? fmt::format("{} {}", found->cpu, name_of(found->isa)) : render(found.diag());
}

TEST(CortexMIsa, EachProcessorHasADefault) {
  EXPECT_EQ(shown({}), "cortex-m55 mve");
  const std::pair<const char*, const char*> wanted[] = {
      {"m55", "mve"},  {"m52", "mve"},   {"m85", "mve"},    {"m4", "dsp"},        {"m7", "dsp"},   {"m33", "dsp"},
      {"m35p", "dsp"}, {"m3", "scalar"}, {"m23", "scalar"}, {"m0plus", "scalar"}, {"m0", "scalar"}};
  for (const auto& [cpu, isa] : wanted) {
    const std::string full = fmt::format("cortex-{}", cpu);
    EXPECT_EQ(shown({{"cpu", full}}), fmt::format("{} {}", full, isa));
    EXPECT_EQ(shown({{"cpu", cpu}}), fmt::format("{} {}", full, isa));
    EXPECT_EQ(shown({{"cpu", cpu}, {"isa", "auto"}}), fmt::format("{} {}", full, isa));
    EXPECT_EQ(shown({{"cpu", cpu}, {"isa", "scalar"}}), fmt::format("{} scalar", full));
  }
}

TEST(CortexMIsa, AProcessorRunsWhatIsBelowItsOwn) {
  EXPECT_EQ(shown({{"cpu", "m55"}, {"isa", "dsp"}}), "cortex-m55 dsp");
  EXPECT_EQ(shown({{"cpu", "m33"}, {"isa", "dsp"}}), "cortex-m33 dsp");
  EXPECT_EQ(shown({{"isa", "mve"}}), "cortex-m55 mve");
}

TEST(CortexMIsa, WrongPairsAreRefusedWithWhatThereIs) {
  const std::string dsp = shown({{"cpu", "cortex-m3"}, {"isa", "dsp"}});
  EXPECT_NE(dsp.find("cortex-m3 does not have the instruction set dsp"), std::string::npos) << dsp;
  EXPECT_NE(dsp.find("scalar"), std::string::npos) << dsp;
  const std::string mve = shown({{"cpu", "m4"}, {"isa", "mve"}});
  EXPECT_NE(mve.find("dsp, scalar"), std::string::npos) << mve;
  const std::string none = shown({{"cpu", "cortex-a53"}});
  EXPECT_NE(none.find("no such processor"), std::string::npos) << none;
  EXPECT_NE(none.find("cortex-m0plus"), std::string::npos) << none;
}

TEST(CortexMIsa, OptionsComeFromTheListOrFromFlags) {
  const auto from_list = compiler::find_targets("cortex-m:cpu=m4,isa=scalar");
  ASSERT_TRUE(from_list.ok());
  compiler::TargetOptions options;
  options.settings = &(*from_list)[0].settings;
  EXPECT_EQ(configuration(options).isa, Isa::scalar);
  const auto from_flags = compiler::find_targets("cortex-m:memory=tight", {{"cpu", "m3"}, {"memory", "fast"}});
  ASSERT_TRUE(from_flags.ok());
  options.settings = &(*from_flags)[0].settings;
  EXPECT_EQ(configuration(options).cpu, "cortex-m3");
  EXPECT_TRUE(configuration(options).tight) << "what the list says counts";
}

TEST(CortexMIsa, FlagsNeedABackendThatHasThem) {
  const auto lone = compiler::find_targets("portable", {{"cpu", "m3"}});
  ASSERT_FALSE(lone.ok());
  EXPECT_EQ(lone.diag().code, compiler::Code::usage);
  EXPECT_NE(render(lone.diag()).find("add --backend cortex-m"), std::string::npos) << render(lone.diag());
  const auto wrong = compiler::find_targets("cortex-m", {{"isa", "neon"}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(render(wrong.diag()).find("auto|mve|dsp|scalar"), std::string::npos) << render(wrong.diag());
  const auto pair = compiler::find_targets("cortex-m", {{"cpu", "m3"}, {"isa", "mve"}});
  ASSERT_FALSE(pair.ok());
  EXPECT_EQ(pair.diag().code, compiler::Code::usage);
}

TEST(CortexMIsa, AProgramSaysWhatItIsFor) {
  const std::string body = "  %y = aten.tanh(%x)\n  return %y\n}";
  const std::string q = parameters(0.01, 0);
  const std::string quantized = "graph f(%x: f32[4]) {\n" + fake_quantized("d", "x", "q", q) +
                                "  %t = aten.tanh(%d)\n" + fake_quantized("o", "t", "p", q) + "  return %o\n}";
  const auto facts = [](const std::string& text, const char* backend) {
    testing::Pipeline p = std::move(testing::Pipeline::from_text(text).backend(backend));
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    return p.compiled() ? fmt::format("{}", fmt::join(p.compiled()->methods[0].prepared_for, " ")) : "";
  };
  EXPECT_EQ(facts(quantized, "cortex-m"), "cortex_m.cpu=cortex-m55 cortex_m.isa=mve");
  EXPECT_EQ(facts(quantized, "cortex-m:cpu=m33,isa=scalar"), "cortex_m.cpu=cortex-m33 cortex_m.isa=scalar");
  EXPECT_EQ(facts(quantized, "portable"), "");
  EXPECT_EQ(facts("graph f(%x: f32[4]) {\n" + body, "cortex-m"), "") << "nothing is taken";
}

// Options that have not been checked before.
TEST(CortexMIsa, CompilingChecksThePair) {
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cortex-m");
  options.targets[0].settings = {{"cpu", "m0"}, {"isa", "dsp"}};
  compiler::Function function;
  function.name = "f";
  function.graph = std::make_unique<compiler::Graph>();
  const compiler::Status status = compiler::optimize(function, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diag().code, compiler::Code::usage);
}

}  // namespace
}  // namespace wick::cortex_m
