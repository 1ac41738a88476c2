// clamp, where, masked_fill.
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

/// NaN-propagating.
template <typename T>
T larger_of(T a, T b) {
  return a != a ? a : b != b ? b : a < b ? b : a;
}
template <typename T>
T smaller_of(T a, T b) {
  return a != a ? a : b != b ? b : b < a ? b : a;
}

/// Either bound may be None, but not both.
void clamp(KernelContext& context, Args args) {
  const bool has_min = !args[1]->is_none(), has_max = !args[2]->is_none();
  Tensor& out = out_tensor(args, 3);
  if (!has_min && !has_max) return context.fail(Error::InvalidArgument, "clamp needs min, max or both");
  constexpr unsigned kLanes = kAnyReal | kNarrow;
  const Operand x = operand(args, 0);
  if (!has_max) {
    return binary<kLanes>(context, x, operand(args, 1), out, [](auto a, auto lo) { return larger_of(a, lo); });
  }
  if (!has_min) {
    return binary<kLanes>(context, x, operand(args, 2), out, [](auto a, auto hi) { return smaller_of(a, hi); });
  }
  const Operand all[] = {x, operand(args, 1), operand(args, 2)};
  DType common;
  Lane lane;
  if (!common_lane(context, all, 3, out, &common, &lane)) return;
  with_lane_of<kReal | kNarrow>(context, all, 3, common, &out, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, T, T, T>(
        context, [](T a, T lo, T hi) { return smaller_of(larger_of(a, lo), hi); }, {all[0], all[1], all[2]}, out,
        &common);
  });
}

bool is_condition(const Tensor& t) { return t.dtype == DType::boolean || t.dtype == DType::u8; }

}  // namespace

void clamp_out(KernelContext& context, Args args) { clamp(context, args); }
void clamp_tensor_out(KernelContext& context, Args args) { clamp(context, args); }

void where_out(KernelContext& context, Args args) {
  const Operand branches[] = {operand(args, 1), operand(args, 2)};
  DType common;
  Lane lane;
  if (!is_condition(tensor(args, 0))) return context.fail(Error::InvalidType, "the condition is neither bool nor u8");
  if (!common_lane(context, branches, 2, out_tensor(args, 3), &common, &lane)) return;
  constexpr unsigned kLanes = kAnyReal | kComplex | kNarrow;
  with_lane_of<kLanes>(context, branches, 2, common, &out_tensor(args, 3), [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, bool, T, T>(
        context, [](bool c, T a, T b) { return c ? a : b; }, {operand(args, 0), branches[0], branches[1]},
        out_tensor(args, 3));
  });
}

/// The value takes self's dtype; a floating value does not fit an integer tensor.
void masked_fill_scalar_out(KernelContext& context, Args args) {
  const Tensor& self = tensor(args, 0);
  const Operand value = operand(args, 2);
  Lane lane;
  if (!is_condition(tensor(args, 1)) || !lane_of_dtype(self.dtype, &lane) || self.dtype != out_tensor(args, 3).dtype) {
    return context.fail(Error::InvalidType, "masked_fill takes a bool mask and an out of self's dtype");
  }
  const Operand branches[] = {self, value};
  constexpr unsigned kLanes = kAnyReal | kComplex | kNarrow;
  with_lane_of<kLanes>(context, branches, 2, self.dtype, &out_tensor(args, 3), [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, bool, T, T>(
        context, [](bool m, T a, T v) { return m ? v : a; }, {operand(args, 1), self, value}, out_tensor(args, 3));
  });
}

}  // namespace kernels
}  // namespace wick
