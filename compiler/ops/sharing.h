// Rules that tell in whose memory the results of operators lie in eager (OpFacts::shares). They are held against
// eager's own answers by tests/sharing/sharing_test.cpp. C++20.
#pragma once
#include "compiler/ir/sharing.h"

namespace wick::compiler::shares {

/// A truth value: does a tensor of elements lie densely, its dimensions in this order, the outermost first?
Sym lies_in_order(const Sizes& sizes, const Ints& strides, const std::vector<int64_t>& order);

/// The memory of the first tensor, always: views, and operators that return their operand.
Sharing always(const SharingCall& call);
/// Result i lies in the memory of tensor i.
Sharing each(const SharingCall& call);
/// Result i lies in the memory of tensor i, apart from result 0, which is new.
Sharing each_but_first(const SharingCall& call);
/// The operand itself if it lies row by row, or in the `memory_format` that is asked for; else a copy.
Sharing if_contiguous(const SharingCall& call);
/// A view if strides over the same memory can express the result's sizes; else a copy.
Sharing if_viewable(const SharingCall& call);
/// The operand itself unless the dtype or the `memory_format` changes or `copy` is true.
Sharing unless_converted(const SharingCall& call);
/// The operand itself, but a copy of a tensor that has yet to be conjugated.
Sharing unless_conjugated(const SharingCall& call);
/// The operand itself, but a copy of a tensor that has yet to be negated.
Sharing unless_negated(const SharingCall& call);
/// A view, but of a copy of a tensor that has yet to be conjugated or negated.
Sharing unless_conjugated_or_negated(const SharingCall& call);
/// The operand itself if it holds real numbers.
Sharing if_real(const SharingCall& call);
/// The operand itself if nothing is dropped: p = 0, or inference.
Sharing unless_dropping(const SharingCall& call);
/// The operand itself if the sizes stay.
Sharing if_same_sizes(const SharingCall& call);
/// The only tensor of the list.
Sharing if_alone(const SharingCall& call);

}  // namespace wick::compiler::shares
