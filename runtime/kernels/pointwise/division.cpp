// Division with rounding modes and remainders.
#include <string.h>

#include "common/math/arithmetic.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

inline float float_remainder(float a, float b) { return math::fmod_f(a, b); }
inline double float_remainder(double a, double b) { return math::fmod(a, b); }
inline float round_toward_zero(float x) { return math::trunc_f(x); }
inline double round_toward_zero(double x) { return math::trunc(x); }

/// Rounds the value to `dtype`, if that is a 16-bit float.
template <typename T>
T rounded(T x, DType dtype) {
  if (dtype == DType::f16) return static_cast<T>(static_cast<float>(Half(static_cast<float>(x))));
  if (dtype == DType::bf16) return static_cast<T>(static_cast<float>(BFloat16(static_cast<float>(x))));
  return x;
}

/// Set by any thread that meets an integer divisor of zero.
struct ZeroFlag {
  bool* seen;
  int64_t raise() const {
    __atomic_store_n(seen, true, __ATOMIC_RELAXED);
    return 0;
  }
};

/// Toward zero. In f16 and bf16 the quotient of tensors is rounded to the dtype first, as in eager; a quotient by a
/// number or a 0-d tensor is not.
struct DivideTrunc {
  ZeroFlag zero;
  DType dtype = DType::f32;
  int64_t operator()(int64_t a, int64_t b) const {
    if (b == 0) return zero.raise();
    return b == -1 ? wrap_negate(a) : a / b;
  }
  template <typename T>
  T operator()(T a, T b) const {
    return round_toward_zero(rounded(a / b, dtype));
  }
};

/// Python's //: the quotient rounded down, exact for f32 and f64 because it uses the remainder. Eager rounds each step
/// of 16-bit floats.
struct DivideFloor {
  ZeroFlag zero;
  DType dtype = DType::f32;
  int64_t operator()(int64_t a, int64_t b) const {
    if (b == 0) return zero.raise();
    return b == -1 ? wrap_negate(a) : math::floor_divide(a, b);
  }
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return a / b;
    const T rest = float_remainder(a, b);
    return dtype == DType::f16 || dtype == DType::bf16 ? in_steps(a, b, rest) : math::floor_quotient(a, b, rest);
  }

 private:
  template <typename T>
  T in_steps(T a, T b, T rest) const {
    T quotient = rounded(rounded(a - rest, dtype) / b, dtype);
    if (rest != 0 && (b < 0) != (rest < 0)) quotient = rounded(quotient - 1, dtype);
    if (quotient == 0) return static_cast<T>(math::copy_sign(0, static_cast<double>(a / b)));
    const T down = math::floor_of(quotient);
    return quotient - down > T(0.5) ? rounded(down + 1, dtype) : down;
  }
};

/// The result has the sign of the divisor, as Python's %.
struct Remainder {
  ZeroFlag zero;
  int64_t operator()(int64_t a, int64_t b) const { return b == 0 ? zero.raise() : math::floor_modulo(a, b); }
  template <typename T>
  T operator()(T a, T b) const {
    const T rest = float_remainder(a, b);
    const bool other_sign = (rest != 0) & ((b < 0) != (rest < 0));
    const T moved = rest + b;
    return other_sign ? moved : rest;
  }
};

/// The result has the sign of the dividend, as C's %.
struct Fmod {
  ZeroFlag zero;
  int64_t operator()(int64_t a, int64_t b) const {
    if (b == 0) return zero.raise();
    return b == -1 ? 0 : a % b;
  }
  template <typename T>
  T operator()(T a, T b) const {
    return float_remainder(a, b);
  }
};

/// With integers a number is converted to the result's dtype: it wraps.
template <typename F>
void divide(KernelContext& context, const Operand& a, const Operand& b, Tensor& out) {
  bool zero_seen = false;
  F f{ZeroFlag{&zero_seen}};
  Operand both[] = {a, b};
  DType common;
  const bool is_known = result_type(both, 2, &common);  // otherwise binary() reports the failure
  if constexpr (std::is_same_v<F, DivideTrunc> || std::is_same_v<F, DivideFloor>) {
    if (is_known && b.tensor && b.tensor->rank > 0) f.dtype = common;
  }
  if (is_known && is_integral(common)) {
    for (Operand& operand : both) operand = number_in(operand, common);
  }
  binary<kReal>(context, both[0], both[1], out, f);
  if (zero_seen) context.fail(Error::InvalidArgument, "integer division by zero");
}

}  // namespace

void div_out(KernelContext& context, Args args);

void div_mode_out(KernelContext& context, Args args) {
  const EValue& mode = *args[2];
  if (mode.is_none()) {
    EValue* plain[] = {args[0], args[1], args[3], args[3]};
    return div_out(context, Args(plain));
  }
  const Operand a = operand(args, 0), b = operand(args, 1);
  if (strcmp(mode.string.data, "trunc") == 0) return divide<DivideTrunc>(context, a, b, out_tensor(args, 3));
  if (strcmp(mode.string.data, "floor") == 0) return divide<DivideFloor>(context, a, b, out_tensor(args, 3));
  context.fail(Error::InvalidArgument, "rounding mode is neither None, 'trunc' nor 'floor'");
}

void floor_divide_out(KernelContext& context, Args args) {
  divide<DivideFloor>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2));
}
void remainder_out(KernelContext& context, Args args) {
  divide<Remainder>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2));
}
void fmod_out(KernelContext& context, Args args) {
  divide<Fmod>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2));
}

}  // namespace kernels
}  // namespace wick
