#include "backends/cortex_m/compile/line_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cortex_m/compile/requantization.h"
#include "compiler/analysis/rounding_limits.h"

namespace wick::cortex_m {

namespace {

constexpr int kMostBits = 10, kLeastBits = 4;  // log2 of the distance between entries, in elements
constexpr int kBitsOfInt8Steps = 7;            // .. in tables for elements of int8 that are int16
static_assert(kStepsOfInt8 == 1 << kBitsOfInt8Steps);
constexpr int kFraction = 6;           // fractional bits of an entry
constexpr double kMostSteps = 0x1p18;  // largest magnitude of an entry

double steps_of(double number, const Affine& q) { return std::clamp(number / q.scale, -kMostSteps, kMostSteps); }

// The entries for every 2^bits-th element, in steps of the result with kFraction fractional bits. The last one is for
// the element after the largest one. Empty: the difference between two entries is too large for the kernel.
std::vector<int32_t> nodes_of(const std::vector<double>& numbers, const Affine& q, int bits) {
  std::vector<int32_t> nodes;
  const auto add = [&](double number) {
    nodes.push_back(static_cast<int32_t>(round_half_even(std::ldexp(steps_of(number, q), kFraction))));
  };
  for (size_t at = 0; at < kInt16Elements; at += size_t{1} << bits) add(numbers[at]);
  add(2 * numbers[kInt16Elements - 1] - numbers[kInt16Elements - 2]);
  for (size_t j = 0; j + 1 < nodes.size(); ++j) {
    if (std::abs(int64_t{nodes[j + 1]} - nodes[j]) >= int64_t{1} << (31 - bits)) return {};
  }
  return nodes;
}

// A range of elements: from `first` to before `end`, counted from the least element.
struct Part {
  size_t first = 0, end = kInt16Elements;
};

struct LineError {
  double worst = 0;  // in steps, where the function does not saturate; infinite if a result is more than one step off
  size_t at = 0;     // the element with the largest error
};

// The error of interpolation. `value_at(at)`: the interpolated entry for the element `at` above the least, with
// kFraction fractional bits.
template <typename ValueAt>
LineError table_error(const ValueAt& value_at, const std::vector<double>& numbers, const Affine& q, Part part = {}) {
  const int32_t half = 1 << (kFraction - 1);
  LineError found;
  double furthest = 0;
  bool fits = true;
  for (size_t at = part.first; at < part.end; ++at) {
    const int32_t value = value_at(static_cast<int32_t>(at));
    const int32_t element = std::clamp((value + half) >> kFraction, q.min, q.max);
    if (std::abs(element - quantize(numbers[at], q)) > 1) fits = false;
    const bool saturates = element <= q.min || element >= q.max;
    const double error = std::abs(std::ldexp(value, -kFraction) - steps_of(numbers[at], q));
    if (!saturates) found.worst = std::max(found.worst, error);
    if (error > furthest && !(saturates && element == quantize(numbers[at], q))) {
      furthest = error;
      found.at = at;
    }
  }
  if (!fits) found.worst = std::numeric_limits<double>::infinity();
  return found;
}

// Interpolates between entries for every 2^bits-th element.
struct TableLines {
  const std::vector<int32_t>& nodes;
  int bits;
  int32_t operator()(int32_t at) const {
    const auto j = static_cast<size_t>(at >> bits);
    return nodes[j] + (((nodes[j + 1] - nodes[j]) * (at & ((1 << bits) - 1))) >> bits);
  }
};

// The smallest table that is accurate enough for a part of the elements. Empty: none is.
std::vector<int32_t> lines_for(const std::vector<double>& numbers, const Affine& q, Part part) {
  for (int bits = kMostBits; bits >= kLeastBits; --bits) {
    std::vector<int32_t> nodes = nodes_of(numbers, q, bits);
    if (nodes.empty()) continue;
    const double error = table_error(TableLines{nodes, bits}, numbers, q, part).worst;
    if (error <= compiler::kLineError || (bits == kLeastBits && std::isfinite(error))) return nodes;
  }
  return {};
}

bool are_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
}

// --- graded tables: entries lie closer together near 0 ---

constexpr int kLeastGrades = 4, kMostGrades = 9;  // 2^n entries between powers of 2
constexpr int32_t kZeroAt = kInt16Elements / 2;

// The half of a graded table for x >= 0, or for -x. Empty: the difference between two entries is too large for the
// kernel.
std::vector<int32_t> graded_half(const std::vector<double>& numbers, const Affine& q, int bits, bool negative) {
  const auto number_of = [&](int32_t x) {
    const auto size = static_cast<size_t>(x);
    if (negative) return numbers[kInt16Elements / 2 - size];
    if (x < kZeroAt) return numbers[kInt16Elements / 2 + size];
    return 2 * numbers[kInt16Elements - 1] - numbers[kInt16Elements - 2];
  };
  std::vector<int32_t> half;
  const auto add = [&](int32_t x, int e) {
    const double steps = steps_of(number_of(x), q);
    half.push_back(std::isnan(steps) ? 0 : static_cast<int32_t>(round_half_even(std::ldexp(steps, kFraction))));
    return half.size() < 2 || std::abs(int64_t{half.back()} - half[half.size() - 2]) < int64_t{1} << (31 - e);
  };
  bool fits = true;
  for (int32_t x = 0; x < 2 << bits; ++x) fits = add(x, 0) && fits;
  for (int e = 1; e < 16 - bits; ++e) {
    for (int32_t cell = 1 << bits; cell < 2 << bits && cell << e <= kZeroAt; ++cell) fits = add(cell << e, e) && fits;
  }
  half.resize((static_cast<size_t>(16 - bits) << bits) + 2, half.back());
  return fits ? half : std::vector<int32_t>();
}

int32_t graded_value(const int32_t* half, int bits, int32_t x) {
  int e = 0;
  while (x >> e >= 2 << bits) ++e;
  const int32_t j = (e << bits) + (x >> e), rest = x & ((1 << e) - 1);
  return rest == 0 ? half[j] : half[j] + (((half[j + 1] - half[j]) * rest) >> e);
}

// --- several tables, for functions with kinks and jumps ---

constexpr size_t kMostPieces = 4, kSlopeOver = size_t{1} << kLeastBits, kReach = size_t{1} << kMostBits;

// The numbers of a part, continued by straight lines on both sides as far as interpolation reaches.
std::vector<double> continued(const std::vector<double>& numbers, Part part) {
  std::vector<double> all = numbers;
  const size_t last = part.end - 1, over = std::min(kSlopeOver, last - part.first);
  const auto slope = [&](size_t from, size_t to) {
    return over == 0 ? 0 : (numbers[to] - numbers[from]) / static_cast<double>(over);
  };
  const double rise_before = slope(part.first, part.first + over), rise_behind = slope(last - over, last);
  for (size_t i = 0; i < part.first; ++i)
    all[i] = numbers[part.first] - rise_before * static_cast<double>(std::min(part.first - i, kReach));
  for (size_t i = part.end; i < kInt16Elements; ++i)
    all[i] = numbers[last] + rise_behind * static_cast<double>(std::min(i - last, kReach));
  return all;
}

// Splits a part into at most `most` pieces with a table each. Where one table is not accurate enough, the part is split
// at the largest error. Empty: `most` pieces are not enough.
std::vector<LinePiece> split_function(const std::vector<double>& numbers, const Affine& q, Part part, size_t most) {
  const std::vector<double> all = continued(numbers, part);
  const std::vector<int32_t> finest = nodes_of(all, q, kLeastBits);
  if (finest.empty()) return {};
  const LineError error = table_error(TableLines{finest, kLeastBits}, all, q, part);
  if (std::isfinite(error.worst)) return {{part.first, lines_for(all, q, part)}};
  std::vector<LinePiece> best;
  for (size_t at = error.at; most > 1 && at <= error.at + 1; ++at) {
    if (at <= part.first || at >= part.end) continue;
    std::vector<LinePiece> pieces = split_function(numbers, q, {part.first, at}, most - 1);
    if (pieces.empty()) continue;
    std::vector<LinePiece> rest = split_function(numbers, q, {at, part.end}, most - pieces.size());
    if (rest.empty()) continue;
    pieces.insert(pieces.end(), rest.begin(), rest.end());
    if (best.empty() || pieces.size() < best.size()) best = std::move(pieces);
  }
  return best;
}

}  // namespace

std::vector<int32_t> int16_table(const std::vector<double>& numbers, const Affine& q) {
  return are_finite(numbers) ? lines_for(numbers, q, {}) : std::vector<int32_t>();
}

std::vector<int32_t> int8_table(const std::vector<double>& numbers, int32_t zero, const Affine& q) {
  // The function's result for the int8 element at this distance from the zero point, or for the nearest one.
  const auto number_at = [&](int32_t difference) {
    const int32_t element = std::clamp(difference + zero, int32_t{INT8_MIN}, int32_t{INT8_MAX});
    return numbers[static_cast<size_t>(element - INT8_MIN)];
  };
  const auto spread = [&](const auto& number_of) {
    std::vector<double> all(kInt16Elements);
    for (int32_t at = 0; at < static_cast<int32_t>(kInt16Elements); ++at)
      all[static_cast<size_t>(at)] = number_of(number_at(at / kStepsOfInt8 - kZeroAt / kStepsOfInt8));
    return all;
  };
  const auto is_exact = [&](const std::vector<int32_t>& nodes, int bits) {
    for (int32_t element = INT8_MIN; element <= INT8_MAX; ++element) {
      const int32_t value = TableLines{nodes, bits}((element - zero) * kStepsOfInt8 + kZeroAt);
      const int32_t found = std::clamp((value + (1 << (kFraction - 1))) >> kFraction, q.min, q.max);
      if (found != quantize(number_at(element - zero), q)) return false;
    }
    return true;
  };
  if (are_finite(numbers)) {
    const std::vector<double> all = spread([](double number) { return number; });
    for (int bits = kMostBits; bits > kBitsOfInt8Steps; --bits) {
      std::vector<int32_t> nodes = nodes_of(all, q, bits);
      if (!nodes.empty() && is_exact(nodes, bits)) return nodes;
    }
  }
  return nodes_of(spread([&](double number) { return quantize(number, q) * q.scale; }), q, kBitsOfInt8Steps);
}

std::vector<int32_t> graded_int16_table(const std::vector<double>& numbers, const Affine& q) {
  const int32_t of_negative = quantize(numbers[0], q);
  const bool constant = std::all_of(numbers.begin(), numbers.begin() + kZeroAt,
                                    [&](double number) { return quantize(number, q) == of_negative; });
  for (int bits = kLeastGrades; bits <= kMostGrades; ++bits) {
    const std::vector<int32_t> positive = graded_half(numbers, q, bits, false);
    const std::vector<int32_t> negative =
        constant ? std::vector<int32_t>{of_negative * (1 << kFraction)} : graded_half(numbers, q, bits, true);
    if (positive.empty() || negative.empty()) continue;
    const auto value_at = [&](int32_t at) {
      if (at >= kZeroAt) return graded_value(positive.data(), bits, at - kZeroAt);
      return constant ? negative[0] : graded_value(negative.data(), bits, kZeroAt - at);
    };
    const double error = table_error(value_at, numbers, q).worst;
    if (error > compiler::kLineError && (bits < kMostGrades || !std::isfinite(error))) continue;
    std::vector<int32_t> table = positive;
    table.insert(table.end(), negative.begin(), negative.end());
    return table;
  }
  return {};
}

std::vector<LinePiece> line_pieces(const std::vector<double>& numbers, const Affine& q) {
  return are_finite(numbers) ? split_function(numbers, q, {}, kMostPieces) : std::vector<LinePiece>();
}

}  // namespace wick::cortex_m
