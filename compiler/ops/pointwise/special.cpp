// Special functions of torch.special, and number theory.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

Value* self(Node& node) { return node.tensor("self"); }

void infer_polygamma(Node& node) {
  const int64_t order = node.static_integer("n");
  require(order >= 0, "polygamma: the order is negative");
  set_result(node, float_dtype(self(node)->dtype()), self(node)->sizes());
}
void infer_first_argument(Node& node) {
  const Value* x = node.tensor("x");
  set_result(node, float_dtype(x->dtype()), x->sizes());
}
void infer_frexp(Node& node) {
  const Value* x = self(node);
  require(is_floating(x->dtype()), "frexp takes floating tensors");
  set_result(node, 0, x->dtype(), x->sizes());
  set_result(node, 1, DType::i32, x->sizes());
}

// -x log x; 0 at 0, -inf below
Results decompose_entr(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, self(node), [&](Value* x) {
    Value* above = c.mul(c.neg(x), c.log(x));
    Value* out = c.where(c.compare("lt", x, 0), -std::numeric_limits<double>::infinity(), above, x->dtype());
    return c.where(c.compare("eq", x, 0), 0.0, out, x->dtype());
  })};
}
// x log1p(y): 0 where x is 0, unless y is NaN
Results decompose_xlog1py(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = float_dtype(promote({node.arg("self"), node.arg("other")}));
  Value *x = b.cast(c.tensor(node.arg("self"), dtype), dtype), *y = b.cast(c.tensor(node.arg("other"), dtype), dtype);
  Value* out = c.mul(x, c.unary("aten.log1p", y));
  Value* zero = c.where(c.unary("aten.isnan", y), y, 0.0, dtype);
  return {c.where(c.compare("eq", x, 0), zero, out, dtype)};
}
// p (p - 1) / 4 log pi + the sum of lgamma(x + (1 - j) / 2) over j = 1 .. p
Results decompose_mvlgamma(Builder& b, Node& node) {
  Compose c(b);
  const int64_t p = node.static_integer("p");
  require(p > 0 && p < 1024, "mvlgamma: p is out of range");
  Value* x = b.cast(self(node), float_dtype(self(node)->dtype()));
  Value* sum = nullptr;
  for (int64_t j = 1; j <= p; ++j) {
    Value* term = c.unary("aten.lgamma", j == 1 ? x : c.add(x, static_cast<double>(1 - j) / 2));
    sum = sum ? c.add(sum, term) : term;
  }
  return {c.add(sum, static_cast<double>(p * (p - 1)) / 4 * 1.1447298858494001741)};
}
Results decompose_ldexp(Builder& b, Node& node) {
  Compose c(b);
  Value* other = node.tensor("other");
  Value* power = b.call("aten.pow.Scalar", {2.0, b.cast(other, float_dtype(other->dtype()))});
  const DType dtype = self(node)->dtype();
  // Computes 16-bit floats in f32: in f16 the power may overflow although the product does not.
  if (is_16_bit(dtype) && !is_floating(other->dtype()))
    return {b.cast(c.mul(b.cast(self(node), DType::f32), power), dtype)};
  return {c.mul(self(node), is_floating(dtype) && !is_floating(other->dtype()) ? b.cast(power, dtype) : power)};
}
// (1 + erf(x / sqrt(2))) / 2 in eager's steps. Eager rounds each step in 16-bit floats: in bf16 the result is 0 below
// -3.5.
Results decompose_ndtr(Builder& b, Node& node) {
  Compose c(b);
  if (!is_16_bit(self(node)->dtype())) return {};
  return {c.mul(c.add(c.unary("aten.erf", c.div(self(node), std::sqrt(2.0))), 1), 0.5)};
}
// Computes in f64 (c128 for complex numbers), whatever the dtypes of the operands.
Results decompose_float_power(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = is_complex(promote({node.arg("self"), node.arg("exponent")})) ? DType::c128 : DType::f64;
  auto wide = [&](const char* name) -> Arg {
    if (Value* x = tensor_or_null(node.arg(name))) return b.cast(x, dtype);
    return node.real(name);
  };
  const Arg x = wide("self"), y = wide("exponent");
  if (!tensor_or_null(x)) return {b.call("aten.pow.Scalar", {x, y})};
  return {b.call(tensor_or_null(y) ? "aten.pow.Tensor_Tensor" : "aten.pow.Tensor_Scalar", {x, y})};
}
Results decompose_isreal(Builder& b, Node& node) {
  Compose c(b);
  if (!is_complex(self(node)->dtype())) return {b.full(self(node)->sizes(), true, DType::boolean)};
  return {c.compare("eq", c.call("aten.imag", {self(node)}), 0)};
}
Results decompose_zeta(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = float_dtype(promote({node.arg("self"), node.arg("other")}));
  return {b.call("aten.special_zeta", {c.tensor(node.arg("self"), dtype), c.tensor(node.arg("other"), dtype)})};
}
Results decompose_polynomial(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = float_dtype(promote({node.arg("x"), node.arg("n")}));
  std::string_view name = node.op->name();
  name = name.substr(0, name.rfind('.'));
  return {b.call(std::string(name) + ".default", {c.tensor(node.arg("x"), dtype), c.tensor(node.arg("n"), dtype)})};
}
Results decompose_polygamma(Builder& b, Node& node) { return {b.call("aten.polygamma", {node.arg("n"), self(node)})}; }

}  // namespace

#define UNARY(name, ...) CURVE(name, kPure, __VA_ARGS__)
// A row with facts. Functions that have poles or are not defined everywhere need ranges::unknown.
#define CURVE(name, facts, ...)                                                                \
  {                                                                                            \
    "aten::" name "(Tensor self) -> Tensor", infer_float_unary, nullptr, "aten::" name ".out", \
        kPointwise | kNoStock | kNoComplexInStock | (facts), {                                 \
      __VA_ARGS__                                                                              \
    }                                                                                          \
  }
#define BINARY(name, infer, flags, ...)                                                          \
  {                                                                                              \
    "aten::" name "(Tensor self, Tensor other) -> Tensor", infer, nullptr, "aten::" name ".out", \
        kPointwise | kNoStock | (flags), {                                                       \
      __VA_ARGS__                                                                                \
    }                                                                                            \
  }
#define POLYNOMIAL(name, ...)                                                                                          \
  {"aten::special_" name "(Tensor x, Tensor n) -> Tensor",                                                             \
   infer_true_divide,                                                                                                  \
   nullptr,                                                                                                            \
   "aten::special_" name ".out",                                                                                       \
   kPointwise | kNoStock,                                                                                              \
   {"f64[3, 8]{range=-2..2}, i64[8]{=0, 1, 2, 5, 6, 7, 9, -1}", "f32[3, 4]{range=-1..1}, f32[4]{=0, 1, 3.5, 6}",       \
    "f32[2, 9], f32[9]{=-2.5, -1, -0.5, -0.0, 0.5, 1.5, 2.9, nan, inf}",                                               \
    "f64[12]{=0, 1, -1, 0, 1, -1, 0.5, 0.25, inf, -inf, nan, 1}, i64[12]{=11, 11, 11, 12, 12, 12, 30, 9, 2, 3, 4, "    \
    "1}"}},                                                                                                            \
      {"aten::special_" name ".x_scalar(Scalar x, Tensor n) -> Tensor",                                                \
       infer_true_divide,                                                                                              \
       decompose_polynomial,                                                                                           \
       nullptr,                                                                                                        \
       kPointwise,                                                                                                     \
       {"0.5, i64[4]{=0, 1, 4, 5}"}},                                                                                  \
  {                                                                                                                    \
    "aten::special_" name ".n_scalar(Tensor x, Scalar n) -> Tensor", infer_true_divide, decompose_polynomial, nullptr, \
        kPointwise, {"f32[3, 4]{range=-2..2}, 4"}                                                                      \
  }
const OpDef kSpecialRows[] = {
    {"aten::special_airy_ai(Tensor x) -> Tensor", infer_first_argument, nullptr, "aten::special_airy_ai.out",
     kPointwise | kNoStock,
     Cases("f32[3, 4]{range=-2..3}", "f64[16]{range=-2..2}", "f64[20]{range=-30..-5.5}", "f64[20]{range=2.2..12}",
           "f64[6]{=0, inf, -inf, nan, 200, 1e-300}")},
    POLYNOMIAL("chebyshev_polynomial_t"),
    POLYNOMIAL("chebyshev_polynomial_u"),
    POLYNOMIAL("chebyshev_polynomial_v"),
    POLYNOMIAL("chebyshev_polynomial_w"),
    POLYNOMIAL("shifted_chebyshev_polynomial_t"),
    POLYNOMIAL("shifted_chebyshev_polynomial_u"),
    POLYNOMIAL("shifted_chebyshev_polynomial_v"),
    POLYNOMIAL("shifted_chebyshev_polynomial_w"),
    POLYNOMIAL("hermite_polynomial_h"),
    POLYNOMIAL("hermite_polynomial_he"),
    POLYNOMIAL("laguerre_polynomial_l"),
    POLYNOMIAL("legendre_polynomial_p"),

    CURVE("digamma", kAlsoInPlace | kDependsOnZeroSign | ranges::unknown, "f32[3, 4]{range=1.1..4.6}"),
    CURVE("lgamma", kAlsoInPlace | kDependsOnSubnormals | ranges::unknown, "f32[3, 4]{range=1.1..4.6}"),
    CURVE("erfinv", kAlsoInPlace | ranges::unknown, "f32[3, 4]{range=-1..1}"),
    CURVE("special_ndtri", ranges::unknown, "f32[3, 4]{range=0.069..0.9}"),
    CURVE("special_erfcx", ranges::unknown, "f32[3, 4]"),
    UNARY("special_log_ndtr", "f32[3, 4]"),
    CURVE("i0", kAlsoInPlace, "f32[3, 4]", "f32[]{=12}", "f32[4]{range=0..11.4}"),
    UNARY("special_i0e", "f32[3, 4]"),
    UNARY("special_i1", "f32[3, 4]"),
    UNARY("special_i1e", "f32[3, 4]"),
    CURVE("special_modified_bessel_k0", ranges::unknown, "f32[3, 4]{range=1.1..4.6}"),
    CURVE("special_modified_bessel_k1", ranges::unknown, "f32[3, 4]{range=1.1..4.6}"),
    {"aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", infer_first_argument, nullptr,
     "aten::special_scaled_modified_bessel_k0.out", kPointwise | kNoStock | ranges::unknown,
     Cases("f32[3, 4]{range=1.1..4.6}")},
    {"aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", infer_first_argument, nullptr,
     "aten::special_scaled_modified_bessel_k1.out", kPointwise | kNoStock | ranges::unknown,
     Cases("f32[3, 4]{range=1.1..4.6}")},
    UNARY("special_bessel_j0", "f32[3, 4]"),
    UNARY("special_bessel_j1", "f32[3, 4]"),
    CURVE("special_bessel_y0", ranges::unknown, "f32[3, 4]{range=1.1..4.6}"),
    CURVE("special_bessel_y1", ranges::unknown, "f32[3, 4]{range=1.1..4.6}"),
    {"aten::special_ndtr(Tensor self) -> Tensor", infer_float_unary, decompose_ndtr, "aten::special_ndtr.out",
     kPointwise | kNoStock | kNoComplexInStock, Cases("f32[3, 4]", "f32[20]{range=-14..-2}")},
    {"aten::special_spherical_bessel_j0(Tensor x) -> Tensor", infer_first_argument, nullptr,
     "aten::special_spherical_bessel_j0.out", kPointwise | kNoStock, Cases("f32[3, 4]")},
    BINARY("special_zeta", infer_true_divide, ranges::unknown,
           "f32[3, 4]{range=2.6..6.1}, f32[3, 4]{range=0.069..0.9}"),
    BINARY("igamma", infer_broadcast, ranges::unknown, "f32[3, 4]{range=1.1..4.6}, f32[3, 4]{range=0.069..0.9}"),
    BINARY("igammac", infer_broadcast, ranges::unknown, "f32[3, 4]{range=1.1..4.6}, f32[3, 4]{range=0.069..0.9}"),
    BINARY("gcd", infer_broadcast, kCommutative | kAlsoInPlace, "i64[3, 4], i64[3, 4]{index<10}"),
    BINARY("lcm", infer_broadcast, kCommutative | kAlsoInPlace, "i64[3, 4], i64[3, 4]{index<10}"),
    BINARY("nextafter", infer_broadcast, kAlsoInPlace, "f32[3, 4], f32[3, 4]"),
    {"aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_zeta, nullptr,
     kPointwise, Cases("f32[4]{range=1.5..5}, 2.0")},
    {"aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", infer_true_divide, decompose_zeta, nullptr,
     kPointwise, Cases("2.5, f32[4]{range=0.5..5}")},
    {"aten::polygamma(int n, Tensor self) -> Tensor", infer_polygamma, nullptr, "aten::polygamma.out",
     kPointwise | kDependsOnSubnormals | kNoStock | ranges::unknown, Cases("1, f32[3, 4]{range=1.1..4.6}")},
    {"aten::special_polygamma(int n, Tensor self) -> Tensor", infer_polygamma, decompose_polygamma, nullptr, kPointwise,
     Cases("2, f32[3, 4]{range=1.1..4.6}")},
    {"aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", infer_frexp, nullptr,
     "aten::frexp.Tensor_out", kNoStock, Cases("f32[3, 4]")},
    {"aten::special_entr(Tensor self) -> Tensor", infer_float_unary, decompose_entr, nullptr, kPointwise,
     Cases("f32[8]", "f32[3, 4]{range=0.069..0.9}")},
    {"aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_xlog1py, nullptr,
     kPointwise, Cases("f32[3, 4], f32[3, 4]{range=1.1..4.6}")},
    {"aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_xlog1py,
     nullptr, kPointwise, Cases("f32[4], 2.0")},
    {"aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", infer_true_divide, decompose_xlog1py,
     nullptr, kPointwise, Cases("2.0, f32[4]{range=0..3}")},
    {"aten::mvlgamma(Tensor self, int p) -> Tensor", nullptr, decompose_mvlgamma, nullptr, kAlsoInPlace,
     Cases("f32[3, 4]{range=3.1..6.6}, 3")},
    {"aten::special_multigammaln(Tensor self, int p) -> Tensor", nullptr, decompose_mvlgamma, nullptr, kPure,
     Cases("f32[3, 4]{range=3.1..6.6}, 2")},
    {"aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_ldexp, nullptr, kPure,
     Cases("f32[3, 4], i64[3, 4]")},
    {"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", nullptr, decompose_float_power, nullptr,
     kPure, Cases("f32[3, 4], i64[3, 4]", "f64[3, 4], i64[3, 4]")},
    {"aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", nullptr, decompose_float_power, nullptr,
     kPure, Cases("f32[3, 4]{range=1.1..4.6}, 2.5")},
    {"aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", nullptr, decompose_float_power, nullptr, kPure,
     Cases("2, f32[4]")},
    {"aten::isreal(Tensor self) -> Tensor", nullptr, decompose_isreal, nullptr, kPure, Cases("f32[3, 4]")},
};
#undef UNARY
#undef POLYNOMIAL
#undef BINARY
const size_t kSpecialCount = std::size(kSpecialRows);

}  // namespace wick::compiler
