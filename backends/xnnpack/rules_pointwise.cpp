// Pointwise operators: the result lies as its operands do.
#include <fmt/format.h>

#include <cmath>

#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- what is taken ---

Verdict numbers_known(const Node& node, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (node.op->parsed->find(name) < 0 || node.is_none(name)) continue;
    const compiler::Arg& arg = node.arg(name);
    if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor()) continue;
    if (!number(node, name)) return Verdict::no(fmt::format("'{}' is known only at run time", name));
  }
  return Verdict::yes();
}

Verdict known_numbers(const Node& node, const TargetOptions&) {
  return numbers_known(node, {"alpha", "self", "other", "value", "negative_slope", "min", "max", "min_val", "max_val"});
}

Verdict known_bounds(const Node& node, const TargetOptions& options) {
  Verdict known = known_numbers(node, options);
  if (!known.taken) return known;
  Range range;
  return clamp_range(node, &range) ? Verdict::yes() : Verdict::no("bounds that leave no range");
}

Verdict constant_operand_fits(const Node& node, const TargetOptions& options) {
  Verdict known = known_numbers(node, options);
  if (!known.taken) return known;
  if (node.op->parsed->find("rounding_mode") >= 0 && !node.is_none("rounding_mode"))
    return Verdict::no("a quotient that is rounded");
  return Verdict::yes();
}

bool is_handled_power(double exponent) {
  return exponent == 2 || exponent == 3 || exponent == 4 || exponent == 1 || exponent == 0.5 || exponent == -0.5 ||
         exponent == -1 || exponent == -2;
}

Verdict simple_power(const Node& node, const TargetOptions&) {
  const auto exponent = number(node, "exponent");
  if (!exponent) return Verdict::no("an exponent known only at run time");
  if (!is_handled_power(*exponent))
    return Verdict::no(fmt::format("exponent {}; those that need no logarithm are taken", *exponent));
  return Verdict::yes();
}

Verdict plain_elu(const Node& node, const TargetOptions&) {
  const auto alpha = number(node, "alpha"), scale = number(node, "scale"), input = number(node, "input_scale");
  if (!alpha || !scale || !input) return Verdict::no("a factor known only at run time");
  if (*input != 1 || *alpha <= 0) return Verdict::no("an alpha that is not positive, or a scaled input");
  return Verdict::yes();
}

// --- what it becomes ---

template <NodeType type>
void lower_unary(Lowering& l, const Node& node) {
  l.set_result(node, l.unary(type, l.operand(node, 0)));
}

template <NodeType type>
void lower_wide_unary(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return l.unary(type, x); });
}

bool tensor_argument(const Node& node, const char* name) {
  const compiler::Arg& arg = node.arg(name);
  return arg.is<Value*>() && arg.as<Value*>()->type.is_tensor();
}

// The operand called `name`: a tensor, or a number, which may stand on either side.
uint32_t named_operand(Lowering& l, const Node& node, const char* name) {
  if (!tensor_argument(node, name)) return l.scalar(*number(node, name));
  const bool second = node.operands().size() > 1 && std::string_view(name) == "other";
  return l.broadcast_operand(node, second ? 1 : 0);
}

template <NodeType type>
void lower_binary(Lowering& l, const Node& node) {
  l.set_result(node, l.binary(type, named_operand(l, node, "self"), named_operand(l, node, "other"), l.range_of(node)));
}

// self + alpha * other, self - alpha * other
template <NodeType type>
void lower_sum(Lowering& l, const Node& node) {
  const double alpha = node.op->parsed->find("alpha") >= 0 ? number(node, "alpha").value_or(1) : 1;
  const auto literal = tensor_argument(node, "other") ? std::nullopt : number(node, "other");
  uint32_t right = literal ? l.scalar(alpha * *literal) : named_operand(l, node, "other");
  if (!literal && alpha != 1) right = l.binary(NodeType::multiply, right, l.scalar(alpha));
  l.set_result(node, l.binary(type, named_operand(l, node, "self"), right, l.range_of(node)));
}

void lower_reverse_difference(Lowering& l, const Node& node) {
  uint32_t x = named_operand(l, node, "self");
  const double alpha = number(node, "alpha").value_or(1);
  if (alpha != 1) x = l.binary(NodeType::multiply, x, l.scalar(alpha));
  l.set_result(node, l.binary(NodeType::subtract, named_operand(l, node, "other"), x, l.range_of(node)));
}

uint32_t clamped(Lowering& l, uint32_t x, Range range) {
  PayloadNode node;
  node.type = NodeType::clamp;
  node.inputs[0] = x;
  node.output_min = range.min;
  node.output_max = range.max;
  return l.add(std::move(node), Dims(l.dims(x)));
}

void lower_clamp(Lowering& l, const Node& node) {
  Range range;
  clamp_range(node, &range);
  l.set_result(node, clamped(l, l.operand(node, 0), range));
}

void lower_reciprocal(Lowering& l, const Node& node) {
  l.set_result(node, l.binary(NodeType::div, l.scalar(1), l.operand(node, 0)));
}

void lower_power(Lowering& l, const Node& node) {
  const double exponent = *number(node, "exponent");
  const uint32_t x = l.operand(node, 0);
  if (exponent == 0.5) return lower_wide_unary<NodeType::square_root>(l, node);
  const auto square = [&](uint32_t v) { return l.unary(NodeType::square, v); };
  uint32_t out = x;
  if (exponent == 2) out = square(x);
  if (exponent == 3) out = l.binary(NodeType::multiply, square(x), x);
  if (exponent == 4) out = square(square(x));
  if (exponent == -0.5) out = l.unary(NodeType::reciprocal_square_root, x);
  if (exponent == -1) out = l.binary(NodeType::div, l.scalar(1), x);
  if (exponent == -2) out = l.binary(NodeType::div, l.scalar(1), square(x));
  l.set_result(node, out);
}

uint32_t sigmoid_product(Lowering& l, uint32_t x, uint32_t argument) {
  return l.binary(NodeType::multiply, x, l.unary(NodeType::sigmoid, argument));
}

void lower_silu(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return sigmoid_product(l, x, x); });
}

// gelu(x), tanh form: x * sigmoid(x * (a + b x^2)), a = 2 sqrt(2 / pi), b = 0.044715 a
void lower_gelu(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    if (node.string("approximate") != "tanh") return l.unary(NodeType::gelu, x);
    const double a = 2 * std::sqrt(2 / M_PI);
    const uint32_t cubic = l.binary(NodeType::multiply, l.unary(NodeType::square, x), l.scalar(0.044715 * a));
    const uint32_t curve = l.binary(NodeType::add, cubic, l.scalar(a));
    return sigmoid_product(l, x, l.binary(NodeType::multiply, x, curve));
  });
}

// clamp(x + 3, 0, 6) / 6
void lower_hardsigmoid(Lowering& l, const Node& node) {
  const uint32_t shifted = l.binary(NodeType::add, l.operand(node, 0), l.scalar(3), Range{0, 6});
  l.set_result(node, l.binary(NodeType::multiply, shifted, l.scalar(1.0 / 6)));
}

// x tanh(log(1 + e^x)) = x n / (n + 2), n = t (t + 2), t = e^x; beyond x = 20 the fraction is 1.
void lower_mish(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    Range range;
    range.max = 20;
    const uint32_t t = l.unary(NodeType::exp, clamped(l, x, range));
    const uint32_t n = l.binary(NodeType::multiply, t, l.binary(NodeType::add, t, l.scalar(2)));
    const uint32_t fraction = l.binary(NodeType::div, n, l.binary(NodeType::add, n, l.scalar(2)));
    return l.binary(NodeType::multiply, x, fraction);
  });
}

void lower_elu(Lowering& l, const Node& node) {
  PayloadNode elu;
  elu.type = NodeType::elu;
  elu.inputs[0] = l.operand(node, 0);
  elu.value = static_cast<float>(*number(node, "alpha"));
  const Dims dims = l.dims(elu.inputs[0]);
  uint32_t out = l.add(std::move(elu), dims);
  const double scale = *number(node, "scale");
  if (scale != 1) out = l.binary(NodeType::multiply, out, l.scalar(scale));
  l.set_result(node, out);
}

void lower_leaky_relu(Lowering& l, const Node& node) {
  PayloadNode leaky;
  leaky.type = NodeType::leaky_relu;
  leaky.inputs[0] = l.operand(node, 0);
  leaky.value = static_cast<float>(*number(node, "negative_slope"));
  const Dims dims = l.dims(leaky.inputs[0]);
  l.set_result(node, l.add(std::move(leaky), dims));
}

// log_b(x) = log(x) / log(b)
void lower_log2(Lowering& l, const Node& node) {
  const uint32_t log = l.unary(NodeType::log, l.operand(node, 0));
  l.set_result(node, l.binary(NodeType::multiply, log, l.scalar(M_LOG2E)));
}
void lower_log10(Lowering& l, const Node& node) {
  const uint32_t log = l.unary(NodeType::log, l.operand(node, 0));
  l.set_result(node, l.binary(NodeType::multiply, log, l.scalar(M_LOG10E)));
}

void lower_tan(Lowering& l, const Node& node) {
  const uint32_t x = l.operand(node, 0);
  l.set_result(node, l.binary(NodeType::div, l.unary(NodeType::sin, x), l.unary(NodeType::cos, x)));
}

template <NodeType type>
constexpr OpRule unary(const char* op) {
  return {op, nullptr, any_order, lower_unary<type>, Unknown::any};
}
template <NodeType type>
constexpr OpRule wide_unary(const char* op) {
  return {op, nullptr, any_order, lower_wide_unary<type>, Unknown::any};
}
template <NodeType type>
constexpr OpRule binary(const char* op, Verdict (*supports)(const Node&, const TargetOptions&)) {
  return {op, supports, any_order, lower_binary<type>, Unknown::any, true};
}

constexpr OpRule kRows[] = {
    unary<NodeType::abs>("aten.abs.default"),
    unary<NodeType::ceiling>("aten.ceil.default"),
    unary<NodeType::cos>("aten.cos.default"),
    unary<NodeType::exp>("aten.exp.default"),
    unary<NodeType::floor>("aten.floor.default"),
    unary<NodeType::hardswish>("aten.hardswish.default"),
    unary<NodeType::log>("aten.log.default"),
    unary<NodeType::negate>("aten.neg.default"),
    unary<NodeType::reciprocal_square_root>("aten.rsqrt.default"),
    wide_unary<NodeType::sigmoid>("aten.sigmoid.default"),
    unary<NodeType::sin>("aten.sin.default"),
    wide_unary<NodeType::square_root>("aten.sqrt.default"),
    unary<NodeType::square>("aten.square.default"),
    wide_unary<NodeType::tanh>("aten.tanh.default"),
    {"aten.add.Scalar", known_numbers, any_order, lower_sum<NodeType::add>, Unknown::any, true},
    {"aten.add.Tensor", known_numbers, any_order, lower_sum<NodeType::add>, Unknown::any, true},
    {"aten.clamp.default", known_bounds, any_order, lower_clamp, Unknown::any},
    binary<NodeType::div>("aten.div.Scalar", constant_operand_fits),
    binary<NodeType::div>("aten.div.Tensor", constant_operand_fits),
    {"aten.elu.default", plain_elu, any_order, lower_elu, Unknown::any},
    {"aten.gelu.default", nullptr, any_order, lower_gelu, Unknown::any},
    {"aten.hardsigmoid.default", nullptr, any_order, lower_hardsigmoid, Unknown::any},
    {"aten.hardtanh.default", known_bounds, any_order, lower_clamp, Unknown::any},
    {"aten.leaky_relu.default", known_numbers, any_order, lower_leaky_relu, Unknown::any},
    {"aten.log10.default", nullptr, any_order, lower_log10, Unknown::any},
    {"aten.log2.default", nullptr, any_order, lower_log2, Unknown::any},
    {"aten.maximum.default", nullptr, any_order, lower_binary<NodeType::maximum>, Unknown::any},
    {"aten.minimum.default", nullptr, any_order, lower_binary<NodeType::minimum>, Unknown::any},
    {"aten.mish.default", nullptr, any_order, lower_mish, Unknown::any},
    binary<NodeType::multiply>("aten.mul.Scalar", constant_operand_fits),
    binary<NodeType::multiply>("aten.mul.Tensor", constant_operand_fits),
    {"aten.pow.Tensor_Scalar", simple_power, any_order, lower_power, Unknown::any},
    {"aten.reciprocal.default", nullptr, any_order, lower_reciprocal, Unknown::any},
    {"aten.relu.default", nullptr, any_order, lower_clamp, Unknown::any},
    {"aten.relu6.default", nullptr, any_order, lower_clamp, Unknown::any},
    {"aten.rsub.Scalar", known_numbers, any_order, lower_reverse_difference, Unknown::any, true},
    {"aten.rsub.Tensor", known_numbers, any_order, lower_reverse_difference, Unknown::any, true},
    {"aten.silu.default", nullptr, any_order, lower_silu, Unknown::any},
    {"aten.sub.Scalar", known_numbers, any_order, lower_sum<NodeType::subtract>, Unknown::any, true},
    {"aten.sub.Tensor", known_numbers, any_order, lower_sum<NodeType::subtract>, Unknown::any, true},
    {"aten.tan.default", nullptr, any_order, lower_tan, Unknown::any},
};

}  // namespace

const RuleFamily kPointwiseRules = {kRows, std::size(kRows)};

bool clamp_range(const Node& node, Range* range) {
  const auto bound = [&](const char* name, float otherwise) {
    return node.is_none(name) ? otherwise : static_cast<float>(number(node, name).value_or(otherwise));
  };
  if (node.is("aten.relu.default")) {
    range->min = 0;
  } else if (node.is("aten.relu6.default")) {
    *range = {0, 6};
  } else if (node.is("aten.hardtanh.default")) {
    *range = {bound("min_val", -1), bound("max_val", 1)};
  } else if (node.is("aten.clamp.default")) {
    *range = {bound("min", range->min), bound("max", range->max)};
  } else {
    return false;
  }
  return range->min < range->max;
}

}  // namespace wick::xnnpack
