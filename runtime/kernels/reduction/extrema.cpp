// amax, amin, argmax, argmin, max.dim, min.dim, max, min, any, all. A NaN beats every number; of equals the first wins.
#include "runtime/kernels/elementwise_promote.h"
#include "runtime/kernels/reduction/reduction.h"

namespace wick {
namespace kernels {
namespace {

template <typename T, bool kMax>
struct Extreme {
  T value{};
  int64_t index = -1;
  int64_t seen = 0;
  void fold(const T* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const bool better = kMax ? x[i] > value : x[i] < value;
      if (index < 0 || (value == value && (better || x[i] != x[i]))) {
        value = x[i];
        index = seen + i;
      }
    }
    seen += count;
  }
};

template <bool kAll>
struct Truth {
  bool value = kAll;
  void fold(const bool* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) value = kAll ? value && x[i] : value || x[i];
  }
};

/// Writes the extreme to `values` and its position in the reduced elements to `indices`; each may be null.
template <bool kMax>
void extreme(KernelContext& context, const Tensor& in, const EValue& dims, bool keepdim, Tensor* values,
             Tensor* indices) {
  uint32_t mask;
  ReductionPlan plan;
  Lane lane;
  if (!lane_of_dtype(in.dtype, &lane) || is_complex(in.dtype)) {
    return context.fail(Error::InvalidType, "input dtype has no order");
  }
  if (indices && indices->dtype != DType::i64) return context.fail(Error::InvalidType, "indices are i64");
  if (values && !can_cast(in.dtype, values->dtype))
    return context.fail(Error::InvalidType, "values have the input's dtype");
  if (!reduced_dims(context, dims, in.rank, &mask)) return;
  Tensor& first = values ? *values : *indices;
  if (!plan_reduction(context, in, mask, keepdim, indices != nullptr, first, values ? indices : nullptr, &plan)) return;
  if (plan.reduced == 0 && plan.outputs != 0) return context.fail(Error::InvalidArgument, "extreme of no elements");
  auto run = [&](auto zero) {
    using T = decltype(zero);
    const StoreFn store = values ? store_function(LaneOf<T>::value, values->dtype) : nullptr;
    if (values && !store) return context.fail(Error::InvalidType, "values have the input's dtype");
    reduce<T>(context, plan, in.dtype, Extreme<T, kMax>{}, [&](int64_t output, const Extreme<T, kMax>& s) {
      if (values) {
        const int64_t at = plan.out_offset(output, *values) * static_cast<int64_t>(dtype_size_bytes(values->dtype));
        store(&s.value, values->as<uint8_t>() + at, 1);
      }
      if (indices) indices->as<int64_t>()[plan.out_offset(output, *indices)] = s.index;
    });
  };
  if (lane == Lane::f32) return run(float{});
  if (lane == Lane::f64) return run(double{});
  if (lane == Lane::i64) return run(int64_t{});
  run(bool{});
}

template <bool kAll>
void truth(KernelContext& context, const Tensor& in, const EValue& dims, bool keepdim, Tensor& out) {
  uint32_t mask;
  ReductionPlan plan;
  if (!reduced_dims(context, dims, in.rank, &mask)) return;
  if (!plan_reduction(context, in, mask, keepdim, false, out, nullptr, &plan)) return;
  const Writer<bool> write(context, plan, out);
  if (!context.ok()) return;
  reduce<bool>(context, plan, in.dtype, Truth<kAll>{},
               [&](int64_t output, const Truth<kAll>& s) { write(output, s.value); });
}

}  // namespace

void amax_out(KernelContext& context, Args args) {
  extreme<true>(context, *args[0]->tensor, *args[1], args[2]->boolean, args[3]->tensor, nullptr);
}
void amin_out(KernelContext& context, Args args) {
  extreme<false>(context, *args[0]->tensor, *args[1], args[2]->boolean, args[3]->tensor, nullptr);
}
/// Without a dim the index counts in the flattened tensor; keepdim then keeps every dimension.
void argmax_out(KernelContext& context, Args args) {
  extreme<true>(context, *args[0]->tensor, *args[1], args[2]->boolean, nullptr, args[3]->tensor);
}
void argmin_out(KernelContext& context, Args args) {
  extreme<false>(context, *args[0]->tensor, *args[1], args[2]->boolean, nullptr, args[3]->tensor);
}
void max_dim_out(KernelContext& context, Args args) {
  extreme<true>(context, *args[0]->tensor, *args[1], args[2]->boolean, args[3]->tensor, args[4]->tensor);
}
void min_dim_out(KernelContext& context, Args args) {
  extreme<false>(context, *args[0]->tensor, *args[1], args[2]->boolean, args[3]->tensor, args[4]->tensor);
}
void max_unary_out(KernelContext& context, Args args) {
  extreme<true>(context, *args[0]->tensor, EValue(), false, args[1]->tensor, nullptr);
}
void min_unary_out(KernelContext& context, Args args) {
  extreme<false>(context, *args[0]->tensor, EValue(), false, args[1]->tensor, nullptr);
}
void any_all_out(KernelContext& context, Args args) {
  truth<false>(context, *args[0]->tensor, EValue(), false, *args[1]->tensor);
}
void all_all_out(KernelContext& context, Args args) {
  truth<true>(context, *args[0]->tensor, EValue(), false, *args[1]->tensor);
}
void any_dim_out(KernelContext& context, Args args) {
  truth<false>(context, *args[0]->tensor, *args[1], args[2]->boolean, *args[3]->tensor);
}
void all_dim_out(KernelContext& context, Args args) {
  truth<true>(context, *args[0]->tensor, *args[1], args[2]->boolean, *args[3]->tensor);
}

}  // namespace kernels
}  // namespace wick
