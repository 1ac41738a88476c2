// Boxes of elements: a range of each dimension of a tensor, and where a box comes from.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// Elements [start, start + length) of a dimension. `whole`: all of it, whatever its size.
struct DimRange {
  int64_t start = 0, length = 0;
  bool whole = true;
  friend bool operator==(const DimRange&, const DimRange&) = default;
};
using Box = std::vector<DimRange>;

/// [start, start + length) of a dimension of that size, `whole` if it is all of it.
DimRange range_in(const compiler::Sym& size, int64_t start, int64_t length);
bool is_whole(const Box& box);
/// Sizes of the elements in a box of a tensor of those sizes.
compiler::Sizes box_sizes(const compiler::Sizes& sizes, const Box& box);
/// The smallest box that holds both.
Box hull(const compiler::Sizes& sizes, const Box& a, const Box& b);

/// A slice with step 1 or a select, with known bounds.
struct SliceMatch {
  size_t dim = 0;
  DimRange range;
};
std::optional<SliceMatch> match_slice(const compiler::Node& node);

/// The box of a data-movement operator's operand that holds the elements of a box of the result, in the same order.
/// Empty if there is no such box, and always for roll and index_select.
std::optional<Box> box_before(const compiler::Node& node, const Box& box);

/// The elements of a box, by slices. Returns the value itself if the box is whole.
compiler::Value* slice_box(compiler::Builder& b, compiler::Value* value, const Box& box);
/// Applies a data-movement operator to the box of its operand that it needs for `box` of its result.
compiler::Value* move_box(compiler::Builder& b, const compiler::Node& node, compiler::Value* operand, const Box& box);

}  // namespace wick::xnnpack
