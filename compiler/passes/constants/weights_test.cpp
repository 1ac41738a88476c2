// Changed weights, against the formula element by element.
#include "compiler/passes/constants/weights.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>

#include "compiler/ir/text/text.h"

namespace wick::compiler::weights_test {
namespace {

struct Case {
  const char *input, *weight, *bias, *node;
};

// Row counts above the number that is computed at a time, with a rest, and groups that are no multiple of it.
constexpr Case kCases[] = {
    {"f32[2, 6]", "f32[19, 6]", "f32[19]", "aten.linear(%x, %w, %b)"},
    {"f16[2, 6]", "f16[19, 6]", "f16[19]", "aten.linear(%x, %w, %b)"},
    {"f32[2, 19]", "f32[19, 6]", "f32[6]", "aten.addmm(%b, %x, %w)"},
    {"f32[2, 5, 9]", "f32[11, 5, 3]", "f32[11]", "aten.convolution(%x, %w, %b, [1], [0], [1], false, [0], 1)"},
    {"f32[2, 4, 9]", "f32[22, 2, 3]", "f32[22]", "aten.convolution(%x, %w, %b, [1], [0], [1], false, [0], 2)"},
    {"f32[2, 10, 9]", "f32[10, 3, 2]", "f32[3]", "aten.convolution(%x, %w, %b, [1], [0], [1], true, [0], 1)"},
};

double number(size_t i) { return static_cast<double>(i * 2654435761u % 1999) / 1000 - 1; }

Reals64 numbers(size_t count, size_t seed) {
  Reals64 out(count);
  for (size_t i = 0; i < count; ++i) out[i] = number(seed * 7919 + i);
  return out;
}

Function graph_of(const Case& c) {
  auto function = parse_graph(std::string("graph f(%x: ") + c.input + ") {\n const %w: " + c.weight +
                              " = ...\n const %b: " + c.bias + " = ...\n %y = " + c.node + "\n return %y\n}");
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  for (const auto& constant : function->graph->constants()) {
    const size_t count = constant->data.size_bytes() / dtype_size_bytes(constant->dtype());
    const FreshBytes bytes(constant->data.size_bytes());
    store_reals(constant->dtype(), numbers(count, count).data(), count, bytes.bytes.get());
    constant->data = bytes.data();
  }
  return std::move(*function);
}

// The output and the input that the `at`-th number of the weights belongs to.
std::pair<size_t, size_t> channels_of(const LinearLayer& p, size_t at) {
  const size_t columns = std::max<size_t>((p.input_first ? p.outputs : p.inputs) / p.groups, 1);
  const size_t row = at / (columns * p.kernel),
               rows = std::max<size_t>((p.input_first ? p.inputs : p.outputs) / p.groups, 1);
  const size_t column = row / rows * columns + at / p.kernel % columns;
  return p.input_first ? std::pair(column, row) : std::pair(row, column);
}

void expect_change(const LinearLayer& p, const LayerChange& change) {
  const auto found = changed_weights(p, change);
  ASSERT_TRUE(found.has_value());
  Reals64 w = reals_of(*p.weight()), b = reals_of(*p.bias()), means(p.inputs * p.kernel);
  const auto at_or = [](const Reals64& values, size_t i, double other) { return values.empty() ? other : values[i]; };
  for (size_t at = 0; at < w.size(); ++at) {
    const auto [output, input] = channels_of(p, at);
    b[output] += w[at] * at_or(change.input_shift, input, 0);
    w[at] *= at_or(change.input_scale, input, 1) * at_or(change.output_scale, output, 1);
    means[input * p.kernel + at % p.kernel] += w[at];
  }
  double mean = 0;
  for (size_t o = 0; o < p.outputs; ++o)
    mean += b[o] = b[o] * at_or(change.output_scale, o, 1) + at_or(change.output_shift, o, 0);
  const auto outputs = static_cast<double>(p.outputs);
  for (size_t at = 0; change.centred && at < w.size(); ++at)
    w[at] -= means[channels_of(p, at).second * p.kernel + at % p.kernel] / outputs;
  for (size_t o = 0; change.centred && o < p.outputs; ++o) b[o] -= mean / outputs;
  const auto weight = rounded(w, p.weight()->dtype()), bias = rounded(b, p.weight()->dtype());
  ASSERT_EQ(found->weight.size_bytes(), weight->size());
  EXPECT_EQ(memcmp(found->weight.bytes().data(), weight->data(), weight->size()), 0);
  ASSERT_EQ(found->bias.size_bytes(), bias->size());
  EXPECT_EQ(memcmp(found->bias.bytes().data(), bias->data(), bias->size()), 0);
}

class ChangedWeights : public ::testing::TestWithParam<Case> {};

TEST_P(ChangedWeights, AreThoseOfTheFormulaToTheLastBit) {
  const Function function = graph_of(GetParam());
  const auto layer = match_linear_layer(*function.graph->nodes().front());
  ASSERT_TRUE(layer.has_value());
  LayerChange change;
  expect_change(*layer, change);
  change.output_scale = numbers(layer->outputs, 1);
  expect_change(*layer, change);
  change.output_shift = numbers(layer->outputs, 2);
  change.input_scale = numbers(layer->inputs, 3);
  if (!layer->padded) change.input_shift = numbers(layer->inputs, 4);
  expect_change(*layer, change);
  change.centred = true;
  if (layer->groups == 1) expect_change(*layer, change);
}

TEST_P(ChangedWeights, ThatAreNotFiniteAreNone) {
  const Function function = graph_of(GetParam());
  const auto layer = match_linear_layer(*function.graph->nodes().front());
  ASSERT_TRUE(layer.has_value());
  LayerChange change;
  change.output_scale = Reals64(layer->outputs, 1);
  change.output_scale.back() = 1e39;
  EXPECT_FALSE(changed_weights(*layer, change).has_value());
}

INSTANTIATE_TEST_SUITE_P(Passes, ChangedWeights, ::testing::ValuesIn(kCases));

TEST(WeightsOfOutputs, AreTheSameBytesWhereOutputsAreRows) {
  const Function function = graph_of(kCases[0]);
  const auto layer = match_linear_layer(*function.graph->nodes().front());
  const NewWeights part = weights_of_outputs(*layer, 3, 4);
  EXPECT_EQ(part.weight.bytes().data(), layer->weight()->data.bytes().data() + 3 * 6 * sizeof(float));
  EXPECT_EQ(part.weight.size_bytes(), 4 * 6 * sizeof(float));
  EXPECT_EQ(part.bias.bytes().data(), layer->bias()->data.bytes().data() + 3 * sizeof(float));
}

TEST(WeightsOfOutputs, AreColumnsWhereInputsAreRows) {
  const Function function = graph_of(kCases[2]);
  const auto layer = match_linear_layer(*function.graph->nodes().front());
  const Reals64 all = reals_of(*layer->weight());
  const NewWeights part = weights_of_outputs(*layer, 2, 3);
  Reals64 found(part.weight.size_bytes() / sizeof(float));
  load_reals(DType::f32, part.weight.bytes().data(), found.size(), found.data());
  ASSERT_EQ(found.size(), size_t{19 * 3});
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], all[i / 3 * 6 + 2 + i % 3]);
}

TEST(CentredConstant, HasNoMeanOverItsChannels) {
  for (const Case& c : {kCases[0], kCases[3]}) {
    const Function function = graph_of(c);
    const Value& constant = *function.graph->nodes().front()->tensor("weight");
    const auto channels = static_cast<size_t>(constant.sizes()[1].value());
    const size_t inner = constant.rank() == 3 ? static_cast<size_t>(constant.sizes()[2].value()) : 1;
    const Reals64 before = reals_of(constant);
    Reals64 wanted = before;
    for (size_t at = 0; at < before.size(); ++at) {
      const size_t first = at / (channels * inner) * channels * inner + at % inner;
      double mean = 0;
      for (size_t channel = 0; channel < channels; ++channel) mean += before[first + channel * inner];
      wanted[at] -= mean / static_cast<double>(channels);
    }
    const Value* found = centred_constant(*function.graph, nullptr, constant, 1);
    ASSERT_NE(found, nullptr);
    const auto bytes = rounded(wanted, DType::f32);
    ASSERT_EQ(found->data.size_bytes(), bytes->size());
    EXPECT_EQ(memcmp(found->data.bytes().data(), bytes->data(), bytes->size()), 0);
  }
}

}  // namespace
}  // namespace wick::compiler::weights_test
