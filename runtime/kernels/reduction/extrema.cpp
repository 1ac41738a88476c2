// amax, amin, argmax, argmin, max.dim, min.dim, max, min, any, all. NaN-propagating; the first of equal elements wins.
#include "runtime/kernels/elementwise_promote.h"
#include "runtime/kernels/reduction/reduction.h"

namespace wick {
namespace kernels {
namespace {

template <bool kMax, typename T>
bool beats(T x, T value) {
  return (kMax ? x > value : x < value) | (x != x);
}

/// The extreme and, with kIndex, the position of its first occurrence. NaN-propagating.
template <typename T, bool kMax, bool kIndex>
struct Extreme {
  static constexpr int kLanes = 8;
  static constexpr int64_t kConverted = 256 / sizeof(T);  // devices have little stack
  T value{};
  int64_t index = -1;
  int64_t seen = 0;

  static T best_of(const T* x, int64_t count) {
    T lanes[kLanes];
    for (T& lane : lanes) lane = x[0];
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = beats<kMax>(x[i + l], lanes[l]) ? x[i + l] : lanes[l];
    }
    for (; i < count; ++i) lanes[0] = beats<kMax>(x[i], lanes[0]) ? x[i] : lanes[0];
    for (int l = 1; l < kLanes; ++l) lanes[0] = beats<kMax>(lanes[l], lanes[0]) ? lanes[l] : lanes[0];
    return lanes[0];
  }
  void fold(const T* x, int64_t count) {
    if (count == 0) return;
    const T best = best_of(x, count);
    if (index < 0 || (value == value && beats<kMax>(best, value))) {
      int64_t at = 0;
      if constexpr (kIndex) {
        while (!(x[at] == best || (best != best && x[at] != x[at]))) ++at;
      }
      value = kIndex ? x[at] : best;
      index = seen + at;
    }
    seen += count;
  }

  struct Columns {
    static constexpr int kWidth = ReductionPlan::kRowColumns;
    using Index = std::conditional_t<(sizeof(T) > 4), int64_t, int32_t>;
    T value[kWidth];
    Index index[kWidth] = {};
    Index seen = 0;

    explicit Columns(const Extreme&) {}
    static bool takes(const Extreme&) { return true; }
    void row(const T* x) {
      if (seen == 0) {
        for (int c = 0; c < kWidth; ++c) value[c] = x[c];
      } else if constexpr (kIndex) {
        const Index at = seen;
        for (int c = 0; c < kWidth; ++c) {
          const bool better = (value[c] == value[c]) & beats<kMax>(x[c], value[c]);
          value[c] = better ? x[c] : value[c];
          index[c] = better ? at : index[c];
        }
      } else {
        for (int c = 0; c < kWidth; ++c) value[c] = beats<kMax>(x[c], value[c]) ? x[c] : value[c];
      }
      ++seen;
    }
    Extreme column(int64_t c) const { return {value[c], index[c], seen}; }
  };
};

template <bool kAll>
struct Truth {
  bool value = kAll;
  void fold(const bool* x, int64_t count) {
    bool all = kAll;
    for (int64_t i = 0; i < count; ++i) all = kAll ? all & x[i] : all | x[i];
    value = kAll ? value & all : value | all;
  }

  struct Columns {
    static constexpr int kWidth = ReductionPlan::kRowColumns;
    bool value[kWidth];
    explicit Columns(const Truth&) {
      for (bool& v : value) v = kAll;
    }
    static bool takes(const Truth&) { return true; }
    void row(const bool* x) {
      for (int c = 0; c < kWidth; ++c) value[c] = kAll ? value[c] & x[c] : value[c] | x[c];
    }
    Truth column(int64_t c) const { return {value[c]}; }
  };
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
  auto run_as = [&](auto zero, auto with_index) {
    using T = decltype(zero);
    using State = Extreme<T, kMax, decltype(with_index)::value>;
    const StoreFn store = values ? store_function(LaneOf<T>::value, values->dtype) : nullptr;
    if (values && !store) return context.fail(Error::InvalidType, "values have the input's dtype");
    reduce<T>(context, plan, in.dtype, State{}, [&](int64_t output, const State& s) {
      if (values) {
        const int64_t at = plan.out_offset(output, *values) * static_cast<int64_t>(dtype_size_bytes(values->dtype));
        store(&s.value, values->as<uint8_t>() + at, 1);
      }
      if (indices) indices->as<int64_t>()[plan.out_offset(output, *indices)] = s.index;
    });
  };
  auto run = [&](auto zero) {
    if (indices) return run_as(zero, std::true_type{});
    run_as(zero, std::false_type{});
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
