#include "backends/cortex_m/compile/ops/infinities.h"

#include <cstdint>

#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/tables.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;

Value* with_infinities(Builder& b, const Node& node, Value* quotient) {
  Value *self = node.tensor("self"), *other = node.tensor("other");
  if (!divisors_of(*other).has_zero) return quotient;
  Affine from = affine(*self), to = affine(*node.result());
  to.scale = from.scale * 0x1p-15;  // one step of the dividend is beyond the largest element
  Value* infinite = self;
  if (self->dtype() == DType::i16) {  // one requantization makes steps at most 2^13 times finer
    const Affine between{from.scale * 0x1p-8, 0, INT16_MIN, INT16_MAX};
    infinite = converted(b, self, from, between, DType::i16);
    from = between;
  }
  infinite = converted(b, infinite, from, to, node.result()->dtype());
  Value* by_zero = b.call("aten.eq.Scalar", {other, int64_t{affine(*other).zero}});
  return b.call("aten.where.self", {by_zero, infinite, quotient});
}

}  // namespace wick::cortex_m
