#include "compiler/ir/sym/ratio.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

namespace wick::compiler {
namespace {

constexpr int64_t kMaxDenominator = int64_t{1} << 20;

// Doubles hold it exactly.
bool is_dyadic(const Ratio& a) { return (a.denominator & (a.denominator - 1)) == 0; }

std::optional<Ratio> reduced(Sym numerator, int64_t denominator) {
  if (numerator.is(std::numeric_limits<int64_t>::min())) return std::nullopt;
  if (numerator.is_const()) {
    const int64_t divisor = std::gcd(numerator.value(), denominator);
    numerator = Sym(numerator.value() / divisor);
    denominator /= divisor;
  }
  if (denominator > kMaxDenominator) return std::nullopt;
  return Ratio{std::move(numerator), denominator};
}

}  // namespace

std::optional<Ratio> add(const Ratio& a, const Ratio& b) {
  if (!is_dyadic(a) || !is_dyadic(b)) return std::nullopt;
  const int64_t denominator = std::max(a.denominator, b.denominator);
  return reduced(a.numerator * Sym(denominator / a.denominator) + b.numerator * Sym(denominator / b.denominator),
                 denominator);
}

std::optional<Ratio> multiply(const Ratio& a, const Ratio& b) {
  if (!is_dyadic(a) || !is_dyadic(b)) return std::nullopt;
  return reduced(a.numerator * b.numerator, a.denominator * b.denominator);
}

std::optional<Ratio> divide(const Ratio& a, const Ratio& b) {
  if (!is_dyadic(a) || !is_dyadic(b) || !b.numerator.is_const() || b.numerator.is(0)) return std::nullopt;
  const int64_t divisor = b.numerator.value();
  if (divisor > kMaxDenominator || divisor < -kMaxDenominator) return std::nullopt;
  return reduced(a.numerator * Sym(divisor < 0 ? -b.denominator : b.denominator), a.denominator * std::abs(divisor));
}

std::optional<Ratio> ratio_of(double value) {
  const double scaled = value * static_cast<double>(kMaxDenominator);
  if (!(std::fabs(scaled) < 0x1p52) || std::trunc(scaled) != scaled) return std::nullopt;
  return reduced(Sym(static_cast<int64_t>(scaled)), kMaxDenominator);
}

std::optional<Ratio> scale_of(double value, bool up) {
  constexpr int64_t kMostParts = 1000;
  constexpr double kMost = 1 << 10;
  if (!(value > 1 / kMost && value < kMost)) return std::nullopt;
  for (int64_t q = 1; q <= kMostParts; ++q) {
    const auto p = static_cast<int64_t>(std::llround(value * static_cast<double>(q)));
    if (p == 0 || static_cast<double>(p) / static_cast<double>(q) != value) continue;
    // For n from 0 to 2^31, only multiples of q matter. For other n, n * p / q is 1 / q or more from an integer; the
    // rounding of a product below 2^41 does not reach that far. For a multiple of q the exact product is an integer N.
    // The product in doubles is N, too, unless `value` differs from p / q by a relative 2^-54 or more. A larger error
    // does no harm if the rounding to integers removes it: `value` is too small and rounds up, or too large and rounds
    // down.
    const double error = std::fma(value, static_cast<double>(q), -static_cast<double>(p));
    const bool small = std::abs(error) < std::ldexp(static_cast<double>(p), -54);
    if (small || (up ? error < 0 : error > 0)) return Ratio{Sym(p), q};
  }
  return std::nullopt;
}

std::optional<Ratio> read_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return ratio_of(value);
}

Sym compared(SymOp op, const Ratio& a, const Ratio& b) {
  const int64_t divisor = std::gcd(a.denominator, b.denominator);
  return make_sym(op, {a.numerator * Sym(b.denominator / divisor), b.numerator * Sym(a.denominator / divisor)});
}

}  // namespace wick::compiler
