// graded_lookup_int16 on cores without vectors. C++17, freestanding.
#include "backends/cortex_m/kernels/graded_lookup_int16/graded_lookup_int16.h"

namespace wick::cortex_m::plain {

void graded_lookup_int16(KernelContext& context, Span<EValue*> args) {
  GradedLookup lookup;
  if (read_graded_lookup_int16(context, args, &lookup)) write_graded_lookup(lookup);
}

}  // namespace wick::cortex_m::plain
