// Rules that say in whose memory the results of operators lie in eager (OpFacts::shares).
// tests/sharing/sharing_test.cpp compares them with eager. C++20.
#pragma once
#include "compiler/ir/sharing.h"

namespace wick::compiler::shares {

/// 0, 1 or an expression: whether the tensor is dense, with its dimensions in `order`, the outermost first.
Sym lies_in_order(const Sizes& sizes, const Ints& strides, const std::vector<int64_t>& order);

/// Always the memory of the first tensor: views, and operators that return their operand.
Sharing always(const SharingCall& call);
/// Result i lies in the memory of tensor i.
Sharing each(const SharingCall& call);
/// Result i lies in the memory of tensor i, apart from result 0, which is new.
Sharing each_but_first(const SharingCall& call);
/// The operand itself if it is in row-major order, or in the `memory_format` that is asked for; else a copy.
Sharing if_contiguous(const SharingCall& call);
/// A view if strides over the same memory can express the result's sizes; else a copy.
Sharing if_viewable(const SharingCall& call);
/// The operand itself unless the dtype or the `memory_format` changes or `copy` is true.
Sharing unless_converted(const SharingCall& call);
/// The operand itself; a copy if its storage holds the conjugates.
Sharing unless_conjugated(const SharingCall& call);
/// The operand itself; a copy if its storage holds the negatives.
Sharing unless_negated(const SharingCall& call);
/// A view; a view of a copy if the storage holds the conjugates or the negatives.
Sharing unless_conjugated_or_negated(const SharingCall& call);
/// The operand itself if it holds real numbers.
Sharing if_real(const SharingCall& call);
/// The operand itself if nothing is dropped: p = 0, or inference.
Sharing unless_dropping(const SharingCall& call);
/// The operand itself if the sizes do not change.
Sharing if_same_sizes(const SharingCall& call);
/// The only tensor of a list of one.
Sharing if_alone(const SharingCall& call);

}  // namespace wick::compiler::shares
