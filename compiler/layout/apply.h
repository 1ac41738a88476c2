// Writes solved dim orders into the types of a graph. C++20.
#pragma once
#include "compiler/layout/layout_rule.h"

namespace wick::compiler::layout {

/// The dim orders that Wick's portable kernels and stock's take. Pointwise kernels take any dim order if all their
/// tensors have the sizes of the result (stock's broadcast channels-last tensors wrongly). cat takes any dim order,
/// since apply_layouts writes it as a cat of contiguous tensors between permutes. Views and permutes carry their
/// operand's dim order through. All other kernels take contiguous tensors.
LayoutRule portable_rule(const Node& node);

/// Gives each value of the graph, and of the graphs inside, the dim order that assign_layouts chooses. If a node wants
/// another dim order than an operand has, it reads a copy, made by LayoutRules::copy or
/// dim_order_ops._to_dim_order_copy. There is one copy per value and dim order. Constants are permuted instead; scratch
/// memory is laid out as its reader wants it. Inputs, outputs and states keep their types. No later pass may change
/// operands or results. Returns true if anything changed.
bool apply_layouts(Graph& graph, const LayoutRules& rules);

}  // namespace wick::compiler::layout
