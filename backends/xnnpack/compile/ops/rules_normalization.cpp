// Softmax, norms, and other operators with one number per channel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- one dimension innermost ---

Verdict plain_softmax(const Node& node, const TargetContext&) {
  return node.result()->rank() > 0 ? Verdict::yes() : Verdict::no("a softmax of a scalar");
}
void lower_softmax(Lowering& l, const Node& node) {
  PayloadNode softmax;
  softmax.type = NodeType::softmax;
  softmax.flags = node.is("aten._safe_softmax.default") ? kZeroRows : 0u;
  lower_in_fp32(l, node, l.rows_along(node, softmax_layout(node).dim), [&](uint32_t x) {
    softmax.inputs[0] = x;
    return l.add(softmax, Sizes(l.dims(x)));
  });
}

// --- norms ---

size_t normalized_rank(const Node& node) { return node.ints("normalized_shape").size(); }

// One dimension is made innermost. Several need the plain order, in which they can be merged into one.
LayoutRule norm_layout(const Node& node) {
  return normalized_rank(node) == 1 ? innermost(node.result()->rank() - 1) : contiguous(node);
}

Verdict constant_affine(const Node& node, const TargetContext&) {
  for (const char* name : {"weight", "bias"}) {
    if (node.op->parsed->find(name) < 0) continue;
    const Value* value = node.optional_tensor(name);
    if (value && !is_plain_constant(*value)) return Verdict::no(fmt::format("a {} that is computed at run time", name));
  }
  if (node.op->parsed->find("normalized_shape") >= 0) {
    const Sizes dims = result_dims(node);
    const size_t count = normalized_rank(node);
    if (num_symbolic({dims.end() - static_cast<ptrdiff_t>(count), dims.end()}) > 0)
      return Verdict::no("a norm over sizes known only at run time");
    if (count > 1 && num_symbolic(dims) > 1) return Verdict::no("more than one size known only at run time");
  }
  if (node.op->parsed->find("eps") >= 0 && !node.is_none("eps") && !number(node, "eps"))
    return Verdict::no("an eps known only at run time");
  return Verdict::yes();
}

// x * sqrt(n / (sum(x^2) + n eps)) over the n elements of the last dimension. Where the sum of squares is infinite the
// row becomes zero, as in eager: the library's reciprocal root would make NaN of it.
uint32_t scaled_by_rms(Lowering& l, uint32_t x, double eps) {
  const int64_t columns = l.dims(x).back().value();
  const auto count = static_cast<double>(columns);
  const uint32_t ones = l.constant(std::vector<float>(static_cast<size_t>(columns), 1.0f), {1, columns});
  const uint32_t squares = l.fully_connected(l.unary(NodeType::square, x), ones, l.scalar(count * eps));
  const uint32_t inverse = l.binary(NodeType::div, l.scalar(count), squares);
  return l.binary(NodeType::multiply, x, l.unary(NodeType::square_root, inverse));
}

uint32_t normalized(Lowering& l, uint32_t x, double eps) {
  return scaled_by_rms(l, l.binary(NodeType::subtract, x, l.row_mean(x)), eps);
}

uint32_t with_affine(Lowering& l, const Node& node, uint32_t x, const Sizes& dims) {
  const auto values = [&](const char* name) -> const Value* {
    return node.op->parsed->find(name) < 0 ? nullptr : node.optional_tensor(name);
  };
  if (const Value* weight = values("weight")) x = l.binary(NodeType::multiply, x, l.weight(weight, l.type(), dims));
  if (const Value* bias = values("bias")) x = l.binary(NodeType::add, x, l.weight(bias, l.type(), dims));
  return x;
}

// Operand 0 with its normalized dimensions as one, innermost.
uint32_t flat_rows(Lowering& l, const Node& node) {
  const size_t count = normalized_rank(node);
  if (count == 1) return l.rows_along(node, node.result()->rank() - 1);
  const Sizes dims = result_dims(node);
  const auto split = dims.end() - static_cast<ptrdiff_t>(count);
  return l.reshape(l.operand(node, 0),
                   {compiler::layout::product({dims.begin(), split}), compiler::layout::product({split, dims.end()})});
}

Sizes row_dims(const Lowering& l, uint32_t x) { return {l.dims(x).back()}; }

// Sets body(rows) as the node's result, computed in f32: squares of numbers beyond 256 are infinite in f16.
template <typename Body>
void lower_norm(Lowering& l, const Node& node, uint32_t rows, const Body& body) {
  lower_in_fp32(l, node, rows, [&](uint32_t x) { return l.as_result(node, body(x)); });
}

void lower_layer_norm(Lowering& l, const Node& node) {
  lower_norm(l, node, flat_rows(l, node),
             [&](uint32_t x) { return with_affine(l, node, normalized(l, x, *number(node, "eps")), row_dims(l, x)); });
}

void lower_rms_norm(Lowering& l, const Node& node) {
  // Without eps: the machine epsilon of f32, in which eager computes f16, too.
  const double eps = node.is_none("eps") ? std::numeric_limits<float>::epsilon() : *number(node, "eps");
  lower_norm(l, node, flat_rows(l, node),
             [&](uint32_t x) { return with_affine(l, node, scaled_by_rms(l, x, eps), row_dims(l, x)); });
}

Sizes rows_of_groups(const Node& node) {
  const Sizes dims = result_dims(node);
  const int64_t groups = node.static_integer("group");
  return {dims[0] * groups, compiler::layout::product({dims.begin() + 2, dims.end()}) * (dims[1].value() / groups)};
}

// [n, c, ..] as n * groups rows, each with c / groups channels and their area.
void lower_known_groups(Lowering& l, const Node& node) {
  const Sizes dims = result_dims(node);
  const compiler::Sym area = compiler::layout::product({dims.begin() + 2, dims.end()});
  lower_norm(l, node, l.reshape(l.operand(node, 0), rows_of_groups(node)), [&](uint32_t x) {
    const uint32_t images = l.reshape(normalized(l, x, *number(node, "eps")), {dims[0], dims[1], area});
    return with_affine(l, node, images, {dims[1], 1});
  });
}

// The mean of each group: [n, groups, 1]. If the batch is unknown, channels cannot be merged with their area: means
// over the area come first, then those over channels.
uint32_t mean_of_groups(Lowering& l, const Node& node, uint32_t x) {
  Sizes dims = result_dims(node);
  const int64_t groups = node.static_integer("group"), in_group = dims[1].value() / groups;
  if (dims[0].is_const()) return l.reshape(mean_of_rows(l, l.reshape(x, rows_of_groups(node))), {dims[0], groups, 1});
  while (dims.size() > 2) {
    dims.pop_back();
    x = l.reshape(mean_of_rows(l, x), dims);
  }
  return mean_of_rows(l, l.reshape(x, {dims[0], groups, in_group}));
}

// Only the means of groups have sizes that do not come from the operand: [n, c, 1, ..].
void lower_unknown_groups(Lowering& l, const Node& node) {
  const Sizes dims = result_dims(node);
  const int64_t groups = node.static_integer("group"), in_group = dims[1].value() / groups;
  Sizes channels(dims.size() - 1, 1);  // of weight and bias
  channels[0] = dims[1];
  Sizes statistics = channels;
  statistics.insert(statistics.begin(), dims[0]);
  const auto mean = [&](uint32_t x) {
    const uint32_t ones = l.constant(std::vector<float>(static_cast<size_t>(in_group), 1.0f), {1, 1, in_group});
    return l.reshape(l.binary(NodeType::multiply, mean_of_groups(l, node, x), ones), statistics);
  };
  lower_norm(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t centred = l.binary(NodeType::subtract, x, mean(x));
    const uint32_t variance = mean(l.unary(NodeType::square, centred));
    const uint32_t inverse =
        l.binary(NodeType::div, l.scalar(1), l.binary(NodeType::add, variance, l.scalar(*number(node, "eps"))));
    const uint32_t out = l.binary(NodeType::multiply, centred, l.unary(NodeType::square_root, inverse));
    return with_affine(l, node, out, channels);
  });
}

bool has_known_area(const Node& node) {
  const Sizes dims = result_dims(node);
  return num_symbolic({dims.begin() + 2, dims.end()}) == 0;
}

void lower_group_norm(Lowering& l, const Node& node) {
  has_known_area(node) ? lower_known_groups(l, node) : lower_unknown_groups(l, node);
}

Verdict known_groups(const Node& node, const TargetContext& context) {
  const Sizes dims = result_dims(node);
  if (!node.integer("group").is_const() || !dims[1].is_const())
    return Verdict::no("a number of groups or channels known only at run time");
  if (dims.size() == 5 && !dims[0].is_const() && !dims[4].is_const())
    return Verdict::no("a batch and a volume of sizes known only at run time");
  return constant_affine(node, context);
}

// The statistics are constants: one factor and one summand per channel.
Verdict constant_statistics(const Node& node, const TargetContext&) {
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const Value* value = node.optional_tensor(name);
    if (value && !is_plain_constant(*value)) return Verdict::no(fmt::format("a {} that is computed at run time", name));
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
  Sizes dims;
  for (const uint8_t dim : l.order(node)) dims.emplace_back(dim == 1 ? static_cast<int64_t>(mean.size()) : 1);
  const uint32_t scaled = l.binary(NodeType::multiply, l.operand(node, 0), l.constant(factor, dims));
  l.set_result(node, l.binary(NodeType::add, scaled, l.constant(summand, dims), l.range_of(node)));
}

Verdict constant_slope(const Node& node, const TargetContext&) {
  const Value* weight = node.tensor("weight");
  if (!is_plain_constant(*weight)) return Verdict::no("a weight that is computed at run time");
  if (weight->rank() != 1) return Verdict::no("a weight whose rank is not 1");
  // For 0 eager multiplies by the slope, the library does not.
  if (!all_elements(*weight, [](float slope) { return std::isfinite(slope); }))
    return Verdict::no("a slope that is infinite or NaN");
  std::string reason = refuse_factor(node, "weight");
  return reason.empty() ? Verdict::yes() : Verdict::no(std::move(reason));
}

// One slope per channel, which is dimension 1, or one for all.
void lower_prelu(Lowering& l, const Node& node) {
  const Value* weight = node.tensor("weight");
  const compiler::Sym count = dims_of(*weight)[0];
  Sizes dims;
  for (const uint8_t dim : l.order(node)) dims.push_back(dim == 1 ? count : compiler::Sym(1));
  l.set_result(node, l.binary(NodeType::prelu, l.operand(node, 0), l.weight(weight, l.type(), dims)));
}

constexpr OpRule kNormalizationRows[] = {
    costs_more({"aten._native_batch_norm_legit_no_training.default", constant_statistics, any_dim_order,
                lower_batch_norm, Unknown::any, true}),
    {"aten._safe_softmax.default", plain_softmax, softmax_layout, lower_softmax, Unknown::any},
    {"aten._softmax.default", plain_softmax, softmax_layout, lower_softmax, Unknown::any},
    costs_more(deviates(kProduct,
                        {"aten.native_group_norm.default", known_groups, contiguous, lower_group_norm, Unknown::any})),
    costs_more(deviates(
        kProduct, {"aten.native_layer_norm.default", constant_affine, norm_layout, lower_layer_norm, Unknown::any})),
    loses_sign(ZeroSign::lost, {"aten.prelu.default", constant_slope, any_dim_order, lower_prelu, Unknown::any}),
    deviates(kProduct, {"aten.rms_norm.default", constant_affine, norm_layout, lower_rms_norm, Unknown::any}),
};

}  // namespace

const RuleFamily kNormalizationRules = {kNormalizationRows, std::size(kNormalizationRows)};

}  // namespace wick::xnnpack
