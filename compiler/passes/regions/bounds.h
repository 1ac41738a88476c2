// How large the elements of tensors can be.
#pragma once
#include <optional>
#include <unordered_map>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// What holds of each f32 value of a graph for all finite inputs, in any number of calls, as long as no product of
/// matrices, norm or sum over dimensions overflows, or a product comes within a factor of 4: that, any reader sees.
class Bounds {
 public:
  explicit Bounds(const Graph& graph);

  /// Every element is a number: finite, or infinite because a sum or product of elements has overflowed. Never NaN.
  bool is_number(const Value* value) { return of(value).has_value(); }
  /// Every element is below the largest number of f32, whatever the inputs are, infinite ones too.
  bool is_bounded(const Value* value);
  /// Every element is 0 then: who looks at it asks for NaN.
  bool is_zero(const Value* value) { return of(value) == 0.0; }
  /// `made` replaces `old`.
  void inherit(const Value* made, const Value* old) { bounds_[made] = of(old); }

 private:
  void find(const Graph& graph, const std::unordered_map<const Value*, std::optional<double>>& states);
  std::optional<double> of(const Value* value);
  std::optional<double> bound_of(const Node& node);

  // The largest absolute value, or infinity; nothing: perhaps NaN. Looked up only.
  std::unordered_map<const Value*, std::optional<double>> bounds_;
};

}  // namespace wick::compiler
