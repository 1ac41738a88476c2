// Data movement on elements, by the same operator. Fill values become elements. Operands whose scale differs from the
// result's are converted to it first.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Values;
using compiler::Verdict;

namespace rules_movement {
namespace {

bool is_data(const Value& value) { return value.type.is_tensor() && value.is_quantized(); }

// Whether it is a constant in floats, which becomes elements of the result at compile time.
bool is_float_constant(const Value& value) {
  return value.is_constant() && !value.is_quantized() && value.dtype() == DType::f32;
}

Refusal refuse_operand(const Value& operand, const Value& result, const Configuration& configuration) {
  const bool is_index = operand.type.is_tensor() && !operand.is_quantized() &&
                        (is_integral(operand.dtype()) || operand.dtype() == DType::boolean);
  if (is_index || is_float_constant(operand)) return {};
  Refusal reason = refuse_elements(operand, "an operand");
  return reason.empty() ? refuse_conversion(operand, result, configuration) : reason;
}

Verdict supports_movement(const Node& node, const Configuration& configuration) {
  if (node.results().size() != 1) return refused({"it has more than one result", "take its results apart with slices"});
  Refusal reason = refuse_elements(*node.result(), "its result");
  if (!reason.empty()) return refused(reason);
  for (const Value* operand : node.operands()) {
    reason = refuse_operand(*operand, *node.result(), configuration);
    if (!reason.empty()) return refused(reason);
  }
  return Verdict::yes();
}

template <typename T>
std::vector<T> quantized(const std::vector<double>& numbers, const Affine& q) {
  std::vector<T> elements;
  elements.reserve(numbers.size());
  for (const double number : numbers) elements.push_back(static_cast<T>(quantize(number, q)));
  return elements;
}

// A constant's numbers as int8 or int16 elements.
Value* quantized_constant(Builder& b, const Value& x, const Affine& q, DType dtype) {
  const std::vector<double> all = numbers(x);
  compiler::ConstantData elements = dtype == DType::i16 ? compiler::layout::own(quantized<int16_t>(all, q))
                                                        : compiler::layout::own(quantized<int8_t>(all, q));
  return b.constant(compiler::TensorType{dtype, x.sizes(), x.tensor().dim_order}, std::move(elements), x.name);
}

// The operand converted to the result's scale and range.
Value* brought(Builder& b, Value* operand, const Affine& to, DType dtype) {
  if (!operand) return nullptr;
  if (is_data(*operand)) return converted(b, operand, affine(*operand), to, dtype);
  return is_float_constant(*operand) ? quantized_constant(b, *operand, to, dtype) : operand;
}

std::vector<Value*> rewrite_movement(Builder& b, Node& node, const Configuration&) {
  const Affine q = affine(*node.result());
  compiler::Args args;
  for (size_t i = 0; i < node.args().size(); ++i) {
    compiler::Arg arg = node.arg(i);
    if (arg.is<Value*>()) {
      arg = brought(b, arg.as<Value*>(), q, node.result()->dtype());
    } else if (arg.is<Values>()) {
      Values values = arg.as<Values>();
      for (Value*& value : values) value = brought(b, value, q, node.result()->dtype());
      arg = std::move(values);
    } else if (node.op->parsed->args[i].type == compiler::ArgType::scalar) {
      const auto number = compiler::literal(arg);
      if (number) arg = int64_t{quantize(*number, q)};
    }
    args.push_back(std::move(arg));
  }
  return {b.call(node.op->name(), std::move(args))};
}

// The largest or smallest number is at the position of the largest or smallest element.
Verdict supports_position(const Node& node, const Configuration&) {
  return verdict_of(refuse_elements(*node.tensor("self"), "its input"));
}

std::vector<Value*> rewrite_position(Builder& b, Node& node, const Configuration&) {
  return {b.call(node.op->name(), node.args())};
}

// The table is constant; its numbers are quantized like the result at compile time.
Verdict supports_embedding(const Node& node, const Configuration&) {
  const Refusal reason = refuse_elements(*node.result(), "its result");
  if (!reason.empty()) return refused(reason);
  const Value* table = node.tensor("weight");
  if (!table->is_constant()) return refused({"its table is computed", kConstantWeights});
  const auto& q = table->tensor().quantization;
  if (q && (q->at_run_time || (!q->is_per_tensor() && !q->channel_dim())))
    return refused({"its table has scales for blocks of elements", "quantize the table per tensor or per channel"});
  if (numbers(*table).empty()) return refused({"its table is empty or of another dtype", "use a table of f32 or int8"});
  return Verdict::yes();
}

std::vector<Value*> rewrite_embedding(Builder& b, Node& node, const Configuration&) {
  const Value& y = *node.result();
  compiler::Args args = node.args();
  args[static_cast<size_t>(node.op->parsed->find("weight"))] =
      quantized_constant(b, *node.tensor("weight"), affine(y), y.dtype());
  return {b.call(node.op->name(), std::move(args))};
}

// Writes elements at positions and keeps the others.
Verdict supports_index_put(const Node& node, const Configuration& configuration) {
  if (node.boolean("accumulate")) return refused({"it adds to what is there", "add tensors of equal sizes instead"});
  return supports_movement(node, configuration);
}

// Numbers outside of the triangle are 0; their element is the zero point.
std::vector<Value*> rewrite_triangle(Builder& b, Node& node, const Configuration&) {
  Value* x = node.tensor("self");
  const Affine to = affine(*node.result());
  x = brought(b, x, to, node.result()->dtype());
  const int64_t diagonal = node.static_integer("diagonal");
  if (to.zero == 0) return {b.call(node.op->name(), {x, diagonal})};
  const int64_t rows = x->sizes()[x->rank() - 2].value(), columns = x->sizes().back().value();
  std::vector<uint8_t> outside;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t above = i % columns - i / columns - diagonal;
    outside.push_back(node.is("aten.tril.default") ? above > 0 : above < 0);
  }
  Value* mask = b.constant(compiler::TensorType{DType::boolean, {rows, columns}, {}},
                           compiler::layout::own(std::move(outside)), "outside");
  return {b.call("aten.masked_fill.Scalar", {x, mask, int64_t{to.zero}})};
}

// Operators that select elements but are not marked as data movement.
constexpr OpRule kRules[] = {
    {"aten.argmax.default", supports_position, rewrite_position, true, false, OpenSizes::batch},
    {"aten.argmin.default", supports_position, rewrite_position, true, false, OpenSizes::batch},
    {"aten.embedding.default", supports_embedding, rewrite_embedding, true, false, OpenSizes::batch},
    {"aten.index.Tensor", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.index_put.default", supports_index_put, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.masked_fill.Scalar", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.masked_scatter.default", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.scatter.src", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.scatter.value", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.select_scatter.default", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.slice_scatter.default", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
    {"aten.tril.default", supports_movement, rewrite_triangle, true},
    {"aten.triu.default", supports_movement, rewrite_triangle, true},
    {"aten.where.self", supports_movement, rewrite_movement, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_movement

const RuleFamily kMovementRules = {rules_movement::kRules, std::size(rules_movement::kRules)};
const OpRule kMovementRule = {
    "", rules_movement::supports_movement, rules_movement::rewrite_movement, true, false, OpenSizes::batch};

bool only_moves(const Node& node) {
  const bool moves =
      node.op->has(compiler::kMoves) || (node.op->has(compiler::kView) && !node.op->has(compiler::kReinterprets));
  return moves && !node.op->has(compiler::kElements | compiler::kScratch) && node.op->infer;
}

Value* copy_to_dim_order(Builder& b, Value* value, const compiler::layout::DimOrder& order) {
  constexpr size_t kMostRank = 4;
  const compiler::layout::DimOrder from = compiler::layout::stored_order(*value);
  const compiler::Sizes& sizes = value->sizes();
  const auto is_open = [](const compiler::Sym& size) { return !size.is_const(); };
  const bool moves_batch = order.empty() || order[0] != 0 || from[0] != 0;
  if (value->dtype() != DType::i8 || order.size() > kMostRank ||
      std::any_of(sizes.begin() + (moves_batch || sizes.empty() ? 0 : 1), sizes.end(), is_open) ||
      compiler::layout::same_bytes(value->sizes(), from, order))
    return nullptr;
  // Permuted to the order of memory, both tensors are contiguous.
  compiler::Ints perm;
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    perm.push_back(std::find(from.begin(), from.end(), order[i]) - from.begin());
    back[order[i]] = static_cast<int64_t>(i);
  }
  Value* x = b.permute(value, {from.begin(), from.end()});
  return b.permute(b.call("cortex_m.transpose", {x, perm}), back);
}

}  // namespace wick::cortex_m
