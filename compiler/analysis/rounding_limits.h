// Limits on rounding errors: how far an element of a correct program may lie from the model's. Backends keep their
// operators within these limits, and comparisons accept programs within them. C++20.
#pragma once
#include <cmath>

#include "wick/dtype.h"

namespace wick::compiler {

/// The error of rounding a number to the nearest element, in steps.
constexpr double kOwnRounding = 0.5;
/// The smallest difference that counts in an int16 tensor, in its steps.
constexpr double kSignificantInt16Steps = 4;
/// The largest error of an element that the rounding of its operands may cause, in differences that count. A backend
/// computes in floats where the error could be larger.
constexpr double kMostError = 0.75;
/// The error that linear interpolation between two entries of an int16 table adds, in steps.
constexpr double kLineError = 0.25;
/// The error of an int8 softmax, in steps of 1/256: half a step for rounding, and a tenth for the exponentials.
constexpr double kSoftmaxError = 0.6;
/// The error of adding floats in another order and of rounding biases to the accumulator's step, in steps.
constexpr double kFloatError = 0x1p-7;
/// The error of adding floats in another order, as a fraction of the tensor's largest number.
constexpr double kFloatErrorOfLargest = 1e-5;

/// The smallest difference that counts, in steps: one step of int8, several of int16.
constexpr double steps_that_count(DType dtype) { return dtype == DType::i16 ? kSignificantInt16Steps : 1; }

/// The largest distance, in steps, between two programs' elements for one number. Each program rounds; one of them
/// computes with an operator of a backend.
inline double steps_between_programs(DType dtype) {
  return std::floor(2 * kOwnRounding + kMostError * steps_that_count(dtype));
}

/// The largest error of an element, in steps, if a backend's operator uses its own grid instead of the model's.
constexpr double error_on_own_grid(DType dtype) {
  return dtype == DType::i16 ? kOwnRounding + kLineError : kSoftmaxError;
}
/// The coarsest step of such a grid, in steps of the model's grid. Its elements are then off by at most one step of the
/// model's grid.
constexpr double kCoarsestOwnGrid = 1 / kSoftmaxError;

/// The largest error of an element, in steps, if the program rounds by the model's own operator. `largest`: the largest
/// magnitude in the tensor, in steps.
inline double error_of_own_operator(double largest) {
  return kOwnRounding + kFloatError + kFloatErrorOfLargest * largest;
}

}  // namespace wick::compiler
