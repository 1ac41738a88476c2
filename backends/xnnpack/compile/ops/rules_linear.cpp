// Linear layers and matmuls.
#include <cmath>

#include "backends/xnnpack/compile/ops/curves.h"
#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- matrices ---

LayoutRule matmul_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::matmul;
  return rule;
}

bool is_transposed_in_memory(const Lowering& l, const Value* value) {
  const Sizes dims = dims_of(*value);
  if (value->is_constant()) return false;
  const Order& order = l.order_of(value);
  return !same_bytes(dims, order, plain_order(dims.size())) && same_bytes(dims, order, swapped_order(dims.size()));
}

// --- linear ---

LayoutRule features_innermost(const Node& node) { return innermost(node.result()->rank() - 1); }

bool is_weight(const Value& value) { return is_plain_constant(value) || quantized_constant(value); }

// With a matrix that is computed at run time, the node becomes a batched matmul with a batch of one.
Verdict known_matrices(const Node& node, const Value* weight) {
  if (weight->rank() != 2) return Verdict::no("a weight that does not have two dimensions");
  size_t unknown = 0;
  for (const Value* operand : node.operands()) unknown += num_symbolic(dims_of(*operand));
  return unknown == 0 ? Verdict::yes() : Verdict::no("a weight that is computed at run time, and unknown sizes");
}

Verdict plain_linear(const Node& node, const TargetContext&) {
  const Value* bias = node.optional_tensor("bias");
  if (bias && bias->rank() != 1) return Verdict::no("a bias that is not one row");
  if (node.operands()[0]->rank() < 1) return Verdict::no("an input without dimensions");
  const Value* weight = node.tensor("weight");
  return is_weight(*weight) ? Verdict::yes() : known_matrices(node, weight);
}

// a [m, k] x b [k, n], or b [n, k] if swapped
uint32_t matrix_product(Lowering& l, uint32_t a, uint32_t b, bool swapped) {
  const auto batched = [&](uint32_t x) { return l.reshape(x, {1, l.dims(x)[0], l.dims(x)[1]}); };
  const uint32_t out = batch_product(l, batched(a), batched(b), swapped);
  return l.reshape(out, {l.dims(out)[1], l.dims(out)[2]});
}

// x + bias, or x, within the range
uint32_t with_bias(Lowering& l, uint32_t x, uint32_t bias, OutputRange range) {
  if (bias != kNoValue) return l.binary(NodeType::add, x, bias, range);
  return range.min < range.max && (std::isfinite(range.min) || std::isfinite(range.max)) ? clamped(l, x, range) : x;
}

// Sets body(a, b, summand) as the node's result; `summand` may be kNoValue. A node of f16 is computed in f32, because
// eager rounds once.
template <typename Body>
void blend_in_fp32(Lowering& l, const Node& node, uint32_t a, uint32_t b, uint32_t summand, const Body& body) {
  const DataType type = l.type();
  const auto wide = [&](uint32_t x) { return x == kNoValue ? x : l.as_type(x, DataType::fp32); };
  if (type != DataType::fp16) return l.set_result(node, body(a, b, summand));
  const uint32_t left = wide(a), right = wide(b), term = wide(summand);
  l.set_result(node, l.as_type(body(left, right, term), type));
}

// A matmul with a filter of one or several parts, the smallest added first. Stock's cache of packed weights identifies
// them by the bytes of filter and bias, not by scales. So parts with the same digits must differ in their biases: none,
// or zeros of either sign, which add nothing.
uint32_t linear_of(Lowering& l, uint32_t x, uint32_t filter, uint32_t bias, OutputRange range) {
  const FilterParts parts = l.parts_of(filter);
  if (parts.size() == 1 && parts[0].size() == 1) return l.fully_connected(x, filter, bias, 0, range);
  const int64_t columns = l.dims(filter)[0].value();
  const auto all = [&](float zero) {
    return l.constant(std::vector<float>(static_cast<size_t>(columns), zero), {columns}, true);
  };
  uint32_t sum = kNoValue;
  for (size_t plane = parts.size(); plane-- > 0;) {
    const uint32_t summand = plane == 0 ? bias : kNoValue;
    const size_t count = parts[plane].size();
    for (size_t i = count; i-- > 0;) {
      uint32_t own = summand;
      if (i > 0) own = i + 1 == count ? all(-0.0f) : (summand == kNoValue ? all(0) : kNoValue);
      const uint32_t product = l.fully_connected(x, parts[plane][i], own);
      const OutputRange clamp = plane == 0 && i == 0 ? range : OutputRange{};
      sum = sum == kNoValue ? product : l.binary(NodeType::add, product, sum, clamp);
    }
  }
  return sum;
}

void lower_linear(Lowering& l, const Node& node) {
  const Value *weight = node.tensor("weight"), *bias = node.optional_tensor("bias");
  const uint32_t x = l.rows_along(node, node.result()->rank() - 1), filter = l.operand(weight, plain_order(2));
  const bool packed = is_weight(*weight);
  // The library release of 2024-11 also multiplies the bias by the scales of integer weights.
  const bool bias_apart = bias && l.has_integer_weights();
  if (packed && (!bias || is_plain_constant(*bias)) && !bias_apart)
    return l.set_result(node, linear_of(l, x, filter, bias_of(l, bias, l.type()), l.range_of(node)));
  const Sizes dims = l.dims(x);
  const Sizes rows{compiler::layout::product({dims.begin(), dims.end() - 1}), dims.back()};
  const uint32_t summand = bias ? l.operand(bias, plain_order(bias->rank())) : kNoValue;
  if (packed)
    return l.set_result(
        node, l.as_result(node, with_bias(l, l.fully_connected(x, filter, kNoValue), summand, l.range_of(node))));
  const auto product = [&](uint32_t a, uint32_t b, uint32_t term) {
    return l.as_result(node, with_bias(l, matrix_product(l, a, b, true), term, l.range_of(node)));
  };
  const uint32_t flat = l.reshape(x, rows);
  if (!bias) return l.set_result(node, product(flat, filter, summand));
  blend_in_fp32(l, node, flat, filter, summand, product);
}

// [.., m, k] x [.., k, n]
Verdict known_columns(const Node& node, const TargetContext&) {
  const Sizes left = dims_of(*node.operands()[0]), right = dims_of(*node.operands()[1]);
  bool agree = left.back() == right[right.size() - 2];
  for (size_t i = 0; i + 2 < left.size() && i + 2 < right.size(); ++i)
    agree = agree && (left[i] == right[i] || left[i].is(1) || right[i].is(1));
  return agree ? Verdict::yes() : Verdict::no(kAgreeOnlyAtRunTime);
}

Verdict same_rank_batches(const Node& node, const TargetContext& context) {
  const size_t rank = node.operands()[0]->rank();
  if (rank < 3 || node.operands().size() != 2 || node.operands()[1]->rank() != rank)
    return Verdict::no("a matmul of tensors of different ranks");
  return known_columns(node, context);
}

void lower_bmm(Lowering& l, const Node& node) {
  l.set_result(
      node, batch_product(l, l.operand(node, 0), l.operand(node, 1), is_transposed_in_memory(l, node.operands()[1])));
}

void lower_mm(Lowering& l, const Node& node) {
  const Value* right = node.operands()[1];
  const uint32_t a = l.operand(node, 0), b = l.operand(node, 1);
  if (is_plain_constant(*right)) return l.set_result(node, l.fully_connected(a, b, kNoValue, kTransposeWeights));
  const auto batched = [&](uint32_t x) { return l.reshape(x, {1, l.dims(x)[0], l.dims(x)[1]}); };
  l.set_result(node, batch_product(l, batched(a), batched(b), is_transposed_in_memory(l, right)));
}

Verdict plain_addmm(const Node& node, const TargetContext&) {
  if (!number(node, "beta") || !number(node, "alpha")) return Verdict::no("alpha or beta known only at run time");
  for (const char* name : {"beta", "alpha"}) {
    std::string reason = refuse_factor(node, name);
    if (!reason.empty()) return Verdict::no(std::move(reason));
  }
  const Value* right = node.tensor("mat2");
  return is_plain_constant(*right) ? Verdict::yes() : known_matrices(node, right);
}

// beta self + alpha mat1 mat2
void lower_addmm(Lowering& l, const Node& node) {
  const Value *bias = node.tensor("self"), *right = node.tensor("mat2");
  const double beta = *number(node, "beta"), alpha = *number(node, "alpha");
  const uint32_t a = l.operand(node.tensor("mat1"), plain_order(2)), b = l.operand(right, plain_order(2));
  const Sizes columns{result_dims(node)[1]};
  const bool plain = beta == 1 && alpha == 1 && is_plain_constant(*right);
  if (plain && is_plain_constant(*bias) && dims_of(*bias) == columns)
    return l.set_result(node, l.fully_connected(a, b, bias_of(l, bias, l.type()), kTransposeWeights, l.range_of(node)));
  // If beta is 0, eager ignores the summand.
  const uint32_t summand = beta == 0 ? kNoValue : l.operand(bias, plain_order(2));
  const auto blended = [&](uint32_t x, uint32_t y, uint32_t term) {
    const uint32_t product = is_plain_constant(*right) ? l.fully_connected(x, y, kNoValue, kTransposeWeights)
                                                       : matrix_product(l, x, y, false);
    const uint32_t scaled = term == kNoValue ? kNoValue : times(l, term, beta);
    return with_bias(l, times(l, product, alpha), scaled, l.range_of(node));
  };
  if (summand == kNoValue && alpha == 1) return l.set_result(node, blended(a, b, summand));
  const bool widens = l.type() == DataType::fp16 && is_plain_constant(*right);
  blend_in_fp32(l, node, a, widens ? l.weight(right, DataType::fp32, l.dims(b)) : b, summand, blended);
}

// The library packs the second operand of a matmul of two computed tensors in each call, even if it is multiplied by
// few rows. Either operand may be the second one, so few columns count like few rows.
bool packs_for_few_rows(const Node& node) {
  constexpr int64_t kFewRows = 4;
  for (const Value* operand : node.operands())
    if (operand->is_constant()) return false;
  const Sizes dims = dims_of(*node.result());
  const auto few = [](const compiler::Sym& size) { return size.is_const() && size.value() < kFewRows; };
  return dims.size() >= 2 && (few(dims[dims.size() - 2]) || few(dims[dims.size() - 1]));
}

constexpr OpRule kLinearRows[] = {
    deviates(kProduct, {"aten.addmm.default", plain_addmm, contiguous, lower_addmm, Unknown::any, true}),
    costs_more(deviates(kProduct, {"aten.bmm.default", known_columns, matmul_layout, lower_bmm, Unknown::any}),
               packs_for_few_rows),
    deviates(kProduct, on_int8(fits_weights, {"aten.linear.default", plain_linear, features_innermost, lower_linear,
                                              Unknown::any, true})),
    costs_more({"aten.matmul.default", same_rank_batches, matmul_layout, lower_bmm, Unknown::any}, packs_for_few_rows),
    costs_more(deviates(kProduct, {"aten.mm.default", known_columns, matmul_layout, lower_mm, Unknown::one}),
               packs_for_few_rows),
};

}  // namespace

const RuleFamily kLinearRules = {kLinearRows, std::size(kLinearRows)};

Verdict constant_weights(const Node& node, const TargetContext&) {
  if (node.operands()[0]->rank() < 1) return Verdict::no("an input without dimensions");
  if (!is_weight(*node.tensor("weight"))) return Verdict::no("a weight that is computed at run time");
  const Value* bias = node.optional_tensor("bias");
  if (bias && !is_plain_constant(*bias)) return Verdict::no("a bias that is computed at run time");
  return Verdict::yes();
}

uint32_t bias_of(Lowering& l, const Value* bias, DataType type) {
  if (!bias) return kNoValue;
  if (l.is_int8()) return l.int8_bias(bias);
  return l.weight(bias, l.is_dynamic() ? DataType::fp32 : type, dims_of(*bias));
}

uint32_t batch_product(Lowering& l, uint32_t a, uint32_t b, bool swapped) {
  PayloadNode node;
  node.type = NodeType::batch_matrix_multiply;
  node.inputs[0] = a;
  node.inputs[1] = b;
  node.flags = swapped ? uint32_t{kTransposeWeights} : 0;
  Sizes dims = l.dims(a);
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    if (dims[i].is(1)) dims[i] = l.dims(b)[i];
  }
  dims.back() = l.dims(b)[dims.size() - (swapped ? 2 : 1)];
  return l.add(std::move(node), dims);
}

}  // namespace wick::xnnpack
