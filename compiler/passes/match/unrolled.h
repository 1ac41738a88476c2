// Tensors that are held as others: with dimensions merged only in name, or computed index by index, as a list of parts.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/type.h"

namespace wick::compiler {

/// A factor of a dimension's size: a dimension of each part, or (unrolled; of known size) one part for each index.
struct Factor {
  Sym size;
  bool unrolled = false;
  friend bool operator==(const Factor&, const Factor&) = default;
};
/// The size of a dimension is the product of its factors, of which it has at least one, outermost first.
using Factors = std::vector<Factor>;

size_t num_unrolled(const Factors& dim);
/// One factor that the parts have.
bool is_plain(const Factors& dim);
bool is_one(const Factors& dim);

/// Sizes of such a tensor. Parts are in row-major order of the unrolled factors; a part has the other factors as
/// dimensions, in order.
struct Unrolled {
  std::vector<Factors> dims;

  Sizes sizes() const;
  Sizes part_sizes() const;
  /// Sizes of the unrolled factors, in order.
  std::vector<int64_t> counts() const;
  size_t num_parts() const;
  /// Dimensions of the parts, and unrolled factors, that come before those of dimension `dim`.
  size_t num_kept_before(size_t dim) const;
  size_t num_unrolled_before(size_t dim) const;
};

/// Each dimension as it is.
Unrolled plain(const Sizes& sizes);

/// Where each part of a tensor comes from.
struct PartFrom {
  size_t part = 0;    // of another tensor
  int64_t slice = 0;  // of that part, where it is cut
};

/// What a view makes: parts as they are, or each cut into slices of `size` along dimension `dim`.
struct View {
  Unrolled shape;
  std::optional<size_t> dim;
  int64_t size = 0;
  std::vector<PartFrom> parts;
};
/// The view to sizes `to`: factors are dealt to other dimensions; one of known size that is split stays innermost, what
/// is outside of it becomes unrolled. Nothing where that does not go, or takes more parts.
std::optional<View> viewed(const Unrolled& from, const Sizes& to, size_t max_parts);

/// The dimension along which the parts side by side are one part; nothing if there is none.
std::optional<size_t> side_by_side(const Unrolled& shape);
/// Each dimension is one of the only part.
bool is_plain(const Unrolled& shape);
/// There is one part, which but lacks dimensions of size 1.
bool lacks_only_ones(const Unrolled& shape);

/// How the index of an unrolled factor follows from those of another tensor: that of its factor `factor` (-1: 0) plus
/// `offset`.
struct IndexFrom {
  int factor = -1;
  int64_t offset = 0;
};
/// For each part of a tensor with `counts`, the part of another one, whose factors have `other` as sizes.
std::vector<size_t> parts_behind(const std::vector<int64_t>& counts, const std::vector<int64_t>& other,
                                 const std::vector<IndexFrom>& from);

/// The first `count` of `rank` dimensions of what operands broadcast to, aligned at the end: each as one of the
/// operands has it. Nothing where another has neither that, nor 1, nor a plain dimension of that size.
std::optional<Unrolled> broadcast_of(const std::vector<Unrolled>& operands, size_t rank, size_t count);

/// What the parts of a broadcast result meet of an operand.
struct Broadcast {
  std::vector<size_t> parts;  // of the operand, for each part of the result
  /// Dimensions of these that the result has unrolled: what is needed is one index of each, from the last on.
  struct Cut {
    size_t dim;
    std::vector<size_t> indices;  // for each part of the result
  };
  std::vector<Cut> cuts;
  Sizes uncut, sizes;  // of a part, before cuts and as it meets the result
};
/// Requires: aligned at the end, each dimension of `operand` is as that of the result, or 1, or plain and of that size.
Broadcast broadcast_to(const Unrolled& operand, const Unrolled& result);

}  // namespace wick::compiler
