// The dim orders of a partition's values: the rules of this backend's rows, and the words of compiler/layout. C++20.
#pragma once
#include "compiler/layout/constant_elements.h"
#include "compiler/layout/solver.h"

namespace wick::xnnpack {

using namespace compiler::layout;
using compiler::Sizes;
using Order = DimOrder;

/// What the rows of op_rules.h say of their operators.
const LayoutRules& layout_rules();

}  // namespace wick::xnnpack
