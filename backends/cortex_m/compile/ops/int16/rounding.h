// What rounding numbers to int16 does to what their readers give. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// How far a result can be off if the numbers of a constant operand are rounded to multiples of `step`. Infinite: it is
/// not known.
double error_of_rounding(const compiler::Node& node, const compiler::Value& constant, double step);

/// How far numbers that quantize_between made int16 can be off by their own rounding, or by a table's lines: 0 where
/// they are exact.
double error_of_elements(const compiler::Value& made);

/// How far the result of a node can be off, before its own rounding, if the numbers of an operand are off by `error`:
/// of sums with weights, in three deviations of errors that are spread at random. Infinite: it is not known.
double error_behind(const compiler::Node& node, const compiler::Value& operand, double error);

/// Whether a node's result has steps and shows it if an operand is rounded at all: comparisons and positions.
bool shows_any_rounding(const compiler::Node& node);

}  // namespace wick::cortex_m
