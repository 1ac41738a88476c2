// Quantization at run time, as exporters write it: three nodes around one tensor. C++20.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// (scale, zero) = choose_qparams(x); q = quantize(x, scale, zero); dq = dequantize(q, scale, zero)
struct QuantizationChain {
  Node *choose = nullptr, *quantize = nullptr, *dequantize = nullptr;
  Value* x = nullptr;
  bool symmetric = false;  // the zero points are 0
  bool by_rows = false;    // each row along the last dimension has parameters of its own; else the tensor has one pair
};

/// The chain that `node` is part of, to int8; nothing for other nodes.
std::optional<QuantizationChain> quantization_chain(const Node& node);

/// What no scale that `choose` chooses is below.
double least_scale(const Node& choose);

}  // namespace wick::compiler
