// Connects this backend to compiler/layout, which chooses the dim orders of a partition's values. C++20.
#pragma once
#include "compiler/layout/constant_elements.h"
#include "compiler/layout/solver.h"

namespace wick::xnnpack {

using namespace compiler::layout;
using compiler::Sizes;
using Order = DimOrder;

/// The layout rules that the rows of op_rules.h give for their operators.
const LayoutRules& layout_rules();

}  // namespace wick::xnnpack
