// Nodes that quantize and dequantize become facts of types, and nodes again. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Moves what quantize and dequantize nodes say into the types of the values that they give and read.
///   before: y = linear(dequantize(q, s, z), dequantize(w, t), b); p = quantize(y, u, v)
///   after:  p: i8 q(scale=u, zero=v) = linear(q: i8 q(scale=s, zero=z), w: i8 q(scale=t), b)
///   before: s, z = choose_qparams(x); d = dequantize(quantize(x, s, z), s, z)
///   after:  d: i8 q(at_run_time=..) = wick.convert(x)
/// A dequantize goes into every node that reads it, a quantize into the node that computes the numbers, if nothing else
/// reads these. What is left of a converting node becomes wick.convert: at the inputs and outputs of the graph, before
/// and after control flow, where numbers have other readers. Elements keep their quantization through views, lists,
/// control flow and state if one scale holds for the tensor; through control flow and state with any.
///
/// What does not fold stays: parameters that only run time knows or that make no sense, elements with which something
/// computes, a second reader with other parameters. Requires: elements lie in their range. Ensures: a second run
/// changes nothing. Keeps: every value that is not folded away, bit for bit as its nodes would compute it.
bool fold_quantization(Graph& graph);

/// Writes the facts of all types as nodes, of the family they come from where it has an operator for the blocks, else
/// of torchao. fold_quantization makes the same graph of the result. Ensures: no type is quantized.
bool unfold_quantization(Graph& graph);

}  // namespace wick::compiler
