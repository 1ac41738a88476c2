// Every program of tests/fixtures/structure: compiled, run, compared with eager, at both ends of the instruction sets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/support/file_map.h"
#include "tests/support/program_runner.h"

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

class Structure : public ::testing::TestWithParam<std::string> {};

TEST_P(Structure, AgreesWithEager) {
  const std::string name = GetParam();
  auto map = compiler::FileMap::open((kFolder / (name + ".pt2")).string());
  ASSERT_TRUE(map.ok());
  for (IsaLevel isa : {IsaLevel::baseline, IsaLevel::avx512}) {
    std::string error;
    auto program = CompiledProgram::make({{"forward", name + ".pt2", map->bytes()}}, {}, isa, &error);
    ASSERT_TRUE(program) << error;
    std::vector<std::string> steps;
    if (fs::exists(kFolder / (name + ".in.npz"))) steps.push_back(name);
    for (int i = 1; fs::exists(kFolder / fmt::format("{}.step{}.in.npz", name, i)); ++i)
      steps.push_back(fmt::format("{}.step{}", name, i));
    ASSERT_FALSE(steps.empty());
    for (const std::string& step : steps) {
      std::vector<cli::NamedArray> outputs;
      ASSERT_TRUE(program->run("forward", arrays(step + ".in.npz"), &outputs, &error)) << step << ": " << error;
      EXPECT_EQ(differences(outputs, arrays(step + ".out.npz"), {}), "") << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Structure, ::testing::ValuesIn(programs()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::testing
