// Activation functions.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// A Scalar parameter, as a literal number.
double scalar_number(Node& node, const char* name) { return node.real(name); }

// silu(x) = x * sigmoid(x)
Results decompose_silu(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* x) { return c.mul(x, c.sigmoid(x)); })};
}

// hardswish(x) = x * clamp(x + 3, 0, 6) / 6
Results decompose_hardswish(Builder& b, Node& node) {
  Compose c(b);
  return {
      in_float(b, node.tensor("self"), [&](Value* x) { return c.div(c.mul(x, c.clamp(c.add(x, 3), 0.0, 6.0)), 6); })};
}

Results decompose_hardsigmoid(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* x) { return c.div(c.clamp(c.add(x, 3), 0.0, 6.0), 6); })};
}

void infer_hardtanh(Node& node) {
  infer_same(node);
  require(node.result()->dtype() != DType::boolean, "hardtanh of bool");
}

Results decompose_relu6(Builder& b, Node& node) { return {b.call("aten.hardtanh", {node.tensor("self"), 0.0, 6.0})}; }

Results decompose_selu(Builder& b, Node& node) {
  return {b.call("aten.elu", {node.tensor("self"), 1.6732632423543772848, 1.0507009873554804934, 1.0})};
}

Results decompose_celu(Builder& b, Node& node) {
  const double alpha = scalar_number(node, "alpha");
  require(alpha != 0, "celu: alpha must not be zero");
  return {b.call("aten.elu", {node.tensor("self"), alpha, 1.0, 1.0 / alpha})};
}

// softplus(x) = log1p(exp(beta x)) / beta where beta x <= threshold, else x
Value* softplus(Compose& c, Value* x, double beta, double threshold) {
  Value* scaled = beta == 1 ? x : c.mul(x, beta);
  Value* curve = c.unary("aten.log1p", c.exp(scaled));
  if (beta != 1) curve = c.div(curve, beta);
  return c.where(c.compare("gt", scaled, threshold), x, curve);
}

Results decompose_softplus(Builder& b, Node& node) {
  Compose c(b);
  const double beta = scalar_number(node, "beta"), threshold = scalar_number(node, "threshold");
  return {in_float(b, node.tensor("self"), [&](Value* x) { return softplus(c, x, beta, threshold); })};
}

// mish(x) = x * tanh(log1p(exp(x)))
Results decompose_mish(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* x) {
    return c.mul(x, c.tanh(c.where(c.compare("gt", x, 20.0), x, c.unary("aten.log1p", c.exp(x)))));
  })};
}

Results decompose_hardshrink(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const double lambda = scalar_number(node, "lambd");
  Value* inside = c.logical_and(c.compare("ge", x, -lambda), c.compare("le", x, lambda));
  return {c.where(inside, 0.0, x, x->dtype())};
}

// The middle branch is 0 * x, so that NaN stays NaN.
Results decompose_softshrink(Builder& b, Node& node) {
  Compose c(b);
  const double lambda = half_number(scalar_number(node, "lambd"), node.tensor("self")->dtype());
  const bool is_f64 = node.tensor("self")->dtype() == DType::f64;
  require(lambda >= 0 && std::isfinite(is_f64 ? lambda : static_cast<double>(static_cast<float>(lambda))),
          "softshrink: lambd must be an element of the dtype and not negative");
  return {in_float(b, node.tensor("self"), [&](Value* x) {
    Value* low = c.where(c.compare("lt", x, -lambda), c.add(x, lambda), c.mul(x, 0.0));
    return c.where(c.compare("gt", x, lambda), c.sub(x, lambda), low);
  })};
}

// For 16-bit floats eager's kernel reads the threshold as f32, unlike a comparison.
Results decompose_threshold(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const bool is_half = x->dtype() == DType::f16 || x->dtype() == DType::bf16;
  Value* compared = is_half ? b.cast(x, DType::f32) : x;
  Value* value = b.call("aten.full", {Sizes{}, node.arg("value"), x->dtype()});
  return {c.where(c.compare("le", compared, node.arg("threshold")), value, x, x->dtype())};
}

// prelu(x)_c = x if x > 0 else weight_c * x; channels are dimension 1
Results decompose_prelu(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* weight = node.tensor("weight");
  if (x->rank() >= 2 && weight->rank() == 1) {
    Sizes sizes(x->rank(), Sym(1));
    sizes[1] = weight->sizes()[0];
    weight = b.reshape(weight, std::move(sizes));
  } else if (x->rank() < 2 && weight->rank() == 1) {
    weight = b.reshape(weight, Sizes(x->rank(), Sym(1)));
  }
  return {c.where(c.compare("gt", x, 0), x, c.mul(weight, x))};
}

Results decompose_rrelu(Builder& b, Node& node) {
  if (node.boolean("training")) {  // the noise is a slope for each element x <= 0, and 1 for others
    Compose c(b);
    Value* x = node.tensor("self");
    const double low = scalar_number(node, "lower"), high = scalar_number(node, "upper");
    Value* slope = c.add(c.mul(b.call("aten.rand", {x->sizes(), x->dtype()}), high - low), low);
    Value* noise = c.where(c.compare("le", x, 0), slope, 1.0, x->dtype());
    Results results{c.mul(x, noise), noise};
    results.resize(node.results().size());
    return results;
  }
  const double slope = (scalar_number(node, "lower") + scalar_number(node, "upper")) / 2;
  Value* out = b.call("aten.leaky_relu", {node.tensor("self"), slope});
  if (node.results().size() == 1) return {out};
  return {out, node.tensor("noise")};  // eager writes the noise only in training
}

void infer_glu(Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "glu of a scalar");
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
  Sizes sizes = x->sizes();
  if (sizes[dim].is_const() && sizes[dim].value() % 2 != 0) reject("glu needs an even size");
  sizes[dim] = floor_div(sizes[dim], 2);
  set_result(node, x->dtype(), std::move(sizes));
}

void infer_softmax(Node& node) {
  const Value* x = node.tensor("self");
  wrap_dim(node.static_integer("dim"), x->rank());
  set_result(node, float_dtype(x->dtype()), x->sizes());
}

void infer_softmax_dtype(Node& node) {
  const Value* x = node.tensor("self");
  wrap_dim(node.static_integer("dim"), x->rank());
  set_result(node, node.dtype("dtype").value_or(float_dtype(x->dtype())), x->sizes());
}

// `log` chooses log_softmax; a dtype argument casts first.
Results decompose_any_softmax(Builder& b, Node& node, const char* target) {
  Value* x = node.tensor("self");
  const DType dtype = node.op->parsed->find("dtype") >= 0 ? node.dtype("dtype").value_or(float_dtype(x->dtype()))
                                                          : float_dtype(x->dtype());
  x = b.cast(x, dtype);
  return {b.call(target, {x, wrap_dim(node.static_integer("dim"), x->rank()), false})};
}
Results decompose_softmax(Builder& b, Node& node) { return decompose_any_softmax(b, node, "aten._softmax"); }
Results decompose_log_softmax(Builder& b, Node& node) { return decompose_any_softmax(b, node, "aten._log_softmax"); }

// softmax, but a row whose elements are all -inf gives 0
Results decompose_safe_softmax(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  x = b.cast(x, node.dtype("dtype").value_or(float_dtype(x->dtype())));
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  Value* live = c.any(c.compare("ne", x, -std::numeric_limits<double>::infinity()), {dim}, true);
  return {c.where(live, c.softmax(x, dim), 0.0)};
}

}  // namespace

const OpDef kActivationRows[] = {
    {"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", infer_same, nullptr, "aten::gelu.out",
     kPointwise | kKeepsZero | kAlsoInPlace | kPassesBoth | ranges::gelu | Growth::little,
     Cases("f32[]", "f64[33]{special}, approximate=none", "f16[3, 4]")},
    {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", infer_same, nullptr,
     "aten::elu.out", kPointwise | Numbers::fit_wide | kKeepsZero | kAlsoInPlace | kPassesNan | ranges::elu,
     Cases("f32[2, 3]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", infer_hardtanh, nullptr,
     "aten::hardtanh.out",
     kPointwise | kAlsoInPlace | kPassesNan | kSelectsElements | ranges::clamp | Growth::between |
         Clamp{-1, 1, "min_val", "max_val"},
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", infer_same, nullptr, "aten::leaky_relu.out",
     kPointwise | Numbers::fit_wide | kKeepsZero | kAlsoInPlace | kPassesBoth,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", infer_glu, nullptr, "aten::glu.out", kPassesNan | kKeepsZero,
     Cases("f32[3, 4]", "f32[3, 4], 1")},
    {"aten::silu(Tensor self) -> Tensor", infer_same, decompose_silu, "aten::silu.out",
     kPointwise | kNoStock | kAlsoInPlace | kPassesBoth | kMayUnderflow | ranges::silu | Growth::little,
     Cases("f32[20]{special}", "f16[3, 5]", "f64[7]")},
    {"aten::hardswish(Tensor self) -> Tensor", infer_same, decompose_hardswish, "aten::hardswish.out",
     kPointwise | kKeepsZero | kNoStock | kAlsoInPlace | kPassesBoth | ranges::hardswish | Growth::six_times,
     Cases("f32[20]{special}", "f16[3, 5]", "f64[7]")},
    {"aten::hardsigmoid(Tensor self) -> Tensor", infer_same, decompose_hardsigmoid, "aten::hardsigmoid.out",
     kPointwise | kNoStock | kAlsoInPlace | kPassesNan | ranges::hardsigmoid | Growth::unit,
     Cases("f32[3, 4]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::relu6(Tensor self) -> Tensor", infer_same, decompose_relu6, nullptr,
     kPointwise | kAlsoInPlace | kPassesNan | kSelectsElements | ranges::relu6 | Growth::gate | Clamp{0, 6},
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::selu(Tensor self) -> Tensor", infer_same, decompose_selu, nullptr, kPointwise | kKeepsZero | kAlsoInPlace,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", infer_same, decompose_celu, nullptr,
     kPointwise | Numbers::fit_wide | kKeepsZero | kAlsoInPlace, Cases("f32[2, 3]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", infer_same, decompose_softplus,
     nullptr, kPointwise | kPassesNan | kNonNegative | kMayUnderflow | ranges::softplus | Growth::little,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::mish(Tensor self) -> Tensor", infer_same, decompose_mish, nullptr,
     kPointwise | kAlsoInPlace | kPassesBoth | kMayUnderflow | ranges::mish | Growth::little,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", infer_same, decompose_hardshrink, nullptr,
     kPointwise | Numbers::fit | kKeepsZero,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]", "bf16[4]{=0.1, -0.1, 0.3, 2}, 0.1")},
    {"aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", infer_same, decompose_softshrink, nullptr,
     kPointwise | kKeepsZero, Cases("f32[3, 4]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", infer_same, decompose_threshold, nullptr,
     kPointwise | Numbers::fit_wide | kKeepsZero | kAlsoInPlace,
     Cases("f32[3, 4], 0.5, 2.0", "i64[15]{special}, 2, 9", "f32[33]{special}, 0.5, -7",
           "bf16[4]{=0.1, -0.1, 0.3, 2}, 0.1, 7")},
    {"aten::prelu(Tensor self, Tensor weight) -> Tensor", infer_same, decompose_prelu, nullptr,
     kPassesBoth | kKeepsZero,
     Cases("f32[3, 4], f32[4]", "f32[33]{special}, f32[1]{=0.25}", "f32[1, 4, 6, 8], f32[1]")},
    {"aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", infer_same, decompose_prelu, nullptr,
     kPointwise | kKeepsZero, Cases("f32[2, 3, 4], f32[1, 3, 1]")},
    {"aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? "
     "generator=None) -> Tensor",
     infer_same, decompose_rrelu, nullptr, kRandom | kAlsoInPlace,
     Cases("f32[3, 4], 0.1, 0.3", "f32[8], 0.1, 0.3, false", "f32[8]{range=0..3}, 0.1, 0.3, true",
           "f32[8], 0.25, 0.25, true")},
    {"aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
     nullptr, decompose_rrelu, nullptr, kRandom, Cases("f32[4], f32[4]")},
    {"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", infer_softmax, nullptr, "aten::_softmax.out",
     kPassesNan | kNonNegative | kMayUnderflow | ranges::softmax | Growth::one,
     Cases("! f32[2, 5], 2, false", "f32[3, 4, 5], 0, false", "f32[6, 3]{special}, 1, false",
           "f32[3, 4, 5], -1, false")},
    {"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", infer_softmax, nullptr,
     "aten::_log_softmax.out", kPassesNan | ranges::log_softmax,
     Cases("f32[3, 4, 5], 0, false", "f32[6, 3]{special}, 1, false", "f32[3, 4, 5], -1, false")},
    {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax_dtype,
     decompose_softmax, nullptr, kPure, Cases("f32[3, 4], 1", "f16[3, 5], -1, f32", "f32[2, 0], 1")},
    {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax_dtype,
     decompose_log_softmax, nullptr, kPure, Cases("f32[], 0", "f16[3, 5], -1, f32", "f32[2, 0], 1")},
    {"aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax_dtype,
     decompose_softmax, nullptr, kPure, Cases("f32[3, 4], 0")},
    {"aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", infer_softmax_dtype,
     decompose_log_softmax, nullptr, kPure, Cases("f32[3, 4], 1")},
    {"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax_dtype,
     decompose_safe_softmax, nullptr, kPassesNan | kNonNegative | kMayUnderflow | ranges::safe_softmax | Growth::one,
     Cases("f32[6, 3]{special}, 1")},
};
const size_t kActivationCount = std::size(kActivationRows);

}  // namespace wick::compiler
