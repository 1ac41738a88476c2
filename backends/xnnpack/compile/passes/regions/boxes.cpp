#include "backends/xnnpack/compile/passes/regions/boxes.h"

#include <algorithm>

#include "compiler/analysis/data_movement.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Movement;
using compiler::Node;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::wrap_dim;

DimRange range_in(const Sym& size, int64_t start, int64_t length) {
  if (start == 0 && size.is(length)) return {};
  return {start, length, false};
}

bool is_whole(const Box& box) {
  return std::all_of(box.begin(), box.end(), [](const DimRange& range) { return range.whole; });
}

Sizes box_sizes(const Sizes& sizes, const Box& box) {
  Sizes out = sizes;
  for (size_t i = 0; i < box.size(); ++i) {
    if (!box[i].whole) out[i] = Sym(box[i].length);
  }
  return out;
}

Box hull(const Sizes& sizes, const Box& a, const Box& b) {
  Box out(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].whole || b[i].whole) continue;
    const int64_t start = std::min(a[i].start, b[i].start);
    out[i] = range_in(sizes[i], start, std::max(a[i].start + a[i].length, b[i].start + b[i].length) - start);
  }
  return out;
}

std::optional<SliceMatch> match_slice(const Node& node) {
  const bool select = node.is(Movement::select);
  if (!select && !node.is(Movement::slice)) return std::nullopt;
  const Value* x = moved(node);
  SliceMatch out;
  out.dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
  const Sym& size = x->sizes()[out.dim];
  if (!size.is_const()) return std::nullopt;
  const Sym start = select ? node.integer("index") : node.is_none("start") ? Sym(0) : node.integer("start");
  if (!start.is_const() || (!select && !node.integer("step").is(1))) return std::nullopt;
  const int64_t first = start.value() < 0 ? start.value() + size.value() : start.value();
  if (select) {
    if (first < 0 || first >= size.value()) return std::nullopt;
    out.range = range_in(size, first, 1);
    return out;
  }
  const Sym& length = node.result()->sizes()[out.dim];
  if (!length.is_const() || length.value() == 0) return std::nullopt;
  out.range = range_in(size, std::clamp<int64_t>(first, 0, size.value()), length.value());
  return out;
}

namespace {

// Elements [first, last) of adjacent dims read as one dim. A box is such a range if it is contiguous there.
struct FlatRange {
  int64_t first = 0, last = 0;
};

std::optional<FlatRange> stretch_of(const Sizes& sizes, const Box& box, size_t begin, size_t end) {
  FlatRange out{0, 1};
  bool open = false;  // an outer dim takes more than one element
  for (size_t i = begin; i < end; ++i) {
    const int64_t size = sizes[i].value(), start = box[i].whole ? 0 : box[i].start,
                  length = box[i].whole ? size : box[i].length;
    if (open && length != size) return std::nullopt;
    out = {out.first * size + start, (out.last - 1) * size + start + length};
    open = open || length != 1;
  }
  return out;
}

bool box_of_stretch(const Sizes& sizes, FlatRange stretch, size_t begin, size_t end, Box& box) {
  int64_t inner = 1;
  for (size_t i = begin; i < end; ++i) inner *= sizes[i].value();
  for (size_t i = begin; i < end; ++i) {
    inner /= sizes[i].value();
    const int64_t first = stretch.first / inner, last = (stretch.last - 1) / inner;
    if (first == last) {
      box[i] = range_in(sizes[i], first, 1);
      stretch = {stretch.first - first * inner, stretch.last - first * inner};
      continue;
    }
    if (stretch.first % inner != 0 || stretch.last % inner != 0) return false;
    box[i] = range_in(sizes[i], first, last - first + 1);
    return true;  // the dims inside are whole
  }
  return true;
}

bool whole_from(const Box& box, size_t begin) {
  return std::all_of(box.begin() + static_cast<ptrdiff_t>(begin), box.end(),
                     [](const DimRange& range) { return range.whole; });
}

Sizes run(const Sizes& sizes, size_t begin, size_t end) {
  return Sizes(sizes.begin() + static_cast<ptrdiff_t>(begin), sizes.begin() + static_cast<ptrdiff_t>(end));
}

// Moves i and j past the shortest runs of dims that hold equally many elements.
bool next_run(const Sizes& from, const Sizes& to, size_t& i, size_t& j) {
  for (size_t length = 2; length <= from.size() - i + to.size() - j; ++length) {
    for (size_t a = 1; a < length && i + a <= from.size(); ++a) {
      const size_t b = length - a;
      if (j + b > to.size()) continue;
      const Sym many = numel(run(from, i, i + a));
      if (many.is(0) || !(many == numel(run(to, j, j + b)))) continue;
      i += a;
      j += b;
      return true;
    }
  }
  return false;
}

std::optional<Box> before_view(const Sizes& from, const Sizes& to, const Box& box) {
  Box out(from.size());
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && from[i].is(1)) {
      ++i;
      continue;
    }
    if (j < to.size() && to[j].is(1)) {
      ++j;
      continue;
    }
    if (i == from.size() || j == to.size()) return std::nullopt;
    if (from[i] == to[j]) {
      out[i++] = box[j++];
      continue;
    }
    const size_t i0 = i, j0 = j;
    if (!next_run(from, to, i, j)) return whole_from(box, j0) ? std::optional(out) : std::nullopt;
    if (is_whole(Box(box.begin() + static_cast<ptrdiff_t>(j0), box.begin() + static_cast<ptrdiff_t>(j)))) continue;
    const bool known = is_static(run(from, i0, i)) && is_static(run(to, j0, j));
    const auto stretch = known ? stretch_of(to, box, j0, j) : std::nullopt;
    if (!stretch || !box_of_stretch(from, *stretch, i0, i, out)) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<Box> box_before(const Node& node, const Box& box) {
  const Value *from = moved(node), *to = node.result();
  if (node.is(Movement::view)) return before_view(from->sizes(), to->sizes(), box);
  Box out(from->rank());
  if (node.is(Movement::permute)) {
    const auto dims = node.static_ints("dims");
    for (size_t i = 0; i < dims.size(); ++i) out[static_cast<size_t>(wrap_dim(dims[i], dims.size()))] = box[i];
    return out;
  }
  if (node.is(Movement::expand)) {
    const size_t added = to->rank() - from->rank();
    for (size_t i = 0; i < from->rank(); ++i) {
      if (from->sizes()[i] == to->sizes()[i + added]) out[i] = box[i + added];
    }
    return out;
  }
  const auto cut = match_slice(node);
  if (!cut) return std::nullopt;
  const bool select = node.is(Movement::select);
  for (size_t i = 0; i < from->rank(); ++i) {
    if (i != cut->dim) out[i] = box[select && i > cut->dim ? i - 1 : i];
  }
  const DimRange& inner = select ? DimRange{} : box[cut->dim];
  out[cut->dim] = inner.whole ? cut->range
                              : range_in(from->sizes()[cut->dim],
                                         (cut->range.whole ? 0 : cut->range.start) + inner.start, inner.length);
  return out;
}

// The slice that leaves the least goes first, so that the next ones copy only that.
Value* slice_box(Builder& b, Value* value, const Box& box) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < box.size(); ++i) {
    if (!box[i].whole) dims.push_back(i);
  }
  const auto part_left = [&](size_t dim) {
    const Sym& size = value->sizes()[dim];
    return size.is_const() ? static_cast<double>(box[dim].length) / static_cast<double>(size.value()) : 1;
  };
  std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t c) { return part_left(a) < part_left(c); });
  for (const size_t dim : dims)
    value = b.slice(value, static_cast<int64_t>(dim), box[dim].start, box[dim].start + box[dim].length);
  return value;
}

Value* move_box(Builder& b, const Node& node, Value* operand, const Box& box) {
  const Sizes sizes = box_sizes(node.result()->sizes(), box);
  if (node.is(Movement::permute)) return b.permute(operand, node.static_ints("dims"));
  if (node.is(Movement::expand)) return b.expand(operand, sizes);
  return b.reshape(operand, sizes);  // a view; a slice has nothing left to do, a select drops a dim of size 1
}

}  // namespace wick::xnnpack
