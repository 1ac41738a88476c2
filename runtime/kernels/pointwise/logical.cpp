// Logical and bitwise operators.
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

/// Any operand dtype, each compared with zero on its own; out may have any dtype.
template <typename F>
void logical(KernelContext& context, Args args, F f) {
  elementwise<bool, bool, bool>(context, f, {operand(args, 0), operand(args, 1)}, out_tensor(args, 2));
}

/// Shifts. A count that is negative, or at least the width, gives 0 to the left and the sign bits to the right.
template <typename F>
void shift(KernelContext& context, Args args, F f) {
  Operand both[] = {operand(args, 0), operand(args, 1)};
  DType common;
  if (!result_type(both, 2, &common)) return context.fail(Error::InvalidType, "no shift for these dtypes");
  for (Operand& each : both) each = number_in(each, common);
  f.width = static_cast<int64_t>(dtype_size_bytes(common)) * 8;
  binary<kInt>(context, both[0], both[1], out_tensor(args, 2), f);
}

struct ShiftLeft {
  int64_t width = 0;
  int64_t operator()(int64_t a, int64_t b) const {
    return b < 0 || b >= width ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  }
};
struct ShiftRight {
  int64_t width = 0;
  int64_t operator()(int64_t a, int64_t b) const {
    return a >> (b < 0 || b >= width ? width - 1 : b) >> (b < 0 || b >= width);
  }
};

}  // namespace

void logical_and_out(KernelContext& context, Args args) {
  logical(context, args, [](bool a, bool b) { return a && b; });
}
void logical_or_out(KernelContext& context, Args args) {
  logical(context, args, [](bool a, bool b) { return a || b; });
}
void logical_xor_out(KernelContext& context, Args args) {
  logical(context, args, [](bool a, bool b) { return a != b; });
}
void logical_not_out(KernelContext& context, Args args) {
  elementwise<bool, bool>(context, [](bool a) { return !a; }, {operand(args, 0)}, out_tensor(args, 1));
}

void bitwise_and_out(KernelContext& context, Args args) {
  binary<kBool | kInt | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
                                 [](auto a, auto b) { return a & b; });
}
void bitwise_or_out(KernelContext& context, Args args) {
  binary<kBool | kInt | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
                                 [](auto a, auto b) { return a | b; });
}
void bitwise_xor_out(KernelContext& context, Args args) {
  binary<kBool | kInt | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
                                 [](auto a, auto b) { return a ^ b; });
}
void bitwise_not_out(KernelContext& context, Args args) {
  unary<kBool | kInt | kNarrow>(context, operand(args, 0), out_tensor(args, 1), [](auto a) {
    if constexpr (std::is_same_v<decltype(a), bool>) {
      return !a;
    } else {
      return ~a;
    }
  });
}
void bitwise_left_shift_out(KernelContext& context, Args args) { shift(context, args, ShiftLeft{}); }
void bitwise_right_shift_out(KernelContext& context, Args args) { shift(context, args, ShiftRight{}); }

}  // namespace kernels
}  // namespace wick
