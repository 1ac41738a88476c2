// Splits layers with float weights into layers with integer weights. The contract: split_weights.cpp. C++20.
#pragma once
#include <vector>

#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

/// Whether the node is a linear layer or a convolution with constant weights in floats.
bool has_float_weights(const compiler::Node& node);

/// Builds two layers before an int16 layer with such weights, and their sum, which comes last. The result is off by at
/// most 3 steps of the node's result, besides the remaining errors of the weights. Empty, with the graph unchanged:
/// these errors could add up to more than half of `tolerance`, or the backend refuses a node.
std::vector<compiler::Node*> split_layer(compiler::Graph& graph, compiler::Node& node, double tolerance,
                                         const compiler::PipelineOptions& options);

}  // namespace wick::cortex_m
