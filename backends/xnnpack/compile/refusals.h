// Why operators without a row are refused.
#pragma once
#include <string>

#include "compiler/partition/target.h"

namespace wick::xnnpack {

/// What was found, and what is wanted: where a pass writes an operator with others, what that pass asks for.
std::string refuse_operator(const compiler::Node& node, const compiler::TargetOptions& options);

}  // namespace wick::xnnpack
