// What nodes compute for every element that an int8 or int16 value can hold. C++20.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

inline constexpr size_t kInt8Elements = 256;  // of int8: -128 .. 127

/// A constant with one element: the same number for all elements of another tensor.
bool is_number(const compiler::Value& value);

/// Nodes on the numbers that all elements of one int8 (or int16) value stand for, computed by the portable kernels, as
/// eager does: numbers that the model quantizes on the way are quantized there.
class OnAllElements {
 public:
  /// `root`: int8 or int16 with one scale.
  explicit OnAllElements(const compiler::Value& root);
  /// A node with one result. Each operand is the root, the result of a node added before, or a number.
  void add(const compiler::Node& node);
  /// What the last node computes, before it is quantized; truth is 1. Another count than the root's dtype has elements:
  /// it is not element-wise. Called once.
  std::vector<double> results();

 private:
  compiler::Value* numbers_of(const compiler::Value& operand);

  compiler::Graph graph_;
  std::unordered_map<const compiler::Value*, compiler::Value*> values_;  // looked up only
  compiler::Value* last_ = nullptr;
};

}  // namespace wick::cortex_m
