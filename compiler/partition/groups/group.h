// Decides which nodes of a graph form a group. Looks only at order and dependences, not at what nodes mean.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::compiler {

/// A graph as numbers: before[i] lists what node i needs; each entry is below i.
struct Dependences {
  std::vector<std::vector<uint32_t>> before;
  size_t size() const { return before.size(); }
};

constexpr uint32_t kNoGroup = UINT32_MAX;

/// Joins the wanted nodes into the fewest groups such that no dependency cycle arises when each group and each other
/// unit counts as one node. `unit` says which nodes already form one unit (kNoGroup: the node alone); wanted nodes
/// belong to no unit. Returns the group of each wanted node, numbered from 0 in an order in which the groups can run,
/// and kNoGroup for all other nodes.
///
/// The level of a node is the largest number of changes from wanted to unwanted nodes on any path that leads to it. A
/// path with k such changes needs k + 1 groups. One group per level is enough, because no path from one node of a level
/// to another leads through an unwanted node. If nothing else in a level depends on a part of it, that part moves to a
/// later level: to its readers, or, if no wanted node reads it, to the level with the most nodes.
std::vector<uint32_t> group_by_level(const Dependences& nodes, const std::vector<uint32_t>& unit,
                                     const std::vector<bool>& wanted);

/// Orders the nodes so that dependences hold and units stay together. Otherwise keeps the given order.
std::vector<uint32_t> order_units(const Dependences& nodes, const std::vector<uint32_t>& unit);

}  // namespace wick::compiler
