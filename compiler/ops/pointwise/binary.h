// Operators by their function of two arguments. C++20.
#pragma once
#include <string_view>

#include "compiler/ir/op_def.h"

namespace wick::compiler {

/// The operator of that function and overload ("Tensor", "Scalar"), or null.
const OpDef* find_binary(Binary function, std::string_view overload);
/// The function that takes the arguments in the other order: b - a for a - b; none: there is none.
Binary mirrored(Binary function);
/// The comparison that is true where this one is false, NaN too; none: there is none.
Binary opposite(Binary comparison);

}  // namespace wick::compiler
