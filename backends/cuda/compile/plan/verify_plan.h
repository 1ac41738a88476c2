// Checks what each plan of this compiler satisfies, beyond what executing a plan relies on (check_plan). C++20.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

/// Describes what is wrong with the plan's use of its arena; "": nothing. The rules:
///   - A node reads only bytes that an earlier node has written for this buffer, and that nothing else has
///     overwritten since, in any round of the loops around it.
///   - If two nodes touch the same bytes, and one of them writes, one is done before the other begins.
/// `in_parts`: buffers of which launches write different elements, so that these launches may run at the same time.
std::string find_memory_flaw(const Plan& plan, const std::set<uint32_t>& in_parts);

/// The name of a node whose results are needed but that is part of no kernel, view, condition or loop; "": there is
/// none.
std::string find_missing_node(const LoweredGraph& lowered, const compiler::Graph& graph);

/// Describes a buffer with elements that no kernel stores, or that several do; "": there is none. Requires: kernels are
/// fused, and a SymScope with the graph's ranges is open.
std::string find_missing_part(const LoweredGraph& lowered);

}  // namespace wick::cuda
