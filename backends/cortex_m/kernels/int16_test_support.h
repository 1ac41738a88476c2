// Sums and scales of operators on int16 for tests, in exact arithmetic. C++20, hosted.
#pragma once
#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {

inline std::vector<int64_t> random_int16(Random& random, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  const bool ends = random.one_in(10);
  for (int64_t& value : values) value = ends ? (random.one_in(2) ? -32768 : 32767) : random.in(-32768, 32767);
  return values;
}

/// Converts exact sums of products to elements, by the equations.
struct Int16Output {
  bool wide = false;  // sums have 64 bits
  std::vector<int64_t> bias;
  std::vector<int32_t> multipliers, shifts;  // one, or one for each channel
  int64_t min = -32768, max = 32767;

  Int16Output(Random& random, int64_t channels, int64_t terms) {
    const int64_t kind = random.in(0, 2);  // kind of bias: none, int32, int64
    wide = kind == 2;
    for (int64_t c = 0; kind > 0 && c < channels; ++c)
      bias.push_back(wide ? random.in(-(int64_t{1} << 45), int64_t{1} << 45) >> random.in(0, 40)
                          : random.in(-2000000000, 2000000000));
    const int64_t count = random.one_in(3) ? 1 : channels;
    for (int64_t c = 0; c < count; ++c) {
      const double scale =
          std::exp2(-7.0 - 0.5 * std::log2(static_cast<double>(terms) + 1) + 0.01 * random.in(-300, 300));
      int exponent = 0;
      multipliers.push_back(static_cast<int32_t>(std::ldexp(std::frexp(scale, &exponent), 31) - 1));
      shifts.push_back(exponent);
      if (!random.one_in(8)) continue;
      multipliers.back() = random.pick<int32_t>({INT32_MIN + 1, -1, 0, 1, 0x7FFEFFFF, 0x7FFF0000, INT32_MAX});
      shifts.back() = random.pick<int32_t>({-31, -30, -1, 0, 1, wide ? 14 : 30});
    }
    if (random.one_in(2)) {
      min = random.in(-32768, 32767);
      max = random.in(min, 32767);
    }
  }

  double operator()(int64_t products, int64_t channel) const {
    const size_t at = multipliers.size() == 1 ? 0 : static_cast<size_t>(channel);
    const int64_t sum = products + (bias.empty() ? 0 : bias[static_cast<size_t>(channel)]);
    int64_t value = 0;
    if (wide) {
      const int64_t reduced =
          multipliers[at] < 0x7FFF0000 ? floor_divide(int64_t{multipliers[at]} + 32768, 65536) : 32767;
      const __int128 product = static_cast<__int128>(sum) * reduced;
      // A result that does not fit int32 wraps before the last halving.
      const auto twice = static_cast<int32_t>(floor_divide(product, __int128{1} << (14 - shifts[at])));
      value = (int64_t{static_cast<int32_t>(static_cast<uint32_t>(twice) + 1u)}) >> 1;
    } else {
      value = exact_requantize(sum, multipliers[at], shifts[at]);
    }
    return static_cast<double>(std::min(std::max(value, min), max));
  }

  static TestTensor row(const std::vector<int32_t>& values) {
    return make_ints(DType::i32, {static_cast<int32_t>(values.size())},
                     std::vector<int64_t>(values.begin(), values.end()));
  }
  TestTensor bias_tensor() const {
    return make_ints(wide ? DType::i64 : DType::i32, {static_cast<int32_t>(bias.size())}, bias);
  }
};

}  // namespace wick::cortex_m
