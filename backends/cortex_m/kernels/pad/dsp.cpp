#include "backends/cortex_m/kernels/pad/without_vectors.h"

namespace wick::cortex_m::dsp {

void pad(KernelContext& context, Span<EValue*> args) { pad_by_runs(context, args, PadOrder::any); }

void pad_contiguous(KernelContext& context, Span<EValue*> args) { pad_by_runs(context, args, PadOrder::contiguous); }

}  // namespace wick::cortex_m::dsp
