// Functions of one real operand: transcendental, rounding, sign.
#include "runtime/kernels/pointwise/hot_unary.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {

#define WICK_FLOAT_UNARY(name, function)                                                    \
  namespace {                                                                               \
  struct name##_function {                                                                  \
    float operator()(float x) const { return math::function##_f(x); }                       \
    double operator()(double x) const { return math::function(x); }                         \
  };                                                                                        \
  }                                                                                         \
  void name##_out(KernelContext& context, Args args) {                                      \
    float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), name##_function{}); \
  }
WICK_FLOAT_UNARY(acos, acos)
WICK_FLOAT_UNARY(acosh, acosh)
WICK_FLOAT_UNARY(asin, asin)
WICK_FLOAT_UNARY(asinh, asinh)
WICK_FLOAT_UNARY(atan, atan)
WICK_FLOAT_UNARY(atanh, atanh)
WICK_FLOAT_UNARY(cos, cos)
WICK_FLOAT_UNARY(cosh, cosh)
WICK_FLOAT_UNARY(digamma, digamma)
WICK_FLOAT_UNARY(erf, erf)
WICK_FLOAT_UNARY(erfc, erfc)
WICK_FLOAT_UNARY(expm1, expm1)
WICK_FLOAT_UNARY(lgamma, lgamma)
WICK_FLOAT_UNARY(log, log)
WICK_FLOAT_UNARY(log10, log10)
WICK_FLOAT_UNARY(log1p, log1p)
WICK_FLOAT_UNARY(log2, log2)
WICK_FLOAT_UNARY(sin, sin)
WICK_FLOAT_UNARY(sinh, sinh)
WICK_FLOAT_UNARY(tan, tan)
#undef WICK_FLOAT_UNARY

namespace {

struct Exp {
  float operator()(float x) const { return math::exp_f(x); }
  double operator()(double x) const { return math::exp(x); }
  template <typename T>
  T operator()(T x) const {  // complex
    using Part = typename T::value_type;
    const double scale = math::exp(static_cast<double>(x.real())), angle = static_cast<double>(x.imag());
    if (angle == 0) return T(static_cast<Part>(scale), x.imag());
    return T(static_cast<Part>(scale * math::cos(angle)), static_cast<Part>(scale * math::sin(angle)));
  }
};

struct Tanh {
  float operator()(float x) const { return math::tanh_f(x); }
  double operator()(double x) const { return math::tanh(x); }
};

struct Sigmoid {
  float operator()(float x) const { return math::sigmoid_f(x); }
  double operator()(double x) const { return 1 / (1 + math::exp(-x)); }
};

struct Reciprocal {
  template <typename T>
  T operator()(T x) const {
    if constexpr (is_complex_lane<T>) {
      const auto norm = x.real() * x.real() + x.imag() * x.imag();
      return T(x.real() / norm, -x.imag() / norm);
    } else {
      return 1 / x;
    }
  }
};

/// Rounding functions leave integers alone.
#define WICK_ROUNDING(type, function)                                 \
  struct type {                                                       \
    int64_t operator()(int64_t x) const { return x; }                 \
    float operator()(float x) const { return math::function##_f(x); } \
    double operator()(double x) const { return math::function(x); }   \
  };
WICK_ROUNDING(Ceil, ceil)
WICK_ROUNDING(Floor, floor)
WICK_ROUNDING(Round, round_even)
WICK_ROUNDING(Trunc, trunc)
#undef WICK_ROUNDING

/// |x|; of a complex number in the complex lane's real part.
struct Absolute {
  int64_t operator()(int64_t x) const { return x < 0 ? wrap_sub(0, x) : x; }
  float operator()(float x) const { return math::abs_f(x); }
  double operator()(double x) const { return math::abs(x); }
};

/// sqrt(re^2 + im^2) without overflow of the squares.
double hypotenuse(double a, double b) {
  a = math::abs(a);
  b = math::abs(b);
  if (math::is_inf(a) || math::is_inf(b)) return math::kInfinity;
  const double large = a > b ? a : b, small = a > b ? b : a;
  if (large != large || small != small) return math::kNaN;
  if (large == 0) return 0;
  const int exponent = static_cast<int>(math::bits_of(large) >> 52) - 1023;
  const double x = math::scale_by_power_of_two(large, -exponent), y = math::scale_by_power_of_two(small, -exponent);
  return math::scale_by_power_of_two(math::sqrt(x * x + y * y), exponent);
}

template <typename Part>
void complex_abs(KernelContext& context, Args args) {
  elementwise<Part, std::complex<Part>>(
      context, [](std::complex<Part> x) { return static_cast<Part>(hypotenuse(x.real(), x.imag())); },
      {operand(args, 0)}, out_tensor(args, 1));
}

}  // namespace

void exp_out(KernelContext& context, Args args) {
  if (hot_unary(context, *args[0]->tensor, *args[1]->tensor, hot(context.isa()).exp)) return;
  float_unary<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), Exp{});
}
void tanh_out(KernelContext& context, Args args) {
  if (hot_unary(context, *args[0]->tensor, *args[1]->tensor, hot(context.isa()).tanh)) return;
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), Tanh{});
}
void sigmoid_out(KernelContext& context, Args args) {
  if (hot_unary(context, *args[0]->tensor, *args[1]->tensor, hot(context.isa()).sigmoid)) return;
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), Sigmoid{});
}
void reciprocal_out(KernelContext& context, Args args) {
  float_unary<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), Reciprocal{});
}
void sqrt_out(KernelContext& context, Args args) {
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), [](auto x) { return math::sqrt(x); });
}
void rsqrt_out(KernelContext& context, Args args) {
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), [](auto x) { return 1 / math::sqrt(x); });
}

void ceil_out(KernelContext& context, Args args) {
  unary<kReal>(context, operand(args, 0), out_tensor(args, 1), Ceil{});
}
void floor_out(KernelContext& context, Args args) {
  unary<kReal>(context, operand(args, 0), out_tensor(args, 1), Floor{});
}
void round_out(KernelContext& context, Args args) {
  unary<kReal>(context, operand(args, 0), out_tensor(args, 1), Round{});
}
void trunc_out(KernelContext& context, Args args) {
  unary<kReal>(context, operand(args, 0), out_tensor(args, 1), Trunc{});
}

/// round(x, decimals): scaled by 10^|decimals|, rounded to even, scaled back.
void round_decimals_out(KernelContext& context, Args args) {
  const int64_t decimals = args[1]->integer;
  if (is_integral(tensor(args, 0).dtype)) {
    return context.fail(Error::NotSupported, "round with decimals is defined on floating tensors");
  }
  double scale = 1;
  for (int64_t i = decimals < 0 ? -decimals : decimals; i > 0 && scale < 1e300; --i) scale *= 10;
  unary<kFloat>(context, operand(args, 0), out_tensor(args, 2), [=](auto x) {
    using T = decltype(x);
    const T factor = static_cast<T>(scale);
    return decimals < 0 ? Round{}(x / factor) * factor : Round{}(x * factor) / factor;
  });
}

void abs_out(KernelContext& context, Args args) {
  if (tensor(args, 0).dtype == DType::c64) return complex_abs<float>(context, args);
  if (tensor(args, 0).dtype == DType::c128) return complex_abs<double>(context, args);
  unary<kReal>(context, operand(args, 0), out_tensor(args, 1), Absolute{});
}
void neg_out(KernelContext& context, Args args) {
  unary<kReal | kComplex>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    if constexpr (is_integer_lane<decltype(x)>) {
      return wrap_sub(0, x);
    } else {
      return -x;
    }
  });
}
/// NaN and zeros give 0.
void sign_out(KernelContext& context, Args args) {
  unary<kAnyReal>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, bool>) {
      return x;
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  });
}
void relu_out(KernelContext& context, Args args) {
  unary<kReal>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    using T = decltype(x);
    return x < 0 ? T(0) : x;
  });
}
void conj_physical_out(KernelContext& context, Args args) {
  unary<kAnyReal | kComplex>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    using T = decltype(x);
    if constexpr (is_complex_lane<T>) {
      return T(x.real(), -x.imag());
    } else {
      return x;
    }
  });
}

void isnan_out(KernelContext& context, Args args) {
  predicate<kAnyReal | kComplex>(context, operand(args, 0), out_tensor(args, 1), [](auto x) { return x != x; });
}
void isinf_out(KernelContext& context, Args args) {
  predicate<kAnyReal>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    if constexpr (is_float_lane<decltype(x)>) {
      return math::is_inf(x);
    } else {
      return false;
    }
  });
}

}  // namespace kernels
}  // namespace wick
