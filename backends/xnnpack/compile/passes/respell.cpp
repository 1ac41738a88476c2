#include <algorithm>
#include <utility>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/ops/compose.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Changed;
using compiler::Compose;
using compiler::Graph;
using compiler::Ints;
using compiler::kPointwise;
using compiler::Node;
using compiler::Respelling;
using compiler::Result;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

using Results = std::vector<Value*>;

bool all_sizes_known(const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const Sym& size) { return size.is_const() && size.value() > 0; });
}

Results var_mean(Builder& b, Node& node) {
  if (!node.is("aten.var_mean.correction") || !is_half_or_single(node.tensor("self"))) return {};
  const Arg &dim = node.arg("dim"), &keepdim = node.arg("keepdim");
  Value* x = node.tensor("self");
  return {b.call("aten.var.correction", {x, dim, node.arg("correction"), keepdim}),
          b.call("aten.mean.dim", {x, dim, keepdim})};
}

// The product of all elements, over the only dimension of a view.
Results product_of_all(Builder& b, Node& node) {
  Value* x = node.is("aten.prod.default") ? node.tensor("self") : nullptr;
  if (!x || !is_half_or_single(x) || node.result()->dtype() != x->dtype() || !all_sizes_known(x->sizes())) return {};
  return {b.call("aten.prod.dim_int", {b.reshape(x, {numel(x->sizes())}), 0})};
}

// x != 0, which is true for NaN.
Results truths(Builder& b, Node& node) {
  if (!node.is("aten._to_copy.default") || node.result()->dtype() != DType::boolean ||
      !is_half_or_single(node.tensor("self")))
    return {};
  return {b.call("aten.ne.Scalar", {node.tensor("self"), 0.0})};
}

// Arithmetic on operands of f16 and f32: kernels compute in f32. round_numbers has rounded the numbers that eager reads
// as f16.
Results mixed_operands(Builder& b, Node& node) {
  if (!node.op->has(kPointwise) || node.is("aten._to_copy.default") || node.results().size() != 1) return {};
  if (!is_half_or_single(node.result())) return {};
  const DType dtype = node.result()->dtype();
  bool is_mixed = false;
  for (const Value* x : node.operands()) {
    if (x->dtype() == DType::boolean) continue;
    if (!is_half_or_single(x)) return {};
    is_mixed = is_mixed || x->dtype() != dtype;
  }
  if (!is_mixed) return {};
  Args args = node.args();
  for (Arg& arg : args) {
    Value* x = tensor_or_null(arg);
    if (x && x->dtype() != DType::boolean) arg = b.cast(x, DType::f32);
  }
  return {b.cast(b.call(node.op->name(), std::move(args)), dtype)};
}

// --- max pooling ---

constexpr int64_t kMaxWindows = 16;

// The largest elements of `count` windows along a dimension, which begin and end where eager's do.
Value* largest_along(Compose& c, Value* x, size_t dim, int64_t count) {
  const int64_t size = x->sizes()[dim].value();
  const auto at = static_cast<int64_t>(dim);
  if (size == count) return x;
  if (size % count == 0) {
    Sizes split = x->sizes();
    split[dim] = count;
    split.insert(split.begin() + at + 1, size / count);
    return c.amax(c.b.reshape(x, split), {at + 1});
  }
  Values parts;
  for (int64_t i = 0; i < count; ++i) {
    Value* window = c.b.slice(x, at, i * size / count, ((i + 1) * size + count - 1) / count);
    parts.push_back(c.amax(window, {at}, true));
  }
  return parts.size() == 1 ? parts[0] : c.cat(std::move(parts), at);
}

Results adaptive_max_pool(Builder& b, Node& node) {
  if (!node.is("aten.adaptive_max_pool2d.default") && !node.is("aten.adaptive_max_pool3d.default")) return {};
  const size_t spatial = node.is("aten.adaptive_max_pool2d.default") ? 2 : 3;
  Value* x = node.tensor("self");
  const Sizes& out = node.result()->sizes();
  if (!is_half_or_single(x) || node.result(1)->num_uses() > 0 || !all_sizes_known(x->sizes()) || !all_sizes_known(out))
    return {};
  for (size_t dim = x->rank() - spatial; dim < x->rank(); ++dim) {
    if (x->sizes()[dim].value() % out[dim].value() != 0 && out[dim].value() > kMaxWindows) return {};
  }
  Compose c(b);
  for (size_t dim = x->rank(); dim-- > x->rank() - spatial;) x = largest_along(c, x, dim, out[dim].value());
  return {x, nullptr};
}

// --- distances ---

constexpr int64_t kMaxDifferences = 1 << 18;
// With more rows than this, eager computes distances from matmuls of the rows, which round differently.
constexpr int64_t kMaxRows = 25;

Results distances(Builder& b, Node& node) {
  if (!node.is("aten._cdist_forward.default")) return {};
  Value *x = node.tensor("x1"), *y = node.tensor("x2");
  const double p = node.real("p");
  if (x->dtype() != DType::f32 || !all_sizes_known(x->sizes()) || !all_sizes_known(y->sizes()) || (p != 1 && p != 2))
    return {};
  const Sizes& out = node.result()->sizes();
  if (out.back().value() > kMaxRows || out[out.size() - 2].value() > kMaxRows) return {};
  if (numel(out).value() * x->sizes().back().value() > kMaxDifferences) return {};
  Compose c(b);
  Value* apart =
      c.sub(b.unsqueeze(x, static_cast<int64_t>(x->rank()) - 1), b.unsqueeze(y, static_cast<int64_t>(y->rank()) - 2));
  if (p == 1) return {c.sum(c.abs(apart), {-1})};
  return {c.sqrt(c.sum(c.square(apart), {-1}))};
}

// --- convolutions ---

// A convolution whose last rows, as many as its padding allows, are cut off ("same" and causal paddings): these are
// rows of padding before the input instead. Where the number of rows is known, backends take the slice.
Results shortened_convolution(Builder& b, Node& node) {
  if (!node.is("aten.slice.Tensor") || !is_half_or_single(node.result()) || !node.integer("step").is(1)) return {};
  Value* whole = node.tensor("self");
  const Node* from = whole->producer;
  if (!from || !from->is("aten.convolution.default") || whole->num_uses() != 1 || from->boolean("transposed"))
    return {};
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), whole->rank()));
  const Sym &size = whole->sizes()[dim], dropped = size - node.result()->sizes()[dim];
  if (dim < 2 || size.is_const() || !dropped.is_const() || dropped.value() < 1) return {};
  if (!node.is_none("start") && !node.integer("start").is(0)) return {};
  const std::vector<int64_t> strides = from->static_ints("stride"), paddings = from->static_ints("padding");
  // A list may hold one number for all dimensions.
  if (strides.size() != whole->rank() - 2 || paddings.size() != strides.size()) return {};
  if (strides[dim - 2] != 1 || paddings[dim - 2] < dropped.value()) return {};
  Ints padding = from->ints("padding");
  padding[dim - 2] = padding[dim - 2] - dropped;
  Ints before(2 * (whole->rank() - dim), 0);
  before[before.size() - 2] = dropped;
  Args args = from->args();
  args[0] = b.call("aten.constant_pad_nd", {from->tensor_or_null(0), before, 0.0});
  args[static_cast<size_t>(from->op->parsed->find("padding"))] = std::move(padding);
  return {b.call(from->op->name(), std::move(args))};
}

constexpr Respelling kRespellings[] = {adaptive_max_pool,     distances, mixed_operands, product_of_all,
                                       shortened_convolution, truths,    var_mean};

}  // namespace

// Replaces operators that few backends have by operators that more backends have.
//   before: v, m = var_mean(x)        after: v = var(x); m = mean(x)
// Also handles prod of all elements; adaptive_max_pool2d and adaptive_max_pool3d without indices, as maxima along one
// dimension after the other; cdist of few rows; conversions to bool, as comparisons with 0; arithmetic on f16 beside
// f32, on operands of one dtype; and convolutions of unknown size whose last rows are cut off, which get more padding
// in front and less behind. Applies to f32 and f16. Keeps: values up to rounding, NaN and infinities.
Result<Changed> respell(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return respell_nodes(g, Span<const Respelling>(kRespellings)); });
}

}  // namespace wick::xnnpack
