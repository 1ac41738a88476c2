#include "compiler/analysis/data_movement.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/builder.h"

namespace wick::compiler {
namespace {

Sym product_before(const Sizes& sizes, size_t dim) {
  return numel(Sizes(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(dim)));
}

// The dim of `to` that is dim `dim` of `from` after a view: it has the same size, and the sizes before it have the same
// product.
std::optional<size_t> through_view(const Sizes& from, size_t dim, const Sizes& to) {
  if (from[dim].is(1)) return std::nullopt;
  const Sym before = product_before(from, dim);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from[dim] && product_before(to, i) == before) return i;
  }
  return std::nullopt;
}

// Whether a roll or index_select keeps the positions along `dim`: it moves whole slices along other dims.
bool keeps_in_place(const Node& node, size_t dim) {
  const auto dims =
      node.is(Movement::roll) ? node.static_ints("dims") : std::vector<int64_t>{node.static_integer("dim")};
  return !dims.empty() && std::none_of(dims.begin(), dims.end(), [&](int64_t moving) {
    return static_cast<size_t>(wrap_dim(moving, moved(node)->rank())) == dim;
  });
}

bool keeps_rank(const Node& node) { return node.is(Movement::roll) || node.is(Movement::index_select); }

size_t dim_of(const Node& node) {
  return static_cast<size_t>(wrap_dim(node.static_integer("dim"), moved(node)->rank()));
}

}  // namespace

bool moves_data(const Node& node) { return !node.is(Movement::none); }

std::optional<size_t> dim_after(const Node& node, size_t dim) {
  const Value *from = moved(node), *to = node.result();
  if (keeps_rank(node)) return from->rank() != 0 && keeps_in_place(node, dim) ? std::optional(dim) : std::nullopt;
  if (node.is(Movement::view)) return through_view(from->sizes(), dim, to->sizes());
  if (node.is(Movement::permute)) {
    const auto dims = node.static_ints("dims");
    for (size_t i = 0; i < dims.size(); ++i) {
      if (static_cast<size_t>(wrap_dim(dims[i], dims.size())) == dim) return i;
    }
    return std::nullopt;
  }
  if (node.is(Movement::expand)) {
    const size_t after = dim + to->rank() - from->rank();
    return from->sizes()[dim] == to->sizes()[after] ? std::optional(after) : std::nullopt;
  }
  const size_t cut = dim_of(node);
  if (cut == dim) return std::nullopt;
  return node.is(Movement::select) && cut < dim ? dim - 1 : dim;
}

std::optional<size_t> dim_before(const Node& node, size_t dim) {
  const Value *from = moved(node), *to = node.result();
  if (keeps_rank(node)) return from->rank() != 0 && keeps_in_place(node, dim) ? std::optional(dim) : std::nullopt;
  if (node.is(Movement::view)) return through_view(to->sizes(), dim, from->sizes());
  if (node.is(Movement::permute)) {
    const auto dims = node.static_ints("dims");
    return static_cast<size_t>(wrap_dim(dims[dim], dims.size()));
  }
  if (node.is(Movement::expand)) {
    const size_t added = to->rank() - from->rank();
    if (dim < added || !(from->sizes()[dim - added] == to->sizes()[dim])) return std::nullopt;
    return dim - added;
  }
  const size_t cut = dim_of(node);
  if (node.is(Movement::select)) return dim < cut ? dim : dim + 1;
  return cut == dim ? std::nullopt : std::optional(dim);
}

Node* only_reader(const Value& value) {
  return value.num_uses() == 1 && value.users().size() == 1 ? value.users().front() : nullptr;
}

void forget_moved(Value& value) {
  std::unordered_set<const Value*> seen;
  std::vector<Value*> open{&value};
  while (!open.empty()) {
    Value* at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    at->forget();
    for (const Node* reader : at->users()) {
      if (moves_data(*reader) || reader->is("aten.cat.default")) open.push_back(reader->result());
    }
  }
}

}  // namespace wick::compiler
