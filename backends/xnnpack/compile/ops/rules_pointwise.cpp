// Pointwise operators: the result has the layout of the operands.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"
#include "common/float16.h"
#include "compiler/ops/pointwise/clamp.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- what is taken ---

Verdict numbers_known(const Node& node, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (node.op->parsed->find(name) < 0 || node.is_none(name)) continue;
    const compiler::Arg& arg = node.arg(name);
    if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor()) continue;
    if (!number(node, name)) return Verdict::no(fmt::format("'{}' is known only at run time", name));
  }
  return Verdict::yes();
}

Verdict known_numbers(const Node& node, const TargetContext&) {
  return numbers_known(node, {"alpha", "self", "other", "value", "min", "max", "min_val", "max_val"});
}

constexpr char kSmallFactor[] = "a constant factor below 2^-126, which the library takes for zero";

// Sums whose factor the library can multiply by.
Verdict known_sum(const Node& node, const TargetContext& context) {
  Verdict known = known_numbers(node, context);
  if (!known.taken || node.op->parsed->find("alpha") < 0) return known;
  std::string reason = refuse_factor(node, "alpha");
  return reason.empty() ? known : Verdict::no(std::move(reason));
}

Verdict known_bounds(const Node& node, const TargetContext& context) {
  Verdict known = known_numbers(node, context);
  if (!known.taken) return known;
  OutputRange range;
  return clamp_range(node, &range) ? Verdict::yes() : Verdict::no("bounds that leave no range");
}

Verdict constant_operand_fits(const Node& node, const TargetContext& context) {
  Verdict known = known_numbers(node, context);
  if (!known.taken) return known;
  if (node.op->parsed->find("rounding_mode") >= 0 && !node.is_none("rounding_mode"))
    return Verdict::no("a rounded quotient");
  const bool divides = (node.is("aten.div.Scalar") || node.is("aten.div.Tensor")) && !node.arg("other").is<Value*>();
  if (divides && std::abs(node.real("other")) < std::numeric_limits<float>::min())
    return Verdict::no("a divisor below 2^-126, which would count as zero");
  for (const char* name : {"self", "other"}) {
    std::string reason = refuse_factor(node, name);
    if (!reason.empty()) return Verdict::no(std::move(reason));
  }
  return Verdict::yes();
}

bool is_taken_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16; }

Verdict float_conversion(const Node& node, const TargetContext&) {
  const Value *from = compiler::tensor_or_null(node.arg("self")), *to = node.result();
  if (!from || !is_taken_float(from->dtype()) || !is_taken_float(to->dtype())) {
    return Verdict::no(fmt::format("a conversion of {} to {}; only those between f32 and f16 are taken",
                                   from ? dtype_name(from->dtype()) : "a number", dtype_name(to->dtype())));
  }
  for (const Value* value : {from, to}) {
    if (!value->is_constant() && stored_order(*value) != plain_order(value->rank()))
      return Verdict::no(fmt::format("a tensor that is not contiguous: {}", compiler::to_text(value->type)));
  }
  std::string reason = refuse_shape(*from, Unknown::any);
  return reason.empty() ? Verdict::yes() : Verdict::no(std::move(reason));
}

// --- lowering ---

void lower_conversion(Lowering& l, const Node& node) {
  const DataType type = node.result()->dtype() == DType::f16 ? DataType::fp16 : DataType::fp32;
  l.set_result(node, l.as_type(l.operand(node, 0), type));
}

template <NodeType type>
void lower_unary(Lowering& l, const Node& node) {
  l.set_result(node, l.unary(type, l.operand(node, 0)));
}

bool tensor_argument(const Node& node, const char* name) {
  const compiler::Arg& arg = node.arg(name);
  return arg.is<Value*>() && arg.as<Value*>()->type.is_tensor();
}

// Eager computes with number arguments, and with their product, in f32, and rounds once.
bool computes_in_fp32(const Node& node) {
  double product = 1;
  bool exact = true, tensors = false;
  for (const char* name : {"self", "other", "alpha"}) {
    if (node.op->parsed->find(name) < 0) continue;
    if (tensor_argument(node, name)) {
      tensors |= std::string_view(name) == "other";
      continue;
    }
    const double literal = number(node, name).value_or(1);
    exact &= is_half(literal);
    product *= literal;
  }
  return !exact || !is_half(product) || (tensors && std::abs(product) != 1);
}

// Sets body(operand) as the node's result. operand(name) is the payload value of an argument; tensors and numbers may
// be on either side.
template <typename Body>
void lower_by_name(Lowering& l, const Node& node, const Body& body) {
  const DataType type = l.type();
  std::vector<uint32_t> tensors;
  for (size_t i = 0; i < node.operands().size(); ++i) tensors.push_back(l.broadcast_operand(node, i));
  const auto operand = [&](const char* name) {
    if (!tensor_argument(node, name)) return l.scalar(*number(node, name));
    return tensors[tensors.size() > 1 && std::string_view(name) == "other" ? 1 : 0];
  };
  if (type != DataType::fp16 || !computes_in_fp32(node)) return l.set_result(node, body(operand));
  for (uint32_t& tensor : tensors) tensor = l.as_type(tensor, DataType::fp32);
  l.set_result(node, l.as_type(body(operand), type));
}

template <NodeType type>
void lower_binary(Lowering& l, const Node& node) {
  lower_by_name(l, node, [&](const auto& operand) {
    return l.binary(type, operand("self"), operand("other"), l.range_of(node));
  });
}

// self + alpha * other, self - alpha * other
template <NodeType type>
void lower_sum(Lowering& l, const Node& node) {
  const double alpha = node.op->parsed->find("alpha") >= 0 ? number(node, "alpha").value_or(1) : 1;
  const auto literal = tensor_argument(node, "other") ? std::nullopt : number(node, "other");
  lower_by_name(l, node, [&](const auto& operand) {
    uint32_t right = literal ? l.scalar(alpha * *literal) : operand("other");
    if (!literal && alpha != 1) right = l.binary(NodeType::multiply, right, l.scalar(alpha));
    return l.binary(type, operand("self"), right, l.range_of(node));
  });
}

void lower_reverse_difference(Lowering& l, const Node& node) {
  const double alpha = number(node, "alpha").value_or(1);
  lower_by_name(l, node, [&](const auto& operand) {
    uint32_t x = operand("self");
    if (alpha != 1) x = l.binary(NodeType::multiply, x, l.scalar(alpha));
    return l.binary(NodeType::subtract, operand("other"), x, l.range_of(node));
  });
}

void lower_clamp(Lowering& l, const Node& node) {
  OutputRange range;
  clamp_range(node, &range);
  l.set_result(node, clamped(l, l.operand(node, 0), range));
}

void lower_clamp_between(Lowering& l, const Node& node) {
  uint32_t x = l.operand(node, 0);
  size_t next = 1;
  if (!node.is_none("min")) x = l.binary(NodeType::maximum, x, l.operand(node, next++));
  if (!node.is_none("max")) x = l.binary(NodeType::minimum, x, l.operand(node, next));
  l.set_result(node, x);
}

// The library's kernel subtracts from 0, which makes 0 of 0 and not -0.
void lower_negated(Lowering& l, const Node& node) {
  l.set_result(node, l.binary(NodeType::multiply, l.operand(node, 0), l.scalar(-1), l.range_of(node)));
}

void lower_reciprocal(Lowering& l, const Node& node) {
  l.set_result(node, l.binary(NodeType::div, l.scalar(1), l.operand(node, 0)));
}

template <NodeType type>
constexpr OpRule unary(const char* op) {
  return {op, nullptr, any_dim_order, lower_unary<type>, Unknown::any};
}
template <NodeType type>
constexpr OpRule binary(const char* op, Verdict (*supports)(const Node&, const TargetContext&)) {
  return {op, supports, any_dim_order, lower_binary<type>, Unknown::any, true};
}

const Deviation* deviation_of_clamp(const Node& node) {
  const bool bounded = !node.is_none("min") && !node.is_none("max");
  const auto low = bounded ? number(node, "min") : std::nullopt, high = bounded ? number(node, "max") : std::nullopt;
  constexpr double kLargest = std::numeric_limits<float>::max();
  return low == -kLargest && high == kLargest ? &kSaturates : &kDropsNan;
}

constexpr OpRule converts(OpRule rule) {
  rule.converts = true;
  return rule;
}

bool has_two_bounds(const Node& node) { return !node.is_none("min") && !node.is_none("max"); }

bool is_saturating(const Node& node) { return deviation_of_clamp(node) == &kSaturates; }

constexpr OpRule kPointwiseRows[] = {
    loses_sign(ZeroSign::lost,
               converts({"aten._to_copy.default", float_conversion, any_dim_order, lower_conversion, Unknown::any})),
    costs_same(unary<NodeType::abs>("aten.abs.default")),
    unary<NodeType::ceiling>("aten.ceil.default"),
    costs_more(deviates(kLargeAngle, unary<NodeType::cos>("aten.cos.default"))),
    costs_more(deviates(kExponential, unary<NodeType::exp>("aten.exp.default"))),
    unary<NodeType::floor>("aten.floor.default"),
    costs_more(deviates(kLargeAngle, unary<NodeType::sin>("aten.sin.default"))),
    costs_same(unary<NodeType::square>("aten.square.default")),
    costs_same({"aten.add.Scalar", known_sum, any_dim_order, lower_sum<NodeType::add>, Unknown::any, true}),
    costs_same(
        on_int8(fits_sum, {"aten.add.Tensor", known_sum, any_dim_order, lower_sum<NodeType::add>, Unknown::any, true})),
    // A saturating clamp is half of a conditional select, which a portable kernel computes in one pass.
    costs_more(
        loses_sign(deviates(deviation_of_clamp, on_int8(same_scales, {"aten.clamp.default", known_bounds, any_dim_order,
                                                                      lower_clamp, Unknown::any}))),
        is_saturating),
    costs_more(loses_sign(deviates(kDropsNan,
                                   {"aten.clamp.Tensor", nullptr, any_dim_order, lower_clamp_between, Unknown::any})),
               has_two_bounds),
    costs_same(binary<NodeType::div>("aten.div.Scalar", constant_operand_fits)),
    costs_same(binary<NodeType::div>("aten.div.Tensor", constant_operand_fits)),
    loses_sign(deviates(kDropsNan, on_int8(same_scales, {"aten.hardtanh.default", known_bounds, any_dim_order,
                                                         lower_clamp, Unknown::any}))),
    costs_same({"aten.neg.default", nullptr, any_dim_order, lower_negated, Unknown::any, true}),
    costs_same(loses_sign(deviates(
        kDropsNan, {"aten.maximum.default", nullptr, any_dim_order, lower_binary<NodeType::maximum>, Unknown::any}))),
    costs_same(loses_sign(deviates(
        kDropsNan, {"aten.minimum.default", nullptr, any_dim_order, lower_binary<NodeType::minimum>, Unknown::any}))),
    costs_same(binary<NodeType::multiply>("aten.mul.Scalar", constant_operand_fits)),
    costs_same(on_int8(fits_product, binary<NodeType::multiply>("aten.mul.Tensor", constant_operand_fits))),
    {"aten.reciprocal.default", nullptr, any_dim_order, lower_reciprocal, Unknown::any},
    costs_same(loses_sign(deviates(
        kDropsNan, on_int8(same_scales, {"aten.relu.default", nullptr, any_dim_order, lower_clamp, Unknown::any})))),
    loses_sign(deviates(
        kDropsNan, on_int8(same_scales, {"aten.relu6.default", nullptr, any_dim_order, lower_clamp, Unknown::any}))),
    costs_same({"aten.rsub.Scalar", known_sum, any_dim_order, lower_reverse_difference, Unknown::any, true}),
    costs_same({"aten.rsub.Tensor", known_sum, any_dim_order, lower_reverse_difference, Unknown::any, true}),
    costs_same({"aten.sub.Scalar", known_sum, any_dim_order, lower_sum<NodeType::subtract>, Unknown::any, true}),
    costs_same(on_int8(
        fits_sum, {"aten.sub.Tensor", known_sum, any_dim_order, lower_sum<NodeType::subtract>, Unknown::any, true})),
};

}  // namespace

const RuleFamily kPointwiseRules = {kPointwiseRows, std::size(kPointwiseRows)};

bool is_subnormal(double number) { return std::fpclassify(static_cast<float>(number)) == FP_SUBNORMAL; }

bool all_elements(const Value& constant, const std::function<bool(float element)>& fits) {
  const bool is_half = constant.dtype() == DType::f16;
  const size_t size = is_half ? sizeof(uint16_t) : sizeof(float), count = constant.data.size_bytes() / size;
  constexpr size_t kChunk = 1024;
  uint8_t bytes[kChunk * sizeof(float)];
  for (size_t first = 0; first < count; first += kChunk) {
    const size_t chunk = std::min(kChunk, count - first);
    constant.data.read(first * size, chunk * size, bytes);
    for (size_t i = 0; i < chunk; ++i) {
      uint16_t half;
      float element;
      std::memcpy(&half, bytes + i * size, sizeof half);
      if (!is_half) std::memcpy(&element, bytes + i * size, sizeof element);
      if (!fits(is_half ? Half::to_float(half) : element)) return false;
    }
  }
  return true;
}

std::string refuse_factor(const Node& node, const char* name) {
  const compiler::Arg& arg = node.arg(name);
  const Value* tensor = compiler::tensor_or_null(arg);
  if (node.result()->dtype() != DType::f32) return "";
  if (!tensor) return is_subnormal(number(node, name).value_or(0)) ? kSmallFactor : "";
  if (!is_plain_constant(*tensor) || tensor->dtype() != DType::f32) return "";
  return all_elements(*tensor, [](float element) { return !is_subnormal(static_cast<double>(element)); })
             ? ""
             : kSmallFactor;
}

bool is_half(double number) {
  return compiler::half_number(number, DType::f16) == number && (number == 0 || std::abs(number) >= 0x1p-14);
}

uint32_t clamped(Lowering& l, uint32_t x, OutputRange range) {
  // The library fuses a clamp into the pooling before it. A lower bound above 0, or an upper bound of at most 0, would
  // then become its padding value.
  const bool joins = !l.is_int8(x) && l.is_pooled(x);
  if (joins && range.min > 0) x = l.binary(NodeType::maximum, x, l.scalar(static_cast<double>(range.min)));
  if (joins && range.max <= 0) x = l.binary(NodeType::minimum, x, l.scalar(static_cast<double>(range.max)));
  PayloadNode node;
  node.type = NodeType::clamp;
  node.inputs[0] = x;
  node.output_min = range.min;
  node.output_max = range.max;
  return l.add(std::move(node), Sizes(l.dims(x)));
}

bool clamp_range(const Node& node, OutputRange* range) {
  const auto bounds = compiler::clamp_bounds(node);
  if (!bounds) return false;
  *range = {static_cast<float>(bounds->low), static_cast<float>(bounds->high)};
  return range->min < range->max;
}

}  // namespace wick::xnnpack
