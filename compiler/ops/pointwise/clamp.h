// The bounds of operators that only clamp: relu, relu6, hardtanh, clamp.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// low <= high; infinite where there is no bound.
struct ClampBounds {
  double low, high;
};

/// The bounds by a node's row and arguments. Nothing for other nodes, for bounds computed at run time, and for bounds
/// that no number satisfies.
std::optional<ClampBounds> clamp_bounds(const Node& node);

}  // namespace wick::compiler
