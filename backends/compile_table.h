// The compile halves of all backends.
#pragma once
#include "compiler/partition/target.h"

namespace wick::compiler {

/// The targets of this build, in the order of backends.inc. The first call registers their operators.
Span<const Target* const> known_targets();

}  // namespace wick::compiler
