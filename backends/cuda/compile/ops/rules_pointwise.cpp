// Pointwise operators: a row for each, with the element in the vocabulary of kernels.
#include <fmt/format.h>

#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/pointwise/numbers.h"

namespace wick::cuda {
namespace {

using compiler::Arg;
using compiler::Verdict;

// Argument `index` at `at`, converted to type `type`. `wraps`: numbers wrap to that small integer dtype.
ExpressionPtr argument(Lowering& l, const Node& node, size_t index, const Indices& at, ScalarType type,
                       DType wraps = DType::f32) {
  const Arg& arg = node.arg(index);
  if (!arg.is<Value*>() || !arg.as<Value*>()->type.is_tensor()) {
    const ExpressionPtr number = l.scalar(arg, type);
    return is_integral(wraps) ? l.pool().rounded(number, wraps) : number;
  }
  const Value* value = arg.as<Value*>();
  return l.pool().cast(l.element(value, l.broadcast(*value, at, node.result()->sizes())), type);
}

DType promoted(const Node& node) {
  compiler::Args operands;
  for (size_t i = 0; i < std::min<size_t>(node.args().size(), 2); ++i) operands.push_back(node.arg(i));
  return compiler::promote(operands);
}

ScalarType type_of_argument(const Node& node, size_t index, const OpRule& rule) {
  if (rule.typing == Typing::promoted) return scalar_type(promoted(node));
  const Arg& arg = node.arg(index);
  if (rule.typing == Typing::own && arg.is<Value*>() && arg.as<Value*>()->type.is_tensor())
    return scalar_type(arg.as<Value*>()->dtype());
  if (rule.typing == Typing::own) return scalar_type(node.operands()[0]->dtype());
  return scalar_type(node.result()->dtype());
}

// The numbers of the arguments that a text names, in ascending order: 2 for {2}.
std::vector<size_t> named_arguments(std::string_view text) {
  std::vector<size_t> out;
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 2] == '}') {
      const auto index = static_cast<size_t>(text[i + 1] - '0');
      if (std::find(out.begin(), out.end(), index) == out.end()) out.push_back(index);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The text with the named arguments renumbered from 0.
std::string renumbered(std::string text, const std::vector<size_t>& arguments) {
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] != '{' || text[i + 2] != '}') continue;
    const auto index = static_cast<size_t>(text[i + 1] - '0');
    const auto place = std::find(arguments.begin(), arguments.end(), index) - arguments.begin();
    text[i + 1] = static_cast<char>('0' + place);
  }
  return text;
}

void define_by_text(Lowering& l, const Node& node, const OpRule& rule, const std::string& text) {
  const std::vector<size_t> arguments = named_arguments(text);
  const std::string body = renumbered(text, arguments);
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, &node, &rule, arguments, body, dtype](const Indices& at) {
    std::vector<ExpressionPtr> args;
    args.reserve(arguments.size());
    for (const size_t index : arguments)
      args.push_back(argument(l, node, index, at, type_of_argument(node, index, rule),
                              rule.typing == Typing::promoted ? promoted(node) : DType::f32));
    return l.pool().rounded(l.pool().call(scalar_type(dtype), body, std::move(args)), dtype);
  });
}

void lower_by_text(Lowering& l, const Node& node) {
  const OpRule& rule = *find_rule(node);
  define_by_text(l, node, rule, rule.text);
}

// self + alpha * other, and its variants.
void lower_scaled_sum(Lowering& l, const Node& node) {
  const OpRule& rule = *find_rule(node);
  const Arg& alpha = node.arg("alpha");
  const bool is_one = (alpha.is<Sym>() && alpha.as<Sym>().is(1)) || (alpha.is<double>() && alpha.as<double>() == 1.0);
  std::string text = rule.text;
  if (!is_one) {
    // The factor belongs to the operand that the text names last: {1}, or {0} for rsub.
    const bool reversed = text.find("{1}") < text.find("{0}");
    const std::string operand = reversed ? "{0}" : "{1}";
    text.replace(text.find(operand), operand.size(), "op_mul({2}, " + operand + ")");
  }
  define_by_text(l, node, rule, text);
}

// If the divisor is a number or a tensor without dimensions, 16-bit floats are rounded once.
std::string floor_division(const Node& node) {
  const DType dtype = node.result()->dtype();
  const Value* divisor = node.tensor_or_null(1);
  if ((dtype != DType::f16 && dtype != DType::bf16) || !divisor || divisor->rank() == 0)
    return "divide_floor({0}, {1})";
  return fmt::format("divide_floor_in_steps<{}>({{0}}, {{1}})", dtype == DType::bf16);
}

// Dividing integers by the number 0 is an error at run time: the node is left to kernels that can report it.
Verdict divides_by_no_zero(const Node& node, const compiler::TargetContext&) {
  const DType dtype = promoted(node);
  const Arg& divisor = node.arg(1);
  const bool is_float = node.op->parsed->find("rounding_mode") >= 0 && node.is_none("rounding_mode");
  if (is_float || !is_integral(dtype) || !divisor.is<Sym>() || !divisor.as<Sym>().is_const()) return Verdict::yes();
  return compiler::wrapped(divisor.as<Sym>().value(), dtype) == 0
             ? Verdict::no("integers divided by zero, which is an error when it runs")
             : Verdict::yes();
}

void lower_floor_divide(Lowering& l, const Node& node) {
  define_by_text(l, node, *find_rule(node), floor_division(node));
}

void lower_divide_mode(Lowering& l, const Node& node) {
  const std::string mode = node.is_none("rounding_mode") ? "" : node.string("rounding_mode");
  const OpRule& rule = *find_rule(node);
  define_by_text(l, node, rule,
                 mode == "floor"   ? floor_division(node)
                 : mode == "trunc" ? "divide_trunc({0}, {1})"
                                   : "op_div({0}, {1})");
}

void lower_gelu(Lowering& l, const Node& node) {
  define_by_text(l, node, *find_rule(node), node.string("approximate") == "tanh" ? "gelu_tanh({0})" : "gelu({0})");
}

// A missing bound does not limit.
void lower_clamp(Lowering& l, const Node& node) {
  std::string text = "{0}";
  if (!node.is_none("min")) text = "maximum(" + text + ", {1})";
  if (!node.is_none("max")) text = "minimum(" + text + ", {2})";
  define_by_text(l, node, *find_rule(node), text);
}

// The bounds may cross: the lower one is applied first. A NaN bound does not limit.
void lower_logit(Lowering& l, const Node& node) {
  define_by_text(l, node, *find_rule(node),
                 node.is_none("eps") || node.real("eps") < 0
                     ? "op_logit({0})"
                     : "op_logit({0} < {1} ? {1} : {0} > 1 - {1} ? 1 - {1} : {0})");
}

void lower_where(Lowering& l, const Node& node) {
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, &node, dtype](const Indices& at) {
    const ScalarType type = scalar_type(dtype);
    const ExpressionPtr condition = argument(l, node, 0, at, ScalarType::boolean);
    return l.pool().select(condition, argument(l, node, 1, at, type), argument(l, node, 2, at, type));
  });
}

void lower_masked_fill(Lowering& l, const Node& node) {
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, &node, dtype](const Indices& at) {
    const ScalarType type = scalar_type(dtype);
    const ExpressionPtr condition = argument(l, node, 1, at, ScalarType::boolean);
    return l.pool().select(condition, l.pool().rounded(argument(l, node, 2, at, type), dtype),
                           argument(l, node, 0, at, type));
  });
}

// Converts to another dtype, or keeps the elements.
void lower_cast(Lowering& l, const Node& node) {
  const DType dtype = node.result()->dtype();
  const bool changes = node.tensor("self")->dtype() != dtype;
  l.define(node.result(), [&l, &node, dtype, changes](const Indices& at) {
    const ExpressionPtr cast = argument(l, node, 0, at, scalar_type(dtype));
    return changes ? l.pool().rounded(cast, dtype) : cast;
  });
}

// copy(self, src): the elements of src in the dtype of self.
void lower_copy(Lowering& l, const Node& node) {
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, &node, dtype](const Indices& at) {
    return l.pool().rounded(argument(l, node, 1, at, scalar_type(dtype)), dtype);
  });
}

Verdict whole_factor(const Node& node, const compiler::TargetContext&) {
  const bool whole = !node.arg("alpha").is<double>() || is_floating(node.result()->dtype());
  return whole ? Verdict::yes() : Verdict::no("a fraction of integers");
}

// Reinterprets the bits of an element as another dtype of the same size.
const char* bits_text(DType dtype) {
  switch (dtype) {
    case DType::f32: return "static_cast<i32>(bits_of({0}))";
    case DType::f64: return "static_cast<i64>(bits_of({0}))";
    default: return "{0}";
  }
}
const char* of_bits_text(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32_of_bits(static_cast<u32>({0}))";
    case DType::f64: return "f64_of_bits(static_cast<u64>({0}))";
    case DType::i8: return "static_cast<i32>(static_cast<i8>({0}))";
    case DType::u8: return "static_cast<i32>(static_cast<u8>({0}))";
    default: return "{0}";
  }
}
void lower_view_of_bits(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const DType from = x->dtype(), to = node.result()->dtype();
  const ScalarType bits = dtype_size_bytes(to) == 8 ? ScalarType::i64 : ScalarType::i32;
  l.define(node.result(), [&l, x, from, to, bits](const Indices& at) {
    if (from == to) return l.element(x, at);
    const ExpressionPtr held = l.pool().call(bits, bits_text(from), {l.element(x, at)});
    return l.pool().call(scalar_type(to), of_bits_text(to), {held});
  });
}
Verdict bits_fit(const Node& node, const compiler::TargetContext&) {
  const DType from = node.tensor("self")->dtype(), to = node.result()->dtype();
  if (dtype_size_bytes(from) != dtype_size_bytes(to)) return Verdict::no("elements become others of another size");
  if (from != to && (dtype_size_bytes(to) == 2 || from == DType::boolean || to == DType::boolean))
    return Verdict::no("registers do not keep the bits of these elements");
  return Verdict::yes();
}

void lower_frexp(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  l.store_if_expensive(x, 2);
  l.define(node.result(0), [&l, x](const Indices& at) {
    const ExpressionPtr element = l.element(x, at);
    return l.pool().call(element->type, "mantissa_of({0})", {element});
  });
  l.define(node.result(1), [&l, x](const Indices& at) {
    return l.pool().call(ScalarType::i32, "exponent_of({0})", {l.element(x, at)});
  });
}

constexpr OpRule by_text(const char* op, const char* text, Typing typing = Typing::result) {
  return {op, lower_by_text, nullptr, text, typing};
}
constexpr OpRule sum(const char* op, const char* text) {
  return {op, lower_scaled_sum, whole_factor, text, Typing::result};
}
constexpr OpRule division(const char* op, const char* text) {
  return {op, lower_by_text, divides_by_no_zero, text, Typing::result};
}

constexpr OpRule kPointwiseRows[] = {
    by_text("aten.abs.default", "op_abs({0})"),
    by_text("aten.acos.default", "acos({0})"),
    by_text("aten.acosh.default", "acosh({0})"),
    by_text("aten.asin.default", "asin({0})"),
    by_text("aten.asinh.default", "asinh({0})"),
    by_text("aten.atan.default", "atan({0})"),
    by_text("aten.atanh.default", "atanh({0})"),
    by_text("aten.ceil.default", "ceil({0})"),
    by_text("aten.cos.default", "cos({0})"),
    by_text("aten.cosh.default", "cosh({0})"),
    by_text("aten.erf.default", "erf({0})"),
    by_text("aten.exp.default", "exp({0})"),
    by_text("aten.expm1.default", "expm1({0})"),
    by_text("aten.floor.default", "floor({0})"),
    by_text("aten.log.default", "log({0})"),
    by_text("aten.log10.default", "log10({0})"),
    by_text("aten.log1p.default", "log1p({0})"),
    by_text("aten.log2.default", "log2({0})"),
    by_text("aten.neg.default", "op_neg({0})"),
    by_text("aten.reciprocal.default", "reciprocal({0})"),
    by_text("aten.relu.default", "op_relu({0})"),
    by_text("aten.round.default", "round({0})"),
    by_text("aten.rsqrt.default", "rsqrt({0})"),
    by_text("aten.sigmoid.default", "sigmoid({0})"),
    by_text("aten.sign.default", "sign({0})"),
    by_text("aten.silu.default", "silu({0})"),
    by_text("aten.sin.default", "sin({0})"),
    by_text("aten.sinh.default", "sinh({0})"),
    by_text("aten.sqrt.default", "sqrt({0})"),
    by_text("aten.tan.default", "tan({0})"),
    by_text("aten.tanh.default", "tanh({0})"),
    by_text("aten.trunc.default", "trunc({0})"),
    by_text("aten.log_sigmoid.default", "log_sigmoid({0})"),
    by_text("aten.hardsigmoid.default", "op_hardsigmoid({0})"),
    by_text("aten.hardswish.default", "op_hardswish({0})"),
    by_text("aten.hardtanh.default", "minimum(maximum({0}, {1}), {2})"),
    by_text("aten.leaky_relu.default", "op_leaky_relu({0}, {1})"),
    by_text("aten.elu.default", "op_elu({0}, {1}, {2}, {3})"),
    {"aten.gelu.default", lower_gelu},
    {"aten.logit.default", lower_logit},

    by_text("aten.digamma.default", "digamma({0})"),
    whole(by_text("aten.erfc.default", "erfc({0})")),
    by_text("aten.erfinv.default", "erfinv({0})"),
    by_text("aten.lgamma.default", "lgamma({0})"),
    by_text("aten.i0.default", "i0({0})"),
    by_text("aten.special_i0e.default", "i0e({0})"),
    by_text("aten.special_i1.default", "i1({0})"),
    by_text("aten.special_i1e.default", "i1e({0})"),
    by_text("aten.special_ndtr.default", "ndtr({0})"),
    by_text("aten.special_ndtri.default", "ndtri({0})"),
    by_text("aten.special_erfcx.default", "erfcx({0})"),
    by_text("aten.special_log_ndtr.default", "log_ndtr({0})"),
    by_text("aten.special_modified_bessel_k0.default", "modified_bessel_k0({0})"),
    by_text("aten.special_modified_bessel_k1.default", "modified_bessel_k1({0})"),
    by_text("aten.special_scaled_modified_bessel_k0.default", "scaled_modified_bessel_k0({0})"),
    by_text("aten.special_scaled_modified_bessel_k1.default", "scaled_modified_bessel_k1({0})"),
    by_text("aten.special_bessel_j0.default", "bessel_j0({0})"),
    by_text("aten.special_bessel_j1.default", "bessel_j1({0})"),
    by_text("aten.special_bessel_y0.default", "bessel_y0({0})"),
    by_text("aten.special_bessel_y1.default", "bessel_y1({0})"),
    by_text("aten.special_spherical_bessel_j0.default", "spherical_bessel_j0({0})"),
    by_text("aten.special_airy_ai.default", "airy_ai({0})"),
    by_text("aten.special_zeta.default", "zeta({0}, {1})"),
    by_text("aten.igamma.default", "igamma({0}, {1})"),
    by_text("aten.igammac.default", "igammac({0}, {1})"),
    by_text("aten.gcd.default", "gcd({0}, {1})"),
    by_text("aten.lcm.default", "lcm({0}, {1})"),
    by_text("aten.nextafter.default", "nextafter({0}, {1})"),
    by_text("aten.polygamma.default", "polygamma({0}, {1})"),

    by_text("aten.special_chebyshev_polynomial_t.default", "chebyshev_polynomial_t({0}, {1})"),
    by_text("aten.special_chebyshev_polynomial_u.default", "chebyshev_polynomial_u({0}, {1})"),
    by_text("aten.special_chebyshev_polynomial_v.default", "chebyshev_polynomial_v({0}, {1})"),
    by_text("aten.special_chebyshev_polynomial_w.default", "chebyshev_polynomial_w({0}, {1})"),
    by_text("aten.special_shifted_chebyshev_polynomial_t.default", "shifted_chebyshev_polynomial_t({0}, {1})"),
    by_text("aten.special_shifted_chebyshev_polynomial_u.default", "shifted_chebyshev_polynomial_u({0}, {1})"),
    by_text("aten.special_shifted_chebyshev_polynomial_v.default", "shifted_chebyshev_polynomial_v({0}, {1})"),
    by_text("aten.special_shifted_chebyshev_polynomial_w.default", "shifted_chebyshev_polynomial_w({0}, {1})"),
    by_text("aten.special_hermite_polynomial_h.default", "hermite_polynomial_h({0}, {1})"),
    by_text("aten.special_hermite_polynomial_he.default", "hermite_polynomial_he({0}, {1})"),
    by_text("aten.special_laguerre_polynomial_l.default", "laguerre_polynomial_l({0}, {1})"),
    by_text("aten.special_legendre_polynomial_p.default", "legendre_polynomial_p({0}, {1})"),
    {"aten.frexp.Tensor", lower_frexp},
    {"aten.view.dtype", lower_view_of_bits, bits_fit},

    by_text("aten.bitwise_not.default", "op_bitwise_not({0})"),
    by_text("aten.logical_not.default", "(!{0})", Typing::own),
    by_text("aten.isnan.default", "op_isnan({0})", Typing::own),
    by_text("aten.isinf.default", "op_isinf({0})", Typing::own),

    sum("aten.add.Tensor", "op_add({0}, {1})"),
    sum("aten.add.Scalar", "op_add({0}, {1})"),
    sum("aten.sub.Tensor", "op_sub({0}, {1})"),
    sum("aten.sub.Scalar", "op_sub({0}, {1})"),
    sum("aten.rsub.Scalar", "op_sub({1}, {0})"),
    by_text("aten.mul.Tensor", "op_mul({0}, {1})"),
    by_text("aten.mul.Scalar", "op_mul({0}, {1})"),
    by_text("aten.div.Tensor", "op_div({0}, {1})"),
    by_text("aten.div.Scalar", "op_div({0}, {1})"),
    {"aten.div.Tensor_mode", lower_divide_mode, divides_by_no_zero},
    {"aten.div.Scalar_mode", lower_divide_mode, divides_by_no_zero},
    {"aten.floor_divide.default", lower_floor_divide, divides_by_no_zero},
    division("aten.fmod.Tensor", "fmod({0}, {1})"),
    division("aten.fmod.Scalar", "fmod({0}, {1})"),
    division("aten.remainder.Tensor", "remainder({0}, {1})"),
    division("aten.remainder.Scalar", "remainder({0}, {1})"),
    by_text("aten.pow.Tensor_Tensor", "op_pow({0}, {1})"),
    by_text("aten.pow.Tensor_Scalar", "op_pow({0}, {1})"),
    by_text("aten.pow.Scalar", "op_pow({0}, {1})"),
    by_text("aten.maximum.default", "maximum({0}, {1})"),
    by_text("aten.minimum.default", "minimum({0}, {1})"),
    by_text("aten.fmax.default", "fmax({0}, {1})"),
    by_text("aten.fmin.default", "fmin({0}, {1})"),
    by_text("aten.atan2.default", "atan2({0}, {1})"),
    by_text("aten.copysign.Tensor", "copysign({0}, {1})"),
    whole(by_text("aten.hypot.default", "hypot({0}, {1})")),
    by_text("aten.eq.Tensor", "({0} == {1})", Typing::promoted),
    by_text("aten.eq.Scalar", "({0} == {1})", Typing::promoted),
    by_text("aten.ne.Tensor", "({0} != {1})", Typing::promoted),
    by_text("aten.ne.Scalar", "({0} != {1})", Typing::promoted),
    by_text("aten.lt.Tensor", "({0} < {1})", Typing::promoted),
    by_text("aten.lt.Scalar", "({0} < {1})", Typing::promoted),
    by_text("aten.le.Tensor", "({0} <= {1})", Typing::promoted),
    by_text("aten.le.Scalar", "({0} <= {1})", Typing::promoted),
    by_text("aten.gt.Tensor", "({0} > {1})", Typing::promoted),
    by_text("aten.gt.Scalar", "({0} > {1})", Typing::promoted),
    by_text("aten.ge.Tensor", "({0} >= {1})", Typing::promoted),
    by_text("aten.ge.Scalar", "({0} >= {1})", Typing::promoted),
    by_text("aten.logical_and.default", "({0} && {1})", Typing::own),
    by_text("aten.logical_or.default", "({0} || {1})", Typing::own),
    by_text("aten.logical_xor.default", "(!{0} != !{1})", Typing::own),
    by_text("aten.bitwise_and.Tensor", "op_bitwise_and({0}, {1})"),
    by_text("aten.bitwise_and.Scalar", "op_bitwise_and({0}, {1})"),
    by_text("aten.bitwise_or.Tensor", "op_bitwise_or({0}, {1})"),
    by_text("aten.bitwise_or.Scalar", "op_bitwise_or({0}, {1})"),
    by_text("aten.bitwise_xor.Tensor", "op_bitwise_xor({0}, {1})"),
    by_text("aten.bitwise_xor.Scalar", "op_bitwise_xor({0}, {1})"),
    by_text("aten.bitwise_left_shift.Tensor", "shift_left({0}, {1})"),
    by_text("aten.bitwise_left_shift.Tensor_Scalar", "shift_left({0}, {1})"),
    by_text("aten.bitwise_right_shift.Tensor", "shift_right({0}, {1})"),
    by_text("aten.bitwise_right_shift.Tensor_Scalar", "shift_right({0}, {1})"),

    {"aten.clamp.default", lower_clamp},
    {"aten.clamp.Tensor", lower_clamp},
    {"aten.where.self", lower_where},
    {"aten.masked_fill.Scalar", lower_masked_fill},

    {"aten._to_copy.default", lower_cast},
    {"aten.clone.default", lower_cast},
    {"aten.alias.default", lower_cast},
    {"aten.detach.default", lower_cast},
    {"aten.lift_fresh_copy.default", lower_cast},
    {"dim_order_ops._to_dim_order_copy.default", lower_cast},
    {"aten.copy.default", lower_copy},
};

}  // namespace

const Span<const OpRule> kPointwiseRules{kPointwiseRows};

}  // namespace wick::cuda
