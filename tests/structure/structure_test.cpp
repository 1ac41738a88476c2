// Every program of tests/fixtures/structure: compiled, run, compared with eager, at both ends of the instruction sets
// and with the XNNPACK backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/ir/text/text.h"
#include "compiler/support/file_map.h"
#include "tests/support/program_runner.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = "tests/fixtures/structure";

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".pt2") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<cli::NamedArray> arrays(const std::string& name) {
  auto read = cli::read_arrays((kFolder / name).string());
  EXPECT_TRUE(read.ok()) << name;
  return read.ok() ? std::move(*read) : std::vector<cli::NamedArray>{};
}

// The calls of a program, in order.
std::vector<std::string> steps_of(const std::string& name) {
  std::vector<std::string> steps;
  if (fs::exists(kFolder / (name + ".in.npz"))) steps.push_back(name);
  for (int i = 1; fs::exists(kFolder / fmt::format("{}.step{}.in.npz", name, i)); ++i)
    steps.push_back(fmt::format("{}.step{}", name, i));
  return steps;
}

struct Setting {
  const char *name, *backend;
  IsaLevel isa;
};
constexpr Setting kSettings[] = {
    {"baseline", "", IsaLevel::baseline}, {"fastest", "", IsaLevel::avx512}, {"xnnpack", "xnnpack", IsaLevel::avx512}};

// Where quantization is chosen at run time, the library does so row by row.
const std::vector<std::string> kByRows = {"quantized_dynamic"};
constexpr ArrayTolerance kRowSteps = {1e-5, 0.03};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What --dump-ir writes can be read, and is written again in the same words.
void expect_text_is_read_back(std::string_view stage, const compiler::Graph& graph) {
  const std::string text = compiler::to_text(graph, "forward");
  const auto again = compiler::parse_graph(text);
  ASSERT_TRUE(again.ok()) << stage << ": " << compiler::render(again.diag());
  EXPECT_EQ(compiler::to_text(*again->graph, "forward"), text) << stage;
}

class Structure : public ::testing::TestWithParam<std::string> {};

TEST_P(Structure, AgreesWithEager) {
  const std::string name = GetParam();
  auto map = compiler::FileMap::open((kFolder / (name + ".pt2")).string());
  ASSERT_TRUE(map.ok());
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.name);
    if (setting.backend[0] != '\0' && !has_xnnpack_library()) continue;
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets(setting.backend);
    if (setting.isa == IsaLevel::baseline)
      options.on_stage = [](std::string_view, std::string_view stage, const compiler::Graph& graph) {
        expect_text_is_read_back(stage, graph);
      };
    std::string error;
    auto program = CompiledProgram::make({{"forward", name + ".pt2", map->bytes()}}, options, setting.isa, &error);
    ASSERT_TRUE(program) << error;
    const std::vector<std::string> steps = steps_of(name);
    ASSERT_FALSE(steps.empty());
    const bool delegated = setting.backend[0] != '\0';
    const ArrayTolerance tolerance = delegated && contains(kByRows, name) ? kRowSteps : ArrayTolerance();
    for (const std::string& step : steps) {
      std::vector<cli::NamedArray> outputs;
      const bool runs = program->run("forward", arrays(step + ".in.npz"), &outputs, &error);
      ASSERT_TRUE(runs) << step << ": " << error;
      EXPECT_EQ(differences(outputs, arrays(step + ".out.npz"), tolerance), "") << step;
    }
  }
}

// Device code takes no part: the kernels are compiled for the host (docs/cuda.md, "The twin").
TEST_P(Structure, OnTheCudaTwinAgreesWithEager) {
  const std::string name = GetParam();
  auto map = compiler::FileMap::open((kFolder / (name + ".pt2")).string());
  ASSERT_TRUE(map.ok());
  const ScratchFolder folder;
  const std::string twin = folder.file("twin.so");
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cuda", {{"gpu", "none"}, {"twin", twin}});
  std::string error;
  auto program = CompiledProgram::make({{"forward", name + ".pt2", map->bytes()}}, options, IsaLevel::avx512, &error,
                                       "cuda-twin=" + twin);
  ASSERT_TRUE(program) << error;
  for (const std::string& step : steps_of(name)) {
    std::vector<cli::NamedArray> outputs;
    ASSERT_TRUE(program->run("forward", arrays(step + ".in.npz"), &outputs, &error)) << step << ": " << error;
    EXPECT_EQ(differences(outputs, arrays(step + ".out.npz"), {}), "") << step;
  }
}

// What stock has in a library of its own is there decomposed, what it lacks is refused.
TEST(LanguageModels, RunWithStocksOwnKernelsToo) {
  size_t count = 0;
  for (const std::string& name : programs()) {
    if (!name.starts_with("llm_")) continue;
    ++count;
    SCOPED_TRACE(name);
    auto map = compiler::FileMap::open((kFolder / (name + ".pt2")).string());
    ASSERT_TRUE(map.ok());
    std::string error;
    compiler::CompileOptions options;
    auto program = CompiledProgram::make({{"forward", name + ".pt2", map->bytes()}}, options, IsaLevel::avx512, &error);
    ASSERT_TRUE(program) << error;
    EXPECT_FALSE(program->compiled().methods[0].not_stock.empty());
    options.profile = compiler::Profile::stock;
    program = CompiledProgram::make({{"forward", name + ".pt2", map->bytes()}}, options, IsaLevel::avx512, &error);
    ASSERT_TRUE(program) << error;
    EXPECT_TRUE(program->compiled().methods[0].not_stock.empty());
    for (const std::string& step : steps_of(name)) {
      std::vector<cli::NamedArray> outputs;
      ASSERT_TRUE(program->run("forward", arrays(step + ".in.npz"), &outputs, &error)) << step << ": " << error;
      EXPECT_EQ(differences(outputs, arrays(step + ".out.npz"), {}), "") << step;
    }
  }
  EXPECT_GE(count, 10u);
}

// Rows go into the caches where they lie: no instruction copies a cache, whether it is state or an intermediate value.
TEST(LanguageModels, WriteTheirCachesInPlace) {
  for (const std::string& name : programs()) {
    if (!name.starts_with("llm_cache") || name.starts_with("llm_cache_written_twice")) continue;
    auto map = compiler::FileMap::open((kFolder / (name + ".pt2")).string());
    ASSERT_TRUE(map.ok());
    for (const compiler::Profile profile : {compiler::Profile::automatic, compiler::Profile::stock}) {
      compiler::CompileOptions options;
      options.profile = profile;
      std::string error;
      auto program =
          CompiledProgram::make({{"forward", name + ".pt2", map->bytes()}}, options, IsaLevel::baseline, &error);
      ASSERT_TRUE(program) << error;
      for (const compiler::CopyReason& copy : program->compiled().method_plans[0].copies) {
        EXPECT_EQ(copy.reason.find("buffer"), std::string::npos) << name << ": " << copy.reason;
        EXPECT_EQ(copy.reason.find("read later"), std::string::npos) << name << ": " << copy.reason;
      }
    }
  }
}

template <typename T>
cli::NamedArray filled(const std::string& name, DType dtype, std::vector<int64_t> sizes, T value) {
  cli::NamedArray array{name, dtype, sizes, {}};
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  for (int64_t i = 0; i < count; ++i) array.bytes.insert(array.bytes.end(), bytes, bytes + sizeof value);
  return array;
}
cli::NamedArray floats(const std::string& name, std::vector<int64_t> sizes, float value) {
  return filled(name, DType::f32, std::move(sizes), value);
}

struct BrokenRule {
  const char* program;
  std::vector<cli::NamedArray> inputs;
  const char* error;
};
class BrokenRules : public ::testing::TestWithParam<BrokenRule> {};

TEST_P(BrokenRules, StopTheProgramAndAreNamed) {
  const BrokenRule& rule = GetParam();
  auto map = compiler::FileMap::open((kFolder / (std::string(rule.program) + ".pt2")).string());
  ASSERT_TRUE(map.ok());
  std::string error;
  auto program = CompiledProgram::make({{"forward", rule.program, map->bytes()}}, {}, IsaLevel::avx512, &error);
  ASSERT_TRUE(program) << error;
  std::vector<cli::NamedArray> outputs;
  ASSERT_FALSE(program->run("forward", rule.inputs, &outputs, &error));
  EXPECT_NE(error.find(rule.error), std::string::npos) << error;
}

const BrokenRule kBrokenRules[] = {
    {"asserts", {floats("in0", {3}, -50)}, "Runtime assertion failed for expression"},
    {"assert_tensor", {floats("in0", {4}, -1)}, "the sum is positive"},
    {"assert_condition", {floats("in0", {4}, 0), filled("in1", DType::i64, {}, int64_t{3})}, "a value of true"},
    {"assert_condition", {floats("in0", {4}, 9), filled("in1", DType::i64, {}, int64_t{2})}, "a value of 3"},
    {"assert_range", {floats("in0", {8}, 1), filled("in1", DType::i64, {}, int64_t{6})}, "must be in [2, 5]"},
    {"assert_range", {floats("in0", {8}, 1), filled("in1", DType::i64, {}, int64_t{1})}, "must be in [2, 5]"},
    {"dynamic_plus_one",
     {floats("in0", {4}, 1), floats("in1", {4}, 1)},
     "dimension 0 of input 1 ('inputs_1') must be s35"},
    {"dynamic_plus_one",
     {floats("in0", {2}, 1), floats("in1", {1}, 1)},
     "dimension 0 of input 0 ('inputs_0') must be in [3, 65]"},
};
INSTANTIATE_TEST_SUITE_P(Programs, BrokenRules, ::testing::ValuesIn(kBrokenRules));

INSTANTIATE_TEST_SUITE_P(Programs, Structure, ::testing::ValuesIn(programs()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::testing
