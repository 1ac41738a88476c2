// The rule by which a target declares the dim orders of a node's operands and results. C++20.
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
    any,      // operands and result in one dim order, any one; operands of lower rank are aligned at the last dimension
    last,     // as any, with dimension `dim` innermost; operands from 1 on contiguous
    fixed,    // operand 0 and the result in `order`, operands from 1 on in `others`
    permute,  // the operand's bytes seen through `perm`
    view,     // the operand's bytes where its dim order allows that, otherwise both are contiguous
    select,   // the operand's dim order without dimension `dim`
    reduce,   // the dimensions of `reduced` are neighbours in the operand
    matmul,   // contiguous; the last two dimensions of operand 1 may be swapped
  } kind = Kind::any;
  size_t dim = 0;
  DimOrder order = {};
  std::vector<DimOrder> others = {};  // those left out, and empty ones: contiguous
  std::vector<int64_t> perm = {};
  std::vector<bool> reduced = {};
  bool keep_dims = true;  // reduce: the reduced dimensions stay, with size 1
};

/// The functions are called repeatedly and must give the same answer for the same node.
struct LayoutRules {
  std::function<LayoutRule(const Node& node)> of;
  /// The tensors among a node's operands that the rule is about, in argument order. Null: all tensor operands.
  std::function<std::vector<Value*>(const Node& node)> operands = nullptr;
  /// Copies a value into another dim order with operators of the target. The copy has the sizes of the value. Null, or
  /// a null result: dim_order_ops._to_dim_order_copy makes the copy.
  std::function<Value*(Builder& builder, Value* value, const DimOrder& order)> copy = nullptr;
};

/// Rules for the rows of a table.
LayoutRule contiguous(const Node& node);
LayoutRule any_dim_order(const Node& node);
/// Operand 0 and the result lie as batch, space, channels.
LayoutRule channels_last(const Node& node);
LayoutRule innermost(size_t dim);

}  // namespace wick::compiler::layout
