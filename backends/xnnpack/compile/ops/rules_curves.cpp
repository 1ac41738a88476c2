// Functions of one number: powers, logarithms, exponentials, roundings. Where the library has no operator, a few others
// compute the same for every finite number, up to rounding.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "backends/xnnpack/compile/ops/curves.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::ValueRange;
using compiler::Verdict;

namespace {

// --- parts ---

template <NodeType type>
void lower_wide_unary(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return l.unary(type, x); });
}

// --- roots and logarithms of any number: some of the library's kernels fail for very small or very large ones ---

// near = min(x, 2^60); far = 1 / max(x / 2^60, 1), which is 0 for infinity. x = near / far.
struct Parts {
  uint32_t near, far;
};
constexpr double kNearEnd = 0x1p60;
Parts parts_of(Lowering& l, uint32_t x) {
  const uint32_t beyond = clamped(l, times(l, x, 1 / kNearEnd), at_least(1));
  return {clamped(l, x, at_most(kNearEnd)), quotient(l, l.scalar(1), beyond)};
}

// Beyond 2^126 the library's kernel loses a part of the number; of infinity it makes NaN.
bool has_plain_root(const ValueRange& numbers) { return numbers.max <= 0x1p126 && !numbers.above; }

uint32_t square_root(Lowering& l, uint32_t x, const ValueRange& numbers) {
  if (has_plain_root(numbers)) return l.unary(NodeType::square_root, x);
  const Parts part = parts_of(l, x);
  return quotient(l, l.unary(NodeType::square_root, part.near), l.unary(NodeType::square_root, part.far));
}

bool has_plain_reciprocal_root(const ValueRange& numbers) {
  return numbers.min >= 0x1p-126 && numbers.max <= 0x1p126 && numbers.is_finite();
}

uint32_t reciprocal_root(Lowering& l, uint32_t x, const ValueRange& numbers) {
  if (has_plain_reciprocal_root(numbers)) return l.unary(NodeType::reciprocal_square_root, x);
  if (has_plain_root(numbers)) return quotient(l, l.scalar(1), l.unary(NodeType::square_root, x));
  const Parts part = parts_of(l, x);
  return quotient(l, l.unary(NodeType::square_root, part.far), l.unary(NodeType::square_root, part.near));
}

// Beyond 2^127 some kernels give infinity; for infinity they give the logarithm of the largest number.
bool has_plain_logarithm(const ValueRange& numbers) { return numbers.max <= 0x1p126 && !numbers.above; }

uint32_t logarithm(Lowering& l, uint32_t x, const ValueRange& numbers) {
  if (has_plain_logarithm(numbers)) return l.unary(NodeType::log, x);
  const Parts part = parts_of(l, x);
  return difference(l, l.unary(NodeType::log, part.near), l.unary(NodeType::log, part.far));
}

void lower_square_root(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return square_root(l, x, operand_numbers(l, node)); });
}
void lower_reciprocal_root(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0),
                [&](uint32_t x) { return reciprocal_root(l, x, operand_numbers(l, node)); });
}

// log(1 + z) = log(1 + near) + log((1 + z) / (1 + near)), near = clamp(z, -1/2, 1). For z < 0 the first term is -log(1
// + w), w = -near / (1 + near).
void lower_log1p(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t z) {
    const uint32_t near = clamped(l, z, {-0.5f, 1});
    const uint32_t small = quotient(l, near, plus(l, clamped(l, near, at_most(0)), 1));
    const uint32_t inner = product(l, log1p_0_to_1(l, l.unary(NodeType::abs, small)), sign(l, near));
    const uint32_t beyond = quotient(l, plus(l, z, 1), plus(l, near, 1));
    return sum(l, inner, logarithm(l, beyond, operand_numbers(l, node)));
  });
}

// --- powers ---

constexpr double kMaxPower = 8;

Verdict simple_power(const Node& node, const TargetContext&) {
  const auto exponent = number(node, "exponent");
  if (!exponent) return Verdict::no("an exponent known only at run time");
  const double quarters = *exponent * 4;
  if (*exponent == 0 || std::abs(*exponent) > kMaxPower || quarters != std::floor(quarters))
    return Verdict::no(fmt::format("exponent {}; only those that need no logarithm are taken", *exponent));
  return Verdict::yes();
}

// x^n, n > 0, by repeated squaring
uint32_t whole_power(Lowering& l, uint32_t x, int n) {
  if (n == 1) return x;
  const uint32_t square = whole_power(l, l.unary(NodeType::square, x), n / 2);
  return n % 2 == 0 ? square : product(l, square, x);
}

// A whole power of x times roots of x. For negative exponents the reciprocal comes first: its powers overflow or
// underflow only where the result does.
uint32_t power(Lowering& l, uint32_t x, double exponent, const ValueRange& numbers) {
  const double size = std::abs(exponent);
  const auto whole = static_cast<int>(size);
  const double rest = size - whole;
  const auto inverse = [&](uint32_t y) { return quotient(l, l.scalar(1), y); };
  uint32_t out = kNoValue;
  const auto take = [&](uint32_t factor) { out = out == kNoValue ? factor : product(l, out, factor); };
  if (rest != 0 && size != 0.5) x = plus(l, x, 0);  // fractional powers of -0 are those of 0
  if (whole > 0) take(whole_power(l, exponent > 0 ? x : inverse(x), whole));
  if (rest == 0) return out;
  const uint32_t root = square_root(l, x, numbers);
  ValueRange of_root;
  of_root.max = std::sqrt(std::numeric_limits<float>::max());
  of_root.above = numbers.above;
  const auto take_root = [&](uint32_t y) { take(exponent > 0 ? y : inverse(y)); };
  if (rest >= 0.5) take_root(root);
  if (rest == 0.25 || rest == 0.75) take_root(square_root(l, root, of_root));
  return out;
}

void lower_power(Lowering& l, const Node& node) {
  const double exponent = *number(node, "exponent");
  const uint32_t x = l.operand(node, 0);
  if (exponent == 2) return l.set_result(node, l.unary(NodeType::square, x));
  if (exponent == -0.5) return lower_reciprocal_root(l, node);
  lower_in_fp32(l, node, x, [&](uint32_t wide) { return power(l, wide, exponent, operand_numbers(l, node)); });
}

// --- logarithms: log_b(x) = log(x) / log(b) ---

void lower_scaled_log(Lowering& l, const Node& node, double scale) {
  const ValueRange numbers = operand_numbers(l, node);
  const auto body = [&](uint32_t x) { return times(l, logarithm(l, x, numbers), scale); };
  const uint32_t x = l.operand(node, 0);
  if (has_plain_logarithm(numbers)) return l.set_result(node, body(x));
  lower_in_fp32(l, node, x, body);
}
void lower_log(Lowering& l, const Node& node) { lower_scaled_log(l, node, 1); }
void lower_log2(Lowering& l, const Node& node) { lower_scaled_log(l, node, M_LOG2E); }
void lower_log10(Lowering& l, const Node& node) { lower_scaled_log(l, node, M_LOG10E); }

// e^x - 1 = elu(min(x, 0)) - elu(-max(x, 0)) e^max(x, 0): one term is 0.
void lower_expm1(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t below = elu(l, clamped(l, x, at_most(0)), 1), above = clamped(l, x, at_least(0));
    const uint32_t rise = elu(l, l.unary(NodeType::negate, above), 1);
    return difference(l, below, product(l, rise, l.unary(NodeType::exp, above)));
  });
}

// h = e^(x / 2), so that e^x = h^2. Computed as (h / 2) h, half of it overflows only where the result does.
uint32_t half_power(Lowering& l, uint32_t size) { return l.unary(NodeType::exp, times(l, size, 0.5)); }

// (e^|x| + e^-|x|) / 2
void lower_cosh(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t h = half_power(l, l.unary(NodeType::abs, x));
    const uint32_t half = product(l, times(l, h, 0.5), h);
    return sum(l, half, quotient(l, l.scalar(0.25), half));
  });
}

// sign(x) (d e^|x| + d) / 2, d = 1 - e^-|x|
void lower_sinh(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t size = l.unary(NodeType::abs, x), h = half_power(l, size);
    const uint32_t half = times(l, elu(l, l.unary(NodeType::negate, size), 1), -0.5);  // d / 2
    return product(l, sum(l, product(l, product(l, half, h), h), half), sign(l, x));
  });
}

// max(a, b) + log(1 + e^-|a - b|), without the difference of two infinities
void lower_log_add_exp(Lowering& l, const Node& node) {
  const DataType type = l.type();
  const uint32_t a = l.operand(node, 0), b = l.operand(node, 1);
  const uint32_t x = l.as_type(a, DataType::fp32), y = l.as_type(b, DataType::fp32);
  const uint32_t gap = difference(l, clamped(l, x, kAllFinite), clamped(l, y, kAllFinite));
  const uint32_t out = sum(l, l.binary(NodeType::maximum, x, y), log1p_exp_neg_abs(l, gap));
  l.set_result(node, type == DataType::fp16 ? l.as_type(out, type) : out);
}

// m sqrt(1 + q^2), m the larger magnitude and q the quotient of the magnitudes: squares of large numbers would
// overflow.
void lower_hypot(Lowering& l, const Node& node) {
  const DataType type = l.type();
  const uint32_t a = l.broadcast_operand(node, 0), b = l.broadcast_operand(node, 1);
  const auto size = [&](uint32_t x) { return l.unary(NodeType::abs, l.as_type(x, DataType::fp32)); };
  const uint32_t x = size(a), y = size(b);
  const uint32_t large = l.binary(NodeType::maximum, x, y), small = l.binary(NodeType::minimum, x, y);
  OutputRange divisors = kAllFinite;
  divisors.min = std::numeric_limits<float>::min();
  const uint32_t ratio = clamped(l, quotient(l, small, clamped(l, large, divisors)), at_most(1));
  const uint32_t factor = l.unary(NodeType::square_root, plus(l, l.unary(NodeType::square, ratio), 1));
  l.set_result(node, l.as_type(product(l, large, factor), type));
}

// --- roundings ---

void lower_sign(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return plus(l, sign(l, x), 0); });  // -0 becomes 0
}

// Towards zero. f32.
uint32_t truncated(Lowering& l, uint32_t x) {
  return product(l, l.unary(NodeType::floor, l.unary(NodeType::abs, x)), sign(l, x));
}

void lower_trunc(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return truncated(l, x); });
}

// To the nearest, halves to even: adding 2^23 does that to numbers up to 2^23. Larger ones are whole already; they are
// computed as 2^23 times a factor, which is exact.
void lower_round(Lowering& l, const Node& node) {
  constexpr double kWhole = 0x1p23;
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t size = l.unary(NodeType::abs, x);
    const uint32_t near = plus(l, plus(l, clamped(l, size, at_most(kWhole)), kWhole), -kWhole);
    const uint32_t factor = clamped(l, times(l, size, 1 / kWhole), at_least(1));
    return product(l, product(l, near, factor), sign(l, x));
  });
}

// --- quotients by powers of two, which are exact ---

Verdict power_of_two(const Node& node, const TargetContext&) {
  const auto divisor = number(node, "other");
  if (!divisor) return Verdict::no("a divisor known only at run time");
  int exponent = 0;
  const bool exact = std::frexp(std::abs(*divisor), &exponent) == 0.5 && exponent >= 1 && exponent <= 64;
  return exact ? Verdict::yes()
               : Verdict::no(fmt::format("divisor {}; only powers of two from 1 on are taken", *divisor));
}

// x - c floor(x / c)
void lower_remainder(Lowering& l, const Node& node) {
  const double divisor = *number(node, "other");
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t whole = l.unary(NodeType::floor, times(l, x, 1 / divisor));
    return difference(l, x, times(l, whole, divisor));
  });
}

// sign(x) (|x| - |c| floor(|x| / |c|))
void lower_fmod(Lowering& l, const Node& node) {
  const double divisor = std::abs(*number(node, "other"));
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t size = l.unary(NodeType::abs, x);
    const uint32_t whole = l.unary(NodeType::floor, times(l, size, 1 / divisor));
    return product(l, difference(l, size, times(l, whole, divisor)), sign(l, x));
  });
}

Verdict rounded_quotient(const Node& node, const TargetContext& context) {
  return node.is_none("rounding_mode") ? Verdict::no("a quotient that is not rounded") : power_of_two(node, context);
}

void lower_rounded_quotient(Lowering& l, const Node& node) {
  const double divisor = *number(node, "other");
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t quotient = times(l, x, 1 / divisor);
    return node.string("rounding_mode") == "floor" ? l.unary(NodeType::floor, quotient) : truncated(l, quotient);
  });
}

// Numbers of f16 are no more than 65504, unless the caller passes an infinity.
const Deviation* deviation_of_root(const Node& node) {
  return node.result()->dtype() == DType::f16 ? &kHalfRoot : &kDropsNan;
}

bool takes_a_root(const Node& node) {
  const auto exponent = number(node, "exponent");
  return exponent && *exponent != std::floor(*exponent);
}

const Deviation* deviation_of_power(const Node& node) {
  const compiler::Arg& exponent = node.arg("exponent");
  if (!exponent.is<double>()) return nullptr;
  return exponent.as<double>() == std::floor(exponent.as<double>()) ? nullptr : deviation_of_root(node);
}

constexpr OpRule kCurveRows[] = {
    costs_more(deviates(kDropsNan, curve_row("aten.cosh.default", lower_cosh))),
    deviates(kStep, curve_row("aten.div.Scalar_mode", lower_rounded_quotient, rounded_quotient)),
    costs_more(loses_sign(deviates(kExponential, curve_row("aten.expm1.default", lower_expm1)))),
    deviates(kStep, curve_row("aten.fmod.Scalar", lower_fmod, power_of_two)),
    deviates(kLength, curve_row("aten.hypot.default", lower_hypot)),
    costs_more(deviates(kDropsNan, curve_row("aten.log.default", lower_log))),
    costs_more(deviates(kDropsNan, curve_row("aten.log10.default", lower_log10))),
    costs_more(loses_sign(deviates(kDropsNan, curve_row("aten.log1p.default", lower_log1p)))),
    costs_more(deviates(kDropsNan, curve_row("aten.log2.default", lower_log2))),
    deviates(kLogSumExp, curve_row("aten.logaddexp.default", lower_log_add_exp)),
    costs_more(deviates(deviation_of_power, curve_row("aten.pow.Tensor_Scalar", lower_power, simple_power)),
               takes_a_root),
    loses_sign(ZeroSign::lost, deviates(kStep, curve_row("aten.remainder.Scalar", lower_remainder, power_of_two))),
    costs_more(deviates(kStep, curve_row("aten.round.default", lower_round))),
    costs_more(deviates(deviation_of_root, curve_row("aten.rsqrt.default", lower_reciprocal_root))),
    costs_more(deviates(kSign, curve_row("aten.sign.default", lower_sign))),
    costs_more(loses_sign(deviates(kDropsNan, curve_row("aten.sinh.default", lower_sinh)))),
    costs_more(deviates(deviation_of_root, curve_row("aten.sqrt.default", lower_square_root))),
    curve_row("aten.tanh.default", lower_wide_unary<NodeType::tanh>),
    deviates(kStep, curve_row("aten.trunc.default", lower_trunc)),
};

}  // namespace

const RuleFamily kCurveRules = {kCurveRows, std::size(kCurveRows)};

}  // namespace wick::xnnpack
