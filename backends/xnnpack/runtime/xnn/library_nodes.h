// Payload nodes and values as definitions of the library's graph: one table row per node type. C++17.
#pragma once
#include <xnnpack.h>

#include <vector>

#include "backends/xnnpack/payload/payload.h"

namespace wick::xnnpack {

/// The library's number; xnn_datatype_invalid for those that it lacks.
xnn_datatype library_type(DataType type);

/// `ids` maps payload values to the graph's. The payload was checked; returns the library's status if it refuses more.
xnn_status define_node(xnn_subgraph_t graph, const PayloadNode& node, const std::vector<uint32_t>& ids);

/// Does the library make two operators of the node, the second a clamp?
bool adds_clamp(const PayloadNode& node);

/// "unsupported parameter".
const char* status_text(xnn_status status);

}  // namespace wick::xnnpack
