// quantize_between: values in floats between quantized ones become int16, or stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::quantize_between_test {
namespace {

using testing::Pipeline;
using testing::Stage;

const std::string kFrom = parameters(0.03125, -11), kTo = parameters(0.0078125, 3);

// %d is the quantized %x; `body` computes %y.
std::string model(const std::string& sizes, const std::string& body, const std::string& to = kTo) {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + fake_quantized("d", "x", "q", kFrom) + body +
         fake_quantized("o", "y", "p", to) + "  return %o\n}";
}

// Expects integers between the first quantize and the last dequantize, and results within a step of eager's.
void expect_integers(const std::string& text, const char* op) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"m55", "m4", "m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside({}).check(op);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

void expect_floats(const std::string& text, const char* cpu = "m55", bool stock = false) {
  SCOPED_TRACE(text);
  Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
  if (stock) p.options().profile = compiler::Profile::stock;
  p.at(Stage::lower).check_not("wick_cortex_m.requantize");
  EXPECT_FALSE(p.outside().empty());
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

const std::string kSiluAndMean = "  %s = aten.silu(%d)\n  %y = aten.mean.dim(%s, [2, 3])\n";

TEST(CortexMQuantizeBetween, FunctionsPoolsAndProductsOfThem) {
  expect_integers(model("1, 3, 5, 4", kSiluAndMean), "wick_cortex_m.lookup_int16");
  const std::string squeeze = "  %m = aten.mean.dim(%d, [2, 3], true)\n  %s = aten.sigmoid(%m)\n";
  expect_integers(model("2, 3, 5, 2", squeeze + "  %y = aten.mul.Tensor(%d, %s)\n", parameters(0.03125, 3)),
                  "wick_cortex_m.mul_int16");
  expect_integers(model("2, 3, 5", "  %s = aten.tanh(%d)\n  %y = aten.amax(%s, [1])\n"), "wick_cortex_m.lookup_int16");
  expect_integers(model("2, 6, 5", "  %s = aten.glu(%d, 1)\n  %y = aten.mean.dim(%s, [2])\n"),
                  "wick_cortex_m.mul_int16");
  expect_integers(
      model("2, 3, 8", "  %s = aten.layer_norm(%d, [8])\n  %y = aten.mean.dim(%s, [1])\n", parameters(0.03125, 0)),
      "wick_cortex_m.layer_norm");
}

// The second function reads the result of the first mean, and comes before the last reader of the first function.
TEST(CortexMQuantizeBetween, GroupsThatReadOneAnotherKeepTheirOrder) {
  const std::string text =
      "graph f(%x: f32[2, 3, 4, 5]) {\n" + fake_quantized("d", "x", "q", kFrom) +
      "  %s = aten.silu(%d)\n  %m = aten.mean.dim(%s, [3])\n" + fake_quantized("e", "m", "r", kTo) +
      "  %t = aten.silu(%e)\n  %u = aten.mean.dim(%t, [2])\n" + fake_quantized("o", "u", "p", kTo) +
      "  %c = aten.amax(%s, [2])\n" + fake_quantized("g", "c", "h", kFrom) + "  return %o, %g\n}";
  expect_integers(text, "wick_cortex_m.lookup_int16");
}

// Linear upsampling, as run_decompositions() writes it.
TEST(CortexMQuantizeBetween, IndexedNumbers) {
  expect_integers(
      model("2, 4",
            "  const %i: i64[8] = [0, 0, 0, 1, 1, 2, 2, 3]\n  const %j: i64[8] = [1, 1, 1, 2, 2, 3, 3, 3]\n" +
                constant_line("f", "f32[8]", std::vector<double>{0, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25}) +
                "  %a = aten.index.Tensor(%d, [none, %i])\n  %b = aten.index.Tensor(%d, [none, %j])\n"
                "  %s = aten.sub.Tensor(%b, %a)\n  %m = aten.mul.Tensor(%s, %f)\n"
                "  %y = aten.add.Tensor(%a, %m)\n",
            parameters(0.03125, 3)),
      "aten.index.Tensor");
}

TEST(CortexMQuantizeBetween, AttentionWithoutQuantizedScores) {
  const std::string body =
      "  %t = aten.permute(%d, [0, 2, 1])\n  %s = aten.bmm(%d, %t)\n  %r = aten.mul.Scalar(%s, 0.35)\n"
      "  %w = aten._softmax(%r, -1, false)\n  %y = aten.bmm(%w, %d)\n";
  expect_integers(model("2, 6, 8", body, parameters(0.03125, 3)), "wick_cortex_m.softmax_int16");
}

TEST(CortexMQuantizeBetween, ConstantsInFloatsBesideElements) {
  expect_integers(model("2, 4",
                        constant_line("w", "f32[4]", std::vector<double>{0.5, -0.25, 1.0, 0.125}) +
                            "  %y = aten.add.Tensor(%d, %w)\n",
                        parameters(0.03125, 3)),
                  "wick_cortex_m.add_int16");
}

TEST(CortexMQuantizeBetween, LayersAndNormsWhoseBoundsAreNotFarAboveTheirNumbers) {
  const std::string rows = constant_line("w", "f32[4, 4]",
                                         std::vector<double>{0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 0.25, 0.1, 0.3, -0.6,
                                                             0.2, 0.4, -0.1, 0.7, -0.3, 0.45}) +
                           fake_quantized("v", "w", "e", parameters(0.0078125, 0)) + "  %s = aten.linear(%d, %v)\n";
  expect_integers(model("2, 4", rows + "  %y = aten.layer_norm(%s, [4])\n", parameters(0.03125, 0)),
                  "wick_cortex_m.layer_norm");
  expect_integers(model("2, 4", rows + "  %g = aten.gelu(%s)\n  %t = aten.linear(%g, %v)\n  %y = aten.tanh(%t)\n"),
                  "wick_cortex_m.linear_int16");
}

TEST(CortexMQuantizeBetween, LayersWithWeightsInFloatsBehindNumbersInFloats) {
  std::vector<double> numbers;
  for (int i = 0; i < 4 * 2 * 9; ++i) numbers.push_back(0.37 * (i * 7919 % 101 / 50.0 - 1));
  const std::string weights = constant_line("w", "f32[4, 2, 3, 3]", numbers), silu = "  %s = aten.silu(%d)\n";
  expect_integers(
      model("1, 2, 5, 4", weights + silu +
                              "  %c = aten.convolution(%s, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n"
                              "  %y = aten.mean.dim(%c, [2, 3])\n"),
      "wick_cortex_m.conv2d_int16");
  expect_integers(
      model("1, 4, 3, 4", weights + silu +
                              "  %c = aten.convolution(%s, %w, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 2)\n"
                              "  %y = aten.amax(%c, [1])\n"),
      "wick_cortex_m.conv2d_int16");
}

// A norm of [1, channels, 2, 3] that is written out; a quantizer for Cortex-M annotates only its variance and last sum.
constexpr char kWeightAndBias[] = "  %g = aten.mul.Tensor(%w, %z)\n  %y = aten.add.Tensor(%g, %b)\n";
std::string norm_by_hand(int channels, const std::vector<double>& weights, const std::vector<double>& bias,
                         const char* behind = kWeightAndBias) {
  const std::string variance = parameters(0.00390625, -128), type = fmt::format("f32[{}, 1, 1]", channels);
  return fmt::format("graph f(%x: f32[1, {}, 2, 3]) {{\n", channels) + constant_line("w", type.c_str(), weights) +
         constant_line("b", type.c_str(), bias) + fake_quantized("d", "x", "q", kFrom) +
         "  %m = aten.mean.dim(%d, [1], true)\n  %c = aten.sub.Tensor(%d, %m)\n"
         "  %s = aten.pow.Tensor_Scalar(%c, 2)\n  %n = aten.mean.dim(%s, [1], true)\n" +
         fake_quantized("v", "n", "vq", variance) + "  %e = aten.add.Scalar(%v, 0.000001)\n  %r = aten.sqrt(%e)\n" +
         fake_quantized("t", "r", "tq", variance) + "  %z = aten.div.Tensor(%c, %t)\n" + behind +
         fake_quantized("o", "y", "p", parameters(0.03125, 4)) + "  return %o\n}";
}

// Quotients are infinite if the variance is 0.
TEST(CortexMQuantizeBetween, QuotientsWhoseReadersSaturate) {
  const std::vector<double> weights = {0.9, 1.2, -0.7, 1.1}, bias = {0.1, -0.2, 0, 0.3};
  const char* numbers = "  %g = aten.mul.Scalar(%z, -0.9)\n  %y = aten.add.Scalar(%g, 0.1)\n";
  expect_integers(norm_by_hand(4, weights, bias, numbers), "cortex_m.quantized_div");
  const std::string text = norm_by_hand(4, weights, bias);
  expect_integers(text, "cortex_m.quantized_div");
  // One channel of each pixel is 1 to 25 steps above the others.
  std::vector<float> x(24, 0.03125f);
  for (size_t pixel = 0; pixel < 6; ++pixel) x[6 + pixel] *= static_cast<float>(1 + pixel * pixel);
  x[12] *= 2;
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_outside({}).check("aten.masked_fill.Scalar");
  p.run_and_compare(one_step(), {float_input({1, 4, 2, 3}, x)});
  EXPECT_EQ(p.failures(), "");
}

// Expects eager's results from quotients in floats: none becomes elements.
void expect_quotients_in_floats(const std::string& text, const std::vector<HostValue>& inputs) {
  SCOPED_TRACE(text);
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_not("cortex_m.quantized_div");
  p.run_and_compare(one_step(), inputs);
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMQuantizeBetween, QuotientsByZeroThatOneStepDoesNotStandFor) {
  // The bias shifts saturated results back into the range.
  std::vector<float> x(24, 0.03125f);
  x[6] *= 2;
  expect_quotients_in_floats(norm_by_hand(4, {1, 1, 1, 1}, {20, -20, 0, 0}), {float_input({1, 4, 2, 3}, x)});
  // One of many channels is a step above the others: their distance from the mean is less than a step of int16.
  constexpr size_t kMany = 256;
  std::vector<float> many(kMany * 6, 0.03125f);
  many[6] *= 2;
  expect_quotients_in_floats(norm_by_hand(kMany, std::vector<double>(kMany, 0.9), std::vector<double>(kMany, 0.1)),
                             {float_input({1, kMany, 2, 3}, many)});
  const std::string of_two = "graph f(%x: f32[4], %a: f32[4]) {\n" +
                             fake_quantized("d", "x", "q", parameters(0.02, 0)) +
                             fake_quantized("e", "a", "r", parameters(0.02, 0)) +
                             "  %z = aten.div.Tensor(%d, %e)\n  %y = aten.mul.Scalar(%z, 0.9)\n" +
                             fake_quantized("o", "y", "p", parameters(0.03, 0)) + "  return %o\n}";
  expect_quotients_in_floats(of_two, {float_input({4}, {1, -1, 1, -1}), float_input({4}, {0, 0, 0.02f, 0.04f})});
}

TEST(CortexMQuantizeBetween, QuotientsByRoundedNumbers) {
  const std::string text = "graph f(%x: f32[2, 4], %a: f32[2, 1024]) {\n" +
                           constant_line("w", "f32[4]", std::vector<double>{0.9, 1.1, -0.8, 1}) +
                           fake_quantized("d", "x", "q", parameters(0.0001, 0)) +
                           fake_quantized("e", "a", "r", parameters(0.02, 0)) +
                           "  %m = aten.mean.dim(%e, [1], true)\n  %z = aten.div.Tensor(%d, %m)\n"
                           "  %y = aten.mul.Tensor(%w, %z)\n" +
                           fake_quantized("o", "y", "p", parameters(0.03, 0)) + "  return %o\n}";
  std::vector<float> a(2048, 0);
  a[0] = 0.02f;
  for (size_t i = 0; i < 9; ++i) a[1024 + i] = 0.02f;
  const std::vector<float> x = {0.0001f, 0.0002f, 0.0003f, 0.0004f, 0.0001f, 0.0002f, 0.0003f, 0.0004f};
  expect_quotients_in_floats(text, {float_input({2, 4}, x), float_input({2, 1024}, a)});
}

// Rows of 24 of %d and, if the body reads it, %e. Whether on int16 or in floats, the result is within a step.
void expect_rounding_hidden(const std::string& body, double scale, const std::string& to, float offset = 0,
                            const char* more_results = "") {
  SCOPED_TRACE(body);
  const std::string from = parameters(scale, 0);
  const std::string text = "graph f(%x: f32[5, 24], %z: f32[5, 24]) {\n" + fake_quantized("d", "x", "q", from) +
                           fake_quantized("e", "z", "r", from) + body + fake_quantized("o", "y", "p", to) +
                           "  return %o" + more_results + "\n}";
  std::vector<float> x, z;
  Random random(1);
  for (int i = 0; i < 120; ++i) {
    x.push_back(offset + static_cast<float>(scale) * static_cast<float>(random.in(-70, 70)));
    z.push_back(x.back() + static_cast<float>(scale) * static_cast<float>(random.in(-1, 1)));
  }
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.run_and_compare(one_step(), {float_input({5, 24}, x), float_input({5, 24}, z)});
  EXPECT_EQ(p.failures(), "");
}

// Rounding to 16 bits of the largest number exceeds the smallest numbers, for which quotients and roots are steep.
TEST(CortexMQuantizeBetween, QuotientsAndFunctionsThatShowRounding) {
  const std::string probability = parameters(0.00390625, -128), exps = "  %a = aten.exp(%d)\n";
  const std::string softmax =
      "  %m = aten.amax(%d, [-1], true)\n  %c = aten.sub.Tensor(%d, %m)\n  %a = aten.exp(%c)\n"
      "  %s = aten.sum.dim_IntList(%a, [-1], true)\n  %y = aten.div.Tensor(%a, %s)\n";
  const std::string sum = "  %s = aten.sum.dim_IntList(%a, [-1], true)\n";
  expect_rounding_hidden(softmax, 0.05, probability);
  expect_rounding_hidden(softmax, 0.1, probability);
  expect_rounding_hidden(exps + sum + "  %y = aten.div.Tensor(%a, %s)\n", 0.1, probability);
  expect_rounding_hidden(exps + sum + "  %y = aten.log(%s)\n", 0.1, parameters(0.1, 0), -6);
  expect_rounding_hidden(exps + "  %b = aten.exp(%e)\n  %s = aten.add.Tensor(%a, %b)\n  %y = aten.div.Tensor(%a, %s)\n",
                         0.1, probability);
  const std::string difference = "  %c = aten.sub.Tensor(%d, %e)\n";
  expect_rounding_hidden(difference + "  %a = aten.pow.Tensor_Scalar(%c, 2)\n" + sum + "  %y = aten.sqrt(%s)\n", 0.1,
                         parameters(0.05, -128));
  expect_rounding_hidden(
      difference + "  %a = aten.mul.Tensor(%c, %c)\n  %s = aten.mean.dim(%a, [-1])\n  %y = aten.sqrt(%s)\n", 0.1,
      parameters(0.02, -128));
  const std::string fine = parameters(0.0009765625, -128);
  expect_rounding_hidden(exps + "  %y = aten.mean.dim(%a, [-1])\n", 0.05, fine, -3.5);
  expect_rounding_hidden(exps + "  %b = aten.mul.Tensor(%a, %e)\n  %y = aten.add.Tensor(%b, %e)\n", 0.05,
                         parameters(0.015625, 0), -1);
  expect_rounding_hidden(exps + "  %y = aten._softmax(%a, -1, false)\n", 0.08, probability, -5);
  // The function is steep near 0, but no number is there.
  expect_integers(model("3, 8",
                        "  %s = aten.sigmoid(%d)\n  %m = aten.mean.dim(%s, [1])\n  %a = aten.add.Scalar(%m, 0.01)\n"
                        "  %y = aten.log(%a)\n",
                        parameters(0.03125, 60)),
                  "wick_cortex_m.graded_lookup_int16");
}

// A norm divides by a standard deviation, which may be as small as the rounding of its input.
TEST(CortexMQuantizeBetween, NormsThatShowRounding) {
  const std::string to = parameters(0.03125, 0);
  const std::string inputs[] = {"  %a = aten.exp(%d)\n",
                                "  %b = aten.mul.Tensor(%d, %d)\n  %a = aten.mul.Tensor(%b, %e)\n"};
  for (const std::string& input : inputs) {
    expect_rounding_hidden(input + "  %y = aten.layer_norm(%a, [24])\n", 0.05, to, -3);
    expect_rounding_hidden(input + "  %y = aten.rms_norm(%a, [24], none, 1e-05)\n", 0.05, to, -3);
    expect_rounding_hidden(
        input + "  %v = aten.view(%a, [5, 4, 6])\n  %n = aten.group_norm(%v, 2)\n  %y = aten.view(%n, [5, 24])\n", 0.05,
        to, -3);
  }
  const std::string norm = "  %y = aten.layer_norm(%s, [8])\n", exp = "  %s = aten.exp(%d)\n";
  expect_floats(model("2, 8", exp + norm, to));
  // Rounding is small compared with this eps.
  expect_integers(model("2, 8", exp + "  %y = aten.layer_norm(%s, [8], none, none, 0.1)\n", to),
                  "wick_cortex_m.layer_norm");
}

// All multiples of the model's step have int16 elements.
TEST(CortexMQuantizeBetween, NormsOfNumbersThatAreExact) {
  const std::string to = parameters(0.03125, 0), norm = "  %y = aten.layer_norm(%s, [8])\n";
  expect_integers(model("2, 49, 8", "  %s = aten.mean.dim(%d, [1])\n" + norm, to), "wick_cortex_m.layer_norm");
  expect_integers(model("2, 3, 8", "  %m = aten.amax(%d, [1], true)\n  %s = aten.sub.Tensor(%d, %m)\n" + norm, to),
                  "wick_cortex_m.layer_norm");
  expect_integers(model("2, 8", "  %s = aten.mul.Scalar(%d, 0.3)\n" + norm, to), "wick_cortex_m.layer_norm");
  expect_integers(model("2, 8", "  %s = aten.mul.Tensor(%d, %d)\n" + norm, to), "wick_cortex_m.layer_norm");
  expect_floats(model("2, 900, 8", "  %s = aten.mean.dim(%d, [1])\n" + norm, to));
}

// A number that is filled in is rounded, although the elements beside it are not.
TEST(CortexMQuantizeBetween, NumbersFilledInThatShowRounding) {
  std::vector<double> small, multiples;
  for (int i = 0; i < 24; ++i) small.push_back(0.0002 + 0.00002 * i);
  for (int i = 0; i < 8; ++i) multiples.push_back(-0.03125 * i * i);
  expect_rounding_hidden(constant_line("w", "f32[24]", small) +
                             "  %c = aten.sub.Tensor(%d, %e)\n  %a = aten.maximum(%c, %w)\n  %y = aten.log(%a)\n",
                         0.05, parameters(0.08, 0));
  expect_integers(model("2, 3, 8",
                        constant_line("w", "f32[8]", multiples) +
                            "  %m = aten.amax(%d, [1], true)\n  %c = aten.sub.Tensor(%d, %m)\n"
                            "  %s = aten.maximum(%c, %w)\n  %y = aten.layer_norm(%s, [8])\n",
                        parameters(0.03125, 0)),
                  "wick_cortex_m.layer_norm");
}

TEST(CortexMQuantizeBetween, WhatOnlyMovesShowsRoundingAsItIs) {
  const std::string fine = parameters(0.0009765625, -128);
  const std::string moves[] = {"  %v = aten.view(%s, [1, 5, 24])\n  %y = aten.replication_pad1d(%v, [1, 1])\n",
                               "  %v = aten.view(%s, [1, 5, 24])\n  %y = aten.reflection_pad1d(%v, [1, 1])\n",
                               "  %v = aten.view(%s, [1, 5, 4, 6])\n  %y = aten.upsample_nearest2d(%v, [8, 12])\n"};
  for (const std::string& move : moves) {
    expect_rounding_hidden("  %s = aten.exp(%d)\n" + move, 0.05, fine, -3.5);
    expect_integers(
        model("5, 24", "  %t = aten.silu(%d)\n  %s = aten.mul.Tensor(%t, %d)\n" + move, parameters(0.0625, 3)),
        "wick_cortex_m.requantize");
  }
}

std::string random_constant(const char* name, const char* type, int count) {
  Random random(count);
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<double>(random.in(-1000, 1000)) / 1000);
  return constant_line(name, type, numbers);
}

TEST(CortexMQuantizeBetween, RecurrentLayersThatShowRounding) {
  const std::string layer = random_constant("wi", "f32[16, 12]", 192) + random_constant("wh", "f32[16, 4]", 64) +
                            "  %v = aten.view(%s, [5, 2, 12])\n  %i = aten.full([1, 2, 4], 0.0)\n"
                            "  %y, %h, %c = aten.lstm.input(%v, [%i, %i], [%wi, %wh], false, 1, 0.0, false, false, "
                            "false)\n";
  expect_rounding_hidden("  %s = aten.exp(%d)\n" + layer, 0.08, parameters(0.0078125, 0), -5);
  // A node with several results.
  expect_rounding_hidden("  %s = aten.exp(%d)\n" + layer + fake_quantized("g", "h", "hq", parameters(0.0078125, 0)),
                         0.08, parameters(0.0078125, 0), -5, ", %g");
  expect_integers(model("5, 24", "  %s = aten.tanh(%d)\n" + layer, parameters(0.0078125, 0)), "wick_cortex_m.lstm");
}

// Equal numbers have equal errors, which weights of one sign add up.
TEST(CortexMQuantizeBetween, LayersOfEqualNumbersThatShowRounding) {
  const auto averaged = [](const char* function, const std::string& to) {
    return "graph f(%x: f32[2, 256]) {\n" + constant_line("w", "f32[4, 256]", std::vector<double>(1024, 0.00390625)) +
           fake_quantized("d", "x", "q", parameters(0.07, 0)) +
           fake_quantized("v", "w", "r", parameters(0.00390625, 0)) +
           fmt::format("  %s = aten.{}(%d)\n  %y = aten.linear(%s, %v)\n", function) +
           fake_quantized("o", "y", "p", to) + "  return %o\n}";
  };
  Pipeline p = std::move(Pipeline::from_text(averaged("exp", parameters(0.03, -128))).backend("cortex-m"));
  p.run_and_compare(one_step(), {float_input({2, 256}, std::vector<float>(512, -2.1f))});
  EXPECT_EQ(p.failures(), "");
  expect_integers(averaged("sigmoid", parameters(0.00390625, -128)), "wick_cortex_m.linear_int16");
}

TEST(CortexMQuantizeBetween, PositionsAndComparisonsThatShowRounding) {
  std::vector<float> x;
  for (int i = 0; i < 24; ++i) x.push_back(2.6f + 0.03125f * static_cast<float>(i % 12 * 7 % 12));
  const auto expect = [&](const std::string& body) {
    const std::string text = "graph f(%x: f32[2, 12]) {\n" + fake_quantized("d", "x", "q", kFrom) +
                             "  %f = aten.mul.Scalar(%d, 4.0)\n  %s = aten.sigmoid(%f)\n" + body + "  return %y\n}";
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.run_and_compare({.quantization_steps = 0}, {float_input({2, 12}, x)});
    EXPECT_EQ(p.failures(), "");
  };
  expect("  %m = aten.mean.dim(%s, [0], true)\n  %y = aten.argmax(%m, -1)\n");
  expect("  %m = aten.mean.dim(%s, [0], true)\n  %y = aten.gt.Scalar(%m, 0.99998)\n");
  const std::string exact =
      "  %m = aten.mean.dim(%d, [0], true)\n  %y = aten.mul.Scalar(%m, 0.5)\n  %k = aten.argmax(%m, -1)\n";
  const std::string text = "graph f(%x: f32[2, 12]) {\n" + fake_quantized("d", "x", "q", kFrom) + exact +
                           fake_quantized("o", "y", "p", kTo) + "  return %o, %k\n}";
  expect_integers(text, "aten.argmax");
}

TEST(CortexMQuantizeBetween, SoftmaxWrittenOut) {
  const std::string probability = parameters(0.00390625, -128);
  const std::string maximum = "  %m = aten.amax(%d, [-1], true)\n", minus = "  %c = aten.sub.Tensor(%d, %m)\n";
  const auto softmax = [&](const std::string& scores, const char* of, const char* dims = "[-1], true") {
    return model("3, 8",
                 scores + fmt::format("  %e = aten.exp({})\n  %s = aten.sum.dim_IntList(%e, {})\n"
                                      "  %y = aten.div.Tensor(%e, %s)\n",
                                      of, dims),
                 probability);
  };
  const auto is_softmax = [](const std::string& text) {
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    return p.count("cortex_m.softmax", Stage::lower) > 0 && p.outside().empty();
  };
  EXPECT_TRUE(is_softmax(softmax(maximum + minus, "%c")));
  EXPECT_TRUE(is_softmax(softmax("  %m, %i = aten.max.dim(%d, 1, true)\n" + minus, "%c")));
  EXPECT_TRUE(
      is_softmax(softmax(maximum + fake_quantized("n", "m", "mq", kFrom) + "  %c = aten.sub.Tensor(%d, %n)\n", "%c")));
  EXPECT_TRUE(is_softmax(softmax("", "%d")));
  EXPECT_FALSE(is_softmax(softmax(maximum + "  %c = aten.sub.Tensor(%d, %m, 2)\n", "%c")));
  EXPECT_FALSE(is_softmax(softmax("  %m = aten.amax(%d, [0], true)\n" + minus, "%c")));
  EXPECT_FALSE(is_softmax(softmax(maximum + minus, "%c", "[0, 1], true")));
  EXPECT_FALSE(is_softmax(softmax(maximum + minus, "%c", "[-1], true, i64")));
  EXPECT_FALSE(is_softmax(softmax(
      maximum + fake_quantized("n", "m", "mq", parameters(0.5, 0)) + "  %c = aten.sub.Tensor(%d, %n)\n", "%c")));
}

TEST(CortexMQuantizeBetween, TheLastStateOfAnLstmAndItsOutput) {
  const std::string layer =
      random_constant("wi", "f32[16, 3]", 48) + random_constant("wh", "f32[16, 4]", 64) +
      "  %z = aten.full([1, 2, 4], 0.0)\n"
      "  %a, %h, %c = aten.lstm.input(%d, [%z, %z], [%wi, %wh], false, 1, 0.0, false, false, false)\n";
  expect_integers(model("5, 2, 3", layer + "  %y = aten.mean.dim(%a, [0])\n"), "wick_cortex_m.lstm");
  expect_integers(model("5, 2, 3", layer + "  %s = aten.mul.Tensor(%h, %h)\n  %y = aten.view(%s, [2, 4])\n"),
                  "wick_cortex_m.lstm");
}

TEST(CortexMQuantizeBetween, WhatHasNoBoundOrTooCoarseStepsStays) {
  // The mask is so large that it swallows the steps of the value to which it is added.
  expect_floats(model("2, 4", constant_line("m", "f32[4]", std::vector<double>{0, -9000, 0, 0}) +
                                  "  %s = aten.add.Tensor(%d, %m)\n  %y = aten._softmax(%s, -1, false)\n"));
  // The bound of a product of products is far above its usual numbers.
  expect_floats(
      model("1, 64, 64", "  %s = aten.bmm(%d, %d)\n  %t = aten.bmm(%s, %s)\n  %y = aten.relu(%t)\n", parameters(4, 0)));
  expect_floats(model("2, 4", "  %s = aten.log(%d)\n  %y = aten.amax(%s, [1])\n"));
}

TEST(CortexMQuantizeBetween, ConstantsThatAreNoFiniteNumbersStay) {
  for (const double number : {std::nan(""), HUGE_VAL}) {
    const std::string add = constant_line("w", "f32[4]", std::vector<double>{0.125, number, 0.125, 0.125}) +
                            "  %y = aten.add.Tensor(%d, %w)\n";
    expect_floats(model("2, 4", add, parameters(0.03125, 3)));
  }
}

TEST(CortexMQuantizeBetween, BoundsOfNumbersThatAreNoneStay) {
  expect_floats(model("2, 4", "  %s = aten.constant_pad_nd(%d, [1, 0], nan)\n  %y = aten.amax(%s, [1])\n"));
  const auto list = [](const char* name, double last) {
    return constant_line(name, "f32[3]", std::vector<double>{last, 0.5, 1});
  };
  for (const double variance : {1.0, -1.0}) {
    const std::string norm =
        list("w", 1) + list("b", 0.5) + list("m", variance < 0 ? 0.25 : std::nan("")) + list("v", variance) +
        "  %s, %u, %t = aten._native_batch_norm_legit_no_training(%d, %w, %b, %m, %v, 0.1, 1e-05)\n"
        "  %y = aten.mean.dim(%s, [2, 3])\n";
    expect_floats(model("1, 3, 4, 2", norm));
  }
}

// Columns add up to 1, not rows: the product can be eight times as large as its right operand.
TEST(CortexMQuantizeBetween, ProductsWithProbabilitiesOfOtherRows) {
  const auto expect = [](const char* probabilities) {
    const std::string text = model("2, 8",
                                   std::string("  %t = aten.permute(%d, [1, 0])\n") + probabilities +
                                       "  %m = aten.mm(%p0, %t)\n  %y = aten.silu(%m)\n",
                                   parameters(0.3, -3));
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    std::vector<float> x(16, 4.25f);
    std::fill(x.begin() + 8, x.end(), -3.5f);
    p.run_and_compare(one_step(), {float_input({2, 8}, x)});
    EXPECT_EQ(p.failures(), "");
  };
  expect("  %p0 = aten._softmax(%d, 0, false)\n");
  expect("  %s = aten._softmax(%t, 1, false)\n  %p0 = aten.permute(%s, [1, 0])\n");
  expect("  %s = aten._softmax(%t, 1, false)\n  %v = aten.permute(%s, [1, 0])\n  %p0 = aten.view(%v, [2, 8])\n");
}

TEST(CortexMQuantizeBetween, ConstantsOfCoarserStepsThanTheResultStay) {
  const auto beside = [](const char* op, const std::vector<double>& numbers, const std::string& to) {
    return model("2, 4", constant_line("w", "f32[4]", numbers) + fmt::format("  %y = aten.{}(%d, %w)\n", op), to);
  };
  const std::string fine = parameters(0.03125, 3);
  expect_floats(beside("add.Tensor", {0.13, -9000, 0.13, 0.13}, fine));
  expect_floats(beside("maximum", {0.13, -9000, 0.13, 0.13}, fine));
  expect_floats(beside("mul.Tensor", {0.13, 9000, 0.13, 0.13}, fine));
  expect_floats(beside("div.Tensor", {1, 1000, 0.01, 1}, parameters(1, 3)));
  expect_integers(beside("mul.Tensor", {0.13, 9, 0.13, -0.2}, parameters(0.25, 3)), "wick_cortex_m.mul_int16");
  expect_integers(beside("div.Tensor", {1, 10, -0.5, 1}, parameters(0.0625, 3)), "cortex_m.quantized_div");
}

TEST(CortexMQuantizeBetween, NumbersThatTheGraphReturnsStayNumbers) {
  const std::string text = "graph f(%x: f32[1, 3, 5, 4]) {\n" + fake_quantized("d", "x", "q", kFrom) + kSiluAndMean +
                           fake_quantized("o", "y", "p", kTo) + "  return %o, %s\n}";
  expect_floats(text);
}

TEST(CortexMQuantizeBetween, StockHasNoInt16) { expect_floats(model("1, 3, 5, 4", kSiluAndMean), "m55", true); }

TEST(CortexMQuantizeBetween, EachElementIsWithinAStep) {
  const std::string text = "graph f(%x: f32[256]) {\n" + fake_quantized("d", "x", "q", kFrom) +
                           "  %s = aten.gelu(%d)\n  %v = aten.view(%s, [256, 1])\n  %y = aten.mean.dim(%v, [1])\n" +
                           fake_quantized("o", "y", "p", parameters(0.015625, -100)) + "  return %o\n}";
  std::vector<float> x;
  for (int element = -128; element < 128; ++element) x.push_back(0.03125f * static_cast<float>(element + 11));
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_outside({});
  p.run_and_compare(one_step(), {float_input({256}, x)});
  EXPECT_EQ(p.failures(), "");
}

}  // namespace
}  // namespace wick::cortex_m::quantize_between_test
