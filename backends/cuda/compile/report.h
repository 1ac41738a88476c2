// What `wick explain` says of a delegate. C++20.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/compile/text/program.h"
#include "backends/cuda/payload/plan.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/target.h"

namespace wick::cuda {

/// Why a step of the plan is one, and which nodes it computes; as lowering recorded it.
struct StepNotes {
  std::vector<compiler::NodeName> nodes, inlined;
  std::string why;
  std::vector<std::pair<std::string, uint64_t>> state_bytes;  // which states it writes, and how much of each
};

/// What a delegate keeps of its lowering (compiler::Delegate::kept): for reports, and for the files that options ask
/// for.
struct Kept {
  std::vector<KernelText> kernels;  // as plan.kernels
  std::vector<StepNotes> steps;     // as plan.nodes
  std::vector<compiler::NodeName> views;
};

compiler::NodeName name_of(const compiler::Node& node);

inline constexpr compiler::TargetOption kChipOption = {"chip", "h200|h100|a100|b200|rtx5090",
                                                       "the device that explain predicts times for"};

/// From the plan, and what was kept of lowering. Errors: corrupt_file if the payload is no plan.
compiler::Result<compiler::DelegateReport> report(const compiler::Delegate& delegate,
                                                  const compiler::TargetContext& context);

}  // namespace wick::cuda
