// One row per operator: what is taken, the layout of its tensors, what it becomes. C++20.
#pragma once
#include "backends/xnnpack/compile/deviations.h"
#include "backends/xnnpack/compile/layout.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"
#include "compiler/partition/tensor_limits.h"

namespace wick::xnnpack {

class Lowering;

using compiler::Unknown;

struct OpRule {
  const char* op;
  /// Conditions beyond those of support.cpp for every node. Null: none.
  compiler::Verdict (*supports)(const compiler::Node& node, const compiler::TargetOptions& options);
  LayoutRule (*layout)(const compiler::Node& node);
  void (*lower)(Lowering& lowering, const compiler::Node& node);
  Unknown unknown = Unknown::none;  // of each operand and of the result
  /// The last payload node can clamp its result.
  bool takes_range = false;
  /// `supports` checks dtypes and results itself.
  bool any_dtype = false;
  /// Its readers do its work: it reads no tensors and becomes no payload node.
  bool is_absorbed = false;
  /// Where the library's result is another than eager's; by the node's arguments where they decide.
  const Deviation* deviation = nullptr;
  const Deviation* (*deviation_of)(const compiler::Node& node) = nullptr;
};

/// A row with its deviation.
constexpr OpRule deviates(const Deviation& deviation, OpRule rule) {
  rule.deviation = &deviation;
  return rule;
}
constexpr OpRule deviates(const Deviation* (*deviation_of)(const compiler::Node& node), OpRule rule) {
  rule.deviation_of = deviation_of;
  return rule;
}

/// The row of an operator, or null.
const OpRule* find_rule(const compiler::Node& node);
/// All rows, sorted by operator.
const std::vector<const OpRule*>& all_rules();

/// Whether the backend takes a node, all conditions together.
compiler::Verdict supports(const compiler::Node& node, const compiler::TargetOptions& options);

/// Sizes of a tensor.
Dims dims_of(const compiler::Value& value);
/// Tensor operands in argument order, without absent ones. Lists are flattened.
std::vector<compiler::Value*> tensor_operands(const compiler::Node& node);

}  // namespace wick::xnnpack
