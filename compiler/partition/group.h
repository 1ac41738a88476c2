// Which nodes of a graph go together: order and grouping without regard to what nodes mean.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::compiler {

/// A graph by numbers: before[i] are what node i needs, each below i.
struct Dependences {
  std::vector<std::vector<uint32_t>> before;
  size_t size() const { return before.size(); }
};

constexpr uint32_t kNoGroup = UINT32_MAX;

/// Joins those of `wanted` into the fewest groups so that, with each group and each other unit taken as one, no cycle
/// arises. `unit` says which nodes are one already (kNoGroup: the node alone); wanted nodes belong to none. Returns the
/// group of each wanted node, numbered from 0 in an order in which they can run, kNoGroup for all others.
///
/// The level of a node is the largest number of changes from wanted to unwanted on a way that leads to it. A way with k
/// such changes needs k + 1 groups; one group for each level is enough: from one node of a level to another no way
/// leads through an unwanted one. Parts of a level that nothing else in it depends on go to a later one where their
/// readers are, or, if they have no reader among the wanted, where most nodes are.
std::vector<uint32_t> group_by_level(const Dependences& nodes, const std::vector<uint32_t>& unit,
                                     const std::vector<bool>& wanted);

/// The nodes in an order that keeps dependences and units together, and else the order given.
std::vector<uint32_t> order_units(const Dependences& nodes, const std::vector<uint32_t>& unit);

}  // namespace wick::compiler
