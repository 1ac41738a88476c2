// Orthogonal polynomials of degree n (rounded down; 0 below degree 0) at x. Recurrences run in the dtype, as eager's
// do. C++17, freestanding. Source: aten::special_chebyshev_polynomial_t and its like.
#pragma once
#include "common/math/math.h"

namespace wick::math {

/// Recurrences of a higher degree give NaN: bounds the time that an element of a tensor can cause.
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

/// The recurrence of all four kinds of Chebyshev polynomials: p(k + 1) = 2 x p(k) - p(k - 1).
template <typename T>
T chebyshev(int64_t n, T x, T first) {
  return recurrence(n, first, [x](T, T value, T before) { return (x + x) * value - before; });
}

inline bool is_even(int64_t n) { return n % 2 == 0; }

struct ChebyshevT {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (x == 1 || x == -1) return x > 0 || is_even(n) ? 1 : -1;
    if (n > 6 && x < 1 && x > -1) return static_cast<T>(cos(static_cast<double>(n) * acos(static_cast<double>(x))));
    return chebyshev(n, x, x);
  }
};
struct ChebyshevU {
  template <typename T>
  T operator()(int64_t n, T x) const {
    const T at_end = static_cast<T>(n + 1);
    if (x == 1 || x == -1) return x > 0 || is_even(n) ? at_end : -at_end;
    if (n > 8 && x < 1 && x > -1) {
      const double angle = acos(static_cast<double>(x));
      return static_cast<T>(sin(static_cast<double>(n + 1) * angle) / sin(angle));
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
      const double angle = acos(static_cast<double>(x));
      return static_cast<T>(cos((static_cast<double>(n) + 0.5) * angle) / cos(angle / 2));
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
      const double angle = acos(static_cast<double>(x));
      return static_cast<T>(sin((static_cast<double>(n) + 0.5) * angle) / sin(angle / 2));
    }
    return chebyshev(n, x, x + x + 1);
  }
};
/// The polynomial at 2 x - 1 instead of x.
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
    if (n > kMaxHermite<T>) return static_cast<T>(kNaN);
    return recurrence(n, x + x, [x](T k, T value, T before) { return (x + x) * value - (k + k) * before; });
  }
};
struct HermiteHe {
  template <typename T>
  T operator()(int64_t n, T x) const {
    if (n > kMaxHermite<T>) return static_cast<T>(kNaN);
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

/// T: float or double. `degree` is rounded toward 0; below 0, and if it does not fit 64 bits, the result is 0.
template <typename Polynomial, typename T>
T polynomial_at(T x, T degree) {
  const double n = trunc(static_cast<double>(degree));
  if (!(n >= 0 && n < 0x1p63)) return T(0);
  if (n > kMaxDegree) return static_cast<T>(kNaN);
  return Polynomial{}(static_cast<int64_t>(n), x);
}

}  // namespace wick::math
