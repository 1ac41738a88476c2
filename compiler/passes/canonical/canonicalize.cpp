#include <algorithm>
#include <cmath>

#include "compiler/ops/pointwise/binary.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/match/strided.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// Argument `index` if it is a tensor, else null.
// --- nodes that change nothing ---

Value* erase_identity(Builder&, Node& node) { return node.op->has(kIdentity) ? node.tensor_or_null(0) : nullptr; }

Value* erase_cast(Builder&, Node& node) {
  if (!node.is("aten._to_copy.default")) return nullptr;
  Value* x = node.tensor_or_null(0);
  return x && x->type == node.result()->type ? x : nullptr;
}

Value* erase_view(Builder&, Node& node) {
  Value* x = node.op->has(kView) ? node.tensor_or_null(0) : nullptr;
  if (!x || x->type != node.result()->type) return nullptr;
  if (node.is(Movement::view) || node.is(Movement::expand)) return x;
  // The slice is as long as its operand in every dimension.
  if (node.is(Movement::slice)) {
    const bool from_start = node.is_none("start") || node.integer("start").is(0) || is_static(x->sizes());
    return from_start && node.integer("step").is(1) ? x : nullptr;
  }
  if (!node.is(Movement::permute)) return nullptr;
  const std::vector<int64_t> dims = node.static_ints("dims");
  for (size_t i = 0; i < dims.size(); ++i) {
    if (wrap_dim(dims[i], x->rank()) != static_cast<int64_t>(i)) return nullptr;
  }
  return x;
}

// Operands without elements add nothing to a concatenation.
Value* erase_cat(Builder& b, Node& node) {
  if (!node.is("aten.cat.default")) return nullptr;
  const Values operands = node.tensors("tensors");
  Values parts;
  for (Value* part : operands) {
    const bool empty =
        std::any_of(part->sizes().begin(), part->sizes().end(), [](const Sym& size) { return size.is(0); });
    if (!empty) parts.push_back(part);
  }
  if (parts.size() == 1 && parts[0]->type == node.result()->type) return parts[0];
  const bool same_dtype = std::all_of(parts.begin(), parts.end(),
                                      [&](const Value* part) { return part->dtype() == node.result()->dtype(); });
  if (parts.empty() || parts.size() == operands.size() || !same_dtype) return nullptr;
  return b.call("aten.cat", {parts, node.arg("dim")});
}

// x * 1, x / 1, x + -0.0, x - 0.0; x + 0.0 would turn -0.0 into 0.0. For integers x + 0 as well.
Value* erase_neutral(Builder&, Node& node) {
  const bool add = node.is(Binary::add), sub = node.is(Binary::sub);
  const bool mul = node.is(Binary::mul), div = node.is(Binary::div);
  if (!add && !sub && !mul && !div) return nullptr;
  if ((add || sub) && literal(node.arg(2)) != 1.0) return nullptr;
  const DType dtype = node.result()->dtype();
  if (is_complex(dtype)) return nullptr;
  for (size_t side : {size_t{0}, size_t{1}}) {
    if (side == 1 && (sub || div)) break;
    Value* x = node.tensor_or_null(side);
    if (!x) continue;
    const auto other = mul || div ? factor_of(node.arg(1 - side), dtype) : number_of(node.arg(1 - side), dtype);
    if (!other || x->type != node.result()->type) continue;
    const bool zero = other->is(0) && (!is_floating(dtype) || add == other->is_negative_zero());
    if ((mul || div) ? other->is(1) : zero) return x;
  }
  return nullptr;
}

Value* erase_double_negation(Builder&, Node& node) {
  if (!node.is("aten.neg.default")) return nullptr;
  const Node* inner = node.tensor_or_null(0)->producer;
  return inner && inner->is("aten.neg.default") ? inner->tensor_or_null(0) : nullptr;
}

// --- casts ---

int mantissa_bits(DType dtype) {
  switch (dtype) {
    case DType::bf16: return 8;
    case DType::f16: return 11;
    case DType::f32: return 24;
    case DType::f64: return 53;
    default: return 0;
  }
}

// Bits of the magnitude of an integer or bool; 0 for other dtypes.
int magnitude_bits(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::i8: return 7;
    case DType::u8: return 8;
    case DType::i16: return 15;
    case DType::i32: return 31;
    case DType::i64: return 63;
    default: return 0;
  }
}

// Whether every value of `from` is also a value of `to`.
bool is_exact_cast(DType from, DType to) {
  if (from == to) return true;
  const int bits = magnitude_bits(from);
  if (bits > 0 && magnitude_bits(to) > 0)
    return to != DType::boolean && bits <= magnitude_bits(to) && !(to == DType::u8 && from == DType::i8);
  if (bits > 0) return bits <= mantissa_bits(to);
  if (to == DType::f64) return mantissa_bits(from) > 0;
  return to == DType::f32 && (from == DType::f16 || from == DType::bf16);
}

// cast(cast(x, b), c) = cast(x, c) when b holds every value of x, so that only the second cast rounds.
Value* merge_casts(Builder& b, Node& node) {
  if (!node.is("aten._to_copy.default")) return nullptr;
  const Value* middle = node.tensor_or_null(0);
  const Node* inner = middle->producer;
  if (!inner || !inner->is("aten._to_copy.default")) return nullptr;
  Value* x = inner->tensor_or_null(0);
  const DType from = x->dtype(), to = node.result()->dtype();
  if (!is_exact_cast(from, middle->dtype())) return nullptr;
  // A floating value outside an integer's range has no defined conversion.
  const bool to_integer = !is_floating(to) && to != DType::boolean;
  if (to_integer && (is_floating(from) || (is_floating(middle->dtype()) && !is_exact_cast(from, to)))) return nullptr;
  Value* out = b.cast(x, to);
  if (out != x) add_origins(*out->producer, *inner);
  return out;
}

// --- one form ---

bool keeps_order_of_elements(const Node& node) {
  const Value* x = node.tensor_or_null(0);
  int64_t last = -1;
  for (int64_t dim : node.static_ints("dims")) {
    dim = wrap_dim(dim, x->rank());
    if (x->sizes()[static_cast<size_t>(dim)].is(1)) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

Sizes without_ones(const Sizes& sizes) {
  Sizes out;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(out), [](const Sym& size) { return !size.is(1); });
  return out;
}

// A permute, select or expand that only adds, drops or moves dimensions of size 1 becomes a view.
Value* use_view(Builder& b, Node& node) {
  Value* x = node.op->has(kView) ? node.tensor_or_null(0) : nullptr;
  if (!x) return nullptr;
  bool plain = false;
  if (node.is(Movement::permute)) plain = keeps_order_of_elements(node);
  if (node.is(Movement::select))
    plain = x->sizes()[static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()))].is(1);
  if (node.is(Movement::expand)) plain = without_ones(x->sizes()) == without_ones(node.result()->sizes());
  return plain ? b.reshape(x, node.result()->sizes()) : nullptr;
}

// An as_strided that is equal to views, slices, permutes and expands becomes these, if they copy at most once, as it
// does.
Value* use_regular_view(Builder& b, Node& node) {
  if (!node.is("aten.as_strided.default")) return nullptr;
  Value* x = node.tensor_or_null(0);
  const Sym offset = node.is_none("storage_offset") ? Sym(0) : node.integer("storage_offset");
  const Ints sizes = node.ints("size"), strides = node.ints("stride");
  if (!is_static(x->sizes()) || !is_static(sizes) || !is_static(strides) || !offset.is_const()) return nullptr;
  Grid grid{node.static_ints("size"), node.static_ints("stride"), offset.value()};
  const auto plan = Strided::plan(numel(x->sizes()).value(), grid);
  return plan && plan->num_copies() <= 1 ? plan->build(b, b.reshape(x, {numel(x->sizes())}), 0) : nullptr;
}

// A tensor of one repeated number becomes a scalar argument if the other operand has the sizes of the result and the
// same dtype.
Value* use_number(Builder& b, Node& node) {
  const Binary function = node.op->facts.binary;
  if (function == Binary::none || function == Binary::rsub || !node.tensor_or_null(1)) return nullptr;
  for (size_t side : {size_t{0}, size_t{1}}) {
    Value *x = node.tensor_or_null(side), *other = node.tensor_or_null(1 - side);
    if (!x || !other || x->sizes() != node.result()->sizes() || x->dtype() != other->dtype() ||
        x->dtype() == DType::boolean)
      continue;
    const bool has_alpha = node.args().size() > 2;
    // alpha belongs to the second operand.
    if (side == 1 && function == Binary::add && literal(node.arg(2)) != 1.0) continue;
    const std::optional<Element> element = uniform_element(other);
    if (!element) continue;
    const OpDef* form = find_binary(side == 0 ? function : mirrored(function), "Scalar");
    if (!form) continue;
    Args args{x, element->as_number()};
    if (has_alpha) args.push_back(node.arg(2));
    return b.call(form->name(), std::move(args));
  }
  return nullptr;
}

// Whether a scalar tensor in place of `operand` leads to the same computation dtype.
bool keeps_computation_dtype(const Node& node, const Value* scalar) {
  if (scalar->rank() > 0 || scalar->dtype() == DType::boolean) return true;
  for (size_t i = 0; i < node.args().size(); ++i) {
    const Value* operand = node.tensor_or_null(i);
    if (operand && operand->dtype() != scalar->dtype() && operand->dtype() != DType::boolean) return false;
  }
  return true;
}

// Drops the expand of an operand if the operator broadcasts to the same size by itself.
Value* drop_expand(Builder& b, Node& node) {
  if (!node.op->has(kPointwise)) return nullptr;
  for (size_t i = 0; i < node.args().size(); ++i) {
    const Value* operand = node.tensor_or_null(i);
    const Node* expand = operand ? operand->producer : nullptr;
    if (!expand || !expand->is("aten.expand.default")) continue;
    Value* x = expand->tensor_or_null(0);
    if (!keeps_computation_dtype(node, x)) continue;
    if (broadcast_sizes(node, i, x) != node.result()->sizes()) continue;
    Args args = node.args();
    args[i] = x;
    Value* out = b.call(node.op->name(), std::move(args));
    add_origins(*out->producer, *expand);
    return out;
  }
  return nullptr;
}

// Whether it is known that a tensor of these sizes broadcasts to `out`.
bool is_known_to_broadcast(const Sizes& sizes, const Sizes& out) {
  if (sizes.size() > out.size()) return false;
  const size_t lead = out.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is(1) && sizes[i] != out[lead + i]) return false;
  }
  return true;
}

// Moves an expand behind a pointwise operator, which then computes each repeated element once.
Value* sink_expand(Builder& b, Node& node) {
  if (!node.op->has(kPointwise) || node.results().size() != 1) return nullptr;
  Args args = node.args();
  Sizes sizes;  // to which the operands broadcast without expands
  const Node* expand = nullptr;
  for (size_t i = 0; i < args.size(); ++i) {
    Value* operand = node.tensor_or_null(i);
    if (!operand) continue;
    const bool expands = operand->producer && operand->producer->is("aten.expand.default") &&
                         keeps_computation_dtype(node, operand->producer->tensor_or_null(0));
    if (expands) {
      expand = operand->producer;
      args[i] = operand = expand->tensor_or_null(0);
    }
    sizes = broadcast(sizes, operand->sizes());
  }
  if (!expand || sizes == node.result()->sizes() || !is_known_to_broadcast(sizes, node.result()->sizes()))
    return nullptr;
  const bool all_known = std::all_of(args.begin(), args.end(), [&](const Arg& arg) {
    return !tensor_or_null(arg) || is_known_to_broadcast(tensor_or_null(arg)->sizes(), sizes);
  });
  if (!all_known) return nullptr;
  Value* out = b.call(node.op->name(), std::move(args));
  add_origins(*out->producer, *expand);
  return b.expand(out, node.result()->sizes());
}

// hardtanh is clamp, for floating dtypes.
Value* use_clamp(Builder& b, Node& node) {
  if (!node.is("aten.hardtanh.default") || !is_floating(node.result()->dtype())) return nullptr;
  const Arg &low = node.arg("min_val"), &high = node.arg("max_val");
  if (low.is<Value*>() || high.is<Value*>() || !(node.real("min_val") <= node.real("max_val"))) return nullptr;
  return b.call("aten.clamp", {node.arg(0), low, high});
}

// Converts small constants of a narrower float dtype to the dtype of the result, if another tensor operand has that
// dtype.
Value* widen_constants(Builder& b, Node& node) {
  constexpr int64_t kFew = 4096;
  if (!node.op->has(kPointwise) || node.results().size() != 1 || !is_floating(node.result()->dtype())) return nullptr;
  const DType dtype = node.result()->dtype();
  const auto is_narrow = [&](const Value* x) {
    if (!x->type.is_tensor()) return false;
    const Sym count = numel(x->sizes());
    return x->is_constant() && is_floating(x->dtype()) && dtype_size_bytes(x->dtype()) < dtype_size_bytes(dtype) &&
           count.is_const() && count.value() <= kFew;
  };
  Args args(node.args().begin(), node.args().end());
  const auto operands = node.operands();
  const bool beside = std::any_of(operands.begin(), operands.end(),
                                  [&](const Value* x) { return x->type.is_tensor() && x->dtype() == dtype; });
  if (!beside || std::none_of(operands.begin(), operands.end(), is_narrow)) return nullptr;
  for (size_t i = 0; i < args.size(); ++i) {
    if (Value* x = node.tensor_or_null(i); x && is_narrow(x)) args[i] = b.cast(x, dtype);
  }
  return b.call(node.op->name(), std::move(args));
}

constexpr Rule kCanonicalRules[] = {
    erase_identity,   erase_cast, erase_view,  erase_cat,   erase_neutral, erase_double_negation, merge_casts, use_view,
    use_regular_view, use_number, drop_expand, sink_expand, use_clamp,     widen_constants,
};

}  // namespace

// Gives each meaning one form and erases nodes that change nothing.
//   before: y = mul(expand(x, [4, 4]), c)             after: y = mul(x, 2.0)
// Requires: composites are decomposed.
// Ensures: there are no identities, no casts to the same dtype or through a wider one, no expands before pointwise
// operators, no permutes or selects that are views, and no as_strided that is one of these. Uniform constants beside a
// tensor of their dtype are numbers. Small constants beside a tensor of a wider dtype, that of the result, are widened.
// Keeps: every value, including NaN and the sign of zero.
Result<Changed> canonicalize(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kCanonicalRules)); });
}

}  // namespace wick::compiler
