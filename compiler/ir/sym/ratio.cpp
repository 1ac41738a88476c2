#include "compiler/ir/sym/ratio.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

namespace wick::compiler {
namespace {

constexpr int64_t kMaxUnder = int64_t{1} << 20;

// Doubles hold it exactly.
bool is_dyadic(const Ratio& a) { return (a.under & (a.under - 1)) == 0; }

std::optional<Ratio> reduced(Sym over, int64_t under) {
  if (over.is(std::numeric_limits<int64_t>::min())) return std::nullopt;
  if (over.is_const()) {
    const int64_t divisor = std::gcd(over.value(), under);
    over = Sym(over.value() / divisor);
    under /= divisor;
  }
  if (under > kMaxUnder) return std::nullopt;
  return Ratio{std::move(over), under};
}

}  // namespace

std::optional<Ratio> add(const Ratio& a, const Ratio& b) {
  if (!is_dyadic(a) || !is_dyadic(b)) return std::nullopt;
  const int64_t under = std::max(a.under, b.under);
  return reduced(a.over * Sym(under / a.under) + b.over * Sym(under / b.under), under);
}

std::optional<Ratio> multiply(const Ratio& a, const Ratio& b) {
  if (!is_dyadic(a) || !is_dyadic(b)) return std::nullopt;
  return reduced(a.over * b.over, a.under * b.under);
}

std::optional<Ratio> divide(const Ratio& a, const Ratio& b) {
  if (!is_dyadic(a) || !is_dyadic(b) || !b.over.is_const() || b.over.is(0)) return std::nullopt;
  const int64_t divisor = b.over.value();
  if (divisor > kMaxUnder || divisor < -kMaxUnder) return std::nullopt;
  return reduced(a.over * Sym(divisor < 0 ? -b.under : b.under), a.under * std::abs(divisor));
}

std::optional<Ratio> ratio_of(double value) {
  const double scaled = value * static_cast<double>(kMaxUnder);
  if (!(std::fabs(scaled) < 0x1p52) || std::trunc(scaled) != scaled) return std::nullopt;
  return reduced(Sym(static_cast<int64_t>(scaled)), kMaxUnder);
}

std::optional<Ratio> read_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return ratio_of(value);
}

Sym compared(SymOp op, const Ratio& a, const Ratio& b) {
  const int64_t divisor = std::gcd(a.under, b.under);
  return make_sym(op, {a.over * Sym(b.under / divisor), b.over * Sym(a.under / divisor)});
}

}  // namespace wick::compiler
