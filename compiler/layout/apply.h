// Writes solved dim orders into the types of a graph. C++20.
#pragma once
#include "compiler/layout/layout_rule.h"

namespace wick::compiler::layout {

/// What Wick's portable kernels and stock's take: pointwise ones any dim order, if all their tensors have the sizes of
/// the result; cat any dim order, since apply_layouts writes it for contiguous tensors seen through permutes; views and
/// permutes that of the bytes they show; all others contiguous tensors. (Stock's broadcast
/// channels-last tensors wrongly.)
LayoutRule portable_rule(const Node& node);

/// Gives each value of the graph, and of the graphs inside, the dim order that assign_layouts chooses. Where a node
/// wants another one than a value has, it reads a copy, one per value and dim order: what LayoutRules::copy makes, or
/// dim_order_ops._to_dim_order_copy.
/// Constants are permuted instead; scratch memory is laid out as its reader wants it. Inputs, outputs and states keep
/// their types. Nothing behind it may change operands or results. True if anything changed.
bool apply_layouts(Graph& graph, const LayoutRules& rules);

}  // namespace wick::compiler::layout
