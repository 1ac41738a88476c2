// quantized_activation on cores without vectors. C++17, freestanding.
#include "backends/cortex_m/kernels/activation/activation.h"

namespace wick::cortex_m::plain {

void quantized_activation(KernelContext& context, Span<EValue*> args) {
  Activation a;
  if (!read_activation_table(context, args, &a)) return;
  const int8_t *x = a.x, *const middle = a.table + 128;
  int8_t* y = a.y;
  int8_t* const end = y + a.count;
  for (; end - y >= 4; x += 4, y += 4) {
    const int8_t first = middle[x[0]], second = middle[x[1]], third = middle[x[2]], fourth = middle[x[3]];
    y[0] = first;
    y[1] = second;
    y[2] = third;
    y[3] = fourth;
  }
  for (; y != end; ++x, ++y) *y = middle[*x];
}

}  // namespace wick::cortex_m::plain
