// The backend's own operators. C++20.
#pragma once
#include "compiler/ir/op_def.h"
#include "compiler/layout/layout_rule.h"

namespace wick::cortex_m {

/// Stock's 18 operators with stock's schemas, and those of Wick (namespace wick_cortex_m).
Span<const compiler::OpDef> operators();
/// The dim orders that such an operator accepts.
compiler::layout::LayoutRule layout(const compiler::Node& node);

}  // namespace wick::cortex_m
