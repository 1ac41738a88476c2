// The table of node types that writer, reader and check of the payload share. Not for other folders.
#pragma once
#include "backends/xnnpack/payload/payload.h"

namespace wick::xnnpack {

/// Tables of payload.fbs that nodes are written as.
enum class NodeLayout : uint8_t {
  none,  // cannot be written or read
  unary,
  binary,
  fully_connected,
  convolution,
  pooling,
  arg_max_pooling,
  transpose,
  reshape,
  slice,
  constant_pad,
  resize,
  sloped,
  concatenate,
};

class NodeCheck;

struct NodeRow {
  const char* name;
  uint8_t num_inputs;
  NodeLayout layout;
  uint32_t flags;  // flags that the type may have
  Error (*check)(NodeCheck& node);
};

/// Requires: type below kNumNodeTypes.
const NodeRow& row_of(NodeType type);

/// Has this node a bias that may be absent, as its third input?
bool has_optional_bias(NodeType type);

/// Every value, constant and node type that is named exists; ranks, regions of constants and externals make sense.
Error check_indices(const Payload& payload, ErrorText* text);

template <typename... Parts>
Error refuse(ErrorText* text, Parts... parts) {
  if (text) text->append(parts..., "");
  return Error::DelegateInvalidCompatibility;
}

}  // namespace wick::xnnpack
