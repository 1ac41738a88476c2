// Nodes that can compute a part of their result, and what they read for it.
#pragma once
#include <optional>
#include <vector>

#include "backends/xnnpack/compile/passes/regions/boxes.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::xnnpack {

/// A box of a tensor that a node reads.
struct Need {
  size_t index = 0;  // of the argument
  size_t part = 0;   // of a list of tensors
  compiler::Value* value = nullptr;
  Box box;
};

/// The chain that ends in `node`, if it quantizes by rows and nothing else reads its intermediate values.
std::optional<compiler::QuantizationChain> row_chain(const compiler::Node& node);

/// Which dims of its result a node can compute in part. Empty for data-movement operators and for nodes that cannot.
std::optional<std::vector<bool>> narrow_dims(const compiler::Node& node);

/// The boxes that a data-movement operator, or a node of narrow_dims, reads of its operands for `box` of its result.
/// Empty if it can only compute all or nothing.
std::optional<std::vector<Need>> needs_of(const compiler::Node& node, const Box& box);

/// Makes the node again for `box` of its result. `operands[i]` holds `needs[i]`.
compiler::Value* compute_box(compiler::Builder& b, const compiler::Node& node, const Box& box,
                             const std::vector<Need>& needs, const compiler::Values& operands);

}  // namespace wick::xnnpack
