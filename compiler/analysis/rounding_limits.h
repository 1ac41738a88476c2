// How far the elements of a right program may lie from those that the model quantizes: what compilers allow their
// operators, and what comparisons allow programs. C++20.
#pragma once
#include <cmath>

#include "wick/dtype.h"

namespace wick::compiler {

/// Half a step: what rounding a number to the nearest element puts it off by.
constexpr double kOwnRounding = 0.5;
/// Steps of int16 in a difference that counts.
constexpr double kStepsOfGrain = 4;
/// The most by which roundings of the numbers that an element is computed of may put it off, in differences that count.
/// What could be more stays in floats.
constexpr double kMostError = 0.75;
/// What a line between two elements of a table of int16 puts an element off by.
constexpr double kLineError = 0.25;
/// Steps of 1/256 that softmax puts an element of int8 off by: its own rounding, and a tenth for its exponentials.
constexpr double kSoftmaxError = 0.6;
/// Of a step: floats are added in another order, and biases rounded to steps of sums.
constexpr double kFloatError = 0x1p-7;
/// Of the largest number of a tensor: what the order of additions puts a float off by.
constexpr double kFloatErrorOfLargest = 1e-5;

/// Steps that count: one of int8, some of int16.
constexpr double steps_that_count(DType dtype) { return dtype == DType::i16 ? kStepsOfGrain : 1; }

/// The most steps between two elements of the same number, each rounded, one of them by an operator of a backend.
inline double steps_between_programs(DType dtype) {
  return std::floor(2 * kOwnRounding + kMostError * steps_that_count(dtype));
}

/// Steps between a number and its element on a grid that an operator of a backend has in place of the model's.
constexpr double error_on_own_grid(DType dtype) {
  return dtype == DType::i16 ? kOwnRounding + kLineError : kSoftmaxError;
}
/// The coarsest step of such a grid, in steps of the model's: its elements are within one of these.
constexpr double kCoarsestOwnGrid = 1 / kSoftmaxError;

/// Steps between a number and its element where the program rounds by the model's own operator. `largest`: of the
/// tensor, in steps.
inline double error_of_own_operator(double largest) {
  return kOwnRounding + kFloatError + kFloatErrorOfLargest * largest;
}

}  // namespace wick::compiler
