// recognize_cells: recurrent layers in the form of run_decompositions() become layers again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::recognize_cells_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr int kSteps = 3, kCells = 2;

std::string parameters_of_cells(int gates) {
  std::string text;
  const auto numbers = [](int count, int seed) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) out.push_back(((i * 7 + seed) % 13 - 6) * 0.125);
    return out;
  };
  const int rows = gates * kCells;
  text += constant_line("w", fmt::format("f32[{}, 4]", rows).c_str(), numbers(rows * 4, 1));
  text += constant_line("u", fmt::format("f32[{}, {}]", rows, kCells).c_str(), numbers(rows * kCells, 5));
  text += constant_line("b", fmt::format("f32[{}]", rows).c_str(), numbers(rows, 2));
  text += constant_line("a", fmt::format("f32[{}]", rows).c_str(), numbers(rows, 3));
  return text;
}

// The inputs of all steps, in order or from the end; %h0 (and %c0) are zeros.
std::string inputs_of(int gates, bool from_end) {
  const int rows = gates * kCells;
  std::string text = "  %t = aten.permute(%w, [1, 0])\n  %r = aten.view(%d, [3, 4])\n  %m = aten.addmm(%b, %r, %t)\n";
  text += fmt::format("  %g{} = aten.view(%m, [3, 1, {}])\n", from_end ? "f" : "", rows);
  if (from_end) text += "  %g = aten.flip(%gf, [0])\n";
  return text +
         "  %h0 = aten.full([1, 1, 2], 0, f32, none, none, false)\n"
         "  %c0 = aten.full([1, 1, 2], 0, f32, none, none, false)\n";
}

// The input x of step n and the products j of its state, with all gates concatenated.
std::string products_of(int n, int gates) {
  return fmt::format(
      "  %s{0} = aten.slice.Tensor(%g, 0, {0}, {1})\n  %x{0} = aten.view(%s{0}, [1, {2}])\n"
      "  %v{0} = aten.view(%h{0}, [1, 2])\n  %k{0} = aten.permute(%u, [1, 0])\n  %l{0} = aten.addmm(%a, %v{0}, %k{0})\n"
      "  %j{0} = aten.view(%l{0}, [1, 1, {2}])\n",
      n, n + 1, gates * kCells);
}

std::string lstm_step(int n) {
  std::string text = products_of(n, 4) + fmt::format("  %q{0} = aten.add.Tensor(%j{0}, %x{0})\n", n);
  const char* const functions[] = {"sigmoid", "sigmoid", "tanh", "sigmoid"};
  for (int i = 0; i < 4; ++i)
    text += fmt::format("  %p{0}_{1} = aten.slice.Tensor(%q{0}, 2, {2}, {3})\n  %f{0}_{1} = aten.{4}(%p{0}_{1})\n", n,
                        i, i * kCells, (i + 1) * kCells, functions[i]);
  return text + fmt::format(
                    "  %y{0} = aten.mul.Tensor(%f{0}_1, %c{0})\n  %z{0} = aten.mul.Tensor(%f{0}_0, %f{0}_2)\n"
                    "  %c{1} = aten.add.Tensor(%y{0}, %z{0})\n  %e{0} = aten.tanh(%c{1})\n"
                    "  %h{1} = aten.mul.Tensor(%f{0}_3, %e{0})\n",
                    n, n + 1);
}

std::string gru_step(int n) {
  std::string text = products_of(n, 3);
  for (int i = 0; i < 3; ++i)
    text += fmt::format(
        "  %i{0}_{1} = aten.slice.Tensor(%x{0}, 1, {2}, {3})\n  %p{0}_{1} = aten.slice.Tensor(%j{0}, 2, {2}, {3})\n", n,
        i, i * kCells, (i + 1) * kCells);
  return text + fmt::format(
                    "  %y{0} = aten.add.Tensor(%p{0}_0, %i{0}_0)\n  %f{0} = aten.sigmoid(%y{0})\n"
                    "  %z{0} = aten.add.Tensor(%p{0}_1, %i{0}_1)\n  %e{0} = aten.sigmoid(%z{0})\n"
                    "  %q{0} = aten.mul.Tensor(%p{0}_2, %f{0})\n  %n{0} = aten.add.Tensor(%i{0}_2, %q{0})\n"
                    "  %o{0} = aten.tanh(%n{0})\n  %c{0}d = aten.sub.Tensor(%h{0}, %o{0})\n"
                    "  %c{0}m = aten.mul.Tensor(%c{0}d, %e{0})\n  %h{1} = aten.add.Tensor(%c{0}m, %o{0})\n",
                    n, n + 1);
}

// tanh or relu of the sum.
std::string plain_step(int n, const char* function) {
  return products_of(n, 1) +
         fmt::format("  %q{0} = aten.add.Tensor(%j{0}, %x{0})\n  %h{1} = aten.{2}(%q{0})\n", n, n + 1, function);
}

std::string plain_model(const char* function, const std::string& end) {
  std::string text = "graph f(%x: f32[3, 1, 4]) {\n" + parameters_of_cells(1) +
                     fake_quantized("d", "x", "xq", parameters(0.03, 5)) + inputs_of(1, false);
  for (int n = 0; n < kSteps; ++n) text += plain_step(n, function);
  return text + end + fake_quantized("out", "y", "yq", parameters(0.03, 3)) + "  return %out\n}";
}

std::string model(bool lstm, bool from_end, const std::string& end) {
  const int gates = lstm ? 4 : 3;
  std::string text = "graph f(%x: f32[3, 1, 4]) {\n" + parameters_of_cells(gates) +
                     fake_quantized("d", "x", "xq", parameters(0.03, 5)) + inputs_of(gates, from_end);
  for (int n = 0; n < kSteps; ++n) text += lstm ? lstm_step(n) : gru_step(n);
  return text + end + fake_quantized("out", "y", "yq", parameters(0.008, 3)) + "  return %out\n}";
}

void expect_layer(const std::string& text, const char* op) {
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_outside({}).check_count(op, 1).check_not("sigmoid").check_not("aten.cat");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMRecognizeCells, LastStateOfALayer) {
  expect_layer(model(true, false, "  %y = aten.view(%h3, [1, 2])\n"), "wick_cortex_m.lstm");
  expect_layer(model(false, false, "  %y = aten.view(%h3, [1, 2])\n"), "wick_cortex_m.gru");
}

TEST(CortexMRecognizeCells, OutputsOfAllStepsInBothDirections) {
  for (const bool lstm : {true, false}) {
    const char* op = lstm ? "wick_cortex_m.lstm" : "wick_cortex_m.gru";
    expect_layer(model(lstm, false, "  %y = aten.cat([%h1, %h2, %h3], 0)\n"), op);
    expect_layer(model(lstm, true, "  %y = aten.cat([%h3, %h2, %h1], 0)\n"), op);
  }
}

TEST(CortexMRecognizeCells, PlainLayers) {
  const std::string last = "  %y = aten.view(%h3, [1, 2])\n", all = "  %y = aten.cat([%h1, %h2, %h3], 0)\n";
  for (const std::string& end : {last, all}) {
    expect_layer(plain_model("tanh", end), "wick_cortex_m.rnn_tanh");
    expect_layer(plain_model("relu", end), "wick_cortex_m.rnn_relu");
  }
}

// A layer of two values has the form of a step, but is no recurrence.
TEST(CortexMRecognizeCells, TwoLayersAreNoCell) {
  const std::string text = "graph f(%x: f32[1, 4], %h0: f32[1, 2]) {\n" + parameters_of_cells(1) +
                           fake_quantized("d", "x", "xq", parameters(0.03, 5)) +
                           fake_quantized("e", "h0", "hq", parameters(0.03, 5)) +
                           "  %g = aten.linear(%d, %w, %b)\n  %j = aten.linear(%e, %u, %a)\n"
                           "  %s = aten.add.Tensor(%j, %g)\n  %y = aten.tanh(%s)\n" +
                           fake_quantized("out", "y", "yq", parameters(0.008, 3)) + "  return %out\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_not("rnn_tanh");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

// A step has one row, which is added to each row of the state.
TEST(CortexMRecognizeCells, StepsOfOtherRowsThanTheStateAreNoCells) {
  for (const int at : {0, 1}) {
    const std::string text = "graph f(%x: f32[3, 1, 4]) {\n" + parameters_of_cells(1) +
                             constant_line("h", "f32[3, 2]", std::vector<double>{0.5, -1, 1.5, 0.25, -0.75, 1}) +
                             fake_quantized("d", "x", "xq", parameters(0.03, 5)) +
                             "  %g = aten.linear(%d, %w, %b)\n  %j = aten.linear(%h, %u, %a)\n" +
                             fmt::format("  %i = aten.select.int(%g, 0, {})\n", at) +
                             "  %s = aten.add.Tensor(%j, %i)\n  %y = aten.tanh(%s)\n" +
                             fake_quantized("out", "y", "yq", parameters(0.008, 3)) + "  return %out\n}";
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_not("rnn_tanh");
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << at;
  }
}

// With another order of the gates it is another recurrence, and stays as it is.
TEST(CortexMRecognizeCells, OtherGatesAreNoCells) {
  std::string text = model(true, false, "  %y = aten.view(%h3, [1, 2])\n");
  const std::string tanh = "%f1_2 = aten.tanh(%p1_2)";
  text.replace(text.find(tanh), tanh.size(), "%f1_2 = aten.tanh(%p1_1)");
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check("wick_cortex_m.lookup_int16");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

}  // namespace
}  // namespace wick::cortex_m::recognize_cells_test
