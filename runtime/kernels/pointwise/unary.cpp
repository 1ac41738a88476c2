// Functions of one real operand: transcendental, rounding, sign.
#include "runtime/kernels/pointwise/hot_unary.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {

#define WICK_FLOAT_FUNCTION(name)                                 \
  namespace {                                                     \
  struct name##_function {                                        \
    float operator()(float x) const { return math::name##_f(x); } \
    double operator()(double x) const { return math::name(x); }   \
  };                                                              \
  }
#define WICK_FLOAT_UNARY(name)                                                              \
  WICK_FLOAT_FUNCTION(name)                                                                 \
  void name##_out(KernelContext& context, Args args) {                                      \
    float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1), name##_function{}); \
  }
#define WICK_HOT_UNARY(name)                                                                         \
  WICK_FLOAT_FUNCTION(name)                                                                          \
  void name##_out(KernelContext& context, Args args) {                                               \
    float_unary_map<kFloat>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).name, \
                            name##_function{});                                                      \
  }
WICK_FLOAT_UNARY(digamma)
WICK_FLOAT_UNARY(erfc)
WICK_FLOAT_UNARY(lgamma)
WICK_HOT_UNARY(cosh)
WICK_HOT_UNARY(erf)
WICK_HOT_UNARY(expm1)
WICK_HOT_UNARY(log10)
WICK_HOT_UNARY(log1p)
WICK_HOT_UNARY(log2)
WICK_HOT_UNARY(sinh)
WICK_HOT_UNARY(tan)
#undef WICK_HOT_UNARY
#undef WICK_FLOAT_UNARY
#undef WICK_FLOAT_FUNCTION

namespace {

struct Exp {
  float operator()(float x) const { return math::exp_f(x); }
  double operator()(double x) const { return math::exp(x); }
  template <typename T>
  T operator()(T x) const {  // complex
    using Part = typename T::value_type;
    const double scale = math::exp(static_cast<double>(x.real())), angle = static_cast<double>(x.imag());
    if (angle == 0) return T(static_cast<Part>(scale), x.imag());
    if (!math::is_finite(angle) && math::is_inf(static_cast<double>(x.real())))
      return x.real() > 0 ? T(x.real(), static_cast<Part>(math::kNaN)) : T(0, 0);
    return T(static_cast<Part>(scale * math::cos(angle)), static_cast<Part>(scale * math::sin(angle)));
  }
};

/// A function of a complex number, from double parts to double parts.
template <typename T, typename F>
T complex_function(T x, F&& f) {
  using Part = typename T::value_type;
  double re = 0, im = 0;
  f(static_cast<double>(x.real()), static_cast<double>(x.imag()), &re, &im);
  return T(static_cast<Part>(re), static_cast<Part>(im));
}

double hypotenuse(double a, double b);

/// Functions of x + i y with the C standard's results for zeros and parts that are not finite, as in eager.
void complex_sin(double x, double y, double* re, double* im) {
  *re = x == 0 ? x : math::sin(x) * math::cosh(y);
  *im = math::is_finite(x) ? math::cos(x) * math::sinh(y) : math::is_inf(y) ? math::kInfinity : y == 0 ? y : math::kNaN;
}
void complex_cos(double x, double y, double* re, double* im) {
  *re = math::is_finite(x) ? math::cos(x) * math::cosh(y) : math::is_inf(y) ? math::kInfinity : math::kNaN;
  *im = x == 0 ? math::copy_sign(x, -math::copy_sign(1, x) * y) : y == 0 ? y : -math::sin(x) * math::sinh(y);
}
void complex_tanh(double x, double y, double* re, double* im) {
  if (math::is_inf(x)) {
    *re = math::copy_sign(1, x);
    *im = math::copy_sign(0, y);
    return;
  }
  if (!math::is_finite(y) || y == 0) {
    *re = y == 0 ? math::tanh(x) : x == 0 ? x : math::kNaN;
    *im = y == 0 ? y : math::kNaN;
    return;
  }
  const double scale = math::cosh(2 * x) + math::cos(2 * y);
  *re = math::abs(x) > 20 ? math::copy_sign(1, x) : math::sinh(2 * x) / scale;
  *im = math::abs(x) > 300 ? 0 * y : math::sin(2 * y) / scale;
}
void complex_sqrt(double x, double y, double* re, double* im) {
  if (math::is_inf(x) || math::is_inf(y)) {
    const double none = y != y ? math::kNaN : 0;  // for the part that is not infinite
    *re = math::is_inf(y) || x > 0 ? math::kInfinity : none;
    *im = math::is_inf(y) ? y : math::copy_sign(x > 0 ? none : math::kInfinity, y);
    return;
  }
  const double large = math::sqrt((hypotenuse(x, y) + math::abs(x)) / 2);
  const double small = large == 0 ? y : y / (2 * large);
  *re = x >= 0 ? large : math::abs(small);
  *im = x >= 0 ? small : math::copy_sign(large, y);
}

#define WICK_COMPLEX_UNARY(type, real_float, real_double, body)                            \
  struct type {                                                                            \
    float operator()(float x) const { return real_float(x); }                              \
    double operator()(double x) const { return real_double(x); }                           \
    template <typename T>                                                                  \
    T operator()(T x) const {                                                              \
      return complex_function(x, [](double a, double b, double* re, double* im) { body }); \
    }                                                                                      \
  };
WICK_COMPLEX_UNARY(Sin, math::sin_f, math::sin, { complex_sin(a, b, re, im); })
WICK_COMPLEX_UNARY(Cos, math::cos_f, math::cos, { complex_cos(a, b, re, im); })
WICK_COMPLEX_UNARY(Log, math::log_f, math::log, {
  *re = math::log(hypotenuse(a, b));
  *im = math::atan2(b, a);
})
WICK_COMPLEX_UNARY(Sqrt, math::sqrt, math::sqrt, { complex_sqrt(a, b, re, im); })
WICK_COMPLEX_UNARY(Tanh, math::tanh_f, math::tanh, { complex_tanh(a, b, re, im); })
#undef WICK_COMPLEX_UNARY

struct Sigmoid {
  float operator()(float x) const { return math::sigmoid_f(x); }
  double operator()(double x) const { return 1 / (1 + math::exp(-x)); }
};

/// 1 / x scaled by the larger part of x, in eager's steps: zero gives inf + nan i, infinity zero. Source: Smith 1962.
template <typename T>
T complex_reciprocal(T x) {
  using Part = typename T::value_type;
  const Part a = x.real(), b = x.imag();
  const Part size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;
  if (a == 0 && b == 0) return T(static_cast<Part>(math::kInfinity), static_cast<Part>(math::kNaN));
  if (size_a >= size_b) {
    const Part ratio = b / a, scale = 1 / (a + b * ratio);
    return T(scale, (0 - ratio) * scale);
  }
  const Part ratio = a / b, scale = 1 / (a * ratio + b);
  return T((ratio + 0) * scale, -scale);
}

struct Reciprocal {
  template <typename T>
  T operator()(T x) const {
    if constexpr (is_complex_lane<T>) {
      return complex_reciprocal(x);
    } else {
      return 1 / x;
    }
  }
};

/// Rounding functions do not change integers.
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
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? wrap_negate(x) : x;
  }
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
  float_unary_map<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).exp, Exp{});
}
void tanh_out(KernelContext& context, Args args) {
  float_unary_map<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).tanh, Tanh{});
}
void sigmoid_out(KernelContext& context, Args args) {
  float_unary_map<kFloat>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).sigmoid, Sigmoid{});
}
void reciprocal_out(KernelContext& context, Args args) {
  float_unary<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), Reciprocal{});
}
void sqrt_out(KernelContext& context, Args args) {
  float_unary<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), Sqrt{});
}
void sin_out(KernelContext& context, Args args) {
  float_unary_map<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).sin, Sin{});
}
void cos_out(KernelContext& context, Args args) {
  float_unary_map<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).cos, Cos{});
}
void log_out(KernelContext& context, Args args) {
  float_unary_map<kFloat | kComplex>(context, operand(args, 0), out_tensor(args, 1), hot(context.isa()).log, Log{});
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
  unary<kReal | kNarrow>(context, operand(args, 0), out_tensor(args, 1), Absolute{});
}
void neg_out(KernelContext& context, Args args) {
  unary<kReal | kComplex | kNarrow>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
    if constexpr (is_integer_lane<decltype(x)>) {
      return wrap_negate(x);
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
  unary<kReal | kNarrow>(context, operand(args, 0), out_tensor(args, 1), [](auto x) {
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
