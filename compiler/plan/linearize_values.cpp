// Values of a method plan: literals, computed integers, tensors and their storage.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <set>

#include "compiler/ir/text/text.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/plan/linearizer.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr uint64_t kAlignment = 16;
// A tensor has fewer than 2^31 elements, because the runtime's sizes and strides are 32-bit.
constexpr uint64_t kMaxElements = (uint64_t{1} << 31) - 1;

// Help for a size without a usable bound. The flags name symbols, because --max-size without a name bounds only sizes
// of inputs.
std::string help_for_bound(const Sym& size, const SymRanges& ranges) {
  std::set<std::string, std::less<>> names, unbounded;
  collect_symbols(size, names);
  for (const std::string& name : names) {
    const auto range = ranges.find(name);
    if (range == ranges.end() || range->second.max == kUnbounded) unbounded.insert(name);
  }
  std::string flags;
  for (const std::string& name : unbounded.empty() ? names : unbounded) flags += fmt::format(" --max-size {}=N", name);
  return fmt::format(
      "give it one:{}; or in the model, torch.export.Dim(name, max=..) for a size of an input, and "
      "torch._check(n <= ..) for a size read from data",
      flags);
}

bool is_bounded(const SymRange& range) { return range.max >= 0 && range.max <= static_cast<int64_t>(kMaxElements); }

}  // namespace

int32_t Linearizer::add_value(PlannedValue value) {
  plan_.values.push_back(std::move(value));
  return static_cast<int32_t>(plan_.values.size() - 1);
}

int32_t Linearizer::literal(const Arg& arg) {
  std::string key;
  PlannedValue value;
  if (arg.is<None>()) {
    key = "none";
  } else if (arg.is<Sym>()) {
    key = fmt::format("i{}", arg.as<Sym>().value());
    value = arg.as<Sym>().value();
  } else if (arg.is<double>()) {
    uint64_t bits;
    const double real = arg.as<double>();
    memcpy(&bits, &real, sizeof bits);
    key = fmt::format("d{:016x}", bits);
    value = real;
  } else if (arg.is<bool>()) {
    key = arg.as<bool>() ? "true" : "false";
    value = arg.as<bool>();
  } else if (arg.is<std::string>()) {
    key = "s" + arg.as<std::string>();
    value = arg.as<std::string>();
  } else if (arg.is<DType>()) {
    key = fmt::format("i{}", static_cast<int>(arg.as<DType>()));
    value = static_cast<int64_t>(arg.as<DType>());
  } else if (arg.is<Reals>()) {
    return add_value(arg.as<Reals>());
  } else if (arg.is<Bools>()) {
    return add_value(arg.as<Bools>());
  } else {
    fail(Code::internal, fmt::format("{} is not a literal", to_text(arg)));
  }
  auto [it, fresh] = literals_.try_emplace(key, 0);
  if (fresh) it->second = add_value(std::move(value));
  return it->second;
}

int32_t Linearizer::none_value() { return literal(None{}); }
int32_t Linearizer::literal_int(int64_t value) { return literal(Sym(value)); }

// Emits the integer operators of an expression where it is first needed. The same and inner nesting levels reuse the
// result.
int32_t Linearizer::int_value(const Sym& sym) {
  if (sym.is_const()) return literal(sym);
  const std::string text = sym.text();
  for (const auto& level : expressions_) {
    if (auto it = level.find(text); it != level.end()) return it->second;
  }
  const SymNode& node = *sym.node();
  auto emit = [&](const char* name, std::vector<int32_t> args) {
    const int32_t result = add_value(int64_t{0});
    args.push_back(result);
    emit_kernel(fmt::format("executorch_prim::{}.Scalar", name), std::move(args));
    return result;
  };
  auto chain = [&](const char* name) {
    int32_t result = int_value(node.args[0]);
    for (size_t i = 1; i < node.args.size(); ++i) result = emit(name, {result, int_value(node.args[i])});
    return result;
  };
  // sym_ite chooses between numbers only.
  auto number = [&](const Sym& arg) {
    const int32_t value = int_value(arg);
    return is_condition(arg) ? emit("sym_ite", {value, literal_int(1), literal_int(0)}) : value;
  };
  int32_t result = 0;
  switch (node.op) {
    case SymOp::symbol:
      fail(Diag(Code::unsupported_model, fmt::format("the size '{}' is used before anything defines it", text)));
    case SymOp::sum: result = chain("add"); break;
    case SymOp::product: result = chain("mul"); break;
    case SymOp::floor_div: result = chain("floordiv"); break;
    case SymOp::mod: {
      // The runtime's mod truncates; Python's follows the divisor's sign.
      const int32_t a = int_value(node.args[0]), b = int_value(node.args[1]);
      result = emit("sub", {a, emit("mul", {emit("floordiv", {a, b}), b})});
      break;
    }
    case SymOp::max: result = chain("sym_max"); break;
    case SymOp::min: result = chain("sym_min"); break;
    case SymOp::eq: result = chain("eq"); break;
    case SymOp::lt: result = chain("lt"); break;
    case SymOp::le: result = chain("le"); break;
    case SymOp::ne: result = emit("sym_not", {chain("eq")}); break;
    case SymOp::logical_not: result = emit("sym_not", {int_value(node.args[0])}); break;
    case SymOp::logical_and:
      result = emit("gt",
                    {emit("sym_ite", {int_value(node.args[0]), number(node.args[1]), literal_int(0)}), literal_int(0)});
      break;
    case SymOp::logical_or:
      result = emit("gt",
                    {emit("sym_ite", {int_value(node.args[0]), literal_int(1), number(node.args[1])}), literal_int(0)});
      break;
    case SymOp::where:
      result = emit("sym_ite", {int_value(node.args[0]), number(node.args[1]), number(node.args[2])});
      break;
  }
  expressions_.back()[text] = result;
  return result;
}

int32_t Linearizer::int_list(const Ints& ints) {
  IndexList list{IndexList::Kind::ints, {}};
  for (const Sym& item : ints) list.items.push_back(int_value(item));
  return add_value(std::move(list));
}

int32_t Linearizer::tensor_index(const Value* value) {
  auto it = index_.find(value);
  if (it == index_.end()) fail(Code::internal, fmt::format("%{} has no storage", value->name));
  return it->second;
}

int32_t Linearizer::scalar_index(const Value* value) {
  if (auto it = index_.find(value); it != index_.end()) return it->second;
  return int_value(value->type.expr);
}

int32_t Linearizer::tensor_list(const Values& values, bool optional) {
  IndexList list{optional ? IndexList::Kind::optional_tensors : IndexList::Kind::tensors, {}};
  for (const Value* value : values) list.items.push_back(value ? tensor_index(value) : -1);
  return add_value(std::move(list));
}

int32_t Linearizer::argument(const ArgSpec& spec, const Arg& arg) {
  if (arg.is<Value*>()) {
    const Value* value = arg.as<Value*>();
    return value->type.is_tensor() ? tensor_index(value) : scalar_index(value);
  }
  if (arg.is<Values>()) return tensor_list(arg.as<Values>(), spec.type == ArgType::optional_tensor_list);
  if (arg.is<Ints>()) {
    if (spec.type == ArgType::real_list) {
      Reals reals;
      for (const Sym& item : arg.as<Ints>()) reals.push_back(static_cast<double>(item.value()));
      return add_value(std::move(reals));
    }
    return int_list(arg.as<Ints>());
  }
  if (arg.is<Sym>()) {
    if (spec.type == ArgType::int_list)
      return int_list(Ints(static_cast<size_t>(std::max(spec.list_size, 1)), arg.as<Sym>()));
    if (spec.type == ArgType::real && arg.as<Sym>().is_const())
      return literal(static_cast<double>(arg.as<Sym>().value()));
    if (spec.type == ArgType::boolean && arg.as<Sym>().is_const()) return literal(arg.as<Sym>().value() != 0);
    return int_value(arg.as<Sym>());
  }
  if (arg.is<bool>() && spec.type == ArgType::integer) return literal_int(arg.as<bool>());
  return literal(arg);
}

void Linearizer::note_not_stock(std::string_view text) {
  auto& list = plan_.not_stock;
  auto at = std::lower_bound(list.begin(), list.end(), text);
  if (at == list.end() || *at != text) list.insert(at, std::string(text));
}

uint32_t Linearizer::operator_index(std::string_view registry_name, bool stock) {
  const size_t dot = registry_name.find('.');
  Operator op{std::string(registry_name.substr(0, dot)),
              dot == std::string_view::npos ? "" : std::string(registry_name.substr(dot + 1))};
  if (!stock) note_not_stock(registry_name);
  for (size_t i = 0; i < plan_.operators.size(); ++i) {
    if (plan_.operators[i].name == op.name && plan_.operators[i].overload == op.overload)
      return static_cast<uint32_t>(i);
  }
  plan_.operators.push_back(std::move(op));
  return static_cast<uint32_t>(plan_.operators.size() - 1);
}

// Refuses such a value in a program for stock's runtime, which has no memory for it.
void Linearizer::refuse_unbounded(const Value* value) {
  size_t dim = 0;
  while (dim + 1 < value->rank() && is_bounded(range_of(value->sizes()[dim], graph_.ranges))) ++dim;
  Diag diag(Code::unsupported_model,
            fmt::format("dimension {} of '{}' has no usable upper bound, and stock's runtime has no memory for such a "
                        "value",
                        dim, value->name));
  if (value->producer) diag.where = where_of(*value->producer);
  fail(std::move(diag)
           .expected(value->sizes()[dim].text(), "a size with an upper bound below 2^31")
           .with_help(help_for_bound(value->sizes()[dim], graph_.ranges)));
}

PlannedTensor Linearizer::describe(const Value* value) {
  PlannedTensor tensor;
  tensor.dtype = value->dtype();
  tensor.dynamic = !is_static(value->sizes());
  tensor.dim_order = layout::stored_order(*value);
  uint64_t count = 1;
  for (const Sym& size : value->sizes()) {
    const SymRange range = range_of(size, graph_.ranges);
    tensor.sizes.push_back(range.max);
    if (!is_bounded(range) || __builtin_mul_overflow(count, static_cast<uint64_t>(range.max), &count) ||
        count > kMaxElements)
      tensor.unbounded = tensor.dynamic;
  }
  if (!tensor.unbounded) return tensor;
  if (options_.stock_only) refuse_unbounded(value);
  for (size_t i = 0; i < value->rank(); ++i) {
    if (!value->sizes()[i].is_const()) tensor.sizes[i] = 0;
  }
  return tensor;
}

uint64_t Linearizer::bound_bytes(const PlannedTensor& tensor) {
  uint64_t count = 1;
  for (int64_t size : tensor.sizes) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(size), &count) || count > kMaxElements) {
      fail(Code::limit, "a tensor has 2^31 elements or more at its upper bounds");
    }
  }
  return count * dtype_size_bytes(tensor.dtype);
}

uint32_t Linearizer::new_storage(Storage::Kind kind, uint64_t size_bytes, const std::string& label) {
  Storage storage;
  storage.kind = kind;
  storage.size_bytes = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  storage.label = label;
  plan_.storages.push_back(std::move(storage));
  return static_cast<uint32_t>(plan_.storages.size() - 1);
}

int32_t Linearizer::define_tensor(const Value* value, uint32_t storage, uint64_t offset_bytes) {
  PlannedTensor tensor = describe(value);
  tensor.storage = storage;
  tensor.offset_bytes = offset_bytes;
  const int32_t index = add_value(std::move(tensor));
  index_[value] = index;
  return index;
}

int32_t Linearizer::allocate(const Value* value) {
  if (auto it = placed_.find(value); it != placed_.end())
    return define_tensor(value, it->second.first, it->second.second);
  return define_tensor(value, storage_for(describe(value), value->name), 0);
}

uint32_t Linearizer::storage_for(const PlannedTensor& tensor, const std::string& label) {
  return tensor.unbounded ? new_storage(Storage::Kind::unbounded, 0, label)
                          : new_storage(Storage::Kind::arena, bound_bytes(tensor), label);
}

int32_t Linearizer::scratch_like(const PlannedTensor& tensor, const std::string& label) {
  PlannedTensor copy = tensor;
  copy.storage = storage_for(tensor, label);
  copy.offset_bytes = 0;
  copy.name.clear();
  return add_value(std::move(copy));
}

// Defines the symbols that are sizes of `value` and not known yet, also s in a size such as 4*s + 1. Returns them.
std::vector<std::string> Linearizer::define_symbols(const Value* value) {
  std::vector<std::string> defined;
  for (size_t i = 0; i < value->rank(); ++i) {
    std::set<std::string, std::less<>> symbols;
    collect_symbols(value->sizes()[i], symbols);
    if (symbols.size() != 1) continue;
    const std::string& symbol = *symbols.begin();
    const bool known = std::any_of(expressions_.begin(), expressions_.end(),
                                   [&](const auto& level) { return level.count(symbol) != 0; });
    if (known) continue;
    // size = slope * s + start, read off at s = 0, 1, 2.
    auto at = [&](int64_t s) { return evaluate(value->sizes()[i], SymValues{{symbol, s}}); };
    const auto start = at(0), one = at(1), two = at(2);
    if (!start || !one || !two || *one - *start == 0 || *two - *one != *one - *start) continue;
    const int64_t slope = *one - *start;
    const int32_t size = add_value(int64_t{0});
    emit_kernel("aten::sym_size.int", {tensor_index(value), literal_int(static_cast<int64_t>(i)), size});
    expressions_.back()[value->sizes()[i].text()] = size;
    int32_t result = size;
    if (*start != 0) {
      const int32_t difference = add_value(int64_t{0});
      emit_kernel("executorch_prim::sub.Scalar", {result, literal_int(*start), difference});
      result = difference;
    }
    if (slope != 1) {
      const int32_t quotient = add_value(int64_t{0});
      emit_kernel("executorch_prim::floordiv.Scalar", {result, literal_int(slope), quotient});
      result = quotient;
    }
    expressions_.back()[symbol] = result;
    defined.push_back(symbol);
  }
  return defined;
}

}  // namespace wick::compiler
