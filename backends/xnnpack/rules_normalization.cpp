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

size_t softmax_dim(const Node& node) {
  return static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.operands()[0]->rank()));
}
LayoutRule softmax_layout(const Node& node) { return innermost(softmax_dim(node)); }

Verdict plain_softmax(const Node& node, const TargetOptions&) {
  return node.result()->rank() > 0 ? Verdict::yes() : Verdict::no("a softmax of one number");
}
void lower_softmax(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.rows_along(node, softmax_dim(node)),
                [&](uint32_t x) { return l.unary(NodeType::softmax, x); });
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
  if (node.op->parsed->find("normalized_shape") >= 0) {
    const Dims dims = result_dims(node);
    const size_t count = normalized_rank(node);
    if (num_symbolic({dims.end() - static_cast<ptrdiff_t>(count), dims.end()}) > 0)
      return Verdict::no("a norm over sizes known only at run time");
    if (count > 1 && num_symbolic(dims) > 1) return Verdict::no("more than one size known only at run time");
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

uint32_t with_affine(Lowering& l, const Node& node, uint32_t x, const Dims& dims) {
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
  if (count == 1) return l.rows_along(node, node.result()->rank() - 1);
  const Dims dims = result_dims(node);
  const auto split = dims.end() - static_cast<ptrdiff_t>(count);
  return l.reshape(l.operand(node, 0), {product({dims.begin(), split}), product({split, dims.end()})});
}

Dims row_dims(const Lowering& l, uint32_t x) { return {l.dims(x).back()}; }

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
  const int64_t groups = node.static_integer("group"), channels = dims[1].value();
  const int64_t area = product({dims.begin() + 2, dims.end()}).value();
  const uint32_t rows = l.reshape(l.operand(node, 0), {dims[0] * groups, channels / groups * area});
  const uint32_t x = normalized(l, rows, *number(node, "eps"));
  l.set_result(node, with_affine(l, node, l.reshape(x, {dims[0], channels, area}), {channels, 1}));
}

Verdict known_groups(const Node& node, const TargetOptions& options) {
  const Dims dims = result_dims(node);
  if (!node.integer("group").is_const() || num_symbolic({dims.begin() + 1, dims.end()}) > 0)
    return Verdict::no("groups whose size is known only at run time");
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
  Dims dims;
  for (const uint8_t dim : l.order(node)) dims.emplace_back(dim == 1 ? static_cast<int64_t>(mean.size()) : 1);
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

// Over the last dimension alone, which stays: no reshape is needed.
bool is_over_last(const Node& node) {
  const std::vector<bool> reduced = reduced_dims(node);
  return node.boolean("keepdim") && std::count(reduced.begin(), reduced.end(), true) == 1 && reduced.back();
}

LayoutRule reduce_layout(const Node& node) {
  if (is_over_last(node)) return innermost(reduced_dims(node).size() - 1);
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::reduce;
  rule.reduced = reduced_dims(node);
  rule.keep_dims = node.boolean("keepdim");
  return rule;
}

Verdict known_rows(const Node& node, const TargetOptions&) {
  const Value& x = *node.operands()[0];
  if (x.rank() == 0) return Verdict::no("a reduction of one number");
  const Dims dims = dims_of(x);
  const std::vector<bool> reduced = reduced_dims(node);
  size_t unknown_kept = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_const()) continue;
    if (reduced[i]) return Verdict::no("a reduction over a size known only at run time");
    ++unknown_kept;
  }
  if (unknown_kept > 1 && !is_over_last(node))
    return Verdict::no("a reduction with more than one other size known only at run time");
  return Verdict::yes();
}

// Elements before, of and behind the reduced dimensions, as they lie in memory.
struct Split {
  compiler::Sym outer = 1, inner = 1;
  int64_t reduced = 1;
};

struct Reduction {
  uint32_t x;
  Split split;
};

Reduction reduction_of(Lowering& l, const Node& node) {
  const Value* from = node.operands()[0];
  const LayoutRule rule = reduce_layout(node);
  const Dims dims = dims_of(*from);
  if (rule.kind == LayoutRule::Kind::last) {
    const uint32_t x = l.rows_along(node, rule.dim);
    return {x, {product({l.dims(x).begin(), l.dims(x).end() - 1}), 1, dims.back().value()}};
  }
  const Order order = Layouts::wanted(node, rule, {}, 0, l.order_of(from));
  const size_t begin = *adjacent_run(dims, order, rule.reduced);
  Split split;
  for (size_t i = 0; i < order.size(); ++i) {
    const compiler::Sym& size = dims[order[i]];
    if (rule.reduced[order[i]]) {
      split.reduced *= size.value();
    } else {
      compiler::Sym& side = i < begin ? split.outer : split.inner;
      side = side * size;
    }
  }
  return {l.operand(from, order), split};
}

// The elements to reduce innermost.
uint32_t rows_of(Lowering& l, const Reduction& reduction) {
  const Dims& dims = l.dims(reduction.x);
  if (dims.back() == compiler::Sym(reduction.split.reduced)) return reduction.x;
  return l.reshape(reduction.x, {reduction.split.outer, reduction.split.reduced});
}

uint32_t mean_of(Lowering& l, const Reduction& reduction) {
  const Split& split = reduction.split;
  if (split.inner.is(1) && !l.is_int8()) return l.row_mean(rows_of(l, reduction));
  return image_mean(l, l.reshape(reduction.x, {split.outer, split.reduced, 1, split.inner}));
}

void lower_mean(Lowering& l, const Node& node) { l.set_result(node, mean_of(l, reduction_of(l, node))); }

void lower_sum(Lowering& l, const Node& node) {
  const Reduction reduction = reduction_of(l, node);
  const Split& split = reduction.split;
  if (split.inner.is(1)) {
    const std::vector<float> ones(static_cast<size_t>(split.reduced), 1.0f);
    const uint32_t filter = l.constant(ones, {1, split.reduced});
    return l.set_result(node, l.fully_connected(rows_of(l, reduction), filter, kNoValue));
  }
  const auto count = static_cast<double>(split.reduced);
  l.set_result(node, l.binary(NodeType::multiply, mean_of(l, reduction), l.scalar(count)));
}

uint32_t largest(Lowering& l, uint32_t x, const Split& split) {
  PayloadNode node;
  node.type = NodeType::max_pooling_2d;
  node.inputs[0] = l.reshape(x, {split.outer, split.reduced, 1, split.inner});
  if (split.reduced == 1) return node.inputs[0];
  node.window.kernel[0] = static_cast<uint32_t>(split.reduced);
  node.window.stride[0] = static_cast<uint32_t>(split.reduced);
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
  Verdict verdict = known_rows(node, options);
  if (!verdict.taken) return verdict;
  if (num_symbolic(dims_of(*node.operands()[0])) > 1) return Verdict::no("more than one size known only at run time");
  return Verdict::yes();
}

constexpr OpRule kRows[] = {
    {"aten._native_batch_norm_legit_no_training.default", constant_statistics, any_order, lower_batch_norm,
     Unknown::any, true},
    {"aten._softmax.default", plain_softmax, softmax_layout, lower_softmax, Unknown::any},
    {"aten.amax.default", largest_taken, reduce_layout, lower_amax, Unknown::one},
    {"aten.amin.default", largest_taken, reduce_layout, lower_amin, Unknown::one},
    {"aten.mean.dim", known_rows, reduce_layout, lower_mean, Unknown::any},
    {"aten.native_group_norm.default", known_groups, plain_layout, lower_group_norm, Unknown::one},
    {"aten.native_layer_norm.default", constant_affine, norm_layout, lower_layer_norm, Unknown::any},
    {"aten.rms_norm.default", constant_affine, norm_layout, lower_rms_norm, Unknown::any},
    {"aten.sum.dim_IntList", known_rows, reduce_layout, lower_sum, Unknown::any},
};

}  // namespace

const RuleFamily kNormalizationRules = {kRows, std::size(kRows)};

namespace {

constexpr int64_t kLongSum = 256;

uint32_t global_mean(Lowering& l, uint32_t x) {
  const Dims dims = l.dims(x);
  PayloadNode node;
  node.type = NodeType::global_avg_pooling_2d;
  node.inputs[0] = x;
  node.flags = kKeepDims;
  return l.add(std::move(node), {dims[0], 1, 1, dims[3]});
}

// The largest divisor up to the square root.
int64_t middle_divisor(int64_t count) {
  int64_t divisor = 1;
  for (int64_t i = 2; i * i <= count; ++i) {
    if (count % i == 0) divisor = i;
  }
  return divisor;
}

}  // namespace

uint32_t image_mean(Lowering& l, uint32_t x) {
  const Dims dims = l.dims(x);
  if (l.is_int8() || !dims[1].is_const() || !dims[2].is_const() || !dims[3].is_const()) return global_mean(l, x);
  const int64_t count = dims[1].value() * dims[2].value(), parts = middle_divisor(count);
  if (count <= kLongSum || parts == 1) return global_mean(l, x);
  const uint32_t means = global_mean(l, l.reshape(x, {dims[0] * parts, count / parts, 1, dims[3]}));
  return global_mean(l, l.reshape(means, {dims[0], parts, 1, dims[3]}));
}

}  // namespace wick::xnnpack
