// Tensors of numbers in order: arange, linspace, logspace.
#include <cmath>

#include "compiler/ir/sym/ratio.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

struct RangeArgs {
  Arg start = 0, end = 0, step = 1;
};
RangeArgs range_args(const Node& node) {
  RangeArgs r;
  if (has_argument(node, "start")) r.start = node.arg("start");
  if (has_argument(node, "step")) r.step = node.arg("step");
  r.end = node.arg("end");
  return r;
}

Sym integer_of(const Arg& arg) {
  if (arg.is<Sym>()) return arg.as<Sym>();
  if (arg.is<bool>()) return Sym(arg.as<bool>());
  if (arg.is<Value*>() && arg.as<Value*>()->type.kind == TypeKind::integer) return arg.as<Value*>()->type.expr;
  reject("arange: an argument is not a number");
}

// The number as a ratio of sizes: a literal, or Python arithmetic on sizes.
std::optional<Ratio> ratio_of_arg(const Arg& arg, int depth = 0) {
  if (const auto value = literal(arg); value && is_float_number(arg)) return ratio_of(*value);
  if (!is_float_number(arg)) return Ratio{integer_of(arg)};
  const Node* node = arg.is<Value*>() ? arg.as<Value*>()->producer : nullptr;
  if (!node || depth == 16) return std::nullopt;
  std::vector<Ratio> operands;
  for (const Arg& operand : node->args()) {
    if (!is_number(operand)) return std::nullopt;
    const std::optional<Ratio> ratio = ratio_of_arg(operand, depth + 1);
    if (!ratio) return std::nullopt;
    operands.push_back(*ratio);
  }
  if (operands.size() == 1) {
    if (node->is("executorch_prim.sym_float.Scalar")) return operands[0];
    if (node->is("executorch_prim.neg.Scalar")) return negate(operands[0]);
  }
  if (operands.size() != 2) return std::nullopt;
  if (node->is("executorch_prim.add.Scalar")) return add(operands[0], operands[1]);
  if (node->is("executorch_prim.sub.Scalar")) return add(operands[0], negate(operands[1]));
  if (node->is("executorch_prim.mul.Scalar")) return multiply(operands[0], operands[1]);
  if (node->is("executorch_prim.truediv.Scalar")) return divide(operands[0], operands[1]);
  return std::nullopt;
}

// The length of a range with floats that depend on sizes. If the elements are integers, start, end and step must be,
// too.
Sym fraction_length(const RangeArgs& r, bool floating) {
  const auto start = ratio_of_arg(r.start), end = ratio_of_arg(r.end), step = ratio_of_arg(r.step);
  const auto distance = start && end ? add(*end, negate(*start)) : std::nullopt;
  const auto length = distance && step ? divide(*distance, *step) : std::nullopt;
  if (!length) reject("arange: the number of steps is not a fraction of sizes");
  require(floating || (start->denominator == 1 && end->denominator == 1 && step->denominator == 1),
          "arange of integers with bounds or a step that are none");
  return ceil(*length);
}

// ceil((end - start) / step)
Sym range_length(const RangeArgs& r, bool floating) {
  if (is_float_number(r.start) || is_float_number(r.end) || is_float_number(r.step)) {
    const auto start = literal(r.start), end = literal(r.end), step = literal(r.step);
    if (!start || !end || !step) return fraction_length(r, floating);
    const double length = std::ceil((*end - *start) / *step);
    if (!(length >= 0 && length < 4e18)) reject("arange: the bounds do not fit the step");
    return Sym(static_cast<int64_t>(length));
  }
  const Sym start = integer_of(r.start), end = integer_of(r.end), step = integer_of(r.step);
  if (step.is(0)) reject("arange: the step is zero");
  const Sym length =
      step.is_const() && step.value() < 0 ? ceil_div(start - end, step * Sym(-1)) : ceil_div(end - start, step);
  if (length.is_const() && length.value() < 0) reject("arange: the bounds do not fit the step");
  return length;
}

void infer_arange(Node& node) {
  const RangeArgs r = range_args(node);
  const bool floating = is_float_number(r.start) || is_float_number(r.end) || is_float_number(r.step);
  const DType dtype = node.dtype("dtype").value_or(floating ? DType::f32 : DType::i64);
  set_result(node, dtype, {range_length(r, is_floating(dtype))});
}
Results decompose_arange(Builder& b, Node& node) {
  const RangeArgs r = range_args(node);
  const DType dtype = node.result()->dtype();
  if (node.is("aten.arange.start_step") && node.dtype("dtype") == dtype) return {};
  return {b.call("aten.arange.start_step", {r.start, r.end, r.step, dtype})};
}

// --- numbers between two ends ---

void infer_linspace(Node& node) {
  const Sym steps = node.integer("steps");
  if (steps.is_const() && steps.value() < 0) reject("linspace: the number of steps is negative");
  for (const Value* end : node.operands()) require(!is_complex(end->dtype()), "linspace takes real ends");
  set_result(node, node.dtype("dtype").value_or(DType::f32), {steps});
}

// Equally spaced numbers: start + i * step in the first half, end - (steps - 1 - i) * step in the second.
template <typename T>
std::vector<T> spaced(T start, T end, int64_t steps, bool fused) {
  std::vector<T> values(static_cast<size_t>(steps));
  const T step = steps > 1 ? (end - start) / static_cast<T>(steps - 1) : 0;
  for (int64_t i = 0; i < steps; ++i) {
    const bool first = i < steps / 2 || steps == 1;
    const T base = first ? start : end, count = static_cast<T>(first ? i : i - (steps - 1));
    values[static_cast<size_t>(i)] = fused ? std::fma(step, count, base) : base + step * count;
  }
  return values;
}
// Eager computes f64 and integers in f64, other dtypes in f32; it rounds the product before the sum only for f16.
DType spaced_in(DType dtype) { return is_floating(dtype) && dtype != DType::f64 ? DType::f32 : DType::f64; }
bool is_spacing_fused(DType dtype) { return dtype != DType::f16; }
// `start` or `end` as an element of `dtype`.
double end_number(const Node& node, const char* name, DType dtype) {
  const double number = node.real(name);
  if (dtype == DType::f64 || dtype == DType::c128) return number;
  if (dtype == DType::c64) return static_cast<double>(static_cast<float>(number));
  return is_floating(dtype) ? half_number(static_cast<float>(number), dtype) : std::trunc(number);
}
Value* constant_spaced(Compose& c, const Node& node, DType dtype) {
  const int64_t steps = node.static_integer("steps");
  require(steps <= (int64_t{1} << 20), "linspace of complex numbers is too long");
  const double start = end_number(node, "start", dtype), end = end_number(node, "end", dtype);
  const bool fused = is_spacing_fused(dtype);
  if (spaced_in(dtype) == DType::f64) return c.constant_f64(spaced(start, end, steps, fused), {steps});
  return c.constant_f32(spaced(static_cast<float>(start), static_cast<float>(end), steps, fused), {steps});
}
// `start` or `end`, a tensor or a number, as a 0-d tensor of `dtype`.
Value* end_value(Compose& c, const Node& node, const char* name, DType dtype) {
  Value* value = c.b.cast(c.tensor(node.arg(name), dtype), dtype);
  return value->rank() ? c.b.reshape(value, {}) : value;
}
// Like spaced(), computed in the dtype of `step`.
Value* spaced_values(Compose& c, Value* start, Value* end, Value* step, int64_t steps) {
  const DType dtype = step->dtype();
  Value* i = c.arange(steps, dtype);
  Value* back = c.sub(i, static_cast<double>(steps - 1));
  const int64_t half = steps / 2;
  Value* first = c.compare("lt", i, static_cast<double>(half));
  const auto from = [&](Value* base, Value* count) { return c.add(c.b.cast(base, dtype), c.mul(step, count)); };
  return c.where(first, from(start, i), from(end, back));
}
// In f64, products of f32 numbers and counts are exact, as in a fused multiply-add.
Value* linspace_of_tensors(Compose& c, const Node& node, DType dtype) {
  Builder& b = c.b;
  const int64_t steps = node.static_integer("steps");
  const DType wide = spaced_in(dtype);
  Value* start = b.cast(end_value(c, node, "start", dtype), wide);
  Value* end = b.cast(end_value(c, node, "end", dtype), wide);
  if (steps < 2) return b.expand(start, {steps});
  Value* step = c.div(c.sub(end, start), static_cast<double>(steps - 1));
  return spaced_values(c, start, end, is_spacing_fused(dtype) ? b.cast(step, DType::f64) : step, steps);
}
Results decompose_linspace_tensor(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.result()->dtype();
  return {b.cast(b.cast(linspace_of_tensors(c, node, dtype), spaced_in(dtype)), dtype)};
}
// A short sequence becomes a constant.
Results decompose_linspace(Builder& b, Node& node) {
  constexpr int64_t kMostConstants = int64_t{1} << 20;
  const DType dtype = node.result()->dtype();
  if (!is_complex(dtype) && node.static_integer("steps") > kMostConstants) return decompose_linspace_tensor(b, node);
  Compose c(b);
  return {b.cast(constant_spaced(c, node, dtype), dtype)};
}
// Exponents and powers are computed in f64. Only start and end and, for floats, their difference are rounded to the
// result's dtype; with a single step, not even start is.
Results decompose_logspace(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.result()->dtype();
  const int64_t steps = node.static_integer("steps");
  require(steps < (int64_t{1} << 28), "logspace is too long");
  Value* exponents = nullptr;
  if (steps > 1) {
    Value *start = end_value(c, node, "start", dtype), *end = end_value(c, node, "end", dtype);
    const DType wide = is_integral(dtype) ? DType::i64 : dtype;
    Value* distance = b.cast(c.sub(b.cast(end, wide), b.cast(start, wide)), DType::f64);
    exponents = spaced_values(c, start, end, c.div(distance, static_cast<double>(steps - 1)), steps);
  } else {
    exponents = b.expand(end_value(c, node, "start", DType::f64), {steps});
  }
  return {b.cast(b.call("aten.pow.Scalar", {node.real("base"), exponents}), dtype)};
}
// Like arange, but includes the end.
Results decompose_range(Builder& b, Node& node) {
  const double start = node.real("start"), end = node.real("end"),
               step = has_argument(node, "step") ? node.real("step") : 1;
  require(step != 0 && (end - start) / step >= 0, "range: the bounds do not fit the step");
  const double count = std::floor((end - start) / step);
  require(count < 1e9, "range is too long");
  Compose c(b);
  const DType dtype = node.dtype("dtype").value_or(DType::f32);
  return {c.add(c.mul(c.arange(Sym(static_cast<int64_t>(count) + 1), dtype), step), start)};
}

}  // namespace

const OpDef kSequenceRows[] = {
    {"aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_arange, decompose_arange, nullptr, kPure,
     Cases("5, device=cpu, pin_memory=false", "7, dtype=f32, device=cpu, pin_memory=false",
           "7, dtype=i32, device=cpu, pin_memory=false")},
    {"aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_arange, decompose_arange, nullptr, kPure,
     Cases("2, 7, device=cpu, pin_memory=false", "-3, 2, device=cpu, pin_memory=false")},
    {"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_arange, decompose_arange, "aten::arange.start_out", kPure,
     Cases("1, 2, 5, device=cpu, pin_memory=false", "5, -5, -2, device=cpu, pin_memory=false")},
    {"aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_linspace, nullptr, kPure,
     Cases("0, 1, 5, device=cpu, pin_memory=false",
           "-1.5, 1.5, 4, dtype=f32, layout=strided, device=cpu, pin_memory=false", "0.1, 7.3, 9, dtype=f64",
           "0, 7, 50, dtype=u8", "-7.3, 9.9, 33, dtype=f16", "0.5, 1.7, 5, dtype=c64")},
    {"aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_linspace_tensor, nullptr, kPure,
     Cases("f32[]{=-12}, f32[]{=12}, 4, dtype=f32, layout=strided, device=cpu, pin_memory=false",
           "f32[]{=-1}, f32[]{=7}, 50, dtype=i16", "f32[]{=0.3}, f32[]{=7}, 9, dtype=f64",
           "f32[]{=0.3}, f32[]{=7}, 33, dtype=bf16")},
    {"aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_linspace_tensor, nullptr, kPure, Cases("f32[]{=-1}, 2.5, 4")},
    {"aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_linspace_tensor, nullptr, kPure, Cases("0, f32[]{=3}, 5")},
    {"aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     nullptr, decompose_range, nullptr, kPure, Cases("0, 3, dtype=f32, layout=strided, device=cpu")},
    {"aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     nullptr, decompose_range, nullptr, kPure, Cases("0, 4")},
    {"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace, nullptr, kPure,
     Cases("0, 1, 4, device=cpu, pin_memory=false", "0.3, 2.5, 5, 2.5, dtype=f64", "1.8, 4.6, 9, dtype=f32",
           "0.7, 4.6, 9, 2.0, dtype=i32", "5, 0, 6, 2.0, dtype=u8", "0.7, 2, 1, dtype=i32")},
    {"aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace, nullptr, kPure,
     Cases("f32[]{=0}, f32[]{=2}, 5", "f32[]{=4.9}, f32[]{=2}, 2, 2.0, dtype=i16")},
    {"aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace, nullptr, kPure, Cases("f32[]{=-1}, 1, 4, 2.0")},
    {"aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace, nullptr, kPure, Cases("0.5, f32[]{=2}, 3")},
};
const size_t kSequenceCount = std::size(kSequenceRows);

}  // namespace wick::compiler
