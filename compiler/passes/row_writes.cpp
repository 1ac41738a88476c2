#include "compiler/passes/row_writes.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 8;

bool is_integer(const Value& value) { return value.dtype() == DType::i64 || value.dtype() == DType::i32; }

int64_t element(const Value& constant, size_t index) {
  const uint8_t* from = constant.data.bytes().data() + index * dtype_size_bytes(constant.dtype());
  int32_t narrow = 0;
  int64_t wide = 0;
  if (constant.dtype() == DType::i64)
    std::memcpy(&wide, from, sizeof wide);
  else
    std::memcpy(&narrow, from, sizeof narrow);
  return constant.dtype() == DType::i64 ? wide : narrow;
}

// No two elements are equal modulo `length`: so positions that count from either end name different places.
bool are_distinct(const Value& constant, int64_t length) {
  std::vector<int64_t> elements(constant.data.size_bytes() / dtype_size_bytes(constant.dtype()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = (element(constant, i) % length + length) % length;
  std::sort(elements.begin(), elements.end());
  return std::adjacent_find(elements.begin(), elements.end()) == elements.end();
}

// The same of integers known when the program runs, whatever its inputs are: some in a row, all moved by one number.
bool are_distinct(const Value& value, int64_t length, const SymRanges& ranges, int depth = 0) {
  if (numel(value.sizes()).is(1)) return true;
  if (!is_integer(value) || depth > kMaxDepth) return false;
  if (value.is_constant()) return are_distinct(value, length);
  if (!value.producer) return false;
  const Node& node = *value.producer;
  if (node.is("aten.arange.start_step")) {
    const Arg& step = node.arg("step");
    const bool by_one = step.is<Sym>() && (step.as<Sym>().is(1) || step.as<Sym>().is(-1));
    return by_one && range_of(numel(value.sizes()), ranges).max <= length;
  }
  const Value *x = tensor_at(node, 0), *y = nullptr;
  if (node.is("aten.view.default") || node.is("aten.add.Scalar") || node.is("aten.sub.Scalar"))
    return are_distinct(*x, length, ranges, depth + 1);
  if (!node.is("aten.add.Tensor") && !node.is("aten.sub.Tensor")) return false;
  y = tensor_at(node, 1);
  if (!x || !y || node.arg(2).is<Value*>() || node.real("alpha") != 1) return false;
  if (numel(x->sizes()).is(1)) std::swap(x, y);
  return numel(y->sizes()).is(1) && is_integer(*y) && are_distinct(*x, length, ranges, depth + 1);
}

// bool[first, second]: positions (in front, as a column) against others (as a row).
Value* equal(Compose& c, Value* column, Value* row) {
  return c.compare("eq", c.b.reshape(column, {column->sizes()[0], 1}), c.b.reshape(row, {1, row->sizes()[0]}));
}

}  // namespace

std::optional<RowWrite> match_row_write(Node& node) {
  if (!node.is("aten.index_put.default") || node.boolean("accumulate")) return std::nullopt;
  RowWrite write{&node, node.tensor("self"), node.tensor("values"), nullptr, 0};
  const Values indices = node.tensors("indices");
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (write.positions) return std::nullopt;
    write.positions = indices[i];
    write.dim = i;
  }
  const Value* at = write.positions;
  if (!at || !is_integer(*at) || at->rank() != 1 || !is_floating(write.old->dtype())) return std::nullopt;
  Sizes sizes = write.old->sizes();
  if (!sizes[write.dim].is_const() || sizes[write.dim].value() < 2) return std::nullopt;
  sizes[write.dim] = at->sizes()[0];
  return write.rows->sizes() == sizes ? std::optional(write) : std::nullopt;
}

Value* from_front(Compose& c, const RowWrite& write) {
  Value* at = write.positions;
  return c.where(c.compare("lt", at, 0), c.add(at, write.length()), at);
}

Value* is_replaced(Compose& c, const RowWrite& write) {
  if (are_distinct(*write.positions, write.length(), c.b.graph().ranges)) return nullptr;
  Value *at = from_front(c, write), *order = c.arange(write.count(), DType::i64);
  Value* later = c.compare("lt", c.b.reshape(order, {write.count(), 1}), c.b.reshape(order, {1, write.count()}));
  return c.any(c.logical_and(equal(c, at, at), later), {1});
}

Value* is_written_with(Compose& c, const RowWrite& write) {
  Value* with = equal(c, c.arange(write.length(), DType::i64), from_front(c, write));
  Value* replaced = is_replaced(c, write);
  return replaced ? c.logical_and(with, c.logical_not(replaced)) : with;
}

Value* is_written(Compose& c, const RowWrite& write) {
  Value *all = c.arange(write.length(), DType::i64), *at = from_front(c, write);
  return write.count().is(1) ? c.compare("eq", all, at) : c.any(equal(c, all, at), {1});
}

}  // namespace wick::compiler
