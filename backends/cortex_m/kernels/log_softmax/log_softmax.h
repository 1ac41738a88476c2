// The arithmetic of one row, which log_softmax and log_softmax_int16 share. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {

struct LogSoftmax {
  int32_t multiplier = 0, shift = 0;  // from differences of elements to numbers
  OutputStage stage;
  int32_t columns = 0;

  /// difference * scale, with 20 fractional bits.
  int32_t number(int32_t difference) const {
    const int32_t right = 31 - shift;
    return static_cast<int32_t>((int64_t{difference} * multiplier + (int64_t{1} << (right - 1))) >> right);
  }
};

/// Reads rows: input and output have the same layout. The input's scale (args[1], args[2]) must have a shift of at most
/// `largest_shift`, so that numbers fit 32 bits.
bool read_log_softmax_rows(KernelContext& context, Span<EValue*> args, Tensor& out, int32_t largest_shift,
                           LogSoftmax* rows);
/// Reads the arguments of log_softmax.
bool read_log_softmax(KernelContext& context, Span<EValue*> args, LogSoftmax* rows);

/// 2^20 ln(value / 2^31) for value >= 2^31 - 1.
int32_t log_of_sum(int64_t value);

template <typename T>
T element_of(const OutputStage& stage, int32_t number) {
  const int32_t value = wrapping_add(requantize(number, stage.multiplier, stage.shift), stage.offset);
  return static_cast<T>(value < stage.min ? stage.min : value > stage.max ? stage.max : value);
}

/// Computes one row. The equation: reference.cpp.
template <typename T>
void write_log_softmax(const LogSoftmax& rows, const T* x, T* y) {
  constexpr int32_t kUp = 6, kLeast = INT32_MIN >> kUp;  // from numbers to exponents, which have 26 fractional bits
  int32_t max = x[0];
  for (int32_t i = 1; i < rows.columns; ++i) max = x[i] > max ? x[i] : max;
  int64_t sum = 0;
  for (int32_t i = 0; i < rows.columns; ++i) {
    const int32_t number = rows.number(x[i] - max);
    sum += exp_of_negative((number < kLeast ? kLeast : number) * (1 << kUp));
  }
  const int32_t log = log_of_sum(sum);
  for (int32_t i = 0; i < rows.columns; ++i) y[i] = element_of<T>(rows.stage, rows.number(x[i] - max) - log);
}

/// Computes all rows of the input.
template <typename T>
void write_log_softmax_rows(const LogSoftmax& rows, const Tensor& x, const Tensor& y) {
  for (size_t at = 0; at < x.numel; at += static_cast<size_t>(rows.columns))
    write_log_softmax(rows, x.as<const T>() + at, y.as<T>() + at);
}

}  // namespace wick::cortex_m
