// Builds the plan of a delegate from kernels: texts, buffers in the arena, dependencies. C++20.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/compile/report.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

/// A kernel's name and its text, which follows the vocabulary.
struct NamedKernel {
  std::string name, parameters, body;
  uint32_t threads = 0;
  bool has_barriers = false;
};

struct BuiltPlan {
  Plan plan;
  std::vector<NamedKernel> kernels;                   // parallel to plan.kernels
  std::vector<compiler::ConstantData> constants;      // in the order of the plan.buffers that have `data`
  std::vector<const compiler::Node*> node_of_handle;  // debug handles
  std::vector<StepNotes> notes;                       // parallel to plan.nodes
  std::vector<compiler::NodeName> views;
  std::set<uint32_t> in_parts;  // buffers of which launches write different elements
};

/// A size with one symbol, whose value follows from it: size = factor * symbol + term.
struct LinearSize {
  std::string symbol;
  int64_t factor = 1, term = 0;
};
std::optional<LinearSize> linear_size(const Sym& size);

/// Everything but device code. Requires: a SymScope with the graph's ranges is open.
BuiltPlan build_plan(LoweredGraph& lowered, const compiler::Graph& graph);

}  // namespace wick::cuda
