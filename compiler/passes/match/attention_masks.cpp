#include "compiler/passes/match/attention_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/analysis/data_movement.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepthOfMask = 16;

Value* value_operand(const Node& node, size_t index) { return node.arg(index).as<Value*>(); }

// Whether each row of a constant has an element that is not `dead`.
template <typename Dead>
bool rows_live(const Value& constant, size_t count, Dead&& dead) {
  const size_t row = constant.rank() == 0 || !constant.sizes().back().is_const()
                         ? 1
                         : static_cast<size_t>(constant.sizes().back().value());
  for (size_t start = 0; row != 0 && start + row <= count; start += row) {
    bool live = false;
    for (size_t i = start; i < start + row; ++i) live = live || !dead(i);
    if (!live) return false;
  }
  return row != 0;
}

// arange(columns) <= arange(rows)[:, None]
bool is_causal(const Value& condition) {
  // Rows may be any of the counted numbers. The columns must include 0, so that each row shows a column.
  const auto counts = [](const Value* value, bool with_zero) {
    for (int i = 0; i < kMaxDepthOfMask && value->producer && moves_data(*value->producer); ++i) {
      if (with_zero && !value->producer->is("aten.view.default") && !value->producer->is("aten.expand.default"))
        return false;
      value = moved(*value->producer);
    }
    const Node* node = value->producer;
    if (!node || !node->is("aten.arange.start_step")) return false;
    const auto start = number_of(node->arg(0), DType::i64), step = number_of(node->arg(2), DType::i64);
    return start && start->is(0) && step && step->is(1);
  };
  const Node* compared = condition.producer;
  if (!compared || !compared->is("aten.le.Tensor")) return false;
  const Value *column = value_operand(*compared, 0), *row = value_operand(*compared, 1);
  return column->rank() == 1 && row->rank() == 2 && row->sizes()[1].is(1) && counts(column, true) && counts(row, false);
}

}  // namespace

double lowest_score(DType dtype) {
  switch (dtype) {
    case DType::f16: return -32768;
    case DType::f64: return std::numeric_limits<double>::lowest();
    case DType::bf16: return -0x1.fep127;
    default: return static_cast<double>(std::numeric_limits<float>::lowest());
  }
}

double highest_score(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504;
    case DType::f64: return std::numeric_limits<double>::max();
    case DType::bf16: return 0x1.fep127;
    default: return static_cast<double>(std::numeric_limits<float>::max());
  }
}

bool is_lowest(const Arg& arg, DType dtype) {
  const auto element = number_of(arg, dtype);
  return element && element->floating && element->real <= -highest_score(dtype) / 2;
}
bool is_minus_infinity(const Arg& arg, DType dtype) {
  const auto element = number_of(arg, dtype);
  return element && element->floating && element->real == -INFINITY;
}
std::optional<MaskSelect> match_select(const Node& node) {
  const auto choice = choice_of(node);
  if (!choice) return std::nullopt;
  const DType dtype = node.result()->dtype();
  for (const bool keeps : {true, false}) {
    const Arg& fill = keeps ? *choice->other : *choice->chosen;
    Value* scores = tensor_or_null(keeps ? *choice->chosen : *choice->other);
    if (!scores || !is_lowest(fill, dtype) || scores->dtype() != dtype) continue;
    if (choice->condition->dtype() != DType::boolean) continue;
    return MaskSelect{choice->condition, scores, keeps, is_minus_infinity(fill, dtype)};
  }
  return std::nullopt;
}

void find_masks(Value* value, int depth, std::vector<Value*>& out) {
  if (value->is_constant()) {
    if (!has_reals(value)) return;
    const Reals64 numbers = reals_of(*value);
    if (std::find(numbers.begin(), numbers.end(), -INFINITY) != numbers.end()) out.push_back(value);
    return;
  }
  if (!value->producer || depth > kMaxDepthOfMask) {
    out.push_back(value);
    return;
  }
  const Node& node = *value->producer;
  if (is_plain_add(node)) {
    find_masks(value_operand(node, 0), depth + 1, out);
    find_masks(value_operand(node, 1), depth + 1, out);
  } else if (match_select(node)) {
    out.push_back(value);
  } else if (moves_data(node) || node.is("aten._to_copy.default")) {
    std::vector<Value*> inner;
    find_masks(moved(node), depth + 1, inner);
    if (!inner.empty()) out.push_back(value);
  }
}

bool is_scores(const Value* value) {
  for (int i = 0; i < kMaxDepthOfMask && value->producer; ++i) {
    const Node& node = *value->producer;
    if (node.op->facts.gemm) return true;
    const bool adds = node.is("aten.add.Scalar") && node.real("alpha") == 1;
    const auto shift = adds ? number_of(node.arg(1), node.result()->dtype()) : std::nullopt;
    const bool scaled = node.is(Binary::mul) || node.is(Binary::div) || (shift && std::isfinite(shift->real));
    if ((!scaled && !moves_data(node) && !node.is("aten._to_copy.default")) || !node.tensor_or_null(0)) return false;
    value = node.tensor_or_null(0);
  }
  return false;
}

bool is_masking(const Node& node) { return node.is("aten.minimum.default"); }

void collect_mask_kinds(Value* value, int depth, MaskKinds& kinds) {
  if (value->is_constant()) {
    if (!has_reals(value)) return;
    bool masks = false;
    for (const double number : reals_of(*value)) {
      const bool low = number != -INFINITY && number <= lowest_score(value->dtype()) / 2;
      kinds.infinite |= number == -INFINITY;
      kinds.finite |= low;
      masks |= low || number == -INFINITY;
    }
    kinds.masks += masks ? 1 : 0;
    return;
  }
  if (!value->producer || depth > kMaxDepthOfMask) {
    kinds.unknown = true;
    return;
  }
  const Node& node = *value->producer;
  if (is_plain_add(node) || is_masking(node)) {
    collect_mask_kinds(value_operand(node, 0), depth + 1, kinds);
    collect_mask_kinds(value_operand(node, 1), depth + 1, kinds);
  } else if (const auto select = match_select(node)) {
    (select->infinite ? kinds.infinite : kinds.finite) = true;
    ++kinds.masks;
    MaskKinds inner;
    collect_mask_kinds(select->scores, depth + 1, inner);
    kinds.nested |= inner.infinite || inner.finite || inner.nested;
  } else if (moves_data(node) || node.is("aten._to_copy.default")) {
    collect_mask_kinds(moved(node), depth + 1, kinds);
  } else if (node.is("aten.clamp.default") && !node.is_none("min")) {
    kinds.finite = true;
    ++kinds.masks;
  } else {
    kinds.unknown |= !is_scores(value);
  }
}

std::optional<LiveScores> live_scores(const Value* condition, int depth) {
  const Node* node = condition ? condition->producer : nullptr;
  Value* x = node && !node->args().empty() ? node->tensor_or_null(0) : nullptr;
  if (!x || depth > kMaxDepthOfMask) return std::nullopt;
  if (node->is(Binary::ne) || node->is(Binary::eq)) {
    if (x->rank() == 0 || !is_minus_infinity(node->arg(1), x->dtype())) return std::nullopt;
    return LiveScores{x, x->sizes().back().is(1), node->is(Binary::ne)};
  }
  std::optional<LiveScores> live = live_scores(x, depth + 1);
  if (!live) return std::nullopt;
  if (node->is("aten.logical_not.default")) {
    live->is_live = !live->is_live;
    return live;
  }
  const bool any = is_one_of(*node, {"aten.any.dim", "aten.any.dims"});
  if (!any && !is_one_of(*node, {"aten.all.dim", "aten.all.dims"})) return std::nullopt;
  // any(live) or all(not live), over the last dim
  if (any != live->is_live || !node->boolean("keepdim") || node->is_none("dim")) return std::nullopt;
  const bool one_dim = is_one_of(*node, {"aten.any.dim", "aten.all.dim"});
  const auto dims = one_dim ? std::vector<int64_t>{node->integer("dim").value()} : node->static_ints("dim");
  if (dims.size() != 1 || static_cast<size_t>(wrap_dim(dims[0], x->rank())) + 1 != x->rank()) return std::nullopt;
  live->of_rows = true;
  return live;
}

bool is_never_empty(const Value& mask) {
  if (mask.is_constant()) {
    const Reals64 numbers = reals_of(mask);
    return rows_live(mask, numbers.size(), [&](size_t i) { return numbers[i] == -INFINITY; });
  }
  const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
  if (!select) return false;
  std::vector<Value*> inner;
  find_masks(select->scores, 0, inner);
  if (!inner.empty() && !is_scores(select->scores)) return false;  // an inner mask may hide what this one leaves
  if (!select->infinite || (select->keeps && is_causal(*select->condition))) return true;
  if (!select->condition->is_constant()) return false;
  const auto& bytes = select->condition->data.bytes();
  return rows_live(*select->condition, bytes.size(), [&](size_t i) { return (bytes[i] != 0) != select->keeps; });
}

bool is_finite_choice(const Value& mask) {
  const auto select = mask.producer ? match_select(*mask.producer) : std::nullopt;
  if (!select || select->infinite) return false;
  std::vector<Value*> inner;
  find_masks(select->scores, 0, inner);
  return inner.empty();
}

}  // namespace wick::compiler
