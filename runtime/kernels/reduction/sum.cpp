// sum, mean, prod.
#include "common/float16.h"
#include "runtime/kernels/elementwise_promote.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/reduction/reduction.h"

namespace wick {
namespace kernels {
namespace {

template <typename T>
T plus(T a, T b) {
  return a + b;
}
inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// Pairwise: chunks are summed in eight lanes, and chunk sums are added as in a binary counter. The error grows with
/// log n.
template <typename T>
struct Sum {
  static constexpr int kLanes = 8;
  T partial[24];
  uint32_t chunks = 0;

  void fold(const T* x, int64_t count) {
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = plus(lanes[l], x[i + l]);
    }
    for (int l = 0; i < count; ++i, ++l) lanes[l] = plus(lanes[l], x[i]);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) lanes[l] = plus(lanes[l], lanes[l + half]);
    }
    push(lanes[0]);
  }
  void push(T value) {
    int level = 0;
    for (uint32_t bits = chunks; (bits & 1) != 0; bits >>= 1) value = plus(partial[level++], value);
    partial[level] = value;
    ++chunks;
  }
  T total() const {
    T sum{};
    int level = 0;
    for (uint32_t bits = chunks; bits != 0; bits >>= 1, ++level) {
      if ((bits & 1) != 0) sum = plus(sum, partial[level]);
    }
    return sum;
  }

  /// Rows are summed kBlock at a time, and block sums are added as above.
  struct Columns {
    static constexpr int kWidth = ReductionPlan::kRowColumns;
    static constexpr uint32_t kBlock = 32;
    T block[kWidth] = {};
    T partial[28][kWidth];  // 2^31 rows are 2^26 blocks
    uint32_t rows = 0, blocks = 0;

    explicit Columns(const Sum&) {}
    static bool takes(const Sum&) { return true; }
    void row(const T* x) {
      for (int c = 0; c < kWidth; ++c) block[c] = plus(block[c], x[c]);
      if (++rows == kBlock) push();
    }
    void push() {
      int level = 0;
      for (uint32_t bits = blocks; (bits & 1) != 0; bits >>= 1, ++level) {
        for (int c = 0; c < kWidth; ++c) block[c] = plus(partial[level][c], block[c]);
      }
      for (int c = 0; c < kWidth; ++c) {
        partial[level][c] = block[c];
        block[c] = T{};
      }
      ++blocks;
      rows = 0;
    }
    Sum column(int64_t c) const {
      Sum state;
      T sum = block[c];
      int level = 0;
      for (uint32_t bits = blocks; bits != 0; bits >>= 1, ++level) {
        if ((bits & 1) != 0) sum = plus(sum, partial[level][c]);
      }
      state.push(sum);
      return state;
    }
  };
};

template <typename T>
struct Product {
  static constexpr int kLanes = 8;
  T value = T(1);
  void fold(const T* x, int64_t count) {
    // Complex numbers are multiplied in order: a lane's initial factor of 1 would make NaN of 0 times an infinite part.
    constexpr bool kInLanes = !is_complex_lane<T>;
    T lanes[kLanes];
    for (T& lane : lanes) lane = T(1);
    int64_t i = 0;
    for (; kInLanes && i + kLanes <= count; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = multiply(lanes[l], x[i + l]);
    }
    for (; i < count; ++i) value = multiply(value, x[i]);
    for (int l = 0; kInLanes && l < kLanes; ++l) value = multiply(value, lanes[l]);
  }

  struct Columns {
    static constexpr int kWidth = ReductionPlan::kRowColumns;
    T value[kWidth];
    explicit Columns(const Product&) {
      for (T& v : value) v = T(1);
    }
    static bool takes(const Product&) { return true; }
    void row(const T* x) {
      for (int c = 0; c < kWidth; ++c) value[c] = multiply(value[c], x[c]);
    }
    Product column(int64_t c) const { return {value[c]}; }
  };
};

/// As Product, rounded to a 16-bit float after each factor, as in eager, which computes long rows in lanes.
template <typename Half16>
struct HalfProduct {
  float value = 1.0f;
  void fold(const float* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) value = static_cast<float>(Half16(value * x[i]));
  }
};

/// Converts elements of a wider dtype one by one before State takes them: floats summed as integers, f64 as f32.
template <typename T, typename State>
struct Converted {
  State state;
  void fold(const double* x, int64_t count) {
    T values[kChunk];
    for (int64_t i = 0; i < count; ++i) values[i] = convert(x[i]);
    state.fold(values, count);
  }
  static T convert(double x) {
    if constexpr (std::is_same_v<T, int64_t>) {
      return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? static_cast<int64_t>(x) : INT64_MIN;
    } else {
      return T(static_cast<float>(x));
    }
  }
};

/// reduce() over `in`, whose elements convert to T; finish(output number, state).
template <typename T, typename State, typename Finish>
void reduce_converted(KernelContext& context, const ReductionPlan& plan, DType in, const State& init, Finish finish) {
  if (load_function(in, LaneOf<T>::value) || !load_function(in, Lane::f64))
    return reduce<T>(context, plan, in, init, finish);
  using Wide = Converted<T, State>;
  reduce<double>(context, plan, in, Wide{init}, [&](int64_t output, const Wide& wide) { finish(output, wide.state); });
}

/// Calls fn(T{}) for the lane of `dtype`, bool left out.
template <typename F>
void with_sum_lane(KernelContext& context, DType dtype, F&& fn) {
  Lane lane;
  if (!lane_of_dtype(dtype, &lane)) return context.fail(Error::InvalidType, "out dtype is not supported here");
  switch (lane) {
    case Lane::f32: return fn(float{});
    case Lane::f64: return fn(double{});
    case Lane::i64: return fn(int64_t{});
    case Lane::c64: return fn(std::complex<float>{});
    case Lane::c128: return fn(std::complex<double>{});
    default: return context.fail(Error::InvalidType, "sums and products have no bool result");
  }
}

/// args: self, .., dtype, out. The result is computed in out's dtype.
bool accepts_dtype(KernelContext& context, const EValue& dtype, const Tensor& out) {
  if (dtype.is_none() || static_cast<DType>(dtype.integer) == out.dtype) return true;
  context.fail(Error::InvalidType, "dtype is not that of the out tensor");
  return false;
}

void sum(KernelContext& context, const Tensor& in, const EValue& dims, bool keepdim, const EValue& dtype, Tensor& out,
         bool is_mean) {
  uint32_t mask;
  ReductionPlan plan;
  if (!accepts_dtype(context, dtype, out) || !reduced_dims(context, dims, in.rank, &mask)) return;
  if (is_mean && !is_floating(out.dtype) && !is_complex(out.dtype)) {
    return context.fail(Error::InvalidType, "mean needs a floating or complex result");
  }
  if (!plan_reduction(context, in, mask, keepdim, false, out, nullptr, &plan)) return;
  with_sum_lane(context, out.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Writer<T> write(context, plan, out);
    if (!context.ok()) return;
    const int64_t count = plan.reduced;
    reduce_converted<T>(context, plan, in.dtype, Sum<T>{}, [&](int64_t output, const Sum<T>& state) {
      if constexpr (std::is_same_v<T, int64_t>) {
        write(output, state.total());
      } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        write(output, is_mean ? state.total() / static_cast<T>(count) : state.total());
      } else {
        using Part = typename T::value_type;
        const T total = state.total();
        const Part re = total.real(), im = total.imag(), divisor = static_cast<Part>(count), none = 0;
        // As the quotient by a complex number: if one part is infinite, the other becomes NaN.
        write(output, is_mean ? T((re + im * none) / divisor, (im - re * none) / divisor) : total);
      }
    });
  });
}

void product(KernelContext& context, const Tensor& in, const EValue& dims, bool keepdim, const EValue& dtype,
             Tensor& out) {
  uint32_t mask;
  ReductionPlan plan;
  if (!accepts_dtype(context, dtype, out) || !reduced_dims(context, dims, in.rank, &mask)) return;
  if (!plan_reduction(context, in, mask, keepdim, false, out, nullptr, &plan)) return;
  with_sum_lane(context, out.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Writer<T> write(context, plan, out);
    if (!context.ok()) return;
    const auto write_product = [&](auto init) {
      reduce_converted<T>(context, plan, in.dtype, init,
                          [&](int64_t output, const auto& s) { write(output, s.value); });
    };
    if constexpr (std::is_same_v<T, float>) {
      if (out.dtype == DType::f16) return write_product(HalfProduct<Half>{});
      if (out.dtype == DType::bf16) return write_product(HalfProduct<BFloat16>{});
    }
    write_product(Product<T>{});
  });
}

}  // namespace

void sum_out(KernelContext& context, Args args) {
  sum(context, *args[0]->tensor, *args[1], args[2]->boolean, *args[3], *args[4]->tensor, false);
}
void mean_out(KernelContext& context, Args args) {
  sum(context, *args[0]->tensor, *args[1], args[2]->boolean, *args[3], *args[4]->tensor, true);
}
void mean_dtype_out(KernelContext& context, Args args) {
  sum(context, *args[0]->tensor, EValue(), false, *args[1], *args[2]->tensor, true);
}
void prod_int_out(KernelContext& context, Args args) {
  product(context, *args[0]->tensor, *args[1], args[2]->boolean, *args[3], *args[4]->tensor);
}
void prod_out(KernelContext& context, Args args) {
  product(context, *args[0]->tensor, EValue(), false, *args[1], *args[2]->tensor);
}

}  // namespace kernels
}  // namespace wick
