// One row per operator: what is taken, and what it becomes. C++20.
#pragma once
#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/refusal.h"
#include "compiler/ir/builder.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"

namespace wick::cortex_m {

/// Sizes that may be known only at run time: none, the first one, all but the last one.
enum class OpenSizes : uint8_t { none, batch, rows };

struct OpRule {
  const char* op;
  /// Whether the node is taken, as the configuration has it. Quantization is in the types of its values.
  compiler::Verdict (*supports)(const compiler::Node& node, const Configuration& configuration);
  /// Makes the operators of a node that is taken, on elements, and returns what replaces its results.
  std::vector<compiler::Value*> (*rewrite)(compiler::Builder& builder, compiler::Node& node,
                                           const Configuration& configuration);
  /// The operators that `rewrite` makes keep to the range of the result (Affine::min, max). Otherwise bounds are added.
  bool clamps = false;
  /// It computes on int8 beside int16 as they are, so that what `supports` refuses is refused on one dtype, too.
  bool takes_mixes = false;
  /// Its operators give their results these sizes that operands have at run time, so that they may be unknown, unless
  /// `supports` says otherwise.
  OpenSizes open = OpenSizes::none;
};

/// The row of an operator; that of tables or of data movement if it has none; null.
const OpRule* find_rule(const compiler::Node& node);
/// All rows, sorted by operator.
const std::vector<const OpRule*>& all_rules();

// Families, one file each: ops/rules_NAME.cpp.
struct RuleFamily {
  const OpRule* rows;
  size_t count;
};
extern const RuleFamily kAttentionRules, kBinaryRules, kChannelRules, kComparisonRules, kConversionRules,
    kConvolutionRules, kEdgePaddingRules, kExtremumRules, kGluRules, kLinearRules, kLookupRules, kMatmulRules,
    kMovementRules, kNormalizationRules, kPaddingRules, kPoolRules, kRecurrentRules, kResizeRules, kSoftmaxRules;

}  // namespace wick::cortex_m
