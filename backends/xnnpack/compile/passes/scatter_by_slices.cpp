#include <algorithm>

#include "backends/xnnpack/compile/passes/match/constant_indices.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Ints;
using compiler::Node;
using compiler::Result;
using compiler::Rule;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;
using compiler::ZeroSigns;

namespace {

// More parts cost more than writing them as a whole elsewhere.
constexpr size_t kMaxScatterParts = 32;
constexpr size_t kMaxSummands = 16;

// Rows [first, last) of dimension `dim`; null: none.
Value* rows_between(Builder& b, Value* x, size_t dim, int64_t first, int64_t last) {
  return first < last ? b.slice(x, static_cast<int64_t>(dim), first, last) : nullptr;
}

// Null parts are left out.
Value* joined_parts(Builder& b, Values parts, size_t dim) {
  std::erase(parts, nullptr);
  return parts.size() == 1 ? parts[0] : b.call("aten.cat", {std::move(parts), static_cast<int64_t>(dim)});
}

Sizes resized_as(const Value* x, size_t dim, Sizes sizes) {
  Sizes out = x->sizes();
  out.erase(out.begin() + static_cast<ptrdiff_t>(dim));
  out.insert(out.begin() + static_cast<ptrdiff_t>(dim), sizes.begin(), sizes.end());
  return out;
}

// --- every step-th row replaced ---

// Replaces rows start, start + step .. of dimension `dim`, which are known to lie inside, by those of `source`. The
// rows are seen in groups of `step`, each of which has one replaced row, at `place`. The last group may be short.
Value* with_rows(Builder& b, Value* x, Value* source, size_t dim, int64_t start, int64_t step) {
  const int64_t size = x->sizes()[dim].value(), count = source->sizes()[dim].value();
  const int64_t place = start % step, first = start - place, groups = std::min(count, (size - first) / step);
  const int64_t end = first + groups * step;
  Values parts{rows_between(b, x, dim, 0, first)};
  if (groups > 0) {
    Value* rows = b.reshape(rows_between(b, x, dim, first, end), resized_as(x, dim, {groups, step}));
    Value* placed = rows_between(b, source, dim, 0, groups);
    placed = b.reshape(placed, resized_as(placed, dim, {groups, 1}));
    Value* mixed = joined_parts(
        b, {rows_between(b, rows, dim + 1, 0, place), placed, rows_between(b, rows, dim + 1, place + 1, step)},
        dim + 1);
    parts.push_back(b.reshape(mixed, resized_as(x, dim, {groups * step})));
  }
  if (groups < count) {
    parts.push_back(rows_between(b, x, dim, end, end + place));
    parts.push_back(rows_between(b, source, dim, groups, count));
  }
  parts.push_back(rows_between(b, x, dim, groups < count ? end + place + 1 : end, size));
  return joined_parts(b, std::move(parts), dim);
}

Value* slice_scatter(Builder& b, Node& node) {
  if (!node.is("aten.slice_scatter.default")) return nullptr;
  Value *x = node.tensor("self"), *source = node.tensor("src");
  const Sym step = node.integer("step"), start = node.is_none("start") ? Sym(0) : node.integer("start");
  if (!is_half_or_single(x) || source->dtype() != x->dtype() || !step.is_const() || step.is(1) || !start.is_const())
    return nullptr;
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
  const auto size = known_size(*x, dim), count = known_size(*source, dim);
  if (!size || !count) return nullptr;
  const int64_t first = start.value() < 0 ? std::max<int64_t>(start.value() + *size, 0) : start.value();
  return with_rows(b, x, source, dim, first, step.value());
}

// --- rows at constant indices ---

// A write of index_put along one dimension: `values` to the rows at `indices` of `x`.
struct Put {
  Value *x, *values;
  size_t dim;
  std::vector<int64_t> indices;
};

// Replaces rows. If a row is written twice, the last write counts.
Value* replaced(Builder& b, const Put& put) {
  const auto at = static_cast<int64_t>(put.dim);
  const std::vector<Piece> pieces = pieces_of(put.indices);
  if (pieces.size() == 1)
    return pieces[0].step == 1 ? b.call("aten.slice_scatter",
                                        {put.x, put.values, at, pieces[0].start, pieces[0].start + pieces[0].count, 1})
                               : with_rows(b, put.x, put.values, put.dim, pieces[0].start, pieces[0].step);
  std::vector<int64_t> source(static_cast<size_t>(put.x->sizes()[put.dim].value()), -1);
  for (size_t i = 0; i < put.indices.size(); ++i) source[static_cast<size_t>(put.indices[i])] = static_cast<int64_t>(i);
  Values parts;
  for (size_t i = 0, end = 0; i < source.size(); i = end) {
    const bool kept = source[i] < 0;
    for (end = i + 1; end < source.size(); ++end) {
      if (kept ? source[end] >= 0 : source[end] != source[end - 1] + 1) break;
    }
    if (parts.size() == kMaxScatterParts) return nullptr;
    const auto from = kept ? static_cast<int64_t>(i) : source[i];
    parts.push_back(b.slice(kept ? put.x : put.values, at, from, from + static_cast<int64_t>(end - i)));
  }
  return joined_parts(b, std::move(parts), put.dim);
}

// Interleaved sequences of `count` rows: sequence j is written at start + j, start + j + step, .. and comes from the
// rows of the values that begin at first[j].
struct Stretch {
  int64_t start, step, count;
  std::vector<int64_t> first;  // rows of the values, by the place after `start`
};

// The fewest stretches, greedily; none if they are too many.
std::vector<Stretch> stretches_of(const std::vector<int64_t>& indices) {
  std::vector<Stretch> out;
  int64_t row = 0;
  for (const Piece& piece : pieces_of(indices)) {
    const bool joins = !out.empty() && out.back().step == piece.step && out.back().count == piece.count &&
                       piece.start == out.back().start + static_cast<int64_t>(out.back().first.size()) &&
                       static_cast<int64_t>(out.back().first.size()) < piece.step;
    if (!joins) out.push_back({piece.start, piece.step, piece.count, {}});
    out.back().first.push_back(row);
    row += piece.count;
    if (out.size() > kMaxSummands) return {};
  }
  return out;
}

// The rows of a stretch at their positions among `size` rows, with zeros around them.
Value* placed(Builder& b, Value* values, size_t dim, const Stretch& stretch, int64_t size) {
  const auto at = static_cast<int64_t>(dim);
  Values columns;
  for (const int64_t row : stretch.first) {
    Value* part = b.slice(values, at, row, row + stretch.count);
    columns.push_back(b.reshape(part, resized_as(part, dim, {stretch.count, 1})));
  }
  Value* rows = joined_parts(b, std::move(columns), dim + 1);
  const auto width = static_cast<int64_t>(stretch.first.size());
  const auto padded = [&](Value* x, size_t along, int64_t before, int64_t after) {
    if (before == 0 && after == 0) return x;
    Ints amounts(2 * (x->rank() - along), Sym(0));
    amounts[amounts.size() - 2] = before;
    amounts[amounts.size() - 1] = after;
    return b.call("aten.constant_pad_nd", {x, amounts, 0.0});
  };
  const int64_t step = stretch.count == 1 ? width : stretch.step, length = stretch.count * step;
  rows = padded(rows, dim + 1, 0, step - width);
  rows = b.reshape(rows, resized_as(values, dim, {length}));
  // The padding of the last step may reach beyond the end.
  const int64_t kept = std::min(length, size - stretch.start);
  return padded(b.slice(rows, at, 0, kept), dim, stretch.start, size - stretch.start - kept);
}

bool is_zero_constant(const Value* x) {
  if (x->producer && x->producer->is("aten.full.default")) {
    const auto number = number_of(x->producer->arg("fill_value"), x->dtype());
    return number && number->is(0) && !number->is_negative_zero();
  }
  const auto element = uniform_element(x);
  return element && element->is(0) && !element->is_negative_zero();
}

// `size` rows: the sums of the values that go to each, or null.
Value* summed(Builder& b, Value* values, size_t dim, const std::vector<int64_t>& indices, int64_t size) {
  Value* sum = nullptr;
  for (const Stretch& stretch : stretches_of(indices)) {
    Value* part = placed(b, values, dim, stretch, size);
    sum = sum ? b.call("aten.add.Tensor", {sum, part}) : part;
  }
  return sum;
}

// The values with the sizes of what they are written to: x with `count` elements in the place of `dims`.
Value* expanded_values(Builder& b, const Value* x, Value* values, const std::vector<size_t>& dims, const Sizes& shape) {
  Sizes sizes(x->sizes().begin(), x->sizes().begin() + static_cast<ptrdiff_t>(dims.front()));
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  sizes.insert(sizes.end(), x->sizes().begin() + static_cast<ptrdiff_t>(dims.back()) + 1, x->sizes().end());
  return b.expand(values, std::move(sizes));
}

// Sums over a grid are taken one dimension after the other.
Value* summed_grid(Builder& b, Value* x, Value* values, const Values& indices, const std::vector<size_t>& dims) {
  Sizes sizes = x->sizes();
  std::vector<std::vector<int64_t>> known;
  for (const size_t dim : dims) {
    const auto size = known_size(*x, dim);
    auto places = size ? constant_indices(*indices[dim], *size) : std::nullopt;
    if (!places) return nullptr;
    sizes[dim] = static_cast<int64_t>(places->size());
    known.push_back(std::move(*places));
  }
  values = b.reshape(values, sizes);
  for (size_t i = 0; i < dims.size() && values; ++i)
    values = summed(b, values, dims[i], known[i], x->sizes()[dims[i]].value());
  return values;
}

Value* index_put(Builder& b, Node& node) {
  if (!node.is("aten.index_put.default")) return nullptr;
  Value *x = node.tensor("self"), *values = node.tensor("values");
  if (!is_half_or_single(x) || values->dtype() != x->dtype()) return nullptr;
  const Values& indices = node.arg("indices").as<Values>();
  const std::vector<size_t> dims = indexed_dims(indices);
  const auto flat = dims.empty() ? std::nullopt : flat_indices(*x, indices, dims);
  if (!flat || flat->empty()) return nullptr;
  Sizes shape;
  for (const size_t dim : dims) shape = broadcast(shape, indices[dim]->sizes());
  values = expanded_values(b, x, values, dims, shape);
  const bool sums = node.boolean("accumulate");
  // Elements to which nothing is added become sums with 0.
  if (sums && ZeroSigns(b.graph()).matter(node.result())) return nullptr;
  Sizes rows = merged_dims(x->sizes(), dims), sources = rows;
  sources[dims.front()] = static_cast<int64_t>(flat->size());
  Value* out = nullptr;
  if (!sums)
    out = replaced(b, {b.reshape(x, rows), b.reshape(values, sources), dims.front(), *flat});
  else if (spans_grid(indices))
    out = summed_grid(b, x, values, indices, dims);
  else
    out = summed(b, b.reshape(values, sources), dims.front(), *flat, rows[dims.front()].value());
  if (!out) return nullptr;
  out = b.reshape(out, x->sizes());
  return !sums || is_zero_constant(x) ? out : b.call("aten.add.Tensor", {x, out});
}

// --- rows chosen by a constant condition ---

// The only dimension of the result along which a condition varies.
std::optional<size_t> varying_dim(const Value& condition, const Value& result) {
  std::optional<size_t> dim;
  for (size_t i = 0; i < condition.rank(); ++i) {
    if (condition.sizes()[i].is(1)) continue;
    if (dim || !known_size(condition, i)) return std::nullopt;
    dim = result.rank() - condition.rank() + i;
  }
  return dim;
}

// `count` rows of what broadcasts to the sizes of `result`.
Value* rows_between(Builder& b, Value* x, const Value& result, size_t dim, int64_t start, int64_t count) {
  Sizes sizes = result.sizes();
  sizes[dim] = count;
  const size_t missing = result.rank() - x->rank();
  if (dim >= missing && !x->sizes()[dim - missing].is(1))
    x = b.slice(x, static_cast<int64_t>(dim - missing), start, start + count);
  return b.expand(x, std::move(sizes));
}

// A condition that is the same everywhere is left to the passes that handle masks.
bool is_rows(const Value* x, const Value& result) {
  return x && x->dtype() == result.dtype() && x->rank() > 0 && !uniform_element(x);
}

Value* chosen_rows(Builder& b, Node& node) {
  if (!node.is("aten.where.self") || !is_half_or_single(node.result())) return nullptr;
  const Value* condition = node.tensor_or_null(0);
  Value *yes = node.tensor_or_null(1), *no = node.tensor_or_null(2);
  const Value& result = *node.result();
  if (!condition->is_constant() || condition->dtype() != DType::boolean || !condition->tensor().dim_order.empty() ||
      !is_rows(yes, result) || !is_rows(no, result))
    return nullptr;
  const auto dim = varying_dim(*condition, result);
  if (!dim) return nullptr;
  const auto flags = condition->data.bytes();
  Values parts;
  for (size_t i = 0, end = 0; i < flags.size(); i = end) {
    for (end = i + 1; end < flags.size() && (flags[end] != 0) == (flags[i] != 0);) ++end;
    if (parts.size() == kMaxScatterParts) return nullptr;
    parts.push_back(
        rows_between(b, flags[i] ? yes : no, result, *dim, static_cast<int64_t>(i), static_cast<int64_t>(end - i)));
  }
  return joined_parts(b, std::move(parts), *dim);
}

constexpr Rule kScatterRules[] = {chosen_rows, index_put, slice_scatter};

}  // namespace

// Replaces writes to known positions by concatenations and sums, for backends that have no other way to write.
//   before: y = slice_scatter(x, a, 0, 0, 8, 2)
//   after:  y = view(cat(view(a, [4, 1]), slice(view(x, [4, 2]), 1, 1, 2), 1), [8])
// Also handles index_put with constant indices into adjacent dimensions, where rows are replaced (up to 32 parts) or
// added (up to 16 parts, which covers windows combined by fold); and where with a constant condition that varies along
// one dimension. Applies to f32 and f16. Leaves additions alone if a reader distinguishes -0 from 0.
// Requires: constants are folded.  Keeps: every replaced value. Sums are added in a different order.
Result<Changed> scatter_by_slices(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kScatterRules)); });
}

}  // namespace wick::xnnpack
