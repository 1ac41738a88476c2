#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/xnnpack/compile/passes/match/constant_indices.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/passes/match/strided.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::grid_of;
using compiler::Ints;
using compiler::Node;
using compiler::Reals;
using compiler::Result;
using compiler::Rule;
using compiler::Sizes;
using compiler::Strided;
using compiler::Sym;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

// More pieces cost more than reading them as a whole elsewhere.
constexpr size_t kMaxSlices = 32;

// With more pieces than this, an equivalent permute is cheaper.
constexpr size_t kFewPieces = 4;

// The elements of dimension `dim` at these indices if they form a grid, or null.
Value* gathered_grid(Builder& b, Value* x, size_t dim, const std::vector<int64_t>& indices) {
  const auto grid = grid_of(indices);
  const auto plan = grid ? Strided::plan(x->sizes()[dim].value(), *grid) : std::nullopt;
  if (!plan) return nullptr;
  Sizes sizes = x->sizes();
  sizes[dim] = static_cast<int64_t>(indices.size());
  return b.reshape(plan->build(b, x, dim), std::move(sizes));
}

// The elements of dimension `dim` at these indices. Null if there are too many pieces and no grid.
Value* gathered_slices(Builder& b, Value* x, size_t dim, const std::vector<int64_t>& indices) {
  const std::vector<Piece> pieces = pieces_of(indices);
  if (pieces.empty()) return nullptr;
  Value* grid = pieces.size() > kFewPieces ? gathered_grid(b, x, dim, indices) : nullptr;
  if (grid || pieces.size() > kMaxSlices) return grid;
  const auto at = static_cast<int64_t>(dim);
  Values parts;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const auto same = std::find(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(i), piece);
    const auto earlier = static_cast<size_t>(same - pieces.begin());
    const int64_t end = piece.start + (piece.count - 1) * piece.step + 1;
    parts.push_back(earlier < i ? parts[earlier] : b.slice(x, at, piece.start, end, piece.step));
  }
  return parts.size() == 1 ? parts[0] : b.call("aten.cat", {std::move(parts), at});
}

Value* flip(Builder& b, Node& node) {
  if (!node.is("aten.flip.default") || !is_half_or_single(node.tensor("self"))) return nullptr;
  Value* x = node.tensor("self");
  for (const int64_t listed : node.static_ints("dims")) {
    const auto dim = static_cast<size_t>(wrap_dim(listed, x->rank()));
    const auto size = known_size(*x, dim);
    if (!size) return nullptr;
    std::vector<int64_t> indices(static_cast<size_t>(*size));
    std::iota(indices.rbegin(), indices.rend(), int64_t{0});
    x = gathered_slices(b, x, dim, indices);
    if (!x) return nullptr;
  }
  return x;
}

// The position from which the element at `at`, which may lie outside, comes.
int64_t reflected(int64_t at, int64_t size) { return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at; }
int64_t replicated(int64_t at, int64_t size) { return std::clamp<int64_t>(at, 0, size - 1); }

Value* edge_pad(Builder& b, Node& node) {
  const bool reflects = node.op->name().starts_with("aten.reflection_pad");
  if (!reflects && !node.op->name().starts_with("aten.replication_pad")) return nullptr;
  if (node.op->parsed->find("padding") < 0 || node.results().size() != 1) return nullptr;
  Value* x = node.tensor("self");
  const Ints amounts = node.ints("padding");
  if (!is_half_or_single(x) || node.op->parsed->find("grad_output") >= 0) return nullptr;
  for (size_t i = 0; i + 1 < amounts.size(); i += 2) {
    const size_t dim = x->rank() - 1 - i / 2;
    const auto size = known_size(*x, dim);
    if (!size || !amounts[i].is_const() || !amounts[i + 1].is_const()) return nullptr;
    std::vector<int64_t> indices;
    for (int64_t at = -amounts[i].value(); at < *size + amounts[i + 1].value(); ++at)
      indices.push_back(reflects ? reflected(at, *size) : replicated(at, *size));
    x = gathered_slices(b, x, dim, indices);
    if (!x) return nullptr;
  }
  return x;
}

Value* index_select(Builder& b, Node& node) {
  if (!node.is("aten.index_select.default")) return nullptr;
  Value* x = node.tensor("self");
  if (!is_half_or_single(x) || x->rank() == 0) return nullptr;
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
  const auto size = known_size(*x, dim);
  const auto indices = size ? constant_indices(*node.tensor("index"), *size) : std::nullopt;
  return indices ? gathered_slices(b, x, dim, *indices) : nullptr;
}

// x[:, rows, columns]: adjacent indexed dimensions that span a grid or are read as one.
Value* index(Builder& b, Node& node) {
  if (!node.is("aten.index.Tensor")) return nullptr;
  Value* x = node.tensor("self");
  if (!is_half_or_single(x)) return nullptr;
  const Values& indices = node.arg("indices").as<Values>();
  const std::vector<size_t> dims = indexed_dims(indices);
  if (dims.empty()) return nullptr;
  if (!spans_grid(indices)) {
    const auto flat = flat_indices(*x, indices, dims);
    x = flat ? gathered_slices(b, b.reshape(x, merged_dims(x->sizes(), dims)), dims.front(), *flat) : nullptr;
    return x ? b.reshape(x, node.result()->sizes()) : nullptr;
  }
  for (const size_t dim : dims) {
    const auto size = known_size(*x, dim);
    const auto known = size ? constant_indices(*indices[dim], *size) : std::nullopt;
    x = known ? gathered_slices(b, x, dim, *known) : nullptr;
    if (!x) return nullptr;
  }
  return b.reshape(x, node.result()->sizes());
}

// Strides that canonicalize leaves: more than one copy.
Value* as_strided(Builder& b, Node& node) {
  if (!node.is("aten.as_strided.default")) return nullptr;
  Value* x = node.tensor("self");
  const Sym offset = node.is_none("storage_offset") ? Sym(0) : node.integer("storage_offset");
  const Ints sizes = node.ints("size"), strides = node.ints("stride");
  if (!is_half_or_single(x) || !is_static(x->sizes()) || !is_static(sizes) || !is_static(strides) || !offset.is_const())
    return nullptr;
  const int64_t count = numel(x->sizes()).value();
  const auto plan = Strided::plan(count, {node.static_ints("size"), node.static_ints("stride"), offset.value()});
  return plan ? plan->build(b, b.reshape(x, {count}), 0) : nullptr;
}

bool all_known(const Value& x) {
  for (size_t dim = 0; dim < x.rank(); ++dim) {
    if (!known_size(x, dim)) return false;
  }
  return true;
}

// Every (columns + 1)-th element of the matrix.
Value* diagonal(Builder& b, Node& node) {
  if (!node.is("aten.diagonal.default")) return nullptr;
  Value* x = node.tensor("self");
  if (!is_half_or_single(x) || !all_known(*x) || !all_known(*node.result())) return nullptr;
  const auto rank = static_cast<int64_t>(x->rank());
  const int64_t rows = wrap_dim(node.static_integer("dim1"), x->rank());
  const int64_t columns = wrap_dim(node.static_integer("dim2"), x->rank());
  std::vector<int64_t> order;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim != rows && dim != columns) order.push_back(dim);
  }
  order.push_back(rows);
  order.push_back(columns);
  x = b.permute(x, order);
  Sizes flat(x->sizes().begin(), x->sizes().end() - 2);
  const int64_t width = x->sizes().back().value(), offset = node.static_integer("offset");
  flat.push_back(x->sizes()[x->rank() - 2] * width);
  const int64_t start = offset >= 0 ? offset : -offset * width;
  const int64_t last = start + (node.result()->sizes().back().value() - 1) * (width + 1);
  return b.slice(b.reshape(x, flat), rank - 2, start, last + 1, width + 1);
}

// Concatenated windows: by the positions within a window, if these are fewer than the windows.
Value* unfold(Builder& b, Node& node) {
  if (!node.is("aten.unfold.default")) return nullptr;
  Value* x = node.tensor("self");
  if (!is_half_or_single(x) || x->rank() == 0 || !all_known(*x) || !all_known(*node.result())) return nullptr;
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dimension"), x->rank()));
  const int64_t size = node.static_integer("size"), step = node.static_integer("step");
  const int64_t windows = node.result()->sizes()[dim].value();
  const bool by_place = size < windows && size != step;
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size * windows; ++i)
    indices.push_back(by_place ? i / windows + i % windows * step : i / size * step + i % size);
  x = gathered_slices(b, x, dim, indices);
  if (!x) return nullptr;
  Sizes split = x->sizes();
  split[dim] = by_place ? size : windows;
  split.insert(split.begin() + static_cast<ptrdiff_t>(dim) + 1, by_place ? windows : size);
  std::vector<int64_t> order;
  const auto place = static_cast<int64_t>(by_place ? dim : dim + 1);
  for (int64_t i = 0; i < static_cast<int64_t>(split.size()); ++i) {
    if (i != place) order.push_back(i);
  }
  order.push_back(place);
  return b.permute(b.reshape(x, split), order);
}

// Factors of the dimensions from the third on, as far as they are given.
std::optional<double> resize_factor(const Node& node, size_t spatial, size_t i) {
  static const char* const kNames[] = {"scales_d", "scales_h", "scales_w"};
  if (node.op->parsed->find("scale_factors") < 0) {
    const char* name = kNames[3 - spatial + i];
    return node.is_none(name) ? std::nullopt : std::optional<double>(node.real(name));
  }
  const Arg& factors = node.arg("scale_factors");
  return factors.is<Reals>() ? std::optional<double>(factors.as<Reals>()[i]) : std::nullopt;
}

// The input position that eager reads for each of `out` elements. Eager multiplies in float.
std::vector<int64_t> nearest(int64_t in, int64_t out, std::optional<double> factor, bool centered) {
  const float step = factor ? static_cast<float>(1.0 / *factor) : static_cast<float>(in) / static_cast<float>(out);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < out; ++i) {
    const auto at = centered ? static_cast<float>((static_cast<double>(i) + 0.5) * static_cast<double>(step))
                             : static_cast<float>(i) * step;
    indices.push_back(std::min(static_cast<int64_t>(std::floor(at)), in - 1));
  }
  return indices;
}

bool is_whole_dim(const Value& x, const Value& out) {
  for (size_t i = 2; i < x.rank(); ++i) {
    if (out.sizes()[i].value() % x.sizes()[i].value() != 0) return false;
  }
  return true;
}

// Backends handle integer factors themselves.
Value* upsample_nearest(Builder& b, Node& node) {
  const bool centered = node.op->name().starts_with("aten._upsample_nearest_exact");
  if (!centered && !node.op->name().starts_with("aten.upsample_nearest")) return nullptr;
  if (node.op->parsed->find("grad_output") >= 0) return nullptr;
  Value* x = node.arg(size_t{0}).as<Value*>();
  const Value& result = *node.result();
  const size_t spatial = x->rank() - 2;
  if (!is_half_or_single(x) || spatial < 2) return nullptr;
  for (size_t dim = 2; dim < x->rank(); ++dim) {
    if (!known_size(*x, dim) || !result.sizes()[dim].is_const()) return nullptr;
  }
  if (is_whole_dim(*x, result) && node.op->name().ends_with(".vec")) return nullptr;
  for (size_t i = 0; i < spatial && x; ++i) {
    const int64_t in = *known_size(*x, i + 2), out = result.sizes()[i + 2].value();
    const auto factor = resize_factor(node, spatial, i);
    if (in != out || factor) x = gathered_slices(b, x, i + 2, nearest(in, out, factor, centered));
  }
  return x;
}

// Replacing one row is replacing a slice of length 1.
Value* select_scatter(Builder& b, Node& node) {
  if (!node.is("aten.select_scatter.default") || !is_half_or_single(node.tensor("self"))) return nullptr;
  Value* x = node.tensor("self");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  const auto size = known_size(*x, static_cast<size_t>(dim));
  const Sym index = node.integer("index");
  if (!size || !index.is_const()) return nullptr;
  const int64_t at = index.value() < 0 ? index.value() + *size : index.value();
  if (at < 0 || at >= *size) return nullptr;
  return b.call("aten.slice_scatter", {x, b.unsqueeze(node.tensor("src"), dim), dim, at, at + 1, 1});
}

constexpr Rule kGatherRules[] = {as_strided,     diagonal, edge_pad,        flip, index, index_select,
                                 select_scatter, unfold,   upsample_nearest};

}  // namespace

// Replaces reads at known positions by concatenated slices, for backends that have no other indexing.
//   before: y = reflection_pad1d(x, [1, 0])        after: y = cat(x[1:2], x[0:n])
// Also handles replication_pad, flip, select_scatter, unfold, diagonal, nearest resize by fractional factors,
// as_strided, and index_select and index with constants. Applies to f32 and f16, with up to 32 pieces along a
// dimension. Positions at regular distances on several axes (reordered windows, interleaved rows) become views and a
// permute.
// Requires: constants are folded.  Keeps: every value.
Result<Changed> gather_by_slices(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kGatherRules)); });
}

}  // namespace wick::xnnpack
