#include <algorithm>

#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

const Node* maker(const Arg& arg, std::initializer_list<std::string_view> names) {
  const Node* node = arg.is<Value*>() ? arg.as<Value*>()->producer : nullptr;
  if (!node) return nullptr;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return node->is(name); }) ? node
                                                                                                        : nullptr;
}

bool reads(const Arg& arg, const Value* x) { return arg.is<Value*>() && arg.as<Value*>() == x; }

bool is_square_of(const Node& node, const Value* x) {
  if (!reads(node.arg(size_t{0}), x)) return false;
  if (node.is("aten.mul.Tensor")) return reads(node.arg(1), x);
  const auto exponent = number_of(node.arg(1), DType::f64);
  return exponent && exponent->is(2);
}

// eps of rsqrt(mean(x * x, last dim) + eps)
std::optional<double> rms_epsilon(const Arg& scale, const Value* x) {
  const Node* root = maker(scale, {"aten.rsqrt.default"});
  const Node* sum = root ? maker(root->arg(size_t{0}), {"aten.add.Scalar", "aten.add.Tensor"}) : nullptr;
  if (!sum || sum->arg(2).is<Value*>() || sum->real("alpha") != 1) return std::nullopt;
  const auto epsilon = number_of(sum->arg(1), DType::f64);
  const Node* mean = maker(sum->arg(size_t{0}), {"aten.mean.dim"});
  if (!epsilon || !mean || mean->is_none("dim") || !mean->boolean("keepdim")) return std::nullopt;
  const auto dims = mean->static_ints("dim");
  if (dims.size() != 1 || static_cast<size_t>(wrap_dim(dims[0], x->rank())) + 1 != x->rank()) return std::nullopt;
  const Node* square = maker(mean->arg(size_t{0}), {"aten.mul.Tensor", "aten.pow.Tensor_Scalar"});
  if (!square || !is_square_of(*square, x) || mean->result()->dtype() != x->dtype()) return std::nullopt;
  return epsilon->real;
}

Value* rms_norm(Builder& b, Node& node) {
  if (!node.is("aten.mul.Tensor")) return nullptr;
  for (size_t side : {size_t{0}, size_t{1}}) {
    if (!node.arg(side).is<Value*>()) continue;
    Value* x = node.arg(side).as<Value*>();
    if (x->rank() == 0 || !x->sizes().back().is_const() || (x->dtype() != DType::f32 && x->dtype() != DType::f64))
      continue;
    if (const auto epsilon = rms_epsilon(node.arg(1 - side), x))
      return b.call("aten.rms_norm.default", {x, Ints{x->sizes().back()}, None{}, *epsilon});
  }
  return nullptr;
}

constexpr Rule kNormRules[] = {rms_norm};

}  // namespace

// Recognises an RMS norm over the last dimension that is written out.
//   before: y = x * rsqrt(mean(x * x, -1) + eps)        after: y = rms_norm(x, eps = eps)
// The square may be a power.
// Requires: canonicalize has run; a backend that takes rms_norm whole.
// Keeps: every value, for f32 and f64: the operator decomposes to the same nodes.
Result<Changed> recognize_norms(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kNormRules)); });
}

}  // namespace wick::compiler
