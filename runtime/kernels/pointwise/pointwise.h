// Families of pointwise kernels over the elementwise engine. C++17, freestanding.
#pragma once
#include "common/float16.h"
#include "common/math/float_math.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/elementwise_promote.h"

namespace wick {
namespace kernels {

using Args = Span<EValue*>;
using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

inline const Tensor& tensor(const Args& args, size_t index) { return *args[index]->tensor; }
inline Tensor& out_tensor(const Args& args, size_t index) { return *args[index]->tensor; }
/// Tensor or number.
inline Operand operand(const Args& args, size_t index) {
  return args[index]->tag == Tag::tensor ? Operand(args[index]->tensor) : Operand(*args[index]);
}

template <typename T>
constexpr bool is_integer_lane = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <typename T>
constexpr bool is_complex_lane = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;
template <typename T>
constexpr bool is_float_lane = std::is_same_v<T, float> || std::is_same_v<T, double>;

/// Integer arithmetic modulo 2^bits of T.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <typename T>
T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <typename T>
T wrap_mul(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <typename T>
T wrap_negate(T a) {
  return wrap_sub(T(0), a);
}

/// a * b; for complex numbers without the C library's rules for infinite parts, as in eager.
template <typename T>
T multiply(T a, T b) {
  if constexpr (is_integer_lane<T>) {
    return wrap_mul(a, b);
  } else if constexpr (is_complex_lane<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

/// A number in the lane's type.
template <typename T>
T number_as(const Operand& number) {
  if constexpr (is_integer_lane<T>) {
    return static_cast<T>(number.integer);
  } else if constexpr (std::is_same_v<T, bool>) {
    return number.real != 0;
  } else if constexpr (is_complex_lane<T>) {
    return T(static_cast<typename T::value_type>(number.real), 0);
  } else {
    return static_cast<T>(number.real);
  }
}

/// The lanes on which a family is defined, as a mask. kNarrow: also narrow integer lanes, if they give the same values.
enum : unsigned {
  kBool = 1,
  kInt = 2,
  kFloat = 4,
  kComplex = 8,
  kNarrow = 16,
  kReal = kInt | kFloat,
  kAnyReal = kBool | kInt | kFloat
};

/// Calls fn(T{}) for the lane's type T if the mask has it, else fails the context with InvalidType.
template <unsigned kLanes, typename F>
void with_lane(KernelContext& context, Lane lane, F&& fn) {
  switch (lane) {
    case Lane::f32:
      if constexpr ((kLanes & kFloat) != 0) return fn(float{});
      break;
    case Lane::f64:
      if constexpr ((kLanes & kFloat) != 0) return fn(double{});
      break;
    case Lane::i64:
      if constexpr ((kLanes & kInt) != 0) return fn(int64_t{});
      break;
    case Lane::boolean:
      if constexpr ((kLanes & kBool) != 0) return fn(bool{});
      break;
    case Lane::c64:
      if constexpr ((kLanes & kComplex) != 0) return fn(Complex64{});
      break;
    case Lane::c128:
      if constexpr ((kLanes & kComplex) != 0) return fn(Complex128{});
      break;
    default: break;
  }
  context.fail(Error::InvalidType, "the operator is not defined on this dtype");
}

/// As with_lane() for the lane of `common`, or for its narrow lane if the mask has kNarrow and all operands and `out`
/// are of that dtype; a null `out` may be of any.
template <unsigned kLanes, typename F>
void with_lane_of(KernelContext& context, const Operand* operands, int count, DType common, const Tensor* out, F&& fn) {
  Lane lane = Lane::boolean;
  if constexpr ((kLanes & kNarrow) != 0) {
    if (narrow_lane_of_dtype(common, &lane) && all_have_dtype(operands, count, common) &&
        (!out || out->dtype == common)) {
      switch (lane) {
        case Lane::i8: return fn(int8_t{});
        case Lane::u8: return fn(uint8_t{});
        case Lane::i16: return fn(int16_t{});
        default: return fn(int32_t{});
      }
    }
  }
  lane_of_dtype(common, &lane);
  with_lane<kLanes>(context, lane, fn);
}

/// out = f(a): T -> T in the lane of a's dtype.
template <unsigned kLanes, typename F>
void unary(KernelContext& context, const Operand& a, Tensor& out, const F& f) {
  DType common;
  Lane lane;
  if (!common_lane(context, &a, 1, out, &common, &lane)) return;
  with_lane_of<kLanes>(context, &a, 1, common, &out, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, T>(context, [f](T x) { return static_cast<T>(f(x)); }, {a}, out);
  });
}

/// out = f(a): T -> bool; out may have any dtype.
template <unsigned kLanes, typename F>
void predicate(KernelContext& context, const Operand& a, Tensor& out, const F& f) {
  Lane lane;
  if (!lane_of_dtype(a.tensor->dtype, &lane))
    return context.fail(Error::InvalidType, "input dtype is not supported here");
  with_lane<kLanes>(context, lane, [&](auto zero) {
    using T = decltype(zero);
    elementwise<bool, T>(context, [f](T x) -> bool { return f(x); }, {a}, out);
  });
}

/// out = f(a) with integers and bool computed in f32.
template <unsigned kLanes, typename F>
void float_unary(KernelContext& context, const Operand& a, Tensor& out, const F& f) {
  const DType common = to_floating(a.tensor->dtype);
  Lane lane;
  if (!lane_of_dtype(common, &lane) || !lane_of_dtype(a.tensor->dtype, &lane) || !can_cast(common, out.dtype)) {
    return context.fail(Error::InvalidType, "the result is floating: out has no such dtype");
  }
  lane_of_dtype(common, &lane);
  with_lane<kLanes>(context, lane, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, T>(context, f, {a}, out);
  });
}

/// Whether tensor operands are cast to the result type before f sees them, or only to its lane. Eager does the latter
/// in add, sub and mul.
enum class Casting : uint8_t { to_result_type, to_lane };

/// A number as eager compares it: converted to the other operand's dtype first, so integers wrap and halves round.
inline Operand number_in(const Operand& operand, DType dtype) {
  Operand out = operand;
  if (operand.tensor) return out;
  switch (dtype) {
    case DType::u8: out.integer = static_cast<uint8_t>(operand.integer); break;
    case DType::i8: out.integer = static_cast<int8_t>(operand.integer); break;
    case DType::i16: out.integer = static_cast<int16_t>(operand.integer); break;
    case DType::i32: out.integer = static_cast<int32_t>(operand.integer); break;
    case DType::f16:
    case DType::bf16: {
      const float value =
          operand.tag == Tag::real ? static_cast<float>(operand.real) : static_cast<float>(operand.integer);
      out.real = dtype == DType::f16 ? static_cast<float>(Half(value)) : static_cast<float>(BFloat16(value));
      out.tag = Tag::real;
      break;
    }
    default: break;
  }
  return out;
}

/// out = f(a, b): (T, T) -> T in the lane of the result type.
template <unsigned kLanes, typename F>
void binary(KernelContext& context, const Operand& a, const Operand& b, Tensor& out, const F& f,
            Casting casting = Casting::to_result_type) {
  const Operand both[] = {a, b};
  DType common;
  Lane lane;
  if (!common_lane(context, both, 2, out, &common, &lane)) return;
  with_lane_of<kLanes>(context, both, 2, common, &out, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, T, T>(
        context, [f](T x, T y) { return static_cast<T>(f(x, y)); }, {a, b}, out,
        casting == Casting::to_result_type ? &common : nullptr);
  });
}

/// As binary(), with integers and bool computed in f32.
template <unsigned kLanes, typename F>
void float_binary(KernelContext& context, const Operand& a, const Operand& b, Tensor& out, const F& f) {
  const Operand both[] = {a, b};
  DType common;
  Lane lane;
  if (!result_type(both, 2, &common) || !lane_of_dtype(to_floating(common), &lane) ||
      !can_cast(to_floating(common), out.dtype)) {
    return context.fail(Error::InvalidType, "no floating result for these dtypes");
  }
  with_lane<kLanes>(context, lane, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T, T, T>(context, f, {a, b}, out);
  });
}

/// out = f(a, b): (T, T) -> bool in the lane of the result type; out may have any dtype.
template <unsigned kLanes, typename F>
void comparison(KernelContext& context, const Operand& a, const Operand& b, Tensor& out, const F& f) {
  Operand both[] = {a, b};
  DType common;
  Lane lane;
  if (!result_type(both, 2, &common) || !lane_of_dtype(common, &lane)) {
    return context.fail(Error::InvalidType, "no comparison for these input dtypes");
  }
  for (Operand& operand : both) operand = number_in(operand, common);
  with_lane_of<kLanes>(context, both, 2, common, nullptr, [&](auto zero) {
    using T = decltype(zero);
    elementwise<bool, T, T>(context, [f](T x, T y) -> bool { return f(x, y); }, {both[0], both[1]}, out, &common);
  });
}

}  // namespace kernels
}  // namespace wick
