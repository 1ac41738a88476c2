// The rules of the backend: for each operator, which nodes it takes and how it rewrites them. C++20.
#pragma once
#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/refusal.h"
#include "compiler/ir/builder.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"

namespace wick::cortex_m {

/// Which sizes may be dynamic: none, the first one, or all but the last one.
enum class OpenSizes : uint8_t { none, batch, rows };

struct OpRule {
  const char* op;
  /// Whether the backend takes the node with this configuration. The quantization of values is in their types.
  compiler::Verdict (*supports)(const compiler::Node& node, const Configuration& configuration);
  /// Builds operators on elements for a node that is taken, and returns what replaces its results.
  std::vector<compiler::Value*> (*rewrite)(compiler::Builder& builder, compiler::Node& node,
                                           const Configuration& configuration);
  /// Whether the operators that `rewrite` builds clamp to the result's range (Affine::min, max). Else a clamp follows.
  bool clamps = false;
  /// Whether the rule computes on int8 beside int16 as they are. What its `supports` refuses is then refused on one
  /// dtype, too.
  bool takes_mixes = false;
  /// Which sizes of the operands may be dynamic: the operators give their results the sizes that they find at run time.
  /// `supports` may refuse some.
  OpenSizes open = OpenSizes::none;
};

/// The rule of an operator, else the rule of tables or of data movement if one of them applies; null: none.
const OpRule* find_rule(const compiler::Node& node);
/// All rows, sorted by operator.
const std::vector<const OpRule*>& all_rules();

// A family of rules; each has a file ops/rules_NAME.cpp.
struct RuleFamily {
  const OpRule* rows;
  size_t count;
};
extern const RuleFamily kAttentionRules, kBinaryRules, kChannelRules, kComparisonRules, kConversionRules,
    kConvolutionRules, kEdgePaddingRules, kExtremumRules, kGluRules, kLinearRules, kLookupRules, kMatmulRules,
    kMovementRules, kNormalizationRules, kPaddingRules, kPoolRules, kRecurrentRules, kResizeRules, kSoftmaxRules;

}  // namespace wick::cortex_m
