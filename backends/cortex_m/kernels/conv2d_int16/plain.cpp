// conv2d_int16 as a matmul on cores without vectors (gemm_int16.h). The tile is in scratch if that is larger than the
// tile on the stack. C++17, freestanding.
#include "backends/cortex_m/kernels/conv2d/without_vectors.h"
#include "backends/cortex_m/kernels/conv2d_int16/conv2d_int16.h"
#include "backends/cortex_m/kernels/gemm/gemm_int16.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {
namespace {

__attribute__((noinline)) void convolve_int16_groups(const Conv2dInt16& c, Span<uint32_t> tile) {
  Conv2dRows<int16_t> rows(c);
  const auto outputs = static_cast<int32_t>(c.outputs), stride = static_cast<int32_t>(c.to.c);
  const int32_t depth = c.window.kernel[0] * c.window.kernel[1] * rows.inputs;
  const auto count = static_cast<int32_t>(c.to.n * c.to.h * c.to.w);
  for (int32_t n = 0; n < stride; n += outputs, rows.x += rows.inputs) {
    const GemmInt16 gemm = {count, depth, outputs, c.weights + n * depth, &c.channels, n, stride};
    GemmInt16Tile<Isa>(gemm, tile).run(rows, c.out + n);
  }
}

}  // namespace

void conv2d_int16(KernelContext& context, Span<EValue*> args) {
  Conv2dInt16 c;
  if (!read_conv2d_int16(context, args, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from)) return reference::conv2d_int16(context, args);
  run_with_tile(c.scratch, [&](Span<uint32_t> tile) { convolve_int16_groups(c, tile); });
}

}  // namespace wick::cortex_m::plain
