// Linear layers and matrix products.
#include "backends/xnnpack/quantized.h"
#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- linear ---

LayoutRule features_innermost(const Node& node) { return innermost(node.result()->rank() - 1); }

void lower_linear(Lowering& l, const Node& node) {
  const Value* weight = node.tensor("weight");
  const uint32_t filter = l.operand(weight, plain_order(2));
  const uint32_t bias = bias_of(l, node.optional_tensor("bias"), l.type());
  l.set_result(node,
               l.fully_connected(l.rows_along(node, node.result()->rank() - 1), filter, bias, 0, l.range_of(node)));
}

LayoutRule matmul_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::matmul;
  return rule;
}

// [.., m, k] x [.., k, n], the second perhaps with its last two dimensions swapped in memory.
uint32_t product_of(Lowering& l, uint32_t a, uint32_t b, bool swapped) {
  PayloadNode node;
  node.type = NodeType::batch_matrix_multiply;
  node.inputs[0] = a;
  node.inputs[1] = b;
  node.flags = swapped ? uint32_t{kTransposeWeights} : 0;
  Dims dims = l.dims(a);
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    if (dims[i].is(1)) dims[i] = l.dims(b)[i];
  }
  dims.back() = l.dims(b)[dims.size() - (swapped ? 2 : 1)];
  return l.add(std::move(node), dims);
}

bool lies_swapped(const Lowering& l, const Value* value) {
  const Dims dims = dims_of(*value);
  if (value->is_constant()) return false;
  const Order& order = l.order_of(value);
  return !same_bytes(dims, order, plain_order(dims.size())) && same_bytes(dims, order, swapped_order(dims.size()));
}

// [.., m, k] x [.., k, n]
Verdict known_columns(const Node& node, const TargetOptions&) {
  const Dims left = dims_of(*node.operands()[0]), right = dims_of(*node.operands()[1]);
  bool agree = left.back() == right[right.size() - 2];
  for (size_t i = 0; i + 2 < left.size() && i + 2 < right.size(); ++i)
    agree = agree && (left[i] == right[i] || left[i].is(1) || right[i].is(1));
  return agree ? Verdict::yes() : Verdict::no("sizes that are only known to agree at run time");
}

Verdict same_rank_batches(const Node& node, const TargetOptions& options) {
  const size_t rank = node.operands()[0]->rank();
  if (rank < 3 || node.operands().size() != 2 || node.operands()[1]->rank() != rank)
    return Verdict::no("a matrix product of tensors of different ranks");
  return known_columns(node, options);
}

void lower_bmm(Lowering& l, const Node& node) {
  l.set_result(node, product_of(l, l.operand(node, 0), l.operand(node, 1), lies_swapped(l, node.operands()[1])));
}

void lower_mm(Lowering& l, const Node& node) {
  const Value* right = node.operands()[1];
  const uint32_t a = l.operand(node, 0), b = l.operand(node, 1);
  if (right->is_constant()) return l.set_result(node, l.fully_connected(a, b, kNoValue, kTransposeWeights));
  const auto batched = [&](uint32_t x) { return l.reshape(x, {1, l.dims(x)[0], l.dims(x)[1]}); };
  l.set_result(node, product_of(l, batched(a), batched(b), lies_swapped(l, right)));
}

Verdict plain_addmm(const Node& node, const TargetOptions&) {
  const auto beta = number(node, "beta"), alpha = number(node, "alpha");
  if (!beta || !alpha || *beta != 1 || *alpha != 1) return Verdict::no("alpha or beta other than 1");
  if (!node.tensor("mat2")->is_constant()) return Verdict::no("a second matrix that is computed at run time");
  return Verdict::yes();
}

void lower_addmm(Lowering& l, const Node& node) {
  const Value *bias = node.tensor("self"), *right = node.tensor("mat2");
  const uint32_t a = l.operand(node.tensor("mat1"), plain_order(2)), b = l.operand(right, plain_order(2));
  const Dims columns{result_dims(node)[1]};
  if (bias->is_constant() && dims_of(*bias) == columns)
    return l.set_result(node, l.fully_connected(a, b, bias_of(l, bias, l.type()), kTransposeWeights, l.range_of(node)));
  const uint32_t product = l.fully_connected(a, b, kNoValue, kTransposeWeights);
  l.set_result(node, l.binary(NodeType::add, product, l.operand(bias, plain_order(2)), l.range_of(node)));
}

constexpr OpRule kRows[] = {
    {"aten.addmm.default", plain_addmm, plain_layout, lower_addmm, Unknown::any, true},
    {"aten.bmm.default", known_columns, matmul_layout, lower_bmm, Unknown::any},
    {"aten.linear.default", constant_weights, features_innermost, lower_linear, Unknown::any, true},
    {"aten.matmul.default", same_rank_batches, matmul_layout, lower_bmm, Unknown::any},
    {"aten.mm.default", known_columns, matmul_layout, lower_mm, Unknown::one},
};

}  // namespace

const RuleFamily kLinearRules = {kRows, std::size(kRows)};

namespace {

bool is_weight(const Value& value) {
  return value.is_constant() || (value.producer && quantized_constant(*value.producer));
}

}  // namespace

Verdict constant_weights(const Node& node, const TargetOptions&) {
  if (node.operands()[0]->rank() < 1) return Verdict::no("an input without dimensions");
  if (!is_weight(*node.tensor("weight"))) return Verdict::no("a weight that is computed at run time");
  const Value* bias = node.optional_tensor("bias");
  if (bias && !bias->is_constant()) return Verdict::no("a bias that is computed at run time");
  return Verdict::yes();
}

uint32_t bias_of(Lowering& l, const Value* bias, DataType type) {
  if (!bias) return kNoValue;
  if (l.is_int8()) return l.int8_bias(bias);
  return l.weight(bias, l.is_dynamic() ? DataType::fp32 : type, dims_of(*bias));
}

}  // namespace wick::xnnpack
