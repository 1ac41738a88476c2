// What states of recurrent layers of relu can hold. C++20.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::cortex_m {

/// One layer in one direction: weights in rows, one for each cell.
struct ReluLayer {
  std::vector<double> input_weights, state_weights, biases;
};

struct ReluStack {
  std::vector<ReluLayer> layers;  // first the directions of the first layer
  size_t directions = 1;
  int64_t steps = 1;
  double least = 0, most = 0;  // numbers of the input
  double first = 0;            // size of the largest number that a state holds at first
};

/// The largest number that a state holds at any step, whatever the input. Infinite: f64 does not hold it.
double largest_state(const ReluStack& stack);

/// How far the states of the last layer are off if each state is rounded to whole steps, in these steps: three
/// deviations of errors that are spread at random.
double error_of_states(const ReluStack& stack);

}  // namespace wick::cortex_m
