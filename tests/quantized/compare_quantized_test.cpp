// What `wick compare` says of quantized programs: roundings that turn are allowed, and nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>

#include "cli/arrays/npz.h"
#include "compiler/support/diag.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/hostile/run_wick.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

struct Program {
  const char* name;
  size_t at, changed;  // bytes of a weight, counted from the first constant
};
constexpr Program kPrograms[] = {
    {"static_per_channel", 0, 256},
    {"static_resnet", 0, 16},
    {"static_mixed", 0, 16},
    {"dynamic_int4_llama", 12288, 256},
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

class CompareQuantized : public ::testing::TestWithParam<Program> {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  void compile(const char* backend, const std::string& folder = "tests/fixtures/quantized/") {
    auto fixture = expand_fixture(folder + GetParam().name + ".wfix.gz");
    ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
    std::ofstream(path("model.pt2"), std::ios::binary)
        .write(reinterpret_cast<const char*>(fixture->pt2.data()), static_cast<std::streamsize>(fixture->pt2.size()));
    ASSERT_TRUE(cli::write_arrays(path("in.npz"), fixture->steps.at(0).inputs).ok());
    const Outcome compiled = run_wick({"compile", path("model.pt2"), "-o", path("model.pte"), "--backend", backend});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  }

  /// other.pte: the program with other bytes of weights.
  void change_weights() {
    const Outcome inspected = run_wick({"inspect", path("model.pte"), "--json"});
    const size_t base = inspected.output.find("\"segment_base\":");
    ASSERT_NE(base, std::string::npos) << inspected.output;
    std::ifstream file(path("model.pte"), std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const size_t begin = std::stoul(inspected.output.substr(base + 15)) + GetParam().at;
    ASSERT_LE(begin + GetParam().changed, bytes.size());
    for (size_t at = begin; at < begin + GetParam().changed; ++at) bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    std::ofstream(path("other.pte"), std::ios::binary) << bytes;
  }

  Outcome compare(const std::string& program) const {
    return run_wick({"compare", path("model.pt2"), path(program), "-i", path("in.npz")});
  }

  ScratchFolder folder_;
};

TEST_P(CompareQuantized, ASoundProgramAgrees) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "this build has no XNNPACK";
  compile("xnnpack");
  const Outcome outcome = compare("model.pte");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

// Operators of the backend beside floats: nodes that only one of the programs has are no deviation.
TEST_P(CompareQuantized, AMixedProgramHasNoDeviationInside) {
  compile("cortex-m");
  const Outcome outcome = compare("model.pte");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("deviation"), std::string::npos) << outcome.output;
}

TEST_P(CompareQuantized, AProgramWithOtherWeightsDiffers) {
  compile("portable");
  ASSERT_EQ(compare("model.pte").exit_code, 0);
  change_weights();
  const Outcome outcome = compare("other.pte");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.output;
  EXPECT_NE(outcome.output.find("the first node that deviates: instruction "), std::string::npos) << outcome.output;
}

// Of a network of many layers, one mistaken weight may not show in the outputs beside what roundings do to them.
class CompareIntegers : public CompareQuantized {};

TEST_P(CompareIntegers, AMistakeInsideIsFoundWhereTheOutputsAgree) {
  compile("cortex-m", "tests/fixtures/cortex_m_quantized/");
  const Outcome sound = compare("model.pte");
  ASSERT_EQ(sound.exit_code, 0) << sound.output;
  change_weights();
  const Outcome outcome = compare("other.pte");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.output;
  EXPECT_NE(outcome.output.find("outputs agree with the model's, but not its results inside"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("instruction "), std::string::npos) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(Programs, CompareIntegers, ::testing::Values(Program{"vit", 0, 64}),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Programs, CompareQuantized, ::testing::ValuesIn(kPrograms),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace wick::testing
