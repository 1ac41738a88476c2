// Gated linear units: y = a sigmoid(b) for halves a and b of a dimension. The sigmoid is a table. It has 8-bit elements
// if the product is then within half a step of the result; else the product is computed on int16.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_glu {
namespace {

constexpr double kGateStep = 1.0 / 255, kWideGateStep = 1.0 / 32767;
constexpr int kFinerBits = 6;      // more bits of the int16 product than of the result
constexpr int kGateShift = 7;      // b times 2^7 is int16, and indexes the table
constexpr int kTableBits = 6;      // fractional bits of the table's entries
constexpr int kElementShift = 14;  // wick_cortex_m.requantize shifts left by so many bits
constexpr size_t kMaxRank = 4;     // mul_int16 takes no more

struct Glu {
  Affine input, output;
  int64_t dim = 0, half = 0;
  bool narrow = false;  // eight bits are enough for the sigmoid
  Requantization product, to_result;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Refusal read_glu(const Node& node, Glu* glu) {
  Refusal reason = refuse_int8(node);
  if (!reason.empty()) return reason;
  const Value* x = node.tensor("self");
  glu->input = affine(*x);
  glu->output = affine(*node.result());
  glu->dim = compiler::wrap_dim(node.static_integer("dim"), x->rank());
  const compiler::Sym& size = x->sizes()[static_cast<size_t>(glu->dim)];
  if (!size.is_const()) return {"the size that it halves is known only at run time", kFixedBatch};
  glu->half = size.value() / 2;
  const Affine& q = glu->input;
  const double reach = q.scale * std::max(std::abs(q.min - q.zero), std::abs(q.max - q.zero)), step = glu->output.scale;
  glu->narrow = reach * kGateStep / 2 <= step / 2;
  const double finer = std::ldexp(step, -kFinerBits);
  const auto product =
      requantization(glu->narrow ? glu->input.scale * kGateStep / step : glu->input.scale * kWideGateStep / finer);
  const auto last = requantization(std::ldexp(1, -kFinerBits - kElementShift));
  if (!product || !last || !keeps_32_bits(int64_t{glu->narrow ? 255 * 255 : 255 * 32767}, *product))
    return {"the scale of its result is too far from that of its input", kNearerScale};
  glu->product = *product;
  glu->to_result = *last;
  return {};
}

Verdict supports_glu(const Node& node, const Configuration& configuration) {
  Glu glu;
  const Refusal reason = read_glu(node, &glu);
  if (!reason.empty()) return refused(reason);
  if (configuration.stock_only && !glu.narrow)
    return refused({"its sigmoid needs more than eight bits, for which stock has no operators", kProfileAuto});
  return Verdict::yes();
}

Value* narrow_product(Builder& b, const Glu& glu, Value* a, Value* gate) {
  std::vector<int8_t> table;
  for (int32_t element = -128; element <= 127; ++element) {
    const double steps = sigmoid((element - glu.input.zero) * glu.input.scale) / kGateStep;
    table.push_back(static_cast<int8_t>(round_half_even(steps) - 128));
  }
  gate = b.call("cortex_m.quantized_activation", {gate, constant(b, {256}, std::move(table), "lut")});
  return b.call("cortex_m.quantized_mul", {a, int64_t{glu.input.zero}, gate, int64_t{-128}, int64_t{glu.output.zero},
                                           int64_t{glu.product.multiplier}, int64_t{glu.product.shift}});
}

Value* requantize(Builder& b, Value* x, int32_t zero, double factor, const Affine& to, DType dtype) {
  const Requantization scale = *requantization(std::ldexp(factor, -kElementShift));
  return b.call("wick_cortex_m.requantize", {x, int64_t{zero}, int64_t{to.zero}, int64_t{scale.multiplier},
                                             int64_t{scale.shift}, int64_t{to.min}, int64_t{to.max}, dtype});
}

Value* wide_product(Builder& b, const Glu& glu, Value* a, Value* gate) {
  const Affine whole = {1, 0, INT16_MIN, INT16_MAX};
  std::vector<int32_t> table;
  for (int32_t element = -(1 << 8); element <= 1 << 8; ++element) {  // differences from the zero point
    const double steps = sigmoid(element * glu.input.scale) / kWideGateStep;
    table.push_back(static_cast<int32_t>(round_half_even(std::ldexp(steps, kTableBits))));
  }
  a = requantize(b, a, glu.input.zero, 1, whole, DType::i16);
  gate = requantize(b, gate, glu.input.zero, 1 << kGateShift, whole, DType::i16);
  const auto count = static_cast<int64_t>(table.size());
  gate = b.call("wick_cortex_m.lookup_int16",
                {gate, constant(b, {count}, std::move(table), "lut"), int64_t{INT16_MIN}, int64_t{INT16_MAX}});
  Value* y = b.call("wick_cortex_m.mul_int16", {a, gate, int64_t{glu.product.multiplier}, int64_t{glu.product.shift},
                                                int64_t{INT16_MIN}, int64_t{INT16_MAX}});
  return requantize(b, y, 0, std::ldexp(1, -kFinerBits), glu.output, DType::i8);
}

std::vector<Value*> rewrite_glu(Builder& b, Node& node, const Configuration&) {
  Glu glu;
  read_glu(node, &glu);
  Value* x = node.tensor("self");
  Value *a = b.slice(x, glu.dim, 0, glu.half), *gate = b.slice(x, glu.dim, glu.half, 2 * glu.half);
  if (x->rank() > kMaxRank) {
    const compiler::Sizes rows = {numel(a->sizes())};
    a = b.reshape(a, rows);
    gate = b.reshape(gate, rows);
  }
  Value* y = glu.narrow ? narrow_product(b, glu, a, gate) : wide_product(b, glu, a, gate);
  return {b.reshape(y, node.result()->sizes())};
}

constexpr OpRule kRules[] = {
    {"aten.glu.default", supports_glu, rewrite_glu, false, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_glu

const RuleFamily kGluRules = {rules_glu::kRules, std::size(rules_glu::kRules)};

}  // namespace wick::cortex_m
