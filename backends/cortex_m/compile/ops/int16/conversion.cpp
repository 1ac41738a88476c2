// Converts elements of int8 and int16 to another scale.
#include <cmath>

#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Value;

namespace {

constexpr int kLeftShift = 14;  // wick_cortex_m.requantize shifts (element - zero point) left by so many bits

std::optional<Requantization> factor_of(const Affine& from, const Affine& to) {
  const auto found = requantization(std::ldexp(from.scale / to.scale, -kLeftShift));
  return found && found->shift <= 0 ? found : std::nullopt;
}

Value* bounded_by(Builder& b, Value* x, const Affine& from, const Affine& to) {
  if (from.min >= to.min && from.max <= to.max) return x;
  return b.call("aten.clamp.default", {x, int64_t{to.min}, int64_t{to.max}});
}

}  // namespace

bool is_convertible(const Affine& from, const Affine& to) { return factor_of(from, to).has_value(); }

Refusal refuse_conversion(const Value& from, const Value& to, const Configuration& configuration) {
  if (from.dtype() == DType::i8 && to.dtype() == DType::i8) return {};
  if (from.dtype() == to.dtype() && same_numbers(affine(from), affine(to))) return {};
  if (configuration.stock_only)
    return {"stock has no operator that brings elements of int16 to another scale",
            "let both share a scale, or compile with another profile than stock"};
  return is_convertible(affine(from), affine(to))
             ? Refusal{}
             : Refusal{"the scale of its result is too far from that of an operand", kNearerScale};
}

Value* converted(Builder& b, Value* x, const Affine& from, const Affine& to, DType dtype) {
  const bool same = same_numbers(from, to);
  if (x->dtype() == DType::i8 && dtype == DType::i8)
    return same ? clamped(b, x, from, to) : requantized(b, x, from, to);
  if (x->dtype() == dtype && same) return bounded_by(b, x, from, to);
  const Requantization factor = *factor_of(from, to);
  return b.call("wick_cortex_m.requantize", {x, int64_t{from.zero}, int64_t{to.zero}, int64_t{factor.multiplier},
                                             int64_t{factor.shift}, int64_t{to.min}, int64_t{to.max}, dtype});
}

}  // namespace wick::cortex_m
