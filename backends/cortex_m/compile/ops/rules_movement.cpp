// Data movement: the same operator, on elements. Fills become elements; operands of another scale than the result are
// brought to it first.
#include <fmt/format.h>

#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Values;
using compiler::Verdict;

namespace {

bool is_data(const Value& value) { return value.type.is_tensor() && value.is_quantized(); }

std::string refuse_operand(const Value& operand) {
  const bool is_index = operand.type.is_tensor() && !operand.is_quantized() &&
                        (is_integral(operand.dtype()) || operand.dtype() == DType::boolean);
  if (is_index) return "";
  return refuse_int8(operand, "an operand");
}

Verdict supports_movement(const Node& node, const Configuration&) {
  if (node.results().size() != 1) return Verdict::no("it has more than one result");
  std::string reason = refuse_int8(*node.result(), "its result");
  if (!reason.empty()) return Verdict::no(reason);
  for (const Value* operand : node.operands()) {
    reason = refuse_operand(*operand);
    if (!reason.empty()) return Verdict::no(reason);
  }
  return Verdict::yes();
}

// The operand with the result's scale and range.
Value* brought(Builder& b, Value* operand, const Affine& to) {
  if (!operand || !is_data(*operand)) return operand;
  const Affine from = affine(*operand);
  return same_numbers(from, to) ? clamped(b, operand, from, to) : requantized(b, operand, from, to);
}

std::vector<Value*> rewrite_movement(Builder& b, Node& node, const Configuration&) {
  const Affine q = affine(*node.result());
  compiler::Args args;
  for (size_t i = 0; i < node.args().size(); ++i) {
    compiler::Arg arg = node.arg(i);
    if (arg.is<Value*>()) {
      arg = brought(b, arg.as<Value*>(), q);
    } else if (arg.is<Values>()) {
      Values values = arg.as<Values>();
      for (Value*& value : values) value = brought(b, value, q);
      arg = std::move(values);
    } else if (node.op->parsed->args[i].type == compiler::ArgType::scalar) {
      const auto number = compiler::literal(arg);
      if (number) arg = int64_t{quantize(*number, q)};
    }
    args.push_back(std::move(arg));
  }
  return {b.call(node.op->name(), std::move(args))};
}

// The position of the largest or smallest number is that of the element.
Verdict supports_position(const Node& node, const Configuration&) {
  const std::string reason = refuse_int8(*node.tensor("self"), "its input");
  return reason.empty() ? Verdict::yes() : Verdict::no(reason);
}

std::vector<Value*> rewrite_position(Builder& b, Node& node, const Configuration&) {
  return {b.call(node.op->name(), node.args())};
}

// Operators that choose elements, and are not marked as data movement.
constexpr OpRule kRules[] = {
    {"aten.argmax.default", supports_position, rewrite_position, true},
    {"aten.argmin.default", supports_position, rewrite_position, true},
    {"aten.upsample_nearest2d.vec", supports_movement, rewrite_movement, true},
    {"aten.where.self", supports_movement, rewrite_movement, true},
};

}  // namespace

const RuleFamily kMovementRules = {kRules, std::size(kRules)};
const OpRule kMovementRule = {"", supports_movement, rewrite_movement, true};

bool only_moves(const Node& node) {
  const bool moves =
      node.op->has(compiler::kMoves) || (node.op->has(compiler::kView) && !node.op->has(compiler::kReinterprets));
  return moves && !node.op->has(compiler::kElements | compiler::kScratch) && node.op->infer;
}

}  // namespace wick::cortex_m
