// Which views share the memory of their operand.
#pragma once
#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Where the elements of a view's result begin among those of its operand, in bytes, if they are one dense range there
/// in the dim order of the result's type. Nothing where they are not, or where sizes are known only at run time.
std::optional<uint64_t> alias_offset(const Node& node);

/// Whether its dim order is 0, 1, 2 ..
bool is_contiguous(const Value& value);

}  // namespace wick::compiler
