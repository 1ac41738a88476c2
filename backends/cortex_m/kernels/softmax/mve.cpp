// softmax, four elements at a time. exp depends only on the difference to the row's maximum: for many elements, the
// exponentials of all 256 differences are computed first. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/exponential.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kDifferences = 256;

/// exp of differences, after they are scaled.
int32x4_t exp_of(const Softmax& softmax, int32x4_t differences) {
  return exp_of_negative(vqrdmulhq_n_s32(vshlq_r_s32(differences, softmax.shift), softmax.multiplier));
}

int32_t max_of(const int8_t* x, int32_t count) {
  int8_t max = INT8_MIN;
  for (int32_t left = count; left > 0; left -= 16, x += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(left));
    max = vmaxvq_p_s8(max, vldrbq_z_s8(x, live), live);
  }
  return max;
}

/// The exponentials of four elements, from the table if there is one; 0 where the difference is below diff_min.
class Exponentials {
 public:
  Exponentials(const Softmax& softmax, const int32_t* table) : softmax_(softmax), table_(table) {}

  int32x4_t operator()(int32x4_t x, int32_t max) const {
    if (table_ != nullptr)
      return vldrwq_gather_shifted_offset_s32(table_, vreinterpretq_u32_s32(vsubq_s32(vdupq_n_s32(max), x)));
    const int32x4_t differences = vsubq_n_s32(x, max);
    return vdupq_m_n_s32(exp_of(softmax_, differences), 0, vcmpltq_n_s32(differences, softmax_.diff_min));
  }

 private:
  const Softmax& softmax_;
  const int32_t* table_;
};

void fill_table(const Softmax& softmax, int32_t* table) {
  int32x4_t differences = vnegq_s32(vreinterpretq_s32_u32(vidupq_n_u32(0, 1)));
  for (int32_t i = 0; i < kDifferences; i += 4, table += 4) {
    const mve_pred16_t counts = vcmpgeq_n_s32(differences, softmax.diff_min);
    vstrwq_s32(table, vdupq_x_n_s32(0, 0xffff));
    vstrwq_p_s32(table, exp_of(softmax, differences), counts);
    differences = vsubq_n_s32(differences, 4);
  }
}

/// Returns false if the sum exceeds 31 bits.
bool write_row(const Exponentials& exponentials, const int8_t* x, int8_t* y, int32_t count) {
  const int32_t max = max_of(x, count);
  int64_t sum = 0;
  for (int32_t at = 0; at < count; at += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - at));
    const int32x4_t value = exponentials(vldrbq_z_s32(x + at, live), max);
    sum = vaddlvaq_p_s32(sum, vrshrq_n_s32(value, kSoftmaxSumShift), live);
  }
  if (sum > INT32_MAX) return false;
  const SoftmaxScale scale = scale_of_sum(static_cast<int32_t>(sum));
  if (scale.bits > 31) {
    fill_bytes(y, kSoftmaxZeroPoint, count);
    return true;
  }
  const int32x4_t most = vdupq_n_s32(INT8_MAX);
  for (int32_t at = 0; at < count; at += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - at));
    const int32x4_t value = vqrdmulhq_n_s32(exponentials(vldrbq_z_s32(x + at, live), max), scale.inverse);
    // Exponentials and the reciprocal are not negative.
    const int32x4_t scaled = vrshlq_n_s32(value, -scale.bits);
    vstrbq_p_s32(y + at, vminq_s32(vaddq_n_s32(scaled, kSoftmaxZeroPoint), most), live);
  }
  return true;
}

bool write_rows(const Softmax& softmax, const int32_t* table) {
  const Exponentials exponentials(softmax, table);
  const int32_t count = static_cast<int32_t>(softmax.count);
  for (size_t at = 0; at < softmax.total; at += static_cast<size_t>(count)) {
    if (!write_row(exponentials, softmax.x + at, softmax.y + at, count)) return false;
  }
  return true;
}

__attribute__((noinline)) bool write_rows_by_table(const Softmax& softmax) {
  int32_t table[kDifferences];
  fill_table(softmax, table);
  return write_rows(softmax, table);
}

}  // namespace

void softmax(KernelContext& context, Span<EValue*> args) {
  Softmax softmax;
  if (!read_softmax(context, args, &softmax)) return;
  const bool fits = softmax.total < kDifferences / 2 ? write_rows(softmax, nullptr) : write_rows_by_table(softmax);
  if (!fits) context.fail(Error::InvalidArgument, kSoftmaxSumTooLarge);
}

}  // namespace wick::cortex_m::mve
