// Finds images whose channels are innermost in memory. C++20.
#pragma once
#include <set>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// Whether a convolution is faster if its input's channels are innermost: asynchronous copies then bring, for each tap,
/// the channels of all pixels of a tile.
bool gains_from_channels_last(const compiler::Node& convolution);

/// The images, of rank 3 to 5, that have dimension 1 innermost: operands and results of such convolutions, and the
/// images that pools and pointwise operators connect to these. Inputs and constants among them keep the layout that
/// they are given in. Only values of the graph itself, not of graphs inside its nodes.
std::set<const compiler::Value*> find_channels_last(const compiler::Graph& graph);

/// The order of an image's dimensions in memory, from outermost to innermost: 0, 2 .., 1.
std::vector<int64_t> channels_last_order(size_t rank);

}  // namespace wick::cuda
