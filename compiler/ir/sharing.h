// In whose memory the result of an operator lies in eager: the arguments and the answer of a row's rule
// (OpFacts::shares).
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// How a tensor lies in its storage in eager. Strides and offset count elements.
struct Placement {
  Ints strides;
  Sym offset;
  bool conjugated = false;  // Tensor.conj(): the storage holds the conjugates
  bool negated = false;     // Tensor.conj().imag: the storage holds the negatives
};

struct SharingCall {
  const Node& node;  // as the exported program has it, not decomposed
  size_t result;
  const std::vector<const Placement*>& operands;  // the placements of node.operands(); null: not known
};

/// The answer. For a result without elements every answer is right.
struct Sharing {
  static constexpr int kNone = -1;
  /// Index in node.operands() of the tensor in whose memory the result may lie.
  int operand = kNone;
  /// Whether it lies there: 0, 1, or an expression over sizes. Nothing: not known.
  std::optional<Sym> when = Sym(0);
};

}  // namespace wick::compiler
