#include "backends/xnnpack/compile/ops/refusals.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/compile/ops/op_rules.h"
#include "backends/xnnpack/compile/quantized.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::Value;

namespace {

struct Refusal {
  std::string_view prefix;  // of operators
  const char* reason = nullptr;
  std::string (*why)(const Node& node, const compiler::TargetContext& context) = nullptr;
};
constexpr char kNoOperator[] = "XNNPACK has no operator for it: {}";
constexpr char kBooleans[] = "the library has no booleans";
constexpr char kIndices[] = "the library has no indices";
constexpr char kLosesDigits[] = "the library's kernels would lose precision";
constexpr char kUnknownSizes[] = "sizes known only at run time: {}";

std::string refuse_dtype(const Value& value) {
  return fmt::format("dtype {}; only f32 and f16 are taken", compiler::to_text(value.type));
}

bool has_unknown_size(const Value* value) { return value->type.is_tensor() && num_symbolic(dims_of(*value)) > 0; }

// Why the tensors of a node are refused by the passes that rewrite operators as others: a dtype or an unknown size. ""
// if they are not.
std::string refuse_to_write(const Node& node) {
  const Value& result = *node.result();
  if (result.dtype() != DType::f32 && result.dtype() != DType::f16) return refuse_dtype(result);
  if (has_unknown_size(&result)) return fmt::format(kUnknownSizes, compiler::to_text(result.type));
  for (const Value* operand : node.operands()) {
    if (has_unknown_size(operand)) return fmt::format(kUnknownSizes, compiler::to_text(operand->type));
  }
  return "";
}

// Reads at fixed positions: passes rewrite them as concatenated slices or as a permute.
std::string refuse_places(const Node& node, const compiler::TargetContext&) {
  const auto operands = node.operands();
  const bool known = std::all_of(operands.begin(), operands.end(), [](const Value* operand) {
    return !operand->type.is_tensor() || is_floating(operand->dtype()) || operand->is_constant();
  });
  if (node.op->name().starts_with("aten.index") && !known) return fmt::format(kNoOperator, kIndices);
  const std::string reason = refuse_to_write(node);
  return reason.empty() ? "positions at irregular distances, in more than 32 pieces" : reason;
}

std::string refuse_strides(const Node& node, const compiler::TargetContext&) {
  const std::string reason = refuse_to_write(node);
  return reason.empty() ? "strides that slices, permutes and expands cannot express" : reason;
}

// Triangles: passes rewrite them as multiplications by masks of 0 and 1, or as slices of skewed rows.
std::string refuse_triangle(const Node& node, const compiler::TargetContext&) {
  std::string reason = refuse_to_write(node);
  if (!reason.empty()) return reason;
  const Value* x = compiler::tensor_or_null(node.arg("self"));
  if (!node.integer("diagonal").is_const()) return "a diagonal known only at run time";
  if (x && !x->producer) return "a triangle of an input or constant, which no delegate needs to compute";
  return "a triangle that drops nothing, or one that takes more than 2^20 elements when skewed";
}

// --- conditional selects: factors of 0 and 1, additive masks, or slices of skewed rows ---

bool joins_conditions(const Node& node) {
  return node.op->name().starts_with("aten.logical_") || node.op->name().starts_with("aten.bitwise_");
}
bool compares(const Node& node) { return compiler::is_comparison(node.op->facts.binary); }

// A node that computes the condition from floats other than by comparing f32 tensors, or null.
const Node* foreign_part(const Value* condition, int depth = 0) {
  constexpr int kMaxDepth = 8;
  const Node* node = condition->producer;
  if (!node) return nullptr;
  bool reads_floats = false;
  for (const Value* operand : node->operands()) {
    if (!operand->type.is_tensor()) continue;
    if (joins_conditions(*node) && depth < kMaxDepth) {
      if (const Node* found = foreign_part(operand, depth + 1)) return found;
    } else if (is_floating(operand->dtype())) {
      reads_floats = true;
      if (compares(*node) && operand->dtype() != DType::f32) return node;
    }
  }
  return reads_floats && !compares(*node) ? node : nullptr;
}

std::string refuse_choice(const Node& node, const compiler::TargetContext& context) {
  const Value& result = *node.result();
  if (result.dtype() == DType::boolean) return fmt::format(kNoOperator, kBooleans);
  if (result.dtype() != DType::f32 && result.dtype() != DType::f16) return refuse_dtype(result);
  const Value* condition =
      compiler::tensor_or_null(node.arg(node.op->parsed->find("condition") >= 0 ? "condition" : "mask"));
  if (const Node* part = condition ? foreign_part(condition) : nullptr)
    return fmt::format(
        "a condition computed by {}; only comparisons of f32 tensors and conditions made of integers are taken",
        part->op->name());
  if (result.dtype() == DType::f16)
    return fmt::format("a select between f16 values, {}; only selects in f32 are taken",
                       compiler::to_text(result.type));
  if (context.options.strict_nan) return "a select by factors of 0 and 1, which --strict-nan refuses";
  const auto operands = node.operands();
  const bool is_early = std::none_of(operands.begin(), operands.end(), [](const Value* operand) {
    return operand->type.is_tensor() && is_floating(operand->dtype()) && operand->producer;
  });
  if (is_early) return "a select between inputs and numbers, which need not run in a delegate";
  return "a side of the select, or what its condition compares, may be NaN, and 0 times NaN is NaN";
}

// --- others ---

std::string refuse_bits(const Node& node, const compiler::TargetContext&) {
  const Value& result = *node.result();
  return result.dtype() == DType::boolean ? fmt::format(kNoOperator, kBooleans) : refuse_dtype(result);
}

std::string refuse_creation(const Node& node, const compiler::TargetContext&) {
  if (!is_floating(node.result()->dtype())) return refuse_dtype(*node.result());
  if (has_unknown_size(node.result()))
    return fmt::format("a constant of sizes known only at run time: {}", compiler::to_text(node.result()->type));
  return fmt::format("a constant that the program computes instead of storing it: {}",
                     compiler::to_text(node.result()->type));
}

std::string refuse_composite(const Node& node, const compiler::TargetContext&) {
  const std::string reason = refuse_to_write(node);
  return reason.empty() ? "XNNPACK has no operator for it" : reason;
}

constexpr Refusal kRefusals[] = {
    {"aten._cdist_forward", nullptr, refuse_composite},
    {"aten._upsample_nearest", nullptr, refuse_places},
    {"aten.acos", kLosesDigits},
    {"aten.adaptive_max_pool", nullptr, refuse_composite},
    {"aten.any.", kBooleans},
    {"aten.all.", kBooleans},
    {"aten.arange", nullptr, refuse_creation},
    {"aten.argmax", kIndices},
    {"aten.argmin", kIndices},
    {"aten.as_strided", nullptr, refuse_strides},
    {"aten.asin", kLosesDigits},
    {"aten.atan", kLosesDigits},
    {"aten.bitwise_", nullptr, refuse_bits},
    {"aten.diagonal", nullptr, refuse_places},
    {"aten.div.Tensor_mode", kLosesDigits},
    {"aten.embedding", kIndices},
    {"aten.eq.", kBooleans},
    {"aten.erf", kLosesDigits},
    {"aten.flip", nullptr, refuse_places},
    {"aten.fmod.Tensor", kLosesDigits},
    {"aten.full", nullptr, refuse_creation},
    {"aten.gather", kIndices},
    {"aten.ge.", kBooleans},
    {"aten.gt.", kBooleans},
    {"aten.index", nullptr, refuse_places},
    {"aten.isinf", kBooleans},
    {"aten.isnan", kBooleans},
    {"aten.le.", kBooleans},
    {"aten.logical_", kBooleans},
    {"aten.lt.", kBooleans},
    {"aten.masked_fill", nullptr, refuse_choice},
    {"aten.ne.", kBooleans},
    {"aten.pow.Scalar", kLosesDigits},
    {"aten.pow.Tensor_Tensor", kLosesDigits},
    {"aten.prod.default", nullptr, refuse_composite},
    {"aten.reflection_pad", nullptr, refuse_places},
    {"aten.remainder.Tensor", kLosesDigits},
    {"aten.replication_pad", nullptr, refuse_places},
    {"aten.scatter", kIndices},
    {"aten.select_scatter", nullptr, refuse_places},
    {"aten.sort", kIndices},
    {"aten.tan.", kLosesDigits},
    {"aten.topk", kIndices},
    {"aten.tril.", nullptr, refuse_triangle},
    {"aten.triu.", nullptr, refuse_triangle},
    {"aten.unfold", nullptr, refuse_places},
    {"aten.upsample_nearest", nullptr, refuse_places},
    {"aten.var_mean", nullptr, refuse_composite},
    {"aten.where.self", nullptr, refuse_choice},
};

}  // namespace

std::string refuse_operator(const Node& node, const compiler::TargetContext& context) {
  for (const Refusal& refusal : kRefusals) {
    if (!node.op->name().starts_with(refusal.prefix)) continue;
    if (refusal.why) return refusal.why(node, context);
    return fmt::format(kNoOperator, refusal.reason);
  }
  std::string unfolded = why_not_folded(node, context);
  if (!unfolded.empty()) return unfolded;
  const bool makes_tensor = !node.results().empty() && node.result()->type.is_tensor();
  if (makes_tensor && !is_floating(node.result()->dtype())) return refuse_dtype(*node.result());
  return "XNNPACK has no operator for it";
}

}  // namespace wick::xnnpack
