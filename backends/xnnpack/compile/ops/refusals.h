// Why operators without a row are refused.
#pragma once
#include <string>

#include "compiler/partition/target.h"

namespace wick::xnnpack {

/// What was found and what is wanted. If a pass rewrites the operator in some cases, the reason is what that pass
/// requires.
std::string refuse_operator(const compiler::Node& node, const compiler::TargetContext& context);

}  // namespace wick::xnnpack
