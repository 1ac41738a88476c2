#include "compiler/analysis/range_rules.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "compiler/analysis/shares.h"

namespace wick::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeast = 0x1p-149;  // positive number of f32

// --- intervals ---

ValueRange between(double min, double max) {
  ValueRange range;
  range.min = min;
  range.max = max;
  return range;
}

ValueRange with_flags(ValueRange range, const ValueRange& flags) {
  range.above = flags.above;
  range.below = flags.below;
  range.nan = flags.nan;
  return range;
}

ValueRange all_of(const RangeCall& call) {
  if (call.tensors.empty()) return {};
  ValueRange out = call.tensors[0];
  for (const ValueRange& x : call.tensors) {
    out.min = std::min(out.min, x.min);
    out.max = std::max(out.max, x.max);
    out.above |= x.above;
    out.below |= x.below;
    out.nan |= x.nan;
  }
  return out;
}

ValueRange including(ValueRange range, double x) {
  range.min = std::min(range.min, x);
  range.max = std::max(range.max, x);
  return range;
}

// Bounds that are infinite are those of large numbers: times 0 they are 0.
double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
double plus(double a, double b, double otherwise) { return std::isnan(a + b) ? otherwise : a + b; }

ValueRange negated(const ValueRange& x) {
  ValueRange out = between(-x.max, -x.min);
  out.above = x.below;
  out.below = x.above;
  out.nan = x.nan;
  return out;
}

ValueRange sum(const ValueRange& a, const ValueRange& b) {
  ValueRange out = between(plus(a.min, b.min, -kInfinity), plus(a.max, b.max, kInfinity));
  out.above = a.above || b.above;
  out.below = a.below || b.below;
  out.nan = a.nan || b.nan || (a.above && b.below) || (a.below && b.above);
  return out;
}

bool may_be_zero(const ValueRange& x) { return x.holds(0); }

ValueRange product(const ValueRange& a, const ValueRange& b) {
  const double corners[] = {times(a.min, b.min), times(a.min, b.max), times(a.max, b.min), times(a.max, b.max)};
  ValueRange out = between(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
  const auto positive = [](const ValueRange& x) { return x.max > 0 || x.above; };
  const auto negative = [](const ValueRange& x) { return x.min < 0 || x.below; };
  const auto reach = [&](const ValueRange& x, const ValueRange& y) {
    out.above |= (x.above && positive(y)) || (x.below && negative(y));
    out.below |= (x.above && negative(y)) || (x.below && positive(y));
  };
  reach(a, b);
  reach(b, a);
  out.nan = a.nan || b.nan || (a.is_infinite() && may_be_zero(b)) || (b.is_infinite() && may_be_zero(a));
  return out;
}

ValueRange magnitude(const ValueRange& x) {
  const double a = std::abs(x.min), b = std::abs(x.max);
  ValueRange out = between(may_be_zero(x) ? 0 : std::min(a, b), std::max(a, b));
  out.above = x.is_infinite();
  out.nan = x.nan;
  return out;
}

ValueRange squared(const ValueRange& x) {
  ValueRange out = magnitude(x);
  out.min = times(out.min, out.min);
  out.max = times(out.max, out.max);
  return out;
}

// 1 / x. Zeros have either sign.
ValueRange inverse(const ValueRange& x) {
  ValueRange out;
  if (!may_be_zero(x)) out = between(1 / x.max, 1 / x.min);
  if (x.is_infinite()) out = including(out, 0);
  out.above = out.below = may_be_zero(x);
  out.nan = x.nan;
  return out;
}

ValueRange quotient(const ValueRange& a, const ValueRange& b) {
  ValueRange out = product(a, inverse(b));
  if (!a.is_infinite() && !may_be_zero(b)) out.above = out.below = false;
  out.nan = a.nan || b.nan || (may_be_zero(a) && may_be_zero(b)) || (a.is_infinite() && b.is_infinite());
  return out;
}

// min(max(x, low), high): where the bounds are crossed, the upper one wins.
ValueRange clamped(ValueRange x, double low, double high) {
  low = std::min(low, high);
  x.min = std::clamp(x.min, low, high);
  x.max = std::clamp(x.max, low, high);
  if (x.below) x = including(x, low);
  if (x.above) x = including(x, high);
  x.below &= low == -kInfinity;
  x.above &= high == kInfinity;
  return x;
}

// A function that rises and keeps infinities.
template <typename F>
ValueRange rising(const ValueRange& x, F&& f) {
  return with_flags(between(f(x.min), f(x.max)), x);
}

// Into [low, high], which infinities reach.
ValueRange saturating(const ValueRange& x, double low, double high) {
  ValueRange out = between(low, high);
  out.nan = x.nan;
  return out;
}

// NaN of infinities.
ValueRange waving(const ValueRange& x) {
  ValueRange out = between(-1, 1);
  out.nan = x.nan || x.is_infinite();
  return out;
}

// x for large x, at least `low` elsewhere; times 0 at minus infinity if `gated`.
ValueRange rectified(const ValueRange& x, double low, bool gated) {
  ValueRange out = between(x.min >= 0 ? 0 : low, std::max(x.max, 0.0));
  out.above = x.above;
  out.nan = x.nan || (gated && x.below);
  return out;
}

ValueRange exponential(const ValueRange& x) {
  ValueRange out = between(std::exp(x.min), std::exp(x.max));
  // Powers of ordinary numbers are none of them zero, but may be less than all normal numbers.
  out.min = x.below ? 0 : std::max(out.min, kLeast);
  out.above = x.above;
  out.nan = x.nan;
  return out;
}

ValueRange root(const ValueRange& x) {
  ValueRange out = between(std::sqrt(std::max(x.min, 0.0)), std::sqrt(std::max(x.max, 0.0)));
  out.above = x.above;
  out.nan = x.nan || x.below || x.min < 0;
  return out;
}

// log(x) less log(1) = 0 at x = 1
ValueRange logarithm(const ValueRange& x, double scale) {
  ValueRange out =
      between(x.min > 0 ? std::log(x.min) * scale : -kInfinity, x.max > 0 ? std::log(x.max) * scale : -kInfinity);
  out.above = x.above;
  out.below = x.min <= 0 && x.max >= 0;
  out.nan = x.nan || x.below || x.min < 0;
  return out;
}

ValueRange power(const ValueRange& x, double exponent) {
  const double whole = std::floor(exponent);
  if (exponent == 0) return between(1, 1);
  if (exponent < 0) return inverse(power(x, -exponent));
  if (exponent == 0.5) return root(x);
  if (exponent == 2) return squared(x);
  const bool odd = whole == exponent && std::fmod(whole, 2) != 0;
  if (odd) return rising(x, [&](double y) { return std::pow(y, exponent); });
  ValueRange out = between(0, std::max(std::pow(std::abs(x.min), exponent), std::pow(std::abs(x.max), exponent)));
  out.above = x.is_infinite();
  out.nan = x.nan || (whole != exponent && (x.min < 0 || x.below));
  return out;
}

// What is neither bounded nor finite where an operand is not.
ValueRange anything(const RangeCall& call) {
  const ValueRange all = all_of(call);
  ValueRange out;
  out.above = out.below = all.is_infinite();
  out.nan = !all.is_finite();
  return out;
}

ValueRange may_be_all() {
  ValueRange out;
  out.above = out.below = out.nan = true;
  return out;
}

// --- rows ---

const ValueRange& first(const RangeCall& call) { return call.tensors.at(0); }

std::optional<double> literal(const RangeCall& call, std::string_view name) {
  const auto range = call.argument(name);
  return range && range->min == range->max && range->is_finite() ? std::optional<double>(range->min) : std::nullopt;
}

ValueRange scaled(const RangeCall& call, const ValueRange& x) {
  if (call.node.op->parsed->find("alpha") < 0) return x;
  const auto alpha = call.argument("alpha");
  return alpha ? product(x, *alpha) : anything(call);
}

bool reads_twice(const RangeCall& call) {
  const auto operands = call.node.operands();
  return operands.size() == 2 && operands[0] == operands[1];
}

ValueRange of_add(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? sum(*a, scaled(call, *b)) : anything(call);
}
ValueRange of_sub(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? sum(*a, negated(scaled(call, *b))) : anything(call);
}
ValueRange of_rsub(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? sum(*b, negated(scaled(call, *a))) : anything(call);
}
ValueRange of_mul(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  if (!a || !b) return anything(call);
  return reads_twice(call) ? squared(*a) : product(*a, *b);
}
ValueRange of_div(const RangeCall& call) {
  if (is_share_of_sum(call.node)) {
    ValueRange share = between(0, 1);
    share.nan = !first(call).is_finite();
    return share;
  }
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? quotient(*a, *b) : may_be_all();
}
ValueRange of_power(const RangeCall& call) {
  const auto exponent = literal(call, "exponent");
  return exponent ? power(first(call), *exponent) : may_be_all();
}
ValueRange of_clamp(const RangeCall& call) {
  const bool tanh = call.node.op->parsed->find("min_val") >= 0;
  const auto low = call.argument(tanh ? "min_val" : "min"), high = call.argument(tanh ? "max_val" : "max");
  if (!low && !high) return first(call);
  ValueRange out = clamped(first(call), low ? low->min : -kInfinity, high ? high->max : kInfinity);
  for (const auto& bound : {low, high}) {
    if (bound && !bound->is_finite()) return with_flags(out, all_of(call));
  }
  if (low && high && low->min > high->max) out = including(out, high->max);
  return out;
}
ValueRange of_maximum(const RangeCall& call) {
  const ValueRange &a = call.tensors.at(0), &b = call.tensors.at(1);
  ValueRange out = between(std::max(a.min, b.min), std::max(a.max, b.max));
  if (a.below) out.min = std::min(out.min, b.min);
  if (b.below) out.min = std::min(out.min, a.min);
  out.above = a.above || b.above;
  out.below = a.below && b.below;
  out.nan = a.nan || b.nan;
  return out;
}
ValueRange of_minimum(const RangeCall& call) {
  RangeCall flipped{call.node, {negated(call.tensors.at(0)), negated(call.tensors.at(1))}};
  return negated(of_maximum(flipped));
}
ValueRange of_choice(const RangeCall& call) {
  ValueRange out;
  bool any = false;
  for (const char* name : {"self", "other", "value"}) {
    if (call.node.op->parsed->find(name) < 0) continue;
    const auto x = call.argument(name);
    if (!x) return anything(call);
    RangeCall both{call.node, {any ? out : *x, *x}};
    out = all_of(both);
    any = true;
  }
  return any ? out : anything(call);
}
ValueRange of_pad(const RangeCall& call) {
  const auto value = call.argument("value");
  RangeCall both{call.node, {first(call), value.value_or(between(0, 0))}};
  return all_of(both);
}
ValueRange of_full(const RangeCall& call) { return call.argument("fill_value").value_or(ValueRange()); }
ValueRange of_triangle(const RangeCall& call) { return including(first(call), 0); }

// How many elements a reduction adds, at most.
double elements(const RangeCall& call) {
  double count = 1;
  for (const Sym& size : call.node.operands().at(0)->sizes()) {
    if (!size.is_const()) return kInfinity;
    count *= static_cast<double>(size.value());
  }
  return count;
}
ValueRange of_sum(const RangeCall& call) {
  const ValueRange& x = first(call);
  const double count = elements(call);
  ValueRange out = between(x.min < 0 ? times(x.min, count) : x.min, x.max > 0 ? times(x.max, count) : x.max);
  out = with_flags(out, x);
  out.nan |= x.above && x.below;
  return out;
}
ValueRange of_mean(const RangeCall& call) {
  ValueRange out = first(call);
  out.nan |= out.above && out.below;
  return out;
}
// Zeros around, and any divisor.
ValueRange of_pool(const RangeCall& call) {
  const ValueRange x = of_mean(call);
  return with_flags(between(x.min >= 0 ? 0 : -kInfinity, x.max <= 0 ? 0 : kInfinity), x);
}
ValueRange of_variance(const RangeCall& call) {
  ValueRange out = between(0, kInfinity);
  out.nan = !first(call).is_finite();
  return out;
}
ValueRange of_norm(const RangeCall& call) {
  ValueRange out;
  out.nan = !first(call).is_finite();
  return out;
}
ValueRange of_softmax(const RangeCall& call) {
  ValueRange out = between(first(call).below ? 0 : kLeast, 1);
  out.nan = !first(call).is_finite();  // a row of nothing but minus infinity, too
  return out;
}
ValueRange of_log_softmax(const RangeCall& call) {
  ValueRange out = between(-kInfinity, 0);
  out.below = first(call).below;
  out.nan = !first(call).is_finite();
  return out;
}
ValueRange of_log_sum_exp(const RangeCall& call) {
  const ValueRange& x = first(call);
  return with_flags(between(x.min, x.max + std::log(elements(call))), x);
}
ValueRange of_logaddexp(const RangeCall& call) {
  ValueRange out = of_maximum(call);
  out.max += 1;
  return out;
}
ValueRange of_rsqrt(const RangeCall& call) { return inverse(root(first(call))); }
ValueRange of_nan_to_num(const RangeCall&) { return {}; }
ValueRange of_log1p(const RangeCall& call) { return logarithm(sum(first(call), between(1, 1)), 1); }

using Rule = ValueRange (*)(const RangeCall& call);

// --- the table ---

struct Row {
  std::string_view op;
  ValueRange (*rule)(const RangeCall& call);
  Passing passing = {};  // of all tensors
};
constexpr Passing kBoth{true, true}, kNan{true, false};

// Of the only tensor, x.
#define CURVE(expression)                   \
  [](const RangeCall& call) -> ValueRange { \
    const ValueRange& x = first(call);      \
    return expression;                      \
  }

constexpr Row kRows[] = {
    {"aten._adaptive_avg_pool2d.default", of_mean, kBoth},
    {"aten._log_softmax.default", of_log_softmax, kNan},
    {"aten._native_batch_norm_legit_no_training.default", anything, kBoth},
    {"aten._softmax.default", of_softmax, kNan},
    {"aten._to_copy.default", all_of, kBoth},
    {"aten.abs.default", CURVE(magnitude(x)), kBoth},
    {"aten.acos.default", CURVE((void(x), may_be_all()))},
    {"aten.acosh.default", CURVE((void(x), may_be_all()))},
    {"aten.adaptive_avg_pool2d.default", of_mean, kBoth},
    {"aten.add.Scalar", of_add, kBoth},
    {"aten.add.Tensor", of_add, kBoth},
    {"aten.addmm.default", anything, kBoth},
    {"aten.alias.default", all_of, kBoth},
    {"aten.amax.default", all_of, kNan},
    {"aten.amin.default", all_of, kNan},
    {"aten.argmax.default", anything, kBoth},
    {"aten.argmin.default", anything, kBoth},
    {"aten.asin.default", CURVE((void(x), may_be_all()))},
    {"aten.atan.default", CURVE(saturating(x, -1.6, 1.6)), kNan},
    {"aten.atanh.default", CURVE((void(x), may_be_all()))},
    {"aten.avg_pool2d.default", of_pool, kBoth},
    {"aten.avg_pool3d.default", of_pool, kBoth},
    {"aten.bmm.default", anything, kBoth},
    {"aten.cat.default", all_of, kBoth},
    {"aten.ceil.default", CURVE(rising(x, [](double y) { return std::ceil(y); })), kBoth},
    {"aten.clamp.Tensor", of_clamp, kNan},
    {"aten.clamp.default", of_clamp, kNan},
    {"aten.clone.default", all_of, kBoth},
    {"aten.constant_pad_nd.default", of_pad, kBoth},
    {"aten.convolution.default", anything, kBoth},
    {"aten.cos.default", CURVE(waving(x)), kBoth},
    {"aten.cumsum.default", anything, kBoth},
    {"aten.div.Scalar", of_div, kBoth},
    {"aten.div.Tensor", of_div, kNan},
    {"aten.div.Tensor_mode", of_div, kNan},
    {"aten.elu.default", CURVE(with_flags({}, clamped(x, 0, kInfinity))), kNan},
    {"aten.embedding.default", all_of, kBoth},
    {"aten.erf.default", CURVE(saturating(x, -1, 1)), kNan},
    {"aten.exp.default", CURVE(exponential(x)), kNan},
    {"aten.expand.default", all_of, kBoth},
    {"aten.expm1.default", CURVE(sum(exponential(x), between(-1, -1))), kNan},
    {"aten.flip.default", all_of, kBoth},
    {"aten.floor.default", CURVE(rising(x, [](double y) { return std::floor(y); })), kBoth},
    {"aten.full.default", of_full},
    {"aten.gather.default", all_of, kBoth},
    {"aten.gelu.default", CURVE(rectified(x, -0.2, true)), kBoth},
    {"aten.glu.default", anything, kNan},
    {"aten.grid_sampler_2d.default", anything, kBoth},
    {"aten.hardsigmoid.default", CURVE(saturating(x, 0, 1)), kNan},
    {"aten.hardswish.default", CURVE(rectified(x, -0.5, true)), kBoth},
    {"aten.hardtanh.default", of_clamp, kNan},
    {"aten.index.Tensor", all_of, kBoth},
    {"aten.index_put.default", anything, kBoth},
    {"aten.index_select.default", all_of, kBoth},
    {"aten.leaky_relu.default", anything, kBoth},
    {"aten.linear.default", anything, kBoth},
    {"aten.log.default", CURVE(logarithm(x, 1)), kBoth},
    {"aten.log10.default", CURVE(logarithm(x, 1 / std::log(10.0))), kBoth},
    {"aten.log1p.default", of_log1p, kBoth},
    {"aten.log2.default", CURVE(logarithm(x, 1 / std::log(2.0))), kBoth},
    {"aten.log_sigmoid.default", CURVE(with_flags(between(-kInfinity, 0), clamped(x, -kInfinity, 0))), kNan},
    {"aten.logaddexp.default", of_logaddexp, kNan},
    {"aten.logsumexp.default", of_log_sum_exp, kNan},
    {"aten.masked_fill.Scalar", of_choice},
    {"aten.matmul.default", anything, kBoth},
    {"aten.max.dim", all_of, kNan},
    {"aten.max_pool2d_with_indices.default", all_of, kNan},
    {"aten.max_pool3d_with_indices.default", all_of, kNan},
    {"aten.maximum.default", of_maximum, kNan},
    {"aten.mean.dim", of_mean, kBoth},
    {"aten.min.dim", all_of, kNan},
    {"aten.minimum.default", of_minimum, kNan},
    {"aten.mish.default", CURVE(rectified(x, -0.4, true)), kBoth},
    {"aten.mm.default", anything, kBoth},
    {"aten.mul.Scalar", of_mul, kBoth},
    {"aten.mul.Tensor", of_mul, kBoth},
    {"aten.nan_to_num.default", of_nan_to_num},
    {"aten.native_group_norm.default", of_norm, kBoth},
    {"aten.native_layer_norm.default", of_norm, kBoth},
    {"aten.neg.default", CURVE(negated(x)), kBoth},
    {"aten.permute.default", all_of, kBoth},
    {"aten.pixel_shuffle.default", all_of, kBoth},
    {"aten.pixel_unshuffle.default", all_of, kBoth},
    {"aten.pow.Scalar", CURVE((void(x), may_be_all()))},
    {"aten.pow.Tensor_Scalar", of_power},
    {"aten.pow.Tensor_Tensor", CURVE((void(x), may_be_all()))},
    {"aten.prelu.default", anything, kBoth},
    {"aten.prod.dim_int", anything, kBoth},
    {"aten.reciprocal.default", CURVE(inverse(x)), kNan},
    {"aten.relu.default", CURVE(clamped(x, 0, kInfinity)), kNan},
    {"aten.relu6.default", CURVE(clamped(x, 0, 6)), kNan},
    {"aten.repeat.default", all_of, kBoth},
    {"aten.rms_norm.default", of_norm, kBoth},
    {"aten.roll.default", all_of, kBoth},
    {"aten.round.default", CURVE(rising(x, [](double y) { return std::nearbyint(y); })), kBoth},
    {"aten.rsqrt.default", of_rsqrt, kNan},
    {"aten.rsub.Scalar", of_rsub, kBoth},
    {"aten.rsub.Tensor", of_rsub, kBoth},
    {"aten.scaled_dot_product_attention.default", anything},
    {"aten.scatter.src", all_of, kBoth},
    {"aten.select.int", all_of, kBoth},
    {"aten.select_scatter.default", all_of, kBoth},
    {"aten.sigmoid.default", CURVE(saturating(x, x.below ? 0 : kLeast, 1)), kNan},
    {"aten.sign.default", CURVE(saturating(x, -1, 1))},
    {"aten.silu.default", CURVE(rectified(x, -0.3, true)), kBoth},
    {"aten.sin.default", CURVE(waving(x)), kBoth},
    {"aten.slice.Tensor", all_of, kBoth},
    {"aten.slice_scatter.default", all_of, kBoth},
    {"aten.softplus.default", CURVE(with_flags(between(0, kInfinity), clamped(x, 0, kInfinity))), kNan},
    {"aten.sort.default", all_of, kBoth},
    {"aten.sqrt.default", CURVE(root(x)), kBoth},
    {"aten.square.default", CURVE(squared(x)), kBoth},
    {"aten.sub.Scalar", of_sub, kBoth},
    {"aten.sub.Tensor", of_sub, kBoth},
    {"aten.sum.dim_IntList", of_sum, kBoth},
    {"aten.tanh.default", CURVE(saturating(x, -1, 1)), kNan},
    {"aten.topk.default", all_of, kBoth},
    {"aten.tril.default", of_triangle, kBoth},
    {"aten.triu.default", of_triangle, kBoth},
    {"aten.upsample_bilinear2d.vec", of_mean, kBoth},
    {"aten.upsample_nearest2d.vec", all_of, kBoth},
    {"aten.upsample_trilinear3d.vec", of_mean, kBoth},
    {"aten.var.correction", of_variance, kBoth},
    {"aten.view.default", all_of, kBoth},
    {"aten.where.self", of_choice},
};

#undef CURVE

const Row* row_of(const Node& node) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return node.is(r.op); });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

std::optional<ValueRange> RangeCall::argument(std::string_view name) const {
  const Arg& arg = node.arg(name);
  if (arg.is<double>()) {
    const double x = arg.as<double>();
    ValueRange range;
    if (std::isfinite(x)) return between(x, x);
    range.nan = std::isnan(x);
    range.above = x > 0;
    range.below = x < 0;
    return range;
  }
  if (arg.is<bool>()) return between(arg.as<bool>() ? 1 : 0, arg.as<bool>() ? 1 : 0);
  if (arg.is<Sym>() && arg.as<Sym>().is_const()) {
    const auto x = static_cast<double>(arg.as<Sym>().value());
    return between(x, x);
  }
  if (!arg.is<Value*>() || !arg.as<Value*>()->type.is_tensor()) return std::nullopt;
  const auto operands = node.operands();
  const auto at = std::find(operands.begin(), operands.end(), arg.as<Value*>());
  return tensors.at(static_cast<size_t>(at - operands.begin()));
}

ValueRange range_of_results(const RangeCall& call) {
  const Row* row = row_of(call.node);
  return row ? row->rule(call) : anything(call);
}

Passing passing_of(const Node& node, size_t index) {
  // An infinite dividend gives an infinity; an infinite divisor gives zero.
  if (node.is("aten.div.Tensor")) return {true, index == 0 && node.operands()[0] != node.operands().back()};
  // A choice by other values hides all numbers alike.
  if (node.is("aten.where.self")) return {index > 0, index > 0};
  if (node.is("aten.masked_fill.Scalar")) return {index == 0, index == 0};
  if (node.is("aten.pow.Tensor_Scalar")) {
    const Arg& exponent = node.arg("exponent");
    const bool rises = exponent.is<double>()
                           ? exponent.as<double>() > 0
                           : exponent.is<Sym>() && exponent.as<Sym>().is_const() && exponent.as<Sym>().value() > 0;
    return {rises, rises};
  }
  const Row* row = row_of(node);
  return row ? row->passing : Passing{};
}

}  // namespace wick::compiler
