// Nodes that a backend takes, but that cost less outside than a call of a delegate.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/partition/groups/group.h"

namespace wick::compiler {

struct LightNodes {
  std::vector<uint32_t> before, behind;
};

/// Wanted nodes that are better left out, because fewer groups (group_by_level) are then enough:
///   before   all nodes of a group that nodes outside need, which a later group needs
///   behind   of the remaining nodes, all nodes of a group that need nodes outside, which need an earlier group
/// Only light nodes are left out. `cost` is what a node costs outside its group, at least 1. Nodes are light if their
/// costs add up to at most `limit` for each group.
LightNodes light_nodes(const Dependences& nodes, const std::vector<uint32_t>& unit, std::vector<bool> wanted,
                       const std::vector<uint64_t>& cost, uint64_t limit);

}  // namespace wick::compiler
