// transpose as runs of elements. C++17, freestanding.
#include "backends/cortex_m/kernels/moves.h"
#include "backends/cortex_m/kernels/transpose/transpose.h"

namespace wick::cortex_m::plain {

void transpose(KernelContext& context, Span<EValue*> args) {
  Transpose c;
  if (read_transpose(context, args, &c)) move_elements(Runs(c.sizes, c.from, c.to), c.x, c.y);
}

}  // namespace wick::cortex_m::plain
