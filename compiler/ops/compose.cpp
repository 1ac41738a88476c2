#include "compiler/ops/compose.h"

#include <string.h>

#include <algorithm>
#include <limits>

namespace wick::compiler {

Ints to_ints(const std::vector<int64_t>& values) { return Ints(values); }

namespace {
DType other_dtype(const Arg& x, const Arg& y) { return promote(Args{x, y}); }
}  // namespace

std::vector<Value*> Compose::call_multi(std::string_view name, Args args) {
  const OpDef* def = find_op(name);
  if (!def) def = &op(fmt::format("{}.default", name));
  if (def->infer) return b.call_multi(def->name(), std::move(args));
  if (!def->decompose) fail(Code::internal, fmt::format("{} has neither shape function nor decomposition", name));
  Node* node = b.graph().add_node(*def, std::move(args), def->parsed->returns.size());
  std::vector<Value*> results = def->decompose(b, *node);
  b.graph().erase(node);
  return results;
}

Value* Compose::unary(std::string_view name, Value* x) { return b.call(name, {x}); }
Value* Compose::call(std::string_view name, Args args) { return call_multi(name, std::move(args))[0]; }
Value* Compose::clamp(Value* x, Arg low, Arg high) { return b.call("aten.clamp", {x, low, high}); }
Value* Compose::neg(Value* x) { return unary("aten.neg", x); }
Value* Compose::exp(Value* x) { return unary("aten.exp", x); }
Value* Compose::log(Value* x) { return unary("aten.log", x); }
Value* Compose::sqrt(Value* x) { return unary("aten.sqrt", x); }
Value* Compose::abs(Value* x) { return unary("aten.abs", x); }
Value* Compose::sigmoid(Value* x) { return unary("aten.sigmoid", x); }
Value* Compose::tanh(Value* x) { return unary("aten.tanh", x); }
Value* Compose::square(Value* x) { return mul(x, x); }
Value* Compose::as_divisor(Value* x) {
  using Wide = std::numeric_limits<double>;
  using Narrow = std::numeric_limits<float>;
  if (x->dtype() == DType::f64) return clamp(x, Wide::min(), Wide::max());
  return clamp(x, static_cast<double>(Narrow::min()), static_cast<double>(Narrow::max()));
}
Value* Compose::logical_not(Value* x) { return unary("aten.logical_not", x); }
Value* Compose::logical_and(Value* x, Value* y) { return b.call("aten.logical_and", {x, y}); }
Value* Compose::logical_or(Value* x, Value* y) { return b.call("aten.logical_or", {x, y}); }
Value* Compose::softmax(Value* x, int64_t dim) { return b.call("aten._softmax", {x, dim, false}); }
Value* Compose::index_select(Value* x, int64_t dim, Value* index) {
  return b.call("aten.index_select", {x, dim, index});
}
Value* Compose::pad(Value* x, Ints pairs, double value) {
  return b.call("aten.constant_pad_nd", {x, std::move(pairs), value});
}

Value* Compose::add(Arg x, Arg y) {
  if (is_number(x)) std::swap(x, y);
  return b.call(is_number(y) ? "aten.add.Scalar" : "aten.add.Tensor", {x, y, 1});
}
Value* Compose::sub(Arg x, Arg y) {
  if (is_number(x)) return b.call("aten.rsub.Scalar", {y, x, 1});
  return b.call(is_number(y) ? "aten.sub.Scalar" : "aten.sub.Tensor", {x, y, 1});
}
Value* Compose::mul(Arg x, Arg y) {
  if (is_number(x)) std::swap(x, y);
  return b.call(is_number(y) ? "aten.mul.Scalar" : "aten.mul.Tensor", {x, y});
}
Value* Compose::div(Arg x, Arg y) {
  if (is_number(x)) {
    DType dtype = float_dtype(other_dtype(x, y));
    return b.call("aten.div.Tensor", {tensor(x, dtype), y});
  }
  return b.call(is_number(y) ? "aten.div.Scalar" : "aten.div.Tensor", {x, y});
}
Value* Compose::div_mode(Value* x, Arg y, const char* rounding) {
  return b.call(is_number(y) ? "aten.div.Scalar_mode" : "aten.div.Tensor_mode", {x, y, rounding});
}
Value* Compose::remainder(Value* x, Arg y) {
  return b.call(is_number(y) ? "aten.remainder.Scalar" : "aten.remainder.Tensor", {x, y});
}
Value* Compose::compare(std::string_view name, Value* x, Arg y) {
  return b.call(fmt::format("aten.{}.{}", name, is_number(y) ? "Scalar" : "Tensor"), {x, y});
}
Value* Compose::maximum(Value* x, Arg y) { return b.call("aten.maximum", {x, tensor(y, x->dtype())}); }
Value* Compose::minimum(Value* x, Arg y) { return b.call("aten.minimum", {x, tensor(y, x->dtype())}); }

Value* Compose::where(Value* condition, Arg x, Arg y, std::optional<DType> dtype) {
  const DType type = dtype ? *dtype : promote(Args{x, y});
  Value* a = b.cast(tensor(x, type), type);
  Value* c = b.cast(tensor(y, type), type);
  return b.call("aten.where.self", {condition, a, c});
}

Value* Compose::sum(Value* x, const std::vector<int64_t>& dims, bool keepdim) {
  return b.call("aten.sum.dim_IntList", {x, to_ints(dims), keepdim});
}
Value* Compose::mean(Value* x, const std::vector<int64_t>& dims, bool keepdim) {
  return b.call("aten.mean.dim", {x, to_ints(dims), keepdim});
}
Value* Compose::amax(Value* x, const std::vector<int64_t>& dims, bool keepdim) {
  return b.call("aten.amax", {x, to_ints(dims), keepdim});
}
Value* Compose::amin(Value* x, const std::vector<int64_t>& dims, bool keepdim) {
  return b.call("aten.amin", {x, to_ints(dims), keepdim});
}
Value* Compose::any(Value* x, const std::vector<int64_t>& dims, bool keepdim) {
  return b.call("aten.any.dims", {x, to_ints(dims), keepdim});
}

Value* Compose::cat(Values values, int64_t dim) {
  if (values.size() == 1) return values[0];
  return b.call("aten.cat", {std::move(values), dim});
}

Value* Compose::stack(const Values& values, int64_t dim) {
  require(!values.empty(), "stack needs at least one tensor");
  dim = wrap_dim(dim, values[0]->rank() + 1);
  Values rows;
  for (Value* value : values) rows.push_back(b.unsqueeze(value, dim));
  return cat(std::move(rows), dim);
}

Value* Compose::arange(Sym end, DType dtype) { return b.call("aten.arange.start_step", {0, std::move(end), 1, dtype}); }

Value* Compose::flatten(Value* x, int64_t first, int64_t last) {
  if (x->rank() == 0) return b.reshape(x, {1});
  first = wrap_dim(first, x->rank());
  last = wrap_dim(last, x->rank());
  require(first <= last, "flatten: start_dim is after end_dim");
  const Sizes& in = x->sizes();
  Sizes out(in.begin(), in.begin() + first);
  out.push_back(numel(Sizes(in.begin() + first, in.begin() + last + 1)));
  out.insert(out.end(), in.begin() + last + 1, in.end());
  return b.reshape(x, std::move(out));
}

namespace {
template <typename T>
std::vector<uint8_t> to_bytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
}  // namespace

Value* Compose::constant_i64(const std::vector<int64_t>& values, Sizes sizes) {
  return b.constant(TensorType{DType::i64, std::move(sizes), {}}, to_bytes(values), "index");
}
Value* Compose::constant_f32(const std::vector<float>& values, Sizes sizes) {
  return b.constant(TensorType{DType::f32, std::move(sizes), {}}, to_bytes(values), "table");
}
Value* Compose::constant_f64(const std::vector<double>& values, Sizes sizes) {
  return b.constant(TensorType{DType::f64, std::move(sizes), {}}, to_bytes(values), "table");
}

Value* Compose::tensor(const Arg& x, DType dtype) {
  if (Value* value = tensor_or_null(x)) return value;
  if (auto number = literal(x)) {
    // In f16 a number this large is infinite anyway.
    const bool exact = std::abs(*number) < 9007199254740992.0 || !x.is<Sym>() || dtype == DType::f16;
    if (exact) return b.scalar(*number, dtype);
  }
  if (!is_number(x)) reject("an operand is neither a tensor nor a number");
  return b.call("aten.full", {Sizes{}, x, dtype});
}

Value* Compose::reduce_loss(Value* loss, int64_t reduction) {
  if (reduction == 0) return loss;
  require(reduction == 1 || reduction == 2, "unknown loss reduction");
  const auto dims = all_dims(loss->rank());
  if (loss->rank() == 0) return loss;
  return reduction == 1 ? mean(loss, dims) : sum(loss, dims);
}

Value* Compose::matmul(Value* x, Value* y) {
  require(x->rank() >= 1 && y->rank() >= 1, "matmul operands need at least one dimension");
  const Sym inner_x = x->sizes().back(), inner_y = y->sizes()[y->rank() >= 2 ? y->rank() - 2 : 0];
  require_equal(inner_x, inner_y, "matmul: inner sizes");
  if (x->rank() == 1 && y->rank() == 1) {
    return b.reshape(b.call("aten.mm", {b.reshape(x, {1, inner_x}), b.reshape(y, {inner_y, 1})}), {});
  }
  if (x->rank() == 1) {
    Value* out = matmul(b.reshape(x, {1, inner_x}), y);
    return b.squeeze(out, -2);
  }
  if (y->rank() == 1) {
    Value* out = matmul(x, b.reshape(y, {inner_y, 1}));
    Sizes sizes = x->sizes();
    sizes.pop_back();
    return b.reshape(out, std::move(sizes));
  }
  const Sym m = x->sizes()[x->rank() - 2], n = y->sizes().back();
  if (y->rank() == 2) {  // leading dimensions of x are rows
    if (x->rank() == 2) return b.call("aten.mm", {x, y});
    Sizes out = x->sizes();
    out.back() = n;
    const Sym rows = numel(Sizes(x->sizes().begin(), x->sizes().end() - 1));
    return b.reshape(b.call("aten.mm", {b.reshape(x, {rows, inner_x}), y}), std::move(out));
  }
  const Sizes batch =
      broadcast(Sizes(x->sizes().begin(), x->sizes().end() - 2), Sizes(y->sizes().begin(), y->sizes().end() - 2));
  const Sym count = numel(batch);
  auto batched = [&](Value* value, const Sym& rows, const Sym& columns) {
    Sizes full = batch;
    full.push_back(rows);
    full.push_back(columns);
    return b.reshape(b.expand(value, std::move(full)), {count, rows, columns});
  };
  Value* out = b.call("aten.bmm", {batched(x, m, inner_x), batched(y, inner_y, n)});
  Sizes sizes = batch;
  sizes.push_back(m);
  sizes.push_back(n);
  return b.reshape(out, std::move(sizes));
}

}  // namespace wick::compiler
