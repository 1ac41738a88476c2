// Requirements of nodes for their sizes. C++20.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// A number that must lie within inclusive bounds. Without a value there is no bound on that side.
struct SizeRequirement {
  compiler::Sym found;
  std::optional<compiler::Sym> low, high;
  const char* otherwise = "";  // the message if it does not
};
using SizeRequirements = std::vector<SizeRequirement>;

SizeRequirement equal(const compiler::Sym& found, const compiler::Sym& wanted, const char* otherwise);
SizeRequirement at_least(const compiler::Sym& found, const compiler::Sym& low, const char* otherwise);
SizeRequirement at_most(const compiler::Sym& found, const compiler::Sym& high, const char* otherwise);
/// Requires that size `own` is 1 or `wide`.
SizeRequirement broadcasts(const compiler::Sym& own, const compiler::Sym& wide);
/// Requires that sizes `own` broadcast to `wide`, aligned at the last dimension. Never holds if there are more of them.
void add_broadcasts(const compiler::Sizes& own, const compiler::Sizes& wide, SizeRequirements& out);

/// Requirements that do not hold for all values of the symbols, so that the delegate must check them: those of the
/// node's rule (OpRule::needs), and that sizes which the graph states equal those that follow. Requires: a SymScope
/// with the graph's ranges is open.
SizeRequirements left_to_check(const compiler::Node& node);

/// Why the node stays outside; "": it does not. Reasons: a requirement never holds, or the plan cannot compute one.
std::string refuse_sizes(const compiler::Node& node);

}  // namespace wick::cuda
