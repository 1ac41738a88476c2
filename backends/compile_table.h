// The compile halves of all backends.
#pragma once
#include <vector>

#include "compiler/partition/target.h"
#include "compiler/passes/pass.h"

namespace wick::compiler {

/// The targets of this build, in the order of backends.inc. Their operators are known from the first call on.
Span<const Target* const> known_targets();
/// The passes that only these backends have (Target::own_passes).
std::vector<Pass> passes_of_backends();

}  // namespace wick::compiler
