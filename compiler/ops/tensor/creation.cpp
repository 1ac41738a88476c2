// Tensors made from numbers, and casts.
#include <cmath>

#include "compiler/ir/sym/ratio.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void check_sizes(const Sizes& sizes) {
  for (const Sym& size : sizes) {
    if (size.is_const() && size.value() < 0) reject("a size is negative");
  }
  numel(sizes);  // throws if the product overflows
}

// The fill value of each form.
Arg fill_of(const Node& node) {
  if (has_argument(node, "fill_value")) return node.arg("fill_value");
  const std::string_view name = node.op->name();
  return name.find("ones") != std::string_view::npos ? Arg(1) : Arg(0);
}

DType dtype_of_number(const Arg& number) {
  if (number.is<bool>()) return DType::boolean;
  if (is_float_number(number)) return DType::f32;
  if (number.is<Value*>() && number.as<Value*>()->type.kind == TypeKind::boolean) return DType::boolean;
  return DType::i64;
}

void infer_full(Node& node) {
  Sizes sizes = node.ints("size");
  check_sizes(sizes);
  if (!is_number(node.arg("fill_value"))) reject("full needs a number");
  set_result(node, node.dtype("dtype").value_or(dtype_of_number(node.arg("fill_value"))), std::move(sizes));
}
// zeros, ones, empty: float32 unless told otherwise
void infer_sized(Node& node) {
  Sizes sizes = node.ints("size");
  check_sizes(sizes);
  set_result(node, node.dtype("dtype").value_or(DType::f32), std::move(sizes));
}
void infer_new(Node& node) {
  Sizes sizes = node.ints("size");
  check_sizes(sizes);
  set_result(node, node.dtype("dtype").value_or(node.tensor("self")->dtype()), std::move(sizes));
}
void infer_like(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, node.dtype("dtype").value_or(x->dtype()), x->sizes());
}

Results decompose_full(Builder& b, Node& node) {
  const Value* out = node.result();
  if (node.is("aten.full.default") && node.dtype("dtype") == out->dtype()) return {};
  return {b.full(out->sizes(), fill_of(node), out->dtype())};
}

void infer_scalar_tensor(Node& node) { set_result(node, node.dtype("dtype").value_or(DType::f32), {}); }
Results decompose_tensor_of_scalar(Builder& b, Node& node) {
  const DType dtype = node.result()->dtype();
  return {b.cast(Compose(b).tensor(node.arg("s"), dtype), dtype)};
}

// x with every element replaced
Results decompose_fill(Builder& b, Node& node) {
  const Value* x = node.tensor("self");
  if (Value* value = tensor_or_null(node.arg("value"))) {
    require(value->rank() == 0 || numel(value->sizes()).is(1), "fill: the value is not a single element");
    return {b.expand(b.cast(b.reshape(value, {}), x->dtype()), x->sizes())};
  }
  return {b.full(x->sizes(), node.arg("value"), x->dtype())};
}
Results decompose_zero(Builder& b, Node& node) {
  const Value* x = node.tensor("self");
  return {b.full(x->sizes(), 0, x->dtype())};
}

// --- ranges ---

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

// A number as a fraction of sizes: a literal, or what Python's arithmetic makes of sizes.
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

// Of a range with floating numbers, some of them sizes. Where the elements are integers, so are start, end and step.
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

void infer_linspace(Node& node) {
  const Sym steps = node.integer("steps");
  if (steps.is_const() && steps.value() < 0) reject("linspace: the number of steps is negative");
  for (const Value* end : node.operands()) require(!is_complex(end->dtype()), "linspace takes real ends");
  set_result(node, node.dtype("dtype").value_or(DType::f32), {steps});
}

// Symmetric as eager: from the start in the first half, from the end in the second.
Value* linspace(Compose& c, Node& node) {
  const int64_t steps = node.static_integer("steps");
  require(steps < (int64_t{1} << 28), "linspace is too long");
  const float start = static_cast<float>(node.real("start")), end = static_cast<float>(node.real("end"));
  std::vector<float> values(static_cast<size_t>(steps));
  const float step = steps > 1 ? (end - start) / static_cast<float>(steps - 1) : 0;
  for (int64_t i = 0; i < steps; ++i) {
    const bool first = i < steps / 2 || steps == 1;
    const float offset = step * static_cast<float>(first ? i : steps - 1 - i);
    values[static_cast<size_t>(i)] = first ? start + offset : end - offset;
  }
  return c.constant_f32(values, {steps});
}
Results decompose_linspace(Builder& b, Node& node) {
  Compose c(b);
  return {b.cast(linspace(c, node), node.result()->dtype())};
}
// Between numbers that are tensors: from the start in the first half, from the end in the second.
Value* linspace_of_tensors(Compose& c, const Node& node, DType dtype) {
  Builder& b = c.b;
  const int64_t steps = node.static_integer("steps");
  auto bound = [&](const char* name) {
    Value* value = b.cast(c.tensor(node.arg(name), dtype), dtype);
    return value->rank() ? b.reshape(value, {}) : value;
  };
  Value *start = bound("start"), *end = bound("end");
  if (steps < 2) return b.expand(start, {steps});
  Value* step = c.div(c.sub(end, start), static_cast<double>(steps - 1));
  Value* i = c.arange(steps, dtype);
  Value* back = c.add(c.neg(i), static_cast<double>(steps - 1));
  const int64_t half = steps / 2;
  Value* first = c.compare("lt", i, static_cast<double>(half));
  return c.where(first, c.add(start, c.mul(step, i)), c.sub(end, c.mul(step, back)));
}
Results decompose_linspace_tensor(Builder& b, Node& node) {
  Compose c(b);
  return {linspace_of_tensors(c, node, node.dtype("dtype").value_or(DType::f32))};
}
Results decompose_logspace_tensor(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.dtype("dtype").value_or(DType::f32);
  Value* exponents = linspace_of_tensors(c, node, is_floating(dtype) ? dtype : DType::f32);
  return {b.cast(b.call("aten.pow.Scalar", {node.real("base"), exponents}), dtype)};
}
// As arange, with the end included.
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
Results decompose_logspace(Builder& b, Node& node) {
  Compose c(b);
  return {b.cast(b.call("aten.pow.Scalar", {node.real("base"), linspace(c, node)}), node.result()->dtype())};
}

void infer_eye(Node& node) {
  const Sym rows = node.integer("n"), columns = has_argument(node, "m") ? node.integer("m") : rows;
  check_sizes({rows, columns});
  set_result(node, node.dtype("dtype").value_or(DType::f32), {rows, columns});
}
Results decompose_eye(Builder& b, Node& node) {
  Compose c(b);
  const Sizes sizes = node.result()->sizes();
  Value* rows = b.reshape(c.arange(sizes[0], DType::i64), {sizes[0], 1});
  return {b.cast(c.compare("eq", rows, c.arange(sizes[1], DType::i64)), node.result()->dtype())};
}

// Elements whose indices are all equal; a matrix with `wrap` starts a new diagonal one row below where the last one
// ended.
Results decompose_fill_diagonal(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const Sizes& sizes = x->sizes();
  require(sizes.size() >= 2, "fill_diagonal_ takes a matrix or more dimensions");
  for (size_t i = 1; sizes.size() > 2 && i < sizes.size(); ++i)
    require(may_equal(sizes[0], sizes[i]), "fill_diagonal_: beyond two dimensions all must be equal");
  Compose c(b);
  const auto positions = [&](size_t dim) {
    Sizes shape(sizes.size(), 1);
    shape[dim] = sizes[dim];
    return b.reshape(c.arange(sizes[dim], DType::i64), std::move(shape));
  };
  Value* first = positions(0);
  Value* hit = nullptr;
  for (size_t dim = 1; dim < sizes.size(); ++dim) {
    Value* distance = c.sub(first, positions(dim));
    if (node.boolean("wrap") && sizes.size() == 2) distance = c.remainder(distance, sizes[1] + 1);
    Value* equal = c.compare("eq", distance, 0);
    hit = hit ? c.logical_and(hit, equal) : equal;
  }
  return {c.where(hit, node.arg("fill_value"), x, x->dtype())};
}

// Row and column numbers of the lower (upper) triangle.
std::vector<int64_t> triangle(const Node& node) {
  const int64_t rows = node.static_integer("row"), columns = node.static_integer("col"),
                offset = node.static_integer("offset");
  require(rows >= 0 && columns >= 0 && rows < 32768 && columns < 32768, "triangle is too large");
  const bool lower = node.op->name().starts_with("aten.tril");
  std::vector<int64_t> row_index, column_index;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      if (lower ? c - r > offset : c - r < offset) continue;
      row_index.push_back(r);
      column_index.push_back(c);
    }
  }
  row_index.insert(row_index.end(), column_index.begin(), column_index.end());
  return row_index;
}
void infer_triangle_indices(Node& node) {
  set_result(node, node.dtype("dtype").value_or(DType::i64), {2, static_cast<int64_t>(triangle(node).size() / 2)});
}
Results decompose_triangle_indices(Builder& b, Node& node) {
  return {b.cast(Compose(b).constant_i64(triangle(node), node.result()->sizes()), node.result()->dtype())};
}

// --- casts ---

DType cast_target(const Node& node) {
  const Value* x = node.tensor("self");
  if (has_argument(node, "other")) return node.tensor("other")->dtype();
  return has_argument(node, "dtype") ? node.dtype("dtype").value_or(x->dtype()) : x->dtype();
}
void infer_cast(Node& node) { set_result(node, cast_target(node), node.tensor("self")->sizes()); }
// _to_dim_order_copy(x, dim_order): the elements of x, laid out anew. Source: ExecuTorch, dim_order_ops.
void infer_dim_order_copy(Node& node) {
  const Value* x = node.tensor("self");
  infer_cast(node);
  std::vector<uint8_t> order = x->tensor().dim_order;
  if (!node.is_none("dim_order")) {
    order.clear();
    uint64_t seen = 0;
    for (const int64_t dim : node.static_ints("dim_order")) {
      const bool fits = dim >= 0 && dim < static_cast<int64_t>(x->rank()) && (seen >> dim & 1) == 0;
      if (!fits) fail(Code::unsupported_model, "dim_order is no permutation of the dimensions");
      seen |= uint64_t{1} << dim;
      order.push_back(static_cast<uint8_t>(dim));
    }
    if (order.size() != x->rank()) fail(Code::unsupported_model, "dim_order is no permutation of the dimensions");
    if (std::is_sorted(order.begin(), order.end())) order.clear();
  }
  node.result()->type.tensor.dim_order = order;
}
// A copy to another dtype is a cast and a copy: the latter moves elements and nothing else.
Results decompose_dim_order_copy(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (cast_target(node) == x->dtype()) return {};
  return {b.call("dim_order_ops._to_dim_order_copy",
                 {b.cast(x, cast_target(node)), None{}, None{}, None{}, None{}, false, node.arg("dim_order")})};
}
Results decompose_cast(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const DType dtype = cast_target(node);
  if (x->dtype() == dtype) return {x};
  if (node.is("aten._to_copy.default")) {
    bool plain = node.arg(1).is<DType>();
    for (size_t i = 2; i < node.args().size(); ++i) {
      plain = plain && (node.arg(i).is<None>() || (node.arg(i).is<bool>() && !node.arg(i).as<bool>()));
    }
    if (plain) return {};
  }
  return {b.call("aten._to_copy", {x, dtype})};
}

void infer_convert(Node& node) {
  require(node.dtype("dtype").has_value(), "a conversion to no dtype");
  set_result(node, *node.dtype("dtype"), node.tensor(node.op->parsed->args[0].name)->sizes());
}
Results decompose_convert(Builder& b, Node& node) {
  return {b.cast(node.tensor(node.op->parsed->args[0].name), *node.dtype("dtype"))};
}

}  // namespace

const OpDef kCreationRows[] = {
    {"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_full, decompose_full, "aten::full.out", kFills | ranges::full | Growth::keeps,
     Cases("[], 3.5, device=cpu, pin_memory=false", "[2, 3], 1.5, dtype=f32, device=cpu, pin_memory=false",
           "[2, 2], nan, device=cpu, pin_memory=false")},
    {"aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_sized, decompose_full, nullptr, kPure,
     Cases("[4], device=cpu, pin_memory=false", "[1], dtype=f32, device=cpu, pin_memory=false",
           "[2, 3], dtype=i32, device=cpu, pin_memory=false")},
    {"aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_sized, decompose_full, nullptr, kPure,
     Cases("[3, 4], device=cpu, pin_memory=false", "[2], dtype=f32, device=cpu, pin_memory=false",
           "[2], dtype=i32, device=cpu, pin_memory=false")},
    {"wick::scratch(SymInt[] size, *, ScalarType? dtype=None) -> Tensor", infer_sized, nullptr, nullptr, kScratch},
    {"aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_sized, decompose_full, nullptr, kPure, Cases("[2, 3]")},
    {"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_sized, decompose_full, nullptr, kPure, Cases("[2, 3], [1, 0]")},
    {"aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_sized, decompose_full, nullptr, kPure, Cases("[2, 3], [3, 1]")},
    {"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_new, decompose_full, nullptr, kFills,
     Cases("f32[2], [3], 1", "f32[3, 4], [2], 3.0, pin_memory=false", "bool[2], [3], 1")},
    {"aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_new, decompose_full, nullptr, kPure,
     Cases("f32[2], [3], pin_memory=false", "bool[2], [3], pin_memory=false", "f32[3, 4], [2, 2], pin_memory=false")},
    {"aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_new, decompose_full, nullptr, kPure,
     Cases("f32[2], [2], dtype=bool", "f32[3, 4], [2], pin_memory=false", "bool[2], [2, 2], pin_memory=false")},
    {"aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_new, decompose_full, nullptr, kPure, Cases("f32[2], [3, 2]")},
    {"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_new, decompose_full, nullptr, kPure, Cases("f32[2], [3, 2], [2, 1]")},
    {"aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, decompose_full, nullptr, kFills,
     Cases("f32[2, 3], 2", "i64[2]{=-4, 8}, 3, dtype=f32", "f32[3, 4], 3, pin_memory=false")},
    {"aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, decompose_full, nullptr, kPure,
     Cases("f32[2, 3]", "f32[2, 3], dtype=i32", "f32[3, 4], pin_memory=false")},
    {"aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, decompose_full, nullptr, kPure,
     Cases("f32[2, 3]", "f32[2, 3], dtype=i32", "f32[3, 4], pin_memory=false")},
    {"aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, decompose_full, nullptr, kPure, Cases("f32[2, 3]")},
    {"aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_scalar_tensor, decompose_tensor_of_scalar, nullptr, kFills,
     Cases("0, device=cpu, pin_memory=false", "3, dtype=f32, device=cpu, pin_memory=false",
           "nan, device=cpu, pin_memory=false")},
    // No functional operator of eager's; what fill_diagonal_ stores.
    {"aten::fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor", nullptr,
     decompose_fill_diagonal},
    {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", infer_same, decompose_fill, nullptr, kAlsoInPlace,
     Cases("f32[2, 2], -0.0")},
    {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", infer_same, decompose_fill, nullptr, kAlsoInPlace,
     Cases("f32[2, 3], f32[]", "i64[3], i64[]")},
    {"aten::zero(Tensor self) -> Tensor", infer_same, decompose_zero, nullptr, kAlsoInPlace,
     Cases("f32[2, 3]", "i64[0]")},
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
           "-1.5, 1.5, 4, dtype=f32, layout=strided, device=cpu, pin_memory=false")},
    {"aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     nullptr, decompose_linspace_tensor, nullptr, kPure,
     Cases("f32[]{=-12}, f32[]{=12}, 4, dtype=f32, layout=strided, device=cpu, pin_memory=false")},
    {"aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     nullptr, decompose_linspace_tensor, nullptr, kPure, Cases("f32[]{=-1}, 2.5, 4")},
    {"aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     nullptr, decompose_linspace_tensor, nullptr, kPure, Cases("0, f32[]{=3}, 5")},
    {"aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     nullptr, decompose_range, nullptr, kPure, Cases("0, 3, dtype=f32, layout=strided, device=cpu")},
    {"aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     nullptr, decompose_range, nullptr, kPure, Cases("0, 4")},
    {"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace, nullptr, kPure, Cases("0, 1, 4, device=cpu, pin_memory=false")},
    {"aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace_tensor, nullptr, kPure, Cases("f32[]{=0}, f32[]{=2}, 5")},
    {"aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace_tensor, nullptr, kPure, Cases("f32[]{=-1}, 1, 4, 2.0")},
    {"aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_linspace, decompose_logspace_tensor, nullptr, kPure, Cases("0.5, f32[]{=2}, 3")},
    {"aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
     "-> Tensor",
     infer_eye, decompose_eye, nullptr, kPure, Cases("3, device=cpu, pin_memory=false")},
    {"aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_eye, decompose_eye, nullptr, kPure, Cases("2, 4, device=cpu, pin_memory=false")},
    {"aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_triangle_indices, decompose_triangle_indices, nullptr, kPure, Cases("3, 4, device=cpu, pin_memory=false")},
    {"aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_triangle_indices, decompose_triangle_indices, nullptr, kPure,
     Cases("3, 4, 1, device=cpu, pin_memory=false")},
    {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     infer_cast, decompose_cast, "aten::_to_copy.out",
     kPointwise | kPassesBoth | kScores | ranges::operands | Growth::keeps | kPartwise,
     Cases("f32[2, 3], dtype=f16", "i64[2, 3]{=5, -3, -6, 0, -5, 6}", "f32[2, 3, 2, 2], memory_format=channels_last")},
    {"dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, "
     "bool? pin_memory=None, bool non_blocking=False, int[]? dim_order=None) -> Tensor",
     infer_dim_order_copy, decompose_dim_order_copy, "dim_order_ops::_to_dim_order_copy.out", kView | kMoves},
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
     "memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPointwise,
     Cases("f32[5], i8", "i64[15]{special}, u8", "i32[3, 4]{index<3}, i64")},
    {"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPointwise,
     Cases("f32[2, 3], dtype=i32, layout=strided, device=cpu",
           "f32[1, 4, 6, 8], dtype=f32, layout=strided, device=cpu, memory_format=channels_last")},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPointwise,
     Cases("f32[2, 3], cpu, f64", "i64[]{=1}, cpu, f32", "i64[6]{=0, 0, 0, 0, 0, 0}, cpu, f32")},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
     "memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPure, Cases("f32[3], i64[2]", "i64[3], f16[2]")},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", infer_cast, decompose_cast, nullptr, kPure,
     Cases("f32[3], i64[1]{=2}", "f32[3, 4], f64[3, 4]")},
    {"quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor", infer_convert,
     decompose_convert, nullptr, kPointwise, Cases("f32[3], f16", "i64[3], f32")},
    {"prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", infer_convert, decompose_convert, nullptr,
     kPointwise, Cases("f32[3], f16", "i64[3], f32", "f32[3], bool")},
};
const size_t kCreationCount = std::size(kCreationRows);

}  // namespace wick::compiler
