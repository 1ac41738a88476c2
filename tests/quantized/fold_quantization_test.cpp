// Every program of tests/fixtures/quantized: quantization folded into types and written back as nodes is the same
// program, for the compiler and in its numbers.
#include "compiler/quantize/fold_quantization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/ir/text/text.h"
#include "compiler/support/diag.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/support/program_runner.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

using compiler::Changed;
using compiler::Graph;

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures/quantized")) {
    const std::string name = entry.path().filename();
    names.push_back(name.substr(0, name.find('.')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const Graph& graph) { return to_text(graph, "forward", {.origins = false}); }

// How many values have facts.
size_t count_facts(const Graph& graph) {
  size_t count = 0;
  for (const auto& value : graph.values()) count += value->is_quantized();
  return count;
}

// Folds, writes back, and folds again; leaves the nodes as they were written back.
void fold_and_unfold(Graph& graph) {
  fold_quantization(graph);
  const auto sound = [&] {
    const compiler::Status status = verify(graph);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : render(status.diag()));
  };
  sound();
  const std::string folded = text_of(graph);
  EXPECT_GT(count_facts(graph), 0u);
  EXPECT_EQ(folded.find("quantized_decomposed.dequantize"), std::string::npos) << folded;
  EXPECT_EQ(folded.find("torchao.dequantize"), std::string::npos) << folded;
  unfold_quantization(graph);
  sound();
  EXPECT_EQ(count_facts(graph), 0u);
  EXPECT_EQ(text_of(graph).find("wick.convert"), std::string::npos);
  fold_quantization(graph);
  EXPECT_EQ(text_of(graph), folded);
  unfold_quantization(graph);
}

class FoldedProgram : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto expanded = expand_fixture("tests/fixtures/quantized/" + GetParam() + ".wfix.gz");
    ASSERT_TRUE(expanded.ok()) << compiler::render(expanded.diag());
    fixture_ = std::move(*expanded);
  }

  std::unique_ptr<CompiledProgram> compile(const std::vector<compiler::Phase>& phases) {
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets("xnnpack");
    for (const compiler::Phase phase : phases) {
      const auto run = [this](Graph& graph) -> compiler::Result<Changed> {
        ++times_;
        fold_and_unfold(graph);
        return Changed::yes;
      };
      options.extra_passes.push_back({"fold_and_unfold", run, phase});
    }
    std::string error;
    auto program = CompiledProgram::make({{"forward", GetParam(), {fixture_.pt2.data(), fixture_.pt2.size()}}}, options,
                                         IsaLevel::avx512, &error);
    EXPECT_TRUE(program) << error;
    return program;
  }

  Fixture fixture_;
  size_t times_ = 0;
};

TEST_P(FoldedProgram, IsWhatItWas) {
  const auto as_it_was = compile({}), written_back = compile({compiler::Phase::recognize, compiler::Phase::target});
  ASSERT_TRUE(as_it_was && written_back);
  EXPECT_GE(times_, 2u);
  EXPECT_EQ(written_back->compiled().methods[0].delegates, 1u);
  EXPECT_EQ(written_back->compiled().methods[0].kernels, as_it_was->compiled().methods[0].kernels);
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  std::vector<cli::NamedArray> wanted, found;
  std::string error;
  const auto& inputs = fixture_.steps.at(0).inputs;
  if (!as_it_was->run("forward", inputs, &wanted, &error) && !xnnpack_has_all_kernels()) GTEST_SKIP() << error;
  ASSERT_TRUE(written_back->run("forward", inputs, &found, &error)) << error;
  EXPECT_EQ(differences(found, wanted, {0, 0}), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, FoldedProgram, ::testing::ValuesIn(programs()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::testing
