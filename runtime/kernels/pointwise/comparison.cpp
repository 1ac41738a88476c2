// Comparisons, maximum and minimum.
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {

#define WICK_COMPARISON(name, lanes, expression)                                                  \
  void name(KernelContext& context, Args args) {                                                  \
    comparison<lanes | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), \
                                [](auto a, auto b) { return expression; });                       \
  }
WICK_COMPARISON(eq_out, kAnyReal | kComplex, a == b)
WICK_COMPARISON(ne_out, kAnyReal | kComplex, a != b)
WICK_COMPARISON(ge_out, kAnyReal, a >= b)
WICK_COMPARISON(gt_out, kAnyReal, a > b)
WICK_COMPARISON(le_out, kAnyReal, a <= b)
WICK_COMPARISON(lt_out, kAnyReal, a < b)
#undef WICK_COMPARISON

// NaN-propagating, except for fmax and fmin, which ignore a NaN.
void maximum_out(KernelContext& context, Args args) {
  binary<kAnyReal | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) {
    return a != a ? a : b != b ? b : a < b ? b : a;
  });
}
void minimum_out(KernelContext& context, Args args) {
  binary<kAnyReal | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) {
    return a != a ? a : b != b ? b : b < a ? b : a;
  });
}
void fmax_out(KernelContext& context, Args args) {
  binary<kAnyReal>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) {
    return a != a ? b : a < b ? b : a;
  });
}
void fmin_out(KernelContext& context, Args args) {
  binary<kAnyReal>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) {
    return a != a ? b : b < a ? b : a;
  });
}

}  // namespace kernels
}  // namespace wick
