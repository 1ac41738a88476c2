// Fractions of sizes, as Python's floats hold them: `s0 / 2` or `1.5 * s0`.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ir/sym/sym.h"

namespace wick::compiler {

/// A ratio, denominator > 0. Sums, products and quotients return nothing unless double arithmetic on whole numbers
/// below 2^50 gives the same comparisons and the same roundings to integers.
struct Ratio {
  Sym numerator;
  int64_t denominator = 1;
};

std::optional<Ratio> add(const Ratio& a, const Ratio& b);
std::optional<Ratio> multiply(const Ratio& a, const Ratio& b);
/// Nothing unless `b` is a constant other than 0.
std::optional<Ratio> divide(const Ratio& a, const Ratio& b);
inline Ratio negate(const Ratio& a) { return {a.numerator * Sym(-1), a.denominator}; }

/// The number if it is a multiple of 2^-20.
std::optional<Ratio> ratio_of(double value);
/// The fraction p / q that scales sizes as `value` does: for each whole number n from 0 to 2^31, n * value (in doubles)
/// and n * p / q (exactly) are the same integer when rounded down (`up`: up). Nothing if there is none with q up to
/// 1000, or if `value` is not between 2^-10 and 2^10.
std::optional<Ratio> scale_of(double value, bool up);
/// "-2", "1.5": decimal digits with a fraction.
std::optional<Ratio> read_decimal(std::string_view text);

inline Sym floor(const Ratio& a) { return floor_div(a.numerator, a.denominator); }
inline Sym ceil(const Ratio& a) { return floor_div(a.numerator * Sym(-1), a.denominator) * Sym(-1); }
/// A comparison (eq, ne, lt, le), multiplied out.
Sym compared(SymOp op, const Ratio& a, const Ratio& b);

}  // namespace wick::compiler
