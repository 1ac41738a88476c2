// A row for each operator: when the backend takes it, and how it is lowered. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/compile/sizes/size_requirements.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"
#include "wick/span.h"

namespace wick::cuda {

/// The type in which a pointwise operator computes.
enum class Typing : uint8_t {
  result,    // operands become elements of the result's dtype
  promoted,  // operands become elements of the dtype that eager promotes them to
  own,       // each operand keeps its own
};

struct OpRule {
  const char* op;
  void (*lower)(Lowering& lowering, const compiler::Node& node);
  /// Conditions beyond those of support.cpp for every node. Null: none.
  compiler::Verdict (*supports)(const compiler::Node& node, const compiler::TargetContext& context) = nullptr;
  /// For pointwise operators: the element in the vocabulary of kernels, {N} for argument N.
  const char* text = nullptr;
  Typing typing = Typing::result;
  /// The composite is not decomposed: its own kernel is better than those of its parts.
  bool keeps_whole = false;
  /// The kernel reads elements of its operands many times, so quantized operands stay integers in memory.
  bool rereads = false;
  /// The result is operand `self` with a region replaced: place_copy() or replace_elements() makes it.
  bool writes_region = false;
  /// The operator treats dimensions alike and keeps them, so an image may have any layout.
  bool keeps_dimensions = false;
  /// The requirements for sizes. Null: only those of every node (size_requirements.h).
  void (*needs)(const compiler::Node& node, SizeRequirements& out) = nullptr;
};

constexpr OpRule whole(OpRule rule) {
  rule.keeps_whole = true;
  return rule;
}

constexpr OpRule rereading(OpRule rule) {
  rule.rereads = true;
  return rule;
}

constexpr OpRule writing(OpRule rule) {
  rule.writes_region = true;
  return rule;
}

constexpr OpRule of_images(OpRule rule) {
  rule.keeps_dimensions = true;
  return rule;
}

constexpr OpRule needing(OpRule rule, void (*needs)(const compiler::Node& node, SizeRequirements& out)) {
  rule.needs = needs;
  return rule;
}

/// The row of an operator; null if there is none.
const OpRule* find_rule(const compiler::Node& node);

// Families, one file each.
extern const Span<const OpRule> kAttentionRules, kControlRules, kCreationRules, kDeformedRules, kDistanceRules,
    kFactorRules, kIndexingRules, kMatmulRules, kMovementRules, kNormalizationRules, kPointwiseRules, kQuantizedRules,
    kRandomRules, kRecurrenceRules, kReductionRules, kRegionRules, kResizeRules, kSamplingRules, kScanRules,
    kSortingRules, kSpectrumRules, kWindowRules, kWriteRules;

/// Whether, for all values of their symbols, the sizes are equal (same) or the first is at most the second (no_larger).
bool same(const Sym& a, const Sym& b);
bool no_larger(const Sym& a, const Sym& b);
inline constexpr char kOnlyAtRunTime[] = "whether its operands' sizes agree is known only at run time";
compiler::Verdict agreed(bool condition);

/// Whether the first result has a floating dtype.
compiler::Verdict gives_floats(const Node& node, const compiler::TargetContext& context);

/// The dimension that an argument of a node names, counted from 0.
size_t dim_argument(const compiler::Node& node, std::string_view name, size_t rank);

}  // namespace wick::cuda
