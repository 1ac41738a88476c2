#include <algorithm>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/ops/compose.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Binary;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Rule;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

// Rows of x at the positions in `index`, a vector.
struct CancelledGather {
  Value *x = nullptr, *index = nullptr;
};

std::optional<CancelledGather> match_cancelled_gather(const Value* value) {
  const Node* node = value->producer;
  if (!node) return std::nullopt;
  CancelledGather out;
  if (node->is("aten.index_select.default")) {
    out.x = node->tensor("self");
    if (out.x->rank() == 0 || wrap_dim(node->static_integer("dim"), out.x->rank()) != 0) return std::nullopt;
    out.index = node->tensor("index");
  } else if (node->is("aten.index.Tensor")) {
    out.x = node->tensor("self");
    const Values indices = node->tensors("indices");
    if (indices.size() != 1) return std::nullopt;
    out.index = indices[0];
  }
  const bool fits = out.index && out.index->rank() == 1 && out.index->dtype() == DType::i64;
  return fits ? std::optional(out) : std::nullopt;
}

// The positions that sorting a vector gives: each of 0 .. n - 1 once.
bool is_permutation(const Value* index) {
  const Node* node = index->producer;
  return node && (node->is("aten.sort.default") || node->is("aten.sort.stable")) && index->result_index == 1 &&
         index->rank() == 1;
}

// 0, 1 .. n - 1
bool counts_up(const Value* value, const Sym& count) {
  const Node* node = value->producer;
  return node && node->is("aten.arange.start_step") && value->sizes() == Sizes{count} && node->arg(0) == Arg(Sym(0)) &&
         node->arg(2) == Arg(Sym(1));
}

// Whether `inverse[p[i]]` is i for each i: p's positions sorted, or 0, 1 .. written to the places p.
bool inverts(const Value* inverse, const Value* p) {
  const Node* node = inverse->producer;
  if (!node || !is_permutation(p) || inverse->sizes() != p->sizes()) return false;
  if (is_permutation(inverse)) return node->tensor_or_null(0) == p && !node->boolean("descending");
  if (!node->is("aten.index_put.default") || node->boolean("accumulate")) return false;
  const Values indices = node->tensors("indices");
  return indices.size() == 1 && indices[0] == p && counts_up(node->tensor("values"), p->sizes()[0]);
}

// `value` before its rows were moved to places p, or null if they were not. It may have dimensions of size 1 after its
// first.
Value* before_permutation(Builder& b, const Value* value, const Value* inverse) {
  const Value* rows = value;
  if (rows->producer && rows->producer->is("aten.view.default")) rows = rows->producer->tensor("self");
  const auto gather = match_cancelled_gather(rows);
  if (!gather || !inverts(inverse, gather->index) || gather->x->sizes() != rows->sizes()) return nullptr;
  const bool keeps_rows = rows == value || (value->sizes()[0] == rows->sizes()[0]);
  return keeps_rows ? b.reshape(gather->x, value->sizes()) : nullptr;
}

Value* gathered_product(Builder& b, Node& node) {
  if (node.results().empty()) return nullptr;
  const auto gather = match_cancelled_gather(node.result());
  const Node* product = gather ? gather->x->producer : nullptr;
  if (!product || !product->is(Binary::mul) || gather->x->num_uses() != 1) return nullptr;
  for (const size_t place : {0, 1}) {
    Value *moved = product->tensor_or_null(place), *other = product->tensor_or_null(1 - place);
    if (!moved || !other || other->sizes() != gather->x->sizes() || moved->rank() != other->rank() ||
        moved->sizes()[0] != other->sizes()[0] || moved->num_uses() != 1)
      continue;
    Value* back = before_permutation(b, moved, gather->index);
    if (!back) continue;
    Value* rest = b.call("aten.index.Tensor", {other, Values{gather->index}});
    return place == 0 ? b.call("aten.mul.Tensor", {back, rest}) : b.call("aten.mul.Tensor", {rest, back});
  }
  return nullptr;
}

constexpr Rule kProductRules[] = {gathered_product};

}  // namespace

// Drops a permutation of rows that is undone after a multiplication: rows are sorted by expert to multiply them by the
// experts' weights, and the results are sorted back.
//   before: y = index(mul(x, index(w, p)), inverse of p)        after: y = mul(index(x, inverse of p), w)
// Requires: p are the positions of a sorted vector; its inverse is another sort, or 0, 1 .. written to the places p.
// Keeps: every value, bit for bit.
Result<Changed> cancel_permutations(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kProductRules)); });
}

}  // namespace wick::xnnpack
