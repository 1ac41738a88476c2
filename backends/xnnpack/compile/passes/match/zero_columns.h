// Quantized weights with extra columns that add nothing to a matmul. Internal to the passes.
#pragma once
#include "compiler/ir/builder.h"

namespace wick::xnnpack {

/// The number of zero columns that can be appended to `weight` [n, k] is a multiple of this: 1, or the size of its
/// groups. 0 if it is not a dequantized constant of int8, or its zero points are not elements.
int64_t zero_columns_step(const compiler::Value& weight);

/// The weight with `columns` zero columns appended, in f32. Requires: a multiple of its zero_columns_step.
compiler::Value* with_zero_columns(compiler::Builder& b, const compiler::Value& weight, int64_t columns);

}  // namespace wick::xnnpack
