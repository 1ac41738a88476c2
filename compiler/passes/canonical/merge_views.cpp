#include <algorithm>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

Value* viewed(const Node& node) { return node.arg(size_t{0}).as<Value*>(); }

// The producer of the operand, if it is a `name`; else null.
const Node* inner(const Node& node, std::string_view name) {
  const Node* producer = viewed(node)->producer;
  return producer && producer->is(name) ? producer : nullptr;
}

// Adds the origins of `absorbed` to `value`, which replaces both nodes.
Value* absorb(Builder& b, Value* value, const Node& absorbed) {
  for (Node* made : b.made()) add_origins(*made, absorbed);
  return value;
}

// A slice of a dimension of known size, bounds clamped.
struct StaticSlice {
  size_t dim = 0;
  int64_t start = 0, step = 1, length = 0;
};

std::optional<StaticSlice> static_slice(const Node& node) {
  StaticSlice out;
  const Value* x = viewed(node);
  out.dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
  const Sym &size = x->sizes()[out.dim], &length = node.result()->sizes()[out.dim];
  const Sym start = node.is_none("start") ? Sym(0) : node.integer("start"), step = node.integer("step");
  if (!size.is_const() || !length.is_const() || !start.is_const() || !step.is_const()) return std::nullopt;
  const int64_t first = start.value() < 0 ? start.value() + size.value() : start.value();
  out.start = std::clamp<int64_t>(first, 0, size.value());
  out.step = step.value();
  out.length = length.value();
  return out;
}

// The index of a select in a dimension of known size.
std::optional<int64_t> static_index(const Node& node, size_t* dim) {
  const Value* x = viewed(node);
  *dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
  const Sym &size = x->sizes()[*dim], index = node.integer("index");
  if (!size.is_const() || !index.is_const()) return std::nullopt;
  const int64_t at = index.value() < 0 ? index.value() + size.value() : index.value();
  return at >= 0 && at < size.value() ? std::optional(at) : std::nullopt;
}

Value* make_slice(Builder& b, Value* x, size_t dim, int64_t start, int64_t step, int64_t length) {
  const int64_t end = length == 0 ? start : start + step * (length - 1) + 1;
  return b.slice(x, static_cast<int64_t>(dim), start, end, length <= 1 ? 1 : step);
}

// --- two views in a row ---

Value* view_of_view(Builder& b, Node& node) {
  if (!node.is("aten.view.default")) return nullptr;
  const Node* before = inner(node, "aten.view.default");
  return before ? absorb(b, b.reshape(viewed(*before), node.result()->sizes()), *before) : nullptr;
}

Value* permute_of_permute(Builder& b, Node& node) {
  if (!node.is("aten.permute.default")) return nullptr;
  const Node* before = inner(node, "aten.permute.default");
  if (!before) return nullptr;
  const size_t rank = node.result()->rank();
  const std::vector<int64_t> first = before->static_ints("dims");
  std::vector<int64_t> dims;
  for (int64_t dim : node.static_ints("dims"))
    dims.push_back(wrap_dim(first[static_cast<size_t>(wrap_dim(dim, rank))], rank));
  return absorb(b, b.permute(viewed(*before), dims), *before);
}

Value* expand_of_expand(Builder& b, Node& node) {
  if (!node.is("aten.expand.default")) return nullptr;
  const Node* before = inner(node, "aten.expand.default");
  return before ? absorb(b, b.expand(viewed(*before), node.result()->sizes()), *before) : nullptr;
}

Value* slice_of_slice(Builder& b, Node& node) {
  if (!node.is("aten.slice.Tensor")) return nullptr;
  const Node* before = inner(node, "aten.slice.Tensor");
  const auto outer = before ? static_slice(node) : std::nullopt, first = before ? static_slice(*before) : std::nullopt;
  if (!outer || !first || outer->dim != first->dim) return nullptr;
  int64_t step;
  if (__builtin_mul_overflow(first->step, outer->step, &step)) return nullptr;
  const int64_t start = outer->length == 0 ? first->start : first->start + outer->start * first->step;
  return absorb(b, make_slice(b, viewed(*before), outer->dim, start, step, outer->length), *before);
}

Value* select_of_slice(Builder& b, Node& node) {
  if (!node.is("aten.select.int")) return nullptr;
  const Node* before = inner(node, "aten.slice.Tensor");
  const auto slice = before ? static_slice(*before) : std::nullopt;
  size_t dim = 0;
  const auto index = slice ? static_index(node, &dim) : std::nullopt;
  if (!index || dim != slice->dim) return nullptr;
  return absorb(b, b.select(viewed(*before), static_cast<int64_t>(dim), slice->start + *index * slice->step), *before);
}

// --- a piece of an expanded tensor ---

Value* piece_of_expand(Builder& b, Node& node) {
  const bool select = node.is("aten.select.int");
  if (!select && !node.is("aten.slice.Tensor")) return nullptr;
  const Node* before = inner(node, "aten.expand.default");
  if (!before) return nullptr;
  Value* x = viewed(*before);
  const size_t rank = viewed(node)->rank(), added = rank - x->rank();
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), rank));
  if (!select && node.result()->sizes()[dim].is(0)) return nullptr;
  if (dim >= added) {
    if (!x->sizes()[dim - added].is(1)) return nullptr;
    if (select) x = b.squeeze(x, static_cast<int64_t>(dim - added));
  }
  return absorb(b, b.expand(x, node.result()->sizes()), *before);
}

// --- pieces and concatenations ---

// The operand of a concatenation that holds [first, last] of its dimension; *offset is where it starts.
Value* part_of_cat(const Node& cat, size_t dim, int64_t first, int64_t last, int64_t* offset) {
  *offset = 0;
  for (Value* part : cat.tensors("tensors")) {
    if (part->rank() != cat.result()->rank() || !part->sizes()[dim].is_const()) return nullptr;
    const int64_t size = part->sizes()[dim].value();
    if (first < *offset + size) return last < *offset + size ? part : nullptr;
    *offset += size;
  }
  return nullptr;
}

bool joins_dim(const Node& cat, size_t dim) {
  return static_cast<size_t>(wrap_dim(cat.static_integer("dim"), cat.result()->rank())) == dim;
}

// The concatenation that makes the operand, if all its operands have one dtype; else null.
const Node* inner_cat(const Node& node) {
  const Value* x = viewed(node);
  if (!x->producer || !x->producer->is("aten.cat.default")) return nullptr;
  const Values parts = x->producer->tensors("tensors");
  const bool same =
      std::all_of(parts.begin(), parts.end(), [&](const Value* part) { return part && part->dtype() == x->dtype(); });
  return same ? x->producer : nullptr;
}

Value* slice_of_cat(Builder& b, Node& node) {
  if (!node.is("aten.slice.Tensor")) return nullptr;
  const Node* cat = inner_cat(node);
  const auto slice = cat ? static_slice(node) : std::nullopt;
  if (!slice || slice->length == 0 || !joins_dim(*cat, slice->dim)) return nullptr;
  int64_t offset = 0;
  Value* part = part_of_cat(*cat, slice->dim, slice->start, slice->start + (slice->length - 1) * slice->step, &offset);
  return part ? absorb(b, make_slice(b, part, slice->dim, slice->start - offset, slice->step, slice->length), *cat)
              : nullptr;
}

Value* select_of_cat(Builder& b, Node& node) {
  if (!node.is("aten.select.int")) return nullptr;
  const Node* cat = inner_cat(node);
  size_t dim = 0;
  const auto index = cat ? static_index(node, &dim) : std::nullopt;
  if (!index || !joins_dim(*cat, dim)) return nullptr;
  int64_t offset = 0;
  Value* part = part_of_cat(*cat, dim, *index, *index, &offset);
  return part ? absorb(b, b.select(part, static_cast<int64_t>(dim), *index - offset), *cat) : nullptr;
}

// A concatenation of neighbouring slices becomes one slice.
Value* cat_of_slices(Builder& b, Node& node) {
  if (!node.is("aten.cat.default")) return nullptr;
  const Values parts = node.tensors("tensors");
  Value* source = nullptr;
  StaticSlice whole;
  for (const Value* part : parts) {
    const Node* producer = part ? part->producer : nullptr;
    const auto slice = producer && producer->is("aten.slice.Tensor") ? static_slice(*producer) : std::nullopt;
    if (!slice || slice->step != 1 || !joins_dim(node, slice->dim)) return nullptr;
    if (!source) {
      source = viewed(*producer);
      whole = *slice;
    } else if (viewed(*producer) != source || slice->start != whole.start + whole.length) {
      return nullptr;
    } else {
      whole.length += slice->length;
    }
  }
  return source ? make_slice(b, source, whole.dim, whole.start, 1, whole.length) : nullptr;
}

constexpr Rule kViewRules[] = {
    view_of_view,    permute_of_permute, expand_of_expand, slice_of_slice, select_of_slice,
    piece_of_expand, slice_of_cat,       select_of_cat,    cat_of_slices,
};

}  // namespace

// Merges chains of views. A slice or select of a concatenation reads the operand of the concatenation instead.
//   before: s = slice(x, 0, 2, 8); t = slice(s, 0, 1, 3)          after: t = slice(x, 0, 3, 5)
// Ensures: no view reads a view, no permute a permute, no expand an expand. No static slice or select reads a static
// slice of the same dimension, an expanded dimension, or a single operand of a concatenation.
// Keeps: every value; only moves elements.
Result<Changed> merge_views(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kViewRules)); });
}

}  // namespace wick::compiler
