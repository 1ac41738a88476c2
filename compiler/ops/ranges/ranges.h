// Range rules that operators' rows name: which numbers the elements of results can be. C++20.
#pragma once
#include "compiler/ir/value_range.h"

namespace wick::compiler {
namespace ranges {

/// Each element of the results is an element of an operand.
ValueRange operands(const RangeCall& call);
/// Each element is an element of `self` plus any number of written elements or, without `accumulate`, one written
/// element.
ValueRange accumulated(const RangeCall& call);
/// Any number, an infinity or NaN, even for finite operands.
ValueRange unknown(const RangeCall& call);

ValueRange add(const RangeCall& call);
ValueRange sub(const RangeCall& call);
ValueRange rsub(const RangeCall& call);
ValueRange mul(const RangeCall& call);
ValueRange div(const RangeCall& call);
ValueRange floor_divide(const RangeCall& call);
/// A remainder: NaN if the divisor may be 0.
ValueRange modulo(const RangeCall& call);
ValueRange pow(const RangeCall& call);
ValueRange clamp(const RangeCall& call);
ValueRange maximum(const RangeCall& call);
ValueRange minimum(const RangeCall& call);
ValueRange select(const RangeCall& call);
ValueRange pad(const RangeCall& call);
ValueRange full(const RangeCall& call);
ValueRange triangle(const RangeCall& call);
ValueRange sum(const RangeCall& call);
/// A product of many elements: elements of ordinary size can give an infinity, and that times 0 is NaN.
ValueRange product(const RangeCall& call);
ValueRange mean(const RangeCall& call);
ValueRange pool(const RangeCall& call);
ValueRange variance(const RangeCall& call);
ValueRange norm(const RangeCall& call);
ValueRange hypot(const RangeCall& call);
ValueRange softmax(const RangeCall& call);
ValueRange safe_softmax(const RangeCall& call);
ValueRange log_softmax(const RangeCall& call);
ValueRange logsumexp(const RangeCall& call);
ValueRange logaddexp(const RangeCall& call);
ValueRange nan_to_num(const RangeCall& call);

// Functions of one tensor.
ValueRange abs(const RangeCall& call);
ValueRange relu(const RangeCall& call);
ValueRange relu6(const RangeCall& call);
ValueRange elu(const RangeCall& call);
ValueRange gelu(const RangeCall& call);
ValueRange silu(const RangeCall& call);
ValueRange mish(const RangeCall& call);
ValueRange hardswish(const RangeCall& call);
ValueRange erfc(const RangeCall& call);
ValueRange hardsigmoid(const RangeCall& call);
ValueRange sigmoid(const RangeCall& call);
ValueRange signed_unit(const RangeCall& call);
ValueRange atan(const RangeCall& call);
ValueRange wave(const RangeCall& call);
ValueRange exp(const RangeCall& call);
ValueRange expm1(const RangeCall& call);
ValueRange log(const RangeCall& call);
ValueRange log2(const RangeCall& call);
ValueRange log10(const RangeCall& call);
ValueRange log1p(const RangeCall& call);
ValueRange log_sigmoid(const RangeCall& call);
ValueRange softplus(const RangeCall& call);
ValueRange ceil(const RangeCall& call);
ValueRange floor(const RangeCall& call);
ValueRange round(const RangeCall& call);
ValueRange neg(const RangeCall& call);
ValueRange reciprocal(const RangeCall& call);
ValueRange sqrt(const RangeCall& call);
ValueRange rsqrt(const RangeCall& call);
ValueRange square(const RangeCall& call);

}  // namespace ranges

/// Whether NaN and infinities pass, for operators where that depends on the operand or on a number.
namespace passing {
Passing quotient(const Node& node, size_t index);
Passing select(const Node& node, size_t index);
Passing pow(const Node& node, size_t index);
}  // namespace passing

/// Operators as functions of numbers.
namespace curves {
double abs(double x, double);
double ceil(double x, double);
double cos(double x, double);
double exp(double x, double);
double expm1(double x, double);
double floor(double x, double);
double fmod(double x, double y);
double log(double x, double);
double log10(double x, double);
double log1p(double x, double);
double log2(double x, double);
double neg(double x, double);
double pow(double x, double y);
double reciprocal(double x, double);
double remainder(double x, double y);
double round(double x, double);
double rsqrt(double x, double);
double sign(double x, double);
double sin(double x, double);
double sqrt(double x, double);
double trunc(double x, double);
double add(double x, double y);
double sub(double x, double y);
double rsub(double x, double y);
double mul(double x, double y);
double div(double x, double y);
}  // namespace curves

}  // namespace wick::compiler
