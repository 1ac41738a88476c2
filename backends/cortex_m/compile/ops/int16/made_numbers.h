// What is known of numbers that no quantizer annotated, which quantize_between made int16. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Of what all numbers are multiples, as eager computes them: of int8 elements, or of what sums, products and means
/// make of such. 0: it is not known. No number but 0 is less.
double unit_of(const compiler::Value& value);
double unit_of_result(const compiler::Node& node);

/// Whether int16 elements have the scale that quantize_between gives the result of their node, not one of a quantizer.
bool is_made_int16(const compiler::Value& value);

/// Whether each number of the result is one of an operand, or a number filled in.
bool chooses_numbers(const compiler::Node& node);

/// The scale of a node's result with which no number up to `largest` saturates: a fraction of their unit if all
/// multiples have elements; that of an operand of which they are chosen.
double int16_scale(const compiler::Node& node, double largest);

/// Whether int16 elements are the numbers that eager computes, without rounding.
bool is_exact(const compiler::Value& value);

/// No number is less, as eager computes them. Elements or a constant.
double least_of(const compiler::Value& value);

}  // namespace wick::cortex_m
