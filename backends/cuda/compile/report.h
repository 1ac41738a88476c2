// The report of `wick explain` about a delegate. C++20.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/compile/text/program.h"
#include "backends/cuda/payload/plan.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/target.h"

namespace wick::cuda {

/// Notes of lowering about a step of the plan: why it is a step, and which nodes it computes.
struct StepNotes {
  std::vector<compiler::NodeName> nodes, inlined;
  std::string why;
  std::vector<std::pair<std::string, uint64_t>> state_bytes;  // the states that it writes, and how many bytes of each
};

/// Results of lowering that a delegate keeps (compiler::Delegate::kept), for reports and for files that options ask
/// for.
struct Kept {
  std::vector<KernelText> kernels;  // parallel to plan.kernels
  std::vector<StepNotes> steps;     // parallel to plan.nodes
  std::vector<compiler::NodeName> views;
};

compiler::NodeName name_of(const compiler::Node& node);

inline constexpr compiler::TargetOption kChipOption = {"chip", "h200|h100|a100|b200|rtx5090",
                                                       "the device that explain predicts times for"};

/// Made from the plan and from what was kept of lowering. Errors: corrupt_file if the payload is no plan.
compiler::Result<compiler::DelegateReport> report(const compiler::Delegate& delegate,
                                                  const compiler::TargetContext& context);

}  // namespace wick::cuda
