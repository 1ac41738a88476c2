// Bounds of the states of recurrent layers with relu. C++20.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::cortex_m {

/// One layer in one direction; weights have a row for each cell.
struct ReluLayer {
  std::vector<double> input_weights, state_weights, biases;
};

struct ReluStack {
  std::vector<ReluLayer> layers;  // all directions of the first layer, then those of the next one
  size_t directions = 1;
  int64_t steps = 1;
  double least = 0, most = 0;  // range of the input, in real numbers
  double first = 0;            // largest magnitude of an initial state
};

/// The largest magnitude of a state at any step, for any input. Infinite: too large for f64.
double largest_state(const ReluStack& stack);

/// The error of the last layer's states if each state is rounded to whole steps, in these steps: three standard
/// deviations of errors that are uniformly distributed.
double error_of_states(const ReluStack& stack);

}  // namespace wick::cortex_m
