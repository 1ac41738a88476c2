#include "backends/xnnpack/compile/passes/match/row_writes.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Binary;
using compiler::Builder;
using compiler::Compose;
using compiler::Movement;
using compiler::Node;
using compiler::Sizes;
using compiler::Sym;
using compiler::SymRanges;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

constexpr int kMaxDepthOfWrite = 8;

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

// Whether no two elements are equal modulo `length`, so that positions counted from either end are different positions.
bool are_distinct(const Value& constant, int64_t length) {
  std::vector<int64_t> elements(constant.data.size_bytes() / dtype_size_bytes(constant.dtype()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = (element(constant, i) % length + length) % length;
  std::sort(elements.begin(), elements.end());
  return std::adjacent_find(elements.begin(), elements.end()) == elements.end();
}

// The same for integers known only at run time, for all inputs of the program: consecutive ones, all shifted by one
// number.
bool are_distinct(const Value& value, int64_t length, const SymRanges& ranges, int depth = 0) {
  if (numel(value.sizes()).is(1)) return true;
  if (!is_integer(value) || depth > kMaxDepthOfWrite) return false;
  if (value.is_constant()) return are_distinct(value, length);
  if (!value.producer) return false;
  const Node& node = *value.producer;
  if (node.is("aten.arange.start_step")) {
    const Arg& step = node.arg("step");
    const bool by_one = step.is<Sym>() && (step.as<Sym>().is(1) || step.as<Sym>().is(-1));
    return by_one && range_of(numel(value.sizes()), ranges).max <= length;
  }
  const bool sum = node.is(Binary::add) || node.is(Binary::sub);
  if (!sum && !node.is(Movement::view)) return false;
  const Value *x = node.tensor_or_null(0), *y = node.tensor_or_null(1);
  if (!sum || (x && !y)) return are_distinct(*x, length, ranges, depth + 1);
  if (!x || !y || node.arg(2).is<Value*>() || node.real("alpha") != 1) return false;
  if (numel(x->sizes()).is(1)) std::swap(x, y);
  return numel(y->sizes()).is(1) && is_integer(*y) && are_distinct(*x, length, ranges, depth + 1);
}

// bool[first, second]: positions (in front, as a column) against others (as a row).
Value* equal(Compose& c, Value* column, Value* row) {
  return c.compare("eq", c.b.reshape(column, {column->sizes()[0], 1}), c.b.reshape(row, {1, row->sizes()[0]}));
}

Sizes sizes_of_rows(const RowWrite& write) {
  Sizes sizes = write.old->sizes();
  sizes[write.dim] = write.count;
  return sizes;
}

bool broadcasts_to(const Sizes& from, const Sizes& to) {
  if (from.size() > to.size()) return false;
  const size_t added = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].is(1) && !(from[i] == to[added + i])) return false;
  }
  return true;
}

bool match_index_put(Node& node, RowWrite& write) {
  if (!node.is("aten.index_put.default") || node.boolean("accumulate")) return false;
  const Values indices = node.tensors("indices");
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (write.positions) return false;
    write.positions = indices[i];
    write.dim = i;
  }
  write.rows = node.tensor("values");
  return write.positions && is_integer(*write.positions) && write.positions->rank() == 1;
}

// Eager's copy into narrow(cache, dim, start, count) expands the rows to the length of the slice, which is their number
// unless they reach beyond the end; the expand refuses that.
void skip_expand(const Node& node, RowWrite& write) {
  const Node* expand = write.rows->producer;
  if (!expand || !expand->is(Movement::expand)) return;
  Value* rows = expand->tensor_or_null(0);
  if (!rows || rows->rank() != write.rows->rank()) return;
  const Sym &count = rows->sizes()[write.dim], &length = node.result()->sizes()[write.dim];
  if (count.symbol_name().empty() || !(node.integer("end") == sym_min(length, count + write.start))) return;
  write.rows = rows;
}

bool match_slice_scatter(Node& node, RowWrite& write) {
  if (!node.is("aten.slice_scatter.default") || !node.integer("step").is(1)) return false;
  write.rows = node.tensor("src");
  write.dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), write.rows->rank()));
  write.start = node.integer("start");
  if (write.start.is_const() || !(write.rows->sizes()[write.dim] == node.integer("end") - write.start)) return false;
  skip_expand(node, write);
  return true;
}

bool match_scatter(Node& node, RowWrite& write) {
  if (!node.is("aten.scatter.src")) return false;
  write.rows = node.tensor("src");
  const Value* index = node.tensor("index");
  if (index->sizes() != write.rows->sizes() || index->rank() == 0) return false;
  write.dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), index->rank()));
  if (!index->producer || !index->producer->is("aten.expand.default")) return false;
  write.positions = index->producer->tensor_or_null(0);
  const Sym count = numel(write.positions->sizes());
  const size_t added = index->rank() - write.positions->rank();
  return count == index->sizes()[write.dim] &&
         (count.is(1) || (write.dim >= added && write.positions->sizes()[write.dim - added] == count));
}

}  // namespace

std::optional<RowWrite> match_row_write(Node& node) {
  RowWrite write;
  write.node = &node;
  if (!match_index_put(node, write) && !match_slice_scatter(node, write) && !match_scatter(node, write))
    return std::nullopt;
  write.old = node.tensor("self");
  if (!is_floating(write.old->dtype()) || write.dim >= write.old->rank()) return std::nullopt;
  const Sym& length = write.old->sizes()[write.dim];
  if (!length.is_const() || length.value() < 2) return std::nullopt;
  write.count = write.positions ? numel(write.positions->sizes()) : write.rows->sizes()[write.dim];
  if (!write.count.is_const() && write.count.symbol_name().empty()) return std::nullopt;
  return broadcasts_to(write.rows->sizes(), sizes_of_rows(write)) ? std::optional(write) : std::nullopt;
}

Value* written_rows(Builder& b, const RowWrite& write) { return b.expand(write.rows, sizes_of_rows(write)); }

Value* from_front(Compose& c, const RowWrite& write) {
  if (!write.positions) return c.add(c.arange(write.count, DType::i64), c.tensor(write.start, DType::i64));
  Value* at = c.b.reshape(write.positions, {write.count});
  return c.where(c.compare("lt", at, 0), c.add(at, write.length()), at);
}

Value* is_replaced(Compose& c, const RowWrite& write) {
  if (!write.positions || are_distinct(*write.positions, write.length(), c.b.graph().ranges)) return nullptr;
  Value *at = from_front(c, write), *order = c.arange(write.count, DType::i64);
  Value* later = c.compare("lt", c.b.reshape(order, {write.count, 1}), c.b.reshape(order, {1, write.count}));
  return c.any(c.logical_and(equal(c, at, at), later), {1});
}

Value* is_written_with(Compose& c, const RowWrite& write) {
  Value* with = equal(c, c.arange(write.length(), DType::i64), from_front(c, write));
  Value* replaced = is_replaced(c, write);
  return replaced ? c.logical_and(with, c.logical_not(replaced)) : with;
}

Value* is_written(Compose& c, const RowWrite& write) {
  Value *all = c.arange(write.length(), DType::i64), *at = from_front(c, write);
  return write.count.is(1) ? c.compare("eq", all, at) : c.any(equal(c, all, at), {1});
}

}  // namespace wick::xnnpack
