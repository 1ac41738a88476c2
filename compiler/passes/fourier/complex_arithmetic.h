// Arithmetic on complex numbers as pairs of real tensors, with eager's results beside infinities and NaN. C++20.
#pragma once
#include "compiler/passes/fourier/pair.h"

namespace wick::compiler {

/// x + y, x - y: eager multiplies y by a complex 1 first, so that beside an infinite part of y the other one is NaN.
Pair complex_sum(Builder& b, const Pair& x, const Pair& y);
Pair complex_difference(Builder& b, const Pair& x, const Pair& y);

/// x * y, element by element. A missing imaginary part counts as 0.
Pair complex_product(Builder& b, const Pair& x, const Pair& y);

/// x * factor, x / divisor: a real number is a complex one with an imaginary part of 0.
Pair complex_scaled(Builder& b, const Pair& x, const Arg& factor);
/// Without `selects`, for targets that take no select of what may be NaN, both parts of an infinite number divided by 0
/// are NaN.
Pair complex_quotient(Builder& b, const Pair& x, Value* divisor, bool selects);

/// x / y, 1 / x, exp(x), log(x); both parts are given. For targets that take selects of what may be NaN.
Pair complex_ratio(Builder& b, const Pair& x, const Pair& y);
Pair complex_reciprocal(Builder& b, const Pair& x);
Pair complex_exponential(Builder& b, const Pair& x);
Pair complex_logarithm(Builder& b, const Pair& x);

}  // namespace wick::compiler
