// Dim orders: in which order the dimensions of a tensor lie in memory. The bounds of sizes known only at run time are
// those of the thread's SymScope.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/type.h"

namespace wick::compiler::layout {

/// Position i, outermost first, holds dimension order[i].
using DimOrder = std::vector<uint8_t>;

/// 0, 1, 2 ..
DimOrder plain_order(size_t rank);
/// 0, 2 .., 1: batch, space, channels. rank >= 2.
DimOrder channels_last_order(size_t rank);
/// `order` with dimension `dim` moved innermost.
DimOrder made_last(const DimOrder& order, size_t dim);
/// The plain order with its last two dimensions swapped. rank >= 2.
DimOrder swapped_order(size_t rank);
/// True if a tensor of these sizes has the same bytes in both dim orders: they differ in dimensions of size 1 only.
bool same_bytes(const Sizes& dims, const DimOrder& a, const DimOrder& b);
/// Sizes from outermost to innermost.
Sizes physical(const Sizes& dims, const DimOrder& order);
/// The order in which `permute(x, perm)` has the bytes of an x in `order`.
DimOrder permuted(const DimOrder& order, const std::vector<int64_t>& perm);
/// The order of the operand for which permuted(order, perm) is `result`.
DimOrder before_permute(const DimOrder& result, const std::vector<int64_t>& perm);
/// The order in which a view of sizes `to` has the bytes of a tensor of sizes `from` in `order`. Nothing if the view
/// splits or merges dimensions that do not lie side by side.
std::optional<DimOrder> through_view(const Sizes& from, const DimOrder& order, const Sizes& to);
/// `order` of a tensor of lower rank as one of rank `rank`, whose leading dimensions have size 1.
DimOrder with_leading_ones(const DimOrder& order, size_t rank);
/// `order` of rank `rank` restricted to its last `low` dimensions.
DimOrder without_leading(const DimOrder& order, size_t low);
/// `order` without dimension `dim`.
DimOrder without_dim(const DimOrder& order, size_t dim);
/// `order` of a tensor that gets a new dimension of size 1 at `dim`.
DimOrder with_dim(const DimOrder& order, size_t dim);
/// The position in memory where the dimensions `dims` (set = true) begin, if they are adjacent apart from those of size
/// 1.
std::optional<size_t> adjacent_run(const Sizes& sizes, const DimOrder& order, const std::vector<bool>& dims);

/// Whether the dimensions `dims` can be merged into one, and also those before them and those after them. False if more
/// than one size known only at run time would remain, because the library infers only one.
bool can_merge(const Sizes& sizes, const std::vector<bool>& dims);
/// `order` with the dimensions `dims` before the last other one, or after it if that one has a known size.
DimOrder apart(const Sizes& sizes, const DimOrder& order, const std::vector<bool>& dims);

Sym product(const Sizes& dims);
/// The sizes other than 1.
Sizes without_ones(const Sizes& dims);
/// The size, or its upper bound.
int64_t bound(const Sym& size);
/// Elements of a tensor at upper bounds; saturates.
int64_t elements(const Sizes& dims);
/// How many sizes are known only at run time.
size_t num_symbolic(const Sizes& dims);

}  // namespace wick::compiler::layout
