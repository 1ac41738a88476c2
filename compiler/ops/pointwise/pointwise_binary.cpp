// Functions of two tensors, element by element, with broadcasting and type promotion.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/pointwise/numbers.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// For a Python number in a tensor slot: the overload that takes a Scalar. Operators without one take a 0-d constant.
struct NumberForm {
  std::string_view tensor, scalar;
};
constexpr NumberForm kNumberForms[] = {
    {"aten.add.Tensor", "aten.add.Scalar"},
    {"aten.sub.Tensor", "aten.sub.Scalar"},
    {"aten.mul.Tensor", "aten.mul.Scalar"},
    {"aten.div.Tensor", "aten.div.Scalar"},
    {"aten.div.Tensor_mode", "aten.div.Scalar_mode"},
    {"aten.remainder.Tensor", "aten.remainder.Scalar"},
    {"aten.fmod.Tensor", "aten.fmod.Scalar"},
    {"aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar"},
    {"aten.eq.Tensor", "aten.eq.Scalar"},
    {"aten.ne.Tensor", "aten.ne.Scalar"},
    {"aten.lt.Tensor", "aten.lt.Scalar"},
    {"aten.le.Tensor", "aten.le.Scalar"},
    {"aten.gt.Tensor", "aten.gt.Scalar"},
    {"aten.ge.Tensor", "aten.ge.Scalar"},
    {"aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar"},
    {"aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar"},
    {"aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar"},
    {"aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar"},
    {"aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar"},
};

Results decompose_number_operand(Builder& b, Node& node) {
  Args args = node.args();
  if (is_number(args[1]) && tensor_or_null(args[0])) {
    if (node.op->parsed->args[1].type == ArgType::scalar) return {};  // already the form with a number
    for (const NumberForm& form : kNumberForms) {
      if (form.tensor == node.op->name()) return {b.call(form.scalar, args)};
    }
  }
  if (!is_number(args[0]) && !is_number(args[1])) return {};
  const DType result = node.result()->dtype();
  const DType dtype = is_floating(result) ? result : promote(Args{args[0], args[1]});
  for (size_t i = 0; i < 2; ++i) {
    if (!is_number(args[i])) continue;
    // The category of the number must stay: 2.5 is floating beside integers, too.
    const DType own = is_float_number(args[i]) && is_integral(dtype) ? DType::f32 : dtype;
    args[i] = Compose(b).tensor(args[i], own);
  }
  return {b.call(node.op->name(), args)};
}

// Stock adds a number only if the result has the tensor's dtype.
Results decompose_add_scalar(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const DType dtype = node.result()->dtype();
  if (x->dtype() == dtype) return {};
  return {b.call("aten.add.Scalar", {b.cast(x, dtype), node.arg(1), node.arg(2)})};
}

// Integers: x - floor(x / y) * y. Stock's kernel truncates the quotient instead.
Results decompose_remainder(Builder& b, Node& node) {
  const DType dtype = node.result()->dtype();
  const bool integers = is_integral(dtype) && dtype != DType::boolean;
  const bool scalar = node.is("aten.remainder.Scalar");
  if (!scalar && (is_number(node.arg(0)) || is_number(node.arg(1)))) return decompose_number_operand(b, node);
  if (scalar && !integers) return {};
  Compose c(b);
  Value *x = node.tensor("self"), *divisor = tensor_or_null(node.arg(1));
  // For operands of several dtypes, stock computes with less precision than the result has.
  const bool mixed = x->dtype() != dtype || (divisor && divisor->dtype() != dtype);
  if (!integers && !mixed) return {};
  x = b.cast(x, dtype);
  const Arg y = divisor ? Arg(b.cast(divisor, dtype)) : node.arg(1);
  if (!integers) return {c.remainder(x, y)};
  return {c.sub(x, c.mul(c.div_mode(x, y, "floor"), y))};
}

void infer_divide_mode(Node& node) {
  if (node.is_none("rounding_mode")) return infer_true_divide(node);
  const std::string mode = node.string("rounding_mode");
  require(mode == "floor" || mode == "trunc", "rounding_mode must be 'floor' or 'trunc'");
  infer_broadcast(node);
}

// For f16 and bf16, eager reads a divisor of one element as f32, and does not round the quotient before `mode`.
Results divide_by_element(Builder& b, Node& node, const char* mode) {
  const DType dtype = node.result()->dtype();
  Value *x = tensor_or_null(node.arg(0)), *y = tensor_or_null(node.arg(1));
  if (!x || !y || !is_16_bit(dtype) || !is_element(y)) return {};
  if (y->dtype() == dtype && y->rank() == 0) return {};  // kernels compute this alike
  return {b.cast(Compose(b).div_mode(b.cast(b.cast(x, dtype), DType::f32), b.cast(y, DType::f32), mode), dtype)};
}

Results decompose_divide_mode(Builder& b, Node& node) {
  if (node.is_none("rounding_mode")) return {Compose(b).div(node.arg(0), node.arg(1))};
  if (node.is("aten.div.Scalar_mode")) return {};
  const std::string mode = node.string("rounding_mode");
  if (Results in_f32 = divide_by_element(b, node, mode.c_str()); !in_f32.empty()) return in_f32;
  const Value *x = tensor_or_null(node.arg(0)), *y = tensor_or_null(node.arg(1));
  if (mode == "trunc" && x && y && is_16_bit(node.result()->dtype()) && y->rank() > 0) {
    Compose c(b);  // eager rounds the quotient before truncating
    return {c.unary("aten.trunc", c.div(node.arg(0), node.arg(1)))};
  }
  return decompose_number_operand(b, node);
}

// exp(exponent * log(base)), in double precision: exp turns an absolute error of the product into a relative error.
Value* complex_power(Compose& c, const Arg& base, const Arg& exponent, DType dtype) {
  const auto operand = [&](const Arg& arg) { return c.b.cast(c.b.cast(c.tensor(arg, dtype), dtype), DType::c128); };
  return c.b.cast(c.exp(c.mul(operand(exponent), c.log(operand(base)))), dtype);
}
Results decompose_pow(Builder& b, Node& node) {
  const DType dtype = node.result()->dtype();
  if (!is_complex(dtype)) return node.is("aten.pow.Scalar") ? Results{} : decompose_number_operand(b, node);
  Compose c(b);
  const std::optional<double> base = literal(node.arg(0));
  if (base == 1.0) return {b.full(node.result()->sizes(), 1.0, dtype)};
  return {complex_power(c, node.arg(0), node.arg(1), dtype)};
}

// base ** exponent for the literal exponents that eager computes by multiplication.
Results decompose_pow_scalar(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const auto exponent = literal(node.arg("exponent"));
  if (!exponent) return {};
  const DType dtype = node.result()->dtype();
  if (*exponent == 1) return {b.cast(x, dtype)};
  if (is_complex(dtype)) {
    x = b.cast(x, dtype);
    if (*exponent == 0) return {b.full(node.result()->sizes(), 1.0, dtype)};
    if (*exponent == 2) return {c.mul(x, x)};
    if (*exponent == 3) return {c.mul(c.mul(x, x), x)};
    if (*exponent == 0.5) return {c.sqrt(x)};
    if (*exponent == -1) return {c.unary("aten.reciprocal", x)};
    return {complex_power(c, x, node.arg("exponent"), dtype)};
  }
  if (dtype == DType::boolean) return {b.full(node.result()->sizes(), 1.0, dtype)};  // x ** False
  if (!is_floating(dtype) || x->dtype() != dtype) {
    return *exponent == 2 && x->dtype() == dtype ? Results{c.mul(x, x)} : Results{};
  }
  const double rounded = dtype == DType::bf16 ? half_number(*exponent, dtype) : *exponent;
  const bool by_products = dtype != DType::f16;  // eager rounds each product
  if (rounded == 2) return {c.mul(x, x)};
  if (rounded == 3 && by_products) return {c.mul(c.mul(x, x), x)};
  if (rounded == -2 && by_products) return {c.unary("aten.reciprocal", c.mul(x, x))};
  if (*exponent == 0.5) return {c.sqrt(x)};
  if (*exponent == -0.5) return {c.unary("aten.rsqrt", x)};
  if (*exponent == -1) return {c.unary("aten.reciprocal", x)};
  return {};
}

Results decompose_floor_divide(Builder& b, Node& node) {
  if (is_number(node.arg(1)) && tensor_or_null(node.arg(0))) {
    return {b.call("aten.div.Scalar_mode", {node.arg(0), node.arg(1), "floor"})};
  }
  Results in_f32 = divide_by_element(b, node, "floor");
  return in_f32.empty() ? decompose_number_operand(b, node) : in_f32;
}

Results decompose_logical(Builder& b, Node& node) {
  Args args = node.args();
  bool complex = false;
  for (Arg& arg : args) {
    Value* x = tensor_or_null(arg);
    if (!x || !is_complex(x->dtype())) continue;
    complex = true;
    arg = Compose(b).compare("ne", x, 0);
  }
  return complex ? Results{b.call(node.op->name(), std::move(args))} : decompose_number_operand(b, node);
}

void infer_ordered(Node& node) {
  infer_broadcast(node);
  require(!is_complex(node.result()->dtype()), "complex numbers have no order");
}

// fmax and fmin ignore a NaN operand if the other one is a number.
Results decompose_f_extreme(Builder& b, Node& node, const char* target) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("other");
  Value* out = b.call(target, {x, y});
  if (!is_floating(out->dtype())) return {out};
  out = c.where(c.unary("aten.isnan", x), y, out, out->dtype());
  return {c.where(c.unary("aten.isnan", y), x, out, out->dtype())};
}
Results decompose_fmax(Builder& b, Node& node) { return decompose_f_extreme(b, node, "aten.maximum"); }
Results decompose_fmin(Builder& b, Node& node) { return decompose_f_extreme(b, node, "aten.minimum"); }

// If one side is infinite, the result is infinite, even if the other side is NaN.
Results decompose_hypot(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.result()->dtype();
  const bool is_half = dtype == DType::f16;  // squares in f32 do not overflow
  Value* other = b.cast(node.tensor("other"), dtype);
  return {in_float(b, b.cast(node.tensor("self"), dtype), [&](Value* x) {
    Value* y = b.cast(other, x->dtype());
    x = c.abs(x);
    y = c.abs(y);
    Value* large = is_half ? nullptr : c.as_divisor(c.maximum(x, y));
    const auto square_over = [&](Value* side) { return c.square(large ? c.div(side, large) : side); };
    Value* length = c.sqrt(c.add(square_over(x), square_over(y)));
    if (large) length = c.mul(large, length);
    Value* infinite = c.logical_or(c.unary("aten.isinf", x), c.unary("aten.isinf", y));
    return c.where(infinite, std::numeric_limits<double>::infinity(), length, x->dtype());
  })};
}

// log(exp(x) + exp(y)) = log1p(exp(low - high)) + high, ordered by real parts. If both real parts are the same
// infinity, eager takes one operand (-inf) or adds the powers (+inf).
Value* complex_logaddexp(Compose& c, Value* x, Value* y) {
  Value *a = c.call("aten.real", {x}), *b = c.call("aten.real", {y}), *less = c.compare("lt", a, b);
  Value *low = c.where(less, x, y, x->dtype()), *high = c.where(less, y, x, x->dtype());
  Value* sum = c.add(c.unary("aten.log1p", c.exp(c.sub(low, high))), high);
  Value* same = c.logical_and(c.compare("eq", a, b), c.unary("aten.isinf", a));
  Value* far = c.where(c.compare("lt", a, 0), low, c.log(c.add(c.exp(x), c.exp(y))), x->dtype());
  return c.where(same, far, sum, x->dtype());
}

// log(exp(x) + exp(y)) in base e or 2, without overflow
Results decompose_logaddexp(Builder& b, Node& node) {
  Compose c(b);
  if (const DType dtype = node.result()->dtype(); is_complex(dtype))
    return {complex_logaddexp(c, b.cast(node.tensor("self"), dtype), b.cast(node.tensor("other"), dtype))};
  const bool two = node.is("aten.logaddexp2.default");
  const DType dtype = node.result()->dtype();
  Value* other = b.cast(node.tensor("other"), dtype);
  return {in_float(b, b.cast(node.tensor("self"), dtype), [&](Value* x) {
    Value* y = b.cast(other, x->dtype());
    Value* high = b.call("aten.maximum", {x, y});
    Value* same = c.logical_and(c.compare("eq", x, y), c.unary("aten.isinf", x));
    Value* gap = c.neg(c.abs(c.sub(x, y)));
    Value* tail = two ? c.div(c.unary("aten.log1p", b.call("aten.pow.Scalar", {2.0, gap})), 0.69314718055994530942)
                      : c.unary("aten.log1p", c.exp(gap));
    return c.where(same, x, c.add(high, tail));
  })};
}

// The .Tensor overload takes numbers, too.
Results decompose_scalar_tensor(Builder& b, Node& node) {
  const std::string_view name = node.op->name();
  return {b.call(std::string(name.substr(0, name.rfind('.'))) + ".Tensor", node.args())};
}

Results decompose_scalar_remainder(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = promote({node.arg("self"), node.arg("other")});
  return {c.remainder(c.tensor(node.arg("self"), dtype), node.tensor("other"))};
}

// 0 where x is 0 (unless y is NaN), else x * log(y)
Results decompose_xlogy(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.result()->dtype();
  Value* x = b.cast(c.tensor(node.arg(0), dtype), dtype);
  Value* y = b.cast(c.tensor(node.arg(1), dtype), dtype);
  Value* out = c.where(c.compare("eq", x, 0), 0.0, c.mul(x, c.log(y)), dtype);
  return {c.where(c.unary("aten.isnan", y), y, out, dtype)};
}

// NaN gives 0, as negative numbers do.
Results decompose_heaviside(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* step = b.cast(c.compare("gt", x, 0), x->dtype());
  return {c.where(c.compare("eq", x, 0), node.arg("values"), step, x->dtype())};
}

Results decompose_copysign(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.result()->dtype();
  Value* x = b.cast(node.tensor("self"), dtype);
  Value* y = b.cast(c.tensor(node.arg("other"), dtype), dtype);
  Value* negative = c.logical_or(c.compare("lt", y, 0), c.compare("lt", c.unary("aten.reciprocal", y), 0));
  return {c.where(negative, c.neg(c.abs(x)), c.abs(x))};
}

// other - alpha * self
Results decompose_rsub_tensor(Builder& b, Node& node) {
  if (is_number(node.arg("other"))) return {b.call("aten.rsub.Scalar", node.args())};
  return {b.call("aten.sub.Tensor", {node.arg("other"), node.arg("self"), node.arg("alpha")})};
}

// x.copy_(y): y with the dtype and sizes of x
void infer_copy(Node& node) {
  const Value* x = node.tensor("self");
  if (Value* source = tensor_or_null(node.arg("src"))) broadcast(x->sizes(), source->sizes());
  set_result(node, x->dtype(), x->sizes());
}
Results decompose_copy(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  Value* source = Compose(b).tensor(node.arg("src"), x->dtype());
  return {b.expand(b.cast(source, x->dtype()), x->sizes())};
}

Results decompose_isclose(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("other");
  Value* close = c.compare("eq", x, y);
  if (!is_floating(x->dtype()) && node.real("rtol") == 0 && node.real("atol") == 0) return {close};
  if (is_floating(x->dtype()) && node.boolean("equal_nan")) {
    close = c.logical_or(close, c.logical_and(c.unary("aten.isnan", x), c.unary("aten.isnan", y)));
  }
  if (x->dtype() == DType::boolean) {
    x = b.cast(x, DType::f32);
    y = b.cast(y, DType::f32);
  }
  Value* bound = c.add(c.abs(c.mul(y, node.real("rtol"))), node.real("atol"));
  Value* gap = c.abs(c.sub(x, y));
  Value* finite = c.compare("ne", gap, std::numeric_limits<double>::infinity());
  return {c.logical_or(close, c.logical_and(finite, c.compare("le", gap, bound)))};
}

}  // namespace

const OpDef kPointwiseBinaryRows[] = {
    {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_sum, decompose_number_operand,
     "aten::add.out",
     kPointwise | Numbers::wrap | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | Binary::add | curves::add |
         ranges::add | Growth::sum,
     Cases("! f32[2, 3], f32[4]", "f32[5], 3", "i64[3]{=4, 3, 3}, i64[3]{=9, 4, -7}, alpha=-1", "f32[0, 3], f32[1, 3]",
           "bf16[64], bf16[64], alpha=1.003", "bf16[3]{=-1, 2, -3}, f32[]{=1.003}")},
    {"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_sum, decompose_add_scalar,
     "aten::add.Scalar_out",
     kPointwise | Numbers::wrap | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | kNoComplexInStock | Binary::add |
         curves::add | ranges::add | Growth::sum,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true", "bf16[3]{=-1, 2, -3}, 1.003")},
    {"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_sum, decompose_number_operand,
     "aten::sub.out",
     kPointwise | Numbers::wrap | kOverwrites | kAlsoInPlace | kPassesBoth | Binary::sub | curves::sub | ranges::sub |
         Growth::sum,
     Cases("f32[5], 3", "f32[3], i64[3]{=-9, -4, -8}, alpha=-1", "f32[0, 3], f32[1, 3]", "bf16[3]{=1, 2, -3}, 1.003",
           "bf16[64], bf16[64], alpha=1.003")},
    {"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_sum, nullptr,
     "aten::sub.Scalar_out",
     kPointwise | Numbers::wrap | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | kNoComplexInStock | Binary::sub |
         curves::sub | ranges::sub | Growth::sum,
     Cases("f32[5], 3", "f16[5], -2", "f32[33]{special}, 0.5")},
    {"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::mul.out",
     kPointwise | Numbers::wrap | kCommutative | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | Binary::mul |
         curves::mul | ranges::mul | Growth::product,
     Cases("f32[5], 3", "f32[0, 3], f32[1, 3]", "i64[225]{special}, i64[225]{special}",
           "f16[2]{=0.5, 2}, i64[2]{=70000, 3}", "f16[2]{=0.5, 2}, i64[1]{=70000}", "f32[]{=70000}, f16[2]{=0.5, 2}")},
    {"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr, "aten::mul.Scalar_out",
     kPointwise | Numbers::wrap | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | kNoComplexInStock | Binary::mul |
         curves::mul | ranges::mul | Growth::product | kPartwise,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true")},
    {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_number_operand,
     "aten::div.out",
     kPointwise | kOverwrites | kAlsoInPlace | kDependsOnZeroSignOf1 | kScores | Binary::div | curves::div |
         passing::quotient | ranges::div,
     Cases("f32[5], 3", "f32[0, 3], f32[1, 3]", "f16[5], -2", "f16[2]{=1000, 3}, i64[2]{=70000, 3}",
           "f16[2]{=1000, 3}, i64[1]{=70000}", "f32[]{=70000}, f16[2]{=2, 5}")},
    {"aten::div.Scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, nullptr, "aten::div.Scalar_out",
     kPointwise | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | kNoComplexInStock | Binary::div | curves::div |
         ranges::div,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true")},
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", infer_divide_mode,
     decompose_divide_mode, "aten::div.out_mode",
     kPointwise | Numbers::wrap | kAlsoInPlace | kPassesNan | kDependsOnZeroSignOf1 | kDependsOnSubnormals |
         ranges::div,
     Cases("f32[3, 4], f32[3, 4], rounding_mode=floor", "f16[6], f16[6], rounding_mode=None",
           "f32[33]{special}, f32[]{=2}, rounding_mode=trunc", "bf16[3]{=3, 7, -3}, f32[]{=1.003}, rounding_mode=trunc",
           "bf16[3]{=3, -1, 8}, bf16[3]{=0.6015625, -0.3, 2}, rounding_mode=trunc",
           "bf16[2]{=7, 3}, bf16[1]{=0.1}, rounding_mode=trunc")},
    {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", infer_divide_mode,
     decompose_divide_mode, "aten::div.Scalar_mode_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | kPassesNan | kDependsOnSubnormals | ranges::div,
     Cases("f32[6], 0.75, rounding_mode=None", "i64[6]{=-1, 2, 8, -5, -7, -8}, -4, rounding_mode=floor",
           "f32[6], 0.75, rounding_mode=trunc", "bf16[3]{=-2.09375, 2.59375, 7}, 0.1, rounding_mode=trunc")},
    {"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_sum, nullptr,
     "aten::rsub.Scalar_out",
     kPointwise | Numbers::wrap | kPassesBoth | kNoNegativeZero | Binary::rsub | curves::rsub | ranges::rsub |
         Growth::sum,
     Cases("f32[5], 3", "f16[5], -2", "f32[3], 2, 3", "bf16[3]{=1, 2, -3}, 1.003, 1.003")},
    {"aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_sum, decompose_rsub_tensor,
     nullptr, kPointwise | Numbers::wrap | kPassesBoth | Binary::rsub | curves::rsub | ranges::rsub | Growth::sum,
     Cases("f32[3, 4], f32[4]", "i64[3], i64[3], alpha=2")},
    {"aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_remainder,
     "aten::remainder.Tensor_out",
     kPointwise | Numbers::wrap | kKeepsZero | curves::remainder | kAlsoInPlace | ranges::modulo,
     Cases("f32[5], f32[]", "i8[7], i8[7]", "f32[0, 3], f32[1, 3]")},
    {"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast, decompose_scalar_remainder,
     nullptr, kPointwise | Numbers::wrap | ranges::unknown,
     Cases("5, f32[3, 4]{range=1.1..4.6}", "7, i64[3, 4]{range=1..9}")},
    {"aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, decompose_remainder,
     "aten::remainder.Scalar_out",
     kPointwise | Numbers::wrap | kKeepsZero | curves::remainder | kAlsoInPlace | ranges::modulo,
     Cases("f32[5], 3", "f16[5], -2", "i32[3, 4]{index<7}, 4", "bf16[3]{=1, 2, -3}, 0.1")},
    {"aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::fmod.Tensor_out", kPointwise | Numbers::wrap | kKeepsZero | curves::fmod | kAlsoInPlace | ranges::modulo,
     Cases("f32[], f32[2, 2]", "i8[7], i8[7]{range=1..5}", "f32[0, 3], f32[1, 3]")},
    {"aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr, "aten::fmod.Scalar_out",
     kPointwise | Numbers::wrap | kKeepsZero | curves::fmod | kAlsoInPlace | ranges::modulo,
     Cases("f32[5], 3", "f16[5], -2", "i64[3, 4], 3", "bf16[3]{=1, 2, -3}, 0.1")},
    {"aten::floor_divide(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_floor_divide,
     "aten::floor_divide.out",
     kPointwise | Numbers::wrap | kDependsOnZeroSignOf1 | kDependsOnSubnormals | ranges::floor_divide,
     Cases("f32[5], 3", "f32[0, 3], f32[1, 3]", "f16[5], -2", "bf16[3]{=3, 7, -3}, f32[]{=1.003}")},
    {"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, decompose_floor_divide, nullptr,
     kPointwise | Numbers::wrap | kAlsoInPlace | kDependsOnSubnormals | ranges::floor_divide,
     Cases("i64[4], 3", "f32[4], 0.5")},
    {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", infer_broadcast, decompose_pow,
     "aten::pow.Tensor_Tensor_out", kPointwise | kDependsOnZeroSign | ranges::unknown,
     Cases("f32[2, 3], f32[3]", "f16[7], f16[7]", "f32[0, 3], f32[1, 3]", "c64[2, 3], c64[3]", "f64[3], c64[2, 1]")},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", infer_power, decompose_pow_scalar,
     "aten::pow.Tensor_Scalar_out", kPointwise | curves::pow | passing::pow | ranges::pow,
     Cases("f32[5], 3", "f16[5], -2", "i64[3, 4], 2", "c64[5], 3", "c64[5], 2.5", "c128[5], 0.5")},
    {"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", infer_broadcast, decompose_pow, "aten::pow.Scalar_out",
     kPointwise | Numbers::wrap | kMayUnderflow | ranges::unknown,
     Cases("2, f32[5]", "-2, f32[5]", "2, f32[3, 4]", "2, c64[5]", "1.0, c64[3]", "0.1, bf16[3]{=-20, 8, 10}")},
    {"aten::atan2(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_number_operand, "aten::atan2.out",
     kPointwise | kAlsoInPlace | kDependsOnZeroSign,
     Cases("f32[2, 3], f32[3]", "i8[7], i8[7]", "f32[0, 3], f32[1, 3]", "f16[2]{=600, 2}, f32[]{=70000}",
           "f16[2]{=600, 2}, i64[2]{=70000, 3}")},
    {"aten::maximum(Tensor self, Tensor other) -> Tensor", infer_ordered, decompose_number_operand, "aten::maximum.out",
     kPointwise | kKeepsZero | kPassesNan | ranges::maximum | Growth::keeps,
     Cases("f32[5], f32[]", "i8[7], i8[7]", "f32[0, 3], f32[1, 3]")},
    {"aten::minimum(Tensor self, Tensor other) -> Tensor", infer_ordered, decompose_number_operand, "aten::minimum.out",
     kPointwise | kKeepsZero | kPassesNan | kScores | ranges::minimum | Growth::keeps,
     Cases("f32[5], f32[]", "i8[7], i8[7]", "f32[0, 3], f32[1, 3]")},
    {"aten::fmax(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_fmax, "aten::fmax.out",
     kPointwise | kKeepsZero | kNoStock, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::fmin(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_fmin, "aten::fmin.out",
     kPointwise | kKeepsZero | kNoStock, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_number_operand,
     "aten::eq.Tensor_out", kPointwise | Numbers::wrap | kCommutative | kAlsoInPlace | kTestsForNan | Binary::eq,
     Cases("f32[5], f32[]", "i8[7], i8[7]", "f32[0, 3], f32[1, 3]", "bf16[3]{=0.1, 1.003, 256}, f32[]{=0.1}")},
    {"aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", infer_compare, nullptr, "aten::eq.Scalar_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | Binary::eq,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true", "bf16[3]{=0.1, 1.003, 2}, 0.1")},
    {"aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_number_operand,
     "aten::ne.Tensor_out", kPointwise | Numbers::wrap | kCommutative | kAlsoInPlace | kTestsForNan | Binary::ne,
     Cases("f32[], f32[2, 2]", "i8[7], i8[7]", "f16[2, 3], f32[2, 3]")},
    {"aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", infer_compare, nullptr, "aten::ne.Scalar_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | Binary::ne,
     Cases("f32[5], 3", "f16[5], -2", "i64[3, 4], 1", "bf16[3]{=0.1, 1.003, 2}, 0.1")},
    {"aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_number_operand,
     "aten::lt.Tensor_out", kPointwise | Numbers::wrap | kAlsoInPlace | Binary::lt,
     Cases("f32[], f32[2, 2]", "i8[7], i8[7]", "f16[2, 3], f32[2, 3]", "bf16[3]{=0.1, 1.003, 256}, f32[]{=0.1}")},
    {"aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", infer_compare, nullptr, "aten::lt.Scalar_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | Binary::lt,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true", "bf16[3]{=0.1, 1.003, 2}, 0.1")},
    {"aten::le.Tensor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_number_operand,
     "aten::le.Tensor_out", kPointwise | Numbers::wrap | kAlsoInPlace | Binary::le,
     Cases("f32[2, 3], f32[3]", "f64[7], f64[7]", "f16[2, 3], f32[2, 3]")},
    {"aten::le.Scalar(Tensor self, Scalar other) -> Tensor", infer_compare, nullptr, "aten::le.Scalar_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | Binary::le,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true", "bf16[3]{=0.1, 1.003, 2}, 0.1")},
    {"aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_number_operand,
     "aten::gt.Tensor_out", kPointwise | Numbers::wrap | kAlsoInPlace | Binary::gt,
     Cases("f32[], f32[2, 2]", "i8[7], i8[7]", "f16[2, 3], f32[2, 3]")},
    {"aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", infer_compare, nullptr, "aten::gt.Scalar_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | Binary::gt,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true", "bf16[3]{=0.1, 1.003, 2}, 0.1")},
    {"aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_number_operand,
     "aten::ge.Tensor_out", kPointwise | Numbers::wrap | kAlsoInPlace | Binary::ge,
     Cases("f32[2, 3], f32[3]", "i8[7], i8[7]", "f16[2, 3], f32[2, 3]")},
    {"aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", infer_compare, nullptr, "aten::ge.Scalar_out",
     kPointwise | Numbers::wrap | kAlsoInPlace | Binary::ge,
     Cases("f32[5], 3", "f16[5], -2", "bool[5], true", "bf16[3]{=0.1, 1.003, 2}, 0.1")},
    {"aten::logical_and(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_logical,
     "aten::logical_and.out", kPointwise | kCommutative | kAlsoInPlace | Binary::conjunction,
     Cases("f32[2, 3], f32[3]", "i8[7], i8[7]", "f32[0, 3], f32[1, 3]")},
    {"aten::logical_or(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_logical, "aten::logical_or.out",
     kPointwise | kCommutative | kAlsoInPlace | Binary::disjunction,
     Cases("f32[2, 3], f32[3]", "i8[7], i8[7]", "f16[2, 3], f32[2, 3]")},
    {"aten::logical_xor(Tensor self, Tensor other) -> Tensor", infer_compare, decompose_logical,
     "aten::logical_xor.out", kPointwise | kCommutative | kAlsoInPlace,
     Cases("f32[], f32[2, 2]", "i8[7], i8[7]", "f16[2, 3], f32[2, 3]")},
    {"aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::bitwise_and.Tensor_out", kPointwise | Numbers::wrap | kCommutative | kAlsoInPlace | Binary::conjunction,
     Cases("bool[2, 3], bool[3]", "i64[3, 4], i64[3, 4]{index<10}", "bool[2, 2], i64[2, 2]{=-3, 2, 4, 6}")},
    {"aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr,
     "aten::bitwise_and.Scalar_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("bool[5], 3", "u8[5]{=1, 3, 8, 9, 0}, true", "i64[5]{=-8, 8, -5, -8, 4}, 3")},
    {"aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast, decompose_scalar_tensor,
     nullptr, kPointwise | Numbers::wrap, Cases("6, i64[3, 4]{range=1..9}", "3, bool[4]")},
    {"aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::bitwise_or.Tensor_out", kPointwise | Numbers::wrap | kCommutative | kAlsoInPlace | Binary::disjunction,
     Cases("bool[2, 3], bool[3]", "i64[3, 4], i64[3, 4]{index<10}", "bool[2, 2], i64[2, 2]{=-9, -9, -8, -8}")},
    {"aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr,
     "aten::bitwise_or.Scalar_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("bool[5], 3", "u8[5]{=9, 0, 5, 9, 5}, true", "i32[5]{=-9, 4, -7, -3, 1}, 3")},
    {"aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast, decompose_scalar_tensor,
     nullptr, kPointwise | Numbers::wrap, Cases("6, u8[3, 4]")},
    {"aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::bitwise_xor.Tensor_out", kPointwise | Numbers::wrap | kCommutative | kAlsoInPlace,
     Cases("bool[2, 3], bool[3]", "i64[3, 4], i64[3, 4]{index<10}", "bool[2, 2], i64[2, 2]{=2, -7, -1, -2}")},
    {"aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr,
     "aten::bitwise_xor.Scalar_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("bool[5], 3", "u8[5]{=6, 0, 8, 0, 9}, true", "i64[5]{=-3, 7, 3, 0, 5}, 3")},
    {"aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast, decompose_scalar_tensor,
     nullptr, kPointwise | Numbers::wrap, Cases("-3, i8[3, 4]")},
    {"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::bitwise_left_shift.Tensor_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("i64[3, 4], i64[3, 4]{index<10}")},
    {"aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr,
     "aten::bitwise_left_shift.Tensor_Scalar_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("i64[4]{index<9}, 2")},
    {"aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast,
     decompose_scalar_tensor, nullptr, kPointwise | Numbers::wrap,
     Cases("1, i64[3, 4]{index<10}", "3, u8[4]{index<7}")},
    {"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_number_operand,
     "aten::bitwise_right_shift.Tensor_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("i64[3, 4], i64[3, 4]{index<10}")},
    {"aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr,
     "aten::bitwise_right_shift.Tensor_Scalar_out", kPointwise | Numbers::wrap | kAlsoInPlace,
     Cases("i64[4]{index<99}, 2", "i8[4], 1")},
    {"aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast,
     decompose_scalar_tensor, nullptr, kPointwise | Numbers::wrap, Cases("1000, i32[3, 4]{index<10}")},
    {"aten::hypot(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_hypot, "aten::hypot.out",
     kPointwise | kKeepsZero | kNoStock | kCommutative | kAlsoInPlace | kPassesInfinity | ranges::hypot,
     Cases("f32[3, 4], f32[3, 4]", "f32[]{=3}, bf16[2]{=4, 5}", "f32[4]{=inf, nan, -inf, nan}, f32[4]{=nan, 3, 1, nan}",
           "f16[4]{=nan, 60000, inf, 1}, f16[4]{=-inf, 60000, nan, nan}")},
    {"aten::logaddexp(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_logaddexp, nullptr,
     kPointwise | kCommutative | kPassesNan | ranges::logaddexp,
     Cases("f32[3, 4], f32[3, 4]", "bf16[2]{=-0.6953125, 1}, f32[]{=-0.6895}")},
    {"aten::logaddexp2(Tensor self, Tensor other) -> Tensor", infer_broadcast, decompose_logaddexp, nullptr,
     kPointwise | kCommutative, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_xlogy, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[3, 4], f32[3, 4]{range=1.1..4.6}")},
    {"aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", infer_true_divide, decompose_xlogy, nullptr,
     kPointwise, Cases("2.0, f32[3, 4]{range=1.1..4.6}")},
    {"aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_xlogy, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[3, 4], 2.0")},
    {"aten::special_xlogy(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_xlogy, nullptr,
     kPointwise, Cases("f32[3, 4], f32[3, 4]{range=1.1..4.6}")},
    {"aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", infer_true_divide, decompose_xlogy,
     nullptr, kPointwise, Cases("2.0, f32[3, 4]{range=1.1..4.6}")},
    {"aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_xlogy,
     nullptr, kPointwise, Cases("f32[3, 4], 2.0")},
    {"aten::heaviside(Tensor self, Tensor values) -> Tensor", infer_broadcast, decompose_heaviside, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[8], f32[8]", "f32[3, 4], f32[]{=0.5}", "f32[7]{special}, f32[7]")},
    {"aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_copysign,
     "aten::copysign.out", kPointwise | kKeepsZero | kNoStock | kAlsoInPlace | kDependsOnZeroSignOf1,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_copysign, nullptr,
     kPointwise | kKeepsZero | kAlsoInPlace, Cases("f32[4], -1", "i64[4], 2.0")},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", infer_copy, decompose_copy, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[2, 3], f16[2, 1]")},
    {"aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool "
     "equal_nan=False) -> Tensor",
     infer_compare, decompose_isclose, nullptr, kPointwise,
     Cases("f32[3, 4], f32[3, 4]", "f32[4]{=1, 2, 3, inf}, f32[4]{=1, 2.5, 4, inf}, 0.22")},
};
const size_t kPointwiseBinaryCount = std::size(kPointwiseBinaryRows);

}  // namespace wick::compiler
