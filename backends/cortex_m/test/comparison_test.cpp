// Comparisons, selects by them, and indexing between quantized values: they compute on elements, with eager's results.
#include <gtest/gtest.h>

#include <tuple>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::comparison_test {
namespace {

using testing::Pipeline;
using testing::Stage;

const std::string kQ = parameters(0.03125, -11);

// %d and %e are quantized; `body` computes %y.
std::string model(const std::string& body, const std::string& of_second = kQ) {
  return "graph f(%x: f32[3, 40], %z: f32[3, 40]) {\n" + fake_quantized("d", "x", "q", kQ) +
         fake_quantized("e", "z", "r", of_second) + "  " + body + "\n" + fake_quantized("o", "y", "p", kQ) +
         "  return %o\n}";
}

void expect_integers(const std::string& text, const char* op) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"m55", "m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside({}).check(op);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

TEST(CortexMComparisons, OfElementsWithANumber) {
  const std::string choice = "\n  %y = aten.where.self(%c, %e, %d)";
  for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    // Between two elements, at an element, at both ends, and beyond them.
    for (const double number : {0.26, 0.25, -0.75, 4.3125, -3.65625, 9.0, -9.0}) {
      Pipeline p =
          std::move(Pipeline::from_text(model(fmt::format("%c = aten.{}.Scalar(%d, {:#})", op, number) + choice))
                        .backend("cortex-m"));
      p.at(Stage::lower).check_outside({});
      std::vector<float> x, z;
      for (int i = 0; i < 120; ++i)
        x.push_back(static_cast<float>(i - 60) * 0.03125f + (i > 110 ? 4.f : i < 10 ? -4.f : 0));
      for (int i = 0; i < 120; ++i) z.push_back(static_cast<float>(i % 7));
      p.run_and_compare({.absolute = 0, .relative = 0, .of_largest = 0},
                        {float_input({3, 40}, x), float_input({3, 40}, z)});
      EXPECT_EQ(p.failures(), "") << op << number;
    }
  }
}

TEST(CortexMComparisons, OfTensorsOnOneScale) {
  expect_integers(model("%c = aten.gt.Tensor(%d, %e)\n  %y = aten.where.self(%c, %d, %e)"), "aten.gt.Tensor");
}

// All pairs of elements: wider, narrower and shifted ranges, zero points outside of the other's numbers, equal numbers.
TEST(CortexMComparisons, OfTensorsOnTwoScales) {
  struct Scale {
    float scale;
    int zero;
  };
  const auto numbers = [](const Scale& q, int divisor) {
    std::vector<float> all(65536);
    for (int i = 0; i < 65536; ++i)
      all[static_cast<size_t>(i)] = static_cast<float>(i / divisor % 256 - 128 - q.zero) * q.scale;
    return all;
  };
  constexpr Scale kUsual = {0.03125f, -11};
  constexpr std::pair<Scale, Scale> kPairs[] = {{kUsual, {0.0205078125f, 4}},
                                                {kUsual, {0.0625f, -11}},
                                                {kUsual, {0.001f, 0}},
                                                {kUsual, {0.5f, 127}},
                                                {{1e38f, 3}, {2e38f, -5}}};  // most are infinite
  for (const auto& [q, other] : kPairs) {
    for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      SCOPED_TRACE(fmt::format("{} {} {}", op, other.scale, other.zero));
      std::string text = "graph f(%x: f32[256, 256], %z: f32[256, 256]) {\n";
      text += fake_quantized("d", "x", "q", parameters(q.scale, q.zero));
      text += fake_quantized("e", "z", "r", parameters(other.scale, other.zero));
      text += fmt::format("  %a = aten.{0}.Tensor(%d, %e)\n  %b = aten.{0}.Tensor(%e, %d)\n  return %a, %b\n}}", op);
      Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
      p.at(Stage::lower).check_outside({});
      p.run_and_compare({.absolute = 0, .relative = 0, .of_largest = 0},
                        {float_input({256, 256}, numbers(q, 1)), float_input({256, 256}, numbers(other, 256))});
      EXPECT_EQ(p.failures(), "");
    }
  }
}

// 0 times infinity is NaN, for which only ne holds.
TEST(CortexMComparisons, OfScalesThatAreInfiniteInF32StayInFloats) {
  for (const char* op : {"ge", "lt", "ne"}) {
    const std::string text = "graph f(%x: f32[4], %z: f32[4]) {\n" +
                             fake_quantized("d", "x", "q", parameters(0.02, 0)) +
                             fake_quantized("e", "z", "r", parameters(1e39, 1)) +
                             fmt::format("  %a = aten.{}.Tensor(%d, %e)\n  return %a\n}}", op);
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower)
        .check_outside({fmt::format("aten.{}.Tensor: the scale of an operand is infinite in f32", op),
                        "wick.convert.default: a scale that f32 does not hold"});
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << op;
  }
}

TEST(CortexMComparisons, OfScalesThatAreZeroInF32StayInFloats) {
  const auto wide = [](const char* d, const char* x, const char* e, double scale) {
    const std::string q = parameters(scale, 0, -32768, 32767);
    return quantize_line(e, x, q, "i16") + dequantize_line(d, e, q, "i16");
  };
  const std::string text = "graph f(%x: f32[4], %z: f32[4]) {\n" + wide("d", "x", "q", 1e-50) +
                           wide("e", "z", "r", 1e-3) + "  %a = aten.lt.Tensor(%d, %e)\n  return %a\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower)
      .check_outside({"aten.lt.Tensor: the scale of an operand is 0 in f32",
                      "wick.convert.default: a scale that f32 does not hold"});
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

// Shifted by one step, all 257 numbers are different: a table of 256 elements cannot tell them apart.
TEST(CortexMComparisons, OfMoreNumbersThanElements) {
  Pipeline p = std::move(Pipeline::from_text(model("%c = aten.eq.Tensor(%d, %e)\n  %y = aten.where.self(%c, %d, %e)",
                                                   parameters(0.03125, -10)))
                             .backend("cortex-m"));
  p.at(Stage::lower).check_outside({});
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

// Elements on both sides of the point where the comparison changes, for scales with any ratio, and beside int8. Numbers
// that differ by less than f32 can represent are left out, except equal ones.
TEST(CortexMComparisons, OfInt16OnTwoScales) {
  constexpr int kCount = 16384;
  struct Pair {
    double a, b;
    bool narrow = false;  // b is int8
  };
  constexpr Pair kPairs[] = {{0.0002, 0.0003}, {0.0002, 0.0001},           {0.00012207, 0.0000917}, {0.0004, 3.1e-7},
                             {1e-6, 0.0011},   {0.00012207, 0.0156, true}, {0.0001, 0.0057, true},  {0.001, 0.001}};
  const auto values = [](const char* d, const char* x, const char* e, double scale, bool narrow) {
    if (narrow) return fake_quantized(d, x, e, parameters(scale, 17));
    const std::string q = parameters(scale, 0, -32768, 32767);
    return quantize_line(e, x, q, "i16") + dequantize_line(d, e, q, "i16");
  };
  for (const Pair& pair : kPairs) {
    std::vector<float> x, z;
    Random random(74);
    for (int i = 0; i < kCount; ++i) {
      const int element = pair.narrow ? random.in(-145, 110) : random.in(-32768, 32767);
      const auto number = static_cast<float>(element) * static_cast<float>(pair.b);
      z.push_back(number);
      const double scale = static_cast<float>(pair.a), real = element * static_cast<double>(static_cast<float>(pair.b));
      double turn = std::round(real / scale) + random.in(-1, 1);
      if (turn * scale != real && std::abs(turn * scale - real) <= std::ldexp(std::abs(real), -22)) turn += 1;
      x.push_back(static_cast<float>(std::clamp(turn, -32768.0, 32767.0)) * static_cast<float>(pair.a));
    }
    for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      SCOPED_TRACE(fmt::format("{} {} {}", op, pair.a, pair.b));
      const std::string text =
          fmt::format("graph f(%x: f32[{0}], %z: f32[{0}]) {{\n", kCount) + values("d", "x", "q", pair.a, false) +
          values("e", "z", "r", pair.b, pair.narrow) +
          fmt::format("  %a = aten.{0}.Tensor(%d, %e)\n  %b = aten.{0}.Tensor(%e, %d)\n  return %a, %b\n}}", op);
      Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
      p.at(Stage::lower).check_outside({});
      p.run_and_compare({.absolute = 0, .relative = 0, .of_largest = 0},
                        {float_input({kCount}, x), float_input({kCount}, z)});
      EXPECT_EQ(p.failures(), "");
    }
  }
}

TEST(CortexMComparisons, FillsAndIndices) {
  std::vector<int> columns;
  for (int i = 0; i < 40; ++i) columns.push_back(i * 7 % 40);
  const std::string indices = fmt::format("{}", fmt::join(columns, ", "));
  expect_integers(model("%c = aten.lt.Scalar(%e, 0.1)\n  %y = aten.masked_fill.Scalar(%d, %c, 0.25)"),
                  "aten.masked_fill.Scalar");
  expect_integers(model("const %i: i64[40] = [" + indices + "]\n  %y = aten.index.Tensor(%d, [none, %i])"),
                  "aten.index.Tensor");
}

// Elements are converted to the result's scale and dtype; constants in floats are quantized like the result.
std::string written(const char* call, const std::string& from, const std::string& to, const char* from_dtype,
                    const char* to_dtype, const std::string& constants = "") {
  const auto on_grid = [](const char* d, const char* x, const char* e, const std::string& q, const char* dtype) {
    return quantize_line(e, x, q, dtype) + dequantize_line(d, e, q, dtype);
  };
  return "graph f(%x: f32[3, 8], %z: f32[3, 8], %m: bool[3, 8]) {\n" + constants +
         on_grid("d", "x", "q", from, from_dtype) + on_grid("e", "z", "r", kQ, "i8") +
         "  %s = aten.slice.Tensor(%e, 1, 0, 3, 1)\n  %t = aten.select.int(%e, 1, 2)\n" + fmt::format("  {}\n", call) +
         on_grid("o", "y", "p", to, to_dtype) + "  return %o\n}";
}

TEST(CortexMComparisons, WritesOfElements) {
  const std::string other = parameters(0.0205, 17), wide = parameters(0x1p-12, 0, -32767, 32767);
  const std::string constants = constant_line("n", "f32[]", std::vector<double>{0.3}) +
                                constant_line("row", "f32[8]", std::vector<double>{0.1, -9, 2, 0, 0.5, 9, 1, -1}) +
                                constant_line("i", "i64[2]", std::vector<int>{2, 0}) +
                                constant_line("j", "i64[3, 2]", std::vector<int>{2, 0, 1, 7, 3, 4});
  for (const char* call : {"%y = aten.where.self(%m, %d, %n)", "%y = aten.where.self(%m, %row, %d)",
                           "%y = aten.where.self(%m, %d, %e)", "%y = aten.masked_fill.Scalar(%d, %m, 0.25)",
                           "%y = aten.masked_scatter(%d, %m, %e)", "%y = aten.slice_scatter(%d, %s, 1, 1, 7, 2)",
                           "%y = aten.select_scatter(%d, %t, 1, -2)", "%y = aten.select_scatter(%d, %n3, 1, 0)",
                           "%y = aten.scatter.src(%d, 1, %j, %s)", "%y = aten.scatter.value(%d, 1, %j, 0.4)",
                           "%k = aten.slice.Tensor(%e, 0, 0, 2)\n  "
                           "%y = aten.index_put(%d, [%i], %k)",
                           "%y = aten.index_put(%d, [%m], %n)", "%y = aten.cat([%d, %row1, %e], 0)",
                           "%y = aten.tril(%d, 1)", "%y = aten.triu(%d, -1)"}) {
    const std::string more = constants + constant_line("n3", "f32[3]", std::vector<double>{0.3, -0.7, 0}) +
                             constant_line("row1", "f32[1, 8]", std::vector<double>(8, 0.7));
    for (const auto& [from, to, from_dtype, to_dtype] :
         {std::tuple(kQ, kQ, "i8", "i8"), std::tuple(other, kQ, "i8", "i8"), std::tuple(kQ, other, "i8", "i8"),
          std::tuple(kQ, wide, "i8", "i16"), std::tuple(wide, wide, "i16", "i16"), std::tuple(wide, kQ, "i16", "i8")}) {
      const std::string text = written(call, from, to, from_dtype, to_dtype, more);
      SCOPED_TRACE(text);
      Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
      p.at(Stage::lower).check_outside({}).check_not("quantized_decomposed");
      p.run_and_compare(one_step());
      EXPECT_EQ(p.failures(), "");
    }
  }
}

TEST(CortexMComparisons, WritesThatAddStayOutside) {
  const std::string text = written("%k = aten.slice.Tensor(%e, 0, 0, 2)\n  %y = aten.index_put(%d, [%i], %k, true)", kQ,
                                   kQ, "i8", "i8", constant_line("i", "i64[2]", std::vector<int>{1, 1}));
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::partition);
  ASSERT_EQ(p.outside().size(), 1u);
  EXPECT_NE(p.outside()[0].find("it adds to what is there"), std::string::npos) << p.outside()[0];
}

TEST(CortexMComparisons, SortedElements) {
  expect_integers(model("%y, %i = aten.topk(%d, 5)", parameters(0.02, 3)), "aten.topk");
  expect_integers(model("%y, %i = aten.sort(%d, 0, true)"), "aten.sort");
  expect_integers(model("%y, %i = aten.kthvalue(%d, 7)"), "aten.kthvalue");
}

}  // namespace
}  // namespace wick::cortex_m::comparison_test
