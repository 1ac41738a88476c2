#include "compiler/ops/ranges/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/ir/builder.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- intervals ---

ValueRange between(double min, double max) { return ValueRange::between(min, max); }

ValueRange with_flags(ValueRange range, const ValueRange& flags) {
  range.above = flags.above;
  range.below = flags.below;
  range.nan = flags.nan;
  return range;
}

ValueRange including(ValueRange range, double x) {
  range.min = std::min(range.min, x);
  range.max = std::max(range.max, x);
  return range;
}

// An infinite bound stands for arbitrarily large finite numbers: times 0 it is 0.
double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
double plus(double a, double b, double otherwise) { return std::isnan(a + b) ? otherwise : a + b; }

ValueRange negative_of(const ValueRange& x) {
  ValueRange out = between(-x.max, -x.min);
  out.above = x.below;
  out.below = x.above;
  out.nan = x.nan;
  return out;
}

ValueRange sum_of(const ValueRange& a, const ValueRange& b) {
  ValueRange out = between(plus(a.min, b.min, -kInfinity), plus(a.max, b.max, kInfinity));
  out.above = a.above || b.above;
  out.below = a.below || b.below;
  out.nan = a.nan || b.nan || (a.above && b.below) || (a.below && b.above);
  return out;
}

bool may_be_zero(const ValueRange& x) { return x.holds(0); }

ValueRange product_of(const ValueRange& a, const ValueRange& b) {
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

ValueRange magnitude_of(const ValueRange& x) {
  const double a = std::abs(x.min), b = std::abs(x.max);
  ValueRange out = between(may_be_zero(x) ? 0 : std::min(a, b), std::max(a, b));
  out.above = x.is_infinite();
  out.nan = x.nan;
  return out;
}

ValueRange square_of(const ValueRange& x) {
  ValueRange out = magnitude_of(x);
  out.min = times(out.min, out.min);
  out.max = times(out.max, out.max);
  return out;
}

// 1 / x. Zeros may have either sign.
ValueRange inverse_of(const ValueRange& x) {
  ValueRange out;
  if (!may_be_zero(x)) out = between(1 / x.max, 1 / x.min);
  if (x.is_infinite()) out = including(out, 0);
  out.above = out.below = may_be_zero(x);
  out.nan = x.nan;
  return out;
}

ValueRange quotient_of(const ValueRange& a, const ValueRange& b) {
  ValueRange out = product_of(a, inverse_of(b));
  if (!a.is_infinite() && !may_be_zero(b)) out.above = out.below = false;
  out.nan = a.nan || b.nan || (may_be_zero(a) && may_be_zero(b)) || (a.is_infinite() && b.is_infinite());
  return out;
}

// min(max(x, low), high): if the bounds cross, the upper one wins.
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

// The range of a function that increases and maps each infinity to itself.
template <typename F>
ValueRange rising(const ValueRange& x, F&& f) {
  return with_flags(between(f(x.min), f(x.max)), x);
}

// A function with values in [low, high] that maps infinities to finite numbers.
ValueRange saturating(const ValueRange& x, double low, double high) {
  ValueRange out = between(low, high);
  out.nan = x.nan;
  return out;
}

// A function like sin: values in [-1, 1], NaN for infinities.
ValueRange waving(const ValueRange& x) {
  ValueRange out = between(-1, 1);
  out.nan = x.nan || x.is_infinite();
  return out;
}

// A function like relu: about x for large x, at least `low` elsewhere. `gated`: x times a factor that is 0 at -inf, so
// the result there is NaN.
ValueRange rectified(const ValueRange& x, double low, bool gated) {
  ValueRange out = between(x.min >= 0 ? 0 : low, std::max(x.max, 0.0));
  out.above = x.above;
  out.nan = x.nan || (gated && x.below);
  return out;
}

ValueRange power_of_e(const ValueRange& x) {
  ValueRange out = between(x.below ? 0 : std::exp(x.min), std::exp(x.max));
  out.above = x.above;
  out.nan = x.nan;
  return out;
}

ValueRange root_of(const ValueRange& x) {
  ValueRange out = between(std::sqrt(std::max(x.min, 0.0)), std::sqrt(std::max(x.max, 0.0)));
  out.above = x.above;
  out.nan = x.nan || x.below || x.min < 0;
  return out;
}

// log(x) * scale; -inf for 0.
ValueRange logarithm_of(const ValueRange& x, double scale) {
  ValueRange out =
      between(x.min > 0 ? std::log(x.min) * scale : -kInfinity, x.max > 0 ? std::log(x.max) * scale : -kInfinity);
  out.above = x.above;
  out.below = x.min <= 0 && x.max >= 0;
  out.nan = x.nan || x.below || x.min < 0;
  return out;
}

ValueRange power_of(const ValueRange& x, double exponent) {
  const double whole = std::floor(exponent);
  if (exponent == 0) return between(1, 1);
  if (exponent < 0) return inverse_of(power_of(x, -exponent));
  if (exponent == 0.5) return root_of(x);
  if (exponent == 2) return square_of(x);
  const bool odd = whole == exponent && std::fmod(whole, 2) != 0;
  if (odd) return rising(x, [&](double y) { return std::pow(y, exponent); });
  ValueRange out = between(0, std::max(std::pow(std::abs(x.min), exponent), std::pow(std::abs(x.max), exponent)));
  out.above = x.is_infinite();
  out.nan = x.nan || (whole != exponent && (x.min < 0 || x.below));
  return out;
}

ValueRange may_be_all() {
  ValueRange out;
  out.above = out.below = out.nan = true;
  return out;
}

// No bounds; infinite or NaN if an operand may be.
ValueRange anything(const RangeCall& call) {
  const ValueRange all = hull_of(call.tensors);
  ValueRange out;
  out.above = out.below = all.is_infinite();
  out.nan = !all.is_finite();
  return out;
}

// --- arguments ---

const ValueRange& first_range(const RangeCall& call) { return call.tensors.at(0); }

std::optional<double> literal(const RangeCall& call, std::string_view name) {
  const auto range = call.argument(name);
  return range && range->min == range->max && range->is_finite() ? std::optional<double>(range->min) : std::nullopt;
}

ValueRange scaled_range(const RangeCall& call, const ValueRange& x) {
  if (call.node.op->parsed->find("alpha") < 0) return x;
  const auto alpha = call.argument("alpha");
  return alpha ? product_of(x, *alpha) : anything(call);
}

bool reads_twice(const RangeCall& call) {
  const auto operands = call.node.operands();
  return operands.size() == 2 && operands[0] == operands[1];
}

// An upper bound of the number of elements that a reduction adds.
double elements(const RangeCall& call) {
  double count = 1;
  for (const Sym& size : call.node.operands().at(0)->sizes()) {
    if (!size.is_const()) return kInfinity;
    count *= static_cast<double>(size.value());
  }
  return count;
}

// How many elements a reduction over argument `dim` combines into one, if all sizes are known.
std::optional<double> reduced_elements(const RangeCall& call) {
  const Node& node = call.node;
  const Sizes& sizes = node.operands().at(0)->sizes();
  const bool all = node.op->parsed->find("dim") < 0;
  double count = 1;
  for (const int64_t dim : all ? all_dims(sizes.size()) : reduced_dims(node, "dim", sizes.size())) {
    const Sym& size = sizes[static_cast<size_t>(dim)];
    if (!size.is_const()) return std::nullopt;
    count *= static_cast<double>(size.value());
  }
  return count;
}

}  // namespace

namespace ranges {

ValueRange operands(const RangeCall& call) { return hull_of(call.tensors); }

ValueRange accumulated(const RangeCall& call) {
  const OpDef& op = *call.node.op;
  const auto self = call.argument("self"), written = call.argument(op.parsed->find("src") >= 0 ? "src" : "values");
  if (!self || !written) return anything(call);
  if (op.parsed->find("accumulate") >= 0 && !call.node.boolean("accumulate")) return hull_of({*self, *written});
  ValueRange total = with_flags(between(written->min < 0 ? -kInfinity : 0, written->max > 0 ? kInfinity : 0), *written);
  total.nan |= written->above && written->below;
  return sum_of(*self, total);
}

ValueRange unknown(const RangeCall&) { return may_be_all(); }

ValueRange add(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? sum_of(*a, scaled_range(call, *b)) : anything(call);
}

ValueRange sub(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? sum_of(*a, negative_of(scaled_range(call, *b))) : anything(call);
}

ValueRange rsub(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? sum_of(*b, negative_of(scaled_range(call, *a))) : anything(call);
}

ValueRange mul(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  if (!a || !b) return anything(call);
  return reads_twice(call) ? square_of(*a) : product_of(*a, *b);
}

ValueRange div(const RangeCall& call) {
  const auto a = call.argument("self"), b = call.argument("other");
  return a && b ? quotient_of(*a, *b) : may_be_all();
}

ValueRange floor_divide(const RangeCall& call) { return with_flags(ValueRange(), div(call)); }

ValueRange modulo(const RangeCall& call) {
  const auto divisor = call.argument("other");
  ValueRange out;
  out.above = !divisor || divisor->above;  // eager: -1 % inf is inf
  out.below = !divisor || divisor->below;
  out.nan = !first_range(call).is_finite() || !divisor || !divisor->is_finite() || divisor->holds(0);
  return out;
}

ValueRange pow(const RangeCall& call) {
  const auto exponent = literal(call, "exponent");
  return exponent ? power_of(first_range(call), *exponent) : may_be_all();
}

ValueRange clamp(const RangeCall& call) {
  const bool tanh = call.node.op->parsed->find("min_val") >= 0;
  const char *min = tanh ? "min_val" : "min", *max = tanh ? "max_val" : "max";
  const auto low = call.argument(min), high = call.argument(max);
  if ((low && low->nan) || (high && high->nan)) return may_be_all();
  const ValueRange& x = first_range(call);
  const bool is_unknown = (!low && !call.node.is_none(min)) || (!high && !call.node.is_none(max));
  if (is_unknown) return with_flags({}, x);  // a number that the program computes
  ValueRange out = clamped(x, low && !low->below ? low->min : -kInfinity, high && !high->above ? high->max : kInfinity);
  out.above = (x.above || (low && low->above)) && (!high || high->above);
  out.below = (high && high->below) || (x.below && (!low || low->below));
  if (low && high && (low->above || low->min > high->max)) {  // the upper bound wins
    out = including(out, high->min);
    out = including(out, high->max);
  }
  return out;
}

ValueRange maximum(const RangeCall& call) {
  const ValueRange &a = call.tensors.at(0), &b = call.tensors.at(1);
  ValueRange out = between(std::max(a.min, b.min), std::max(a.max, b.max));
  if (a.below) out.min = std::min(out.min, b.min);
  if (b.below) out.min = std::min(out.min, a.min);
  out.above = a.above || b.above;
  out.below = a.below && b.below;
  out.nan = a.nan || b.nan;
  return out;
}

ValueRange minimum(const RangeCall& call) {
  RangeCall flipped{call.node, {negative_of(call.tensors.at(0)), negative_of(call.tensors.at(1))}};
  return negative_of(maximum(flipped));
}

ValueRange select(const RangeCall& call) {
  ValueRange out;
  bool any = false;
  for (const char* name : {"self", "other", "value"}) {
    if (call.node.op->parsed->find(name) < 0) continue;
    const auto x = call.argument(name);
    if (!x) return anything(call);
    out = hull_of({any ? out : *x, *x});
    any = true;
  }
  return any ? out : anything(call);
}

ValueRange pad(const RangeCall& call) {
  const auto value = call.argument("value");
  return hull_of({first_range(call), value.value_or(between(0, 0))});
}

ValueRange full(const RangeCall& call) { return call.argument("fill_value").value_or(ValueRange()); }

ValueRange triangle(const RangeCall& call) { return including(first_range(call), 0); }

ValueRange sum(const RangeCall& call) {
  const ValueRange& x = first_range(call);
  const double count = elements(call);
  ValueRange out = between(x.min < 0 ? times(x.min, count) : x.min, x.max > 0 ? times(x.max, count) : x.max);
  out = with_flags(out, x);
  out.nan |= x.above && x.below;
  return out;
}

ValueRange product(const RangeCall& call) {
  const ValueRange& x = first_range(call);
  if (!x.is_finite() || x.min < -1 || x.max > 1) return may_be_all();
  return between(x.min < 0 ? -1 : 0, 1);
}

ValueRange mean(const RangeCall& call) {
  ValueRange out = first_range(call);
  out.nan |= (out.above && out.below) || reduced_elements(call) == 0;
  return out;
}

// The padding adds zeros, and the divisor may be any number.
ValueRange pool(const RangeCall& call) {
  const ValueRange x = mean(call);
  return with_flags(between(x.min >= 0 ? 0 : -kInfinity, x.max <= 0 ? 0 : kInfinity), x);
}

ValueRange variance(const RangeCall& call) {
  ValueRange out = between(0, kInfinity);
  const auto correction = call.node.is_none("correction") ? between(1, 1) : call.argument("correction");
  const auto count = reduced_elements(call);
  out.nan = !first_range(call).is_finite() || !correction || (count && *count <= correction->max);
  out.above = out.nan;
  return out;
}

ValueRange norm(const RangeCall& call) {
  // Equal elements have no variance: with an epsilon of 0 their norm is 0 / 0.
  if (call.node.op->parsed->find("eps") >= 0 && !call.node.is_none("eps")) {
    const auto eps = call.argument("eps");
    if (!eps || !eps->is_finite() || eps->min <= 0) return may_be_all();
  }
  ValueRange out;
  out.nan = !first_range(call).is_finite();
  return out;
}

ValueRange hypot(const RangeCall& call) {
  const ValueRange a = magnitude_of(call.tensors.at(0)), b = magnitude_of(call.tensors.at(1));
  ValueRange out = between(std::max(a.min, b.min), std::hypot(a.max, b.max));
  out.above = a.above || b.above;
  out.nan = a.nan || b.nan;
  return out;
}

ValueRange softmax(const RangeCall& call) {
  // An element far below the largest one gives 0.
  ValueRange out = between(0, 1);
  out.nan = !first_range(call).is_finite();  // also for a row in which every element is -inf
  return out;
}

ValueRange safe_softmax(const RangeCall& call) {
  ValueRange out = between(0, 1);
  out.nan = first_range(call).nan || first_range(call).above;
  return out;
}

ValueRange log_softmax(const RangeCall& call) {
  ValueRange out = between(-kInfinity, 0);
  out.below = first_range(call).below;
  out.nan = !first_range(call).is_finite();
  return out;
}

ValueRange logsumexp(const RangeCall& call) {
  const ValueRange& x = first_range(call);
  return with_flags(between(x.min, x.max + std::log(elements(call))), x);
}

ValueRange logaddexp(const RangeCall& call) {
  ValueRange out = maximum(call);
  out.max += 1;
  return out;
}

ValueRange nan_to_num(const RangeCall&) { return {}; }

ValueRange elu(const RangeCall& call) {
  for (const char* name : {"alpha", "scale", "input_scale"}) {
    const auto factor = call.argument(name);
    if (!factor || !factor->is_finite()) return may_be_all();
  }
  return with_flags({}, clamped(first_range(call), 0, kInfinity));
}

// The range of a function of the only tensor, x.
#define CURVE(name, expression)              \
  ValueRange name(const RangeCall& call) {   \
    const ValueRange& x = first_range(call); \
    return expression;                       \
  }
CURVE(abs, magnitude_of(x))
CURVE(relu, clamped(x, 0, kInfinity))
CURVE(relu6, clamped(x, 0, 6))
CURVE(gelu, rectified(x, -0.2, true))
CURVE(silu, rectified(x, -0.3, true))
CURVE(mish, rectified(x, -0.4, true))
CURVE(hardswish, rectified(x, -0.5, true))
CURVE(erfc, saturating(x, 0, 2))
CURVE(hardsigmoid, saturating(x, 0, 1))
// Below -88.72 exp(-x) overflows in f32, and eager's sigmoid is 0.
CURVE(sigmoid, saturating(x, x.below || x.min < -88 ? 0 : 1 / (1 + std::exp(-x.min)), 1))
CURVE(signed_unit, saturating(x, -1, 1))
CURVE(atan, saturating(x, -1.6, 1.6))
CURVE(wave, waving(x))
CURVE(exp, power_of_e(x))
CURVE(expm1, sum_of(power_of_e(x), between(-1, -1)))
CURVE(log, logarithm_of(x, 1))
CURVE(log2, logarithm_of(x, 1 / std::log(2.0)))
CURVE(log10, logarithm_of(x, 1 / std::log(10.0)))
CURVE(log1p, logarithm_of(sum_of(x, between(1, 1)), 1))
CURVE(log_sigmoid, with_flags(between(-kInfinity, 0), clamped(x, -kInfinity, 0)))
CURVE(softplus, with_flags(between(0, kInfinity), clamped(x, 0, kInfinity)))
CURVE(ceil, rising(x, [](double y) { return std::ceil(y); }))
CURVE(floor, rising(x, [](double y) { return std::floor(y); }))
CURVE(round, rising(x, [](double y) { return std::nearbyint(y); }))
CURVE(neg, negative_of(x))
CURVE(reciprocal, inverse_of(x))
CURVE(sqrt, root_of(x))
CURVE(rsqrt, inverse_of(root_of(x)))
CURVE(square, square_of(x))
#undef CURVE

}  // namespace ranges

namespace passing {

// An infinite dividend gives an infinity or NaN; an infinite divisor may give 0.
Passing quotient(const Node& node, size_t index) {
  return {true, index == 0 && node.operands()[0] != node.operands().back()};
}

// The chosen values pass on NaN and infinities; the condition does not.
Passing select(const Node& node, size_t index) {
  const bool chosen = node.op->parsed->find("condition") == 0 ? index > 0 : index == 0;
  return {chosen, chosen};
}

Passing pow(const Node& node, size_t) {
  const Arg& exponent = node.arg("exponent");
  const bool rises = exponent.is<double>()
                         ? exponent.as<double>() > 0
                         : exponent.is<Sym>() && exponent.as<Sym>().is_const() && exponent.as<Sym>().value() > 0;
  return {rises, rises};
}

}  // namespace passing

namespace curves {

double abs(double x, double) { return std::abs(x); }
double ceil(double x, double) { return std::ceil(x); }
double cos(double x, double) { return std::cos(x); }
double exp(double x, double) { return std::exp(x); }
double expm1(double x, double) { return std::expm1(x); }
double floor(double x, double) { return std::floor(x); }
double fmod(double x, double y) { return std::fmod(x, y); }
double log(double x, double) { return std::log(x); }
double log10(double x, double) { return std::log10(x); }
double log1p(double x, double) { return std::log1p(x); }
double log2(double x, double) { return std::log2(x); }
double neg(double x, double) { return -x; }
double pow(double x, double y) { return std::pow(x, y); }
double reciprocal(double x, double) { return 1 / x; }
// The remainder has the sign of the divisor.
double remainder(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
double round(double x, double) { return std::nearbyint(x); }
double rsqrt(double x, double) { return 1 / std::sqrt(x); }
double sign(double x, double) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double sin(double x, double) { return std::sin(x); }
double sqrt(double x, double) { return std::sqrt(x); }
double trunc(double x, double) { return std::trunc(x); }
double add(double x, double y) { return x + y; }
double sub(double x, double y) { return x - y; }
double rsub(double x, double y) { return y - x; }
double mul(double x, double y) { return x * y; }
double div(double x, double y) { return x / y; }

}  // namespace curves

}  // namespace wick::compiler
