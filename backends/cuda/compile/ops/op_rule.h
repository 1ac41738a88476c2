// One row per operator: what is taken, and what its results are. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/compile/sizes/size_requirements.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"
#include "wick/span.h"

namespace wick::cuda {

/// In which type an operator that works element by element computes.
enum class Typing : uint8_t {
  result,    // operands become elements of the result's dtype
  promoted,  // of the dtype that eager promotes them to
  own,       // each keeps its own
};

struct OpRule {
  const char* op;
  void (*lower)(Lowering& lowering, const compiler::Node& node);
  /// Conditions beyond those of support.cpp for every node. Null: none.
  compiler::Verdict (*supports)(const compiler::Node& node, const compiler::TargetContext& context) = nullptr;
  /// Of operators that work element by element: the element in the vocabulary of kernels, {N} for argument N.
  const char* text = nullptr;
  Typing typing = Typing::result;
  /// The composite stays whole: its kernel is better than those of its parts.
  bool keeps_whole = false;
  /// Elements of operands are read many times: quantized ones stay integers in memory.
  bool rereads = false;
  /// The result is operand `self` but for a region: place_copy or replace_elements makes it.
  bool writes_region = false;
  /// The result has the dimensions of the operands, each treated alike: images stay images, in any layout.
  bool keeps_dimensions = false;
  /// What sizes must be. Null: nothing beyond what each node needs (size_requirements.h).
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

/// The row of an operator, or null.
const OpRule* find_rule(const compiler::Node& node);

// Families, one file each.
extern const Span<const OpRule> kAttentionRules, kControlRules, kCreationRules, kDeformedRules, kDistanceRules,
    kFactorRules, kIndexingRules, kMatmulRules, kMovementRules, kNormalizationRules, kPointwiseRules, kQuantizedRules,
    kRandomRules, kRecurrenceRules, kReductionRules, kRegionRules, kResizeRules, kSamplingRules, kScanRules,
    kSortingRules, kSpectrumRules, kWindowRules, kWriteRules;

/// Whether the sizes are equal, or one is no larger, for all values of their symbols.
bool same(const Sym& a, const Sym& b);
bool no_larger(const Sym& a, const Sym& b);
inline constexpr char kOnlyAtRunTime[] = "whether its operands' sizes agree is known only at run time";
compiler::Verdict agreed(bool condition);

/// Whether the first result holds floating-point numbers.
compiler::Verdict gives_floats(const Node& node, const compiler::TargetContext& context);

/// The dimension that a node's argument names, counted from 0.
size_t dim_argument(const compiler::Node& node, std::string_view name, size_t rank);

}  // namespace wick::cuda
