// Functions of a number: activations, powers, logarithms, roundings. Where the library has none, a few operators that
// make the same of every finite number, up to rounding.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "backends/xnnpack/compile/ops/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::ValueRange;
using compiler::Verdict;

namespace {

// --- parts ---

template <NodeType type>
void lower_unary(Lowering& l, const Node& node) {
  l.set_result(node, l.unary(type, l.operand(node, 0)));
}

template <NodeType type>
void lower_wide_unary(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return l.unary(type, x); });
}

uint32_t sum(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::add, a, b); }
uint32_t difference(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::subtract, a, b); }
uint32_t product(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::multiply, a, b); }
uint32_t quotient(Lowering& l, uint32_t a, uint32_t b) { return l.binary(NodeType::div, a, b); }
uint32_t plus(Lowering& l, uint32_t x, double number) { return sum(l, x, l.scalar(number)); }
uint32_t times(Lowering& l, uint32_t x, double number) { return number == 1 ? x : product(l, x, l.scalar(number)); }

Range at_least(float min) {
  Range range;
  range.min = min;
  return range;
}
Range at_most(float max) {
  Range range;
  range.max = max;
  return range;
}

// alpha (e^x - 1) for x < 0, else x
uint32_t elu(Lowering& l, uint32_t x, double alpha) {
  PayloadNode node;
  node.type = NodeType::elu;
  node.inputs[0] = x;
  node.value = static_cast<float>(alpha);
  return l.add(std::move(node), Dims(l.dims(x)));
}

// Each normal number and infinity times 2^126 is 1 or more. f32.
uint32_t sign(Lowering& l, uint32_t x) { return clamped(l, times(l, x, 0x1p126), {-1, 1}); }
// 1 for x > 0, else 0. f32.
uint32_t is_positive(Lowering& l, uint32_t x) { return clamped(l, times(l, x, 0x1p126), {0, 1}); }

// --- roots and logarithms of all numbers: the library's kernels need some that are neither small nor large ---

// x up to 2^60, and 2^60 / x from there on, where it is 1 at first and 0 for infinity. x is their quotient.
struct Parts {
  uint32_t near, far;
};
constexpr double kNearEnd = 0x1p60;
Parts parts_of(Lowering& l, uint32_t x) {
  const uint32_t beyond = clamped(l, times(l, x, 1 / kNearEnd), at_least(1));
  return {clamped(l, x, at_most(kNearEnd)), quotient(l, l.scalar(1), beyond)};
}

// Of numbers beyond 2^126 the library's kernel loses a part, of infinity it makes NaN.
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

// Of numbers beyond 2^127 some kernels make infinity, of infinity the logarithm of the largest number.
bool has_plain_logarithm(const ValueRange& numbers) { return numbers.max <= 0x1p126 && !numbers.above; }

uint32_t logarithm(Lowering& l, uint32_t x, const ValueRange& numbers) {
  if (has_plain_logarithm(numbers)) return l.unary(NodeType::log, x);
  const Parts part = parts_of(l, x);
  return difference(l, l.unary(NodeType::log, part.near), l.unary(NodeType::log, part.far));
}

// What is computed in f16 overflows soon.
ValueRange operand_numbers(const Lowering& l, const Node& node) {
  const compiler::Value* x = node.operands()[0];
  ValueRange numbers = l.numbers_of(x);
  if (x->dtype() == DType::f16 && x->producer) numbers.above = numbers.below = true;
  return numbers;
}

void lower_square_root(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return square_root(l, x, operand_numbers(l, node)); });
}
void lower_reciprocal_root(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0),
                [&](uint32_t x) { return reciprocal_root(l, x, operand_numbers(l, node)); });
}

// log(1 + z) for z from 0 to 1. The library's logarithm is off by 6e-8 near 1, which is much for small z: one step of
// Newton's for e^y = 1 + z, y - 1 + (1 + z) e^-y, without the differences of near numbers.
uint32_t log_one_plus(Lowering& l, uint32_t z) {
  const uint32_t y = l.unary(NodeType::log, plus(l, z, 1));
  const uint32_t decay = elu(l, l.unary(NodeType::negate, y), 1);  // e^-y - 1
  return sum(l, sum(l, y, decay), product(l, z, plus(l, decay, 1)));
}

// log(1 + e^-|x|)
uint32_t soft_tail(Lowering& l, uint32_t x) {
  const uint32_t fall = l.unary(NodeType::exp, l.unary(NodeType::negate, l.unary(NodeType::abs, x)));
  return log_one_plus(l, fall);
}

// log(1 + z): of what lies between -1/2 and 1, and of the quotient beyond, which there is 1. For z < 0 the first part
// is -log(1 + w), w = -z / (1 + z).
void lower_log1p(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t z) {
    const uint32_t near = clamped(l, z, {-0.5f, 1});
    const uint32_t small = quotient(l, near, plus(l, clamped(l, near, at_most(0)), 1));
    const uint32_t inner = product(l, log_one_plus(l, l.unary(NodeType::abs, small)), sign(l, near));
    const uint32_t beyond = quotient(l, plus(l, z, 1), plus(l, near, 1));
    return sum(l, inner, l.unary(NodeType::log, beyond));
  });
}

// --- numbers of models ---

constexpr size_t kMaxFollowed = 64;
// What sums and products of weights are made of.
constexpr std::string_view kWeighing[] = {
    "aten.linear.default",   "aten.addmm.default",
    "aten._softmax.default", "aten.convolution.default",
    "aten.rms_norm.default", "aten._native_batch_norm_legit_no_training.default",
    "aten.tanh.default",     "aten.native_layer_norm.default",
    "aten.sigmoid.default",  "aten.native_group_norm.default",
};
constexpr std::string_view kKeeping[] = {
    "aten.add.Tensor",  "aten.add.Scalar",      "aten.sub.Tensor",   "aten.mul.Tensor",   "aten.mul.Scalar",
    "aten.mean.dim",    "aten.permute.default", "aten.view.default", "aten.slice.Tensor", "aten.select.int",
    "aten.cat.default", "aten.expand.default",  "aten.relu.default", "aten.silu.default",
};

// Made of products with weights: ordinary numbers, unless the inputs are beyond all measure.
bool is_weighed(const compiler::Value* value) {
  const auto among = [](const auto& ops, const Node& node) {
    return std::find(std::begin(ops), std::end(ops), node.op->name()) != std::end(ops);
  };
  std::vector<const compiler::Value*> followed{value};
  for (size_t i = 0; i < followed.size(); ++i) {
    const Node* node = followed[i]->producer;
    if (followed[i]->is_constant() || (node && among(kWeighing, *node))) continue;
    if (!node || !among(kKeeping, *node)) return false;
    for (const compiler::Value* operand : node->operands()) {
      if (std::find(followed.begin(), followed.end(), operand) == followed.end()) followed.push_back(operand);
      if (followed.size() > kMaxFollowed) return false;
    }
  }
  return true;
}

// --- powers ---

constexpr double kMaxPower = 8;

Verdict simple_power(const Node& node, const TargetOptions&) {
  const auto exponent = number(node, "exponent");
  if (!exponent) return Verdict::no("an exponent known only at run time");
  const double quarters = *exponent * 4;
  if (*exponent == 0 || std::abs(*exponent) > kMaxPower || quarters != std::floor(quarters))
    return Verdict::no(fmt::format("exponent {}; only those that need no logarithm are taken", *exponent));
  return Verdict::yes();
}

// x^n, n > 0: squares, and products of those that n is the sum of
uint32_t whole_power(Lowering& l, uint32_t x, int n) {
  if (n == 1) return x;
  const uint32_t square = whole_power(l, l.unary(NodeType::square, x), n / 2);
  return n % 2 == 0 ? square : product(l, square, x);
}

// The whole part, and the part that is made of roots. Of negative exponents the reciprocal comes first: powers of it
// are too large or small where the result is.
uint32_t power(Lowering& l, uint32_t x, double exponent, const ValueRange& numbers) {
  const double size = std::abs(exponent);
  const auto whole = static_cast<int>(size);
  const double rest = size - whole;
  const auto inverse = [&](uint32_t y) { return quotient(l, l.scalar(1), y); };
  uint32_t out = kNoValue;
  const auto take = [&](uint32_t factor) { out = out == kNoValue ? factor : product(l, out, factor); };
  if (rest != 0 && size != 0.5) x = plus(l, x, 0);  // broken powers of -0 are those of 0
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

// e^x - 1 = elu(x) for x < 0 and -elu(-x) e^x for x > 0: the other part is 0, or a factor of 1.
void lower_expm1(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t below = elu(l, clamped(l, x, at_most(0)), 1), above = clamped(l, x, at_least(0));
    const uint32_t rise = elu(l, l.unary(NodeType::negate, above), 1);
    return difference(l, below, product(l, rise, l.unary(NodeType::exp, above)));
  });
}

// e^x is h^2, h = e^(x / 2): half of it overflows where the result does.
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

// --- smooth activations ---

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
  const bool plain =
      l.type() == DataType::fp16 || is_weighed(node.operands()[0]) || (numbers.is_finite() && numbers.max <= kLargest);
  const uint32_t x = l.operand(node, 0);
  if (plain) return l.set_result(node, l.unary(NodeType::hardswish, x));
  const uint32_t gate = l.binary(NodeType::add, x, l.scalar(3), Range{0, 6});
  l.set_result(node, times(l, product(l, x, gate), 1.0 / 6));
}

// clamp(x + 3, 0, 6) / 6
void lower_hardsigmoid(Lowering& l, const Node& node) {
  const uint32_t shifted = l.binary(NodeType::add, l.operand(node, 0), l.scalar(3), Range{0, 6});
  l.set_result(node, times(l, shifted, 1.0 / 6));
}

// x tanh(log(1 + e^x)) = x n / (n + 2), n = t (t + 2), t = e^x; beyond x = 20 the fraction is 1.
void lower_mish(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t t = l.unary(NodeType::exp, clamped(l, x, at_most(20)));
    const uint32_t n = product(l, t, plus(l, t, 2));
    return product(l, x, quotient(l, n, plus(l, n, 2)));
  });
}

// Above the threshold eager returns x itself: log(1 + e^x) - x is below x's last place from 14 on.
constexpr double kLeastThreshold = 14;

Verdict plain_softplus(const Node& node, const TargetOptions&) {
  const auto beta = number(node, "beta"), threshold = number(node, "threshold");
  if (!beta || !threshold) return Verdict::no("a factor known only at run time");
  if (!(*beta > 0) || !std::isfinite(*beta)) return Verdict::no("a beta that is not positive");
  if (!(*threshold >= kLeastThreshold)) return Verdict::no("a threshold below 14, where the curve has a step");
  return Verdict::yes();
}

// (max(b x, 0) + log(1 + e^-|b x|)) / b
void lower_softplus(Lowering& l, const Node& node) {
  const double beta = *number(node, "beta");
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t tail = soft_tail(l, times(l, x, beta));
    return sum(l, clamped(l, x, at_least(0)), times(l, tail, 1 / beta));
  });
}

// min(x, 0) - log(1 + e^-|x|)
void lower_log_sigmoid(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0),
                [&](uint32_t x) { return difference(l, clamped(l, x, at_most(0)), soft_tail(l, x)); });
}

// max(a, b) + log(1 + e^-|a - b|), without the difference of two infinities
void lower_log_add_exp(Lowering& l, const Node& node) {
  const DataType type = l.type();
  const uint32_t a = l.operand(node, 0), b = l.operand(node, 1);
  const uint32_t x = l.as_type(a, DataType::fp32), y = l.as_type(b, DataType::fp32);
  const uint32_t gap = difference(l, clamped(l, x, kAllFinite), clamped(l, y, kAllFinite));
  const uint32_t out = sum(l, l.binary(NodeType::maximum, x, y), soft_tail(l, gap));
  l.set_result(node, type == DataType::fp16 ? l.as_type(out, type) : out);
}

Verdict known_elu(const Node& node, const TargetOptions&) {
  const auto alpha = number(node, "alpha"), scale = number(node, "scale"), input = number(node, "input_scale");
  if (!alpha || !scale || !input) return Verdict::no("a factor known only at run time");
  return *input > 0 ? Verdict::yes() : Verdict::no("an input scale that is not positive");
}

// scale x for x > 0, else scale alpha (e^(input_scale x) - 1)
void lower_elu(Lowering& l, const Node& node) {
  const double alpha = *number(node, "alpha"), scale = *number(node, "scale"), input = *number(node, "input_scale");
  const uint32_t x = l.operand(node, 0);
  const bool one_kernel = input == 1 && std::isnormal(static_cast<float>(alpha)) && alpha > 0;
  if (one_kernel) return l.set_result(node, times(l, elu(l, x, alpha), scale));
  lower_in_fp32(l, node, x, [&](uint32_t wide) {
    const uint32_t below = elu(l, times(l, clamped(l, wide, at_most(0)), input), 1);
    return sum(l, times(l, clamped(l, wide, at_least(0)), scale), times(l, below, scale * alpha));
  });
}

// --- activations with corners ---

Verdict known_slope(const Node& node, const TargetOptions&) {
  return number(node, "negative_slope") ? Verdict::yes() : Verdict::no("'negative_slope' is known only at run time");
}

void lower_leaky_relu(Lowering& l, const Node& node) {
  PayloadNode leaky;
  leaky.type = NodeType::leaky_relu;
  leaky.inputs[0] = l.operand(node, 0);
  leaky.value = static_cast<float>(*number(node, "negative_slope"));
  const Dims dims = l.dims(leaky.inputs[0]);
  l.set_result(node, l.add(std::move(leaky), dims));
}

Verdict known_lambda(const Node& node, const TargetOptions&) {
  const auto lambda = number(node, "lambd");
  if (!lambda) return Verdict::no("'lambd' is known only at run time");
  return *lambda >= 0x1p-100 && std::isfinite(*lambda) ? Verdict::yes() : Verdict::no("a lambda that is not positive");
}

// x less what lies between -lambda and lambda
void lower_softshrink(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const auto lambda = static_cast<float>(*number(node, "lambd"));
    return difference(l, x, clamped(l, x, {-lambda, lambda}));
  });
}

// x (|x| > lambda)
void lower_hardshrink(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t above = plus(l, l.unary(NodeType::abs, x), -*number(node, "lambd"));
    return product(l, x, is_positive(l, above));
  });
}

Verdict known_threshold(const Node& node, const TargetOptions&) {
  const auto threshold = number(node, "threshold"), value = number(node, "value");
  if (!threshold || !value) return Verdict::no("a threshold known only at run time");
  const bool finite = std::isfinite(static_cast<float>(*threshold)) && std::isfinite(static_cast<float>(*value));
  // Numbers less a smaller threshold may be so small that the library takes them for zero.
  const bool exact = *threshold == 0 || std::abs(*threshold) >= 0x1p-100;
  return finite && exact ? Verdict::yes() : Verdict::no("a threshold or value without exact differences");
}

// x for x > threshold, else value: x s + (value - value s), s = (x > threshold)
void lower_threshold(Lowering& l, const Node& node) {
  const double threshold = *number(node, "threshold"), value = *number(node, "value");
  const uint32_t x = l.operand(node, 0);
  if (threshold == value) return l.set_result(node, clamped(l, x, at_least(static_cast<float>(value))));
  lower_in_fp32(l, node, x, [&](uint32_t wide) {
    const uint32_t chosen = is_positive(l, threshold == 0 ? wide : plus(l, wide, -threshold));
    const uint32_t kept = product(l, clamped(l, wide, kAllFinite), chosen);
    return value == 0 ? kept : sum(l, kept, plus(l, times(l, chosen, -value), value));
  });
}

// --- roundings ---

void lower_sign(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return plus(l, sign(l, x), 0); });  // of -0: 0
}

// Towards zero. f32.
uint32_t truncated(Lowering& l, uint32_t x) {
  return product(l, l.unary(NodeType::floor, l.unary(NodeType::abs, x)), sign(l, x));
}

void lower_trunc(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return truncated(l, x); });
}

// To the nearest, halves to even: what a sum with 2^23 does to numbers up to it. Larger ones are whole; they are 2^23
// times a factor that is exact.
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

Verdict power_of_two(const Node& node, const TargetOptions&) {
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

Verdict rounded_quotient(const Node& node, const TargetOptions& options) {
  return node.is_none("rounding_mode") ? Verdict::no("a quotient that is not rounded") : power_of_two(node, options);
}

void lower_rounded_quotient(Lowering& l, const Node& node) {
  const double divisor = *number(node, "other");
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t quotient = times(l, x, 1 / divisor);
    return node.string("rounding_mode") == "floor" ? l.unary(NodeType::floor, quotient) : truncated(l, quotient);
  });
}

using Lower = void (*)(Lowering&, const Node&);
using Supports = Verdict (*)(const Node&, const TargetOptions&);

constexpr OpRule row(const char* op, Lower lower, Supports supports = nullptr) {
  return {op, supports, any_dim_order, lower, Unknown::any};
}

// Numbers of f16 are no more than 65504, unless the caller passes an infinity.
const Deviation* deviation_of_root(const Node& node) {
  return node.result()->dtype() == DType::f16 ? &kHalfRoot : &kDropsNan;
}

const Deviation* deviation_of_power(const Node& node) {
  const compiler::Arg& exponent = node.arg("exponent");
  if (!exponent.is<double>()) return nullptr;
  return exponent.as<double>() == std::floor(exponent.as<double>()) ? nullptr : deviation_of_root(node);
}

// In parts, one of which is clamped from below and one from above.
const Deviation* deviation_of_elu(const Node& node) {
  const auto alpha = number(node, "alpha"), input = number(node, "input_scale");
  const bool one_kernel = alpha && input == 1 && std::isnormal(static_cast<float>(*alpha)) && *alpha > 0;
  return one_kernel ? nullptr : &kDropsNan;
}

const Deviation* deviation_of_gelu(const Node& node) {
  return node.string("approximate") == "tanh" ? &kSigmoid : nullptr;
}

constexpr OpRule kRows[] = {
    deviates(kDropsNan, row("aten.cosh.default", lower_cosh)),
    deviates(kStep, row("aten.div.Scalar_mode", lower_rounded_quotient, rounded_quotient)),
    loses_sign(deviates(deviation_of_elu, row("aten.elu.default", lower_elu, known_elu))),
    loses_sign(deviates(kExponential, row("aten.expm1.default", lower_expm1))),
    deviates(kStep, row("aten.fmod.Scalar", lower_fmod, power_of_two)),
    deviates(deviation_of_gelu, row("aten.gelu.default", lower_gelu)),
    loses_sign(ZeroSign::lost, deviates(kStep, row("aten.hardshrink.default", lower_hardshrink, known_lambda))),
    deviates(kDropsNan, row("aten.hardsigmoid.default", lower_hardsigmoid)),
    deviates(kOverflow, row("aten.hardswish.default", lower_hardswish)),
    row("aten.leaky_relu.default", lower_leaky_relu, known_slope),
    deviates(kDropsNan, row("aten.log.default", lower_log)),
    deviates(kDropsNan, row("aten.log10.default", lower_log10)),
    loses_sign(deviates(kDropsNan, row("aten.log1p.default", lower_log1p))),
    deviates(kDropsNan, row("aten.log2.default", lower_log2)),
    loses_sign(deviates(kDropsNan, row("aten.log_sigmoid.default", lower_log_sigmoid))),
    deviates(kLogSumExp, row("aten.logaddexp.default", lower_log_add_exp)),
    deviates(kDropsNan, row("aten.mish.default", lower_mish)),
    deviates(deviation_of_power, row("aten.pow.Tensor_Scalar", lower_power, simple_power)),
    loses_sign(ZeroSign::lost, deviates(kStep, row("aten.remainder.Scalar", lower_remainder, power_of_two))),
    deviates(kStep, row("aten.round.default", lower_round)),
    deviates(deviation_of_root, row("aten.rsqrt.default", lower_reciprocal_root)),
    deviates(kSigmoid, row("aten.sigmoid.default", lower_sigmoid)),
    deviates(kSign, row("aten.sign.default", lower_sign)),
    deviates(kSigmoid, row("aten.silu.default", lower_silu)),
    loses_sign(deviates(kDropsNan, row("aten.sinh.default", lower_sinh))),
    deviates(kDropsNan, row("aten.softplus.default", lower_softplus, plain_softplus)),
    loses_sign(ZeroSign::lost, row("aten.softshrink.default", lower_softshrink, known_lambda)),
    deviates(deviation_of_root, row("aten.sqrt.default", lower_square_root)),
    row("aten.tanh.default", lower_wide_unary<NodeType::tanh>),
    loses_sign(ZeroSign::lost, deviates(kThreshold, row("aten.threshold.default", lower_threshold, known_threshold))),
    deviates(kStep, row("aten.trunc.default", lower_trunc)),
};

}  // namespace

const RuleFamily kCurveRules = {kRows, std::size(kRows)};

// Beyond 128 the sigmoid is 0 or 1.
uint32_t sigmoid(Lowering& l, const Node& node, uint32_t x) {
  constexpr float kEnd = 128;
  return l.unary(NodeType::sigmoid,
                 has_plain_sigmoid(node, operand_numbers(l, node)) ? x : clamped(l, x, {-kEnd, kEnd}));
}

bool has_plain_sigmoid(const Node& node, const ValueRange& numbers) {
  if (numbers.is_infinite()) return false;
  return (numbers.min >= -1e26 && numbers.max <= 1e26) || is_weighed(node.operands()[0]);
}

}  // namespace wick::xnnpack
