// Values that take the place of a tensor which is held as a list of parts.
#pragma once
#include "compiler/ir/builder.h"
#include "compiler/passes/match/unrolled.h"

namespace wick::compiler {

/// What a view makes of the parts.
Values parts_after(Builder& b, const View& view, const Values& parts);
/// A matrix with rows and columns exchanged. Weights come behind a permute; without it they are those of a linear.
Value* transposed(Builder& b, Value* matrix);
/// The operator that multiplies matrices of these ranks.
const char* product_of(const Value& left, const Value& right);

}  // namespace wick::compiler
