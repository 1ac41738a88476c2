#include "backends/cortex_m/compile/ops/compare_products.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace wick::cortex_m {

using compiler::Value;

namespace compare_products {
namespace {

constexpr int64_t kFarthest = 32768;  // the largest distance of an element from its zero point

struct Fraction {
  int64_t above, below;
};

// The two fractions around `number`, the first at most `number` and the second above it. No other fraction with
// numerator and denominator up to kFarthest lies between them.
std::array<Fraction, 2> neighbors(double number) {
  Fraction low = {0, 1}, high = {1, 0};
  while (true) {
    // As many steps towards one side as keep `number` between the two.
    const auto fits = [](const Fraction& f) { return f.above <= kFarthest && f.below <= kFarthest; };
    const auto towards = [&](Fraction& from, const Fraction& to, const auto& stays) {
      int64_t step = 0;
      for (int64_t more = kFarthest; more > 0; more /= 2) {
        const Fraction next = {from.above + (step + more) * to.above, from.below + (step + more) * to.below};
        if (fits(next) && stays(next)) step += more;
      }
      from = {from.above + step * to.above, from.below + step * to.below};
      return step > 0;
    };
    const auto value = [](const Fraction& f) { return static_cast<double>(f.above) / static_cast<double>(f.below); };
    const bool rose = towards(low, high, [&](const Fraction& f) { return value(f) <= number; });
    const bool fell = towards(high, low, [&](const Fraction& f) { return value(f) > number; });
    if (!rose && !fell) return {low, high};
  }
}

struct Side {
  float scale;
  int64_t zero, least, most;
  explicit Side(const Value& value) {
    const Affine q = affine(value);
    const bool wide = value.dtype() == DType::i16;
    scale = static_cast<float>(q.scale);
    zero = q.zero;
    least = (wide ? INT16_MIN : INT8_MIN) - zero;
    most = (wide ? INT16_MAX : INT8_MAX) - zero;
  }
  float number(int64_t steps) const { return static_cast<float>(steps) * scale; }
};

template <typename T>
bool holds(std::string_view op, T a, T b) {
  if (op == "aten.eq.Tensor") return a == b;
  if (op == "aten.ne.Tensor") return a != b;
  if (op == "aten.lt.Tensor") return a < b;
  if (op == "aten.le.Tensor") return a <= b;
  return op == "aten.gt.Tensor" ? a > b : a >= b;
}

// Counts pairs of elements that compare differently from f32. For each b only those a are tried that are near b's
// value.
int64_t count_others(std::string_view op, const Side& a, const Side& b, const Multiples& multiples) {
  constexpr int64_t kAround = 2;
  int64_t count = 0;
  for (int64_t y = b.least; y <= b.most; ++y) {
    const double turn = std::floor(static_cast<double>(y) * b.scale / a.scale);
    const auto at = static_cast<int64_t>(std::clamp(turn, static_cast<double>(a.least), static_cast<double>(a.most)));
    for (int64_t x = std::max(a.least, at - kAround); x <= std::min(a.most, at + kAround); ++x)
      count += holds(op, a.number(x), b.number(y)) != holds(op, x * multiples.of_a, y * multiples.of_b);
  }
  return count;
}

}  // namespace
}  // namespace compare_products

std::optional<Multiples> multiples_to_compare(std::string_view op, const Value& a, const Value& b) {
  using compare_products::Fraction;
  const compare_products::Side left(a), right(b);
  const double ratio = static_cast<double>(right.scale) / static_cast<double>(left.scale);
  if (!std::isnormal(ratio)) return std::nullopt;
  // x > y * ratio, with ratio = above / below: x * below > y * above.
  const auto [low, high] = compare_products::neighbors(ratio);
  const Fraction between = {low.above + high.above, low.below + high.below};
  std::optional<Multiples> best;
  int64_t least = 0;
  for (const Fraction& fraction : {low, between, high}) {
    const Multiples multiples = {fraction.below, fraction.above};
    const bool fits = std::max(-left.least, left.most) * multiples.of_a <= INT32_MAX &&
                      std::max(-right.least, right.most) * multiples.of_b <= INT32_MAX;
    if (!fits) continue;
    const int64_t others = compare_products::count_others(op, left, right, multiples);
    if (best && others >= least) continue;
    best = multiples;
    least = others;
  }
  return best;
}

}  // namespace wick::cortex_m
