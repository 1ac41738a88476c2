#include "compiler/analysis/value_ranges.h"

#include <string.h>

#include <algorithm>
#include <cmath>

#include "common/float16.h"
#include "compiler/analysis/shares.h"
#include "compiler/ir/literal.h"
#include "compiler/ir/quantization.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

double load_element(DType dtype, const uint8_t* from) {
  if (dtype == DType::f64) {
    double value;
    memcpy(&value, from, sizeof value);
    return value;
  }
  if (dtype == DType::f32) {
    float value;
    memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  }
  uint16_t bits;
  memcpy(&bits, from, sizeof bits);
  return static_cast<double>(dtype == DType::f16 ? Half::to_float(bits)
                                                 : float_from_bits(static_cast<uint32_t>(bits) << 16));
}

bool has_real_elements(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

ValueRange range_of_constant(const Value& constant) {
  ValueRange range;
  if (!has_real_elements(constant.dtype()) || constant.data.empty()) return range;
  const NumberFacts& facts = constant.data.number_facts(constant.dtype());
  if (facts.finite) {
    range.min = facts.least;
    range.max = facts.largest;
    return range;
  }
  const size_t step = dtype_size_bytes(constant.dtype());
  double min = std::numeric_limits<double>::infinity(), max = -min;
  const Status all = constant.data.for_each_part([&](Span<const uint8_t> part) {
    for (size_t at = 0; at + step <= part.size(); at += step) {
      const double x = load_element(constant.dtype(), part.data() + at);
      range.nan |= std::isnan(x);
      range.above |= std::isinf(x) && x > 0;
      range.below |= std::isinf(x) && x < 0;
      if (!std::isfinite(x)) continue;
      min = std::min(min, x);
      max = std::max(max, x);
    }
    return Status();
  });
  if (all.ok() && min <= max) range.min = min, range.max = max;
  return range;
}

// The range of a tensor of which only the dtype is known.
ValueRange range_of_dtype(DType dtype) {
  ValueRange range;
  if (dtype == DType::boolean) range.min = 0, range.max = 1;
  if (dtype == DType::u8) range.min = 0, range.max = 255;
  if (dtype == DType::f16) range.min = -65504, range.max = 65504;
  return range;
}

// The range of the numbers that quantized elements represent, over all blocks.
ValueRange range_of_numbers(const Quantization& q) {
  ValueRange range = range_of_dtype(q.real);
  if (q.at_run_time) return range;
  const NumberFacts &scales = q.scales.range(), &zeros = q.zero_points.range();
  double min = 0, max = 0;
  const auto add_block = [&](double scale, double zero) {
    min = std::min(min, (static_cast<double>(q.quant_min) - zero) * scale);
    max = std::max(max, (static_cast<double>(q.quant_max) - zero) * scale);
  };
  if (q.zero_points.are_all(zeros.least)) {
    add_block(scales.least, zeros.least);
    add_block(scales.largest, zeros.least);
  } else {
    const std::vector<double> all_scales = q.scales.all(), all_zeros = q.zero_points.all();
    for (size_t i = 0; i < all_scales.size(); ++i) add_block(all_scales[i], all_zeros[i]);
  }
  range.min = std::max(range.min, min);
  range.max = std::min(range.max, max);
  return range;
}

// Integers cannot be NaN, and a test of indices that were computed from a NaN does not detect it.
bool may_be_nan(const Value& value) {
  return value.type.is_tensor() && (is_floating(value.dtype()) || is_complex(value.dtype()));
}

// Whether somebody reads indices or conditions that the node gives. A NaN or infinity in an operand may decide these.
bool gives_no_reals(const Node& node) {
  const auto& results = node.results();
  return std::any_of(results.begin(), results.end(), [](const Value* result) {
    return result->num_uses() != 0 && result->type.is_tensor() && !may_be_nan(*result);
  });
}

// Whether each element of `value` is NaN where that of `x` is, because pointwise operators compute it from `x`.
bool is_nan_with(const Value* value, const Value* x, int depth = 6) {
  if (value == x) return true;
  const Node* node = value->producer;
  if (!node || depth == 0 || !node->op->has(kPointwise) || node->is("aten.where.self")) return false;
  const auto operands = node->operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (passing_of(*node, i).nan && is_nan_with(operands[i], x, depth - 1)) return true;
  }
  return false;
}

// Whether every select by this comparison with a number is NaN where the compared operand is: where(x > 20, x,
// log1p(exp(x))).
bool leaves_nan(const Node& comparison) {
  const Value* truth = comparison.result();
  const auto operands = comparison.operands();
  const auto& users = truth->users();
  if (operands.size() != 1 || users.size() != truth->num_uses()) return false;
  const size_t taken = comparison.is(Binary::ne) ? 1 : 2;  // the argument that is selected for NaN
  return std::all_of(users.begin(), users.end(), [&](const Node* user) {
    return user->is("aten.where.self") && is_nan_with(user->tensor_or_null(taken), operands[0]);
  });
}

// Whether the node itself distinguishes NaN from finite numbers. A test for equality with an infinity does not.
bool distinguishes_nan(const Node& node) {
  if (node.is(Binary::eq) || node.is(Binary::ne)) {
    const auto number = literal(node.arg(1));
    if (number && std::isinf(*number)) return false;
  }
  if (is_comparison(node.op->facts.binary)) return !leaves_nan(node);
  return node.op->has(kTestsForNan) || node.is("aten.sign.default");
}

double least_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-24;
    case DType::bf16: return 0x1p-133;
    case DType::f32: return 0x1p-149;
    default: return 0;
  }
}

// A number below the smallest one of the dtype in magnitude may be rounded to 0.
ValueRange rounded(ValueRange range, DType dtype) {
  const double least = least_of(dtype);
  if (range.min > 0 && range.min < least) range.min = 0;
  if (range.max < 0 && range.max > -least) range.max = 0;
  return range;
}

// The range of the results by the operator's row, or [0, 1] for a share of a sum.
ValueRange range_of_node(const RangeCall& call) {
  if (!is_share_of_sum(call.node)) return range_of_results(call);
  ValueRange share = ValueRange::between(0, 1);
  share.nan = !call.tensors.at(0).is_finite();
  return share;
}

}  // namespace

ValueRanges::ValueRanges(const Graph& graph, KnownRanges known, std::unordered_set<const Value*> overflowing)
    : ranges_(std::move(known)), overflows_half_(std::move(overflowing)), zero_signs_(graph) {
  find_ranges(graph);
  find_readers(graph);
  small_numbers_ = SmallNumbers(graph, *this);
}

ValueRange ValueRanges::of(const Value* value) const {
  if (!value->type.is_tensor()) return {};
  const auto found = ranges_.find(value);
  if (found != ranges_.end()) return found->second;
  if (value->tensor().quantization) return range_of_numbers(*value->tensor().quantization);
  if (!value->is_constant()) return range_of_dtype(value->dtype());
  return ranges_[value] = range_of_constant(*value);
}

KnownRanges ValueRanges::constants() const {
  KnownRanges known;
  for (const auto& [value, range] : ranges_) {
    if (value->is_constant()) known.emplace(value, range);
  }
  return known;
}

bool ValueRanges::passes_on_half_overflow(RangeCall call) const {
  const auto operands = call.node.operands();
  bool overflows = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!overflows_half(operands[i])) continue;
    call.tensors[i] = ValueRange();
    overflows = true;
  }
  if (!overflows) return false;
  // An operator that need not pass on an infinity (a maximum, a select) may still do so, unless its results are
  // bounded.
  ValueRange range;
  const Status known = catch_failure([&] { range = range_of_node(call); });
  const ValueRange half = range_of_dtype(DType::f16);
  return !known.ok() || range.is_infinite() || range.min <= half.min || range.max >= half.max;
}

void ValueRanges::find_ranges(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!node->graphs.empty()) continue;
    RangeCall call{*node, {}};
    const auto operands = node->operands();
    const bool weighed = node->op->has(kWeightedSum);
    for (const Value* operand : operands)
      call.tensors.push_back(weighed && operand->is_constant() ? ValueRange() : of(operand));
    const bool hands_on_overflow = passes_on_half_overflow(call);
    ValueRange range;
    const Status known = catch_failure([&] { range = range_of_node(call); });
    for (const Value* result : node->results()) {
      if (!known.ok() || !result->type.is_tensor() || !is_floating(result->dtype())) continue;
      const ValueRange limits = range_of_dtype(result->dtype());
      const bool leaves_half = result->dtype() == DType::f16 && (range.min < limits.min || range.max > limits.max);
      if (leaves_half || hands_on_overflow) overflows_half_.insert(result);
      range.min = std::max(range.min, limits.min);
      range.max = std::min(range.max, limits.max);
      ranges_[result] = rounded(range, result->dtype());
    }
  }
}

// Visits readers before the values that they read.
void ValueRanges::find_readers(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    const auto among = [&](const std::unordered_set<const Value*>& set) {
      const auto& results = node.results();
      return std::any_of(results.begin(), results.end(), [&](const Value* result) { return set.count(result) != 0; });
    };
    const bool nan = among(hides_nan_), infinity = among(hides_infinity_), asked = among(asks_for_nan_),
               indices = gives_no_reals(node);
    const auto operands = node.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Passing passing = passing_of(node, i);
      if (nan || !passing.nan || indices) hides_nan_.insert(operands[i]);
      // An operator that need not pass on NaN (fmod, a threshold) may still do so, and a branch or loop may test for
      // NaN.
      const bool asks = distinguishes_nan(node) || asked || !node.graphs.empty();
      if (asks && may_be_nan(*operands[i])) asks_for_nan_.insert(operands[i]);
      // An operator may turn an infinity into NaN, which readers may then hide.
      if (infinity || nan || !passing.infinity || indices) hides_infinity_.insert(operands[i]);
    }
  }
}

}  // namespace wick::compiler
