// What the tool says of costs and memory of programs for Cortex-M.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "compiler/support/diag.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/hostile/run_wick.h"
#include "tests/support/scratch_folder.h"

namespace wick::cortex_m {
namespace {

class CortexMExplain : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  /// The .pt2 of a fixture.
  std::string model(const std::string& fixture) {
    auto expanded = testing::expand_fixture("tests/fixtures/" + fixture + ".wfix.gz");
    EXPECT_TRUE(expanded.ok());
    if (!expanded.ok()) return "";
    std::ofstream(path("model.pt2"), std::ios::binary)
        .write(reinterpret_cast<const char*>(expanded->pt2.data()), static_cast<std::streamsize>(expanded->pt2.size()));
    return path("model.pt2");
  }

  static void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }

  testing::ScratchFolder folder_;
};

TEST_F(CortexMExplain, ShowsWhatEachCallTakes) {
  const testing::Outcome outcome =
      testing::run_wick({"explain", model("quantized/static_mixed"), "--backend", "cortex-m"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_parts(outcome.output, {"kernel", "MACs", "alive", "cortex_m::quantized_conv2d.out", "mve",
                                "predicted for cortex_m.cpu=cortex-m55 cortex_m.isa=mve", "320 of scratch at most",
                                "convert between floats and integers", "(executor)"});
  expect_parts(outcome.output, {"peak at instruction 11 (aten::clamp.out, quantized.py:55): 8192 bytes alive"});
}

// The quantizer leaves nodes without a place at the input and the output.
TEST_F(CortexMExplain, PlacesAreTheUsersLines) {
  for (const auto& [fixture, file] : {std::pair("ds_cnn", "ds_cnn.py:"), std::pair("resnet8", "resnet8.py:")}) {
    const testing::Outcome outcome = testing::run_wick(
        {"explain", model("cortex_m_quantized/" + std::string(fixture)), "--backend", "cortex-m", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    size_t count = 0;
    for (size_t at = outcome.output.find("\"source\":\""); at != std::string::npos;
         at = outcome.output.find("\"source\":\"", at + 1), ++count)
      EXPECT_EQ(outcome.output.substr(at + 10, std::strlen(file)), file);
    EXPECT_GT(count, 10u);
  }
}

TEST_F(CortexMExplain, ShowsWhatFloatsCost) {
  const testing::Outcome outcome =
      testing::run_wick({"explain", model("quantized/static_mixed"), "--backend", "cortex-m"});
  const size_t node = outcome.output.find("aten.gelu.default");
  ASSERT_NE(node, std::string::npos) << outcome.output;
  const std::string line = outcome.output.substr(node, outcome.output.find('\n', node) - node);
  expect_parts(line, {"its result is not quantized", "on floats: ", "of them conversions", "bytes of floats"});
}

// Elements in between have no counterpart by name in a model of quantize and dequantize nodes.
TEST_F(CortexMExplain, CompareLooksAtTheElementsInside) {
  const auto compiled = [&](const char* fixture, const char* name) {
    return testing::run_wick({"compile", model(fixture), "-o", path(name), "--backend", "cortex-m"}).exit_code;
  };
  ASSERT_EQ(compiled("cortex_m_quantized/lstm_quantized", "lstm.pte"), 0);
  ASSERT_EQ(compiled("cortex_m_quantized/conv_chain", "chain.pte"), 0);
  const testing::Outcome chain = testing::run_wick({"compare", path("model.pt2"), path("chain.pte")});
  EXPECT_EQ(chain.exit_code, 0) << chain.output;
  expect_parts(chain.output, {"5 nodes compared"});
  EXPECT_EQ(chain.output.find("deviation"), std::string::npos) << chain.output;
  const testing::Outcome other =
      testing::run_wick({"compare", model("cortex_m_quantized/gru_quantized"), path("lstm.pte")});
  EXPECT_EQ(other.exit_code, 5) << other.output;
  expect_parts(other.output, {"the first node that deviates", "from all that the model quantizes to this type"});
}

// Its tables and copies give elements that the model has nowhere.
TEST_F(CortexMExplain, CompareSaysNothingOfElementsThatTheModelLacksWhereTheOutputsAgree) {
  for (const char* fixture : {"batch_norm", "matmul_rank_4"}) {
    const std::string pt2 = model(std::string("cortex_m_quantized/") + fixture);
    ASSERT_EQ(testing::run_wick({"compile", pt2, "-o", path("program.pte"), "--backend", "cortex-m"}).exit_code, 0);
    const testing::Outcome outcome = testing::run_wick({"compare", pt2, path("program.pte")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.output.find("deviation"), std::string::npos) << outcome.output;
  }
}

TEST_F(CortexMExplain, TheSameAsJson) {
  const testing::Outcome outcome =
      testing::run_wick({"explain", model("quantized/static_mixed"), "--backend", "cortex-m", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_parts(outcome.output,
               {R"("predicted_for":"cortex_m.cpu=cortex-m55 cortex_m.isa=mve")", R"("totals":{"instructions":)",
                R"("kernel":"mve","macs":18432)", R"("alive_bytes":)", R"("terms":[{"name":"call")",
                R"("on_floats":{"instructions":)", R"("conversions":{)",
                R"j("peak_place":"instruction 11 (aten::clamp.out, quantized.py:55)")j", R"("peak_holds":[)"});
}

TEST_F(CortexMExplain, ProgramsOfOthersAreExplainedForTheProcessorThatIsNamed) {
  const std::string program = "tests/fixtures/cortex_m/conv.dsp.pte";
  const testing::Outcome dsp = testing::run_wick({"explain", program, "--backend", "cortex-m:cpu=cortex-m4"});
  expect_parts(dsp.output, {"predicted for cortex_m.cpu=cortex-m4 cortex_m.isa=dsp", " plain "});
  const testing::Outcome other = testing::run_wick({"explain", program});
  expect_parts(other.output, {"predicted for cortex-m:", " mve "});
}

TEST_F(CortexMExplain, AnArenaThatDoesNotFitComesWithNumbers) {
  const testing::Outcome outcome =
      testing::run_wick({"compile", model("cortex_m_quantized/mobilenet_v1_025"), "-o", path("m.pte"), "--backend",
                         "cortex-m", "--max-arena", "40KB", "--report", path("report.json")});
  EXPECT_EQ(outcome.exit_code, 6) << outcome.output;
  expect_parts(outcome.output, {"the peak of method 'forward' is instruction 0 (cortex_m::quantize_per_tensor.out",
                                "x f32[1, 3, 96, 96] 110592 bytes (80 %)", "quantized to int8 they would be 27648",
                                "images of about 52 x 52 in place of 96 x 96 would fit"});
  std::ifstream report(path("report.json"));
  const std::string json(std::istreambuf_iterator<char>(report), {});
  expect_parts(json, {R"("advice":["the peak of method)"});
}

TEST_F(CortexMExplain, AFileThatDoesNotFitComesWithNumbers) {
  const std::string linear = model("cortex_m_quantized/autoencoder");
  const testing::Outcome outcome =
      testing::run_wick({"compile", linear, "-o", path("m.pte"), "--backend", "cortex-m", "--max-file", "100KB"});
  EXPECT_EQ(outcome.exit_code, 6) << outcome.output;
  expect_parts(outcome.output, {"constants have ", "81920 bytes (29 %)", "with weights of four bits about 135440"});
  const testing::Outcome fits =
      testing::run_wick({"compile", linear, "-o", path("m.pte"), "--backend", "cortex-m", "--max-file", "300KB"});
  EXPECT_EQ(fits.exit_code, 0) << fits.output;
}

// An option that helps is named with what it gives: kernels without vectors need less scratch memory.
TEST_F(CortexMExplain, AnOptionThatHelpsIsNamed) {
  const std::string depthwise = model("cortex_m_quantized/depthwise_5x5");
  const auto compile = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"compile", depthwise, "-o", path("m.pte"), "--backend", "cortex-m"};
    args.insert(args.end(), more.begin(), more.end());
    return testing::run_wick(args);
  };
  const testing::Outcome scalar = compile({"--isa", "scalar"});
  const size_t arena = scalar.output.find("arena ");
  ASSERT_NE(arena, std::string::npos) << scalar.output;
  const std::string bytes = std::to_string(std::stoul(scalar.output.substr(arena + 6)));
  const testing::Outcome outcome = compile({"--max-arena", bytes});
  EXPECT_EQ(outcome.exit_code, 6) << outcome.output;
  expect_parts(outcome.output, {"--isa scalar: an arena of " + bytes + " bytes"});
  EXPECT_NE(outcome.output.find(", which fit\n"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace wick::cortex_m
