#include "backends/cuda/compile/expression/expression.h"

#include <fmt/format.h>

#include <bit>
#include <tuple>

#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

using compiler::SymOp;

Sym less_than(const Sym& a, const Sym& b) { return compiler::make_sym(SymOp::lt, {a, b}); }
Sym equals(const Sym& a, const Sym& b) { return compiler::make_sym(SymOp::eq, {a, b}); }

constexpr const char *kSumText = "({0} + {1})", *kDifferenceText = "({0} - {1})", *kProductText = "({0} * {1})";

bool is_integer(ScalarType type) {
  return type == ScalarType::i32 || type == ScalarType::i64 || type == ScalarType::index;
}

}  // namespace

ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::boolean: return ScalarType::boolean;
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32: return ScalarType::i32;
    case DType::i64: return ScalarType::i64;
    case DType::f64: return ScalarType::f64;
    default: return ScalarType::f32;
  }
}

const char* type_name(ScalarType type) {
  switch (type) {
    case ScalarType::boolean: return "bool";
    case ScalarType::i32: return "i32";
    case ScalarType::i64: return "i64";
    case ScalarType::f32: return "f32";
    case ScalarType::f64: return "f64";
    case ScalarType::index: return "idx";
  }
  return "";
}

void for_each(std::vector<ExpressionPtr> roots, const std::function<void(ExpressionPtr)>& visit) {
  std::set<ExpressionPtr> seen = {nullptr};
  while (!roots.empty()) {
    const ExpressionPtr next = roots.back();
    roots.pop_back();
    if (!seen.insert(next).second) continue;
    visit(next);
    roots.insert(roots.end(), next->args.begin(), next->args.end());
  }
}

std::set<std::string, std::less<>> symbols_of(ExpressionPtr expression) {
  std::set<std::string, std::less<>> out;
  for_each({expression}, [&](ExpressionPtr e) {
    if (e->kind == ExpressionKind::index) collect_symbols(e->index, out);
  });
  return out;
}

IndexArithmetic index_arithmetic(ExpressionPtr call) {
  if (call->kind != ExpressionKind::call || call->type != ScalarType::index) return IndexArithmetic::other;
  if (call->text == kSumText) return IndexArithmetic::sum;
  if (call->text == kDifferenceText) return IndexArithmetic::difference;
  return call->text == kProductText ? IndexArithmetic::product : IndexArithmetic::other;
}

bool is_real(ScalarType type) { return type == ScalarType::f32 || type == ScalarType::f64; }

bool is_true(ExpressionPtr e) {
  if (e->kind == ExpressionKind::index) return e->index.is(1);
  return e->kind == ExpressionKind::number && e->type == ScalarType::boolean && e->number != 0;
}
bool is_false(ExpressionPtr e) {
  if (e->kind == ExpressionKind::index) return e->index.is(0);
  return e->kind == ExpressionKind::number && e->type == ScalarType::boolean && e->number == 0;
}

bool ExpressionPool::Less::operator()(ExpressionPtr a, ExpressionPtr b) const {
  const auto plain = [](ExpressionPtr e) {
    return std::tuple(e->kind, e->type, std::bit_cast<uint64_t>(e->number), e->buffer, e->dtype);
  };
  if (plain(a) != plain(b)) return plain(a) < plain(b);
  if (const int order = a->text.compare(b->text)) return order < 0;
  if (const int order = compare(a->index, b->index)) return order < 0;
  if (a->args.size() != b->args.size()) return a->args.size() < b->args.size();
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (a->args[i]->id != b->args[i]->id) return a->args[i]->id < b->args[i]->id;
  }
  return false;
}

ExpressionPtr ExpressionPool::intern(Expression expression) {
  if (const auto known = known_.find(&expression); known != known_.end()) return *known;
  expression.id = static_cast<uint32_t>(expressions_.size());
  expressions_.push_back(std::move(expression));
  known_.insert(&expressions_.back());
  return &expressions_.back();
}

ExpressionPtr ExpressionPool::index(Sym sym) {
  Expression e;
  e.index = std::move(sym);
  return intern(std::move(e));
}

ExpressionPtr ExpressionPool::number(double value, ScalarType type) {
  Expression e;
  e.kind = ExpressionKind::number;
  e.type = type;
  e.number = type == ScalarType::boolean ? value != 0 : value;
  return intern(std::move(e));
}

ExpressionPtr ExpressionPool::constant(double real, int64_t integer, ScalarType type) {
  if (is_real(type) || type == ScalarType::boolean) return number(real, type);
  return cast(index(Sym(integer)), type);
}

ExpressionPtr ExpressionPool::call(ScalarType type, std::string text, std::vector<ExpressionPtr> args) {
  Expression e;
  e.kind = ExpressionKind::call;
  e.type = type;
  e.text = std::move(text);
  e.args = std::move(args);
  return intern(std::move(e));
}

ExpressionPtr ExpressionPool::load(uint32_t buffer, DType dtype, ExpressionPtr offset) {
  Expression e;
  e.kind = ExpressionKind::load;
  e.type = scalar_type(dtype);
  e.buffer = buffer;
  e.dtype = dtype;
  e.args = {offset};
  if (guard()) e.args.push_back(guard());
  return intern(std::move(e));
}

ExpressionPtr ExpressionPool::reduced(uint32_t reduction, ScalarType type, bool position) {
  Expression e;
  e.kind = ExpressionKind::reduced;
  e.type = position ? ScalarType::i64 : type;
  e.buffer = reduction;
  e.number = position ? 1 : 0;
  return intern(std::move(e));
}

void ExpressionPool::push_guard(ExpressionPtr condition) {
  ExpressionPtr guarded = guard() ? both(guard(), condition) : condition;
  guards_.push_back(is_true(guarded) ? nullptr : guarded);
}

ExpressionPtr ExpressionPool::arithmetic(ExpressionPtr a, ExpressionPtr b, Sym (*combine)(const Sym&, const Sym&),
                                         const char* text, ScalarType type) {
  if (a->kind == ExpressionKind::index && b->kind == ExpressionKind::index) {
    try {
      return index(combine(a->index, b->index));
    } catch (const compiler::Failure& failure) {
      // Beyond the size that symbolic integers may have, the kernel computes it step by step.
      if (failure.diag.code != compiler::Code::limit) throw;
    }
  }
  return call(type, text, {cast(a, ScalarType::index), cast(b, ScalarType::index)});
}

ExpressionPtr ExpressionPool::add(ExpressionPtr a, ExpressionPtr b) {
  if (a->kind == ExpressionKind::index && a->index.is(0)) return b;
  if (b->kind == ExpressionKind::index && b->index.is(0)) return a;
  return arithmetic(a, b, [](const Sym& x, const Sym& y) { return x + y; }, kSumText, ScalarType::index);
}
ExpressionPtr ExpressionPool::subtract(ExpressionPtr a, ExpressionPtr b) {
  if (b->kind == ExpressionKind::index && b->index.is(0)) return a;
  return arithmetic(a, b, [](const Sym& x, const Sym& y) { return x - y; }, kDifferenceText, ScalarType::index);
}
ExpressionPtr ExpressionPool::multiply(ExpressionPtr a, ExpressionPtr b) {
  if (a->kind == ExpressionKind::index && a->index.is(1)) return b;
  if (b->kind == ExpressionKind::index && b->index.is(1)) return a;
  return arithmetic(a, b, [](const Sym& x, const Sym& y) { return x * y; }, kProductText, ScalarType::index);
}
// Divisors of 0 occur only in indices of tensors without elements, which no thread computes.
ExpressionPtr ExpressionPool::floor_divide(ExpressionPtr a, ExpressionPtr b) {
  if (b->kind == ExpressionKind::index && b->index.is(1)) return a;
  if (b->kind == ExpressionKind::index && b->index.is(0)) return b;
  return arithmetic(a, b, compiler::floor_div, "floor_divide({0}, {1})", ScalarType::index);
}
ExpressionPtr ExpressionPool::modulo(ExpressionPtr a, ExpressionPtr b) {
  if (b->kind == ExpressionKind::index && b->index.is(0)) return b;
  return arithmetic(a, b, compiler::sym_mod, "floor_modulo({0}, {1})", ScalarType::index);
}
ExpressionPtr ExpressionPool::minimum(ExpressionPtr a, ExpressionPtr b) {
  return arithmetic(a, b, compiler::sym_min, "({0} < {1} ? {0} : {1})", ScalarType::index);
}
ExpressionPtr ExpressionPool::maximum(ExpressionPtr a, ExpressionPtr b) {
  return arithmetic(a, b, compiler::sym_max, "({0} > {1} ? {0} : {1})", ScalarType::index);
}
ExpressionPtr ExpressionPool::less(ExpressionPtr a, ExpressionPtr b) {
  return cast(arithmetic(a, b, less_than, "({0} < {1})", ScalarType::boolean), ScalarType::boolean);
}
ExpressionPtr ExpressionPool::equal(ExpressionPtr a, ExpressionPtr b) {
  return cast(arithmetic(a, b, equals, "({0} == {1})", ScalarType::boolean), ScalarType::boolean);
}

ExpressionPtr ExpressionPool::both(ExpressionPtr a, ExpressionPtr b) {
  if (a == b || is_true(a) || is_false(b)) return b;
  if (is_true(b) || is_false(a)) return a;
  return call(ScalarType::boolean, "({0} && {1})", {a, b});
}

ExpressionPtr ExpressionPool::negation(ExpressionPtr a) {
  if (is_true(a) || is_false(a)) return number(is_false(a), ScalarType::boolean);
  return call(ScalarType::boolean, "(!{0})", {a});
}

ExpressionPtr ExpressionPool::select(ExpressionPtr condition, ExpressionPtr then, ExpressionPtr otherwise) {
  if (is_true(condition) || then == otherwise) return then;
  if (is_false(condition)) return otherwise;
  return call(then->type, "({0} ? {1} : {2})", {condition, then, otherwise});
}

ExpressionPtr ExpressionPool::cast(ExpressionPtr value, ScalarType type) {
  if (value->type == type) return value;
  // Indices may have 32 bits.
  if (type == ScalarType::i64 && value->kind == ExpressionKind::index && value->index.is_const() &&
      value->index.value() != static_cast<int32_t>(value->index.value()))
    return call(type, fmt::format("static_cast<i64>({}ull)", static_cast<uint64_t>(value->index.value())), {});
  if (type == ScalarType::boolean) {
    if (value->kind == ExpressionKind::index && value->index.is_const()) return number(value->index.value() != 0, type);
    return call(type, "({0} != 0)", {value});
  }
  if (value->kind == ExpressionKind::number) {
    if (is_real(type)) return number(type == ScalarType::f32 ? static_cast<float>(value->number) : value->number, type);
    if (value->type == ScalarType::boolean) return constant(0, value->number != 0, type);
  }
  if (is_real(type) && value->kind == ExpressionKind::index && value->index.is_const()) {
    const auto real = static_cast<double>(value->index.value());
    return number(type == ScalarType::f32 ? static_cast<float>(value->index.value()) : real, type);
  }
  if (is_integer(type) && is_real(value->type))
    return call(type, std::string("to_") + type_name(type) + "({0})", {value});
  return call(type, std::string("static_cast<") + type_name(type) + ">({0})", {value});
}

ExpressionPtr ExpressionPool::rounded(ExpressionPtr value, DType dtype) {
  switch (dtype) {
    case DType::f16: return call(ScalarType::f32, "to_f32(to_f16({0}))", {value});
    case DType::bf16: return call(ScalarType::f32, "to_f32(to_bf16({0}))", {value});
    case DType::i8: return call(ScalarType::i32, "static_cast<i8>({0})", {value});
    case DType::u8: return call(ScalarType::i32, "static_cast<u8>({0})", {value});
    case DType::i16: return call(ScalarType::i32, "static_cast<i16>({0})", {value});
    default: return value;
  }
}

ExpressionPtr ExpressionPool::rewrite(ExpressionPtr expression, const std::function<Sym(const Sym&)>& change,
                                      std::map<ExpressionPtr, ExpressionPtr>& known) {
  if (const auto found = known.find(expression); found != known.end()) return found->second;
  Expression changed = *expression;
  if (expression->kind == ExpressionKind::index) changed.index = change(expression->index);
  for (ExpressionPtr& arg : changed.args) arg = rewrite(arg, change, known);
  return known[expression] = intern(std::move(changed));
}

}  // namespace wick::cuda
