// Values that take the place of a tensor which is held as a list of parts.
#pragma once
#include "backends/xnnpack/compile/passes/match/unrolled.h"
#include "compiler/ir/builder.h"

namespace wick::xnnpack {

/// The parts after a view.
compiler::Values parts_after(compiler::Builder& b, const View& view, const compiler::Values& parts);
/// A matrix with rows and columns exchanged. Weights come behind a permute; without it they are those of a linear.
compiler::Value* transposed(compiler::Builder& b, compiler::Value* matrix);
/// The operator that multiplies matrices of these ranks.
const char* product_of(const compiler::Value& left, const compiler::Value& right);

}  // namespace wick::xnnpack
