#include "backends/cortex_m/kernels/isa/scalar.h"

#include "backends/cortex_m/kernels/sum_pool2d/without_vectors.h"

namespace wick::cortex_m::scalar {
namespace {

/// Sums of elements plus 128, which are not negative.
struct Pairs {
  static constexpr uint32_t kSigns = 0x80808080u, kEven = 0x00FF00FFu;

  static void add(uint32_t word, uint32_t* even, uint32_t* odd) {
    word ^= kSigns;
    *even += word & kEven;
    *odd += word >> 8 & kEven;
  }
  static int32_t low(uint32_t pair, int32_t count) { return static_cast<int32_t>(pair & 0xFFFFu) - 128 * count; }
  static int32_t high(uint32_t pair, int32_t count) { return static_cast<int32_t>(pair >> 16) - 128 * count; }
};

}  // namespace

void sum_pool2d(KernelContext& context, Span<EValue*> args) {
  sum_pool2d_without_vectors<Pairs, Scalar>(context, args);
}

}  // namespace wick::cortex_m::scalar
