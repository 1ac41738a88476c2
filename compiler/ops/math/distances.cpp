// Distances between the rows of matrices.
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void infer_cdist(Node& node) {
  const Value *x = node.tensor("x1"), *y = node.tensor("x2");
  require(x->rank() >= 2 && y->rank() >= 2, "cdist needs matrices");
  require(is_floating(x->dtype()) && is_floating(y->dtype()), "cdist takes floating-point numbers");
  require_equal(x->sizes().back(), y->sizes().back(), "cdist: features");
  Sizes sizes =
      broadcast(Sizes(x->sizes().begin(), x->sizes().end() - 2), Sizes(y->sizes().begin(), y->sizes().end() - 2));
  sizes.push_back(x->sizes()[x->rank() - 2]);
  sizes.push_back(y->sizes()[y->rank() - 2]);
  set_result(node, x->dtype(), std::move(sizes));
}
// The kernel takes equal batches.
Results decompose_cdist_forward(Builder& b, Node& node) {
  Value *x = node.tensor("x1"), *y = node.tensor("x2");
  const Sizes batch(node.result()->sizes().begin(), node.result()->sizes().end() - 2);
  const auto expanded = [&](Value* of) {
    Sizes sizes = batch;
    sizes.insert(sizes.end(), of->sizes().end() - 2, of->sizes().end());
    return sizes == of->sizes() ? of : b.expand(of, std::move(sizes));
  };
  Value *first = expanded(x), *second = expanded(y);
  if (first == x && second == y) return {};
  return {b.call("aten._cdist_forward", {first, second, node.real("p"), node.arg("compute_mode")})};
}
Results decompose_cdist(Builder& b, Node& node) {
  return {b.call("aten._cdist_forward", {node.arg("x1"), node.arg("x2"), node.real("p"), node.arg("compute_mode")})};
}

void infer_pdist(Node& node) {
  const Value* x = node.tensor("self");
  require_rank(x, 2, "pdist");
  require(is_floating(x->dtype()), "pdist takes floating-point numbers");
  const Sym n = x->sizes()[0];
  set_result(node, x->dtype(), {floor_div(n * (n - 1), 2)});
}
Results decompose_pdist(Builder& b, Node& node) {
  return {b.call("aten._pdist_forward", {node.arg("self"), node.real("p")})};
}

}  // namespace

const OpDef kDistanceRows[] = {
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", infer_cdist,
     decompose_cdist_forward, "aten::_cdist_forward.out", kPure,
     Cases("f32[2, 3, 4], f32[2, 5, 4], 1.0, None", "f32[2, 3, 4], f32[2, 5, 4], inf, None",
           "f32[1, 3, 2], f32[2, 4, 5, 2], 2.0, None")},
    {"aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", infer_cdist, decompose_cdist,
     nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]", "f32[2, 3, 4], f32[2, 3, 4], 1.0", "f32[3, 2], f32[2, 4, 5, 2], 1.0")},
    {"aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", infer_pdist, nullptr, "aten::_pdist_forward.out", kPure,
     Cases("f32[4, 3], 2.0")},
    {"aten::pdist(Tensor self, float p=2.) -> Tensor", infer_pdist, decompose_pdist, nullptr, kPure,
     Cases("f32[3, 4]")},
};
const size_t kDistanceCount = std::size(kDistanceRows);

}  // namespace wick::compiler
