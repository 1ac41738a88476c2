#include "compiler/passes/fourier/complex_arithmetic.h"

#include <cmath>

#include "compiler/passes/constants/constant_element.h"

namespace wick::compiler {
namespace {

// x * 0, which is NaN where x is not finite. Null if it is 0 everywhere.
Value* no_part(Builder& b, Value* x) {
  if (!x) return nullptr;
  const auto number = uniform_element(x);
  return number && std::isfinite(number->real) ? nullptr : b.call("aten.mul.Scalar", {x, 0.0});
}

// x * y, where null is 0.
Value* term(Builder& b, Value* x, Value* y) { return x && y ? product(b, x, y) : no_part(b, x ? x : y); }

Pair times_one(Builder& b, const Pair& x) {
  return {difference(b, x.re, no_part(b, x.im)), sum(b, no_part(b, x.re), x.im)};
}

// Adds the 0 that a missing part stands for: -0 + 0 is 0.
Value* plus_zero(Builder& b, Value* x) { return x ? b.call("aten.add.Scalar", {x, 0.0}) : nullptr; }

}  // namespace

Pair complex_sum(Builder& b, const Pair& x, const Pair& y) {
  const Pair other = times_one(b, y);
  Value *re = sum(b, x.re, other.re), *im = sum(b, x.im, other.im);
  return {re, x.im && y.im ? im : plus_zero(b, im)};
}

Pair complex_difference(Builder& b, const Pair& x, const Pair& y) {
  const Pair other = times_one(b, y);
  Value* re = difference(b, x.re, other.re);
  if (y.im) {
    Value* im = difference(b, x.im, other.im);
    return {re, x.im ? im : plus_zero(b, im)};
  }
  // Eager adds y times -1 + 0i, whose imaginary part is y.re * 0.
  Value* im = sum(b, x.im, other.im);
  const auto number = uniform_element(y.re);
  const bool is_kept = x.im && (other.im || (number && std::signbit(number->real)));
  return {re, is_kept ? im : plus_zero(b, im)};
}

Pair complex_product(Builder& b, const Pair& x, const Pair& y) {
  return {difference(b, product(b, x.re, y.re), term(b, x.im, y.im)), sum(b, term(b, x.re, y.im), term(b, x.im, y.re))};
}

Pair complex_scaled(Builder& b, const Pair& x, const Arg& factor) {
  const auto scaled = [&](Value* part) { return part ? b.call("aten.mul.Scalar", {part, factor}) : nullptr; };
  return {difference(b, scaled(x.re), no_part(b, x.im)), sum(b, no_part(b, x.re), scaled(x.im))};
}

// (re + im * 0) / divisor, (im - re * 0) / divisor; where the divisor is 0, whatever its sign, re / 0 and im / 0.
Pair complex_quotient(Builder& b, const Pair& x, Value* divisor, bool selects) {
  Compose c(b);
  const auto number = uniform_element(divisor);
  const bool is_known = number && !number->is(0);
  if (!is_known) divisor = c.add(divisor, 0.0);  // of -0: 0
  Value *re = x.re, *im = x.im ? x.im : b.full(re->sizes(), 0.0, re->dtype());
  const auto quotient = [&](Value* part, Value* with_other) {
    if (selects && !is_known && with_other != part) with_other = c.where(c.compare("eq", divisor, 0), part, with_other);
    return c.div(with_other, divisor);
  };
  return {quotient(re, sum(b, re, no_part(b, x.im))), quotient(im, difference(b, im, no_part(b, re)))};
}

// Smith's algorithm: the part of y with the larger magnitude divides the other one. For y = 0 + 0i, both parts of x are
// divided by 0.
Pair complex_ratio(Builder& b, const Pair& x, const Pair& y) {
  Compose c(b);
  Value* swaps = c.compare("lt", c.abs(y.re), c.abs(y.im));
  Value *large = c.where(swaps, y.im, y.re), *small = c.where(swaps, y.re, y.im);
  Value *u = c.where(swaps, x.im, x.re), *v = c.where(swaps, x.re, x.im);
  Value* is_zero = c.logical_and(c.compare("eq", large, 0), c.compare("eq", small, 0));
  Value* quotient = c.where(is_zero, 0.0, c.div(small, large));
  Value* scale = c.unary("aten.reciprocal", c.where(is_zero, 0.0, c.add(large, c.mul(small, quotient))));
  const auto other = [&](Value* part) { return c.where(is_zero, 0.0, c.mul(part, quotient)); };
  Value* re = c.mul(c.add(u, other(v)), scale);
  Value* im = c.mul(c.sub(v, other(u)), scale);
  return {re, c.where(swaps, c.neg(im), im)};
}

// Smith's algorithm; of two parts of equal magnitude the real one counts as larger. The reciprocal of 0 is inf + nan i.
Pair complex_reciprocal(Builder& b, const Pair& x) {
  Compose c(b);
  Value* is_wide = c.compare("ge", c.abs(x.re), c.abs(x.im));
  Value *large = c.where(is_wide, x.re, x.im), *small = c.where(is_wide, x.im, x.re);
  Value* is_zero = c.logical_and(c.compare("eq", large, 0), c.compare("eq", small, 0));
  Value* ratio = c.div(small, large);
  Value* scale = c.unary("aten.reciprocal", c.add(large, c.mul(small, ratio)));
  Value* re = c.where(is_wide, scale, c.mul(c.add(ratio, 0.0), scale));
  Value* im = c.where(is_wide, c.mul(c.sub(b.scalar(0.0, x.re->dtype()), ratio), scale), c.neg(scale));
  return {c.where(is_zero, INFINITY, re), c.where(is_zero, NAN, im)};
}

// e^re * cos(im) and e^re * sin(im). If im is 0, it stays. If im is infinite or NaN, the real part is e^re where that
// is 0 or infinite, and the imaginary part is e^re where that is 0. In f64, because e^re may overflow f32 where the
// product does not.
Pair complex_exponential(Builder& b, const Pair& x) {
  Compose c(b);
  Value* size = c.exp(b.cast(x.re, DType::f64));
  const auto part = [&](const char* function) { return c.mul(size, b.cast(c.unary(function, x.im), DType::f64)); };
  const auto infinite = [&](double sign) { return c.compare("eq", x.re, sign * INFINITY); };
  Value* has_no_angle = c.compare("ne", c.sub(x.im, x.im), 0);
  Value* vanishes = c.logical_and(has_no_angle, infinite(-1));
  Value* stays = c.logical_or(vanishes, c.logical_and(has_no_angle, infinite(1)));
  Value* im = c.where(vanishes, size, part("aten.sin"));
  return {c.where(stays, size, part("aten.cos")), c.where(c.compare("eq", x.im, 0), b.cast(x.im, DType::f64), im)};
}

// In f64: the absolute value may overflow f32, or be so near 1 that f32 loses all digits of its logarithm.
Pair complex_logarithm(Builder& b, const Pair& x) {
  Compose c(b);
  Value* size = c.call("aten.hypot", {b.cast(x.re, DType::f64), b.cast(x.im, DType::f64)});
  return {c.log(size), c.call("aten.atan2", {x.im, x.re})};
}

}  // namespace wick::compiler
