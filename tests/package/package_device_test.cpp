// Packages on boards that QEMU emulates, compiled by GCC and by clang: scripts/run_package.sh.
#include "tests/package/package_test_support.h"

namespace wick::cli {
namespace {

struct Case {
  const char *model, *cpu, *compiler;
};

class PackageOnBoard : public PackageTest, public ::testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    for (const char* tool : {"arm-none-eabi-g++", "qemu-system-arm", "clang++-19"}) {
      if (run(std::string("command -v ") + tool).exit_code == 0) continue;
      ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << tool << " is not installed";
      GTEST_SKIP() << tool << " is not installed";
    }
  }
};

TEST_P(PackageOnBoard, GivesTheResultsOfTheHost) {
  const auto& [model, cpu, compiler] = GetParam();
  const std::string program = std::string(cpu) == "any"
                                  ? compile("tests/fixtures/digits/digits.pt2", "digits.pte", "--backend portable")
                                  : compile_quantized(model, cpu);
  const std::string flags = std::string(cpu) == "any" ? " --cpu cortex-m4 -i tests/fixtures/digits/digits.in.npz" : "";
  const Outcome made = wick("package " + program + " -o '" + path("out") + "'" + flags);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome ran = run("scripts/run_package.sh '" + path("out") + "' " + compiler);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE((ran.out + ran.err).find(": equal"), std::string::npos) << ran.out << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Package, PackageOnBoard,
                         ::testing::Values(Case{"ds_cnn", "cortex-m55", "gcc"}, Case{"vit", "cortex-m55", "clang"},
                                           Case{"resnet8", "cortex-m4", "gcc"},
                                           Case{"mobilenet_v1_025", "cortex-m3", "clang"},
                                           Case{"digits", "any", "gcc"}),
                         [](const auto& test) {
                           std::string name = std::string(test.param.model) + "_" + test.param.compiler;
                           return name;
                         });

}  // namespace
}  // namespace wick::cli
