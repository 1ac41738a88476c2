#include "compiler/analysis/value_ranges.h"

#include <string.h>

#include <algorithm>
#include <cmath>

#include "common/float16.h"
#include "compiler/analysis/range_rules.h"
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
  if (!has_real_elements(constant.dtype())) return range;
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

// Of tensors that nothing is known of but their dtype.
ValueRange range_of_dtype(DType dtype) {
  ValueRange range;
  if (dtype == DType::boolean) range.min = 0, range.max = 1;
  if (dtype == DType::u8) range.min = 0, range.max = 255;
  if (dtype == DType::f16) range.min = -65504, range.max = 65504;
  return range;
}

// Weights of products and norms are finite numbers, as inputs are: nobody needs to look at them.
bool is_weighed(const Node& node) {
  for (const char* op : {"aten.linear.default", "aten.mm.default", "aten.bmm.default", "aten.addmm.default",
                         "aten.matmul.default", "aten.convolution.default", "aten.embedding.default",
                         "aten.native_layer_norm.default", "aten.native_group_norm.default", "aten.rms_norm.default",
                         "aten._native_batch_norm_legit_no_training.default"}) {
    if (node.is(op)) return true;
  }
  return false;
}

bool asks(const Node& node) {
  for (const char* op : {"aten.isnan.default", "aten.isinf.default", "aten.isfinite.default", "aten.nan_to_num.default",
                         "aten.ne.Tensor", "aten.eq.Tensor"}) {
    if (node.is(op)) return true;
  }
  return false;
}

bool compares(const Node& node) {
  for (const char* op : {"aten.gt.", "aten.ge.", "aten.lt.", "aten.le.", "aten.eq.", "aten.ne.", "aten.sign."}) {
    if (node.op->name().starts_with(op)) return true;
  }
  return false;
}

}  // namespace

ValueRanges::ValueRanges(const Graph& graph, KnownRanges known) : ranges_(std::move(known)) {
  find_ranges(graph);
  find_readers(graph);
}

ValueRange ValueRanges::of(const Value* value) const {
  if (!value->type.is_tensor()) return {};
  const auto found = ranges_.find(value);
  if (found != ranges_.end()) return found->second;
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

void ValueRanges::find_ranges(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!node->graphs.empty()) continue;
    RangeCall call{*node, {}};
    const bool weighed = is_weighed(*node);
    for (const Value* operand : node->operands())
      call.tensors.push_back(weighed && operand->is_constant() ? ValueRange() : of(operand));
    ValueRange range;
    const Status known = catch_failure([&] { range = range_of_results(call); });
    for (const Value* result : node->results()) {
      if (!known.ok() || !result->type.is_tensor() || !is_floating(result->dtype())) continue;
      const ValueRange limits = range_of_dtype(result->dtype());
      range.min = std::max(range.min, limits.min);
      range.max = std::min(range.max, limits.max);
      ranges_[result] = range;
    }
  }
}

// From the readers to what they read.
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
               compared = among(compares_);
    const auto operands = node.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Passing passing = passing_of(node, i);
      if (nan || !passing.nan) hides_nan_.insert(operands[i]);
      if (asks(node) || (asked && passing.nan)) asks_for_nan_.insert(operands[i]);
      if (compares(node) || (compared && passing.nan && !is_weighed(node))) compares_.insert(operands[i]);
      // What makes NaN of an infinity hands it on to those that hide NaN.
      if (infinity || nan || !passing.infinity) hides_infinity_.insert(operands[i]);
    }
  }
}

}  // namespace wick::compiler
