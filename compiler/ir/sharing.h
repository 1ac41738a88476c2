// In whose memory the result of an operator lies in eager: what the rule in its row (OpFacts::shares) is asked, and
// what it answers.
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
  const std::vector<const Placement*>& operands;  // of node.operands(); null: not known
};

/// A result without elements may be said to lie anywhere.
struct Sharing {
  static constexpr int kNone = -1;
  /// In node.operands(): the one whose memory it may be.
  int operand = kNone;
  /// A truth value, constant or depending on sizes: does it lie there? Nothing: that is not known.
  std::optional<Sym> when = Sym(0);
};

}  // namespace wick::compiler
