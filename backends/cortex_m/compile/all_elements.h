// Evaluates nodes for every element that an int8 or int16 value can hold. C++20.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

inline constexpr size_t kInt8Elements = 256;  // of int8: -128 .. 127

/// A constant with one element: the same number for all elements of another tensor.
bool is_number(const compiler::Value& value);

/// Evaluates a function of one int8 or int16 value: its nodes, applied to the numbers that all elements stand for. The
/// portable kernels compute them, as eager does. Where the model quantizes a result between two nodes, it is quantized
/// here.
class OnAllElements {
 public:
  /// `root`: the int8 or int16 value, with one scale.
  explicit OnAllElements(const compiler::Value& root);
  /// Adds a node with one result. Each operand is the root, the result of a node added before, or a single number.
  void add(const compiler::Node& node);
  /// The results of the last node for all elements, least element first, before they are quantized; true is 1. If their
  /// count is not that of the elements, the function is not element-wise. Call it once.
  std::vector<double> results();

 private:
  compiler::Value* numbers_of(const compiler::Value& operand);

  compiler::Graph graph_;
  std::unordered_map<const compiler::Value*, compiler::Value*> values_;  // looked up only
  compiler::Value* last_ = nullptr;
};

}  // namespace wick::cortex_m
