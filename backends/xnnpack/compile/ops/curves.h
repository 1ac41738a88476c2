// Building blocks for functions of one number: arithmetic on payload values, and curves that several rows share. C++20.
#pragma once
#include "backends/xnnpack/compile/ops/rules.h"

namespace wick::xnnpack {

inline uint32_t sum(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::add, a, b); }
inline uint32_t difference(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::subtract, a, b); }
inline uint32_t product(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::multiply, a, b); }
inline uint32_t quotient(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::div, a, b); }
inline uint32_t plus(Lowering& l, uint32_t x, double number) { return sum(l, x, l.scalar(number)); }
inline uint32_t times(Lowering& l, uint32_t x, double number) {
  return number == 1 ? x : product(l, x, l.scalar(number));
}

inline OutputRange at_least(float min) {
  OutputRange range;
  range.min = min;
  return range;
}
inline OutputRange at_most(float max) {
  OutputRange range;
  range.max = max;
  return range;
}

/// alpha (e^x - 1) for x < 0, else x.
uint32_t elu(Lowering& l, uint32_t x, double alpha);
/// -1, 0 or 1. f32.
uint32_t sign(Lowering& l, uint32_t x);
/// 1 for x > 0, else 0. f32.
uint32_t is_positive(Lowering& l, uint32_t x);
/// log(1 + z) for z from 0 to 1.
uint32_t log1p_0_to_1(Lowering& l, uint32_t z);
/// log(1 + e^-|x|).
uint32_t log1p_exp_neg_abs(Lowering& l, uint32_t x);

/// The range of the elements of operand 0.
compiler::ValueRange operand_numbers(const Lowering& l, const compiler::Node& node);
/// Whether the value is computed by layers with weights, norms and bounded functions: its elements are ordinary
/// numbers, unless the inputs are extreme.
bool has_ordinary_numbers(const compiler::Value* value);

/// The row of a function of one number, for any dim order and sizes.
constexpr OpRule curve_row(const char* op, void (*lower)(Lowering&, const compiler::Node&),
                           compiler::Verdict (*supports)(const compiler::Node&,
                                                         const compiler::TargetContext&) = nullptr) {
  return {op, supports, any_dim_order, lower, Unknown::any};
}

}  // namespace wick::xnnpack
