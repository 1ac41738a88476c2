// Tensors that are represented by others: dimensions that are merged only formally, or a list of parts, one for each
// index.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/type.h"

namespace wick::xnnpack {

/// A factor of a dimension's size: either a dimension of each part, or, if unrolled (of known size), one part per
/// index.
struct Factor {
  compiler::Sym size;
  bool unrolled = false;
  friend bool operator==(const Factor&, const Factor&) = default;
};
/// The size of a dimension is the product of its factors, outermost first. There is at least one.
using Factors = std::vector<Factor>;

size_t num_unrolled(const Factors& dim);
/// One factor that the parts have.
bool is_plain(const Factors& dim);
bool is_one(const Factors& dim);

/// Sizes of such a tensor. Parts are in row-major order of the unrolled factors; a part has the other factors as
/// dimensions, in order.
struct Unrolled {
  std::vector<Factors> dims;

  compiler::Sizes sizes() const;
  compiler::Sizes part_sizes() const;
  /// Sizes of the unrolled factors, in order.
  std::vector<int64_t> counts() const;
  size_t num_parts() const;
  /// Dimensions of the parts, and unrolled factors, that come before those of dimension `dim`.
  size_t num_kept_before(size_t dim) const;
  size_t num_unrolled_before(size_t dim) const;
};

/// Each dimension as it is.
Unrolled plain(const compiler::Sizes& sizes);

/// Where each part of a tensor comes from.
struct PartFrom {
  size_t part = 0;    // of another tensor
  int64_t slice = 0;  // of that part, where it is cut
};

/// The result of a view: the parts unchanged, or each split into slices of `size` along dimension `dim`.
struct View {
  Unrolled shape;
  std::optional<size_t> dim;
  int64_t size = 0;
  std::vector<PartFrom> parts;
};
/// The view to sizes `to`. It assigns factors to new dimensions. If a factor of known size is split, its inner part
/// stays a dimension and its outer part becomes unrolled. Empty if that is not possible or takes more parts.
std::optional<View> viewed(const Unrolled& from, const compiler::Sizes& to, size_t max_parts);

/// The dimension along which the concatenated parts are one part. Empty if there is none.
std::optional<size_t> side_by_side(const Unrolled& shape);
/// Each dimension is one of the only part.
bool is_plain(const Unrolled& shape);
/// There is one part, which lacks only dimensions of size 1.
bool lacks_only_ones(const Unrolled& shape);

/// Neighbouring factors of known size as one, in a shape without unrolled ones.
Unrolled with_known_merged(Unrolled shape);
/// The largest number of factors of unknown size in a dimension.
int64_t num_unknown_merged(const Unrolled& shape);

/// How to compute the index of an unrolled factor from those of another tensor: that of its factor `factor` (-1: 0)
/// plus `offset`.
struct IndexFrom {
  int factor = -1;
  int64_t offset = 0;
};
/// For each part of a tensor with `counts`, the part of another tensor whose factors have the sizes `other`.
std::vector<size_t> parts_behind(const std::vector<int64_t>& counts, const std::vector<int64_t>& other,
                                 const std::vector<IndexFrom>& from);

/// The first `count` of `rank` dimensions of the broadcast result of the operands, aligned at the end. Each dimension
/// has the factors of one operand. Empty if another operand has neither these factors, nor 1, nor a plain dimension of
/// that size.
std::optional<Unrolled> broadcast_of(const std::vector<Unrolled>& operands, size_t rank, size_t count);

/// Which elements of an operand belong to each part of a broadcast result.
struct Broadcast {
  std::vector<size_t> parts;  // of the operand, for each part of the result
  /// Dimensions of these that the result has unrolled. One index of each is needed, from the last dimension on.
  struct Indexed {
    size_t dim;
    std::vector<size_t> indices;  // for each part of the result
  };
  std::vector<Indexed> indexed;
  compiler::Sizes unindexed, sizes;  // of a part, before indices are taken and as it meets the result
};
/// Requires: aligned at the end, each dimension of `operand` is as that of the result, or 1, or plain and of that size.
Broadcast broadcast_to(const Unrolled& operand, const Unrolled& result);

}  // namespace wick::xnnpack
