#include "backends/cortex_m/compile/ops/recurrent/relu_growth.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wick::cortex_m {

namespace {

constexpr double kDeviations = 3, kOfOneRounding = 1.0 / 12;  // the latter is the variance, in steps^2

struct StateRange {
  double least = 0, most = 0;
};

// The largest sum_k row[k] * x[k] for x[k] in these ranges.
double largest_product(const double* row, const std::vector<StateRange>& ranges) {
  double sum = 0;
  for (size_t k = 0; k < ranges.size(); ++k) sum += std::max(row[k] * ranges[k].least, row[k] * ranges[k].most);
  return sum;
}

// The range of each cell's state over all steps.
std::vector<StateRange> state_ranges(const ReluLayer& layer, const std::vector<StateRange>& inputs,
                                     const ReluStack& stack) {
  const size_t cells = layer.biases.size();
  std::vector<StateRange> h(cells, {-stack.first, stack.first}), all(cells, {0, stack.first});
  for (int64_t step = 0; step < stack.steps; ++step) {
    std::vector<StateRange> next(cells);
    for (size_t j = 0; j < cells; ++j) {
      const double sum = largest_product(&layer.input_weights[j * inputs.size()], inputs) + layer.biases[j] +
                         largest_product(&layer.state_weights[j * cells], h);
      next[j].most = std::max(sum, 0.0);
      all[j].most = std::max(all[j].most, next[j].most);
    }
    const bool settled = std::equal(h.begin(), h.end(), next.begin(),
                                    [](const StateRange& a, const StateRange& b) { return a.most == b.most; });
    h = std::move(next);
    if (step > 0 && settled) break;
  }
  return all;
}

// The variance of each cell's error after all steps, or after the step from which on it no longer grows; in steps^2.
std::vector<double> state_errors(const ReluLayer& layer, const std::vector<double>& of_inputs, int64_t steps) {
  const size_t cells = layer.biases.size(), inputs = layer.input_weights.size() / cells;
  std::vector<double> h(cells, 0);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> next(cells, kOfOneRounding);
    for (size_t j = 0; j < cells; ++j) {
      for (size_t k = 0; k < of_inputs.size(); ++k)
        next[j] += std::pow(layer.input_weights[j * inputs + k], 2) * of_inputs[k];
      for (size_t k = 0; k < cells; ++k) next[j] += std::pow(layer.state_weights[j * cells + k], 2) * h[k];
    }
    if (next == h) break;
    h = std::move(next);
  }
  return h;
}

}  // namespace

double largest_state(const ReluStack& stack) {
  double largest = stack.first;
  std::vector<StateRange> inputs;
  for (size_t first = 0; first < stack.layers.size(); first += stack.directions) {
    std::vector<StateRange> results;
    for (size_t i = first; i < first + stack.directions; ++i) {
      const ReluLayer& layer = stack.layers[i];
      if (first == 0) inputs.assign(layer.input_weights.size() / layer.biases.size(), {stack.least, stack.most});
      const std::vector<StateRange> found = state_ranges(layer, inputs, stack);
      results.insert(results.end(), found.begin(), found.end());
    }
    for (const StateRange& range : results) largest = std::max(largest, range.most);
    inputs = std::move(results);
  }
  return std::isfinite(largest) ? largest : std::numeric_limits<double>::infinity();
}

double error_of_states(const ReluStack& stack) {
  std::vector<double> errors;  // variances of the errors of a layer's input; the model's input has none
  for (size_t first = 0; first < stack.layers.size(); first += stack.directions) {
    std::vector<double> results;
    for (size_t i = first; i < first + stack.directions; ++i) {
      const std::vector<double> found = state_errors(stack.layers[i], errors, stack.steps);
      results.insert(results.end(), found.begin(), found.end());
    }
    errors = std::move(results);
  }
  return kDeviations * std::sqrt(*std::max_element(errors.begin(), errors.end()));
}

}  // namespace wick::cortex_m
