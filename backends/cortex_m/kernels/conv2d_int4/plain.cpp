// conv2d_int4 on cores without vectors: conv2d/without_vectors.h with packed weights. C++17, freestanding.
#include "backends/cortex_m/kernels/conv2d/without_vectors.h"
#include "backends/cortex_m/kernels/conv2d_int4/conv2d_int4.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {

void conv2d_int4(KernelContext& context, Span<EValue*> args) {
  Conv2dInt4 c;
  if (!read_conv2d_int4(context, args, &c)) return;
  // Programs for these cores have no kernel_sum.
  if (c.is_summed || !positions_fit_31_bits(c.window, c.from)) return reference::conv2d_int4(context, args);
  run_with_tile(c.scratch, [&](Span<uint32_t> tile) { convolve_groups<Isa, GemmWeights::int4>(c, c.row_bytes, tile); });
}

}  // namespace wick::cortex_m::plain
