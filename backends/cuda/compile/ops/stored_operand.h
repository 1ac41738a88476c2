// Operands that functions of the vocabulary read by their strides. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"
#include "compiler/support/result.h"

namespace wick::cuda {

/// A tensor in memory: the offset of its first element, and its strides.
struct StoredOperand {
  uint32_t buffer = 0;
  Sym first;
  Sizes strides;

  /// The offset of an element of which the first indices are `at` and the others 0.
  ExpressionPtr offset(ExpressionPool& pool, const Indices& at) const {
    ExpressionPtr out = pool.index(first);
    for (size_t i = 0; i < at.size(); ++i) out = pool.add(out, pool.multiply(at[i], pool.index(strides[i])));
    return out;
  }
};

/// Stores the tensor in memory, unless it is there already or a view of what is there.
inline StoredOperand stored_operand(Lowering& l, const Value* value) {
  l.store(value);
  const Indices zeros(value->rank(), l.pool().index(0));
  const auto load_at = [&](const Indices& at) {
    const ExpressionPtr load = l.element(value, at);
    WICK_CHECK(load->kind == ExpressionKind::load && load->args[0]->kind == ExpressionKind::index);
    return load;
  };
  StoredOperand out{load_at(zeros)->buffer, load_at(zeros)->args[0]->index, {}};
  for (size_t i = 0; i < value->rank(); ++i) {
    Indices next = zeros;
    next[i] = l.pool().index(1);
    out.strides.push_back(load_at(next)->args[0]->index - out.first);
  }
  return out;
}

}  // namespace wick::cuda
