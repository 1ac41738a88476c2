// add, sub, rsub, mul and true division.
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

/// a + alpha * b; on bool that is (a or (alpha and b)).
struct AddScaled {
  Operand alpha;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (is_integer_lane<T>) {
      return wrap_add(a, multiply(number_as<T>(alpha), b));
    } else {
      return a + multiply(number_as<T>(alpha), b);
    }
  }
};

struct SubScaled {
  Operand alpha;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (is_integer_lane<T>) {
      return wrap_sub(a, multiply(number_as<T>(alpha), b));
    } else if constexpr (is_complex_lane<T>) {
      // As in eager, the signs of zeros are those of the product.
      return a + multiply(T(-number_as<T>(alpha).real(), 0), b);
    } else {
      return a - multiply(number_as<T>(alpha), b);
    }
  }
};

struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return multiply(a, b);
  }
};

/// Complex quotient scaled by the larger part of the divisor. Source: Smith 1962.
template <typename T>
T divide_complex(T a, T b) {
  using Part = typename T::value_type;
  const Part c = b.real(), d = b.imag();
  const Part size_c = c <= 0 ? 0 - c : c, size_d = d <= 0 ? 0 - d : d;  // of -0: 0
  if (size_c == 0 && size_d == 0) return T(a.real() / size_c, a.imag() / size_d);
  if (size_c >= size_d) {
    const Part ratio = d / c, scale = c + d * ratio;
    return T((a.real() + a.imag() * ratio) / scale, (a.imag() - a.real() * ratio) / scale);
  }
  const Part ratio = c / d, scale = c * ratio + d;
  return T((a.real() * ratio + a.imag()) / scale, (a.imag() * ratio - a.real()) / scale);
}

struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (is_complex_lane<T>) {
      return divide_complex(a, b);
    } else {
      return a / b;
    }
  }
};

bool is_bool(const Operand& x) { return x.tensor ? x.tensor->dtype == DType::boolean : x.tag == Tag::boolean; }

/// Eager refuses a floating alpha on an integer result, and - on bool.
bool accepts_alpha(KernelContext& context, const Operand& a, const Operand& b, const Operand& alpha, bool subtraction) {
  const Operand both[] = {a, b};
  DType common;
  if (!result_type(both, 2, &common)) return true;  // binary() reports the failure
  if (alpha.tag == Tag::real && !is_floating(common) && !is_complex(common)) {
    context.fail(Error::InvalidArgument, "alpha is floating but the result is not");
    return false;
  }
  if (subtraction && (is_bool(a) || is_bool(b))) {
    context.fail(Error::InvalidType, "subtraction is not defined on bool");
    return false;
  }
  return true;
}

void add(KernelContext& context, const Operand& a, const Operand& b, const Operand& alpha, Tensor& out) {
  if (accepts_alpha(context, a, b, alpha, false))
    binary<kAnyReal | kComplex | kNarrow>(context, a, b, out, AddScaled{alpha}, Casting::to_lane);
}

void subtract(KernelContext& context, const Operand& a, const Operand& b, const Operand& alpha, Tensor& out) {
  if (accepts_alpha(context, a, b, alpha, true))
    binary<kReal | kComplex | kNarrow>(context, a, b, out, SubScaled{alpha}, Casting::to_lane);
}

}  // namespace

void add_out(KernelContext& context, Args args) {
  add(context, operand(args, 0), operand(args, 1), *args[2], out_tensor(args, 3));
}
void sub_out(KernelContext& context, Args args) {
  subtract(context, operand(args, 0), operand(args, 1), *args[2], out_tensor(args, 3));
}
void rsub_scalar_out(KernelContext& context, Args args) {
  subtract(context, operand(args, 1), operand(args, 0), *args[2], out_tensor(args, 3));
}
void mul_out(KernelContext& context, Args args) {
  binary<kAnyReal | kComplex | kNarrow>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), Multiply{},
                                        Casting::to_lane);
}
void div_out(KernelContext& context, Args args) {
  float_binary<kFloat | kComplex>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), Divide{});
}

}  // namespace kernels
}  // namespace wick
