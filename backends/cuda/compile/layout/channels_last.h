// Images whose channels are innermost in memory. C++20.
#pragma once
#include <set>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// Whether a convolution gains from an input whose channels lie side by side: matrix tiles take them by asynchronous
/// copies, for all pixels of a tap at once.
bool gains_from_channels_last(const compiler::Node& convolution);

/// The values between such convolutions, of rank 3 to 5 with dimension 1 innermost, and those that pools and pointwise
/// operators connect to them. Inputs and constants among them lie as they are given. Of the graph's own nodes, not of
/// graphs inside them.
std::set<const compiler::Value*> find_channels_last(const compiler::Graph& graph);

/// The dimensions of a tensor from the outermost to the innermost one in memory: 0, 2 .., 1.
std::vector<int64_t> channels_last_order(size_t rank);

}  // namespace wick::cuda
