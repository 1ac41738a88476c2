// Finds operators by the binary function that they compute. C++20.
#pragma once
#include <string_view>

#include "compiler/ir/op_def.h"

namespace wick::compiler {

/// The operator of that function and overload ("Tensor", "Scalar"), or null.
const OpDef* find_binary(Binary function, std::string_view overload);
/// The function with swapped arguments: b - a for a - b; `none` if there is none.
Binary mirrored(Binary function);
/// The comparison that is true exactly where this one is false, for NaN too; `none` if there is none.
Binary opposite(Binary comparison);

}  // namespace wick::compiler
