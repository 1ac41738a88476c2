// The explanation of a method: where its nodes and instructions run and why, what they cost, and what is in the arena
// when.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/explain/float_costs.h"
#include "cli/program/program_memory.h"
#include "compiler/driver/compile.h"
#include "wick/program.h"

namespace wick::cli {

/// One instruction of the program.
struct InstructionRow {
  std::string what, where, why, source, module;
  uint64_t live_bytes = 0;                 // live bytes of the arena while it runs
  std::optional<compiler::CallCost> cost;  // of a kernel, if a backend predicts it
};

/// One node as the backends saw it.
struct NodeRow {
  std::string what, where, why, source, module;
  compiler::NodeCost cost;
  std::optional<FloatCost> outside;  // cost of a node that no backend takes, if its instructions are known
};

/// Totals of all instructions.
struct CostTotals {
  uint64_t macs = 0, constant_bytes = 0, largest_scratch_bytes = 0;
  double instructions = 0;  // the executor's included
  compiler::CallCost executor;
  size_t not_known = 0;  // kernel calls without a known cost
};

struct MethodExplained {
  std::string name;
  std::vector<InstructionRow> rows;
  std::vector<NodeRow> nodes;                   // of a .pt2 with backends
  std::vector<compiler::DelegateBreak> breaks;  // of a .pt2 with backends
  std::vector<compiler::BufferPlace> buffers;   // mutable ones, of a .pt2 with backends
  std::vector<compiler::SharedState> shared_states;
  size_t copies = 0, delegates = 0;
  ArenaPicture arena;
  std::vector<compiler::UnboundedValue> unbounded;  // of a .pt2
  std::string cost_model;  // facts "KEY=VALUE" for which costs are predicted; "" if no backend does
  CostTotals totals;
  FloatCost conversions;  // cost of all conversions between floats and integers
  /// The number and the report of each delegate whose backend makes one.
  std::vector<std::pair<size_t, compiler::DelegateReport>> delegate_reports;
};

/// The methods of a compiled model. Errors: internal.
compiler::Result<std::vector<MethodExplained>> explain(const compiler::CompileResult& result,
                                                       const std::vector<compiler::TargetRequest>& targets);
/// The methods of a .pte. Its costs are those for `targets` if it does not say what it was prepared for. Errors:
/// corrupt_file.
compiler::Result<std::vector<MethodExplained>> explain(const Program& program,
                                                       const std::vector<compiler::TargetRequest>& targets);

}  // namespace wick::cli
