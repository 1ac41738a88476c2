// Special functions of torch.special, and number theory.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

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
  return {c.mul(self(node), b.call("aten.pow.Scalar", {2.0, b.cast(other, float_dtype(other->dtype()))}))};
}
// In double, whatever the operands.
Results decompose_float_power(Builder& b, Node& node) {
  Compose c(b);
  auto wide = [&](const char* name) -> Arg {
    if (Value* x = tensor_or_null(node.arg(name))) {
      require(!is_complex(x->dtype()), "float_power of complex numbers is not supported");
      return b.cast(x, DType::f64);
    }
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
Results decompose_polygamma(Builder& b, Node& node) { return {b.call("aten.polygamma", {node.arg("n"), self(node)})}; }

}  // namespace

#define UNARY(name) \
  {"aten::" name "(Tensor self) -> Tensor", infer_float_unary, nullptr, "aten::" name ".out", kNoStock}
#define BINARY(name, infer) \
  {"aten::" name "(Tensor self, Tensor other) -> Tensor", infer, nullptr, "aten::" name ".out", kNoStock}
const OpDef kSpecialRows[] = {
    UNARY("digamma"),
    UNARY("lgamma"),
    UNARY("erfinv"),
    UNARY("special_ndtri"),
    UNARY("special_erfcx"),
    UNARY("special_log_ndtr"),
    UNARY("i0"),
    UNARY("special_i0e"),
    UNARY("special_i1"),
    UNARY("special_i1e"),
    UNARY("special_modified_bessel_k0"),
    UNARY("special_modified_bessel_k1"),
    {"aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", infer_first_argument, nullptr,
     "aten::special_scaled_modified_bessel_k0.out", kNoStock},
    {"aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", infer_first_argument, nullptr,
     "aten::special_scaled_modified_bessel_k1.out", kNoStock},
    UNARY("special_bessel_j0"),
    UNARY("special_bessel_j1"),
    UNARY("special_bessel_y0"),
    UNARY("special_bessel_y1"),
    UNARY("special_ndtr"),
    {"aten::special_spherical_bessel_j0(Tensor x) -> Tensor", infer_first_argument, nullptr,
     "aten::special_spherical_bessel_j0.out", kNoStock},
    BINARY("special_zeta", infer_true_divide),
    BINARY("igamma", infer_broadcast),
    BINARY("igammac", infer_broadcast),
    BINARY("gcd", infer_broadcast),
    BINARY("lcm", infer_broadcast),
    BINARY("nextafter", infer_broadcast),
    {"aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_zeta},
    {"aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", infer_true_divide, decompose_zeta},
    {"aten::polygamma(int n, Tensor self) -> Tensor", infer_polygamma, nullptr, "aten::polygamma.out", kNoStock},
    {"aten::special_polygamma(int n, Tensor self) -> Tensor", infer_polygamma, decompose_polygamma},
    {"aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", infer_frexp, nullptr,
     "aten::frexp.Tensor_out", kNoStock},
    {"aten::special_entr(Tensor self) -> Tensor", infer_float_unary, decompose_entr},
    {"aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", infer_true_divide, decompose_xlog1py},
    {"aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", infer_true_divide, decompose_xlog1py},
    {"aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", infer_true_divide, decompose_xlog1py},
    {"aten::mvlgamma(Tensor self, int p) -> Tensor", nullptr, decompose_mvlgamma},
    {"aten::special_multigammaln(Tensor self, int p) -> Tensor", nullptr, decompose_mvlgamma},
    {"aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_ldexp},
    {"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", nullptr, decompose_float_power},
    {"aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", nullptr, decompose_float_power},
    {"aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", nullptr, decompose_float_power},
    {"aten::isreal(Tensor self) -> Tensor", nullptr, decompose_isreal},
};
#undef UNARY
#undef BINARY
const size_t kSpecialCount = std::size(kSpecialRows);

}  // namespace wick::compiler
