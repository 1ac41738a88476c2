// What a node needs of its sizes. C++20.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// A number that must lie within bounds, which are inclusive. Nothing: no bound on that side.
struct SizeRequirement {
  compiler::Sym found;
  std::optional<compiler::Sym> low, high;
  const char* otherwise = "";  // what is wrong if it does not
};
using SizeRequirements = std::vector<SizeRequirement>;

SizeRequirement equal(const compiler::Sym& found, const compiler::Sym& wanted, const char* otherwise);
SizeRequirement at_least(const compiler::Sym& found, const compiler::Sym& low, const char* otherwise);
SizeRequirement at_most(const compiler::Sym& found, const compiler::Sym& high, const char* otherwise);
/// Of a size that is 1 or `wide`.
SizeRequirement broadcasts(const compiler::Sym& own, const compiler::Sym& wide);
/// Of sizes that stand at the end of `wide`; never met if they are more.
void add_broadcasts(const compiler::Sizes& own, const compiler::Sizes& wide, SizeRequirements& out);

/// Requirements that hold for some values of the symbols only: the delegate checks them. Those of the node's rule
/// (OpRule::needs), and that sizes which the graph states are those that follow. A SymScope with the graph's ranges is
/// open.
SizeRequirements left_to_check(const compiler::Node& node);

/// Why the node stays outside; "": it does not. One of its requirements never holds, or the plan cannot compute it.
std::string refuse_sizes(const compiler::Node& node);

}  // namespace wick::cuda
