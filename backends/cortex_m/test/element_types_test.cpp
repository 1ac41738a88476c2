// uint8 elements, which become int8, and operators that mix int8 and int16 elements in their operands and results.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::signed_elements_test {
namespace {

using testing::Pipeline;
using testing::Stage;

const std::string kFrom = parameters(0.03125, 117, 0, 255), kTo = parameters(0.0205078125, 132, 0, 255);

std::string unsigned_quantized(const char* d, const char* x, const char* e, const std::string& q) {
  return quantize_line(e, x, q, "u8") + dequantize_line(d, e, q, "u8");
}

// `outside`: the names of the nodes outside of the backend.
void expect_integers(const std::string& text, const std::string& op, const std::vector<std::string>& outside = {}) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"m55", "m4", "m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside(outside).check(op);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

TEST(CortexMSignedElements, LayersAndFunctionsComputeOnInt8) {
  const std::string input = "graph f(%x: f32[2, 3, 5, 4]) {\n" + unsigned_quantized("d", "x", "q", kFrom);
  const std::string end = unsigned_quantized("o", "y", "p", kTo) + "  return %o\n}";
  const std::string w = constant_line("w", "i8[2, 3, 1, 1]", std::vector<int>{3, -90, 127, -128, 5, 6}) +
                        dequantize_line("v", "w", parameters(0.0078125, 0));
  expect_integers(input + w + "  %y = aten.convolution(%d, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n" + end,
                  "cortex_m.quantized_conv2d");
  expect_integers(input + "  %y = aten.hardswish(%d)\n" + end, "cortex_m.quantized_activation");
  expect_integers(input + "  %s = aten.silu(%d)\n  %y = aten.mean.dim(%s, [2, 3])\n" + end,
                  "wick_cortex_m.lookup_int16");
}

TEST(CortexMSignedElements, SoDoConstantsOfUint8) {
  const std::string text =
      "graph f(%x: f32[2, 3]) {\n" + constant_line("w", "u8[2, 3]", std::vector<int>{0, 255, 128, 127, 3, 200}) +
      unsigned_quantized("d", "x", "q", kFrom) + dequantize_line("v", "w", parameters(0.0078125, 121, 0, 255), "u8") +
      "  %y = aten.linear(%d, %v)\n" + unsigned_quantized("o", "y", "p", kTo) + "  return %o\n}";
  expect_integers(text, "cortex_m.quantized_linear");
}

// Inputs, outputs and other readers of the same elements.
TEST(CortexMSignedElements, WhatComputesOnElementsReadsTheBytesOfTheModel) {
  expect_integers("graph f(%q: u8[2, 7]) {\n" + dequantize_line("d", "q", kFrom, "u8") + "  %y = aten.sigmoid(%d)\n" +
                      quantize_line("p", "y", kTo, "u8") + "  return %p\n}",
                  "cortex_m.quantized_activation");
  expect_integers("graph f(%x: f32[2, 7]) {\n" + unsigned_quantized("d", "x", "q", kFrom) +
                      "  %y = aten.sigmoid(%d)\n" + unsigned_quantized("o", "y", "p", kTo) + "  return %o, %q, %p\n}",
                  "cortex_m.quantized_activation");
}

}  // namespace
}  // namespace wick::cortex_m::signed_elements_test

namespace wick::cortex_m::mixed_elements_test {
namespace {

using testing::Pipeline;
using testing::Stage;

// The pairs of dtypes that mix int16 with int8 or uint8.
std::vector<std::pair<Elements, Elements>> mixes() {
  return {{kNarrow, kWide}, {kWide, kNarrow}, {kUnsigned, kWide}, {kWide, kUnsigned}};
}

void expect_integers(const std::string& text, std::initializer_list<const char*> cpus = {"m55", "m4"}) {
  for (const char* cpu : cpus) {
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_not("quantized_decomposed");
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
  }
}

std::string of_one(const char* sizes, const char* call, const Elements& from, const Elements& to, double largest,
                   const std::string& constants = "") {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + constants + on_grid("b", "x", from, 2.5) +
         fmt::format("  %c = {}\n", call) + on_grid("o", "c", to, largest) + "  return %o\n}";
}

std::string of_two(const char* sizes, const char* more, const char* call, const Elements& a, const Elements& b,
                   const Elements& to) {
  return fmt::format("graph f(%x: f32[{}], %z: f32[{}]) {{\n", sizes, more) + on_grid("b", "x", a, 2.5) +
         on_grid("v", "z", b, 3) + fmt::format("  %c = {}\n", call) + on_grid("o", "c", to, 4) + "  return %o\n}";
}

TEST(CortexMMixedElements, FunctionsOfOneElement) {
  for (const auto& [from, to] : mixes()) {
    for (const char* call : {"aten.relu(%b)", "aten.sigmoid(%b)", "aten.tanh(%b)", "aten.gelu(%b)", "aten.neg(%b)",
                             "aten.hardtanh(%b, -0.5, 0.75)", "aten.mul.Scalar(%b, 0.37)", "aten.exp(%b)"})
      expect_integers(of_one("3, 5", call, from, to, 3));
  }
}

// A row of floats beside elements. A product or quotient whose row needs more than 16 bits stays in floats, until the
// model quantizes the row.
TEST(CortexMMixedElements, RowsOfFloatsBesideElements) {
  const std::string row = constant_line("r", "f32[5]", std::vector<std::string>{"0.7", "-1.3", "0.11", "2.1", "-0.9"});
  for (const Elements& from : {kNarrow, kWide}) {
    for (const Elements& to : {kNarrow, kWide}) {
      for (const char* call : {"aten.add.Tensor(%b, %r)", "aten.sub.Tensor(%b, %r)", "aten.sub.Tensor(%r, %b)",
                               "aten.mul.Tensor(%b, %r)", "aten.div.Tensor(%b, %r)"}) {
        const std::string text = of_one("3, 4, 5", call, from, to, 4, row);
        SCOPED_TRACE(text);
        const bool adds = std::string_view(call).find("add") != std::string_view::npos ||
                          std::string_view(call).find("sub") != std::string_view::npos;
        Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
        if (adds) p.at(Stage::lower).check_outside({});
        p.run_and_compare(one_step());
        EXPECT_EQ(p.failures(), "");
        for (const compiler::NodeVerdict& node : p.compiled()->methods[0].outside) {
          EXPECT_NE(node.reason.find("an operand is not quantized: f32[5]"), std::string::npos) << node.reason;
          EXPECT_NE(node.help, "");
        }
      }
    }
  }
}

// Writes of values that no quantizer annotated to a part of a tensor.
TEST(CortexMMixedElements, NumbersThatAreWrittenIntoATensor) {
  std::vector<std::pair<Elements, Elements>> all = mixes();
  all.insert(all.end(), {{kNarrow, kNarrow}, {kWide, kWide}});
  for (const auto& [from, to] : all) {
    for (const char* call :
         {"aten.slice.Tensor(%b, 1, 1, 3)\n  %m = aten.mul.Scalar(%s, 2)\n  %c = aten.slice_scatter(%b, %m, 1, 1, 3)",
          "aten.slice.Tensor(%b, 1, 0, 2)\n  %t = aten.slice.Tensor(%b, 1, 2, 4)\n  %m = aten.add.Tensor(%s, %t)\n"
          "  %c = aten.slice_scatter(%b, %m, 1, 1, 3)",
          "aten.slice.Tensor(%b, 1, 0, 4, 2)\n  %m = aten.relu(%s)\n  %c = aten.slice_scatter(%b, %m, 1, 0, 4, 2)",
          "aten.select.int(%b, 1, 1)\n  %m = aten.sigmoid(%s)\n  %c = aten.select_scatter(%b, %m, 1, 1)",
          "aten.slice.Tensor(%b, 1, 0, 2)\n  %t = aten.slice.Tensor(%b, 1, 2, 4)\n  %g = aten.gt.Scalar(%s, 0)\n"
          "  %m = aten.where.self(%g, %s, %t)\n  %c = aten.slice_scatter(%b, %m, 1, 0, 2)",
          "aten.gt.Scalar(%b, 0.25)\n  %m = aten.tanh(%b)\n  %c = aten.masked_scatter(%b, %s, %m)",
          "aten.gt.Scalar(%b, 0.25)\n  %c = aten.masked_fill.Scalar(%b, %s, -0.75)"}) {
      const std::string text = "graph f(%x: f32[3, 4, 5]) {\n" + on_grid("b", "x", from, 2.5) +
                               fmt::format("  %s = {}\n", call) + on_grid("o", "c", to, 5) + "  return %o\n}";
      Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
      p.at(Stage::lower).check_outside({}).check_not("quantized_decomposed");
      testing::Tolerance tolerance = one_step();
      if (to.max == kWide.max) tolerance.quantization_steps = 3;
      p.run_and_compare(tolerance);
      EXPECT_EQ(p.failures(), "") << text;
    }
  }
}

// A scalar that is known only at run time has no element.
TEST(CortexMMixedElements, ComputedNumbersAreNotFilledIn) {
  for (const Elements& from : {kNarrow, kWide}) {
    for (const Elements& to : {kNarrow, kWide}) {
      for (const char* call : {"aten.masked_fill.Scalar(%b, %s, s0)", "aten.scatter.value(%b, 1, %i, s0)",
                               "aten.masked_fill.Scalar(%m, %s, s0)"}) {
        const std::string text = "graph f(%x: f32[3, 4, 5], %y: f32[s0, 2], %i: i64[3, 2, 5]) {\n  range s0: 1..5\n" +
                                 on_grid("b", "x", from, 2.5) +
                                 "  %s = aten.gt.Scalar(%b, 0.25)\n  %m = aten.relu(%b)\n" +
                                 fmt::format("  %c = {}\n", call) + on_grid("o", "c", to, 5) + "  return %o\n}";
        SCOPED_TRACE(text);
        Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
        const std::vector<std::string> outside = p.outside();
        EXPECT_EQ(p.failures(), "");
        EXPECT_TRUE(std::any_of(outside.begin(), outside.end(), [](const std::string& reason) {
          return reason.find("computed") != std::string::npos;
        })) << fmt::format("{}", fmt::join(outside, "\n"));
      }
    }
  }
}

// Number bounds of operators on scalars, and along dynamic sizes.
TEST(CortexMMixedElements, NumbersOfScalarsAndOfUnknownSizes) {
  for (const char* sizes : {"", "s0", "s0, 4", "4, s0", "s0, 4, 3, 5", "2, 4, s0, 5"}) {
    for (const char* call :
         {"aten._log_softmax(%b, 0, false)", "aten._log_softmax(%b, -1, false)", "aten._softmax(%b, -1, false)",
          "aten.amax(%b, [], false)", "aten.mean.dim(%b, [-1], true)", "aten.sum.dim_IntList(%b, [0], true)",
          "aten.layer_norm(%b, [5])", "aten.native_group_norm(%b, none, none, s0, 4, 15, 2, 1e-5)",
          "aten.logsumexp(%b, [0])", "aten.logsumexp(%b, [-1], true)", "aten.cumsum(%b, 0)",
          "aten.var.correction(%b, [0], 0)", "aten.masked_fill.Scalar(%b, %s, -0.75)"}) {
      const std::string_view name = call;
      const bool has_four = std::string_view(sizes) == "s0, 4, 3, 5";
      if (!has_four && (name.find("group_norm") != name.npos || name.find("layer_norm") != name.npos)) continue;
      for (const Elements& from : {kNarrow, kWide}) {
        const std::string result = name.find("group_norm") != name.npos ? "  %c, %mean, %rstd = " : "  %c = ";
        const std::string text = fmt::format("graph f(%x: f32[{}]) {{\n", sizes) +
                                 (std::string_view(sizes).find("s0") != name.npos ? "  range s0: 1..5\n" : "") +
                                 on_grid("b", "x", from, 2.5) + "  %s = aten.gt.Scalar(%b, 0.25)\n" + result + call +
                                 "\n  %r = aten.mul.Scalar(%c, 0.5)\n" + on_grid("o", "r", kNarrow, 5) +
                                 "  return %o\n}";
        SCOPED_TRACE(text);
        Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
        p.run_and_compare(one_step());
        EXPECT_EQ(p.failures(), "");
      }
    }
  }
}

// The table has an entry for each int8 element, however the function behaves between them.
TEST(CortexMMixedElements, TablesOfInt8AreExact) {
  std::vector<float> x;
  for (int element = -128; element <= 127; ++element) x.push_back(static_cast<float>(element - 5) * 0.03125f);
  const testing::Tolerance exact = {.absolute = 0, .relative = 0, .of_largest = 0, .quantization_steps = 0};
  for (const char* call :
       {"aten.round(%b)", "aten.reciprocal(%b)", "aten.rsqrt(%b)", "aten.log(%b)", "aten.sign(%b)", "aten.sin(%b)",
        "aten.abs(%b)\n  %s = aten.add.Scalar(%c, 0.01)\n  %c2 = aten.reciprocal(%s)",
        "aten.floor(%b)\n  %c2 = aten.sub.Tensor(%b, %c)"}) {
    const char* last = std::string_view(call).find("%c2 =") == std::string_view::npos ? "c" : "c2";
    for (const double scale : {0x1p-12, 0.00037}) {
      const std::string wide = parameters(scale, 0, -32767, 32767);
      const std::string text = "graph f(%x: f32[256]) {\n" + fake_quantized("b", "x", "a", parameters(0.03125, 5)) +
                               fmt::format("  %c = {}\n", call) + quantize_line("d", last, wide, "i16") +
                               dequantize_line("o", "d", wide, "i16") + "  return %o\n}";
      SCOPED_TRACE(text);
      Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
      p.at(Stage::lower).check_count("wick_cortex_m.lookup_int16", 1).check_not("quantized_decomposed");
      p.run_and_compare(exact, {float_input({256}, x)});
      EXPECT_EQ(p.failures(), "");
    }
  }
}

// A quantization on the way to an int16 result is kept.
TEST(CortexMMixedElements, FunctionsOfOneInt8ValueAreOneTable) {
  const std::string text = "graph f(%x: f32[4, 9]) {\n" + on_grid("b", "x", kNarrow, 2.5) + "  %t = aten.tanh(%b)\n" +
                           on_grid("u", "t", kNarrow, 1) + "  %s = aten.sigmoid(%b)\n" + on_grid("v", "s", kWide, 1) +
                           "  %c = aten.mul.Tensor(%u, %v)\n" + on_grid("o", "c", kWide, 1) + "  return %o\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_count("wick_cortex_m.lookup_int16", 1).check_not("mul_int16");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMMixedElements, OperatorsOfTwoTensors) {
  for (const Elements& a : {kNarrow, kWide}) {
    for (const Elements& b : {kNarrow, kWide}) {
      for (const Elements& to : {kNarrow, kWide, kUnsigned}) {
        if (std::string_view(a.dtype) == b.dtype && std::string_view(a.dtype) == to.dtype) continue;
        for (const char* call : {"aten.add.Tensor(%b, %v)", "aten.sub.Tensor(%b, %v, 2)", "aten.mul.Tensor(%b, %v)",
                                 "aten.maximum(%b, %v)", "aten.minimum(%b, %v)"}) {
          expect_integers(of_two("3, 4, 5", "4, 1", call, a, b, to), {"m55"});
        }
        expect_integers(of_two("2, 4, 6", "2, 6, 5", "aten.bmm(%b, %v)", a, b, to), {"m55"});
        expect_integers(of_two("2, 4", "2, 3", "aten.cat([%b, %v], 1)", a, b, to), {"m55"});
      }
    }
  }
}

// Only the kernel rounds: its int16 elements differ from int8 by the zero point.
TEST(CortexMMixedElements, ResultsOfInt8AreRoundedOnce) {
  Pipeline p = std::move(
      Pipeline::from_text(of_two("4", "4", "aten.add.Tensor(%b, %v)", kWide, kWide, kNarrow)).backend("cortex-m"));
  p.at(Stage::lower).check_count("wick_cortex_m.add_int16", 1).check_count("wick_cortex_m.requantize", 1);
  EXPECT_EQ(p.failures(), "");
  // Multiplier 2^30 and shift -13: int16 elements, shifted left by 14, are unchanged.
  EXPECT_NE(p.dump(Stage::lower).find("0, 5, 1073741824, -13, -128, 127, i8"), std::string::npos)
      << p.dump(Stage::lower);
  EXPECT_NE(p.dump(Stage::lower).find("-133, 122)"), std::string::npos) << p.dump(Stage::lower);
}

TEST(CortexMMixedElements, ReductionsAndWindows) {
  for (const auto& [from, to] : mixes()) {
    for (const char* call :
         {"aten.mean.dim(%b, [2, 3])", "aten.mean.dim(%b, [1], true)", "aten.sum.dim_IntList(%b, [3])",
          "aten.amax(%b, [2])", "aten.avg_pool2d(%b, [2, 2])",
          "aten.avg_pool2d(%b, [3, 3], [2, 2], [1, 1], true, false)", "aten.max_pool2d(%b, [3, 3], [2, 2], [1, 1])",
          "aten._adaptive_avg_pool2d(%b, [3, 2])", "aten._softmax(%b, 1, false)", "aten._softmax(%b, -1, false)",
          "aten._log_softmax(%b, 3, false)", "aten.upsample_bilinear2d.vec(%b, [7, 9], false, none)", "aten.glu(%b, 1)",
          "aten.constant_pad_nd(%b, [1, 2], 0.5)"})
      expect_integers(of_one("2, 4, 5, 6", call, from, to, 9), {"m55"});
  }
}

TEST(CortexMMixedElements, Layers) {
  const auto count = [](size_t n) {
    std::vector<int> all;
    for (size_t i = 0; i < n; ++i) all.push_back(static_cast<int>(i * 37 % 255) - 127);
    return all;
  };
  const std::string linear = constant_line("e", "i8[3, 8]", count(24)) +
                             dequantize_line("w", "e", parameters(0.01, 0)) +
                             constant_line("k", "f32[3]", std::vector<double>{0.5, -1.25, 2});
  const std::string images = constant_line("e", "i8[3, 2, 3, 3]", count(54)) +
                             dequantize_line("w", "e", parameters(0.01, 0)) +
                             constant_line("k", "f32[3]", std::vector<double>{0.5, -1.25, 2});
  for (const auto& [from, to] : mixes()) {
    expect_integers(of_one("4, 8", "aten.linear(%b, %w, %k)", from, to, 8, linear));
    const std::string sizes = "1, 2, 6, 5";
    for (const char* form : {"[1, 1], [1, 1], [1, 1], false, [0, 0], 1", "[2, 1], [0, 0], [1, 1], false, [0, 0], 1"})
      expect_integers(
          of_one(sizes.c_str(), fmt::format("aten.convolution(%b, %w, %k, {})", form).c_str(), from, to, 8, images));
  }
}

// Sums of many products of int8 numbers fit 32 bits, as on int8.
TEST(CortexMMixedElements, SumsOfInt8KeepThirtyTwoBits) {
  const std::string weights =
      constant_line("e", "i8[1, 600]", std::vector<int>(600, 127)) + dequantize_line("w", "e", parameters(0.01, 0));
  Pipeline p = std::move(
      Pipeline::from_text(of_one("1, 600", "aten.linear(%b, %w)", kNarrow, kWide, 3000, weights)).backend("cortex-m"));
  p.at(Stage::lower).check_count("wick_cortex_m.linear_int16", 1).check_not("i64[");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMMixedElements, ConstantsOfAnotherDtype) {
  const std::string row = constant_line("e", "i8[4]", std::vector<int>{-128, 7, 0, 127});
  for (const Elements& from : {kNarrow, kWide}) {
    for (const Elements& to : {kNarrow, kWide}) {
      for (const char* call : {"aten.add.Tensor(%b, %w)", "aten.mul.Tensor(%b, %w)"})
        expect_integers(of_one("3, 4", call, from, to, 6, row + dequantize_line("w", "e", parameters(0.02, 3))));
    }
  }
}

TEST(CortexMMixedElements, FunctionsThatNoTableOfInt16HoldsStayOutside) {
  Pipeline p = std::move(Pipeline::from_text(of_one("4, 5", "aten.round(%b)", kWide, kNarrow, 3)).backend("cortex-m"));
  p.at(Stage::partition);
  ASSERT_EQ(p.outside().size(), 1u);
}

// Fake-quantize nodes of quantization-aware training.
TEST(CortexMFakeQuantized, NodesAreElementsAndBack) {
  const auto rounded = [](const char* to, const char* x, const char* q, bool masked) {
    return fmt::format("  %{}{} = aten.fake_quantize_per_tensor_affine{}(%{}, {})\n", to,
                       masked ? fmt::format(", %{}m", to) : "", masked ? "_cachemask" : "", x, q);
  };
  const std::string weights =
      constant_line("f", "f32[2, 4]", std::vector<double>{0.5, -0.75, 0.25, 1, -1, 0.125, 0, 2}) +
      constant_line("s", "f32[2]", std::vector<double>{0.0078125, 0.015625}) +
      constant_line("z", "i32[2]", std::vector<int>{0, 0});
  for (const bool masked : {false, true}) {
    for (const auto& [in, out] :
         {std::pair("0.02, 5, -128, 127", "0.03, -3, -128, 127"), std::pair("0.02, 120, 0, 255", "0.03, 0, 0, 255"),
          std::pair("0.04, 60, 0, 127", "0.0001, 0, -32768, 32767")}) {
      const std::string layer =
          fmt::format("  %w{0} = aten.fake_quantize_per_channel_affine{1}(%f, %s, %z, 0, -127, 127)\n",
                      masked ? ", %wm" : "", masked ? "_cachemask" : "") +
          "  %c = aten.linear(%b, %w)\n";
      expect_integers("graph f(%x: f32[3, 4]) {\n" + weights + rounded("b", "x", in, masked) + layer +
                      rounded("o", "c", out, masked) + "  return %o\n}");
      expect_integers("graph f(%x: f32[3, 4], %y: f32[3, 4]) {\n" + rounded("b", "x", in, masked) +
                      rounded("v", "y", in, masked) + "  %c = aten.add.Tensor(%b, %v)\n" +
                      rounded("o", "c", out, masked) + "  return %o\n}");
    }
  }
}

}  // namespace
}  // namespace wick::cortex_m::mixed_elements_test
