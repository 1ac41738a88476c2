// Quantized weights with columns that add nothing to a product. Internal to the passes.
#pragma once
#include "compiler/ir/builder.h"

namespace wick::compiler {

/// How many columns of zeros `weight` [n, k] can have behind its own: a multiple of this, which is 1 or the size of its
/// groups. 0: it is no dequantized constant, or has zero points.
int64_t zero_columns_step(const Value& weight);

/// The weight with `columns` columns of zeros behind its own, in f32. Requires: a multiple of its zero_columns_step.
Value* with_zero_columns(Builder& b, const Value& weight, int64_t columns);

}  // namespace wick::compiler
