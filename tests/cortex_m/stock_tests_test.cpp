// Each case of ExecuTorch's own operator tests for Cortex-M (tests/fixtures/cortex_m_stock_tests/cases.tsv, those that
// it expects to fail included) computes what its quantized graph computes in eager, within the quantization steps of
// the tightest of those tests.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "compiler/support/diag.h"
#include "compiler/testing/pipeline.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::cortex_m {
namespace {

const std::filesystem::path kFolder = "tests/fixtures/cortex_m_stock_tests";

// Cases with a node that computes in float, and why. All others are integers.
const std::map<std::string, std::string, std::less<>> kFloats = {
    {"conv__conv3d", "aten.convolution.default: its weights are not quantized to int8: f32[1, 1, 1, 1, 1]"},
    {"max_pool2d__maxpool_2x2_indices", "aten.max_pool2d_with_indices.default: its indices are read"},
};

struct StockCase {
  std::string name;
  double steps = 0;
  friend void PrintTo(const StockCase& each, std::ostream* out) { *out << each.name; }
};

std::vector<StockCase> stock_cases() {
  std::vector<StockCase> cases;
  std::ifstream table(kFolder / "cases.tsv");
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    StockCase each;
    std::string what;
    std::istringstream(line) >> each.name >> each.steps >> what;
    if (what != "no-model") cases.push_back(each);
  }
  return cases;
}

HostValue value_of(const cli::NamedArray& array) {
  return HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes};
}

class CortexMStockTests : public ::testing::TestWithParam<StockCase> {};

TEST_P(CortexMStockTests, GivesTheResultsOfEager) {
  auto fixture = testing::expand_fixture((kFolder / (GetParam().name + ".wfix.gz")).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  std::vector<HostValue> inputs, eager;
  for (const cli::NamedArray& array : fixture->steps.at(0).inputs) inputs.push_back(value_of(array));
  for (const testing::SampledArray& output : fixture->steps.at(0).outputs) {
    ASSERT_EQ(output.every, 1);
    eager.push_back(value_of(output.array));
  }
  for (const char* cpu : {"m55", "m4", "m3"}) {
    SCOPED_TRACE(cpu);
    auto p = testing::Pipeline::from_bytes({fixture->pt2.data(), fixture->pt2.size()}, GetParam().name);
    p.backend(std::string("cortex-m:cpu=cortex-") + cpu);
    const auto reason = kFloats.find(GetParam().name);
    p.at(testing::Stage::lower)
        .check_outside(reason == kFloats.end() ? std::vector<std::string>{} : std::vector<std::string>{reason->second});
    // Stock's tests take as many steps, and 1e-3 absolute and relative beside them.
    p.run_and_compare(
        {.absolute = 1e-6, .relative = 1e-5, .of_largest = 0, .quantization_steps = 1.001 * GetParam().steps}, inputs,
        eager);
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(CortexMStockTests, AreAllThere) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) files.insert(entry.path().filename().string());
  const std::vector<StockCase> cases = stock_cases();
  EXPECT_GE(cases.size(), 245u);
  EXPECT_EQ(files.size(), cases.size() + 1);
}

INSTANTIATE_TEST_SUITE_P(Cases, CortexMStockTests, ::testing::ValuesIn(stock_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace wick::cortex_m
