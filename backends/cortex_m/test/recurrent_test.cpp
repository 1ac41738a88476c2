// LSTM, GRU and plain recurrent layers between int8 values are computed on integers, within one step of the quantized
// graph on portable kernels.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::recurrent_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr int kInputs = 3, kCells = 4;

std::vector<double> random_numbers(Random& random, int count) {
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<double>(random.in(-1000, 1000)) / 1000);
  return numbers;
}

struct Form {
  const char* plain = nullptr;  // "rnn_tanh" or "rnn_relu" instead of lstm or gru
  bool is_lstm = true, has_biases = true, bidirectional = false, batch_first = false;
  int layers = 1, steps = 5, batch = 2, read = 0;  // `read`: the result that is read
  double first_state = 0, weight_factor = 1;
  std::string to = parameters(0.0078125, 3);
  std::string state_scale = {};  // of an initial state that is an input; "float": it is not quantized
  int projected = 0;             // width of the projected h of lstm
  std::vector<int> joined = {};  // instead of `read`: results that are concatenated in floats

  int outputs() const { return projected > 0 ? projected : kCells; }
};

const char* name_of(const Form& form) { return form.plain ? form.plain : form.is_lstm ? "lstm" : "gru"; }
std::string kernel_of(const Form& form) {
  return std::string("wick_cortex_m.") + name_of(form) + (form.projected > 0 ? "_projected" : ".default");
}

// %j: the mean of the output over the steps, concatenated with the last states of the first layer.
std::string joined(const Form& form) {
  std::string text, names;
  for (const int result : form.joined) {
    text += result == 0 ? fmt::format("  %m0 = aten.mean.dim(%r0, [{}])\n", form.batch_first ? 1 : 0)
                        : fmt::format("  %m{0} = aten.select.int(%r{0}, 0, 0)\n", result);
    names += fmt::format("{}%m{}", names.empty() ? "" : ", ", result);
  }
  return text + fmt::format("  %j = aten.cat([{}], 1)\n", names);
}

// All weights are floats.
std::string layers(const Form& form) {
  Random random(71);
  const int gates = form.plain ? 1 : form.is_lstm ? 4 : 3, directions = form.bidirectional ? 2 : 1;
  std::string constants, names;
  for (int i = 0; i < form.layers * directions; ++i) {
    const int inputs = i < directions ? kInputs : form.outputs() * directions;
    const auto add = [&](const char* what, int columns, int rows) {
      const std::string name = fmt::format("{}{}", what, i);
      std::vector<double> numbers = random_numbers(random, rows * (columns == 0 ? 1 : columns));
      for (double& number : numbers) number *= form.weight_factor;
      constants += constant_line(
          name.c_str(),
          (columns == 0 ? fmt::format("f32[{}]", rows) : fmt::format("f32[{}, {}]", rows, columns)).c_str(), numbers);
      names += (names.empty() ? "%" : ", %") + name;
    };
    const int rows = gates * kCells;
    add("wi", inputs, rows);
    add("wh", form.outputs(), rows);
    if (form.has_biases) add("bi", 0, rows), add("bh", 0, rows);
    if (form.projected > 0) add("wr", kCells, form.projected);
  }
  const auto sizes_of = [&](int width) {
    return fmt::format("[{}, {}, {}]", form.layers * directions, form.batch, width);
  };
  const std::string sizes = sizes_of(form.outputs());
  const bool given = !form.state_scale.empty(), quantized = given && form.state_scale != "float";
  const std::string state = quantized ? fake_quantized("h", "s", "e", form.state_scale)
                            : given   ? ""
                                      : fmt::format("  %h = aten.full({}, {:#})\n", sizes, form.first_state);
  const std::string cells =
      form.projected > 0 ? fmt::format("  %c = aten.full({}, {:#})\n", sizes_of(kCells), form.first_state) : "";
  const std::string h = given && !quantized ? "%s" : "%h";
  const std::string call = fmt::format("aten.{}.input(%d, {}, [{}], {}, {}, 0.0, false, {}, {})", name_of(form),
                                       form.is_lstm ? "[" + h + (cells.empty() ? ", " + h : ", %c") + "]" : h, names,
                                       form.has_biases, form.layers, form.bidirectional, form.batch_first);
  return fmt::format("graph f(%x: f32[{}, {}, {}]{}) {{\n", form.batch_first ? form.batch : form.steps,
                     form.batch_first ? form.steps : form.batch, kInputs, given ? ", %s: f32" + sizes : "") +
         constants + state + cells + fake_quantized("d", "x", "q", parameters(0.0101, -5)) +
         fmt::format("  %r0, %r1{} = {}\n", form.is_lstm ? ", %r2" : "", call) +
         (form.joined.empty() ? "" : joined(form)) +
         fake_quantized("o", form.joined.empty() ? fmt::format("r{}", form.read).c_str() : "j", "p", form.to) +
         "  return %o\n}";
}

void expect_integers(const Form& form) {
  SCOPED_TRACE(layers(form));
  const size_t count = static_cast<size_t>(form.layers) * (form.bidirectional ? 2 : 1);
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3"}) {
    Pipeline p = std::move(Pipeline::from_text(layers(form)).backend(backend_for(cpu)));
    p.at(Stage::lower).check_count(kernel_of(form), count);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
  }
}

TEST(CortexMCompileRecurrent, LayersAndDirections) {
  for (const bool is_lstm : {true, false}) {
    expect_integers({.is_lstm = is_lstm});
    expect_integers({.is_lstm = is_lstm, .has_biases = false, .batch = 1});
    expect_integers({.is_lstm = is_lstm, .batch_first = true});
    expect_integers({.is_lstm = is_lstm, .bidirectional = true});
    expect_integers({.is_lstm = is_lstm, .bidirectional = true, .batch_first = true, .layers = 3});
    expect_integers({.is_lstm = is_lstm, .layers = 2, .steps = 1});
  }
}

TEST(CortexMCompileRecurrent, ResultsOfASmallRange) {
  for (const bool is_lstm : {true, false}) {
    expect_integers({.is_lstm = is_lstm, .to = parameters(0.0078125, 3, -7, 13)});
    expect_integers({.is_lstm = is_lstm, .read = 1, .to = parameters(0.0078125, 3, -7, 13)});
  }
}

TEST(CortexMCompileRecurrent, LstmsThatProject) {
  const std::string to = parameters(0.02, 3);
  expect_integers({.to = to, .projected = 3});
  expect_integers({.has_biases = false, .batch = 1, .to = to, .projected = 1});
  expect_integers({.bidirectional = true, .batch_first = true, .layers = 2, .to = to, .projected = 2});
  for (const int read : {1, 2}) expect_integers({.layers = 2, .read = read, .to = to, .projected = 3});
  for (const double number : {0.25, -1.5}) expect_integers({.first_state = number, .to = to, .projected = 3});
  for (const char* scale : {"0.0078, 0, -128, 127", "0.03, 5, -128, 127"})
    expect_integers({.read = 1, .to = parameters(0.03, 3), .state_scale = scale, .projected = 2});
}

TEST(CortexMCompileRecurrent, PlainLayers) {
  for (const char* plain : {"rnn_tanh", "rnn_relu"}) {
    expect_integers({.plain = plain, .is_lstm = false, .weight_factor = 0.15});
    expect_integers({.plain = plain,
                     .is_lstm = false,
                     .bidirectional = true,
                     .batch_first = true,
                     .layers = 2,
                     .weight_factor = 0.15,
                     .to = parameters(0.02, -100)});
    expect_integers({.plain = plain,
                     .is_lstm = false,
                     .read = 1,
                     .first_state = 2.5,
                     .weight_factor = 0.15,
                     .to = parameters(0.03, 0)});
  }
}

// h beyond 32, in one layer or behind several.
TEST(CortexMCompileRecurrent, LayersOfReluWhoseStatesGrow) {
  const std::string to = parameters(0.3, -128);
  expect_integers({.plain = "rnn_relu", .is_lstm = false, .layers = 2, .weight_factor = 0.7, .to = to});
  expect_integers({.plain = "rnn_relu",
                   .is_lstm = false,
                   .bidirectional = true,
                   .layers = 2,
                   .weight_factor = 0.6,
                   .to = to,
                   .state_scale = "0.03, 5, -128, 127"});
  expect_integers({.plain = "rnn_relu",
                   .is_lstm = false,
                   .layers = 3,
                   .read = 1,
                   .weight_factor = 0.7,
                   .to = parameters(1.5, -128)});
}

TEST(CortexMCompileRecurrent, TheLastStateInPlaceOfTheOutput) {
  for (const bool is_lstm : {true, false}) {
    expect_integers({.is_lstm = is_lstm, .read = 1});
    expect_integers({.is_lstm = is_lstm, .bidirectional = true, .batch_first = true, .read = 1});
  }
}

TEST(CortexMCompileRecurrent, TheLastStatesOfAllLayers) {
  for (const bool is_lstm : {true, false}) {
    expect_integers({.is_lstm = is_lstm, .bidirectional = true, .layers = 3, .read = 1});
    expect_integers({.is_lstm = is_lstm, .layers = 2, .read = 1, .to = parameters(0.02, 3, -5, 20)});
  }
  expect_integers({.read = 2, .to = parameters(0.02, -3)});
  expect_integers({.bidirectional = true, .batch_first = true, .layers = 2, .read = 2, .to = parameters(0.02, 0)});
}

TEST(CortexMCompileRecurrent, SeveralResultsThatNoQuantizerAnnotated) {
  for (const std::vector<int>& joined : std::vector<std::vector<int>>{{1}, {0, 1}, {1, 0}}) {
    for (const bool is_lstm : {true, false}) {
      expect_integers({.is_lstm = is_lstm, .joined = joined});
      expect_integers({.is_lstm = is_lstm, .bidirectional = true, .batch_first = true, .layers = 2, .joined = joined});
      expect_integers({.is_lstm = is_lstm, .steps = 1, .batch = 1, .joined = joined});
    }
    expect_integers({.plain = "rnn_tanh", .is_lstm = false, .joined = joined});
    expect_integers({.to = parameters(0.02, 3), .projected = 3, .joined = joined});
  }
  const std::string to = parameters(0.03, 3);  // c is beyond 1
  for (const std::vector<int>& joined : std::vector<std::vector<int>>{{2}, {1, 2}, {0, 2}, {0, 1, 2}}) {
    expect_integers({.to = to, .joined = joined});
    expect_integers({.bidirectional = true, .batch_first = true, .layers = 2, .to = to, .joined = joined});
    expect_integers({.first_state = 2.5, .to = to, .joined = joined});
    expect_integers({.to = to, .state_scale = "0.03, 5, -128, 127", .joined = joined});
  }
}

// A quantizer annotates one result but not the other.
TEST(CortexMCompileRecurrent, OneResultOfTwoThatAQuantizerAnnotated) {
  for (const bool is_lstm : {true, false}) {
    std::string text = layers({.is_lstm = is_lstm, .joined = {1}});
    text.replace(text.rfind("  return %o"), std::string::npos,
                 fake_quantized("u", "r0", "t", parameters(0.0078125, -3)) + "  return %o, %u\n}");
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_count(kernel_of({.is_lstm = is_lstm}), 1);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
  }
}

// c can be so large that a step of 16 bits shows.
TEST(CortexMCompileRecurrent, AStateThatSixteenBitsAreTooFewForStaysInFloats) {
  std::string text = layers({.steps = 500, .batch = 1, .joined = {1, 2}});
  const std::string cat = "aten.cat([%m1, %m2], 1)";
  text.replace(text.find(cat), cat.size(), "aten.add.Tensor(%m1, %m2)");
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  EXPECT_FALSE(p.outside().empty());
}

// An initial state beyond 1 leaves h fewer fractional bits.
TEST(CortexMCompileRecurrent, AFirstState) {
  for (const bool is_lstm : {true, false}) {
    for (const double number : {0.25, -1.0, 2.5}) expect_integers({.is_lstm = is_lstm, .first_state = number});
    for (const char* scale : {"0.0078, 0, -128, 127", "0.0079, -3, -128, 127", "0.03, 5, -128, 127"}) {
      for (const int read : {0, 1})
        expect_integers(
            {.is_lstm = is_lstm, .layers = 2, .read = read, .to = parameters(0.03, 3), .state_scale = scale});
      expect_integers({.is_lstm = is_lstm, .bidirectional = true, .to = parameters(0.03, 3), .state_scale = scale});
    }
  }
}

TEST(CortexMCompileRecurrent, StatesInFloatsAreQuantizedAtTheBorder) {
  for (const bool is_lstm : {true, false}) {
    expect_integers({.is_lstm = is_lstm, .layers = 2, .to = parameters(0.03, 3), .state_scale = "float"});
    Form form = {.is_lstm = is_lstm, .layers = 2, .to = parameters(0.03, 3), .state_scale = "float"};
    std::string text = layers(form);
    text.replace(text.rfind("%o\n"), 2, is_lstm ? "%o, %r1, %r2" : "%o, %r1");  // the last states, too
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_count(std::string("wick_cortex_m.") + name_of(form), 2);
    p.run_and_compare({.absolute = 2e-3, .relative = 0, .of_largest = 0, .quantization_steps = 1.001});
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
  }
}

TEST(CortexMCompileRecurrent, StatesInFloatsSaturateAtEight) {
  for (const bool is_lstm : {true, false}) {
    Pipeline p =
        std::move(Pipeline::from_text(layers({.is_lstm = is_lstm, .to = parameters(0.03, 3), .state_scale = "float"}))
                      .backend("cortex-m"));
    const std::string text = p.dump(Stage::lower);
    EXPECT_NE(text.find(", 0.000244140625, 0, -32767, 32767, i16)"), std::string::npos) << text;
  }
}

TEST(CortexMCompileRecurrent, SmallAndLargeWeights) {
  expect_integers({.weight_factor = 1e-6});
  expect_integers({.weight_factor = 15});
  expect_integers({.weight_factor = 1e-30});
}

// The operands of gates may be far beyond 32, where the gate's function is flat.
TEST(CortexMCompileRecurrent, GatesThatSaturate) {
  for (const bool is_lstm : {true, false}) {
    for (const double factor : {8.0, 15.0}) {
      expect_integers({.is_lstm = is_lstm, .weight_factor = factor});
      expect_integers({.is_lstm = is_lstm, .has_biases = false, .layers = 2, .weight_factor = factor / 5});
      expect_integers({.is_lstm = is_lstm, .bidirectional = true, .batch_first = true, .weight_factor = factor});
    }
    expect_integers(
        {.is_lstm = is_lstm, .weight_factor = 15, .to = parameters(0.03, 3), .state_scale = "0.03, 5, -128, 127"});
  }
  expect_integers({.plain = "rnn_tanh", .is_lstm = false, .weight_factor = 15});
}

// Steps written one by one, from h = c = 1/2: %h1, %c1, ..; the caller adds the graph's results.
std::string cells(bool is_lstm, int steps, bool same_weights = true) {
  Random random(72);
  std::string text = fmt::format("graph f(%x: f32[2, {}, {}]) {{\n", steps, kInputs);
  const int rows = (is_lstm ? 4 : 3) * kCells;
  for (int copy = 0; copy < (same_weights ? 1 : 2); ++copy) {
    text += constant_line(fmt::format("wi{}", copy).c_str(), fmt::format("f32[{}, {}]", rows, kInputs).c_str(),
                          random_numbers(random, rows * kInputs));
    text += constant_line(fmt::format("wh{}", copy).c_str(), fmt::format("f32[{}, {}]", rows, kCells).c_str(),
                          random_numbers(random, rows * kCells));
  }
  text += fmt::format("  %h0 = aten.full([2, {}], 0.5)\n", kCells);
  text += fake_quantized("d", "x", "q", parameters(0.0101, -5));
  for (int i = 0; i < steps; ++i) {
    const std::string c = i == 0 ? "%h0" : fmt::format("%c{}", i);
    const int weights = same_weights ? 0 : i % 2;
    text += fmt::format("  %x{0} = aten.select.int(%d, 1, {0})\n", i);
    text += fmt::format("  %h{1}{2} = aten.{3}_cell(%x{0}, {4}, %wi{5}, %wh{5})\n", i, i + 1,
                        is_lstm ? fmt::format(", %c{}", i + 1) : "", is_lstm ? "lstm" : "gru",
                        is_lstm ? fmt::format("[%h{}, {}]", i, c) : fmt::format("%h{}", i), weights);
  }
  return text;
}

// The same with one call of a plain cell.
std::string plain_cell(const char* name) {
  Random random(73);
  return fmt::format("graph f(%x: f32[2, {}]) {{\n", kInputs) +
         constant_line("wi", fmt::format("f32[{}, {}]", kCells, kInputs).c_str(),
                       random_numbers(random, kCells * kInputs)) +
         constant_line("wh", fmt::format("f32[{}, {}]", kCells, kCells).c_str(),
                       random_numbers(random, kCells * kCells)) +
         fmt::format("  %h0 = aten.full([2, {}], 0.5)\n", kCells) +
         fake_quantized("d", "x", "q", parameters(0.0101, -5)) +
         fmt::format("  %h1 = aten.{}_cell(%d, %h0, %wi, %wh)\n", name) +
         fake_quantized("o", "h1", "p", parameters(0.0201, 3)) + "  return %o\n}";
}

void expect_cells(const std::string& text, const char* op, size_t count) {
  SCOPED_TRACE(text);
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_count(op, count);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
}

TEST(CortexMCompileRecurrent, CellsThatFollowOneAnotherAreOneLayer) {
  const std::string last = fake_quantized("o", "h3", "p", parameters(0.0078125, 3)) + "  return %o\n}";
  expect_cells(cells(true, 3) + last, "wick_cortex_m.lstm", 1);
  expect_cells(cells(false, 3) + last, "wick_cortex_m.gru", 1);
  std::string each;
  for (const int i : {1, 2, 3}) each += fmt::format("  %u{0} = aten.unsqueeze(%h{0}, 1)\n", i);
  const std::string all = each + "  %y = aten.cat([%u1, %u2, %u3], 1)\n" +
                          fake_quantized("o", "y", "p", parameters(0.0078125, 3)) + "  return %o\n}";
  expect_cells(cells(true, 3) + all, "wick_cortex_m.lstm", 1);
  expect_cells(cells(false, 3) + all, "wick_cortex_m.gru", 1);
  const std::string both = fake_quantized("o", "h3", "p", parameters(0.0078125, 3)) +
                           fake_quantized("r", "c3", "s", parameters(0.02, 3)) + "  return %o, %r\n}";
  expect_cells(cells(true, 3) + both, "wick_cortex_m.lstm", 1);
}

TEST(CortexMCompileRecurrent, ACellAlone) {
  for (const bool is_lstm : {true, false}) {
    const std::string last = fake_quantized("o", "h1", "p", parameters(0.0078125, 3)) + "  return %o\n}";
    expect_cells(cells(is_lstm, 1) + last, is_lstm ? "wick_cortex_m.lstm" : "wick_cortex_m.gru", 1);
  }
}

TEST(CortexMCompileRecurrent, APlainCell) {
  for (const char* name : {"rnn_tanh", "rnn_relu"})
    expect_cells(plain_cell(name), (std::string("wick_cortex_m.") + name).c_str(), 1);
}

// h and c between cells with different weights, which no quantizer annotated, become int16.
TEST(CortexMCompileRecurrent, CellsOfOtherWeightsStayApart) {
  const std::string last = fake_quantized("o", "h2", "p", parameters(0.0078125, 3)) + "  return %o\n}";
  Pipeline p = std::move(Pipeline::from_text(cells(true, 2, false) + last).backend("cortex-m"));
  p.at(Stage::lower).check_count("wick_cortex_m.lstm", 2);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  EXPECT_TRUE(p.outside().empty()) << p.outside()[0];
}

std::string reasons(const Form& form, bool stock = false) {
  Pipeline p = std::move(Pipeline::from_text(layers(form)).backend("cortex-m"));
  if (stock) p.options().profile = compiler::Profile::stock;
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  std::string all;
  for (const std::string& each : p.outside()) all += each + "\n";
  return all;
}

// They are decomposed and computed in floats; the first node has the reason.
TEST(CortexMCompileRecurrent, WhatItDoesNotTake) {
  const auto says = [](const std::string& all, const char* part) { return all.find(part) != std::string::npos; };
  EXPECT_TRUE(says(reasons({.first_state = 128}), "its first state h could be 128 or more"));
  EXPECT_TRUE(says(reasons({.state_scale = "1.5, 0, -128, 127"}), "its first state h could be 128 or more"));
  EXPECT_TRUE(says(reasons({}, true), "stock has no integer form of it"));
  EXPECT_TRUE(says(reasons({.plain = "rnn_relu", .is_lstm = false, .weight_factor = 10}),
                   "16 bits of that put its result off by up to"));
  EXPECT_TRUE(says(reasons({.plain = "rnn_relu", .is_lstm = false, .steps = 10, .weight_factor = 1e37}),
                   "h could be infinite"));
  EXPECT_TRUE(says(reasons({.plain = "rnn_relu",
                            .is_lstm = false,
                            .steps = 1,
                            .read = 1,
                            .weight_factor = 0.8,
                            .to = parameters(0.1, -100),
                            .state_scale = "float"}),
                   "behind its relu, h could exceed 8, where a first state in floats saturates"));
  for (const bool is_lstm : {true, false}) {
    EXPECT_TRUE(says(reasons({.is_lstm = is_lstm, .weight_factor = 33}), "a bias is 32 or more"));
    EXPECT_TRUE(says(reasons({.is_lstm = is_lstm, .has_biases = false, .weight_factor = 90}),
                     "16 bits of its weights could put its result off by"));
    EXPECT_TRUE(says(reasons({.is_lstm = is_lstm, .has_biases = false, .layers = 2, .weight_factor = 15}),
                     "16 bits of its states could put its result off by"));
  }
}

// A value that becomes int16 between a layer and its readers is off by as much as a quantized result would be.
TEST(CortexMCompileRecurrent, RoundingIsAskedOfEveryResult) {
  const auto says = [](const std::string& all, const char* part) { return all.find(part) != std::string::npos; };
  const auto of_weights = [](const char* weights) {
    Pipeline p =
        std::move(Pipeline::from_text("graph f(%x: f32[5, 2, 3]) {\n  const %wi: f32[1, 3] = " + std::string(weights) +
                                      "\n  const %wh: f32[1, 1] = [0.5]\n  %h = aten.full([1, 2, 1], 0.0)\n" +
                                      fake_quantized("d", "x", "q", parameters(0.0101, -5)) +
                                      "  %r0, %r1 = aten.rnn_tanh.input(%d, %h, [%wi, %wh], false, 1, 0.0, "
                                      "false, false, false)\n" +
                                      fake_quantized("o", "r0", "p", parameters(0.0078125, 3)) + "  return %o\n}")
                      .backend("cortex-m"));
    p.at(Stage::lower);
    return fmt::format("{}", fmt::join(p.outside(), "\n"));
  };
  EXPECT_TRUE(says(of_weights("[2100.4, -1200.3, 2700.7]"), "16 bits of its weights could put its result off by"));
  EXPECT_EQ(of_weights("[21.4, -12.3, 27.7]"), "");
  EXPECT_EQ(reasons({.plain = "rnn_tanh", .is_lstm = false, .has_biases = false, .weight_factor = 4}), "");
  for (const bool is_lstm : {true, false}) {
    const Form form = {.is_lstm = is_lstm,
                       .has_biases = false,
                       .batch_first = true,
                       .layers = 2,
                       .weight_factor = 15,
                       .joined = {0, 1}};
    EXPECT_TRUE(says(reasons(form), "as a whole: it computes on floats because of")) << reasons(form);
    Form small = form;
    small.weight_factor = 1;
    EXPECT_EQ(reasons(small), "");
  }
}

// A layer of one cell whose rows have different factors; 16 bits represent its weights.
std::string scaled_gates(const char* name, const std::vector<double>& factors) {
  std::vector<double> weights, states;
  for (const double factor : factors) {
    for (const double sign : {1, -1, 1}) weights.push_back(sign * factor);
    states.push_back(factor);
  }
  const auto rows = static_cast<int>(factors.size());
  const bool is_lstm = std::string_view(name) == "lstm";
  return "graph f(%x: f32[5, 2, 3]) {\n" + constant_line("wi", fmt::format("f32[{}, 3]", rows).c_str(), weights) +
         constant_line("wh", fmt::format("f32[{}, 1]", rows).c_str(), states) + "  %h = aten.full([1, 2, 1], 0.0)\n" +
         fake_quantized("d", "x", "q", parameters(0.0101, -5)) +
         fmt::format("  %r0, %r1{} = aten.{}.input(%d, {}, [%wi, %wh], false, 1, 0.0, false, false, false)\n",
                     is_lstm ? ", %r2" : "", name, is_lstm ? "[%h, %h]" : "%h") +
         fake_quantized("o", "r0", "p", parameters(0.0078125, 3)) + "  return %o\n}";
}

// Three quarters of a step are 0.0059: the row of a gate with slope 1 may have a length of about 220; rows of i, f and
// o of lstm four times that, of z of gru twice.
TEST(CortexMCompileRecurrent, RowsOfSigmoidCountTheirSlope) {
  const auto refused = [](const char* name, const std::vector<double>& factors) {
    Pipeline p = std::move(Pipeline::from_text(scaled_gates(name, factors)).backend("cortex-m"));
    p.at(Stage::lower);
    return !p.outside().empty();
  };
  EXPECT_FALSE(refused("lstm", {200, 200, 200, 200}));
  EXPECT_FALSE(refused("lstm", {800, 1, 1, 1}));
  EXPECT_TRUE(refused("lstm", {1200, 1, 1, 1}));
  EXPECT_FALSE(refused("lstm", {1, 800, 1, 800}));
  EXPECT_TRUE(refused("lstm", {1, 1, 400, 1}));
  EXPECT_FALSE(refused("gru", {200, 400, 200}));
  EXPECT_TRUE(refused("gru", {1, 800, 1}));
  EXPECT_TRUE(refused("gru", {400, 1, 1}));
}

}  // namespace
}  // namespace wick::cortex_m::recurrent_test
