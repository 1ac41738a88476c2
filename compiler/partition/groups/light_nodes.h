// Nodes that a backend takes, but whose results come from elsewhere for less than a call of a delegate.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/partition/groups/group.h"

namespace wick::compiler {

struct LightNodes {
  std::vector<uint32_t> before, behind;
};

/// Wanted nodes that are better left out, because fewer groups are then enough (group_by_level), if these are light:
///   before   all of a group that other nodes need which a later group needs
///   behind   of what then remains, all of a group that needs other nodes which need an earlier group
/// `cost` is what a node costs outside its group, at least 1; nodes of more than `limit`, or of more in all for one
/// group, are not light.
LightNodes light_nodes(const Dependences& nodes, const std::vector<uint32_t>& unit, std::vector<bool> wanted,
                       const std::vector<uint64_t>& cost, uint64_t limit);

}  // namespace wick::compiler
