#include "compiler/ops/rules.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace wick::compiler {

void reject(std::string message) { fail(Code::unsupported_model, std::move(message)); }
void reject(const char* message) { fail(Code::unsupported_model, message); }

bool is_number(const Arg& arg) {
  if (arg.is<Sym>() || arg.is<double>() || arg.is<bool>()) return true;
  return arg.is<Value*>() && arg.as<Value*>() && !arg.as<Value*>()->type.is_tensor();
}

bool is_float_number(const Arg& arg) {
  if (arg.is<double>()) return true;
  return arg.is<Value*>() && arg.as<Value*>() && arg.as<Value*>()->type.kind == TypeKind::real;
}

void set_result(Node& node, size_t index, DType dtype, Sizes sizes) {
  if (index >= node.results().size()) fail(Code::internal, fmt::format("{} has no result {}", node.op->name(), index));
  for (const Sym& size : sizes) {
    if (size.is_const() && size.value() < 0) reject("a size of the result is negative");
  }
  node.result(index)->type = Type::of(dtype, std::move(sizes));
}

DType real_dtype(DType dtype) {
  switch (dtype) {
    case DType::c32: return DType::f16;
    case DType::c64: return DType::f32;
    case DType::c128: return DType::f64;
    default: return dtype;
  }
}
DType complex_dtype(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == DType::f64 ? DType::c128 : dtype == DType::f16 ? DType::c32 : DType::c64;
}

bool may_equal(const Sym& a, const Sym& b) { return !a.is_const() || !b.is_const() || a == b; }

void require_equal(const Sym& a, const Sym& b, const char* what) {
  if (!may_equal(a, b)) reject(fmt::format("{}: {} and {} differ", what, a.text(), b.text()));
}

void require_rank(const Value* x, size_t rank, const char* what) {
  if (x->rank() != rank) reject(fmt::format("{} has rank {}, not {}", what, x->rank(), rank));
}

Sizes broadcast_all(const Args& operands) {
  Sizes out;
  for (const Arg& arg : operands) {
    if (Value* x = tensor_or_null(arg)) out = broadcast(out, x->sizes());
  }
  return out;
}

Ints repeat_to(Ints list, size_t count, const char* what) {
  if (list.size() == 1) list.resize(count, Sym(list[0]));
  if (list.size() != count) reject(fmt::format("{} has {} entries, not {}", what, list.size(), count));
  return list;
}

std::vector<int64_t> all_dims(size_t rank) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<int64_t> reduced_dims(const Node& node, const char* name, size_t rank) {
  std::vector<int64_t> dims;
  if (!node.is_none(name)) dims = node.static_ints(name);
  if (dims.empty()) return all_dims(rank);
  for (int64_t& dim : dims) dim = wrap_dim(dim, rank);
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) reject("a dimension is listed twice");
  if (rank == 0) dims.clear();
  return dims;
}

Sizes reduce_sizes(const Sizes& sizes, const std::vector<int64_t>& dims, bool keepdim) {
  Sizes out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!reduced)
      out.push_back(sizes[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

Sym window_size(const Sym& in, const Sym& pad, const Sym& kernel, const Sym& stride, const Sym& dilation,
                bool ceil_mode) {
  if (stride.is_const() && stride.value() <= 0) reject("stride must be positive");
  if (dilation.is_const() && dilation.value() <= 0) reject("dilation must be positive");
  if (kernel.is_const() && kernel.value() <= 0) reject("kernel size must be positive");
  const Sym span = in + pad * 2 - dilation * (kernel - 1) - 1;
  Sym out = floor_div(ceil_mode ? span + stride - 1 : span, stride) + 1;
  // The last window must start inside the input or its left padding. ceil_mode extends the input by less than a stride.
  // So no window starts behind these if it is at least as large as padding plus stride.
  const Sym spare = dilation * (kernel - 1) + 1 - pad - stride;
  const bool starts_inside = spare.is_const() && spare.value() >= 0;
  if (ceil_mode && !starts_inside) {
    const Sym last = (out - 1) * stride, limit = in + pad;
    if (last.is_const() && limit.is_const()) {
      if (last.value() >= limit.value()) out = out - 1;
    } else {
      out = make_sym(SymOp::where, {make_sym(SymOp::le, {limit, last}), out - 1, out});
    }
  }
  if (out.is_const() && out.value() < 1) reject("the window is larger than the padded input");
  return out;
}

bool have_equal_batches(const Value* a, const Value* b) {
  return a->rank() == b->rank() && a->rank() >= 2 &&
         std::equal(a->sizes().begin(), a->sizes().end() - 2, b->sizes().begin());
}

// When torch exports an expression of sizes that may have either sign, such as w - n, it fixes that it is not negative.
// Numbers read from data may have any sign.
static bool may_count_from_end(const Sym& position) {
  const SymRange range = SymScope::range(position);
  return range.min < 0 && (range.max <= 0 || range.min == std::numeric_limits<int64_t>::min());
}

Sym from_start(const Sym& position, const Sym& size) {
  if (!may_count_from_end(position)) return position;
  if (SymScope::range(position).max < 0) return size + position;
  return make_sym(SymOp::where, {make_sym(SymOp::lt, {position, 0}), size + position, position});
}

Sym clamp_bound(const Sym& bound, const Sym& size) {
  if (bound.is_const()) {
    const int64_t b = bound.value();
    if (size.is_const()) {
      const int64_t n = size.value();
      return Sym(b < 0 ? (b < -n ? 0 : b + n) : (b > n ? n : b));
    }
    if (b == 0) return Sym(0);
    if (b >= (int64_t{1} << 62)) return size;
    if (b <= -(int64_t{1} << 62)) return Sym(0);
    return b < 0 ? sym_max(size + bound, 0) : sym_min(bound, size);
  }
  if (!may_count_from_end(bound)) return bound == size ? size : sym_min(bound, size);
  const Sym position = sym_max(from_start(bound, size), 0);
  return SymScope::range(bound).max < 0 ? position : sym_min(position, size);
}

SliceBounds slice_bounds(const Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "a slice of a scalar");
  SliceBounds r;
  r.dim = wrap_dim(node.static_integer("dim"), x->rank());
  const Sym& size = x->sizes()[static_cast<size_t>(r.dim)];
  r.step = node.integer("step");
  if (r.step.is_const() && r.step.value() <= 0) reject("slice step must be positive");
  r.start = node.is_none("start") ? Sym(0) : clamp_bound(node.integer("start"), size);
  r.end = node.is_none("end") ? size : clamp_bound(node.integer("end"), size);
  if (const Sym length = r.end - r.start; length.is_const() && length.value() < 0) r.end = r.start;
  const auto counts_from_end = [&](const char* name) {
    return !node.is_none(name) && may_count_from_end(node.integer(name));
  };
  if (!r.start.is(0) && (counts_from_end("start") || counts_from_end("end"))) r.end = sym_max(r.end, r.start);
  return r;
}

void infer_same(Node& node) {
  const Value* x = node.tensor(node.op->parsed->args[0].name);
  set_result(node, x->dtype(), x->sizes());
}

void infer_float_unary(Node& node) {
  const Value* x = node.tensor(node.op->parsed->args[0].name);
  set_result(node, float_dtype(x->dtype()), x->sizes());
}

void infer_predicate(Node& node) {
  set_result(node, DType::boolean, node.tensor(node.op->parsed->args[0].name)->sizes());
}

void infer_broadcast(Node& node) {
  const Args operands{node.arg(0), node.arg(1)};
  set_result(node, promote(operands), broadcast_all(operands));
}

void infer_compare(Node& node) {
  const Args operands{node.arg(0), node.arg(1)};
  promote(operands);
  set_result(node, DType::boolean, broadcast_all(operands));
}

void infer_true_divide(Node& node) {
  const Args operands{node.arg(0), node.arg(1)};
  set_result(node, float_dtype(promote(operands)), broadcast_all(operands));
}

void infer_preset(Node& node) {
  for (const Value* result : node.results()) {
    if (!result->type.is_tensor()) fail(Code::internal, "a data-dependent result has no preset type");
  }
}

std::vector<Value*> decompose_identity(Builder&, Node& node) { return {node.tensor(node.op->parsed->args[0].name)}; }

}  // namespace wick::compiler
