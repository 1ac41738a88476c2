// Error propagation: how rounding numbers to int16 changes the results of the nodes that read them. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// An upper bound of the error of a node's result if the numbers of a constant operand are rounded to multiples of
/// `step`, in real numbers. Infinite: unknown.
double error_of_rounding(const compiler::Node& node, const compiler::Value& constant, double step);

/// An upper bound of the error that the elements of `made`, a value that quantize_between made int16, have by their own
/// rounding: half a step, and for tables the error of interpolation. In real numbers; 0 if they are exact.
double error_of_elements(const compiler::Value& made);

/// A bound of the error of a node's result, before the result is rounded, if the numbers of `operand` are off by up to
/// `error`; both in real numbers. For weighted sums it is the largest possible error or, if that is less, three
/// standard deviations of errors that are uniformly distributed. Infinite: unknown.
double error_behind(const compiler::Node& node, const compiler::Value& operand, double error);

/// Whether any rounding of an operand may change the node's result: comparisons (booleans) and positions (integers).
bool shows_any_rounding(const compiler::Node& node);

}  // namespace wick::cortex_m
