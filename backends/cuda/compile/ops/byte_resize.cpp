#include "backends/cuda/compile/ops/byte_resize.h"

#include <algorithm>
#include <cmath>

namespace wick::cuda {
namespace {

double step_of_axis(const ByteAxis& a) {
  if (a.align_corners) return a.out > 1 ? static_cast<double>(a.in - 1) / static_cast<double>(a.out - 1) : 0;
  return a.scale > 0 ? 1 / a.scale : static_cast<double>(a.in) / static_cast<double>(a.out);
}

// Positions far outside are clamped, so that they fit an integer.
int64_t floor_of(double x) { return static_cast<int64_t>(std::floor(std::clamp(x, -1e9, 1e9))); }

double cubic_near(double x) { return (1.25 * x - 2.25) * x * x + 1; }
double cubic_far(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

// The taps of one output: places and weights.
struct ByteTaps {
  std::vector<int64_t> places;
  std::vector<double> weights;
};

ByteTaps point_taps(const ByteAxis& a, double step, int64_t o) {
  const auto output = static_cast<double>(o);
  double place = a.align_corners ? step * output : step * (output + 0.5) - 0.5;
  if (!a.cubic) place = std::max(place, 0.0);
  const int64_t first = std::min(floor_of(place), a.in - 1);
  const double t = std::clamp(place - static_cast<double>(first), 0.0, 1.0);
  ByteTaps out;
  if (!a.cubic) {
    out.places = {first, std::min(first + 1, a.in - 1)};
    out.weights = {1 - t, t};
    return out;
  }
  for (int64_t i = -1; i < 3; ++i) out.places.push_back(std::clamp<int64_t>(first + i, 0, a.in - 1));
  out.weights = {cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)};
  return out;
}

double antialias_weight(bool cubic, double x) {
  x = std::abs(x);
  if (!cubic) return x < 1 ? 1 - x : 0;
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

ByteTaps antialiased_taps(const ByteAxis& a, double step, int64_t taps, int64_t o) {
  const double wide = std::max(step, 1.0), reach = (a.cubic ? 2 : 1) * wide;
  const double center = step * (static_cast<double>(o) + 0.5);
  const int64_t first = std::clamp<int64_t>(floor_of(center - reach + 0.5), 0, a.in - 1);
  const int64_t end = std::clamp<int64_t>(floor_of(center + reach + 0.5), 0, a.in);
  ByteTaps out;
  double total = 0;
  for (int64_t i = first; i < first + taps; ++i) {
    const double distance = static_cast<double>(i) - center + 0.5;
    out.places.push_back(std::clamp<int64_t>(i, 0, a.in - 1));
    out.weights.push_back(i < end ? antialias_weight(a.cubic, distance * (1 / wide)) : 0);
    total += out.weights.back();
  }
  for (double& weight : out.weights) weight = total == 0 ? weight : weight / total;
  return out;
}

// Merges taps that clamping at the border puts at one place.
void join_equal_places(ByteTaps& taps) {
  for (size_t i = 1, kept = 0; i < taps.places.size(); ++i) {
    if (taps.places[i] != taps.places[kept]) {
      kept = i;
      continue;
    }
    taps.weights[kept] += taps.weights[i];
    taps.weights[i] = 0;
  }
}

int32_t in_units(double weight, int precision) {
  const double scaled = std::ldexp(weight, precision);
  return static_cast<int32_t>(std::clamp(scaled < 0 ? scaled - 0.5 : scaled + 0.5, -32768.0, 32767.0));
}

}  // namespace

std::optional<ByteBlend> byte_blend(const ByteAxis& a) {
  const double step = step_of_axis(a);
  ByteBlend out;
  out.taps = a.cubic ? 4 : 2;
  if (a.antialias) {
    const double reach = (a.cubic ? 2 : 1) * std::max(step, 1.0);
    out.taps = std::min((floor_of(reach) + 1) * 2 + 1, a.in + 1);
    if (out.taps > 16 * (1 + a.in / a.out)) return std::nullopt;
  }
  std::vector<ByteTaps> all;
  double largest = 0;
  for (int64_t o = 0; o < a.out; ++o) {
    all.push_back(a.antialias ? antialiased_taps(a, step, out.taps, o) : point_taps(a, step, o));
    join_equal_places(all.back());
    for (const double weight : all.back().weights) largest = std::max(largest, weight);
  }
  while (out.precision < 22 && 0.5 + std::ldexp(largest, out.precision + 1) < 32768) ++out.precision;
  for (const ByteTaps& taps : all) {
    for (const int64_t place : taps.places) out.places.push_back(static_cast<int32_t>(place));
    for (const double weight : taps.weights) out.weights.push_back(in_units(weight, out.precision));
  }
  return out;
}

}  // namespace wick::cuda
