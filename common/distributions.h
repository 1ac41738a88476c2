// Poisson, binomial and gamma distributions, from streams of random numbers. C++17, freestanding.
// Source: Hormann, "The transformed rejection method for generating Poisson random variables" (1993) and "The
// generation of binomial random variates" (1993); Marsaglia and Tsang, "A simple method for generating gamma variables"
// (2000).
#pragma once
#include "common/random.h"

namespace wick {

/// The random numbers of one element: a stream of its own, keyed by a block of the stream of `seed`.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t block) {
    const RandomBlock key = philox4x32(seed, block);
    key_ = uint64_t{key.words[0]} << 32 | key.words[1];
  }
  /// Uniform in [0, 1).
  double uniform() {
    if (!has_second_) block_ = philox4x32(key_, counter_++);
    has_second_ = !has_second_;
    return has_second_ ? uniform_double(block_.words[0], block_.words[1])
                       : uniform_double(block_.words[2], block_.words[3]);
  }
  /// Standard normal, by Box and Muller.
  double normal() {
    const double radius = math::sqrt(-2 * math::log(1 - uniform()));
    return radius * math::cos(2 * math::kPi * uniform());
  }

 private:
  uint64_t key_ = 0, counter_ = 0;
  RandomBlock block_{};
  bool has_second_ = false;
};

inline double draw_poisson_few(RandomStream& stream, double rate) {
  const double least = math::exp(-rate);
  double product = stream.uniform(), count = 0;
  for (; product > least; product *= stream.uniform()) ++count;
  return count;
}

/// A Poisson number. Requires: rate >= 0.
inline double draw_poisson(RandomStream& stream, double rate) {
  if (rate < 10) return rate == 0 ? 0 : draw_poisson_few(stream, rate);
  const double b = 0.931 + 2.53 * math::sqrt(rate), a = -0.059 + 0.02483 * b, log_rate = math::log(rate);
  const double log_inverse_alpha = math::log(1.1239 + 1.1328 / (b - 3.4)), sure = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - math::abs(u);
    const double k = math::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= sure) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double height = math::log(v) + log_inverse_alpha - math::log(a / (us * us) + b);
    if (height <= k * log_rate - rate - math::lgamma(k + 1)) return k;
  }
}

/// A binomial number for few expected successes: adds the (geometric) numbers of trials up to each success.
inline double draw_binomial_few(RandomStream& stream, double count, double chance) {
  const double log_failure = math::log1p(-chance);
  double trials = 0, successes = 0;
  for (;; ++successes) {
    trials += math::ceil(math::log(stream.uniform()) / log_failure);
    if (!(trials <= count)) return successes;
  }
}

/// A binomial number. Requires: chance in (0, 0.5].
inline double draw_binomial_half(RandomStream& stream, double n, double chance) {
  if (n * chance < 10) return draw_binomial_few(stream, n, chance);
  const double deviation = math::sqrt(n * chance * (1 - chance)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * chance, sure = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double top = math::floor((n + 1) * chance), log_odds = math::log(chance / (1 - chance));
  const double at_top = math::lgamma(top + 1) + math::lgamma(n - top + 1);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - math::abs(u);
    const double k = math::floor((2 * a / us + b) * u + n * chance + 0.5);
    if (us >= 0.07 && v <= sure) return k;
    if (!(k >= 0 && k <= n)) continue;
    const double height = math::log(v * alpha / (a / (us * us) + b));
    if (height <= at_top - math::lgamma(k + 1) - math::lgamma(n - k + 1) + (k - top) * log_odds) return k;
  }
}

/// A binomial number: the successes among floor(count) trials.
inline double draw_binomial(RandomStream& stream, double count, double chance) {
  count = math::floor(count);
  if (math::is_nan(chance)) return math::kNaN;
  if (count <= 0 || chance <= 0) return 0;
  if (chance >= 1) return count;
  return chance <= 0.5 ? draw_binomial_half(stream, count, chance)
                       : count - draw_binomial_half(stream, count, 1 - chance);
}

/// A gamma number with scale 1. Requires: alpha >= 0.
inline double draw_gamma(RandomStream& stream, double alpha) {
  if (alpha == 0) return 0;
  double scale = 1;
  if (alpha < 1) {
    scale = math::pow(1 - stream.uniform(), 1 / alpha);
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3, c = 1 / math::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal(), y = 1 + c * x;
    if (y <= 0) continue;
    const double v = y * y * y, u = 1 - stream.uniform(), square = x * x;
    if (u < 1 - 0.0331 * square * square || math::log(u) < 0.5 * square + d * (1 - v + math::log(v)))
      return scale * d * v;
  }
}

}  // namespace wick
