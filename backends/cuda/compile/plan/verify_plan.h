// What a plan of this compiler keeps to, beyond what executing any plan relies on (check_plan). C++20.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

/// Empty, or what is wrong with how the plan uses its arena:
///   - What a node reads was written by an earlier one, and nothing else has been written to these bytes since, in any
///     round of the loops around it.
///   - Of two nodes of which one writes what the other touches, one is done before the other begins.
/// `in_parts`: buffers of which launches write different elements, so that these may run at the same time.
std::string find_memory_flaw(const Plan& plan, const std::set<uint32_t>& in_parts);

/// Empty, or which node of the graph has results that count but is part of no kernel, view, condition or loop.
std::string find_missing_node(const LoweredGraph& lowered, const compiler::Graph& graph);

/// Empty, or which buffer has parts that no kernel stores, or that several do. Of a graph whose kernels are fused; a
/// SymScope with its ranges is open.
std::string find_missing_part(const LoweredGraph& lowered);

}  // namespace wick::cuda
