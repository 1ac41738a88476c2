// Runs nodes on concrete values with the runtime's own kernels: for constant folding and for `wick compare`.
#pragma once
#include <functional>
#include <map>
#include <variant>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/limits.h"
#include "compiler/support/result.h"
#include "wick/kernel.h"

namespace wick::compiler {

/// A tensor with concrete sizes: its bytes are dense, in the dim order of its type.
struct HostTensor {
  TensorType type;
  ConstantData data;
};
/// The content of an IR value: a tensor or a number.
using HostValue = std::variant<HostTensor, int64_t, double, bool>;

/// The content of a constant.
HostTensor host_tensor(const Value& constant);
/// A tensor that owns `bytes`.
HostTensor host_tensor(TensorType type, std::vector<uint8_t> bytes);

struct EvaluateOptions {
  KernelTable kernels;                               // empty: all portable kernels
  IsaLevel isa = IsaLevel::baseline;                 // baseline: the same bits on every host
  RandomState* random = nullptr;                     // null: nodes that draw random numbers are refused
  const SymValues* symbols = nullptr;                // values of the symbols in sizes and integer arguments
  const SymRanges* ranges = nullptr;                 // bounds of sizes that only the kernel knows
  uint64_t max_result_bytes = limits().arena_bytes;  // of all results together
  uint64_t max_temp_bytes = limits().folding_bytes;  // scratch memory a kernel may ask for
};

/// Gives the value of an operand, or null if there is none; it must stay where it is until evaluate_node returns.
using OperandFn = std::function<const HostValue*(const Value&)>;

/// True if evaluate_node can try: the operator has a kernel in the table (or a value the compiler computes) and no
/// sub-graphs.
bool can_evaluate(const Node& node, const EvaluateOptions& options = {});

/// The results of `node`. Views whose bytes lie in one range of their operand share them. A result whose sizes depend
/// on values needs `ranges` and comes back with its real sizes. Errors: execution (the kernel refuses
/// its arguments), unsupported_op (no kernel), limit (memory).
Result<std::vector<HostValue>> evaluate_node(const Node& node, const OperandFn& operand,
                                             const EvaluateOptions& options = {});

/// A concrete value for each IR value.
using HostValues = std::map<const Value*, HostValue>;
/// A reference interpreter: computes the nodes one after another and adds their results to `values`. Before the call,
/// `values` holds the inputs, and each state whose value is not the initial one. The sizes of the inputs define the
/// symbols. Control flow is refused. Errors: those of evaluate_node, with the place in the user's model.
Status evaluate_graph(const Graph& graph, HostValues& values, EvaluateOptions options = {});

}  // namespace wick::compiler
