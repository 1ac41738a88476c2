// Functions of one tensor, element by element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/ranges/ranges.h"
#include "compiler/ops/sharing.h"

namespace wick::compiler {
namespace {

void infer_abs(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, real_dtype(x->dtype()), x->sizes());
}

using Results = std::vector<Value*>;

// A square is a power with an integer exponent: bool becomes i64.
void infer_square(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype() == DType::boolean ? DType::i64 : x->dtype(), x->sizes());
}
Results decompose_square(Builder& b, Node& node) {
  Value* x = b.cast(node.tensor("self"), node.result()->dtype());
  return {Compose(b).mul(x, x)};
}
Results decompose_exp2(Builder& b, Node& node) {
  Value* x = b.cast(node.tensor("self"), float_dtype(node.tensor("self")->dtype()));
  return {b.call("aten.pow.Scalar", {2.0, x})};
}
Results decompose_frac(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  return {Compose(b).sub(x, b.call("aten.trunc", {x}))};
}
// For |x|: t P(t) e^(-x^2), t = 1 / (1 + |x| / 2), P fitted to a relative error of 4.4e-8 where erfc is above 1e-46.
// Small results keep their digits, which 1 - erf(x) would lose. f64 needs the kernel: P is not accurate enough.
Results decompose_erfc(Builder& b, Node& node) {
  static constexpr double kP[] = {0.2820860386812345,   0.2823819308971614,  0.24305577419658644,
                                  0.20287605519751697,  -0.0270713100948449, 0.27871209911498207,
                                  -0.48776206609007594, 0.28484577051040605, -0.05912433551679304};
  if (node.result()->dtype() == DType::f64) return {};
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* x) {
    Value* size = c.abs(x);
    Value* t = b.call("aten.reciprocal", {c.add(c.mul(size, 0.5), 1)});
    Value* p = c.add(c.mul(t, kP[8]), kP[7]);
    for (int i = 6; i >= 0; --i) p = c.add(c.mul(p, t), kP[i]);
    Value* tail = c.mul(c.mul(t, p), c.exp(c.neg(c.square(x))));
    return c.where(c.compare("lt", x, 0), c.sub(2, tail), tail);
  })};
}
Results decompose_special_erfc(Builder& b, Node& node) { return {b.call("aten.erfc", {node.tensor("self")})}; }
Results decompose_sgn(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (is_complex(x->dtype())) {  // x / |x|, 0 at 0
    Compose c(b);
    Value* size = c.abs(x);
    size = c.where(c.compare("eq", size, 0), 1.0, size, size->dtype());
    Value* parts = c.div(b.call("aten.view_as_real", {x}), b.unsqueeze(size, -1));  // as real numbers
    return {b.call("aten.view_as_complex", {parts})};
  }
  return {b.call("aten.sign", {node.tensor("self")})};
}
Results decompose_deg2rad(Builder& b, Node& node) {
  return {Compose(b).mul(node.tensor("self"), 0.017453292519943295769236907684886)};
}
Results decompose_rad2deg(Builder& b, Node& node) {
  return {Compose(b).mul(node.tensor("self"), 57.295779513082320876798154814105)};
}
Results decompose_sinc(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* x) {
    Value* scaled = c.mul(x, 3.14159265358979323846);
    return c.where(c.compare("eq", x, 0), 1.0, c.div(c.unary("aten.sin", scaled), scaled));
  })};
}
// inf - inf and NaN - NaN are NaN; everything finite gives 0.
Results decompose_isfinite(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (x->dtype() == DType::boolean) return {c.compare("eq", x, x)};
  return {c.compare("eq", c.sub(x, x), 0)};
}
Results decompose_isposinf(Builder& b, Node& node) {
  return {Compose(b).compare("eq", node.tensor("self"), std::numeric_limits<double>::infinity())};
}
Results decompose_isneginf(Builder& b, Node& node) {
  return {Compose(b).compare("eq", node.tensor("self"), -std::numeric_limits<double>::infinity())};
}
// The sign of zero counts: 1 / -0 is -inf.
Results decompose_signbit(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* negative = c.compare("lt", x, 0);
  if (!is_floating(x->dtype())) return {negative};
  return {c.logical_or(negative, c.compare("lt", c.unary("aten.reciprocal", x), 0))};
}

// Integers are whole already; stock's kernels would convert them to floating point.
Results decompose_rounding(Builder&, Node& node) {
  if (is_floating(node.tensor("self")->dtype())) return {};
  return {node.tensor("self")};
}

double largest_number(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504.0;
    case DType::bf16: return 3.3895313892515355e+38;
    case DType::f32: return 3.4028234663852886e+38;
    case DType::f64: return std::numeric_limits<double>::max();
    default: reject("nan_to_num of this dtype is not supported");
  }
}

Results decompose_nan_to_num(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (is_complex(x->dtype())) {
    Args args = node.args();
    args[0] = b.call("aten.view_as_real", {x});
    return {b.call("aten.view_as_complex", {b.call("aten.nan_to_num", std::move(args))})};
  }
  if (!is_floating(x->dtype())) return {x};
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = node.is_none("nan") ? 0.0 : node.real("nan");
  const double high = node.is_none("posinf") ? largest_number(x->dtype()) : node.real("posinf");
  const double low = node.is_none("neginf") ? -largest_number(x->dtype()) : node.real("neginf");
  Value* out = c.where(c.unary("aten.isnan", x), nan, x, x->dtype());
  out = c.where(c.compare("eq", x, inf), high, out, x->dtype());
  return {c.where(c.compare("eq", x, -inf), low, out, x->dtype())};
}

Results decompose_round_decimals(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const int64_t decimals = node.static_integer("decimals");
  if (!is_floating(x->dtype()) || decimals == 0) return {b.call("aten.round", {x})};
  require(decimals > -40 && decimals < 40, "round: decimals out of range");
  double scale = 1;
  for (int64_t i = 0; i < std::abs(decimals); ++i) scale *= 10;
  return {in_float(b, x, [&](Value* wide) {
    if (decimals < 0) return c.mul(c.unary("aten.round", c.div(wide, scale)), scale);
    return c.div(c.unary("aten.round", c.mul(wide, scale)), scale);
  })};
}

Results decompose_log_sigmoid(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* x) {
    Value* tail = c.unary("aten.log1p", c.exp(c.neg(c.abs(x))));
    return c.sub(c.minimum(x, 0), tail);
  })};
}

struct Parts {
  Value *real, *imag;
};
Parts parts_of(Compose& c, Value* x) {
  Value* parts = c.b.call("aten.view_as_real", {x});
  const auto last = static_cast<int64_t>(x->rank());
  return {c.b.select(parts, last, 0), c.b.select(parts, last, 1)};
}
Value* complex_of(Compose& c, const Parts& x) {
  return c.b.call("aten.view_as_complex", {c.stack({x.real, x.imag}, static_cast<int64_t>(x.real->rank()))});
}

// x * i
Value* turned(Compose& c, Value* x, double sign = 1) {
  auto [real, imag] = parts_of(c, x);
  if (sign > 0) imag = c.neg(imag);
  if (sign < 0) real = c.neg(real);
  return complex_of(c, {imag, real});
}

// log(1 + x) would lose digits of small x, and the sign of a zero imaginary part.
Value* complex_log1p(Compose& c, Value* x) {
  const auto [re, im] = parts_of(c, x);
  Value* sum = c.add(re, 1);
  Value* gain = c.add(c.mul(re, c.add(re, 2)), c.mul(im, im));  // |1 + x|^2 - 1
  Value* near = c.where(c.compare("eq", gain, 0), re, c.mul(c.unary("aten.log1p", gain), 0.5));
  Value* far = c.log(c.call("aten.hypot", {sum, im}));
  Value* is_near = c.compare("lt", c.call("aten.hypot", {re, im}), 0.5);
  return complex_of(c, {c.where(is_near, near, far), c.call("aten.atan2", {im, sum})});
}

// exp(x) - 1 would lose digits of small x.
Value* complex_expm1(Compose& c, Value* x) {
  const auto [re, im] = parts_of(c, x);
  Value* half = c.unary("aten.sin", c.mul(im, 0.5));
  Value* real = c.sub(c.mul(c.unary("aten.expm1", re), c.unary("aten.cos", im)), c.mul(c.mul(half, half), 2));
  return complex_of(c, {real, c.mul(c.exp(re), c.unary("aten.sin", im))});
}

// A product of complex numbers would multiply an infinite part by 0.
Value* with_scaled_parts(Compose& c, Value* x, double factor) {
  return c.b.call("aten.view_as_complex", {c.mul(c.b.call("aten.view_as_real", {x}), factor)});
}

// Functions of complex numbers in terms of those that the kernels have.
Results decompose_complex(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (!is_complex(x->dtype())) return {};
  Compose c(b);
  const std::string_view name = node.op->name();
  if (name == "aten.sigmoid.default") return {c.unary("aten.reciprocal", c.add(c.exp(c.neg(x)), 1))};
  if (name == "aten.rsqrt.default") return {c.unary("aten.reciprocal", c.sqrt(x))};
  if (name == "aten.log1p.default") return {complex_log1p(c, x)};
  if (name == "aten.expm1.default") return {complex_expm1(c, x)};
  if (name == "aten.log2.default") return {with_scaled_parts(c, c.log(x), 1.4426950408889634074)};
  if (name == "aten.log10.default") return {with_scaled_parts(c, c.log(x), 0.43429448190325182765)};
  if (name == "aten.cosh.default") return {c.unary("aten.cos", turned(c, x))};
  if (name == "aten.sinh.default") return {turned(c, c.unary("aten.sin", turned(c, x)), -1)};
  if (name == "aten.tan.default") return {turned(c, c.tanh(turned(c, x)), -1)};
  static constexpr std::string_view kKernels[] = {
      "aten.acos.default",  "aten.acosh.default", "aten.asin.default",      "aten.asinh.default", "aten.atan.default",
      "aten.atanh.default", "aten.exp.default",   "aten.log.default",       "aten.sqrt.default",  "aten.sin.default",
      "aten.cos.default",   "aten.tanh.default",  "aten.reciprocal.default"};
  if (std::find(std::begin(kKernels), std::end(kKernels), name) != std::end(kKernels)) return {};
  reject(fmt::format("{} of complex numbers is not supported", name));
}
Results decompose_isinf(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (!is_complex(x->dtype())) return {};
  Value* parts = b.call("aten.isinf", {b.call("aten.view_as_real", {x})});
  return {Compose(b).any(parts, {static_cast<int64_t>(x->rank())})};
}
Results decompose_logical_not(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (!is_complex(x->dtype())) return {};
  return {Compose(b).compare("eq", x, 0)};
}

// For 16-bit floats, eager rounds each step. If the bounds cross, eager compares with the lower one first: an element
// below it becomes the lower bound, and only the others are clamped to the upper one.
Results decompose_logit(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const DType dtype = x->dtype();
  const bool clamps = !node.is_none("eps") && node.real("eps") >= 0;
  const double low = clamps ? half_number(node.real("eps"), dtype) : 0;
  if (dtype != DType::f16 && dtype != DType::bf16) return decompose_complex(b, node);
  Compose c(b);
  const double high = half_number(1 - low, dtype);
  if (clamps && low > high) {
    Value* below = c.compare("lt", x, low);
    x = c.where(below, low, c.clamp(x, None{}, high), dtype);
  } else if (clamps) {
    x = c.clamp(x, low, high);
  }
  return {c.log(c.div(x, b.call("aten.rsub.Scalar", {x, 1})))};
}

}  // namespace

#define FLOAT_UNARY(schema, kernel, ...)                                    \
  {schema,                                                                  \
   infer_float_unary,                                                       \
   decompose_complex,                                                       \
   kernel,                                                                  \
   kPointwise | kAlsoInPlace | kNoComplexInStock __VA_OPT__(| __VA_ARGS__), \
   {"f32[20]{special}", "f64[3, 4]{range=0.1..0.9}", "f16[2, 0, 3]", "i64[]", "bool[2]"}}
#define SAME_UNARY(schema, kernel, facts, ...)                               \
  {                                                                          \
    schema, infer_same, nullptr, kernel, kPointwise | facts, { __VA_ARGS__ } \
  }
const OpDef kPointwiseUnaryRows[] = {
    FLOAT_UNARY("aten::acos(Tensor self) -> Tensor", "aten::acos.out", ranges::unknown),
    FLOAT_UNARY("aten::acosh(Tensor self) -> Tensor", "aten::acosh.out", ranges::unknown),
    FLOAT_UNARY("aten::asin(Tensor self) -> Tensor", "aten::asin.out", kKeepsZero | ranges::unknown),
    FLOAT_UNARY("aten::asinh(Tensor self) -> Tensor", "aten::asinh.out", kKeepsZero),
    FLOAT_UNARY("aten::atan(Tensor self) -> Tensor", "aten::atan.out",
                kPassesNan | kKeepsZero | ranges::atan | Growth::gate),
    FLOAT_UNARY("aten::atanh(Tensor self) -> Tensor", "aten::atanh.out", kKeepsZero | ranges::unknown),
    FLOAT_UNARY("aten::cos(Tensor self) -> Tensor", "aten::cos.out",
                kPassesBoth | kNoNegativeZero | curves::cos | ranges::wave | Growth::one),
    FLOAT_UNARY("aten::cosh(Tensor self) -> Tensor", "aten::cosh.out", kNonNegative),
    FLOAT_UNARY("aten::erf(Tensor self) -> Tensor", "aten::erf.out",
                kPassesNan | kKeepsZero | ranges::signed_unit | Growth::unit),
    FLOAT_UNARY("aten::exp(Tensor self) -> Tensor", "aten::exp.out",
                kPassesNan | kNonNegative | kMayUnderflow | curves::exp | ranges::exp | Growth::power),
    {"aten::expm1(Tensor self) -> Tensor", infer_float_unary, decompose_complex, "aten::expm1.out",
     kPointwise | kAlsoInPlace | kNoComplexInStock | kPassesNan | curves::expm1 | ranges::expm1 | Growth::power,
     Cases("f32[20]{special}", "f64[3, 4]{range=0.1..0.9}", "f16[2, 0, 3]", "i64[]", "bool[2]",
           "c64[9]{range=-1e-3..1e-3}")},
    FLOAT_UNARY("aten::log(Tensor self) -> Tensor", "aten::log.out", kPassesBoth | curves::log | ranges::log),
    FLOAT_UNARY("aten::log10(Tensor self) -> Tensor", "aten::log10.out", kPassesBoth | curves::log10 | ranges::log10),
    {"aten::log1p(Tensor self) -> Tensor", infer_float_unary, decompose_complex, "aten::log1p.out",
     kPointwise | kAlsoInPlace | kNoComplexInStock | kPassesBoth | curves::log1p | ranges::log1p,
     Cases("f32[20]{special}", "f64[3, 4]{range=0.1..0.9}", "f16[2, 0, 3]", "i64[]", "bool[2]",
           "c64[9]{range=-1e-3..1e-3}")},
    FLOAT_UNARY("aten::log2(Tensor self) -> Tensor", "aten::log2.out", kPassesBoth | curves::log2 | ranges::log2),
    {"aten::logit(Tensor self, float? eps=None) -> Tensor", infer_float_unary, decompose_logit, "aten::logit.out",
     kPointwise | Numbers::fit | kAlsoInPlace | kNoComplexInStock | kDependsOnSubnormals | ranges::unknown,
     Cases("f32[20]{special}", "f64[3, 4]{range=0.1..0.9}, 0.7", "f16[2, 0, 3]", "i64[]",
           "bf16[3]{=0.498046875, 0.01, 0.99}, 0.0333", "bf16[4]{=0.1, 0.5, 0.75, 0.9}, 0.7")},
    FLOAT_UNARY("aten::reciprocal(Tensor self) -> Tensor", "aten::reciprocal.out",
                kPassesNan | kDependsOnZeroSign | curves::reciprocal | ranges::reciprocal),
    FLOAT_UNARY("aten::rsqrt(Tensor self) -> Tensor", "aten::rsqrt.out",
                kPassesNan | kDependsOnZeroSign | curves::rsqrt | ranges::rsqrt),
    FLOAT_UNARY("aten::sigmoid(Tensor self) -> Tensor", "aten::sigmoid.out",
                kPassesNan | kNonNegative | kMayUnderflow | ranges::sigmoid | Growth::unit),
    FLOAT_UNARY("aten::sin(Tensor self) -> Tensor", "aten::sin.out",
                kPassesBoth | curves::sin | ranges::wave | Growth::one),
    FLOAT_UNARY("aten::sinh(Tensor self) -> Tensor", "aten::sinh.out", kKeepsZero),
    FLOAT_UNARY("aten::sqrt(Tensor self) -> Tensor", "aten::sqrt.out", kPassesBoth | curves::sqrt | ranges::sqrt),
    FLOAT_UNARY("aten::tan(Tensor self) -> Tensor", "aten::tan.out", kKeepsZero),
    FLOAT_UNARY("aten::tanh(Tensor self) -> Tensor", "aten::tanh.out",
                kPassesNan | kScores | kKeepsZero | ranges::signed_unit | Growth::unit),
    {"aten::abs(Tensor self) -> Tensor", infer_abs, nullptr, "aten::abs.out",
     kPointwise | kAlsoInPlace | kPassesBoth | kNoNegativeZero | kIdempotent | curves::abs | ranges::abs |
         Growth::keeps,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    SAME_UNARY("aten::bitwise_not(Tensor self) -> Tensor", "aten::bitwise_not.out", kAlsoInPlace, "bool[2]",
               "i64[3, 4]", "i32[15]{special}"),
    {"aten::ceil(Tensor self) -> Tensor", infer_same, decompose_rounding, "aten::ceil.out",
     kPointwise | kAlsoInPlace | kPassesBoth | kWhole | curves::ceil | ranges::ceil | Growth::little,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::floor(Tensor self) -> Tensor", infer_same, decompose_rounding, "aten::floor.out",
     kPointwise | kAlsoInPlace | kPassesBoth | kWhole | curves::floor | ranges::floor | Growth::little,
     Cases("f32[3, 4]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::neg(Tensor self) -> Tensor", infer_same, nullptr, "aten::neg.out",
     kPointwise | kOverwrites | kAlsoInPlace | kPassesBoth | kScores | kNoComplexInStock | curves::neg | ranges::neg |
         Growth::keeps | kPartwise,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::relu(Tensor self) -> Tensor", infer_same, nullptr, "aten::relu.out",
     kPointwise | kOverwrites | kAlsoInPlace | kPassesNan | kSelectsElements | kIdempotent | ranges::relu |
         Growth::keeps | Clamp{0},
     Cases("f32[20]{special}", "i64[4]", "f32[0, 3]")},
    {"aten::round(Tensor self) -> Tensor", infer_same, decompose_rounding, "aten::round.out",
     kPointwise | kAlsoInPlace | kPassesBoth | kWhole | curves::round | ranges::round | Growth::little,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    SAME_UNARY("aten::sign(Tensor self) -> Tensor", "aten::sign.out",
               kAlsoInPlace | curves::sign | ranges::signed_unit | Growth::unit, "f32[3, 4]", "f16[33]{special}",
               "bool[2]"),
    {"aten::trunc(Tensor self) -> Tensor", infer_same, decompose_rounding, "aten::trunc.out",
     kPointwise | kAlsoInPlace | kWhole | curves::trunc | Growth::little,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::isinf(Tensor self) -> Tensor", infer_predicate, decompose_isinf, "aten::isinf.out",
     kPointwise | kTestsForNan, Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::isnan(Tensor self) -> Tensor", infer_predicate, nullptr, "aten::isnan.out", kPointwise | kTestsForNan,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::logical_not(Tensor self) -> Tensor", infer_predicate, decompose_logical_not, "aten::logical_not.out",
     kPointwise | kAlsoInPlace, Cases("f32[3, 4]", "f16[33]{special}", "bool[2]")},
    {"aten::square(Tensor self) -> Tensor", infer_square, decompose_square, nullptr,
     kPointwise | kAlsoInPlace | kPassesBoth | kNoNegativeZero | kKeepsZero | ranges::square | Growth::power,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
    {"aten::exp2(Tensor self) -> Tensor", infer_float_unary, decompose_exp2, nullptr, kPointwise | kAlsoInPlace,
     Cases("f32[3, 4]")},
    {"aten::special_exp2(Tensor self) -> Tensor", infer_float_unary, decompose_exp2, nullptr, kPointwise,
     Cases("f32[3, 4]")},
    {"aten::frac(Tensor self) -> Tensor", infer_same, decompose_frac, nullptr, kPointwise | kAlsoInPlace,
     Cases("f32[3, 4]")},
    {"aten::erfc(Tensor self) -> Tensor", infer_float_unary, decompose_erfc, "aten::erfc.out",
     kPointwise | kNoStock | kNoComplexInStock | kAlsoInPlace | kExactKernel | kPassesNan | kNonNegative |
         kMayUnderflow | ranges::erfc,
     Cases("f32[3, 4]", "f32[40]{range=0..9}", "f32[8]{special}", "f16[20]{range=-4..4}", "f64[16]{range=0..25}")},
    {"aten::special_erfc(Tensor self) -> Tensor", infer_float_unary, decompose_special_erfc, nullptr, kPointwise,
     Cases("f32[3, 4]")},
    {"aten::sgn(Tensor self) -> Tensor", infer_same, decompose_sgn, nullptr, kPointwise | kAlsoInPlace,
     Cases("f32[3, 4]")},
    {"aten::positive(Tensor(a) self) -> Tensor(a)", infer_same, decompose_identity, nullptr, kIdentity | shares::always,
     Cases("f32[3, 4]")},
    {"aten::deg2rad(Tensor self) -> Tensor", infer_float_unary, decompose_deg2rad, nullptr, kPointwise | kAlsoInPlace,
     Cases("f32[3, 4]")},
    {"aten::rad2deg(Tensor self) -> Tensor", infer_float_unary, decompose_rad2deg, nullptr, kPointwise | kAlsoInPlace,
     Cases("f32[3, 4]")},
    {"aten::sinc(Tensor self) -> Tensor", infer_float_unary, decompose_sinc, nullptr, kPointwise | kAlsoInPlace,
     Cases("f32[3, 4]")},
    {"aten::isfinite(Tensor self) -> Tensor", infer_predicate, decompose_isfinite, nullptr, kPointwise | kTestsForNan,
     Cases("f32[5]{special}")},
    {"aten::isposinf(Tensor self) -> Tensor", infer_predicate, decompose_isposinf, nullptr, kPointwise,
     Cases("f32[5]{special}")},
    {"aten::isneginf(Tensor self) -> Tensor", infer_predicate, decompose_isneginf, nullptr, kPointwise,
     Cases("f32[5]{special}")},
    {"aten::signbit(Tensor self) -> Tensor", infer_predicate, decompose_signbit, nullptr,
     kPointwise | kDependsOnZeroSign, Cases("f32[3, 4]")},
    {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", infer_same,
     decompose_nan_to_num, nullptr, kPointwise | kAlsoInPlace | kTestsForNan | kKeepsZero | ranges::nan_to_num,
     Cases("f32[5]{special}", "f32[5]{special}, 1.0, 2.0, 3.0")},
    {"aten::round.decimals(Tensor self, *, int decimals) -> Tensor", infer_same, decompose_round_decimals, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[3, 4], decimals=1", "f32[5]{special}, decimals=1")},
    {"aten::log_sigmoid(Tensor self) -> Tensor", infer_same, decompose_log_sigmoid, "aten::log_sigmoid.out",
     kPointwise | kNoStock | kPassesNan | kMayUnderflow | ranges::log_sigmoid | Growth::little,
     Cases("f32[]", "f16[33]{special}", "f32[0, 3]")},
};
const size_t kPointwiseUnaryCount = std::size(kPointwiseUnaryRows);

}  // namespace wick::compiler
