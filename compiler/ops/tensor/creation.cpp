// Tensors made from numbers, and casts.
#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/pointwise/numbers.h"
#include "compiler/ops/ranges/ranges.h"
#include "compiler/ops/sharing.h"

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

void infer_scalar_tensor(Node& node) {
  const DType dtype = node.dtype("dtype").value_or(DType::f32);
  set_result(node, dtype, {});
  if (!is_16_bit(dtype)) require_fits(node, "s", dtype);  // larger numbers become infinite
}
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

// Fills the elements whose indices are all equal. In a matrix with `wrap`, a new diagonal starts one row below the end
// of the last one.
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
// _to_dim_order_copy(x, dim_order): the elements of x in another layout. Source: ExecuTorch, dim_order_ops.
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
// A copy to another dtype becomes a cast and a copy that only moves elements.
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
     infer_full, decompose_full, "aten::full.out", kFills | Numbers::fit | ranges::full | Growth::keeps,
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
     infer_new, decompose_full, nullptr, kFills | Numbers::fit,
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
     infer_like, decompose_full, nullptr, kFills | Numbers::fit,
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
    // Not an operator of eager: the value that fill_diagonal_ stores.
    {"aten::fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor", nullptr,
     decompose_fill_diagonal},
    {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", infer_same, decompose_fill, nullptr,
     kAlsoInPlace | Numbers::fit, Cases("f32[2, 2], -0.0")},
    {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", infer_same, decompose_fill, nullptr, kAlsoInPlace,
     Cases("f32[2, 3], f32[]", "i64[3], i64[]")},
    {"aten::zero(Tensor self) -> Tensor", infer_same, decompose_zero, nullptr, kAlsoInPlace,
     Cases("f32[2, 3]", "i64[0]")},
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
     kPointwise | kKeepsZero | kPassesBoth | kScores | ranges::operands | Growth::keeps | kPartwise,
     Cases("f32[2, 3], dtype=f16", "i64[2, 3]{=5, -3, -6, 0, -5, 6}", "f32[2, 3, 2, 2], memory_format=channels_last")},
    {"dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, "
     "bool? pin_memory=None, bool non_blocking=False, int[]? dim_order=None) -> Tensor",
     infer_dim_order_copy, decompose_dim_order_copy, "dim_order_ops::_to_dim_order_copy.out", kView | kMoves},
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
     "memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPointwise | shares::unless_converted,
     Cases("f32[5], i8", "i64[15]{special}, u8", "i32[3, 4]{index<3}, i64")},
    {"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPointwise | shares::unless_converted,
     Cases("f32[2, 3], dtype=i32, layout=strided, device=cpu",
           "f32[1, 4, 6, 8], dtype=f32, layout=strided, device=cpu, memory_format=channels_last")},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, kPointwise | shares::unless_converted,
     Cases("f32[2, 3], cpu, f64", "i64[]{=1}, cpu, f32", "i64[6]{=0, 0, 0, 0, 0, 0}, cpu, f32")},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
     "memory_format=None) -> Tensor(a)",
     infer_cast, decompose_cast, nullptr, shares::unless_converted, Cases("f32[3], i64[2]", "i64[3], f16[2]")},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", infer_cast, decompose_cast, nullptr,
     shares::unless_converted, Cases("f32[3], i64[1]{=2}", "f32[3, 4], f64[3, 4]")},
    {"quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor", infer_convert,
     decompose_convert, nullptr, kPointwise, Cases("f32[3], f16", "i64[3], f32")},
    {"prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", infer_convert, decompose_convert, nullptr,
     kPointwise, Cases("f32[3], f16", "i64[3], f32", "f32[3], bool")},
};
const size_t kCreationCount = std::size(kCreationRows);

}  // namespace wick::compiler
