// Moves quantization from nodes into the types of values, and back. C++20.
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
/// These do not fold and stay nodes: parameters that are known only at run time or are invalid, elements that are
/// computed with, and a second reader with different parameters. Requires: elements lie in their range. Ensures: a
/// second run changes nothing. Keeps: every value that is not folded away, bit for bit as its nodes would compute it.
///
/// `takes` asks a backend whether it takes a node. A node then computes on quantized tensors only if the backend takes
/// it that way: with all its operands and results quantized, or else with quantized constants only. wick.convert stays
/// around all other nodes. Quantization chosen at run time folds if the backend takes all readers. If the backend also
/// takes a clamp that is the only reader of a node, the node's result gets the quantization of the clamp's result:
/// quantize(clamp(x)) = clamp(dequantize(quantize(x))), quantized.
using TakesFn = std::function<bool(const Node& node)>;
bool fold_quantization(Graph& graph, const TakesFn& takes = nullptr);

/// Writes the quantization of all types as nodes again. They are of the family that the model used, or of torchao if
/// that family has no operator for the blocks. Nodes in `on_elements` read and give elements as they are stored; if
/// there are none, fold_quantization turns the result into the same graph. Ensures: no type is quantized.
bool unfold_quantization(Graph& graph, const std::unordered_set<const Node*>& on_elements = {});

class Builder;
/// Adds a node that turns real numbers into elements of this type (quantize) or such elements into real numbers
/// (dequantize). Requires: parameters that are known at compile time.
Value* quantize(Builder& b, Value* x, const TensorType& elements);
Value* dequantize(Builder& b, Value* x, const TensorType& elements);

}  // namespace wick::compiler
