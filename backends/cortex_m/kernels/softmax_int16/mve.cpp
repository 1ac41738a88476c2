// softmax_int16, exp of four elements at a time. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/exponential.h"
#include "backends/cortex_m/kernels/softmax_int16/softmax_int16.h"

namespace wick::cortex_m::mve {
namespace {

/// round(2^30 e / sum), halves up, for 0 <= e <= sum and a sum in [2^31 - 1, 2^52). The reciprocal gives an estimate
/// that is off by a few at most; the remainder corrects it.
class Quotients {
 public:
  explicit Quotients(int64_t sum) : sum_(sum) {
    const int32_t bits = 64 - __builtin_clzll(static_cast<uint64_t>(sum));
    const uint64_t head = bits < 32 ? static_cast<uint64_t>(sum) << 1 : static_cast<uint64_t>(sum) >> (bits - 32);
    reciprocal_ = (uint64_t{1} << 63) / head - 1;  // of 32 bits
    right_ = bits + 1;
  }
  int32_t operator()(int32_t e) const {
    const uint64_t product = static_cast<uint64_t>(static_cast<uint32_t>(e)) * static_cast<uint32_t>(reciprocal_);
    auto quotient = static_cast<int32_t>(product >> right_);
    int64_t rest = (int64_t{e} << kQuotientBits) + sum_ / 2 - quotient * sum_;
    for (; rest >= sum_; rest -= sum_) ++quotient;
    for (; rest < 0; rest += sum_) --quotient;
    return quotient;
  }

 private:
  int64_t sum_;
  uint64_t reciprocal_;
  int32_t right_;
};

void write_row(const SoftmaxInt16& s, const Exponents& exponents, const int16_t* x, int16_t* y) {
  int32_t most = INT16_MIN;
  for (int32_t i = 0; i < s.columns; i += 8) {
    const mve_pred16_t live = vctp16q(static_cast<uint32_t>(s.columns - i));
    most = vmaxvq_p_s16(static_cast<int16_t>(most), vldrhq_z_s16(x + i, live), live);
  }
  const auto exp_at = [&](int32_t i, mve_pred16_t live) {
    return exp_of_negative(exponents(vsubq_n_s32(vldrhq_z_s32(x + i, live), most)));
  };
  int64_t sum = 0;
  for (int32_t i = 0; i < s.columns; i += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(s.columns - i));
    sum = vaddlvaq_p_s32(sum, exp_at(i, live), live);
  }
  const Quotients quotient(sum);
  for (int32_t i = 0; i < s.columns; i += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(s.columns - i));
    int32_t values[4];
    vstrwq_s32(values, exp_at(i, live));
    const int32_t left = s.columns - i, count = left < 4 ? left : 4;
    for (int32_t lane = 0; lane < count; ++lane) y[i + lane] = s.finish(quotient(values[lane]));
  }
}

}  // namespace

void softmax_int16(KernelContext& context, Span<EValue*> args) {
  SoftmaxInt16 s;
  if (!read_softmax_int16(context, args, &s)) return;
  const Exponents exponents(s.multiplier, s.shift);
  for (size_t at = 0; at < s.count; at += static_cast<size_t>(s.columns)) write_row(s, exponents, s.x + at, s.y + at);
}

}  // namespace wick::cortex_m::mve
