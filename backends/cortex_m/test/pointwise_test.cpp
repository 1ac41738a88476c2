// Element-wise operators and data movement between int8 values: the operators that they become, and results within one
// step of the quantized graph on portable kernels.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::pointwise_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr char kTable[] = "cortex_m.quantized_activation", kDequantize[] = "cortex_m.dequantize_per_tensor",
               kQuantize[] = "cortex_m.quantize_per_tensor", kOld[] = "quantized_decomposed";

// %d is the quantized %x; `body` computes %y from it, which is quantized to the result.
std::string unary(const std::string& body, const std::string& from = parameters(0.03125, -11),
                  const std::string& to = parameters(0.0078125, -20), const char* sizes = "2, 300") {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + fake_quantized("d", "x", "q", from) + "  " + body + "\n" +
         fake_quantized("o", "y", "p", to) + "  return %o\n}";
}

// The same with two inputs.
std::string binary(const std::string& body, const char* sizes_a, const char* sizes_b,
                   const std::string& to = parameters(0.0234375, 7), const std::string& a = parameters(0.015625, 5),
                   const std::string& b = parameters(0.00625, -30)) {
  return fmt::format("graph f(%x: f32[{}], %z: f32[{}]) {{\n", sizes_a, sizes_b) + fake_quantized("d", "x", "q", a) +
         fake_quantized("e", "z", "r", b) + "  " + body + "\n" + fake_quantized("o", "y", "p", to) + "  return %o\n}";
}

struct Count {
  const char* op;
  size_t count;
};

void expect_integers(const std::string& text, std::vector<Count> counts, const char* backend = "cortex-m",
                     double steps = 1.001) {
  SCOPED_TRACE(text);
  Pipeline p = std::move(Pipeline::from_text(text).backend(backend));
  p.at(Stage::lower).check_not(kOld).check_count(kDequantize, 1);
  for (const Count& each : counts) p.check_count(each.op, each.count);
  p.run_and_compare({.absolute = 1e-6, .relative = 0, .of_largest = 0, .quantization_steps = steps});
  EXPECT_EQ(p.failures(), "");
  EXPECT_TRUE(p.outside().empty());
}

TEST(CortexMCompilePointwise, FunctionsOfOneElementAreTables) {
  for (const char* body : {"%y = aten.sigmoid(%d)",
                           "%y = aten.tanh(%d)",
                           "%y = aten.silu(%d)",
                           "%y = aten.gelu(%d)",
                           "%y = aten.hardswish(%d)",
                           "%y = aten.hardsigmoid(%d)",
                           "%y = aten.leaky_relu(%d, 0.1)",
                           "%y = aten.elu(%d)",
                           "%y = aten.exp(%d)",
                           "%y = aten.abs(%d)",
                           "%y = aten.neg(%d)",
                           "%y = aten.sin(%d)",
                           "%y = aten.mul.Scalar(%d, 0.3)",
                           "%y = aten.add.Scalar(%d, 0.25)",
                           "%y = aten.pow.Tensor_Scalar(%d, 2)",
                           "%y = aten.relu(%d)",
                           "%y = aten.softplus(%d)",
                           "%y = aten.mish(%d)",
                           "%y = aten.mul.Tensor(%d, %d)",
                           "%y = aten.add.Tensor(%d, %d)"})
    expect_integers(unary(body), {{kTable, 1}, {kQuantize, 1}});
}

TEST(CortexMCompilePointwise, ATableSaturatesAndHasTheRangeOfItsResult) {
  expect_integers(unary("%y = aten.exp(%d)", parameters(0.25, 0), parameters(0.01, -128)), {{kTable, 1}});
  expect_integers(unary("%y = aten.tanh(%d)", parameters(0.25, 3), parameters(0.01, 0, -127, 127)), {{kTable, 1}});
}

// --- several operators in one table ---

TEST(CortexMCompilePointwise, ChainsInFloatsAreOneTable) {
  for (const char* body :
       {"%a = aten.mul.Scalar(%d, 0.5)\n  %b = aten.tanh(%a)\n  %c = aten.add.Scalar(%b, 1.0)\n  %y = aten.clamp(%c, "
        "0.1, "
        "1.5)",
        "%a = aten.sigmoid(%d)\n  %y = aten.mul.Tensor(%d, %a)",
        "%a = aten.add.Scalar(%d, 3.0)\n  %b = aten.clamp(%a, 0.0, 6.0)\n  %c = aten.mul.Tensor(%d, %b)\n  %y = "
        "aten.div.Scalar(%c, 6.0)",
        "%a = aten.gt.Scalar(%d, 0.0)\n  %b = aten.mul.Scalar(%d, 0.25)\n  %y = aten.where.self(%a, %d, %b)",
        "%a = aten.exp(%d)\n  %b = aten.log1p(%a)\n  %c = aten.tanh(%b)\n  %y = aten.mul.Tensor(%c, %d)"})
    expect_integers(unary(body), {{kTable, 1}, {kQuantize, 1}, {"cortex_m.quantized_mul", 0}}, "cortex-m", 1e-3);
}

// Each value in between is rounded as in the model.
TEST(CortexMCompilePointwise, ChainsOfQuantizedValuesAreOneTable) {
  const std::string q = parameters(0.0078125, -3), r = parameters(0.0231, 9);
  const std::string body = "%a = aten.sigmoid(%d)\n" + fake_quantized("b", "a", "e", q) +
                           "  %c = aten.mul.Tensor(%b, %d)\n" + fake_quantized("f", "c", "g", r) +
                           "  %y = aten.tanh(%f)";
  expect_integers(unary(body), {{kTable, 1}, {kQuantize, 1}, {"cortex_m.quantized_mul", 0}}, "cortex-m", 1e-3);
}

TEST(CortexMCompilePointwise, AFunctionOfTwoValuesIsTwoTablesAndASum) {
  const std::string q = parameters(0.0078125, -3);
  const std::string body = "%a = aten.mul.Scalar(%d, 2.0)\n  %b = aten.tanh(%a)\n" + fake_quantized("c", "b", "f", q) +
                           "  %g = aten.mul.Scalar(%e, 3.0)\n  %h = aten.sigmoid(%g)\n" +
                           fake_quantized("i", "h", "j", q) + "  %y = aten.add.Tensor(%c, %i)";
  expect_integers(binary(body, "7", "7"), {{kTable, 2}, {"cortex_m.quantized_add", 1}}, "cortex-m", 2.001);
}

TEST(CortexMCompilePointwise, AChainThatOthersReadStaysForThem) {
  const std::string q = parameters(0.0078125, -3);
  const std::string text = "graph f(%x: f32[40]) {\n" + fake_quantized("d", "x", "q", parameters(0.03125, -11)) +
                           "  %a = aten.mul.Scalar(%d, 0.5)\n  %b = aten.tanh(%a)\n" +
                           fake_quantized("o", "b", "p", q) + "  return %o, %a\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_count(kTable, 1).check_count("aten.mul.Scalar", 1).check_count("aten.tanh", 0);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMCompilePointwise, TheReportNamesWhatATableHolds) {
  Pipeline p = std::move(
      Pipeline::from_text(unary("%a = aten.sigmoid(%d)\n  %y = aten.mul.Tensor(%d, %a)")).backend("cortex-m"));
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  size_t found = 0;
  for (const compiler::NodeVerdict& node : p.compiled()->methods[0].nodes) {
    if (node.op != "wick.lookup.default") continue;
    ++found;
    EXPECT_EQ(node.cost.constant_bytes, 256u);
  }
  EXPECT_EQ(found, 1u);
}

// The operand has another reader, so its producer cannot clamp.
std::string beside_another(const std::string& body, const char* sizes = "2, 300") {
  const std::string q = parameters(0.03125, -11);
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + fake_quantized("d", "x", "q", q) + "  %c = " + body + "\n" +
         fake_quantized("e", "c", "r", q) + "  %s = aten.neg(%d)\n" + fake_quantized("t", "s", "u", q) +
         "  %y = aten.cat([%e, %t], 0)\n" + fake_quantized("o", "y", "p", q) + "  return %o\n}";
}

TEST(CortexMCompilePointwise, AnActivationAloneOnOneScaleOnlyBounds) {
  expect_integers(beside_another("aten.relu(%d)"), {{kTable, 1}, {"cortex_m.maximum", 1}, {"cortex_m.minimum", 0}});
  expect_integers(beside_another("aten.hardtanh(%d, -0.5, 0.5)"), {{"cortex_m.maximum", 1}, {"cortex_m.minimum", 1}});
  expect_integers(beside_another("aten.clamp(%d, none, 0.5)"), {{"cortex_m.maximum", 0}, {"cortex_m.minimum", 1}});
  expect_integers(beside_another("aten.relu(%d)", "1, 1, 2, 1, 50"), {{kTable, 2}});
}

TEST(CortexMCompilePointwise, AnActivationOfTheInputIsTheRangeOfItsElements) {
  const std::string q = parameters(0.03125, -11);
  expect_integers(unary("%y = aten.relu(%d)", q, q), {{kTable, 0}, {"cortex_m.maximum", 0}});
}

// The smallest element is the zero point, not 0.
TEST(CortexMCompilePointwise, AReluWithAnotherReaderBesideItBoundsAtTheZeroPoint) {
  const std::string q = parameters(0.03125, -11);
  const std::string text = "graph f(%x: f32[40]) {\n" + fake_quantized("d", "x", "q", q) + "  %s = aten.sigmoid(%d)\n" +
                           fake_quantized("t", "s", "u", q) + "  %y = aten.relu(%t)\n" +
                           fake_quantized("v", "y", "w", q) + "  %m = aten.cat([%t, %v], 0)\n" +
                           fake_quantized("o", "m", "p", q) + "  return %o\n}";
  expect_integers(text, {{kTable, 1}, {"cortex_m.maximum", 1}});
}

TEST(CortexMCompilePointwise, AConversionBetweenScalesIsATable) {
  const std::string text = "graph f(%x: f32[40]) {\n" + fake_quantized("d", "x", "q", parameters(0.03125, -11)) +
                           fake_quantized("o", "d", "p", parameters(0.0123, 4)) + "  return %o\n}";
  expect_integers(text, {{kTable, 1}, {kQuantize, 1}});
}

// --- two tensors ---

TEST(CortexMCompilePointwise, SumsOfEqualSizes) {
  for (const char* body :
       {"%y = aten.add.Tensor(%d, %e)", "%y = aten.sub.Tensor(%d, %e)", "%y = aten.add.Tensor(%d, %e, 2)",
        "%y = aten.add.Tensor(%e, %d, -0.75)", "%y = aten.sub.Tensor(%d, %e, 3)"}) {
    for (const char* sizes : {"7", "2, 5", "2, 3, 4, 5", "1, 2, 1, 2, 3"})
      expect_integers(binary(body, sizes, sizes), {{"cortex_m.quantized_add", 1}});
  }
}

TEST(CortexMCompilePointwise, TheLargerScaleOfASumGetsTheSmallestFactor) {
  Pipeline p = std::move(Pipeline::from_text(binary("%y = aten.add.Tensor(%d, %e)", "7", "7", parameters(0.03125, 7),
                                                    parameters(0.0625, 5), parameters(0.015625, -30)))
                             .backend("cortex-m"));
  // M = 0.125: 0.5 = 2^30 at shift 0, 0.125 = 2^30 at shift -2, 0.125 / (0.03125 * 2^20) = 2^-18.
  EXPECT_NE(p.dump(Stage::lower)
                .find(", 5, 1073741824, 0, %quantize_per_tensor_1, -30, 1073741824, -2, 7, 1073741824, "
                      "-17, -128, 127)"),
            std::string::npos)
      << p.dump(Stage::lower);
}

TEST(CortexMCompilePointwise, ActivationsBehindSumsAreTheirRange) {
  const std::string to = parameters(0.0234375, 7);
  const std::string float_between = "%s = aten.add.Tensor(%d, %e)\n  %y = aten.relu6(%s)";
  expect_integers(binary(float_between, "40", "40", to),
                  {{"cortex_m.quantized_add", 1}, {kTable, 0}, {"cortex_m.maximum", 0}});
  const std::string int8_between =
      "%s = aten.sub.Tensor(%d, %e)\n" + fake_quantized("t", "s", "u", to) + "  %y = aten.relu(%t)";
  expect_integers(binary(int8_between, "40", "40", to),
                  {{"cortex_m.quantized_add", 1}, {kTable, 0}, {"cortex_m.maximum", 0}});
}

TEST(CortexMCompilePointwise, ActivationsBehindProductsBoundThem) {
  expect_integers(binary("%s = aten.mul.Tensor(%d, %e)\n  %y = aten.relu(%s)", "40", "40", parameters(0.002, -7)),
                  {{"cortex_m.quantized_mul", 1}, {"cortex_m.maximum", 1}});
}

TEST(CortexMCompilePointwise, ARowOfChannelsIsStocksBroadcast) {
  for (const char* name : {"add", "sub", "mul"}) {
    const std::string body = fmt::format("%y = aten.{}.Tensor(%d, %e)", name);
    const char* op = std::string_view(name) == "mul" ? "cortex_m.quantized_mul" : "cortex_m.quantized_add";
    expect_integers(binary(body, "2, 3, 4, 5", "1, 3, 1, 1"), {{op, 1}, {"wick_cortex_m", 0}});
    expect_integers(binary(body, "1, 3, 1, 1", "2, 3, 4, 5"), {{op, 1}, {"wick_cortex_m", 0}});
  }
}

TEST(CortexMCompilePointwise, OtherBroadcastsAreOperatorsOfWicks) {
  for (const auto& [a, b] :
       {std::pair("2, 3, 4, 5", "4, 1"), std::pair("3", "2, 3"), std::pair("2, 1, 3", "1, 4, 1")}) {
    expect_integers(binary("%y = aten.add.Tensor(%d, %e)", a, b), {{"wick_cortex_m.add", 1}});
    expect_integers(binary("%y = aten.sub.Tensor(%d, %e)", a, b), {{"wick_cortex_m.add", 1}});
    expect_integers(binary("%y = aten.mul.Tensor(%d, %e)", a, b), {{"wick_cortex_m.mul", 1}});
  }
  expect_integers(binary("%y = aten.add.Tensor(%d, %e)", "2, 1, 3, 1, 2", "2, 1, 1, 2"),
                  {{"cortex_m.quantized_add", 1}, {"aten.expand", 2}});
}

TEST(CortexMCompilePointwise, ProfileStockExpandsOtherBroadcasts) {
  Pipeline p =
      std::move(Pipeline::from_text(binary("%y = aten.mul.Tensor(%d, %e)", "2, 1, 3", "1, 4, 1")).backend("cortex-m"));
  p.options().profile = compiler::Profile::stock;
  p.at(Stage::lower).check_not("wick_cortex_m").check_count("cortex_m.quantized_mul", 1);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMCompilePointwise, Quotients) {
  const std::string b = parameters(0.01, -128);
  for (const auto& [x, z] : {std::pair("40", "40"), std::pair("2, 3, 4", "3, 1")}) {
    // The divisor is 0.5 to 1.5.
    std::string text =
        binary("%m = aten.add.Scalar(%e, 1.0)\n" + fake_quantized("n", "m", "l", b) + "  %y = aten.div.Tensor(%d, %n)",
               x, z, parameters(0.03, 3));
    expect_integers(text, {{"cortex_m.quantized_div", 1}});
  }
}

// Infinite quotients saturate as in eager. If the divisor cannot be 0, no comparison is needed for that.
TEST(CortexMCompilePointwise, QuotientsByZero) {
  const std::string of_two = parameters(0.25, 3), divisor = parameters(0.5, -2),
                    above_zero = parameters(0.5, -128, -127);
  std::vector<float> x, z;
  for (int i = 0; i < 64; ++i) {
    const int dividend = i % 8 - 4, quotient = i / 8 - 3;
    x.push_back(0.25f * static_cast<float>(dividend == 0 ? 5 : dividend));
    z.push_back(0.5f * static_cast<float>(quotient));
  }
  const auto text = [&](const std::string& b) {
    return binary("%y = aten.div.Tensor(%d, %e)", "64", "64", parameters(0.03, 3), of_two, b);
  };
  for (const char* backend : {"cortex-m", "cortex-m:cpu=m4"}) {
    for (const bool has_zero : {true, false}) {
      SCOPED_TRACE(has_zero);
      Pipeline p = std::move(Pipeline::from_text(text(has_zero ? divisor : above_zero)).backend(backend));
      p.at(Stage::lower).check_count("cortex_m.quantized_div", 1).check_count("aten.where.self", has_zero ? 1 : 0);
      p.run_and_compare(one_step(), {float_input({64}, x), float_input({64}, z)});
      EXPECT_EQ(p.failures(), "");
      EXPECT_TRUE(p.outside().empty());
    }
  }
}

TEST(CortexMCompilePointwise, ExtremaOnOneScaleOrSeveral) {
  const std::string q = parameters(0.015625, 5);
  for (const char* name : {"minimum", "maximum"}) {
    const std::string body = fmt::format("%y = aten.{}(%d, %e)", name), op = fmt::format("cortex_m.{}", name);
    expect_integers(binary(body, "2, 3", "3", q, q, q), {{op.c_str(), 1}, {kTable, 0}});
    expect_integers(binary(body, "2, 3", "2, 3"), {{op.c_str(), 1}, {kTable, 2}}, "cortex-m", 2.001);
    expect_integers(binary(body, "1, 2, 1, 3, 2", "2, 1, 2", q, q, q), {{op.c_str(), 1}, {kTable, 0}});
  }
}

TEST(CortexMCompilePointwise, ClampsByTensorsAreExtrema) {
  const std::string q = parameters(0.0234375, 7);
  const char* bounds[] = {"  const %l: f32[3] = [-0.5, 0.25, -1.0]\n  const %h: f32[3] = [0.5, 0.75, 2.0]\n",
                          "  const %l: f32[2, 1] = [-0.5, 0.25]\n  const %h: f32[] = [0.75]\n"};
  for (const char* lines : bounds) {
    for (const char* call : {"%l, %h", "%l", "none, %h"}) {
      const bool number = std::string_view(call) == "none, %h" && lines == bounds[1];
      const std::string text =
          "graph f(%x: f32[2, 3]) {\n" + std::string(lines) + fake_quantized("d", "x", "q", parameters(0.015625, 5)) +
          fmt::format("  %y = aten.clamp.Tensor(%d, {})\n", call) + fake_quantized("o", "y", "p", q) + "  return %o\n}";
      for (const char* cpu : {"m55", "m4", "m3"}) {
        Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
        p.at(Stage::lower).check_outside({}).check_not("aten.clamp");
        if (number) p.check_count("cortex_m.quantized_activation", 1).check_not("cortex_m.minimum");
        p.run_and_compare(one_step());
        EXPECT_EQ(p.failures(), "") << text << cpu;
      }
    }
  }
  // The bounds are computed.
  expect_integers(binary("%y = aten.clamp.Tensor(%d, %e)", "2, 3", "2, 3"), {{"cortex_m.maximum", 1}});
}

// Every sum rounds to 0.
TEST(CortexMCompilePointwise, ResultsOnFarCoarserScalesAreTheirZeroPoint) {
  for (const char* body :
       {"%y = aten.add.Tensor(%d, %e)", "%y = aten.sub.Tensor(%d, %e)", "%y = aten.sub.Tensor(%d, %e, 3)",
        "%y = aten.mul.Tensor(%d, %e)", "%m = aten.add.Tensor(%d, %e)\n  %y = aten.relu(%m)"}) {
    for (const double scale : {30.0, 1e3, 1e6, 1e12}) {
      for (const char* cpu : {"m55", "m4", "m3"}) {
        Pipeline p = std::move(
            Pipeline::from_text(binary(body, "2, 3", "2, 3", parameters(scale, 7))).backend(backend_for(cpu)));
        p.at(Stage::lower).check_outside({});
        p.run_and_compare(one_step());
        EXPECT_EQ(p.failures(), "") << body << " " << scale << " " << cpu;
      }
    }
  }
}

// Observers choose such a scale if they see only 0.
TEST(CortexMCompilePointwise, SumsOnFarFinerScalesSaturate) {
  const std::string q = parameters(0.78125, 3);
  struct Case {
    const char *body, *other;
    bool taken;
  };
  const std::string half = parameters(0.390625, -9), third = parameters(0.26, -9);
  const Case cases[] = {{"%y = aten.sub.Tensor(%d, %e)", q.c_str(), true},
                        {"%y = aten.add.Tensor(%d, %e)", q.c_str(), true},
                        {"%y = aten.sub.Tensor(%d, %e, 2)", half.c_str(), true},
                        {"%y = aten.sub.Tensor(%d, %e)", half.c_str(), true},
                        {"%y = aten.sub.Tensor(%d, %e)", third.c_str(), false}};
  for (const Case& each : cases) {
    for (const double scale : {1.1920928955078125e-07, 1e-12}) {
      for (const int zero : {-128, 5}) {
        const std::string text = binary(each.body, "2, 300", "2, 300", parameters(scale, zero), q, each.other);
        for (const char* cpu : {"m55", "m4", "m3"}) {
          Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
          p.at(Stage::lower).check_count("cortex_m.quantized_add", each.taken);
          p.run_and_compare(one_step());
          EXPECT_EQ(p.failures(), "") << each.body << " " << scale << " " << zero << " " << cpu;
        }
      }
    }
  }
}

TEST(CortexMCompilePointwise, ScalesTooFarApartStayOutside) {
  Pipeline p = std::move(
      Pipeline::from_text(binary("%y = aten.mul.Tensor(%d, %e)", "4", "4", parameters(1e-12, 0))).backend("cortex-m"));
  p.run_and_compare({});
  EXPECT_EQ(p.failures(), "");
  ASSERT_EQ(p.outside().size(), 1u);
  EXPECT_NE(p.outside()[0].find("too far"), std::string::npos);
}

// --- data movement ---

TEST(CortexMCompileMovement, ElementsMoveAsIntegers) {
  const std::string q = parameters(0.03125, -11);
  for (const char* body :
       {"%y = aten.view(%d, [3, 200])", "%y = aten.permute(%d, [1, 0])", "%y = aten.slice.Tensor(%d, 1, 3, 200, 2)",
        "%y = aten.expand(%d, [4, 2, 300])", "%y = aten.constant_pad_nd(%d, [1, 2], 0.5)", "%y = aten.flip(%d, [1])",
        "%y = aten.select.int(%d, 0, 1)", "%y = aten.repeat(%d, [2, 1])", "%y = aten.roll(%d, [3], [1])",
        "%y = aten.unsqueeze(%d, 0)", "%y = aten.transpose.int(%d, 0, 1)"})
    expect_integers(unary(body, q, q), {{kQuantize, 1}, {kTable, 0}}, "cortex-m", 1e-3);
}

TEST(CortexMCompileMovement, BetweenOtherOperatorsToo) {
  const std::string q = parameters(0.03125, -11);
  const std::string text = "graph f(%x: f32[2, 6]) {\n" + fake_quantized("d", "x", "q", q) + "  %s = aten.tanh(%d)\n" +
                           fake_quantized("t", "s", "u", q) + "  %v = aten.view(%t, [3, 4])\n" +
                           fake_quantized("w", "v", "a", q) + "  %m = aten.permute(%w, [1, 0])\n" +
                           fake_quantized("n", "m", "b", q) + "  %y = aten.sigmoid(%n)\n" +
                           fake_quantized("o", "y", "p", q) + "  return %o\n}";
  expect_integers(text, {{kTable, 2}, {kQuantize, 1}, {"cortex_m.transpose", 1}});
}

// A quantized value is read on another scale than it was written on.
TEST(CortexMCompileMovement, ElementsThatAreReadOnAnotherScale) {
  for (const std::string& read : {parameters(0.03125, -20), parameters(0.0625, -11), parameters(0.05, 40)}) {
    for (const char* body : {"%y = aten.view(%d, [3, 200])", "%y = aten.permute(%d, [1, 0])",
                             "%y = aten.slice.Tensor(%d, 1, 3, 200, 2)", "%y = aten.cat([%d, %d], 0)"}) {
      const std::string text = "graph f(%x: f32[2, 300]) {\n" + quantize_line("q", "x", parameters(0.03125, -11)) +
                               dequantize_line("d", "q", read) + "  " + body + "\n" +
                               fake_quantized("o", "y", "p", parameters(0.03125, -11)) + "  return %o\n}";
      SCOPED_TRACE(text);
      Pipeline p = Pipeline::from_text(text);
      p.backend("cortex-m").run_and_compare(one_step());
      EXPECT_EQ(p.failures(), "");
    }
  }
}

TEST(CortexMCompileMovement, ConcatenationsBringOtherScalesToTheirs) {
  const std::string q = parameters(0.015625, 5);
  expect_integers(binary("%y = aten.cat([%d, %e], 1)", "2, 3", "2, 4", q, q, q), {{kTable, 0}, {"aten.cat", 1}},
                  "cortex-m", 1e-3);
  expect_integers(binary("%y = aten.cat([%d, %e], 0)", "2, 3", "1, 3", q, q), {{kTable, 1}, {"aten.cat", 1}});
  expect_integers(binary("%y = aten.cat([%d, %e], 0)", "2, 3", "1, 3"), {{kTable, 2}, {"aten.cat", 1}});
}

TEST(CortexMCompileMovement, ANarrowerRangeBoundsTheElements) {
  expect_integers(unary("%y = aten.view(%d, [3, 200])", parameters(0.001, 0), parameters(0.001, 0, -100, 90)),
                  {{"cortex_m.maximum", 1}, {"cortex_m.minimum", 1}});
}

}  // namespace
}  // namespace wick::cortex_m::pointwise_test
