// var, std, var_mean and vector norms; accumulated in double.
#include "common/math/math.h"
#include "runtime/kernels/reduction/reduction.h"

namespace wick {
namespace kernels {
namespace {

/// Mean and sum of squared deviations; chunks are merged as in Chan, Golub and LeVeque 1979.
template <typename T>
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void fold(const T* x, int64_t n) {
    constexpr int kLanes = 8;
    double total[kLanes] = {}, spread[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) total[l] += static_cast<double>(x[i + l]);
    }
    for (; i < n; ++i) total[0] += static_cast<double>(x[i]);
    const double size = static_cast<double>(n), chunk_mean = tree_sum(total) / size;
    for (i = 0; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const double d = static_cast<double>(x[i + l]) - chunk_mean;
        spread[l] += d * d;
      }
    }
    for (; i < n; ++i) {
      const double d = static_cast<double>(x[i]) - chunk_mean;
      spread[0] += d * d;
    }
    merge(size, chunk_mean, tree_sum(spread));
  }
  static double tree_sum(const double (&x)[8]) {
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
  }
  void merge(double size, double other_mean, double other_squares) {
    const double all = count + size, delta = other_mean - mean;
    squares += other_squares + delta * delta * (count * size / all);
    mean += delta * (size / all);
    count = all;
  }

  /// Rows are taken kBlock at a time, as chunks are above.
  struct Columns {
    static constexpr int kWidth = ReductionPlan::kRowColumns, kBlock = 16;
    Moments states[kWidth];
    T rows[kBlock][kWidth];
    int filled = 0;

    explicit Columns(const Moments&) {}
    static bool takes(const Moments&) { return true; }
    void row(const T* x) {
      for (int c = 0; c < kWidth; ++c) rows[filled][c] = x[c];
      if (++filled == kBlock) flush();
    }
    void flush() {
      const double size = filled;
      double average[kWidth] = {}, spread[kWidth] = {};
      for (int r = 0; r < filled; ++r) {
        for (int c = 0; c < kWidth; ++c) average[c] += static_cast<double>(rows[r][c]);
      }
      for (int c = 0; c < kWidth; ++c) average[c] /= size;
      for (int r = 0; r < filled; ++r) {
        for (int c = 0; c < kWidth; ++c) {
          const double d = static_cast<double>(rows[r][c]) - average[c];
          spread[c] += d * d;
        }
      }
      for (int c = 0; c < kWidth; ++c) states[c].merge(size, average[c], spread[c]);
      filled = 0;
    }
    Moments column(int64_t c) {
      if (filled != 0) flush();
      return states[c];
    }
  };
  double variance(double correction) const {
    const double divisor = count - correction > 0 ? count - correction : 0;
    return count == 0 ? math::kNaN : squares / divisor;
  }
};

/// sum |x|^p; the extreme for p = inf and -inf; the number of nonzero elements for p = 0.
template <typename T>
struct Norm {
  double p = 2;
  double value = 0;
  void fold(const T* x, int64_t n) {
    if (p == 2) return fold_squares(x, n);
    for (int64_t i = 0; i < n; ++i) {
      const double a = math::abs(static_cast<double>(x[i]));
      if (p == 1) {
        value += a;
      } else if (p == 0) {
        value += a != 0 ? 1 : 0;
      } else if (p == math::kInfinity) {
        value = value != value || a < value ? value : a;
      } else if (p == -math::kInfinity) {
        value = value != value || a > value ? value : a;
      } else {
        value += math::pow(a, p);
      }
    }
  }
  void fold_squares(const T* x, int64_t n) {
    constexpr int kLanes = 8;
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(x[i + l]) * static_cast<double>(x[i + l]);
    }
    for (; i < n; ++i) lanes[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    value += Moments<T>::tree_sum(lanes);
  }

  /// p = 1 and p = 2.
  struct Columns {
    static constexpr int kWidth = ReductionPlan::kRowColumns;
    double p;
    double value[kWidth] = {};
    explicit Columns(const Norm& init) : p(init.p) {}
    static bool takes(const Norm& init) { return init.p == 1 || init.p == 2; }
    void row(const T* x) {
      if (p == 2) {
        for (int c = 0; c < kWidth; ++c) value[c] += static_cast<double>(x[c]) * static_cast<double>(x[c]);
      } else {
        for (int c = 0; c < kWidth; ++c) value[c] += math::abs(static_cast<double>(x[c]));
      }
    }
    Norm column(int64_t c) const { return {p, value[c]}; }
  };
  double norm() const {
    if (p == 0 || p == 1 || math::is_inf(p)) return value;
    return p == 2 ? math::sqrt(value) : math::pow(value, 1 / p);
  }
};

/// Calls fn(T{}) for float or double lanes.
template <typename F>
void with_float_lane(KernelContext& context, const Tensor& in, const Tensor& out, F&& fn) {
  Lane lane;
  if (!lane_of_dtype(in.dtype, &lane) || !is_floating(in.dtype) || !is_floating(out.dtype)) {
    return context.fail(Error::InvalidType, "input and out are floating");
  }
  if (lane == Lane::f64) return fn(double{});
  fn(float{});
}

/// `mean_out` may be null.
void variance(KernelContext& context, const Tensor& in, const EValue& dims, double correction, bool keepdim, bool root,
              Tensor& out, Tensor* mean_out) {
  uint32_t mask;
  ReductionPlan plan;
  if (!reduced_dims(context, dims, in.rank, &mask)) return;
  if (!plan_reduction(context, in, mask, keepdim, false, out, mean_out, &plan)) return;
  const Writer<double> write(context, plan, out), write_mean(context, plan, mean_out ? *mean_out : out);
  if (!context.ok()) return;
  with_float_lane(context, in, out, [&](auto zero) {
    using T = decltype(zero);
    reduce<T>(context, plan, in.dtype, Moments<T>{}, [&](int64_t output, const Moments<T>& s) {
      const double v = s.variance(correction);
      write(output, root ? math::sqrt(v) : v);
      if (mean_out) write_mean(output, s.count == 0 ? math::kNaN : s.mean);
    });
  });
}

double correction_of(const EValue& value) { return value.is_none() ? 1 : value.to_double(); }

}  // namespace

void var_out(KernelContext& context, Args args) {
  variance(context, *args[0]->tensor, *args[1], args[2]->boolean ? 1 : 0, args[3]->boolean, false, *args[4]->tensor,
           nullptr);
}
void var_correction_out(KernelContext& context, Args args) {
  variance(context, *args[0]->tensor, *args[1], correction_of(*args[2]), args[3]->boolean, false, *args[4]->tensor,
           nullptr);
}
void std_correction_out(KernelContext& context, Args args) {
  variance(context, *args[0]->tensor, *args[1], correction_of(*args[2]), args[3]->boolean, true, *args[4]->tensor,
           nullptr);
}
void var_mean_correction_out(KernelContext& context, Args args) {
  variance(context, *args[0]->tensor, *args[1], correction_of(*args[2]), args[3]->boolean, false, *args[4]->tensor,
           args[5]->tensor);
}

/// args: self, ord, dim, keepdim, dtype, out.
void linalg_vector_norm_out(KernelContext& context, Args args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[5]->tensor;
  const double p = args[1]->to_double();
  uint32_t mask;
  ReductionPlan plan;
  if (!args[4]->is_none() && static_cast<DType>(args[4]->integer) != out.dtype) {
    return context.fail(Error::InvalidType, "dtype is not that of the out tensor");
  }
  if (!reduced_dims(context, *args[2], in.rank, &mask)) return;
  if (!plan_reduction(context, in, mask, args[3]->boolean, false, out, nullptr, &plan)) return;
  if (plan.reduced == 0 && plan.outputs != 0 && (p < 0 || p == math::kInfinity)) {
    return context.fail(Error::InvalidArgument, "this norm of no elements is not defined");
  }
  const Writer<double> write(context, plan, out);
  if (!context.ok()) return;
  with_float_lane(context, in, out, [&](auto zero) {
    using T = decltype(zero);
    Norm<T> init;
    init.p = p;
    if (p == -math::kInfinity) init.value = math::kInfinity;
    reduce<T>(context, plan, in.dtype, init, [&](int64_t output, const Norm<T>& s) { write(output, s.norm()); });
  });
}

}  // namespace kernels
}  // namespace wick
