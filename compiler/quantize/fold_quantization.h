// Turns nodes that quantize and dequantize into facts of types, and back into nodes. C++20.
#pragma once
#include <functional>
#include <unordered_set>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Moves what quantize and dequantize nodes state into the types of the values that they produce and read.
///   before: y = linear(dequantize(q, s, z), dequantize(w, t), b); p = quantize(y, u, v)
///   after:  p: i8 q(scale=u, zero=v) = linear(q: i8 q(scale=s, zero=z), w: i8 q(scale=t), b)
///   before: s, z = choose_qparams(x); d = dequantize(quantize(x, s, z), s, z)
///   after:  d: i8 q(at_run_time=..) = wick.convert(x)
/// A dequantize folds into every node that reads it. A quantize folds into the node that computes the numbers, if
/// nothing else reads them. What remains of a converting node becomes wick.convert: at the inputs and outputs of the
/// graph, before and after control flow, and where numbers have other readers. Elements keep their quantization through
/// views, lists, control flow and state if one scale holds for the tensor. Through control flow and state they keep any
/// quantization.
///
/// What does not fold stays a node: parameters that are known only at run time or are invalid, elements that are
/// computed with, and a second reader with different parameters. Requires: elements lie in their range. Ensures: a
/// second run changes nothing. Keeps: every value that is not folded away, bit for bit as its nodes would compute it.
///
/// With `takes`, a backend's question, a node computes on quantized tensors only if the backend takes it so: with all
/// its operands and results quantized, else with constants only. wick.convert stays around the others. What is chosen
/// at run time folds if all readers are taken. If the backend also takes a clamp that alone reads a node, the node's
/// result is quantized as that of the clamp: quantize(clamp(x)) = clamp(dequantize(quantize(x))), quantized.
using TakesFn = std::function<bool(const Node& node)>;
bool fold_quantization(Graph& graph, const TakesFn& takes = nullptr);

/// Writes the facts of all types as nodes again: of the family they come from, if it has an operator for the blocks,
/// else of torchao. Nodes in `on_elements` read and give elements as they are stored. fold_quantization turns the
/// result into the same graph if there are none. Ensures: no type is quantized.
bool unfold_quantization(Graph& graph, const std::unordered_set<const Node*>& on_elements = {});

class Builder;
/// A node that makes elements of this type of real numbers, or real numbers of such elements. Requires: parameters that
/// are known at compile time.
Value* quantize(Builder& b, Value* x, const TensorType& elements);
Value* dequantize(Builder& b, Value* x, const TensorType& elements);

}  // namespace wick::compiler
