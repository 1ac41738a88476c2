// Activations. Where the library has no operator, a few others compute the same for every finite number, up to
// rounding.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "backends/xnnpack/compile/ops/curves.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::ValueRange;
using compiler::Verdict;

namespace {

// --- smooth ---

void lower_sigmoid(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return sigmoid(l, node, x); });
}

void lower_silu(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return product(l, x, sigmoid(l, node, x)); });
}

// gelu(x), tanh form: x * sigmoid(x * (a + b x^2)), a = 2 sqrt(2 / pi), b = 0.044715 a; beyond 16 the factor is 0 or 1.
void lower_gelu(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    if (node.string("approximate") != "tanh") return l.unary(NodeType::gelu, x);
    const double a = 2 * std::sqrt(2 / M_PI);
    const uint32_t near = clamped(l, x, {-16, 16});
    const uint32_t curve = plus(l, times(l, l.unary(NodeType::square, near), 0.044715 * a), a);
    return product(l, x, l.unary(NodeType::sigmoid, product(l, near, curve)));
  });
}

// x clamp(x + 3, 0, 6) / 6, whose product overflows where eager's does: the library's kernel divides first.
void lower_hardswish(Lowering& l, const Node& node) {
  constexpr double kLargest = std::numeric_limits<float>::max() / 8;
  const ValueRange numbers = l.numbers_of(node.operands()[0]);
  const bool plain = l.type() == DataType::fp16 || has_ordinary_numbers(node.operands()[0]) ||
                     (numbers.is_finite() && numbers.max <= kLargest);
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    if (plain) return l.unary(NodeType::hardswish, x);
    const uint32_t gate = l.binary(NodeType::add, x, l.scalar(3), OutputRange{0, 6});
    return times(l, product(l, x, gate), 1.0 / 6);
  });
}

// clamp(x + 3, 0, 6) / 6
void lower_hardsigmoid(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    return times(l, l.binary(NodeType::add, x, l.scalar(3), OutputRange{0, 6}), 1.0 / 6);
  });
}

// x tanh(log(1 + e^x)) = x n / (n + 2), n = t (t + 2), t = e^x; beyond x = 20 the fraction is 1.
void lower_mish(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t t = l.unary(NodeType::exp, clamped(l, x, at_most(20)));
    const uint32_t n = product(l, t, plus(l, t, 2));
    return product(l, x, quotient(l, n, plus(l, n, 2)));
  });
}

// Above the threshold eager returns x itself. From 14 on, log(1 + e^x) - x is below x's last place.
constexpr double kLeastThreshold = 14;

Verdict plain_softplus(const Node& node, const TargetContext&) {
  const auto beta = number(node, "beta"), threshold = number(node, "threshold");
  if (!beta || !threshold) return Verdict::no("a factor known only at run time");
  if (!(*beta > 0) || !std::isfinite(*beta)) return Verdict::no("a beta that is not positive");
  if (!std::isnormal(static_cast<float>(*beta)) || !std::isnormal(static_cast<float>(1 / *beta)))
    return Verdict::no("a beta that is no normal number, or whose reciprocal is none");
  if (!(*threshold >= kLeastThreshold)) return Verdict::no("a threshold below 14, where the curve has a step");
  return Verdict::yes();
}

// (max(b x, 0) + log(1 + e^-|b x|)) / b
void lower_softplus(Lowering& l, const Node& node) {
  const double beta = *number(node, "beta");
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t tail = log1p_exp_neg_abs(l, times(l, x, beta));
    return sum(l, clamped(l, x, at_least(0)), times(l, tail, 1 / beta));
  });
}

// min(x, 0) - log(1 + e^-|x|)
void lower_log_sigmoid(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0),
                [&](uint32_t x) { return difference(l, clamped(l, x, at_most(0)), log1p_exp_neg_abs(l, x)); });
}

Verdict known_elu(const Node& node, const TargetContext&) {
  const auto alpha = number(node, "alpha"), scale = number(node, "scale"), input = number(node, "input_scale");
  if (!alpha || !scale || !input) return Verdict::no("a factor known only at run time");
  if (!(*input > 0)) return Verdict::no("an input scale that is not positive");
  const auto is_finite = [](double factor) { return std::isfinite(static_cast<float>(factor)); };
  if (!is_finite(*alpha) || !is_finite(*scale) || !is_finite(*scale * *alpha) || !is_finite(*input))
    return Verdict::no("a factor that is infinite or NaN");
  return is_subnormal(*scale) || !std::isnormal(static_cast<float>(*input))
             ? Verdict::no("a factor below 2^-126, which the library takes for zero")
             : Verdict::yes();
}

// scale x for x > 0, else scale alpha (e^(input_scale x) - 1)
void lower_elu(Lowering& l, const Node& node) {
  const double alpha = *number(node, "alpha"), scale = *number(node, "scale"), input = *number(node, "input_scale");
  const uint32_t x = l.operand(node, 0);
  const bool one_kernel = input == 1 && std::isnormal(static_cast<float>(alpha)) && alpha > 0;
  const auto curve = [&](uint32_t wide) { return times(l, elu(l, wide, alpha), scale); };
  if (one_kernel) return lower_in_fp32(l, node, x, curve);
  lower_in_fp32(l, node, x, [&](uint32_t wide) {
    const uint32_t below = elu(l, times(l, clamped(l, wide, at_most(0)), input), 1);
    return sum(l, times(l, clamped(l, wide, at_least(0)), scale), times(l, below, scale * alpha));
  });
}

// --- with corners ---

Verdict known_slope(const Node& node, const TargetContext&) {
  const auto slope = number(node, "negative_slope");
  if (!slope) return Verdict::no("'negative_slope' is known only at run time");
  if (!std::isfinite(static_cast<float>(*slope))) return Verdict::no("'negative_slope' is infinite");
  std::string reason = refuse_factor(node, "negative_slope");
  return reason.empty() ? Verdict::yes() : Verdict::no(std::move(reason));
}

uint32_t leaky_relu(Lowering& l, uint32_t x, double slope) {
  PayloadNode leaky;
  leaky.type = NodeType::leaky_relu;
  leaky.inputs[0] = x;
  leaky.value = static_cast<float>(slope);
  return l.add(std::move(leaky), Sizes(l.dims(x)));
}

void lower_leaky_relu(Lowering& l, const Node& node) {
  const double slope = *number(node, "negative_slope");
  const uint32_t x = l.operand(node, 0);
  if (is_half(slope)) return l.set_result(node, leaky_relu(l, x, slope));
  lower_in_fp32(l, node, x, [&](uint32_t wide) { return leaky_relu(l, wide, slope); });
}

Verdict known_lambda(const Node& node, const TargetContext&) {
  const auto lambda = number(node, "lambd");
  if (!lambda) return Verdict::no("'lambd' is known only at run time");
  return *lambda >= 0x1p-100 && std::isfinite(*lambda) ? Verdict::yes() : Verdict::no("a lambda that is not positive");
}

// x - clamp(x, -lambda, lambda)
void lower_softshrink(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const auto lambda = static_cast<float>(compiler::half_number(*number(node, "lambd"), node.result()->dtype()));
    return difference(l, x, clamped(l, x, {-lambda, lambda}));
  });
}

// x * (|x| > lambda)
void lower_hardshrink(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const double lambda = compiler::half_number(*number(node, "lambd"), node.result()->dtype());
    const uint32_t above = plus(l, l.unary(NodeType::abs, x), -lambda);
    return product(l, x, is_positive(l, above));
  });
}

Verdict known_threshold(const Node& node, const TargetContext&) {
  const auto threshold = number(node, "threshold"), value = number(node, "value");
  if (!threshold || !value) return Verdict::no("a threshold known only at run time");
  const bool finite = std::isfinite(static_cast<float>(*threshold)) && std::isfinite(static_cast<float>(*value));
  // The difference from a smaller threshold may be subnormal: the library treats it as zero.
  const bool exact = *threshold == 0 || std::abs(*threshold) >= 0x1p-100;
  return finite && exact ? Verdict::yes() : Verdict::no("a threshold or value without exact differences");
}

// x * s, where s is 0 or 1. If x may have overflowed: clamp(x, -limit, limit), where limit = s / (1 - s) is infinite or
// 0.
uint32_t where_chosen(Lowering& l, uint32_t x, uint32_t chosen, const ValueRange& numbers) {
  const bool overflows = numbers.above || numbers.below || !(numbers.max <= 0x1p126 && numbers.min >= -0x1p126);
  if (!overflows) return product(l, x, chosen);
  const uint32_t limit = quotient(l, chosen, plus(l, times(l, chosen, -1), 1));
  return l.binary(NodeType::maximum, l.binary(NodeType::minimum, x, limit), times(l, limit, -1));
}

// x for x > threshold, else value: x s + (value - value s), s = (x > threshold)
void lower_threshold(Lowering& l, const Node& node) {
  const double threshold = *number(node, "threshold"), value = *number(node, "value");
  const uint32_t x = l.operand(node, 0);
  if (threshold == value) return l.set_result(node, clamped(l, x, at_least(static_cast<float>(value))));
  lower_in_fp32(l, node, x, [&](uint32_t wide) {
    const uint32_t chosen = is_positive(l, threshold == 0 ? wide : plus(l, wide, -threshold));
    const uint32_t kept = where_chosen(l, wide, chosen, operand_numbers(l, node));
    return value == 0 ? kept : sum(l, kept, plus(l, times(l, chosen, -value), value));
  });
}

// Other arguments need a sum of two parts, one clamped from below and one from above, which drops NaN.
const Deviation* deviation_of_elu(const Node& node) {
  const auto alpha = number(node, "alpha"), input = number(node, "input_scale");
  const bool one_kernel = alpha && input == 1 && std::isnormal(static_cast<float>(*alpha)) && *alpha > 0;
  return one_kernel ? nullptr : &kDropsNan;
}

bool is_tanh_form(const Node& node) { return node.string("approximate") == "tanh"; }

const Deviation* deviation_of_gelu(const Node& node) { return is_tanh_form(node) ? &kSigmoid : nullptr; }

constexpr OpRule kActivationRows[] = {
    loses_sign(deviates(deviation_of_elu, curve_row("aten.elu.default", lower_elu, known_elu))),
    costs_more(deviates(deviation_of_gelu, curve_row("aten.gelu.default", lower_gelu)), is_tanh_form),
    loses_sign(ZeroSign::lost, deviates(kStep, curve_row("aten.hardshrink.default", lower_hardshrink, known_lambda))),
    deviates(kDropsNan, curve_row("aten.hardsigmoid.default", lower_hardsigmoid)),
    deviates(kOverflow, curve_row("aten.hardswish.default", lower_hardswish)),
    curve_row("aten.leaky_relu.default", lower_leaky_relu, known_slope),
    costs_more(loses_sign(deviates(kDropsNan, curve_row("aten.log_sigmoid.default", lower_log_sigmoid)))),
    costs_more(deviates(kDropsNan, curve_row("aten.mish.default", lower_mish))),
    deviates(kSigmoid, curve_row("aten.sigmoid.default", lower_sigmoid)),
    deviates(kSigmoid, curve_row("aten.silu.default", lower_silu)),
    costs_more(deviates(kDropsNan, curve_row("aten.softplus.default", lower_softplus, plain_softplus))),
    loses_sign(ZeroSign::lost, curve_row("aten.softshrink.default", lower_softshrink, known_lambda)),
    loses_sign(ZeroSign::lost,
               deviates(kDropsNan, curve_row("aten.threshold.default", lower_threshold, known_threshold))),
};

}  // namespace

const RuleFamily kActivationRules = {kActivationRows, std::size(kActivationRows)};

}  // namespace wick::xnnpack
