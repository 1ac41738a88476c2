#include <algorithm>
#include <unordered_map>

#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/regions/boxes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::GraphInput;
using compiler::kPointwise;
using compiler::Node;
using compiler::Result;
using compiler::Rule;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

// For small tensors, the call of an operator costs more than its elements.
constexpr int64_t kMaxMergedBytes = 64 << 10;

bool is_small(const Value& value) {
  if (!value.type.is_tensor() || !is_static(value.sizes())) return false;
  int64_t bytes = static_cast<int64_t>(dtype_size_bytes(value.dtype()));
  for (const Sym& size : value.sizes()) {
    if (__builtin_mul_overflow(bytes, size.value(), &bytes)) return false;
  }
  return bytes <= kMaxMergedBytes;
}

// --- the same operator on several slices ---

// A slice that only `reader` reads.
struct Part {
  Node* slice = nullptr;
  SliceMatch cut;
  Node* reader = nullptr;
};

bool same_kind(const Part& a, const Part& b) { return a.reader->op == b.reader->op && a.cut.dim == b.cut.dim; }

std::vector<Part> parts_of(const Value& x) {
  std::vector<Part> parts;
  for (Node* user : x.users()) {
    const auto cut = user->is("aten.slice.Tensor") && moved(*user) == &x ? match_slice(*user) : std::nullopt;
    Node* reader = cut && !cut->range.whole ? only_reader(*user->result()) : nullptr;
    if (reader && reader->args().size() == 1 && reader->op->has(kPointwise)) parts.push_back({user, *cut, reader});
  }
  return parts;
}

// Not profitable if most of the computed elements are not read.
bool merging_pays(const Value& x, const std::vector<Part>& parts) {
  int64_t read = 0;
  for (const Part& part : parts) read += part.cut.range.length;
  return parts.size() > 1 && 2 * read >= x.sizes()[parts[0].cut.dim].value();
}

using Places = std::unordered_map<const Node*, size_t>;

// The operator goes before the first slice.
void compute_whole(Graph& graph, Value* x, const std::vector<Part>& parts, const Places& places,
                   std::vector<Node*>& unread) {
  const Part& first = *std::min_element(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return places.at(a.slice) < places.at(b.slice);
  });
  Builder at_first(graph, first.slice);
  Value* whole = at_first.call(first.reader->op->name(), {x});
  for (const Part& part : parts) {
    add_origins(*whole->producer, *part.reader);
    Builder b(graph, part.reader);
    const DimRange& range = part.cut.range;
    graph.replace(part.reader->result(),
                  b.slice(whole, static_cast<int64_t>(part.cut.dim), range.start, range.start + range.length));
    unread.push_back(part.reader);
  }
}

Changed merge_slices(Graph& graph) {
  Places places;
  Values values;
  for (const GraphInput& input : graph.inputs) {
    if (input.value) values.push_back(input.value);
  }
  for (const auto& node : graph.nodes()) {
    places.emplace(node.get(), places.size());
    values.insert(values.end(), node->results().begin(), node->results().end());
  }
  std::vector<Node*> unread;
  for (Value* x : values) {
    if (x->users().size() < 2 || !is_small(*x)) continue;
    std::vector<Part> left = parts_of(*x);
    while (!left.empty()) {
      const Part kind = left[0];
      const auto others =
          std::stable_partition(left.begin(), left.end(), [&](const Part& part) { return same_kind(part, kind); });
      const std::vector<Part> parts(left.begin(), others);
      left.erase(left.begin(), others);
      if (merging_pays(*x, parts)) compute_whole(graph, x, parts, places, unread);
    }
  }
  return erase_unread(graph, unread);
}

// --- selects ---

// A neighbouring dimension of size 1. Without it a slice along `dim` has the shape of a select.
std::optional<size_t> dim_to_drop(const Sizes& sizes, size_t dim) {
  if (dim + 1 < sizes.size() && sizes[dim + 1].is(1)) return dim + 1;
  return dim > 0 && sizes[dim - 1].is(1) ? std::optional(dim - 1) : std::nullopt;
}

// select(x [10, 1, 8], 0, i) is a slice of a view [10, 8], which all selects share.
Value* select_as_slice(Builder& b, Node& node) {
  const auto cut = node.is("aten.select.int") && is_small(*moved(node)) ? match_slice(node) : std::nullopt;
  if (!cut || cut->range.whole) return nullptr;
  Value* x = moved(node);
  const auto drop = dim_to_drop(x->sizes(), cut->dim);
  if (!drop) return nullptr;
  Sizes sizes = x->sizes();
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(*drop));
  const bool is_shared = std::any_of(x->users().begin(), x->users().end(), [&](const Node* user) {
    if (user->is("aten.view.default")) return user->result()->sizes() == sizes;
    const auto other = user != &node && user->is("aten.select.int") ? match_slice(*user) : std::nullopt;
    return other && other->dim == cut->dim;
  });
  if (!is_shared) return nullptr;
  const auto dim = static_cast<int64_t>(*drop < cut->dim ? cut->dim - 1 : cut->dim);
  return b.slice(b.reshape(x, sizes), dim, cut->range.start, cut->range.start + 1);
}

// --- concatenations ---

size_t count_large(const Sizes& sizes, size_t end) {
  return static_cast<size_t>(std::count_if(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(end),
                                           [](const Sym& size) { return !size.is(1); }));
}

// The dim of `from` that corresponds to `dim` of a view of it that only adds or drops dims of size 1.
std::optional<size_t> dim_before_view(const Sizes& from, const Sizes& to, size_t dim) {
  const auto large = [](const Sizes& sizes) {
    Sizes out;
    std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(out), [](const Sym& size) { return !size.is(1); });
    return out;
  };
  if (large(from) != large(to)) return std::nullopt;
  for (size_t i = 0; i < from.size(); ++i) {
    if (count_large(from, i) == count_large(to, dim) && from[i] == to[dim]) return i;
  }
  return std::nullopt;
}

// cat(view(a), view(b)) is view(cat(a, b)).
Value* view_of_cat(Builder& b, Node& node) {
  if (!node.is("aten.cat.default") || !is_small(*node.result())) return nullptr;
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), node.result()->rank()));
  Values parts;
  std::optional<size_t> common;
  for (Value* part : node.tensors("tensors")) {
    Node* view = part ? part->producer : nullptr;
    if (!view || !view->is("aten.view.default") || part->rank() != node.result()->rank()) return nullptr;
    Value* from = moved(*view);
    const auto before = dim_before_view(from->sizes(), part->sizes(), dim);
    if (!before || (common && (*common != *before || from->rank() != parts[0]->rank()))) return nullptr;
    common = before;
    parts.push_back(from);
  }
  if (parts.size() < 2) return nullptr;
  Value* cat = b.call("aten.cat", {std::move(parts), static_cast<int64_t>(*common)});
  return b.reshape(cat, node.result()->sizes());
}

constexpr Rule kPartRules[] = {select_as_slice, view_of_cat};

}  // namespace

// Does once to a whole small tensor what is done to several parts of it, as in unrolled recurrences.
//   before: a = sigmoid(x[0:8]); b = sigmoid(x[8:16])      after: s = sigmoid(x); a = s[0:8]; b = s[8:16]
//   before: a = select(x [9, 1, 4], 0, 2), and others      after: a = slice(view(x, [9, 4]), 0, 2, 3)
//   before: c = cat(view(a, [1, 1, 4]), view(b, ..))       after: c = view(cat(a, b), ..)
// The operators have one operand and read slices of at least half of the tensor. The views only add or drop dims of
// size 1.
// Requires: tensors up to 64 KiB of known sizes.  Keeps: every value.
Result<Changed> merge_parts(Graph& graph) {
  return for_each_graph(graph,
                        [](Graph& g) { return merge_slices(g) | rewrite_nodes(g, Span<const Rule>(kPartRules)); });
}

}  // namespace wick::xnnpack
