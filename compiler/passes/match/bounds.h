// Upper bounds for the magnitude of tensor elements.
#pragma once
#include <optional>
#include <unordered_map>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Facts about each f32 value of a graph that hold for all finite inputs, in any number of calls. They assume that no
/// matmul, norm or sum over dimensions overflows, that no matmul comes within a factor of 4 of that, and that no score
/// of attention makes the sum with its mask overflow: any reader would see it.
class Bounds {
 public:
  explicit Bounds(const Graph& graph);

  /// Every element is a number: finite, or infinite because an addition or multiplication of elements overflowed. Never
  /// NaN.
  bool is_number(const Value* value) { return of(value).has_value(); }
  /// Every element is finite.
  bool is_finite(const Value* value);
  /// The magnitude of every element is below the largest f32 for all inputs, including infinite ones.
  bool is_bounded(const Value* value);
  /// Every element is 0 for finite inputs. A reader of such a value tests for NaN.
  bool is_zero(const Value* value) { return of(value) == 0.0; }
  /// Gives `made` the bound of `old`, which it replaces.
  void inherit(const Value* made, const Value* old) { bounds_[made] = of(old); }

 private:
  void find(const Graph& graph, const std::unordered_map<const Value*, std::optional<double>>& states);
  std::optional<double> of(const Value* value);
  std::optional<double> bound_of(const Node& node);
  bool is_masked_score(const Node& node);
  bool is_safe_softmax(const Node& node);

  // The largest absolute value, or infinity; nothing if it may be NaN. Looked up only.
  std::unordered_map<const Value*, std::optional<double>> bounds_;
};

}  // namespace wick::compiler
