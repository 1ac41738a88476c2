// log_softmax of rows of int8 or int16, four elements at a time. The equation: reference.cpp. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/log_softmax/log_softmax.h"
#include "backends/cortex_m/kernels/mve/exponential.h"

namespace wick::cortex_m::mve {

inline int32x4_t load_elements(const int8_t* from, mve_pred16_t live) { return vldrbq_z_s32(from, live); }
inline int32x4_t load_elements(const int16_t* from, mve_pred16_t live) { return vldrhq_z_s32(from, live); }
inline void store_elements(int8_t* to, int32x4_t values, mve_pred16_t live) { vstrbq_p_s32(to, values, live); }
inline void store_elements(int16_t* to, int32x4_t values, mve_pred16_t live) { vstrhq_p_s32(to, values, live); }

template <typename T>
void write_row_of_four(const LogSoftmax& rows, const T* x, T* y) {
  constexpr int32_t kUp = 6, kLeast = INT32_MIN >> kUp;  // from numbers to exponents, which have 26 fractional bits
  const int32_t right = 31 - rows.shift;
  int32_t max = INT32_MIN;
  for (int32_t i = 0; i < rows.columns; i += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(rows.columns - i));
    max = vmaxvq_p_s32(max, load_elements(x + i, live), live);
  }
  int64_t sum = 0;
  for (int32_t i = 0; i < rows.columns; i += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(rows.columns - i));
    const int32x4_t number = scale_exactly(vsubq_n_s32(load_elements(x + i, live), max), rows.multiplier, right);
    const int32x4_t exponent = vshlq_n_s32(vmaxq_s32(number, vdupq_n_s32(kLeast)), kUp);
    sum = vaddlvaq_p_s32(sum, exp_of_negative(exponent), live);
  }
  const int32_t log = log_of_sum(sum);
  const int32x4_t multiplier = vdupq_n_s32(rows.stage.multiplier), shift = vdupq_n_s32(rows.stage.shift);
  for (int32_t i = 0; i < rows.columns; i += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(rows.columns - i));
    const int32x4_t number = scale_exactly(vsubq_n_s32(load_elements(x + i, live), max), rows.multiplier, right);
    const int32x4_t value = vaddq_n_s32(requantize_any(vsubq_n_s32(number, log), multiplier, shift), rows.stage.offset);
    store_elements(y + i, clamp(value, vdupq_n_s32(rows.stage.min), vdupq_n_s32(rows.stage.max)), live);
  }
}

template <typename T>
void write_rows_of_four(const LogSoftmax& rows, const Tensor& x, const Tensor& y) {
  for (size_t at = 0; at < x.numel; at += static_cast<size_t>(rows.columns))
    write_row_of_four(rows, x.as<const T>() + at, y.as<T>() + at);
}

}  // namespace wick::cortex_m::mve
