// Functions of three tensors or numbers, element by element: bounds, selection, weighted sums.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/pointwise/numbers.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void infer_clamp(Node& node) {
  if (node.is_none("min") && node.is_none("max")) reject("clamp needs a minimum or a maximum");
  const Args operands{node.arg("self"), node.arg("min"), node.arg("max")};
  set_result(node, promote(operands), broadcast_all(operands));
}

void infer_clamp_bound(Node& node) {
  const Args operands{node.arg(0), node.arg(1)};
  set_result(node, promote(operands), broadcast_all(operands));
}

Results decompose_clamp_min(Builder& b, Node& node) {
  return {b.call("aten.clamp", {node.arg(0), node.arg(1), None{}})};
}
Results decompose_clamp_max(Builder& b, Node& node) {
  return {b.call("aten.clamp", {node.arg(0), None{}, node.arg(1)})};
}
Results decompose_clamp_min_tensor(Builder& b, Node& node) {
  return {b.call("aten.maximum", {node.arg(0), node.arg(1)})};
}
Results decompose_clamp_max_tensor(Builder& b, Node& node) {
  return {b.call("aten.minimum", {node.arg(0), node.arg(1)})};
}

void infer_where(Node& node) {
  const Value* condition = node.tensor("condition");
  if (condition->dtype() != DType::boolean && condition->dtype() != DType::u8)
    reject("where: the condition is not bool");
  const Args operands{node.arg("self"), node.arg("other")};
  set_result(node, promote(operands), broadcast(condition->sizes(), broadcast_all(operands)));
  const DType dtype = node.result()->dtype();
  if (is_16_bit(dtype)) return;  // larger numbers become infinite
  for (const char* name : {"self", "other"}) require_fits(node, name, dtype);
}

Results decompose_where(Builder& b, Node& node) {
  Value* condition = node.tensor("condition");
  const DType dtype = node.result()->dtype();
  const Value *x = tensor_or_null(node.arg("self")), *y = tensor_or_null(node.arg("other"));
  if (x && y && x->dtype() == dtype && y->dtype() == dtype && condition->dtype() == DType::boolean) return {};
  condition = b.cast(condition, DType::boolean);
  return {Compose(b).where(condition, node.arg("self"), node.arg("other"), dtype)};
}

void infer_masked_fill(Node& node) {
  const Value* x = node.tensor("self");
  const Value* mask = node.tensor("mask");
  if (mask->dtype() != DType::boolean) reject("masked_fill: the mask is not bool");
  set_result(node, x->dtype(), broadcast(x->sizes(), mask->sizes()));
}

Results decompose_masked_fill_tensor(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  return {Compose(b).where(node.tensor("mask"), node.arg("value"), x, x->dtype())};
}

void infer_three(Node& node) {
  const Args operands{node.arg(0), node.arg(1), node.arg(2)};
  set_result(node, promote(operands), broadcast_all(operands));
}
void infer_addcdiv(Node& node) {
  infer_three(node);
  if (!is_floating(node.result()->dtype()) && !is_complex(node.result()->dtype())) reject("addcdiv of integers");
}

// combine(x, y), a sum or difference, in `dtype`. On complex numbers add and sub multiply by alpha, and 0 times an
// infinite part is NaN. The sums within eager's ternary operators do not, so they are computed on the parts.
template <typename Combine>
Value* combined_parts(Compose& c, DType dtype, Value* x, Value* y, const Combine& combine) {
  if (!is_complex(dtype)) return combine(x, y);
  const DType computed = dtype == DType::c32 ? DType::c64 : dtype;
  const auto parts = [&](Value* value) { return c.call("aten.view_as_real", {c.b.cast(value, computed)}); };
  return c.b.cast(c.call("aten.view_as_complex", {combine(parts(x), parts(y))}), dtype);
}
Value* plain_sum(Compose& c, DType dtype, Value* x, Value* y) {
  return combined_parts(c, dtype, x, y, [&](Value* a, Value* b) { return c.add(a, b); });
}
Value* plain_difference(Compose& c, DType dtype, Value* x, Value* y) {
  return combined_parts(c, dtype, x, y, [&](Value* a, Value* b) { return c.sub(a, b); });
}

// self + combine(value * tensor1, tensor2), in the dtype of the result. 16-bit floats are computed in f32: in f16
// products may overflow.
template <typename Combine>
Value* with_scaled(Builder& b, Node& node, const Combine& combine) {
  Compose c(b);
  const auto compute = [&](Value* self, Value* first, Value* second) {
    // For complex numbers even a product by 1 may give NaN.
    const bool has_factor = literal(node.arg("value")) != 1.0 || is_complex(first->dtype());
    if (has_factor) first = c.mul(first, node.arg("value"));
    return plain_sum(c, node.result()->dtype(), self, combine(c, first, second));
  };
  const DType dtype = node.result()->dtype();
  const auto operand = [&](const char* name) { return b.cast(node.tensor(name), dtype); };
  Value *self = operand("self"), *first = operand("tensor1"), *second = operand("tensor2");
  if (!is_16_bit(dtype)) return compute(self, first, second);
  return in_float(
      b, self, [&](Value* wide) { return compute(wide, b.cast(first, wide->dtype()), b.cast(second, wide->dtype())); });
}

// self + value * tensor1 * tensor2
Results decompose_addcmul(Builder& b, Node& node) {
  return {with_scaled(b, node, [](Compose& c, Value* first, Value* second) { return c.mul(first, second); })};
}

// self + value * tensor1 / tensor2
Results decompose_addcdiv(Builder& b, Node& node) {
  return {with_scaled(b, node, [](Compose& c, Value* first, Value* second) { return c.div(first, second); })};
}

// weight < 0.5: self + weight * (end - self); else end - (end - self) * (1 - weight)
Value* interpolated(Compose& c, Value* start, Value* end, const Arg& by) {
  const DType dtype = start->dtype();
  Value* delta = plain_difference(c, dtype, end, start);
  auto low = [&] { return plain_sum(c, dtype, start, c.mul(delta, by)); };
  const auto high_by = [&](const Arg& rest) { return plain_difference(c, dtype, end, c.mul(delta, rest)); };
  if (auto weight = literal(by)) return std::abs(*weight) < 0.5 ? low() : high_by(1.0 - *weight);
  Value* weight = by.as<Value*>();
  // c.sub(1, weight) would multiply a complex weight by 1.
  Value* high = high_by(is_complex(dtype) ? c.add(c.neg(weight), 1) : c.sub(1, weight));
  return c.where(c.compare("lt", c.abs(weight), 0.5), low(), high);
}

// 16-bit floats are computed in f32: in f16 differences may overflow.
Results decompose_lerp(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("self"), [&](Value* start) {
    const Arg& weight = node.arg("weight");
    const bool tensor = weight.is<Value*>() && weight.as<Value*>()->type.is_tensor();
    return interpolated(c, start, b.cast(node.tensor("end"), start->dtype()),
                        tensor ? Arg(b.cast(weight.as<Value*>(), start->dtype())) : weight);
  })};
}

}  // namespace

const OpDef kPointwiseTernaryRows[] = {
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", infer_clamp, nullptr, "aten::clamp.out",
     kPointwise | kOverwrites | kAlsoInPlace | kPassesNan | kSelectsElements | ranges::clamp | Growth::between |
         Clamp{.low_arg = "min", .high_arg = "max"},
     Cases("f32[6, 6, 2], 0", "f16[33]{special}, -2, 2", "f32[3, 4], -1, 1")},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", infer_clamp, nullptr,
     "aten::clamp.Tensor_out", kPointwise | kAlsoInPlace | kPassesNan | ranges::clamp,
     Cases("f32[3, 4], None, f32[4]", "f32[3, 4], f32[4], f32[4]", "f32[3]{special}, f32[3]{special}, None")},
    {"aten::clamp_min(Tensor self, Scalar min) -> Tensor", infer_clamp_bound, decompose_clamp_min, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[3], 0", "i32[15]{special}, 2", "f32[3, 1]{range=3.3..4.5}, 1e-12")},
    {"aten::clamp_max(Tensor self, Scalar max) -> Tensor", infer_clamp_bound, decompose_clamp_max, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[33]{special}, 0.25")},
    {"aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", infer_clamp_bound, decompose_clamp_min_tensor,
     nullptr, kPointwise | kAlsoInPlace, Cases("f32[3, 4], f32[4]", "i64[3], i64[]")},
    {"aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", infer_clamp_bound, decompose_clamp_max_tensor,
     nullptr, kPointwise | kAlsoInPlace, Cases("f32[3, 4], f32[4]")},
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", infer_where, decompose_where,
     "aten::where.self_out", kPointwise | kKeepsZero | passing::select | ranges::select | Growth::keeps,
     Cases("bool[2, 3], f32[2, 3], f32[3]", "bool[4], f32[4]{special}, f32[4]{special}",
           "bool[2, 3], f16[2, 3], f32[3]")},
    {"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", infer_where, decompose_where, nullptr,
     kPointwise, Cases("bool[3, 4], 1, 0")},
    {"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", infer_where, decompose_where,
     nullptr, kPointwise | kKeepsZero, Cases("bool[2, 3], 0.0, f32[3]", "bool[3, 4], 1.0, f32[3, 4]")},
    {"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", infer_where, decompose_where,
     nullptr, kPointwise | kKeepsZero,
     Cases("bool[2, 3], f16[2, 3], 1", "bool[3, 4], f32[3, 4], 0.0",
           "bool[2, 3], i64[2, 3]{=4, 5, 5, 0, -6, -2}, 2.5")},
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", infer_masked_fill, nullptr,
     "aten::masked_fill.Scalar_out",
     kPointwise | Numbers::fit | kKeepsZero | kOverwrites | kAlsoInPlace | passing::select | ranges::select |
         Growth::keeps,
     Cases("bf16[2, 3], bool[3], 1", "bool[2, 3], bool[3], true", "f32[3, 4], bool[3, 4], 2.0")},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", infer_masked_fill,
     decompose_masked_fill_tensor, nullptr,
     kPointwise | kKeepsZero | kAlsoInPlace | passing::select | ranges::select | Growth::keeps,
     Cases("f32[2, 3], bool[2, 1], i64[]{=3}", "f32[2, 3], bool[2, 1], f32[]{=2.5}")},
    {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", infer_three,
     decompose_addcmul, nullptr, kPointwise | Numbers::fit_wide | kAlsoInPlace | Summand{"aten.mul.Tensor"},
     Cases("f32[3, 4], f32[3, 4], f32[3, 4]", "f16[2, 3], f16[3], f16[2, 1], value=2")},
    {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", infer_addcdiv,
     decompose_addcdiv, nullptr,
     kPointwise | Numbers::fit_wide | kAlsoInPlace | kDependsOnZeroSign | Summand{"aten.div.Tensor"},
     Cases("f32[2, 3], f32[3], f32[2, 1]{range=1.1..2.4}, value=0.5",
           "f32[3, 4], f32[3, 4], f32[3, 4]{range=1.1..4.6}, value=0.5")},
    {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", infer_broadcast, decompose_lerp, nullptr,
     kPointwise | Numbers::fit_wide | kAlsoInPlace, Cases("f32[3, 4], f32[3, 4], 0.3")},
    {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", infer_three, decompose_lerp, nullptr,
     kPointwise | kAlsoInPlace, Cases("f32[3, 4], f32[3, 4], f32[3, 4]")},
};
const size_t kPointwiseTernaryCount = std::size(kPointwiseTernaryRows);

}  // namespace wick::compiler
