// `wick compare --device` names the first node that a board computes otherwise than the host.
#include <filesystem>
#include <fstream>

#include "tests/cortex_m/quantized_fixtures.h"
#include "tests/devices/board_test_support.h"
#include "tests/hostile/run_wick.h"
#include "tests/support/scratch_folder.h"

namespace wick::device {
namespace {

namespace fs = std::filesystem;

class CompareOnBoards : public BoardTest {
 protected:
  /// Compares a fixture on this board, whose runner is that file of the build.
  testing::Outcome compare(const char* runner, const char* program, bool json) {
    const fs::path from = fs::path(find_files(GetParam())->runner).replace_filename(runner);
    EXPECT_TRUE(fs::exists(from)) << from << " is not built";
    const fs::path to = fs::path(folder_.path()) / GetParam().preset;
    fs::create_directories(to);
    fs::remove(to / "wick_runner");
    fs::create_symlink(fs::absolute(from), to / "wick_runner");
    setenv("WICK_DEVICES", folder_.path().c_str(), 1);
    std::vector<std::string> args = {"compare", std::string("tests/fixtures/cortex_m/") + program, "--device",
                                     GetParam().device};
    if (json) args.emplace_back("--json");
    const testing::Outcome outcome = testing::run_wick(args);
    unsetenv("WICK_DEVICES");
    return outcome;
  }

  testing::ScratchFolder folder_;
};

TEST_P(CompareOnBoards, NamesTheFirstNodeWithOtherBytes) {
  const testing::Outcome wrong = compare("wick_faulty_runner", "resnet8.mve.pte", false);
  EXPECT_EQ(wrong.exit_code, 5) << wrong.output;
  // The second of three sums follows from the first, so it deviates, too.
  const char* note = "the first node that deviates: instruction 4, cortex_m::quantized_add.out: max abs 1";
  EXPECT_NE(wrong.output.find(note), std::string::npos) << wrong.output;
  EXPECT_NE(wrong.output.find("1 of 16384 elements outside"), std::string::npos) << wrong.output;
  EXPECT_NE(wrong.output.find(std::string("the results on ") + GetParam().device + " differ from the host's"),
            std::string::npos)
      << wrong.output;
  const testing::Outcome json = compare("wick_faulty_runner", "resnet8.mve.pte", true);
  EXPECT_EQ(json.exit_code, 5) << json.output;
  EXPECT_NE(json.output.find("\"op\":\"cortex_m::quantized_add.out\""), std::string::npos) << json.output;
}

TEST_P(CompareOnBoards, AProgramWithoutWrongKernelsAgrees) {
  const testing::Outcome same = compare("wick_runner", "resnet8.mve.pte", false);
  EXPECT_EQ(same.exit_code, 0) << same.output;
  const testing::Outcome other = compare("wick_faulty_runner", "linear_chain.mve.pte", false);
  EXPECT_EQ(other.exit_code, 0) << other.output;
}

// The last bits of sums of floats depend on the order of additions; a board's is another than a host's.
TEST_P(CompareOnBoards, FloatsAgreeWithinATolerance) {
  const std::string model = (fs::path(folder_.path()) / "lstm.pt2").string(), program = model + ".pte";
  const auto lstm = cortex_m::quantized_program("lstm");
  ASSERT_TRUE(lstm.has_value());
  std::ofstream(model, std::ios::binary).write(reinterpret_cast<const char*>(lstm->pt2.data()), lstm->pt2.size());
  const testing::Outcome compiled = testing::run_wick(
      {"compile", model, "-o", program, "--backend", "cortex-m", "--profile", "stock", "--cpu", GetParam().preset});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_NE(compiled.output.find("aten.lstm.input as a whole"), std::string::npos) << compiled.output;
  const std::vector<std::string> call = {"compare", program, "--device", GetParam().device};
  const testing::Outcome same = testing::run_wick(call);
  EXPECT_EQ(same.exit_code, 0) << same.output;
}

INSTANTIATE_TEST_SUITE_P(Devices, CompareOnBoards, ::testing::ValuesIn(boards().begin(), boards().end()), board_name);

}  // namespace
}  // namespace wick::device
