// LSTM and GRU layers between int8 values: integers throughout, within one step of the quantized graph on portable
// kernels.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m {
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
  bool is_lstm = true, has_biases = true, bidirectional = false, batch_first = false;
  int layers = 1, steps = 5, batch = 2, read = 0;  // which result
  double first_state = 0, weight_factor = 1;
  std::string to = parameters(0.0078125, 3);
};

// All weights are floats.
std::string layers(const Form& form) {
  Random random(71);
  const int gates = form.is_lstm ? 4 : 3, directions = form.bidirectional ? 2 : 1;
  std::string constants, names;
  for (int i = 0; i < form.layers * directions; ++i) {
    const int inputs = i < directions ? kInputs : kCells * directions;
    const auto add = [&](const char* what, int columns) {
      const int rows = gates * kCells;
      const std::string name = fmt::format("{}{}", what, i);
      std::vector<double> numbers = random_numbers(random, rows * (columns == 0 ? 1 : columns));
      for (double& number : numbers) number *= form.weight_factor;
      constants += constant_line(
          name.c_str(),
          (columns == 0 ? fmt::format("f32[{}]", rows) : fmt::format("f32[{}, {}]", rows, columns)).c_str(), numbers);
      names += (names.empty() ? "%" : ", %") + name;
    };
    add("wi", inputs);
    add("wh", kCells);
    if (form.has_biases) add("bi", 0), add("bh", 0);
  }
  const std::string state = fmt::format("  %h = aten.full([{}, {}, {}], {:#})\n", form.layers * directions, form.batch,
                                        kCells, form.first_state);
  const std::string call = fmt::format("aten.{}.input(%d, {}, [{}], {}, {}, 0.0, false, {}, {})",
                                       form.is_lstm ? "lstm" : "gru", form.is_lstm ? "[%h, %h]" : "%h", names,
                                       form.has_biases, form.layers, form.bidirectional, form.batch_first);
  return fmt::format("graph f(%x: f32[{}, {}, {}]) {{\n", form.batch_first ? form.batch : form.steps,
                     form.batch_first ? form.steps : form.batch, kInputs) +
         constants + state + fake_quantized("d", "x", "q", parameters(0.0101, -5)) +
         fmt::format("  %r0, %r1{} = {}\n", form.is_lstm ? ", %r2" : "", call) +
         fake_quantized("o", fmt::format("r{}", form.read).c_str(), "p", form.to) + "  return %o\n}";
}

void expect_integers(const Form& form) {
  SCOPED_TRACE(layers(form));
  const size_t count = static_cast<size_t>(form.layers * (form.bidirectional ? 2 : 1));
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3"}) {
    Pipeline p = std::move(Pipeline::from_text(layers(form)).backend(backend_for(cpu)));
    p.at(Stage::lower).check_count(form.is_lstm ? "wick_cortex_m.lstm" : "wick_cortex_m.gru", count);
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

TEST(CortexMCompileRecurrent, TheLastStateInPlaceOfTheOutput) {
  for (const bool is_lstm : {true, false}) {
    expect_integers({.is_lstm = is_lstm, .read = 1});
    expect_integers({.is_lstm = is_lstm, .bidirectional = true, .batch_first = true, .read = 1});
  }
}

TEST(CortexMCompileRecurrent, SmallAndLargeWeights) {
  expect_integers({.weight_factor = 1e-6});
  expect_integers({.weight_factor = 15});
  expect_integers({.weight_factor = 1e-30});
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

// They become their parts, which compute in floats; the first one says why.
TEST(CortexMCompileRecurrent, WhatItDoesNotTake) {
  const auto says = [](const std::string& all, const char* part) { return all.find(part) != std::string::npos; };
  EXPECT_TRUE(says(reasons({.first_state = 0.25}), "aten.lstm.input as a whole: its first state is not 0"));
  EXPECT_TRUE(says(reasons({.layers = 2, .read = 1}), "the last state of several layers is read"));
  EXPECT_TRUE(says(reasons({.read = 2}), "its last state c is read"));
  EXPECT_TRUE(says(reasons({}, true), "stock has no integer form of it"));
  EXPECT_TRUE(says(reasons({.is_lstm = false, .weight_factor = 15}), "what goes into its tanh could be 32 or more"));
}

}  // namespace
}  // namespace wick::cortex_m
