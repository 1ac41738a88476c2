// softmax on cores without vectors. exp depends only on the difference to the row's maximum, so each of its 256 values
// is computed at most once. C++17, freestanding.
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m::plain {
namespace {

/// exp(-index), 0 below diff_min, or kUnknown while it is not computed.
class ExpTable {
 public:
  explicit ExpTable(const Softmax& softmax) : softmax_(softmax) {
    for (int32_t& value : values_) value = kUnknown;
  }
  uint32_t at(int32_t distance) {
    const int32_t known = values_[distance];
    return static_cast<uint32_t>(known != kUnknown ? known : compute(distance));
  }

 private:
  static constexpr int32_t kUnknown = -1;

  __attribute__((noinline)) int32_t compute(int32_t distance) {
    return values_[distance] = -distance < softmax_.diff_min ? 0 : softmax_.exp_of(-distance);
  }

  const Softmax& softmax_;
  int32_t values_[256];
};

void softmax_row(ExpTable& table, const int8_t* x, int32_t count, int8_t* y) {
  const int8_t* const end = x + count;
  int32_t max = *x;
  for (const int8_t* at = x; at != end; ++at) max = *at > max ? *at : max;
  uint32_t sum = 0;
  for (const int8_t* at = x; at != end; ++at)
    sum += (table.at(max - *at) + (1u << (kSoftmaxSumShift - 1))) >> kSoftmaxSumShift;
  const SoftmaxScale scale = scale_of_sum(static_cast<int32_t>(sum));
  const bool vanishes = scale.bits > 31;
  const uint32_t bits = vanishes ? 31 : static_cast<uint32_t>(scale.bits), half = 1u << (bits - 1);
  const uint32_t inverse = vanishes ? 0 : static_cast<uint32_t>(scale.inverse);
  for (const int8_t* at = x; at != end; ++at) {
    const uint64_t product = static_cast<uint64_t>(inverse) * table.at(max - *at) + (1u << 30);
    const int32_t value =
        static_cast<int32_t>((static_cast<uint32_t>(product >> 31) + half) >> bits) + kSoftmaxZeroPoint;
    *y++ = static_cast<int8_t>(value > INT8_MAX ? INT8_MAX : value);
  }
}

/// Whether softmax_rows can compute it: neither differences, when they are shifted, nor the sum of a row may overflow.
bool is_usual(const Softmax& softmax) {
  constexpr int64_t kMostTerms = INT32_MAX >> (31 - kSoftmaxSumShift);
  return softmax.shift <= 23 && softmax.count <= kMostTerms;
}

__attribute__((noinline)) void softmax_rows(const Softmax& softmax) {
  ExpTable table(softmax);
  const int32_t count = static_cast<int32_t>(softmax.count);
  for (size_t at = 0; at < softmax.total; at += static_cast<size_t>(count))
    softmax_row(table, softmax.x + at, count, softmax.y + at);
}

}  // namespace

void softmax(KernelContext& context, Span<EValue*> args) {
  Softmax softmax;
  if (!read_softmax(context, args, &softmax)) return;
  if (!is_usual(softmax)) return reference::softmax(context, args);
  softmax_rows(softmax);
}

}  // namespace wick::cortex_m::plain
