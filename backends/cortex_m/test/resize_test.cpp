// Upsampling, log_softmax and embedding tables are computed on integers, within one step of the quantized graph on
// portable kernels.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::resize_test {
namespace {

using testing::Pipeline;
using testing::Stage;

std::string unary(const std::string& body, const char* sizes, const std::string& from = parameters(0.03125, -11),
                  const std::string& to = parameters(0.03, -20)) {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + fake_quantized("d", "x", "q", from) + "  " + body + "\n" +
         fake_quantized("o", "y", "p", to) + "  return %o\n}";
}

void expect_integers(const std::string& text, const char* op) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"cortex-m55", "cortex-m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_count(op, 1);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
  }
}

// The reason of the only node outside of the backend.
std::string refusal(const std::string& text, bool stock = false) {
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  if (stock) p.options().profile = compiler::Profile::stock;
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  const std::vector<std::string> outside = p.outside();
  return outside.empty() ? "" : outside[0];
}

constexpr char kResize[] = "wick_cortex_m.resize2d";

TEST(CortexMCompileResize, PixelsBetweenOthers) {
  for (const char* more : {"[7, 9], false, none", "[7, 9], true, none", "[3, 2], false, none", "[1, 1], true, none",
                           "none, false, [1.6, 2.25]", "none, true, [2.0, 0.5]"})
    expect_integers(unary(fmt::format("%y = aten.upsample_bilinear2d.vec(%d, {})", more), "2, 5, 4, 6"), kResize);
  expect_integers(unary("%y = aten.upsample_bilinear2d(%d, [5, 5], false, 1.2, none)", "1, 3, 4, 4"), kResize);
  expect_integers(unary("%y = aten.upsample_linear1d(%d, [11], false)", "1, 3, 4"), kResize);
  expect_integers(unary("%y = aten.upsample_bilinear2d.vec(%d, [4, 5], false, none)", "1, 3, 1, 1"), kResize);
}

TEST(CortexMCompileResize, NearestPixels) {
  const std::string q = parameters(0.03125, -11);
  for (const char* more : {"[7, 9], none", "none, [2.0, 2.0]", "[2, 3], none"})
    expect_integers(unary(fmt::format("%y = aten.upsample_nearest2d.vec(%d, {})", more), "2, 5, 4, 6", q, q), kResize);
  expect_integers(unary("%y = aten.upsample_nearest2d.vec(%d, [7, 9], none)", "2, 5, 4, 6"), kResize);
  for (const char* more : {"[7, 9], none", "none, [2.0, 1.5]", "[3, 2], none"})
    expect_integers(unary(fmt::format("%y = aten._upsample_nearest_exact2d.vec(%d, {})", more), "2, 5, 4, 6"), kResize);
}

TEST(CortexMCompileResize, LimitsAndProfileStock) {
  const std::string bilinear = "%y = aten.upsample_bilinear2d.vec(%d, [7, 9], false, none)";
  const std::string from = parameters(0.03, -11);
  expect_integers(unary(bilinear, "1, 2, 4, 6", from, parameters(0.01, 0)), kResize);
  EXPECT_NE(refusal(unary(bilinear, "1, 2, 4, 6", from, parameters(0.0099, 0))).find("too small"), std::string::npos);
  EXPECT_NE(refusal(unary(bilinear, "1, 2, 4, 6"), true).find("stock has no integer form"), std::string::npos);
  EXPECT_EQ(refusal(unary("%y = aten.upsample_nearest2d.vec(%d, [7, 9], none)", "1, 2, 4, 6", from, from), true), "");
  const std::string large = "%y = aten.upsample_bilinear2d.vec(%d, [{}, 1], false, none)";
  expect_integers(unary(fmt::format(fmt::runtime(large), 1024), "1, 1, 2, 1"), kResize);
  EXPECT_NE(refusal(unary(fmt::format(fmt::runtime(large), 1025), "1, 1, 2, 1")).find("more than 1024"),
            std::string::npos);
}

constexpr char kLogSoftmax[] = "wick_cortex_m.log_softmax";

TEST(CortexMCompileLogSoftmax, AlongAnyDimension) {
  const std::string to = parameters(0.05, 120);
  for (const char* dim : {"0", "1", "2", "-1"})
    expect_integers(
        unary(fmt::format("%y = aten._log_softmax(%d, {}, false)", dim), "3, 7, 5", parameters(0.04, 9), to),
        kLogSoftmax);
  expect_integers(unary("%y = aten.log_softmax.int(%d, -1)", "2, 1", parameters(0.04, 9), to), kLogSoftmax);
  expect_integers(unary("%y = aten._log_softmax(%d, 1, false)", "2, 300", parameters(0.5, 9), parameters(0.7, 127)),
                  kLogSoftmax);
}

TEST(CortexMCompileLogSoftmax, Limits) {
  const std::string body = "%y = aten._log_softmax(%d, 1, false)";
  expect_integers(unary(body, "2, 3", parameters(3.999, 9), parameters(4, 127)), kLogSoftmax);
  EXPECT_NE(refusal(unary(body, "2, 3", parameters(4, 9), parameters(4, 127))).find("too large"), std::string::npos);
  EXPECT_NE(refusal(unary(body, "2, 3", parameters(0.04, 9), parameters(0.05, 120)), true).find("stock has no"),
            std::string::npos);
}

// --- tables ---

std::string table(const std::string& constant, const std::string& numbers) {
  return "graph f(%x: i64[2, 3]) {\n" + constant + numbers + "  %y = aten.embedding(%w, %x)\n" +
         fake_quantized("o", "y", "p", parameters(0.03, -20)) + "  return %o\n}";
}

std::vector<HostValue> words() {
  HostTensor tensor{DType::i64, {2, 3}, std::vector<uint8_t>(48)};
  for (size_t i = 0; i < 6; ++i) tensor.bytes[8 * i] = static_cast<uint8_t>(i % 4);
  return {tensor};
}

TEST(CortexMCompileEmbedding, TheTableHasTheScaleOfTheResult) {
  const std::string floats = constant_line("w", "f32[4, 2]", std::vector<double>{0.5, -1.25, 3, 0, 9, -9, 0.11, 0.12});
  const std::string bytes = constant_line("e", "i8[4, 2]", std::vector<int>{1, -2, 3, 4, 127, -128, 7, 8});
  const std::string scales = constant_line("s", "f32[4]", std::vector<double>{0.5, 0.25, 0.125, 1}) +
                             constant_line("z", "i64[4]", std::vector<int>{0, 3, -1, 2});
  for (const std::string& text :
       {table(floats, ""), table(bytes, dequantize_line("w", "e", parameters(0.04, 3))),
        table(bytes + scales, "  %w = quantized_decomposed.dequantize_per_channel(%e, %s, %z, 0, -128, 127, i8)\n")}) {
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_count("aten.embedding", 1).check_count("cortex_m.dequantize_per_tensor", 1);
    p.run_and_compare({.quantization_steps = 1e-3}, words());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
  }
}

}  // namespace
}  // namespace wick::cortex_m::resize_test

// Operators that respell_dequantized replaces by others, and pools with unequal windows.
namespace wick::cortex_m::respelled_test {
namespace {

using testing::Pipeline;
using testing::Stage;

std::string model(const std::string& sizes, const std::string& call, const Elements& from, const Elements& to,
                  double largest) {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + on_grid("b", "x", from, 2.5) + "  " + call + "\n" +
         on_grid("o", "c", to, largest) + "  return %o\n}";
}

// `most`: allowed error in steps of int16. Values that no quantizer annotated may be off by three of them.
void expect_integers(const std::string& sizes, const std::string& call, double largest, double most = 1.001,
                     std::initializer_list<Elements> results = {kNarrow, kWide}) {
  for (const Elements& from : {kNarrow, kWide}) {
    for (const Elements& to : results) {
      const std::string text = model(sizes, call, from, to, largest);
      for (const char* cpu : {"m55", "m4", "m3"}) {
        SCOPED_TRACE(text);
        Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
        p.at(Stage::lower).check_outside({}).check_not("quantized_decomposed");
        testing::Tolerance tolerance = one_step();
        if (to.max == kWide.max) tolerance.quantization_steps = most;
        p.run_and_compare(tolerance);
        EXPECT_EQ(p.failures(), "") << cpu;
      }
    }
  }
}

TEST(CortexMRespelled, LogarithmsOfSums) {
  for (const char* call :
       {"%c = aten.logsumexp(%b, [-1])", "%c = aten.logsumexp(%b, [1], true)", "%c = aten.logsumexp(%b, [0, 2])",
        "%c = aten.logsumexp(%b, [0, 1, 2], true)", "%c = aten.special_logsumexp(%b, [2])"})
    expect_integers("3, 5, 7", call, 8, 3);
  expect_integers("4, 1", "%c = aten.logsumexp(%b, [1])", 3, 3);
}

TEST(CortexMRespelled, BicubicImages) {
  for (const char* size :
       {"[10, 7], false", "[4, 9], true", "[5, 3], false", "[1, 1], true", "[12, 14], false, 2.4, 2.0"})
    expect_integers("2, 3, 5, 7", fmt::format("%c = aten.upsample_bicubic2d(%b, {})", size), 4, 1.001, {kNarrow});
  expect_integers("1, 2, 5, 7", "%c = aten.upsample_bicubic2d.vec(%b, none, false, [2.0, 1.5])", 4, 1.001, {kNarrow});
  Pipeline p = std::move(
      Pipeline::from_text(model("1, 1, 5, 7", "%c = aten.upsample_bicubic2d(%b, [9, 9], false)", kWide, kWide, 3))
          .backend("cortex-m"));
  p.check_outside({"aten.upsample_bicubic2d.default: the backend has no integer form of this operator"});
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMRespelled, MaximaOfUnequalWindows) {
  for (const char* size : {"[3, 7]", "[5, 2]", "[3, 3]", "[8, 4]", "[13, 11]"})
    expect_integers("2, 3, 8, 7", fmt::format("%c, %i = aten.adaptive_max_pool2d(%b, {})", size), 3);
  Pipeline p = std::move(
      Pipeline::from_text(model("1, 1, 50, 71", "%c, %i = aten.adaptive_max_pool2d(%b, [40, 25])", kNarrow, kNarrow, 3))
          .backend("cortex-m"));
  ASSERT_EQ(p.outside().size(), 1u);
  EXPECT_NE(p.outside()[0].find("more than 64 rows and columns of windows that differ"), std::string::npos);
}

// The root is steep at 0: one step of the variance is many steps of the root.
TEST(CortexMRespelled, DeviationsSayTheScaleThatTheyNeed) {
  const std::string fine = model("3, 16", "%c = aten.std.correction(%b, [1], 1)", kNarrow, kNarrow, 2);
  Pipeline p = std::move(Pipeline::from_text(fine).backend("cortex-m"));
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  std::string help;
  for (const compiler::NodeVerdict& node : p.compiled()->methods[0].outside) {
    if (node.help.find("scale of at least ") != std::string::npos) help = node.help;
  }
  const size_t at = help.find("scale of at least ");
  ASSERT_NE(at, std::string::npos);
  const double scale = std::stod(help.substr(at + 18));
  const std::string coarse = "graph f(%x: f32[3, 16]) {\n" + on_grid("b", "x", kNarrow, 2.5) +
                             "  %c = aten.std.correction(%b, [1], 1)\n" +
                             fake_quantized("o", "c", "oq", parameters(scale, -128)) + "  return %o\n}";
  Pipeline q = std::move(Pipeline::from_text(coarse).backend("cortex-m"));
  q.at(Stage::lower).check_outside({});
  q.run_and_compare(one_step());
  EXPECT_EQ(q.failures(), "") << coarse;
}

}  // namespace
}  // namespace wick::cortex_m::respelled_test
