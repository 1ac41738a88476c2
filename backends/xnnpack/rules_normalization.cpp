// Softmax, norms and reductions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- one dimension innermost ---

LayoutRule innermost(size_t dim) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::last;
  rule.dim = dim;
  return rule;
}

// Operand 0 with `dim` innermost, whatever dimensions of size 1 lie behind it in the node's order.
uint32_t rows_along(Lowering& l, const Node& node, size_t dim) {
  Order order;
  for (const uint8_t d : l.order(node)) {
    if (d != dim) order.push_back(d);
  }
  order.push_back(static_cast<uint8_t>(dim));
  return l.operand(node.operands()[0], order);
}

size_t softmax_dim(const Node& node) {
  return static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.operands()[0]->rank()));
}
LayoutRule softmax_layout(const Node& node) { return innermost(softmax_dim(node)); }

Verdict plain_softmax(const Node& node, const TargetOptions&) {
  return node.result()->rank() > 0 ? Verdict::yes() : Verdict::no("a softmax of one number");
}
void lower_softmax(Lowering& l, const Node& node) {
  l.set_result(node, l.unary(NodeType::softmax, rows_along(l, node, softmax_dim(node))));
}

// --- norms ---

size_t normalized_rank(const Node& node) { return node.ints("normalized_shape").size(); }

// Over one dimension: that one innermost. Over several: the plain order, in which they are one.
LayoutRule norm_layout(const Node& node) {
  return normalized_rank(node) == 1 ? innermost(node.result()->rank() - 1) : plain_layout(node);
}

Verdict constant_affine(const Node& node, const TargetOptions&) {
  for (const char* name : {"weight", "bias"}) {
    if (node.op->parsed->find(name) < 0) continue;
    const Value* value = node.optional_tensor(name);
    if (value && !value->is_constant()) return Verdict::no(fmt::format("a {} that is computed at run time", name));
  }
  if (node.op->parsed->find("eps") >= 0 && !node.is_none("eps") && !number(node, "eps"))
    return Verdict::no("an eps known only at run time");
  return Verdict::yes();
}

// x * rsqrt(mean(x^2) + eps) over the last dimension.
uint32_t scaled_by_rms(Lowering& l, uint32_t x, double eps) {
  const uint32_t mean = l.row_mean(l.unary(NodeType::square, x), eps);
  return l.binary(NodeType::multiply, x, l.unary(NodeType::reciprocal_square_root, mean));
}

uint32_t normalized(Lowering& l, uint32_t x, double eps) {
  return scaled_by_rms(l, l.binary(NodeType::subtract, x, l.row_mean(x)), eps);
}

uint32_t with_affine(Lowering& l, const Node& node, uint32_t x, const std::vector<uint32_t>& dims) {
  const auto values = [&](const char* name) -> const Value* {
    return node.op->parsed->find(name) < 0 ? nullptr : node.optional_tensor(name);
  };
  if (const Value* weight = values("weight")) x = l.binary(NodeType::multiply, x, l.weight(weight, l.type(), dims));
  if (const Value* bias = values("bias")) x = l.binary(NodeType::add, x, l.weight(bias, l.type(), dims));
  return x;
}

// The normalised dimensions as one.
uint32_t flat_rows(Lowering& l, const Node& node) {
  const size_t count = normalized_rank(node);
  if (count == 1) return rows_along(l, node, node.result()->rank() - 1);
  const Dims dims = result_dims(node);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) (i + count < dims.size() ? outer : inner) *= dims[i];
  return l.reshape(l.operand(node, 0), to_payload({outer, inner}));
}

std::vector<uint32_t> row_dims(const Lowering& l, uint32_t x) { return {l.dims(x).back()}; }

void lower_layer_norm(Lowering& l, const Node& node) {
  const uint32_t x = normalized(l, flat_rows(l, node), *number(node, "eps"));
  l.set_result(node, with_affine(l, node, x, row_dims(l, x)));
}

void lower_rms_norm(Lowering& l, const Node& node) {
  // Without eps: the smallest step of the dtype.
  const double step = node.result()->dtype() == DType::f16 ? 1.0 / 1024 : std::numeric_limits<float>::epsilon();
  const double eps = node.is_none("eps") ? step : *number(node, "eps");
  const uint32_t x = scaled_by_rms(l, flat_rows(l, node), eps);
  l.set_result(node, with_affine(l, node, x, row_dims(l, x)));
}

// [n, c, ..] as n groups rows of c / groups channels with their area.
void lower_group_norm(Lowering& l, const Node& node) {
  const Dims dims = result_dims(node);
  const int64_t groups = node.static_integer("group");
  const uint32_t rows =
      l.reshape(l.operand(node, 0), to_payload({dims[0] * groups, product(dims) / (dims[0] * groups)}));
  const uint32_t x = normalized(l, rows, *number(node, "eps"));
  const uint32_t channels = l.reshape(x, to_payload({dims[0], dims[1], product(dims) / (dims[0] * dims[1])}));
  l.set_result(node, with_affine(l, node, channels, {static_cast<uint32_t>(dims[1]), 1}));
}

Verdict known_groups(const Node& node, const TargetOptions& options) {
  if (!node.integer("group").is_const()) return Verdict::no("a number of groups known only at run time");
  return constant_affine(node, options);
}

// Statistics that are constants: one factor and one summand per channel.
Verdict constant_statistics(const Node& node, const TargetOptions&) {
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const Value* value = node.optional_tensor(name);
    if (value && !value->is_constant()) return Verdict::no(fmt::format("a {} that is computed at run time", name));
  }
  return number(node, "eps") ? Verdict::yes() : Verdict::no("an eps known only at run time");
}

void lower_batch_norm(Lowering& l, const Node& node) {
  const auto mean = l.read_floats(node.tensor("running_mean")), variance = l.read_floats(node.tensor("running_var"));
  const auto values_or = [&](const char* name, float otherwise) {
    const Value* value = node.optional_tensor(name);
    return value ? l.read_floats(value) : std::vector<float>(mean.size(), otherwise);
  };
  const auto weight = values_or("weight", 1), bias = values_or("bias", 0);
  std::vector<float> factor, summand;
  for (size_t i = 0; i < mean.size(); ++i) {
    const double scale = weight[i] / std::sqrt(static_cast<double>(variance[i]) + *number(node, "eps"));
    factor.push_back(static_cast<float>(scale));
    summand.push_back(static_cast<float>(bias[i] - mean[i] * scale));
  }
  std::vector<uint32_t> dims;
  for (const uint8_t dim : l.order(node)) dims.push_back(dim == 1 ? static_cast<uint32_t>(mean.size()) : 1);
  const uint32_t scaled = l.binary(NodeType::multiply, l.operand(node, 0), l.constant(factor, dims));
  l.set_result(node, l.binary(NodeType::add, scaled, l.constant(summand, dims), l.range_of(node)));
}

// --- reductions ---

std::vector<bool> reduced_dims(const Node& node) {
  const size_t rank = node.operands()[0]->rank();
  const bool all = node.is_none("dim") || node.ints("dim").empty();
  std::vector<bool> reduced(rank, all);
  if (all) return reduced;
  for (const int64_t dim : node.static_ints("dim")) reduced[static_cast<size_t>(compiler::wrap_dim(dim, rank))] = true;
  return reduced;
}

LayoutRule reduce_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::reduce;
  rule.reduced = reduced_dims(node);
  rule.keep_dims = node.boolean("keepdim");
  return rule;
}

Verdict same_dtype(const Node& node, const TargetOptions&) {
  if (node.operands()[0]->rank() == 0) return Verdict::no("a reduction of one number");
  return Verdict::yes();
}

// Elements before, of and behind the reduced dimensions, as they lie in memory.
struct Split {
  uint32_t outer = 1, reduced = 1, inner = 1;
};

struct Reduction {
  uint32_t x;
  Split split;
};

Reduction reduction_of(Lowering& l, const Node& node) {
  const Value* from = node.operands()[0];
  const LayoutRule rule = reduce_layout(node);
  const Dims dims = dims_of(*from);
  const Order order = Layouts::wanted(node, rule, {}, 0, l.order_of(from));
  const size_t begin = *adjacent_run(dims, order, rule.reduced);
  Split split;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto size = static_cast<uint32_t>(dims[order[i]]);
    if (rule.reduced[order[i]]) {
      split.reduced *= size;
    } else {
      (i < begin ? split.outer : split.inner) *= size;
    }
  }
  return {l.operand(from, order), split};
}

uint32_t mean_of(Lowering& l, const Reduction& reduction) {
  const Split& split = reduction.split;
  if (split.inner == 1) return l.row_mean(l.reshape(reduction.x, {split.outer, split.reduced}));
  PayloadNode node;
  node.type = NodeType::global_avg_pooling_2d;
  node.inputs[0] = l.reshape(reduction.x, {split.outer, split.reduced, 1, split.inner});
  node.flags = kKeepDims;
  return l.add(std::move(node), {split.outer, 1, 1, split.inner});
}

void lower_mean(Lowering& l, const Node& node) { l.set_result(node, mean_of(l, reduction_of(l, node))); }

void lower_sum(Lowering& l, const Node& node) {
  const Reduction reduction = reduction_of(l, node);
  const Split& split = reduction.split;
  if (split.inner == 1) {
    const uint32_t rows = l.reshape(reduction.x, {split.outer, split.reduced});
    const uint32_t ones = l.constant(std::vector<float>(split.reduced, 1.0f), {1, split.reduced});
    return l.set_result(node, l.fully_connected(rows, ones, kNoValue));
  }
  l.set_result(node, l.binary(NodeType::multiply, mean_of(l, reduction), l.scalar(split.reduced)));
}

uint32_t largest(Lowering& l, uint32_t x, const Split& split) {
  PayloadNode node;
  node.type = NodeType::max_pooling_2d;
  node.inputs[0] = l.reshape(x, {split.outer, split.reduced, 1, split.inner});
  if (split.reduced == 1) return node.inputs[0];
  node.window.kernel[0] = split.reduced;
  node.window.stride[0] = split.reduced;
  return l.add(std::move(node), {split.outer, 1, 1, split.inner});
}

void lower_amax(Lowering& l, const Node& node) {
  const Reduction reduction = reduction_of(l, node);
  l.set_result(node, largest(l, reduction.x, reduction.split));
}
void lower_amin(Lowering& l, const Node& node) {
  const Reduction reduction = reduction_of(l, node);
  const uint32_t negated = l.unary(NodeType::negate, reduction.x);
  l.set_result(node, l.unary(NodeType::negate, largest(l, negated, reduction.split)));
}

Verdict largest_taken(const Node& node, const TargetOptions& options) {
  const Verdict verdict = same_dtype(node, options);
  if (!verdict.taken) return verdict;
  const char* note = "the library's kernel may drop NaN";
  return options.strict_nan ? Verdict::no(fmt::format("{}, which --strict-nan refuses", note)) : Verdict::yes(note);
}

constexpr OpRule kRows[] = {
    {"aten._native_batch_norm_legit_no_training.default", constant_statistics, any_order, lower_batch_norm, true},
    {"aten._softmax.default", plain_softmax, softmax_layout, lower_softmax},
    {"aten.amax.default", largest_taken, reduce_layout, lower_amax},
    {"aten.amin.default", largest_taken, reduce_layout, lower_amin},
    {"aten.mean.dim", same_dtype, reduce_layout, lower_mean},
    {"aten.native_group_norm.default", known_groups, plain_layout, lower_group_norm},
    {"aten.native_layer_norm.default", constant_affine, norm_layout, lower_layer_norm},
    {"aten.rms_norm.default", constant_affine, norm_layout, lower_rms_norm},
    {"aten.sum.dim_IntList", same_dtype, reduce_layout, lower_sum},
};

}  // namespace

const RuleFamily kNormalizationRules = {kRows, std::size(kRows)};

}  // namespace wick::xnnpack
