// Pools, means, softmax, matmuls and padding from quantize and dequantize nodes to kernels: results within a step of
// the quantized graph on portable kernels, and refusals.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::reduction_test {
namespace {

using testing::Pipeline;
using testing::Stage;

const std::string kInput = parameters(0.03125, -11), kOther = parameters(0.0205078125, 4);

// %d is the quantized %x; `body` computes %y.
std::string model(const std::string& body, const std::string& sizes, const std::string& to = kOther,
                  const std::string& from = kInput) {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + fake_quantized("d", "x", "q", from) + "  " + body + "\n" +
         fake_quantized("o", "y", "p", to) + "  return %o\n}";
}

void expect_integer(const std::string& text, const char* op, double steps = 1.001) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside({}).check(op);
    p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = steps});
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

void expect_refused(const std::string& text, const std::string& reason) {
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower);
  std::string outside;
  for (const std::string& line : p.outside()) outside += line + "\n";
  EXPECT_NE(outside.find(reason), std::string::npos) << text << outside;
  p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = 1.001});
  EXPECT_EQ(p.failures(), "");
}

constexpr char kAverage[] = "cortex_m.quantized_avg_pool2d", kMaximum[] = "cortex_m.quantized_max_pool2d",
               kSums[] = "wick_cortex_m.sum_pool2d", kSoftmax[] = "cortex_m.softmax",
               kProduct[] = "cortex_m.quantized_batch_matmul";

TEST(CortexMPools, AveragesOfOneScaleAreStocksPools) {
  for (const char* window : {"[2, 3], [2, 1], [0, 0], false, true", "[3, 3], [2, 2], [1, 1], false, false",
                             "[3, 3], [2, 2], [1, 1], false, true", "[3, 2], [2, 2], [1, 0], true, false",
                             "[3, 3], [2, 2], [1, 1], true, true", "[2, 2]"})
    expect_integer(model(fmt::format("%y = aten.avg_pool2d(%d, {})", window), "2, 3, 8, 7", kInput), kAverage);
}

TEST(CortexMPools, MaximaOfEqualWindowsOfAnOutputSize) {
  for (const char* size : {"[4, 7]", "[1, 1]", "[8, 1]"})
    expect_integer(model(fmt::format("%y, %i = aten.adaptive_max_pool2d(%d, {})", size), "2, 3, 8, 7", kInput),
                   kMaximum);
}

// A table behind the pool would round twice.
TEST(CortexMPools, AveragesOfAnotherScaleRoundOnce) {
  const std::string narrow = parameters(0.001953125, -3);
  for (const char* window : {"[2, 3], [2, 1], [0, 0], false, true", "[3, 3], [2, 2], [1, 1], false, true", "[2, 2]"})
    expect_integer(model(fmt::format("%y = aten.avg_pool2d(%d, {})", window), "2, 3, 8, 7", narrow), kSums);
}

// For any window and instruction set.
TEST(CortexMPools, SumsTakeNoScratch) {
  const std::string narrow = parameters(0.001953125, -3);
  for (const char* sizes : {"1, 24, 12, 70", "2, 1, 12, 70", "1, 5, 300, 3"}) {
    for (const char* body :
         {"aten.mean.dim(%d, [2, 3], true)", "aten.mean.dim(%d, [1], false)", "aten.mean.dim(%d, [-1, 1], true)",
          "aten.sum.dim_IntList(%d, [2], false)", "aten.avg_pool2d(%d, [12, 3], [1, 2], [6, 1])",
          "aten.avg_pool2d(%d, [1, 2])", "aten._adaptive_avg_pool2d(%d, [5, 2])"}) {
      for (const char* cpu : {"m55", "m4", "m3"}) {
        for (const char* memory : {"", ",memory=tight"}) {
          Pipeline p = std::move(Pipeline::from_text(model(fmt::format("%y = {}", body), sizes, narrow))
                                     .backend(backend_for(cpu, memory)));
          p.at(Stage::lower).check_outside({}).check(kSums).check_not("wick.scratch");
          p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = 1.001});
          EXPECT_EQ(p.failures(), "") << cpu << memory << " " << sizes << " " << body;
        }
      }
    }
  }
}

// Stock has no such operator: it gets a depthwise convolution, which needs 496 bytes of scratch for each tap on MVE.
TEST(CortexMPools, ProfileStockTakesADepthwiseConvolution) {
  for (const char* memory : {"", ",memory=tight"}) {
    Pipeline p = std::move(
        Pipeline::from_text(model("%y = aten.avg_pool2d(%d, [12, 12])", "1, 24, 12, 12", parameters(0.001953125, -3)))
            .backend(backend_for("m55", memory)));
    p.options().profile = compiler::Profile::stock;
    p.at(Stage::lower).check_outside({}).check("cortex_m.quantized_depthwise_conv2d");
    p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = 1.001});
    EXPECT_EQ(p.failures(), "");
    EXPECT_NE(p.dump(Stage::lower).find(fmt::format("wick.scratch([{}]", 4 * 124 * 144)), std::string::npos);
  }
}

TEST(CortexMPools, MeansAreOverAnyDimensions) {
  for (const char* dims : {"[2, 3], true", "[2, 3], false", "[-1, -2], false", "[1], true", "[1], false", "[3], true",
                           "[0, 2], false", "[1, 3], true", "[0, 1, 2, 3], false", "[1, 2], false"}) {
    const std::string body = fmt::format("%y = aten.mean.dim(%d, {})", dims);
    expect_integer(model(body, "2, 3, 4, 5", kInput), kAverage);
    expect_integer(model(body, "2, 3, 4, 5", parameters(0.00390625, 9)), "cortex_m.quantize_per_tensor");
  }
}

TEST(CortexMPools, MaximaTakePaddingCeilModeAndDilation) {
  for (const char* window : {"[2, 2]", "[3, 2], [2, 2], [1, 1]", "[3, 3], [2, 2], [1, 1], [1, 1], true"})
    expect_integer(model(fmt::format("%y = aten.max_pool2d(%d, {})", window), "2, 3, 8, 7", kInput), kMaximum);
  for (const char* window :
       {"[2, 3], [1, 1], [0, 0], [2, 1]", "[3, 2], [2, 1], [1, 1], [1, 2]", "[2, 2], [3, 2], [1, 1], [2, 2], true"})
    expect_integer(model(fmt::format("%y = aten.max_pool2d(%d, {})", window), "2, 3, 8, 7", kInput),
                   "cortex_m.maximum");
  expect_integer(model("%m = aten.max_pool2d(%d, [2, 2])\n  %y = aten.relu(%m)", "1, 3, 6, 6", kInput), kMaximum);
  expect_integer(model("%y = aten.max_pool2d(%d, [2, 2])", "1, 2, 4, 4"), kMaximum);  // the result has another scale
  expect_integer(model("%y = aten.max_pool2d(%d, [3, 3], [1, 1], [1, 1], [2, 2])", "1, 2, 5, 5"), "cortex_m.maximum");
}

// Positions with equal windows become one sum_pool2d, each with its divisor.
TEST(CortexMPools, AveragesWhoseWindowsDifferRoundOnce) {
  for (const char* window : {"[3, 3], [2, 2], [1, 1], true, false", "[3, 2], [2, 2], [1, 0], true, true",
                             "[3, 3], [1, 2], [1, 1], false, false", "[5, 4], [3, 3], [2, 2], true, true"})
    expect_integer(model(fmt::format("%y = aten.avg_pool2d(%d, {})", window), "2, 3, 8, 7"), kSums);
  for (const char* sizes : {"[3, 4]", "[5, 3]", "[8, 1]", "[9, 7]"})
    expect_integer(model(fmt::format("%y = aten._adaptive_avg_pool2d(%d, {})", sizes), "2, 3, 8, 7"), kSums);
  expect_integer(model("%y = aten.avg_pool2d(%d, [2, 2], [2, 2], [0, 0], false, true, 3)", "1, 2, 4, 4"), kSums);
  expect_integer(model("%y = aten.avg_pool2d(%d, [3, 3], [2, 2], [1, 1], true, false, 5)", "1, 2, 6, 7", kInput),
                 kSums);
}

// A window that covers only padding behind the image is dropped, even if padding counts.
TEST(CortexMPools, APositionInThePaddingIsDropped) {
  expect_integer(model("%y = aten.avg_pool2d(%d, [2, 2], [2, 2], [1, 1], true)", "1, 3, 11, 11", kInput), kSums);
  expect_integer(model("%y = aten.avg_pool2d(%d, [3, 2], [2, 3], [1, 1], true)", "2, 5, 10, 11", kInput), kSums);
}

TEST(CortexMPools, SayWhatTheyDoNotTake) {
  expect_refused(model("%y = aten._adaptive_avg_pool2d(%d, [20, 20])", "1, 1, 29, 29"),
                 "windows of more than 64 kinds");
}

TEST(CortexMSoftmax, IsAlongAnyDimension) {
  const std::string steps = parameters(0.00390625, -128), input = parameters(0.0625, 5);
  for (const char* sizes : {"7", "3, 9", "2, 5, 4", "1, 6, 3, 4"}) {
    const int64_t rank = 1 + std::count(sizes, sizes + strlen(sizes), ',');
    for (int64_t dim = -rank; dim < rank; ++dim)
      expect_integer(model(fmt::format("%y = aten._softmax(%d, {}, false)", dim), sizes, steps, input), kSoftmax);
  }
  // A table converts the result.
  for (const double step : {0.005, 0.0024})
    expect_integer(model("%y = aten._softmax(%d, -1, false)", "3, 9", parameters(step, -120), input), kSoftmax);
}

TEST(CortexMSoftmax, HasMoreBitsWhereTheResultIsFineOrARowIsLong) {
  const char wide[] = "wick_cortex_m.softmax_int16";
  const std::string input = parameters(0.0625, 5);
  for (const char* body : {"%y = aten._softmax(%d, -1, false)", "%y = aten._softmax(%d, 1, false)"}) {
    for (const double step : {0.0023, 0.0004})
      expect_integer(model(body, "1, 9, 3, 4", parameters(step, -128), input), wide);
  }
  const std::string steps = parameters(0.00390625, -128), body = "%y = aten._softmax(%d, -1, false)";
  expect_integer(model(body, "1, 4095", steps), kSoftmax);
  expect_integer(model(body, "1, 4096", parameters(0.00002, -128)), wide);
  expect_integer(model(body, "3, 9", steps, parameters(1e-9, 0)), wide);
  expect_refused(model(body, "1, 9", parameters(1e-9, 0)), "too coarse for its result");
}

// Two inputs.
std::string product(const std::string& body, const char* a, const char* b, const std::string& to) {
  return fmt::format("graph f(%x: f32[{}], %z: f32[{}]) {{\n", a, b) + fake_quantized("d", "x", "q", kInput) +
         fake_quantized("e", "z", "r", kOther) + "  " + body + "\n" + fake_quantized("o", "y", "p", to) +
         "  return %o\n}";
}

TEST(CortexMProducts, TakeMatricesOfAnyRank) {
  const std::string to = parameters(0.03125, 3);
  expect_integer(product("%y = aten.bmm(%d, %e)", "3, 4, 6", "3, 6, 5", to), kProduct);
  expect_integer(product("%y = aten.bmm(%d, %e)", "1, 1, 7", "1, 7, 1", to), kProduct);
  expect_integer(product("%y = aten.mm(%d, %e)", "4, 6", "6, 5", to), kProduct);
  expect_integer(product("%y = aten.matmul(%d, %e)", "2, 3, 4, 6", "2, 3, 6, 5", to), kProduct);
  expect_integer(product("%y = aten.matmul(%d, %e)", "2, 3, 4, 6", "6, 5", to), kProduct);
  expect_integer(product("%y = aten.matmul(%d, %e)", "3, 4, 6", "6", to), kProduct);
  expect_integer(product("%y = aten.matmul(%d, %e)", "6", "6, 5", to), kProduct);
}

TEST(CortexMProducts, ATransposedRightOperandIsReadAsItIs) {
  const std::string body = "%t = aten.permute(%e, [0, 2, 1])\n  %y = aten.bmm(%d, %t)";
  const std::string text = product(body, "3, 4, 6", "3, 5, 6", parameters(0.03125, 3));
  expect_integer(text, kProduct);
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  EXPECT_EQ(p.count("cortex_m.transpose", Stage::lower), 0u);
}

TEST(CortexMProducts, RefuseSumsBeyond32Bits) {
  expect_refused(product("%y = aten.mm(%d, %e)", "1, 200000", "200000, 1", parameters(64, 3)),
                 "its sums could exceed 32 bits");
}

std::string with_parameters(std::string text) {
  const std::string parameters = constant_line("w", "f32[4]", std::vector<double>{0.5, -1.25, 2.0, 0.75}) +
                                 constant_line("b", "f32[4]", std::vector<double>{0.0, 0.5, -0.25, 0.125});
  return text.insert(text.find("\n") + 1, parameters);
}
std::string norm(const std::string& call, const char* sizes, const std::string& to = kOther) {
  return with_parameters(model(fmt::format("%y = {}", call), sizes, to));
}

TEST(CortexMNormalization, LayerAndRmsNormOfAnyTrailingDimensions) {
  const char* op = "wick_cortex_m.layer_norm";
  for (const char* call :
       {"aten.layer_norm(%d, [4], %w, %b, 1e-05)", "aten.layer_norm(%d, [4], %w)", "aten.layer_norm(%d, [4])",
        "aten.layer_norm(%d, [3, 4])", "aten.layer_norm(%d, [2, 3, 4], none, none, 0.5)",
        "aten.rms_norm(%d, [4], %w, 1e-06)", "aten.rms_norm(%d, [3, 4])"})
    expect_integer(norm(call, "2, 3, 4"), op);
  expect_integer(norm("aten.layer_norm(%d, [4], %w, %b)", "5, 4", parameters(0.01, 100, 90, 120)), op);
}

TEST(CortexMNormalization, RmsNormOfSingleOperators) {
  for (const char* square : {"aten.pow.Tensor_Scalar(%d, 2)", "aten.mul.Tensor(%d, %d)"}) {
    const std::string body = fmt::format(
        "%s = {}\n  %a = aten.mean.dim(%s, [2], true)\n  %e = aten.add.Scalar(%a, 1e-06)\n  %r = aten.rsqrt(%e)\n"
        "  %n = aten.mul.Tensor(%d, %r)\n  %y = aten.mul.Tensor(%n, %w)",
        square);
    expect_integer(with_parameters(model(body, "2, 3, 4")), "wick_cortex_m.layer_norm");
  }
}

std::string divided_by_length(const char* bound, const char* dims = "[-1], true", const std::string& from = kInput) {
  return model(fmt::format("%s = aten.mul.Tensor(%d, %d)\n  %t = aten.sum.dim_IntList(%s, {})\n  %l = aten.sqrt(%t)\n"
                           "  %m = {}\n  %b = aten.expand(%m, [2, 3, 4])\n  %y = aten.div.Tensor(%d, %b)",
                           dims, bound),
               "2, 3, 4", parameters(0.0079, 5), from);
}

TEST(CortexMNormalization, RowsDividedByTheirLength) {
  const char* op = "wick_cortex_m.layer_norm";
  for (const char* bound : {"aten.clamp_min(%l, 1e-12)", "aten.clamp(%l, 1e-12)"})
    expect_integer(divided_by_length(bound), op);
}

TEST(CortexMNormalization, RowsDividedByRootsOfTheirSquares) {
  const char* op = "wick_cortex_m.layer_norm";
  const std::string square = "%s = aten.pow.Tensor_Scalar(%d, 2)\n  ",
                    sum = "%t = aten.sum.dim_IntList(%s, [2], true)\n  ",
                    mean = "%t = aten.mean.dim(%s, [-1], true)\n  ";
  const auto form = [&](const std::string& body, const std::string& to = parameters(0.0079, 5)) {
    return model(body, "2, 3, 4", to);
  };
  const std::string divide = "%y = aten.div.Tensor(%d, %l)";
  expect_integer(form("%l = aten.linalg_vector_norm(%d, 2, [-1], true)\n  " + divide), op);
  expect_integer(form(square + sum + "%l = aten.sqrt(%t)\n  " + divide), op);
  expect_integer(form(square + sum + "%e = aten.add.Scalar(%t, 0.5)\n  %l = aten.sqrt(%e)\n  " + divide), op);
  expect_integer(form(square + mean + "%l = aten.pow.Tensor_Scalar(%t, 0.5)\n  " + divide, parameters(0.0157, 5)), op);
  expect_integer(
      form(square + sum + "%e = aten.add.Scalar(%t, 0.5)\n  %l = aten.rsqrt(%e)\n  %y = aten.mul.Tensor(%l, %d)"), op);
  // No quantizer annotated the quotient.
  expect_integer(form("%l = aten.linalg_vector_norm(%d, 2, [-1], true)\n  %z = aten.div.Tensor(%d, %l)\n"
                      "  %y = aten.mul.Scalar(%z, 3.0)",
                      parameters(0.024, 5)),
                 op);
}

TEST(CortexMNormalization, LengthsOfRows) {
  const char* op = "wick_cortex_m.layer_norm";
  const std::string to = parameters(0.02, -128);
  for (const char* body :
       {"%y = aten.linalg_vector_norm(%d, 2, [-1])", "%y = aten.linalg_vector_norm(%d, 2, [2], true)",
        "%l = aten.linalg_vector_norm(%d, 2, [-1], true)\n  %y = aten.clamp_min(%l, 1e-12)",
        "%s = aten.mul.Tensor(%d, %d)\n  %t = aten.sum.dim_IntList(%s, [-1], true)\n  %y = aten.sqrt(%t)"})
    expect_integer(model(body, "2, 3, 4", to), op);
}

TEST(CortexMNormalization, WhatIsNoLengthOfARowStays) {
  const std::string to = parameters(0.02, -128);
  for (const char* body :
       {"%y = aten.linalg_vector_norm(%d, 1, [-1])", "%y = aten.linalg_vector_norm(%d, 2, [1])",
        "%y = aten.linalg_vector_norm(%d, 2, [1, 2])",
        "%l = aten.linalg_vector_norm(%d, 2, [-1], true)\n  %y = aten.clamp_min(%l, 0.5)",
        ("%s = aten.mul.Tensor(%d, %d)\n  %t = aten.sum.dim_IntList(%s, [-1])\n  %e = aten.add.Scalar(%t, 0.5)\n"
         "  %y = aten.sqrt(%e)")}) {
    SCOPED_TRACE(body);
    Pipeline p = std::move(Pipeline::from_text(model(body, "2, 3, 4", to)).backend("cortex-m"));
    EXPECT_EQ(p.count("wick_cortex_m.layer_norm", Stage::lower), 0u);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
  }
}

// A row of zeros divided by its length is NaN, which the graph returns, or tests for.
TEST(CortexMNormalization, QuotientsThatTheGraphReturnsAreEagers) {
  const std::string probe =
      "  %b = aten.isnan(%z)\n  %f = aten.full_like(%z, 0.5)\n  %y = aten.where.self(%b, %f, %z)\n";
  for (const std::string& body :
       {std::string("  %y = aten.add.Scalar(%z, 0)\n"), std::string("  %y = aten.mul.Scalar(%z, 2.0)\n"),
        std::string("  %v = aten.view(%z, [4, 2])\n  %y = aten.relu(%v)\n"), std::string("  %y = aten.isnan(%z)\n"),
        probe + fake_quantized("o", "y", "p", kOther)}) {
    SCOPED_TRACE(body);
    const std::string text = "graph f(%x: f32[2, 4]) {\n" + fake_quantized("d", "x", "q", kInput) +
                             "  %l = aten.linalg_vector_norm(%d, 2, [-1], true)\n  %z = aten.div.Tensor(%d, %l)\n" +
                             body + (body.find("%o") == std::string::npos ? "  return %y\n}" : "  return %o\n}");
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.run_and_compare({}, {float_input({2, 4}, {0, 0, 0, 0, 1, 2, 3, 4})});
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(CortexMNormalization, RootsOfIntegerSumsAreNoLengths) {
  const std::string text = model(
      "%s = aten.mul.Tensor(%d, %d)\n  %t = aten.sum.dim_IntList(%s, [-1], true, i64)\n  %l = aten.sqrt(%t)\n"
      "  %y = aten.div.Tensor(%d, %l)",
      "2, 4", parameters(0.02, 0));
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  EXPECT_EQ(p.count("wick_cortex_m.layer_norm", Stage::lower), 0u);
  p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = 1.001},
                    {float_input({2, 4}, {0.5, 1, 0.75, 0.5, 1, 2, 1.25, 0.5})});
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMNormalization, OtherDivisorsAreNotTheLengthOfARow) {
  Pipeline p = std::move(Pipeline::from_text(divided_by_length("aten.clamp_min(%l, 0.5)")).backend("cortex-m"));
  EXPECT_EQ(p.count("wick_cortex_m.layer_norm", Stage::lower), 0u);
  Pipeline q =
      std::move(Pipeline::from_text(divided_by_length("aten.clamp_min(%l, 1e-12)", "[1], true")).backend("cortex-m"));
  EXPECT_EQ(q.count("wick_cortex_m.layer_norm", Stage::lower), 0u);
  // The quotient repeats the elements of x, which are normalized once.
  std::string text = divided_by_length("aten.clamp_min(%l, 1e-12)");
  const std::string sizes = "%m, [", more = "5, ";
  text.insert(text.find(sizes) + sizes.size(), more);
  Pipeline r = std::move(Pipeline::from_text(text).backend("cortex-m"));
  EXPECT_EQ(r.count("wick_cortex_m.layer_norm", Stage::lower), 1u);
  r.run_and_compare(one_step());
  EXPECT_EQ(r.failures(), "");
}

TEST(CortexMNormalization, GroupAndInstanceNormOfAnyImages) {
  const char* op = "wick_cortex_m.group_norm";
  for (const char* call : {"aten.group_norm(%d, 2, %w, %b)", "aten.group_norm(%d, 1)", "aten.group_norm(%d, 4, %w)",
                           "aten.instance_norm(%d, %w, %b, none, none, true, 0.1, 1e-05, false)"}) {
    for (const char* sizes : {"2, 4, 5, 3", "1, 4, 7", "3, 4, 2, 2, 3"}) expect_integer(norm(call, sizes), op);
  }
  expect_integer(norm("aten.group_norm(%d, 2, %w, %b, 0.3)", "2, 4, 3, 3", parameters(0.01, 100, 90, 120)), op);
  expect_refused(norm("aten.group_norm(%d, 2, %w, %b)", "5, 4, 3", parameters(1e-10, 0)),
                 "the scale of its result is too small");
}

TEST(CortexMNormalization, SaysWhatItDoesNotTake) {
  expect_refused(norm("aten.layer_norm(%d, [4], %w, %b)", "5, 4", parameters(1e-10, 0)),
                 "the scale of its result is too small");
  expect_refused(norm("aten.layer_norm(%d, [4], none, %b)", "5, 4", parameters(7e-6, 0)), "too small for its bias");
  const std::string stock = norm("aten.layer_norm(%d, [4], %w, %b)", "5, 4");
  Pipeline p = std::move(Pipeline::from_text(stock).backend("cortex-m"));
  p.options().profile = compiler::Profile::stock;
  p.at(Stage::lower).check_not("wick_cortex_m.layer_norm");
  p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = 1.001});
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMPadding, IsAnElementOfTheResult) {
  expect_integer(model("%y = aten.constant_pad_nd(%d, [1, 2, 0, 3], 0.25)", "1, 3, 4, 5", kInput), "cortex_m.pad");
  expect_integer(model("%y = aten.constant_pad_nd(%d, [1, 2], -9.5)", "3, 5"), "cortex_m.pad");
  expect_integer(model("%y = aten.constant_pad_nd(%d, [1, 0, 0, 1, 2, 0], 0)", "2, 3, 4", kInput), "cortex_m.pad");
  expect_integer(model("%y = aten.constant_pad_nd(%d, [0, 1, 1, 0, 2, 1, 1, 1], 0.5)", "2, 3, 4, 2", kInput),
                 "cortex_m.pad");
}

}  // namespace
}  // namespace wick::cortex_m::reduction_test
