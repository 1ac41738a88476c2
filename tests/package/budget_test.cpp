// Instructions, stack and flash of the models of MLPerf Tiny on the boards, against what they may take. The
// instructions of the peer are the sums of CMSIS-NN's kernels, each built by the compiler that is best for it
// (docs/benchmarks.md).
#include "tests/package/package_test_support.h"

namespace wick::cli::budget_test {
namespace {

struct Budget {
  const char *model, *cpu;
  uint64_t peer;  // instructions
  double ratio;   // of ours to the peer's
};

constexpr uint64_t kMostStackBytes = 2048, kMostFlashBytes = 40 * 1024;

constexpr Budget kBudgets[] = {
    {"ds_cnn", "cortex-m55", 1752678, 0.65},
    {"resnet8", "cortex-m55", 4571544, 0.60},
    {"mobilenet_v1_025", "cortex-m55", 6255504, 0.60},
    {"autoencoder", "cortex-m55", 119211, 1.0},
    {"ds_cnn", "cortex-m4", 7397549, 0.85},
    {"resnet8", "cortex-m4", 28450891, 0.85},
    {"mobilenet_v1_025", "cortex-m4", 23389658, 0.85},
    {"autoencoder", "cortex-m4", 1398572, 0.9},
    {"ds_cnn", "cortex-m3", 10537818, 0.9},
    {"resnet8", "cortex-m3", 41753783, 0.9},
    {"mobilenet_v1_025", "cortex-m3", 32082021, 0.9},
    {"autoencoder", "cortex-m3", 2035632, 0.9},
};

uint64_t field(const std::string& json, const std::string& name) {
  const size_t at = json.find("\"" + name + "\":");
  return at == std::string::npos ? 0 : std::strtoull(json.c_str() + at + name.size() + 3, nullptr, 10);
}

class Budgets : public PackageTest, public ::testing::WithParamInterface<Budget> {};

TEST_P(Budgets, OfMlperfTinyHoldInProfilesAutoAndStock) {
  const Budget& budget = GetParam();
  const std::string device = std::string("qemu-") + budget.cpu;
  for (const char* profile : {"auto", "stock"}) {
    SCOPED_TRACE(profile);
    const std::string program = compile_quantized(budget.model, std::string(budget.cpu) + " --profile " + profile);
    const Outcome bench = wick("bench " + program + " --json --device " + device);
    if (bench.exit_code == 2) {
      ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << bench.err;
      GTEST_SKIP() << bench.err;
    }
    ASSERT_EQ(bench.exit_code, 0) << bench.err;
    const uint64_t instructions = field(bench.out, "instructions");
    ASSERT_GT(instructions, 0u);
    EXPECT_LE(static_cast<double>(instructions), budget.ratio * static_cast<double>(budget.peer));
    EXPECT_LE(field(bench.out, "stack_bytes"), kMostStackBytes);
    if (std::string(budget.model) == "ds_cnn")
      EXPECT_LE(field(bench.out, "core") + field(bench.out, "kernels"), kMostFlashBytes);
    RecordProperty(std::string(profile) + "_instructions", std::to_string(instructions));
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, Budgets, ::testing::ValuesIn(kBudgets), [](const auto& test) {
  std::string name = std::string(test.param.model) + "_" + test.param.cpu;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace wick::cli::budget_test
