// Functions of one int16 element: a table with linear interpolation between its entries. An entry stands for every
// 2^n-th element. The table is the smallest one with which each of the 65536 results is within one step of eager's and
// interpolation within a quarter of a step of the function; or else the largest table, if its results are within one
// step. If none is (reciprocals and roots near 0), it is a graded table, whose entries lie closer together near 0, by
// the same measure; or for a function with kinks or jumps several tables, one for each smooth piece. A function from
// int8 to int16 has a table with an entry for each element.
#include <fmt/format.h>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/line_tables.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

// The only operand that is not a single constant number, however often the node reads it; null if there are others.
Value* only_variable(const Node& node) {
  Value* found = nullptr;
  for (Value* operand : node.operands()) {
    if (is_number(*operand)) continue;
    if (found && found != operand) return nullptr;
    found = operand;
  }
  return found;
}

std::vector<double> results(const Node& node) {
  OnAllElements all(*only_variable(node));
  all.add(node);
  return all.results();
}

constexpr char kLinesOp[] = "wick_cortex_m.lookup_int16";

struct Table {
  const char* op;
  std::vector<int32_t> elements;  // empty: none is accurate enough
};
Table lookup_of(const std::vector<double>& numbers, const Affine& q) {
  std::vector<int32_t> elements = int16_table(numbers, q);
  if (!elements.empty()) return {kLinesOp, std::move(elements)};
  return {"wick_cortex_m.graded_lookup_int16", graded_int16_table(numbers, q)};
}

Verdict supports_table(const Node& node, const Configuration&) {
  const Value* x = only_variable(node);
  for (const Refusal& reason : {refuse_elements(*x, "its input"), refuse_int16(*node.result(), "its result")}) {
    if (!reason.empty()) return refused(reason);
  }
  if (!(x->sizes() == node.result()->sizes()))
    return refused({"its result has other sizes than its input", "expand the input in a node of its own"});
  const std::vector<double> numbers = results(node);
  if (is_int8(*x) && numbers.size() == kInt8Elements) return Verdict::yes();
  if (numbers.size() != kInt16Elements)
    return refused({"it is not element-wise",
                    "compute it of elements one by one, or move it in front of the first quantize node or behind the "
                    "last dequantize node"});
  const Affine q = affine(*node.result());
  if (!lookup_of(numbers, q).elements.empty()) return Verdict::yes();
  const size_t pieces = line_pieces(numbers, q).size();
  if (pieces > 0) return Verdict::yes(fmt::format("a table for each of {} pieces", pieces));
  return refused(
      {"no table of up to 4097 elements with lines between them, or 7172 graded ones, is within one step of it, nor "
       "four for parts of it",
       "use a larger scale of its result or a smaller range of its input, or quantize its result to int8"});
}

Value* call_lookup(Builder& b, Value* x, Table table, const Affine& q) {
  const auto count = static_cast<int64_t>(table.elements.size());
  Value* lut = constant(b, {count}, std::move(table.elements), "lut");
  return b.call(table.op, {x, lut, int64_t{q.min}, int64_t{q.max}});
}

std::vector<Value*> rewrite_table(Builder& b, Node& node, const Configuration&) {
  Value* x = only_variable(node);
  const std::vector<double> numbers = results(node);
  const Affine q = affine(*node.result());
  if (is_int8(*x)) {
    const Affine from = affine(*x);
    return {lookup_int8(b, converted(b, x, from, spread(from, kStepsOfInt8), DType::i16), from.zero, numbers, q)};
  }
  if (Value* y = lookup_int16(b, x, numbers, q)) return {y};
  Value* y = nullptr;
  for (LinePiece& piece : line_pieces(numbers, q)) {
    Value* of_piece = call_lookup(b, x, {kLinesOp, std::move(piece.table)}, q);
    const int64_t first = INT16_MIN + static_cast<int64_t>(piece.first);
    y = y ? b.call("aten.where.self", {b.call("aten.ge.Scalar", {x, first}), of_piece, y}) : of_piece;
  }
  return {y};
}

// merge_tables made the node; it stays as it is.
Verdict supports_lookup(const Node& node, const Configuration&) {
  return Verdict::yes("one table for all of " + names_of_nodes(node));
}
std::vector<Value*> rewrite_lookup(Builder& b, Node& node, const Configuration&) {
  return {b.call(node.op->name(), node.args())};
}

constexpr OpRule kLookupRows[] = {
    {"wick_cortex_m.graded_lookup_int16.default", supports_lookup, rewrite_lookup, true, false, OpenSizes::batch},
    {"wick_cortex_m.lookup_int16.default", supports_lookup, rewrite_lookup, true, false, OpenSizes::batch},
};

}  // namespace

Value* lookup_int16(Builder& b, Value* x, const std::vector<double>& numbers, const Affine& q) {
  if (numbers.size() != kInt16Elements) return nullptr;
  Table table = lookup_of(numbers, q);
  return table.elements.empty() ? nullptr : call_lookup(b, x, std::move(table), q);
}

Value* lookup_int8(Builder& b, Value* x, int32_t zero, const std::vector<double>& numbers, const Affine& q) {
  return call_lookup(b, x, {kLinesOp, int8_table(numbers, zero, q)}, q);
}

const RuleFamily kInt16LookupRules = {kLookupRows, std::size(kLookupRows)};
const OpRule kInt16TableRule = {"", supports_table, rewrite_table, true, false, OpenSizes::batch};

}  // namespace wick::cortex_m
