// Checks of a node's tensors that backends share. C++20.
#pragma once
#include <cstdint>
#include <string>

#include "compiler/ir/graph.h"
#include "wick/span.h"

namespace wick::compiler {

/// How many sizes of a tensor may be known only at run time.
enum class Unknown : uint8_t { none, one, any };

struct TensorLimits {
  Span<const DType> dtypes;
  size_t max_rank = 0;
  Unknown unknown = Unknown::none;
  bool of_numbers = false;  // `dtypes` are those of the numbers that quantized tensors represent
};

/// Why no tensor of these sizes is taken, or "". Refuses empty tensors, and tensors of 2^31 elements or more at upper
/// bounds. Sizes known only at run time need an upper bound and must not be 0: a payload serves all sizes that the
/// program accepts. Bounds are those of the SymScope of the thread.
std::string refuse_sizes(const Value& value, const TensorLimits& limits);

/// Why the node's tensors are not taken, or "": dtypes, sizes, dim orders (contiguous only, but for constants), numbers
/// computed at run time, control flow, results beyond the first that are read. Operands and result have one dtype.
std::string refuse_tensors(const Node& node, const TensorLimits& limits);

}  // namespace wick::compiler
