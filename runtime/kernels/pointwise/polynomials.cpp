// Orthogonal polynomials of degree n (rounded down; 0 below degree 0) at x, and Airy's function.
// Source: aten::special_chebyshev_polynomial_t and its like. Recurrences run in the dtype, as eager's do.
#include "common/math/math.h"
#include "common/math/special.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

/// Recurrences beyond it give NaN: a bound for the time that a number in a tensor can ask for.
constexpr double kMaxDegree = 1 << 20;

/// p(0) = 1, p(1) = first, p(k + 1) = step(k, p(k), p(k - 1)).
template <typename T, typename Step>
T recurrence(int64_t n, T first, const Step& step) {
  if (n == 0) return 1;
  T before = 1, value = first;
  for (int64_t k = 1; k < n && value == value; ++k) {
    const T next = step(static_cast<T>(k), value, before);
    before = value;
    value = next;
  }
  return value;
}

/// What the four kinds of Chebyshev polynomials have in common: p(k + 1) = 2 x p(k) - p(k - 1).
template <typename T>
T chebyshev(int64_t n, T x, T first) {
  return recurrence(n, first, [x](T, T value, T before) { return (x + x) * value - before; });
}

bool is_even(int64_t n) { return n % 2 == 0; }

struct ChebyshevT {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (x == 1 || x == -1) return x > 0 || is_even(n) ? 1 : -1;
    if (n > 6 && x < 1 && x > -1)
      return static_cast<T>(math::cos(static_cast<double>(n) * math::acos(static_cast<double>(x))));
    return chebyshev(n, x, x);
  }
};
struct ChebyshevU {
  template <typename T>
  T operator()(int64_t n, T x) const {
    const T at_end = static_cast<T>(n + 1);
    if (x == 1 || x == -1) return x > 0 || is_even(n) ? at_end : -at_end;
    if (n > 8 && x < 1 && x > -1) {
      const double angle = math::acos(static_cast<double>(x));
      return static_cast<T>(math::sin(static_cast<double>(n + 1) * angle) / math::sin(angle));
    }
    return chebyshev(n, x, x + x);
  }
};
struct ChebyshevV {
  template <typename T>
  T operator()(int64_t n, T x) const {
    const T at_end = static_cast<T>(n + n + 1);
    if (x == 1) return 1;
    if (x == -1) return is_even(n) ? at_end : -at_end;
    if (n > 8 && x < 1 && x > -1) {
      const double angle = math::acos(static_cast<double>(x));
      return static_cast<T>(math::cos((static_cast<double>(n) + 0.5) * angle) / math::cos(angle / 2));
    }
    return chebyshev(n, x, x + x - 1);
  }
};
struct ChebyshevW {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (x == 1) return static_cast<T>(n + n + 1);
    if (x == -1) return is_even(n) ? 1 : -1;
    if (n > 8 && x < 1 && x > -1) {
      const double angle = math::acos(static_cast<double>(x));
      return static_cast<T>(math::sin((static_cast<double>(n) + 0.5) * angle) / math::sin(angle / 2));
    }
    return chebyshev(n, x, x + x + 1);
  }
};
/// At 2 x - 1 instead of x.
template <typename Polynomial>
struct Shifted {
  template <typename T>
  T operator()(int64_t n, T x) const {
    return Polynomial{}(n, x + x - 1);
  }
};

/// Eager gives NaN above this degree.
template <typename T>
constexpr int64_t kMaxHermite = sizeof(T) == sizeof(float) ? 128 : 512;

struct HermiteH {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (n > kMaxHermite<T>) return static_cast<T>(math::kNaN);
    return recurrence(n, x + x, [x](T k, T value, T before) { return (x + x) * value - (k + k) * before; });
  }
};
struct HermiteHe {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (n > kMaxHermite<T>) return static_cast<T>(math::kNaN);
    return recurrence(n, x, [x](T k, T value, T before) { return x * value - k * before; });
  }
};
struct LaguerreL {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (x == 0) return 1;
    return recurrence(n, 1 - x,
                      [x](T k, T value, T before) { return ((k + k + (1 - x)) * value - k * before) / (k + 1); });
  }
};
struct LegendreP {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (x == 1 || x == -1) return x > 0 || is_even(n) ? 1 : -1;
    return recurrence(n, x, [x](T k, T value, T before) { return ((k + k + 1) * x * value - k * before) / (k + 1); });
  }
};

/// (x, n; out)
template <typename Polynomial>
void polynomial(KernelContext& context, Args args) {
  float_binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto x, auto degree) {
    using T = decltype(x);
    const double n = math::floor(static_cast<double>(degree));
    if (!(n >= 0)) return n < 0 ? T(0) : static_cast<T>(math::kNaN);
    if (n > kMaxDegree) return static_cast<T>(math::kNaN);
    return Polynomial{}(static_cast<int64_t>(n), x);
  });
}

}  // namespace

void special_chebyshev_polynomial_t_out(KernelContext& context, Args args) { polynomial<ChebyshevT>(context, args); }
void special_chebyshev_polynomial_u_out(KernelContext& context, Args args) { polynomial<ChebyshevU>(context, args); }
void special_chebyshev_polynomial_v_out(KernelContext& context, Args args) { polynomial<ChebyshevV>(context, args); }
void special_chebyshev_polynomial_w_out(KernelContext& context, Args args) { polynomial<ChebyshevW>(context, args); }
void special_shifted_chebyshev_polynomial_t_out(KernelContext& context, Args args) {
  polynomial<Shifted<ChebyshevT>>(context, args);
}
void special_shifted_chebyshev_polynomial_u_out(KernelContext& context, Args args) {
  polynomial<Shifted<ChebyshevU>>(context, args);
}
void special_shifted_chebyshev_polynomial_v_out(KernelContext& context, Args args) {
  polynomial<Shifted<ChebyshevV>>(context, args);
}
void special_shifted_chebyshev_polynomial_w_out(KernelContext& context, Args args) {
  polynomial<Shifted<ChebyshevW>>(context, args);
}
void special_hermite_polynomial_h_out(KernelContext& context, Args args) { polynomial<HermiteH>(context, args); }
void special_hermite_polynomial_he_out(KernelContext& context, Args args) { polynomial<HermiteHe>(context, args); }
void special_laguerre_polynomial_l_out(KernelContext& context, Args args) { polynomial<LaguerreL>(context, args); }
void special_legendre_polynomial_p_out(KernelContext& context, Args args) { polynomial<LegendreP>(context, args); }

void special_airy_ai_out(KernelContext& context, Args args) {
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1),
                      [](auto x) { return static_cast<decltype(x)>(math::airy_ai(static_cast<double>(x))); });
}

}  // namespace kernels
}  // namespace wick
