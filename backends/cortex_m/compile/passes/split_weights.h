// Computes layers whose weights a quantizer left in floats on integers. The contract: split_weights.cpp. C++20.
#pragma once
#include <vector>

#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

/// Whether the node is a linear layer or a convolution whose weights are constant floats.
bool has_float_weights(const compiler::Node& node);

/// Two layers in front of a layer from int16 to int16 with such weights, and their sum, which comes last: nodes that
/// the backend takes. Their result is off by 3 steps of the node's at most, besides what 16 bits leave of the weights.
/// Empty, and the graph is as it was: what is left could add up to more than half of `tolerance`, or the backend does
/// not take a node.
std::vector<compiler::Node*> split_layer(compiler::Graph& graph, compiler::Node& node, double tolerance,
                                         const compiler::PipelineOptions& options);

}  // namespace wick::cortex_m
