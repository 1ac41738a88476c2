// Properties of values that no quantizer annotated and that quantize_between made int16. Numbers are real values, as
// eager computes them; elements are the integers that stand for them. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// A number u > 0 such that every number of the value is an integer multiple of u; so a nonzero number is at least u in
/// magnitude. For int8 elements u is the scale; for sums, products and means of such it follows from the operands. 0:
/// unknown.
double unit_of(const compiler::Value& value);
double unit_of_result(const compiler::Node& node);

/// Whether the value's int16 elements have the scale that quantize_between gives its producer's result (int16_scale),
/// not that of a quantizer.
bool is_unannotated_int16(const compiler::Value& value);

/// Whether each number of the result equals one of an operand, or a constant that the node fills in.
bool selects_values(const compiler::Node& node);

/// The scale s for int16 elements of the node's result, such that no number up to `largest` in magnitude saturates:
///   s = scale of the operand     if the node chooses numbers and that operand reaches `largest`
///   s = u / floor(32767 u / largest)     if the unit u is known and 32767 u >= largest; each number is a multiple of s
///   s = largest / 32767     else; 1 if `largest` is 0
double int16_scale(const compiler::Node& node, double largest);

/// Whether the int16 elements stand for eager's numbers without rounding: unit_of(value) is a multiple of the scale.
bool is_exact(const compiler::Value& value);

/// A lower bound of every number of the value, as eager computes them. Requires: it has elements, or is constant.
double least_of(const compiler::Value& value);

}  // namespace wick::cortex_m
