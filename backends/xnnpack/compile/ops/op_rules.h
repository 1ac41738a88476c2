// One row per operator: which nodes are taken, the layout of their tensors, and how they are lowered. C++20.
#pragma once
#include "backends/xnnpack/compile/deviations.h"
#include "backends/xnnpack/compile/layout.h"
#include "compiler/partition/rule_table.h"
#include "compiler/partition/target.h"
#include "compiler/partition/tensor_limits.h"

namespace wick::xnnpack {

class Lowering;
/// real = (element - zero_point) * scale, int8.
struct Affine {
  double scale = 1;
  int32_t zero_point = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// Scales of a node computed on int8: those of its operands (of a layer with weights, only the first operand) and of
/// its result.
struct Int8Scales {
  std::vector<Affine> operands;
  Affine result;
};

using compiler::Unknown;

struct OpRule {
  const char* op;
  /// Conditions beyond those of support.cpp for every node. Null: none.
  compiler::Verdict (*supports)(const compiler::Node& node, const compiler::TargetContext& context);
  LayoutRule (*layout)(const compiler::Node& node);
  void (*lower)(Lowering& lowering, const compiler::Node& node);
  Unknown unknown = Unknown::none;  // of each operand and of the result
  /// The last payload node can clamp its result.
  bool takes_range = false;
  /// Whether the library's int8 operator takes operands and a result of these scales. Null: it has none.
  bool (*on_int8)(const compiler::Node& node, const Int8Scales& scales) = nullptr;
  /// `supports` checks dtypes and quantization itself.
  bool converts = false;
  /// How the library's result deviates from eager's; deviation_of is for deviations that depend on the node's
  /// arguments.
  const Deviation* deviation = nullptr;
  const Deviation* (*deviation_of)(const compiler::Node& node) = nullptr;
  ZeroSign zero_sign = ZeroSign::kept;
  /// Whether the library computes the node in f32 with more work than a portable kernel. Null: never. A delegate of
  /// such nodes alone is not made; beside nodes that cost less they stay (target.cpp, profitable).
  bool (*costs_more)(const compiler::Node& node) = nullptr;
  /// The library computes the node in f32 as a portable kernel does, in one pass over its elements.
  bool costs_same = false;
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

/// A row whose nodes, or those that `when` says, the library computes with more work than a portable kernel.
constexpr OpRule costs_more(
    OpRule rule, bool (*when)(const compiler::Node& node) = [](const compiler::Node&) { return true; }) {
  rule.costs_more = when;
  return rule;
}

constexpr OpRule costs_same(OpRule rule) {
  rule.costs_same = true;
  return rule;
}

/// A row whose result may have zeros with another sign than eager's.
constexpr OpRule loses_sign(ZeroSign sign, OpRule rule) {
  rule.zero_sign = sign;
  return rule;
}
/// The same, for rows that change the sign only if an operand is -0.
constexpr OpRule loses_sign(OpRule rule) { return loses_sign(ZeroSign::lost_from_operands, rule); }

/// A row with its condition on int8.
constexpr OpRule on_int8(bool (*fits)(const compiler::Node& node, const Int8Scales& scales), OpRule rule) {
  rule.on_int8 = fits;
  return rule;
}

/// The row of an operator, or null.
const OpRule* find_rule(const compiler::Node& node);
/// All rows, sorted by operator.
const std::vector<const OpRule*>& all_rules();

/// As `supports`, for a node whose operands and results may be quantized in any way.
compiler::Verdict supports_numbers(const compiler::Node& node, const compiler::TargetContext& context);
/// Whether the backend takes a node, all conditions together.
compiler::Verdict supports(const compiler::Node& node, const compiler::TargetContext& context);

/// Sizes of a tensor.
Sizes dims_of(const compiler::Value& value);

}  // namespace wick::xnnpack
