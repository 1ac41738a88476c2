// What a target declares about the dim orders of a node's operands and results. C++20.
#pragma once
#include <functional>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/layout/dim_order.h"

namespace wick::compiler::layout {

/// How the dim orders of a node's operands and of its first result depend on each other. Other results are contiguous.
struct LayoutRule {
  enum class Kind : uint8_t {
    contiguous,  // operands and results
    any,         // operands and result in one dim order, which is free; lower ranks are aligned at the end
    last,        // as any, with dimension `dim` innermost; operands from 1 on contiguous
    fixed,       // operand 0 and the result in `order`, operands from 1 on in `others`
    permute,     // the operand's bytes seen through `perm`
    view,        // the operand's bytes where its dim order allows that, otherwise both are contiguous
    select,      // the operand's dim order without dimension `dim`
    reduce,      // the dimensions of `reduced` are neighbours in the operand
    matmul,      // contiguous; the last two dimensions of operand 1 may be swapped
  } kind = Kind::any;
  size_t dim = 0;
  DimOrder order = {};
  std::vector<DimOrder> others = {};  // those left out, and empty ones: contiguous
  std::vector<int64_t> perm = {};
  std::vector<bool> reduced = {};
  bool keep_dims = true;  // reduce: the reduced dimensions stay, with size 1
};

/// Both questions are asked again and again: the same node, the same answer.
struct LayoutRules {
  std::function<LayoutRule(const Node& node)> of;
  /// The tensors among a node's operands that the rule is about, in argument order. Null: all tensor operands.
  std::function<std::vector<Value*>(const Node& node)> operands = nullptr;
  /// Makes a copy of a value in another dim order by operators of a target: its elements in the new order, its sizes.
  /// Null, or a null result: dim_order_ops._to_dim_order_copy makes it.
  std::function<Value*(Builder& builder, Value* value, const DimOrder& order)> copy = nullptr;
};

/// Answers for a row of a table of rules.
LayoutRule contiguous(const Node& node);
LayoutRule any_dim_order(const Node& node);
/// Of operand 0 and the result: batch, space, channels.
LayoutRule channels_last(const Node& node);
LayoutRule innermost(size_t dim);

}  // namespace wick::compiler::layout
