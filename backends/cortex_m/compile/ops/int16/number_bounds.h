// How large the numbers can be that a node computes of quantized ones. C++20.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

struct Bound {
  double largest = 0;        // in size
  bool is_loose = false;     // numbers that a model computes are mostly far smaller
  bool keeps_steps = false;  // numbers of operands are added or chosen, not scaled
};

/// Of a result, the only one that is read. Operands are elements (refuse_elements) or constants. Nothing: it is
/// infinite, or the operator is none of those that are known here.
std::optional<Bound> bound_of(const compiler::Node& node, const compiler::Value& result);

}  // namespace wick::cortex_m
