// attention on cores without vectors: scores by the inner loop of gemm.h, four outputs at a time. C++17, freestanding.
#include "backends/cortex_m/kernels/attention/attention.h"
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {
namespace {

class AttentionRows {
 public:
  explicit AttentionRows(const Attention& a) : a_(a), tile_(reinterpret_cast<uint32_t*>(a.weights + a.keys)) {}

  void run() {
    for (int32_t b = 0; b < a_.batch; ++b) {
      const int8_t *k = a_.keys_of(b), *v = a_.values_of(b);
      for (int32_t m = 0; m < a_.queries; ++m) {
        const int32_t row = b * a_.queries + m, count = a_.seen_by(m);
        scores(a_.q + row * a_.features, k, count);
        mask_scores(a_, b, m, a_.weights, count);
        const int32_t total = weights_of_scores(a_, a_.weights, count);
        sums(v, count, total * a_.value_offset, a_.y + row * a_.outputs);
      }
    }
  }

 private:
  void scores(const int8_t* q, const int8_t* k, int32_t count) {
    const int32_t depth = a_.features, groups = depth / 4, rest = depth % 4;
    TileRow<Isa> row(tile_, 0, 1, a_.query_offset);
    row.append(q, depth);
    row.finish();
    const uint32_t* last = tile_ + groups * Isa::kGroupWords;
    for (int32_t n = 0; n < count; n += 4, k += 4 * depth) {
      const int32_t rows = count - n < 4 ? count - n : 4;
      int32_t sums[4] = {0, 0, 0, 0};
      // Rows beyond the last one are not read; the first one replaces them.
      if (groups > 0) Isa::dot1(tile_, k, rows == 4 ? depth : 0, groups, sums);
      for (int32_t i = 0; i < rows; ++i) {
        if (rows < 4 && i > 0) sums[i] = one_score(k + i * depth, groups);
        if (rest != 0) sums[i] = Isa::dot_group(last, 1, rest_of(k + i * depth + 4 * groups, rest), sums[i]);
        a_.weights[n + i] = sums[i];
      }
    }
  }

  int32_t one_score(const int8_t* k, int32_t groups) const {
    int32_t sums[4] = {0, 0, 0, 0};
    if (groups > 0) Isa::dot1(tile_, k, 0, groups, sums);
    return sums[0];
  }

  static uint32_t rest_of(const int8_t* from, int32_t count) {
    uint32_t four = 0;
    for (int32_t i = 0; i < count; ++i) four |= static_cast<uint32_t>(static_cast<uint8_t>(from[i])) << 8 * i;
    return four;
  }

  void sums(const int8_t* v, int32_t count, int32_t initial, int8_t* y) const {
    const int32_t stride = a_.outputs, *const end = a_.weights + count;
    int32_t e = 0;
    for (; e + 4 <= stride; e += 4) {
      int32_t sum0 = initial, sum1 = initial, sum2 = initial, sum3 = initial;
      const int8_t* at = v + e;
      for (const int32_t* weight = a_.weights; weight != end; ++weight, at += stride) {
        const int32_t p = *weight;
        const uint32_t four = load_word(at);
        sum0 += p * static_cast<int8_t>(four);
        sum1 += p * static_cast<int8_t>(four >> 8);
        sum2 += p * static_cast<int8_t>(four >> 16);
        sum3 += p * static_cast<int8_t>(four >> 24);
      }
      y[e] = a_.stage(sum0);
      y[e + 1] = a_.stage(sum1);
      y[e + 2] = a_.stage(sum2);
      y[e + 3] = a_.stage(sum3);
    }
    for (; e < stride; ++e) {
      int32_t sum = initial;
      const int8_t* at = v + e;
      for (const int32_t* weight = a_.weights; weight != end; ++weight, at += stride) sum += *weight * *at;
      y[e] = a_.stage(sum);
    }
  }

  const Attention& a_;
  uint32_t* tile_;
};

}  // namespace

void attention(KernelContext& context, Span<EValue*> args) {
  Attention a;
  if (read_attention(context, args, &a)) AttentionRows(a).run();
}

}  // namespace wick::cortex_m::plain
