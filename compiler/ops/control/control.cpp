// Operators without effect at inference (identities, asserts) and functions of sizes.
#include <algorithm>
#include <cmath>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"
#include "compiler/ops/sharing.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// Two results: factors, each 0 or 1 / (1 - p), and a mask of the factors that are not 0.
Results draw_dropout(Builder& b, const Sizes& sizes, DType dtype, double p) {
  return b.call_multi("aten.native_dropout", {b.full(sizes, 1.0, dtype), p, true});
}

// Feature dropout drops whole channels, the slices along the second dimension. Alpha dropout writes the lower limit of
// selu in place of 0, scaled and shifted so that mean and variance stay.
Results decompose_dropout(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("input");
  const double p = node.real("p");
  if (!node.boolean("train") || p == 0) return {x};
  if (p == 1) return {c.mul(x, 0.0)};
  const std::string_view name = node.op->name();
  const bool by_features = name.starts_with("aten.feature"), alpha = name.find("alpha") != std::string_view::npos;
  if (!by_features && !alpha) return {b.call_multi("aten.native_dropout", {x, p, true})[0]};
  const DType real = real_dtype(x->dtype());
  Sizes sizes = x->sizes();
  if (by_features) std::fill(sizes.begin() + 2, sizes.end(), Sym(1));
  const Results drawn = draw_dropout(b, sizes, real, p);
  if (!alpha) return {c.mul(x, drawn[0])};
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  Value* kept = b.cast(drawn[1], real);
  Value* shift = c.add(c.mul(c.sub(kept, 1.0), kAlpha * a), kAlpha * a * p);
  return {c.add(c.mul(x, c.mul(kept, a)), shift)};
}

// In training, eager multiplies by a mask of fractions, which integers cannot hold.
void require_droppable(const Node& node, bool train) {
  const DType dtype = node.tensor("input")->dtype();
  require(!train || node.real("p") == 0 || is_floating(dtype) || is_complex(dtype),
          "dropout in training takes floats or complex numbers");
}
void infer_dropout(Node& node) {
  const bool train = node.boolean("train");
  require_droppable(node, train);
  if (train && node.real("p") != 0 && node.op->name().starts_with("aten.feature"))
    require(node.tensor("input")->rank() >= 2, "feature dropout takes two dimensions or more");
  infer_same(node);
}
bool drops(const Node& node) { return node.is_none("train") || node.boolean("train"); }
void infer_native_dropout(Node& node) {
  require_droppable(node, drops(node));
  const Value* x = node.tensor("input");
  set_result(node, 0, x->dtype(), x->sizes());
  set_result(node, 1, DType::boolean, x->sizes());
}
Results decompose_native_dropout(Builder& b, Node& node) {
  Value* x = node.tensor("input");
  if (!drops(node) || node.real("p") == 0) return {x, b.full(x->sizes(), true, DType::boolean)};
  if (!is_complex(x->dtype())) return {};
  const Results drawn = draw_dropout(b, x->sizes(), real_dtype(x->dtype()), node.real("p"));
  return {Compose(b).mul(x, drawn[0]), drawn[1]};
}

void infer_size(Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "size of a scalar");
  node.result()->type = Type::integer(x->sizes()[static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()))]);
}
void infer_numel(Node& node) { node.result()->type = Type::integer(numel(node.tensor("self")->sizes())); }

// Contiguous strides: storage does not exist in the IR.
void infer_stride(Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "stride of a scalar");
  const auto dim = wrap_dim(node.static_integer("dim"), x->rank());
  node.result()->type = Type::integer(numel(Sizes(x->sizes().begin() + dim + 1, x->sizes().end())));
}
void infer_storage_offset(Node& node) { node.result()->type = Type::integer(0); }

// The value of a one-element tensor. Its symbol is the one in the exported program.
void infer_item(Node& node) {
  const Value* x = node.tensor("self");
  if (!may_equal(numel(x->sizes()), 1)) reject("item of a tensor with more than one element");
  Type& type = node.result()->type;
  if (type.kind != TypeKind::tensor) return;
  if (is_floating(x->dtype()))
    type = Type::real();
  else if (x->dtype() == DType::boolean)
    type = Type::boolean();
  else
    fail(Code::internal, "item of an integer has no preset symbol");
}
Results decompose_item(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  Node* made = b.graph().add_node(op("aten._local_scalar_dense.default"), {x}, 1, &node, "item");
  made->origin = node.origin;
  made->result()->type = node.result()->type;
  return {made->result()};
}

void infer_nothing(Node&) {}

void infer_assert_tensor(Node& node) {
  if (!may_equal(numel(node.tensor("self")->sizes()), 1))
    reject("an assertion on a tensor with other than one element");
}

// linalg functions call it after the `_ex` form, which reports an error number for each matrix.
Results decompose_check_errors(Builder& b, Node& node) {
  Compose c(b);
  require(node.tensor("info")->dtype() == DType::i32, "_linalg_check_errors takes int32 numbers of errors");
  Value* sound = b.call("aten.all", {c.compare("eq", node.tensor("info"), 0)});
  const std::string text = node.arg("api_name").as<std::string>() + ": a matrix is singular or not positive definite";
  Node* check = b.graph().add_node(op("aten._assert_async.msg"), {sound, text}, 0, &node);
  check->origin = node.origin;
  return {};
}

// Checks that a tensor still has the dtype and sizes that the exporter recorded. Strides concern storage and are
// ignored.
void infer_assert_metadata(Node& node) {
  const Value* x = node.tensor("a");
  const std::optional<DType> dtype = node.dtype("dtype");
  require(!dtype || *dtype == x->dtype(), "an asserted dtype is not the tensor's");
  if (node.is_none("size")) return;
  const Ints sizes = node.ints("size");
  require(sizes.size() == x->rank(), "an asserted size is not the tensor's");
  for (size_t i = 0; i < sizes.size(); ++i)
    require(may_equal(sizes[i], x->sizes()[i]), "an asserted size is not the tensor's");
}

}  // namespace

#define IDENTITY(schema, ...)                                                           \
  {                                                                                     \
    schema, infer_same, decompose_identity, nullptr,                                    \
        kView | kIdentity | kMoves | kPassesBoth | ranges::operands | shares::always, { \
      __VA_ARGS__                                                                       \
    }                                                                                   \
  }
#define IDENTITY_COPY(schema, ...)                                                                                  \
  {                                                                                                                 \
    schema, infer_same, decompose_identity, nullptr, kView | kIdentity | kMoves | kPassesBoth | ranges::operands, { \
      __VA_ARGS__                                                                                                   \
    }                                                                                                               \
  }
const OpDef kControlRows[] = {
    IDENTITY("aten::alias(Tensor(a) self) -> Tensor(a)", "f32[2, 3]", "f32[2, 4, 4]"),
    IDENTITY_COPY("aten::alias_copy(Tensor self) -> Tensor", "f32[3, 4]"),
    {"aten::detach(Tensor(a) self) -> Tensor(a)", infer_same, decompose_identity, nullptr,
     kView | kIdentity | kAlsoInPlace | kMoves | kPassesBoth | ranges::operands | shares::always, Cases("f32[2, 3]")},
    IDENTITY_COPY("aten::detach_copy(Tensor self) -> Tensor", "f32[2, 6]"),
    {"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", infer_same, decompose_identity,
     nullptr, kView | kIdentity | kMoves | kPassesBoth | ranges::operands | shares::if_contiguous,
     Cases("f32[1, 4, 6, 8], memory_format=channels_last")},
    IDENTITY_COPY("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "f32[3, 4]"),
    {"aten::lift(Tensor self) -> Tensor", infer_same, decompose_identity, nullptr,
     kView | kIdentity | kMoves | kPassesBoth | ranges::operands | shares::unless_conjugated, Cases("f32[3]", "i64[]")},
    IDENTITY("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", "f32[3]", "i64[]"),
    IDENTITY_COPY("aten::lift_fresh_copy(Tensor self) -> Tensor", "f32[2, 3]"),
    {"aten::resolve_conj(Tensor(a) self) -> Tensor(a)", infer_same, decompose_identity, nullptr,
     kView | kIdentity | kMoves | kPassesBoth | ranges::operands | shares::unless_conjugated,
     Cases("f32[3]", "c64[2, 2]")},
    {"aten::resolve_neg(Tensor(a) self) -> Tensor(a)", infer_same, decompose_identity, nullptr,
     kView | kIdentity | kMoves | kPassesBoth | ranges::operands | shares::unless_negated, Cases("f32[3]")},
    IDENTITY("aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)"),
    {"aten::dropout(Tensor input, float p, bool train) -> Tensor", infer_dropout, decompose_dropout, nullptr,
     shares::unless_dropping, Cases("f32[3, 4], 0.5, false")},
    {"aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", infer_dropout, decompose_dropout, nullptr,
     shares::unless_dropping, Cases("f32[2, 3, 2], 0.5, false")},
    {"aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", infer_dropout, decompose_dropout, nullptr,
     shares::unless_dropping, Cases("f32[4], 0.5, false")},
    {"aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", infer_dropout, decompose_dropout,
     nullptr, shares::unless_dropping, Cases("f32[3, 4], 0.5, false")},
    {"aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", infer_native_dropout,
     decompose_native_dropout, "aten::native_dropout.out", kRandom, Cases("f32[2, 3], 0.5, false")},
    {"aten::sym_size.int(Tensor self, int dim) -> SymInt", infer_size, nullptr, "aten::sym_size.int", kComputed,
     Cases("f32[2, 6], 1")},
    {"aten::sym_numel(Tensor self) -> SymInt", infer_numel, nullptr, "aten::sym_numel", kComputed, Cases("f32[2, 6]")},
    {"aten::sym_stride.int(Tensor self, int dim) -> SymInt", infer_stride, nullptr, nullptr, kComputed,
     Cases("f32[2, 6], 1")},
    {"aten::sym_storage_offset(Tensor self) -> SymInt", infer_storage_offset, nullptr, nullptr, kComputed},
    {"aten::item(Tensor self) -> Scalar", infer_item, decompose_item, nullptr, kPure,
     Cases("f32[]", "bool[]", "i64[]{=2}")},
    {"aten::_local_scalar_dense(Tensor self) -> Scalar", infer_item, nullptr, "aten::_local_scalar_dense", kPure,
     Cases("f32[1]", "bool[1]", "i64[1]{=4}")},
    {"aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, "
     "Device? device=None, Layout? layout=None) -> ()",
     infer_assert_metadata, nullptr, nullptr, kEffect, Cases("f32[2, 3], None, None, f32")},
    {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", infer_nothing, nullptr, nullptr, kEffect,
     Cases("true, never")},
    {"aten::_assert_async(Tensor self) -> ()", infer_assert_tensor, nullptr, nullptr, kEffect},
    {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", infer_assert_tensor, nullptr, nullptr, kEffect,
     Cases("bool[]{=1}, never")},
    {"aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", nullptr, decompose_check_errors,
     nullptr, kEffect, Cases("i32[2]{=0, 0}, solve, is_matrix=false")},
    {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", infer_nothing, nullptr, nullptr,
     kEffect},
    {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", infer_nothing, nullptr,
     nullptr, kEffect},
};
const size_t kControlCount = std::size(kControlRows);

}  // namespace wick::compiler
