// Which values hold elements of one quantization. Internal to this folder. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Finds the values of a graph, and of the graphs in its nodes, whose elements nodes quantize or dequantize, and gives
/// their types the quantization that these nodes state. A set of values between which elements only move has one
/// quantization: that of a quantize node in it, else of the first dequantize node. It has none if something computes
/// with elements as integers, if quantize nodes differ, or if elements with several scales move within a tensor. Nodes
/// stay as they are. Returns whether a type has changed.
bool settle_stored_elements(Graph& graph);

}  // namespace wick::compiler
