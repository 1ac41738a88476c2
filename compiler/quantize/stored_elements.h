// Which values hold elements of one quantization. Internal to this folder. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Gives the values of a graph, and of the graphs in its nodes, whose elements nodes quantize or dequantize the facts
/// that these nodes state: each set of values between which elements only move has one quantization, that of a quantize
/// node in it, else of the first dequantize node. None where something computes with elements as integers, where
/// quantize nodes differ, or where elements with several scales move within a tensor. Nodes stay as they are. Returns
/// whether a type has changed.
bool settle_stored_elements(Graph& graph);

}  // namespace wick::compiler
