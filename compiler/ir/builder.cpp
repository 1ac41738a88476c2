#include "compiler/ir/builder.h"

#include <fmt/format.h>
#include <string.h>

#include <numeric>

#include "common/float16.h"
#include "compiler/ir/infer.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

Builder::Builder(Graph& graph, Node* before) : Builder(graph, before, before ? before->origin : nullptr) {}
Builder::Builder(Graph& graph, Node* before, OriginPtr origin)
    : graph_(graph), before_(before), origin_(std::move(origin)) {}
Builder::~Builder() = default;

Node* Builder::node(std::string_view name, Args args) {
  const OpDef* def = find_op(name);
  if (!def) def = &op(fmt::format("{}.default", name));
  const std::string_view full = def->name();
  const size_t start = full.find('.') + 1;
  std::string_view stem = full.substr(start, full.find('.', start) - start);
  Node* made = graph_.add_node(*def, std::move(args), def->parsed->returns.size(), before_, stem);
  made->origin = origin_;
  made_.push_back(made);
  if (!def->infer) fail(Code::internal, fmt::format("{} has no shape function", full));
  try {
    if (on_elements_)
      infer_elements(*made);
    else
      infer_types(*made);
  } catch (Failure& failure) {
    if (failure.diag.where.module.empty() && failure.diag.where.source.empty()) failure.diag.where = where_of(*made);
    if (failure.diag.where.node.empty()) failure.diag.where.node = std::string(full);
    throw;
  }
  return made;
}

Value* Builder::call(std::string_view name, Args args) { return node(name, std::move(args))->result(0); }
std::vector<Value*> Builder::call_multi(std::string_view name, Args args) {
  return node(name, std::move(args))->results();
}

Value* Builder::cast(Value* x, DType dtype) { return x->dtype() == dtype ? x : call("aten._to_copy", {x, dtype}); }

Value* Builder::reshape(Value* x, Sizes sizes) {
  return x->sizes() == sizes ? x : call("aten.view", {x, std::move(sizes)});
}

Value* Builder::expand(Value* x, Sizes sizes) {
  return x->sizes() == sizes ? x : call("aten.expand", {x, std::move(sizes)});
}

Value* Builder::permute(Value* x, std::vector<int64_t> dims) {
  Ints order;
  bool identity = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], x->rank());
    identity = identity && dim == static_cast<int64_t>(i);
    order.push_back(dim);
  }
  return identity ? x : call("aten.permute", {x, std::move(order)});
}

Value* Builder::transpose(Value* x, int64_t dim0, int64_t dim1) {
  std::vector<int64_t> dims(x->rank());
  std::iota(dims.begin(), dims.end(), 0);
  if (dims.empty()) return x;
  std::swap(dims[static_cast<size_t>(wrap_dim(dim0, x->rank()))], dims[static_cast<size_t>(wrap_dim(dim1, x->rank()))]);
  return permute(x, std::move(dims));
}

Value* Builder::unsqueeze(Value* x, int64_t dim) {
  Sizes sizes = x->sizes();
  sizes.insert(sizes.begin() + wrap_dim(dim, x->rank() + 1), Sym(1));
  return reshape(x, std::move(sizes));
}

Value* Builder::squeeze(Value* x, int64_t dim) {
  if (x->rank() == 0) return x;
  Sizes sizes = x->sizes();
  const int64_t at = wrap_dim(dim, x->rank());
  if (!sizes[static_cast<size_t>(at)].is(1)) return x;
  sizes.erase(sizes.begin() + at);
  return reshape(x, std::move(sizes));
}

Value* Builder::slice(Value* x, int64_t dim, Sym start, Sym end, Sym step) {
  if (x->rank() == 0) fail(Code::unsupported_model, "a slice of a scalar");
  const int64_t at = wrap_dim(dim, x->rank());
  if (start.is(0) && step.is(1) && end == x->sizes()[static_cast<size_t>(at)]) return x;
  return call("aten.slice.Tensor", {x, at, std::move(start), std::move(end), std::move(step)});
}

Value* Builder::select(Value* x, int64_t dim, Sym index) {
  return call("aten.select.int", {x, wrap_dim(dim, x->rank()), std::move(index)});
}

Value* Builder::full(Sizes sizes, Arg value, DType dtype) {
  return call("aten.full", {std::move(sizes), std::move(value), dtype});
}

Value* Builder::constant(TensorType type, std::vector<uint8_t> bytes, std::string_view name) {
  auto owned = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  return constant(std::move(type), ConstantData{Span<const uint8_t>(owned->data(), owned->size()), owned}, name);
}

Value* Builder::constant(TensorType type, ConstantData data, std::string_view name) {
  return graph_.add_constant(std::move(type), std::move(data), std::string(name));
}

namespace {
template <typename T>
std::vector<uint8_t> bytes_of(const T& value) {
  std::vector<uint8_t> out(sizeof value);
  memcpy(out.data(), &value, sizeof value);
  return out;
}
}  // namespace

std::vector<uint8_t> scalar_bytes(double value, DType dtype) {
  const int64_t integer = value >= -9.2e18 && value <= 9.2e18 ? static_cast<int64_t>(value) : 0;
  switch (dtype) {
    case DType::f32: return bytes_of(static_cast<float>(value));
    case DType::f64: return bytes_of(value);
    case DType::f16: return bytes_of(Half(static_cast<float>(value)).bits);
    case DType::bf16: return bytes_of(BFloat16(static_cast<float>(value)).bits);
    case DType::boolean: return bytes_of(static_cast<uint8_t>(value != 0));
    case DType::u8:
    case DType::i8: return bytes_of(static_cast<int8_t>(integer));
    case DType::i16:
    case DType::u16: return bytes_of(static_cast<int16_t>(integer));
    case DType::i32:
    case DType::u32: return bytes_of(static_cast<int32_t>(integer));
    case DType::i64:
    case DType::u64: return bytes_of(integer);
    case DType::c64: {
      const float pair[2] = {static_cast<float>(value), 0};
      return bytes_of(pair);
    }
    case DType::c128: {
      const double pair[2] = {value, 0};
      return bytes_of(pair);
    }
    default: fail(Code::unsupported_model, fmt::format("no constant of dtype {}", dtype_name(dtype)));
  }
}

Value* Builder::scalar(double value, DType dtype) {
  return constant(TensorType{dtype, {}, {}}, scalar_bytes(value, dtype), "scalar");
}

}  // namespace wick::compiler
