// Layer norm and RMS norm over the last dimension.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::xnnpack {

struct Norm {
  compiler::Node* node = nullptr;
  compiler::Value *input = nullptr, *weight = nullptr, *bias = nullptr;  // weight and bias may be null
  size_t channels = 0;
  bool centres = false;  // layer norm: subtracts the mean
};

/// A norm of which only result 0 is read.
inline std::optional<Norm> match_norm(compiler::Node& node) {
  const bool layer = node.is("aten.native_layer_norm.default");
  if (!layer && !node.is("aten.rms_norm.default")) return std::nullopt;
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() != 0) return std::nullopt;
  }
  const compiler::Ints shape = node.ints("normalized_shape");
  if (shape.size() != 1 || !shape[0].is_const() || shape[0].value() <= 0) return std::nullopt;
  return Norm{&node,
              node.tensor("input"),
              node.optional_tensor("weight"),
              layer ? node.optional_tensor("bias") : nullptr,
              static_cast<size_t>(shape[0].value()),
              layer};
}

}  // namespace wick::xnnpack
