// Why operators without a row are refused.
#pragma once
#include <string>

#include "compiler/partition/target.h"

namespace wick::xnnpack {

/// Why the node is refused: what was found and what is required. If a pass rewrites the operator in some cases, the
/// reason is a requirement of that pass.
std::string refuse_operator(const compiler::Node& node, const compiler::TargetContext& context);

}  // namespace wick::xnnpack
