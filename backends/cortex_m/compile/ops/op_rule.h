// One row per operator: what is taken, and what it becomes. C++20.
#pragma once
#include "backends/cortex_m/compile/isa.h"
#include "compiler/ir/builder.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"

namespace wick::cortex_m {

struct OpRule {
  const char* op;
  /// Whether the node is taken, as the configuration has it. Quantization is in the types of its values.
  compiler::Verdict (*supports)(const compiler::Node& node, const Configuration& configuration);
  /// Makes the operators of a node that is taken, on elements, and returns what replaces its results.
  std::vector<compiler::Value*> (*rewrite)(compiler::Builder& builder, compiler::Node& node,
                                           const Configuration& configuration);
  /// Its result may have any range within int8 (Affine::min, max); else it must have all of int8.
  bool clamps = false;
};

/// The row of an operator, or null.
const OpRule* find_rule(const compiler::Node& node);
/// All rows, sorted by operator.
const std::vector<const OpRule*>& all_rules();

// Families, one file each: ops/rules_NAME.cpp.
struct RuleFamily {
  const OpRule* rows;
  size_t count;
};
extern const RuleFamily kConversionRules, kLinearRules;

}  // namespace wick::cortex_m
