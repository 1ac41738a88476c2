// Operators on int16 besides linear: functions of one element by tables, and what is refused.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::int16_rules_test {
namespace {

using testing::Pipeline;
using testing::Stage;

std::string wide(double scale) { return parameters(scale, 0, -32767, 32767); }

/// One operator between int16 tensors of these sizes, e.g. "65536".
std::string graph(const char* sizes, const char* call, double from, double to) {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + quantize_line("a", "x", wide(from), "i16") +
         dequantize_line("b", "a", wide(from), "i16") + fmt::format("  %c = {}\n", call) +
         quantize_line("d", std::string_view(call).find("%c2 =") == std::string_view::npos ? "c" : "c2", wide(to),
                       "i16") +
         dequantize_line("o", "d", wide(to), "i16") + "  return %o\n}";
}

std::string refusal(const std::string& text) {
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::partition);
  const std::vector<std::string> outside = p.outside();
  return outside.empty() ? p.failures() : outside[0];
}

// Runs the graph on every element, before and after the passes of the backend: results are within one step.
Pipeline run_on_every_element(const char* body, double from, double to, const char* cpu) {
  std::vector<float> x;
  for (int element = -32767; element <= 32767; ++element)
    x.push_back(static_cast<float>(element) * static_cast<float>(from));
  Pipeline p = std::move(Pipeline::from_text(graph("65535", body, from, to)).backend(backend_for(cpu)));
  p.run_and_compare(one_step(), {float_input({65535}, x)});
  return p;
}

void expect_table(const char* call, double from, double to, const char* table) {
  SCOPED_TRACE(call);
  for (const char* cpu : {"m55", "m4", "m3"}) {
    Pipeline p = run_on_every_element(call, from, to, cpu);
    p.at(Stage::lower).check_count("wick_cortex_m.lookup_int16", 1).check_not("quantized_decomposed");
    EXPECT_EQ(p.failures(), "");
    EXPECT_NE(p.dump(Stage::lower).find(fmt::format("const %lut: i32[{}]", table)), std::string::npos)
        << p.dump(Stage::lower).substr(0, 600);
  }
}

TEST(CortexMCompileInt16, FunctionsAreTablesWithinOneStep) {
  expect_table("aten.mul.Scalar(%b, -0.75)", 0x1p-15, 0x1p-15, "65");
  expect_table("aten.sigmoid(%b)", 0x1p-14, 0x1p-15, "257");
  expect_table("aten.tanh(%b)", 0x1p-14, 0x1p-15, "513");
  expect_table("aten.tanh(%b)", 0x1p-12, 0x1p-15, "2049");
}

// Values in between that no quantizer annotated are not rounded.
TEST(CortexMCompileInt16, ChainsInFloatsAreOneTable) {
  const auto expect_chain = [](const char* body, double from, double to, const char* op) {
    SCOPED_TRACE(body);
    for (const char* cpu : {"m55", "m3"}) {
      Pipeline p = run_on_every_element(body, from, to, cpu);
      p.at(Stage::lower).check_count(op, 1).check_not("quantized_decomposed");
      EXPECT_EQ(p.failures(), "");
      EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
    }
  };
  constexpr char kLines[] = "wick_cortex_m.lookup_int16", kGraded[] = "wick_cortex_m.graded_lookup_int16";
  expect_chain("aten.abs(%b)\n  %s = aten.add.Scalar(%c, 1.0)\n  %c2 = aten.div.Tensor(%b, %s)", 0x1p-13, 0x1p-15,
               kLines);
  expect_chain("aten.tanh(%b)\n  %c2 = aten.sub.Tensor(%b, %c)", 0x1p-15, 0x1p-17, kLines);
  expect_chain("aten.relu(%b)\n  %c2 = aten.sqrt(%c)", 0x1p-14, 0x1p-14, kGraded);
  expect_chain("aten.abs(%b)\n  %s = aten.add.Scalar(%c, 0.01)\n  %c2 = aten.rsqrt(%s)", 0x1p-13, 0x1p-11, kGraded);
}

// The kink or jump is between two entries of a table, where interpolation would be off by more than a step.
TEST(CortexMCompileInt16, FunctionsWithKinksAndJumpsHaveATableForEachSide) {
  const auto expect_pieces = [](const char* call, double from, double to, size_t pieces) {
    SCOPED_TRACE(call);
    for (const char* cpu : {"m55", "m3"}) {
      Pipeline p = run_on_every_element(call, from, to, cpu);
      p.at(Stage::lower).check_count("wick_cortex_m.lookup_int16", pieces).check_not("quantized_decomposed");
      p.check_count("aten.where.self", pieces - 1);
      EXPECT_EQ(p.failures(), "");
      EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
    }
  };
  expect_pieces("aten.threshold(%b, 0.3, -0.2)", 0.00012, 0.00012, 2);
  expect_pieces("aten.softshrink(%b, 0.5)", 0.00003357, 0.00001831, 3);
  expect_pieces("aten.hardshrink(%b, 0.5)", 0.00003357, 0.00003357, 3);
  expect_pieces("aten.hardswish(%b)", 0.000123, 0.0000114, 2);
}

TEST(CortexMCompileInt16, ProfileStockHasNoTablesOfChains) {
  Pipeline p =
      std::move(Pipeline::from_text(graph("4, 5", "aten.tanh(%b)\n  %c2 = aten.sub.Tensor(%b, %c)", 0x1p-15, 0x1p-17))
                    .backend("cortex-m"));
  p.options().profile = compiler::Profile::stock;
  p.at(Stage::lower).check_not("lookup_int16").check_count("aten.tanh", 1);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

// The bound of the result is between two entries of the table: interpolation exceeds it and is clamped.
TEST(CortexMCompileInt16, FunctionsMaySaturate) { expect_table("aten.mul.Scalar(%b, 3.0)", 0x1p-15, 0x1p-15, "65"); }

TEST(CortexMCompileInt16, FunctionsThatLinesDoNotFollowStayOutside) {
  EXPECT_NE(refusal(graph("4, 5", "aten.round(%b)", 0x1p-10, 0x1p-10)).find("no table of up to 4097 elements"),
            std::string::npos);
  EXPECT_NE(refusal(graph("4, 5", "aten.sin(%b)", 1.0, 0x1p-15)).find("no table of up to 4097 elements"),
            std::string::npos);
}

// Reciprocals, roots and logarithms are steep near 0, infinite at 0, and NaN below.
TEST(CortexMCompileInt16, FunctionsThatAreSteepNearZeroHaveGradedTables) {
  for (const auto& [call, from, to] :
       {std::tuple("aten.reciprocal(%b)", 0x1p-10, 0x1p-10), std::tuple("aten.reciprocal(%b)", 0.000614, 0x1p-12),
        std::tuple("aten.rsqrt(%b)", 0x1p-12, 0x1p-10), std::tuple("aten.log(%b)", 0x1p-12, 0x1p-12),
        std::tuple("aten.sqrt(%b)", 0x1p-12, 0x1p-13)}) {
    SCOPED_TRACE(call);
    for (const char* cpu : {"m55", "m3"}) {
      Pipeline p = run_on_every_element(call, from, to, cpu);
      p.at(Stage::lower).check_count("wick_cortex_m.graded_lookup_int16", 1).check_not("quantized_decomposed");
      EXPECT_EQ(p.failures(), "");
    }
  }
}

TEST(CortexMCompileInt16, BoundsAreTheRangeOfTheOperatorBefore) {
  Pipeline p = std::move(
      Pipeline::from_text(graph("4, 5", "aten.hardtanh(%b, -0.5, 0.25)", 0x1p-15, 0x1p-15)).backend("cortex-m"));
  p.at(Stage::lower).check_not("quantized_decomposed").check_not("aten.hardtanh").check_not("aten.clamp");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

std::string sum(const char* sizes, const char* op, double from, double to) {
  return graph(sizes, fmt::format("{}(%b, %b)", op).c_str(), from, to);
}

void expect_integers(const std::string& text) {
  for (const char* cpu : {"m55", "m4"}) {
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_not("quantized_decomposed");
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
  }
}

TEST(CortexMCompileInt16, QuotientsOfAnyBroadcast) {
  // Divisors are at least 1.
  const auto quotient = [](const char* divisor, double to) {
    return "graph f(%x: f32[2, 3, 4]) {\n" + quantize_line("a", "x", wide(0x1p-14), "i16") +
           dequantize_line("b", "a", wide(0x1p-14), "i16") + divisor + quantize_line("e", "w", wide(0x1p-12), "i16") +
           dequantize_line("v", "e", wide(0x1p-12), "i16") + "  %c = aten.div.Tensor(%b, %v)\n" +
           quantize_line("d", "c", wide(to), "i16") + dequantize_line("o", "d", wide(to), "i16") + "  return %o\n}";
  };
  const std::string row = constant_line("w", "f32[4]", std::vector<double>{1.0, -2.5, 3.25, 1.5});
  const std::string column = constant_line("w", "f32[2, 1, 1]", std::vector<double>{1.25, -7.5});
  for (const double to : {0x1p-14, 0x1p-16}) {
    expect_integers(quotient(row.c_str(), to));
    expect_integers(quotient(column.c_str(), to));
  }
}

// Infinite quotients saturate: quotients by one step do, or else a comparison finds divisors of 0.
TEST(CortexMCompileInt16, QuotientsByZero) {
  std::vector<float> x, z;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      x.push_back(0x1p-12f * static_cast<float>(column < 4 ? column - 4 : column - 3));
      z.push_back(0x1p-12f * static_cast<float>(row - 3));
    }
  }
  for (const auto& [to, selection] : {std::pair(0x1p-12, "aten.where.self"), std::pair(0x1p-14, "aten.where.self"),
                                      std::pair(0x1p-15, "aten.masked_fill.Scalar")}) {
    const std::string text =
        "graph f(%x: f32[64], %z: f32[64]) {\n" + quantize_line("a", "x", wide(0x1p-12), "i16") +
        dequantize_line("b", "a", wide(0x1p-12), "i16") + quantize_line("e", "z", wide(0x1p-12), "i16") +
        dequantize_line("v", "e", wide(0x1p-12), "i16") + "  %c = aten.div.Tensor(%b, %v)\n" +
        quantize_line("d", "c", wide(to), "i16") + dequantize_line("o", "d", wide(to), "i16") + "  return %o\n}";
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_count(selection, 1).check_count("cortex_m.quantized_div", 1);
    // A single conversion cannot map one step to the end of the range.
    p.check_count("wick_cortex_m.requantize", std::string_view(selection) == "aten.where.self" ? 2 : 0);
    p.run_and_compare(one_step(), {float_input({64}, x), float_input({64}, z)});
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
  }
}

TEST(CortexMCompileInt16, MaximaOfWindows) {
  for (const char* call : {"aten.max_pool2d(%b, [2, 2])", "aten.max_pool2d(%b, [3, 2], [2, 1], [1, 1])",
                           "aten.max_pool2d(%b, [3, 3], [2, 2], [1, 1], [1, 1], true)",
                           "aten.max_pool2d(%b, [2, 3], [1, 2], [0, 1], [2, 1])"})
    expect_integers(graph("2, 3, 7, 8", call, 0x1p-15, 0x1p-15));
  expect_integers(graph("1, 2, 4, 4", "aten.max_pool2d(%b, [2, 2])", 0x1p-15, 0x1p-14));
}

TEST(CortexMCompileInt16, GatedLinearUnits) {
  for (const char* call : {"aten.glu(%b, 1)", "aten.glu(%b, -1)"})
    for (const double to : {0x1p-15, 0x1p-14}) expect_integers(graph("2, 6, 4", call, 0x1p-12, to));
  EXPECT_NE(refusal(graph("2, 6", "aten.glu(%b, 1)", 1e-9, 1e9)), "");
}

TEST(CortexMCompileInt16, LogarithmsOfSoftmax) {
  for (const char* dim : {"0", "1", "-1"}) {
    const std::string call = fmt::format("aten._log_softmax(%b, {}, false)", dim);
    expect_integers(graph("3, 7, 5", call.c_str(), 0x1p-12, 0x1p-11));
    expect_integers(graph("3, 70, 5", call.c_str(), 0x1p-9, 0x1p-8));
  }
  expect_integers(graph("2, 6", "aten._log_softmax(%b, 1, false)", 0x1.ffp-7, 0x1.01p-18));
  for (const auto& [from, to] : {std::pair(0x1p-6, 0x1p-7), std::pair(0x1p-12, 0x1p-18)})
    EXPECT_NE(refusal(graph("2, 6", "aten._log_softmax(%b, 1, false)", from, to)).find("a scale"), std::string::npos);
}

TEST(CortexMCompileInt16, PixelsBetweenOthers) {
  for (const char* more : {"[7, 9], false, none", "[7, 9], true, none", "[3, 2], false, none", "[1, 1], true, none",
                           "none, false, [1.6, 2.25]", "none, true, [2.0, 0.5]"})
    expect_integers(
        graph("2, 5, 4, 6", fmt::format("aten.upsample_bilinear2d.vec(%b, {})", more).c_str(), 0x1p-12, 0x1p-12));
  expect_integers(graph("1, 3, 4", "aten.upsample_linear1d(%b, [11], false)", 0x1p-12, 0x1.1p-13));
  const char* bilinear = "aten.upsample_bilinear2d.vec(%b, [7, 9], false, none)";
  expect_integers(graph("1, 2, 4, 6", bilinear, 0.0699, 0.01));
  EXPECT_NE(refusal(graph("1, 2, 4, 6", bilinear, 0.0701, 0.01)).find("too small"), std::string::npos);
}

TEST(CortexMCompileInt16, ProductsOfComputedMatrices) {
  const auto product = [](const char* op, const char* a, const char* z, double to) {
    return fmt::format("graph f(%x: f32[{}], %z: f32[{}]) {{\n", a, z) + quantize_line("a", "x", wide(0x1p-14), "i16") +
           dequantize_line("b", "a", wide(0x1p-14), "i16") + quantize_line("e", "z", wide(0x1p-13), "i16") +
           dequantize_line("v", "e", wide(0x1p-13), "i16") + fmt::format("  %c = {}(%b, %v)\n", op) +
           quantize_line("d", "c", wide(to), "i16") + dequantize_line("o", "d", wide(to), "i16") + "  return %o\n}";
  };
  for (const double to : {0x1p-12, 0x1.8p-14}) {
    expect_integers(product("aten.bmm", "3, 4, 6", "3, 6, 5", to));
    expect_integers(product("aten.mm", "4, 7", "7, 1", to));
    expect_integers(product("aten.matmul", "2, 3, 4, 6", "2, 3, 6, 5", to));
  }
  EXPECT_NE(refusal(product("aten.mm", "4, 7", "7, 1", 0x1p-32)).find("too far from those"), std::string::npos);
}

TEST(CortexMCompileInt16, SoftmaxAlongAnyDimension) {
  for (const char* dim : {"2", "1", "0", "-1"}) {
    for (const double from : {0x1p-12, 0x1p-15})
      expect_integers(graph("3, 5, 7", fmt::format("aten._softmax(%b, {}, false)", dim).c_str(), from, 0x1p-15));
  }
  EXPECT_NE(refusal(graph("4", "aten._softmax(%b, 0, false)", 0x1p-12, 0x1p-40)), "");
}

// Factors down to 2^-31 can be expressed.
TEST(CortexMCompileInt16, ScalesOfProductsMustNotBeTooFarApart) {
  EXPECT_EQ(refusal(sum("4", "aten.mul.Tensor", 0x1p-15, 0x1p1)), "");
  EXPECT_NE(refusal(sum("4", "aten.mul.Tensor", 0x1p-15, 0x1p3)).find("too far from those of its operands"),
            std::string::npos);
}

// The kernels take rank 4; tensors of higher rank become rows.
TEST(CortexMCompileInt16, SumsAndProductsOfAnyRank) {
  for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"}) {
    for (const char* sizes : {"1, 2, 3, 4", "2, 1, 2, 3, 4"}) expect_integers(sum(sizes, op, 0x1p-15, 0x1p-14));
    const std::string broadcast =
        "graph f(%x: f32[2, 1, 2, 3, 4], %z: f32[5, 1, 3, 1]) {\n" + quantize_line("a", "x", wide(0x1p-14), "i16") +
        dequantize_line("b", "a", wide(0x1p-14), "i16") + quantize_line("e", "z", wide(0x1p-13), "i16") +
        dequantize_line("v", "e", wide(0x1p-13), "i16") + fmt::format("  %c = {}(%b, %v)\n", op) +
        quantize_line("d", "c", wide(0x1p-12), "i16") + dequantize_line("o", "d", wide(0x1p-12), "i16") +
        "  return %o\n}";
    expect_integers(broadcast);
  }
}

TEST(CortexMCompileInt16, PreluWithASlopeForEachChannel) {
  for (const char* slopes : {"0.25, -0.5, 1.0", "1.5, 3.0, 1.0", "0.25, 0.25, 0.25"}) {
    const std::string text = graph("2, 3, 7", "aten.prelu(%b, %w)", 0x1p-14, 0x1p-13);
    const size_t line = text.find('\n') + 1;
    expect_integers(text.substr(0, line) + "  const %w: f32[3] = [" + slopes + "]\n" + text.substr(line));
  }
}

// A plain convolution computes all phases of the stride; their outputs are interleaved.
TEST(CortexMCompileInt16, TransposedConvolutionsBecomePlainOnes) {
  for (const char* form : {"[1, 1], [0, 0], [1, 1], true, [0, 0], 1", "[2, 2], [1, 1], [1, 1], true, [1, 1], 1",
                           "[2, 1], [0, 0], [1, 2], true, [0, 0], 2"}) {
    const bool groups = std::string_view(form).back() == '2';
    const std::string text =
        "graph f(%x: f32[1, 2, 4, 4]) {\n" +
        constant_line("e", "i8[2, 1, 3, 2]", std::vector<int>{3, -2, 100, -128, 5, 77, -1, 0, 25, -90, 44, 127}) +
        constant_line("bias", groups ? "f32[2]" : "f32[1]", std::vector<double>(groups ? 2 : 1, 0.25)) +
        dequantize_line("w", "e", parameters(0.002, 0)) + quantize_line("a", "x", wide(0x1p-15), "i16") +
        dequantize_line("b", "a", wide(0x1p-15), "i16") +
        fmt::format("  %c = aten.convolution(%b, %w, %bias, {})\n", form) +
        quantize_line("d", "c", wide(0x1p-14), "i16") + dequantize_line("o", "d", wide(0x1p-14), "i16") +
        "  return %o\n}";
    SCOPED_TRACE(text);
    for (const char* cpu : {"cortex-m55", "cortex-m4"}) {
      Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
      p.run_and_compare(one_step());
      EXPECT_EQ(p.failures(), "");
      EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
    }
  }
}

}  // namespace
}  // namespace wick::cortex_m::int16_rules_test
