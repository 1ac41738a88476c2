// Evaluates formulas, and bounds them for all values of their symbols.
#include <algorithm>

#include "backends/cuda/payload/plan.h"
#include "common/checked.h"
#include "common/math/arithmetic.h"

namespace wick::cuda {
namespace {

// 0 if b is 0; range_of() refuses such formulas.
int64_t floor_divide(int64_t a, int64_t b) { return b == 0 ? 0 : math::floor_divide(a, b); }
int64_t modulo(int64_t a, int64_t b) { return b == 0 ? 0 : math::floor_modulo(a, b); }

size_t operands_of(FormulaOp op) {
  switch (op) {
    case FormulaOp::constant:
    case FormulaOp::symbol: return 0;
    case FormulaOp::logical_not: return 1;
    case FormulaOp::select: return 3;
    default: return 2;
  }
}

int64_t apply(FormulaOp op, int64_t a, int64_t b) {
  switch (op) {
    case FormulaOp::add: return a + b;
    case FormulaOp::multiply: return a * b;
    case FormulaOp::floor_divide: return floor_divide(a, b);
    case FormulaOp::modulo: return modulo(a, b);
    case FormulaOp::minimum: return std::min(a, b);
    case FormulaOp::maximum: return std::max(a, b);
    case FormulaOp::equal: return a == b;
    case FormulaOp::not_equal: return a != b;
    case FormulaOp::less: return a < b;
    case FormulaOp::less_equal: return a <= b;
    case FormulaOp::logical_and: return a != 0 && b != 0;
    case FormulaOp::logical_or: return a != 0 || b != 0;
    default: return 0;
  }
}

bool is_one(FormulaRange r) { return r.low == r.high; }
bool holds_zero(FormulaRange r) { return r.low <= 0 && r.high >= 0; }
// The range of a truth value that may be false, true or both.
FormulaRange truth(bool may_be_false, bool may_be_true) { return {may_be_false ? 0 : 1, may_be_true ? 1 : 0}; }

// The smallest and the largest value of f at the corners. Requires: f is monotonic in each operand.
template <typename F>
bool at_corners(FormulaRange a, FormulaRange b, FormulaRange* out, F f) {
  bool first = true;
  for (const int64_t x : {a.low, a.high}) {
    for (const int64_t y : {b.low, b.high}) {
      int64_t value = 0;
      if (!f(x, y, &value)) return false;
      out->low = first ? value : std::min(out->low, value);
      out->high = first ? value : std::max(out->high, value);
      first = false;
    }
  }
  return true;
}

bool multiply(int64_t a, int64_t b, int64_t* out) { return checked_mul(a, b, out); }
bool divide(int64_t a, int64_t b, int64_t* out) {
  if (a == INT64_MIN && b == -1) return false;
  *out = floor_divide(a, b);
  return true;
}

FormulaRange modulo_range(FormulaRange a, FormulaRange b) {
  if (is_one(a) && is_one(b)) {
    const int64_t value = modulo(a.low, b.low);
    return {value, value};
  }
  if (b.low > 0) {
    if (a.low >= 0 && a.high < b.low) return a;
    return {0, a.low >= 0 ? std::min(a.high, b.high - 1) : b.high - 1};
  }
  return {b.low + 1, 0};
}

constexpr char kOverflow[] = "a result that int64 does not hold";

const char* combine(FormulaOp op, FormulaRange a, FormulaRange b, FormulaRange* out) {
  switch (op) {
    case FormulaOp::add:
      return checked_add(a.low, b.low, &out->low) && checked_add(a.high, b.high, &out->high) ? nullptr : kOverflow;
    case FormulaOp::multiply: return at_corners(a, b, out, multiply) ? nullptr : kOverflow;
    case FormulaOp::floor_divide:
      if (holds_zero(b)) return "a divisor that may be 0";
      return at_corners(a, b, out, divide) ? nullptr : kOverflow;
    case FormulaOp::modulo:
      if (holds_zero(b)) return "a divisor that may be 0";
      *out = modulo_range(a, b);
      return nullptr;
    case FormulaOp::minimum: *out = {std::min(a.low, b.low), std::min(a.high, b.high)}; return nullptr;
    case FormulaOp::maximum: *out = {std::max(a.low, b.low), std::max(a.high, b.high)}; return nullptr;
    case FormulaOp::equal:
      *out = truth(!(is_one(a) && is_one(b) && a.low == b.low), a.low <= b.high && b.low <= a.high);
      return nullptr;
    case FormulaOp::not_equal:
      *out = truth(a.low <= b.high && b.low <= a.high, !(is_one(a) && is_one(b) && a.low == b.low));
      return nullptr;
    case FormulaOp::less: *out = truth(a.high >= b.low, a.low < b.high); return nullptr;
    case FormulaOp::less_equal: *out = truth(a.high > b.low, a.low <= b.high); return nullptr;
    case FormulaOp::logical_and:
      *out = truth(holds_zero(a) || holds_zero(b), (a.low != 0 || a.high != 0) && (b.low != 0 || b.high != 0));
      return nullptr;
    case FormulaOp::logical_or:
      *out = truth(holds_zero(a) && holds_zero(b), a.low != 0 || a.high != 0 || b.low != 0 || b.high != 0);
      return nullptr;
    default: return "an unknown operation";
  }
}

FormulaRange select(FormulaRange condition, FormulaRange yes, FormulaRange no) {
  if (!holds_zero(condition)) return yes;
  if (is_one(condition)) return no;
  return {std::min(yes.low, no.low), std::max(yes.high, no.high)};
}

// A constant or a symbol.
const char* push(const FormulaStep& step, Span<const Symbol> symbols, FormulaRange* out) {
  if (step.op == FormulaOp::constant) {
    *out = {step.value, step.value};
    return nullptr;
  }
  if (step.value < 0 || static_cast<uint64_t>(step.value) >= symbols.size()) return "a symbol that does not exist";
  const Symbol& symbol = symbols[static_cast<size_t>(step.value)];
  *out = {symbol.min, symbol.max};
  return nullptr;
}

}  // namespace

int64_t evaluate(const Formula& formula, Span<const int64_t> symbols) {
  int64_t stack[kMaxFormulaDepth] = {};
  size_t depth = 0;
  for (const FormulaStep& step : formula) {
    const size_t taken = operands_of(step.op);
    int64_t* top = stack + depth - taken;
    switch (taken) {
      case 0: *top = step.op == FormulaOp::constant ? step.value : symbols[static_cast<size_t>(step.value)]; break;
      case 1: *top = *top == 0; break;
      case 2: *top = apply(step.op, top[0], top[1]); break;
      default: *top = top[0] != 0 ? top[1] : top[2]; break;
    }
    depth = depth - taken + 1;
  }
  return stack[0];
}

const char* range_of(const Formula& formula, Span<const Symbol> symbols, FormulaRange* range) {
  FormulaRange stack[kMaxFormulaDepth];
  size_t depth = 0;
  for (const FormulaStep& step : formula) {
    if (step.op > FormulaOp::select) return "an unknown operation";
    const size_t taken = operands_of(step.op);
    if (taken > depth) return "an operation without its operands";
    if (taken != 0 && step.value != 0) return "an operation with a number that nothing reads";
    if (depth - taken == kMaxFormulaDepth) return "more than 32 numbers at a time";
    FormulaRange* top = stack + depth - taken;
    const char* wrong = nullptr;
    switch (taken) {
      case 0: wrong = push(step, symbols, top); break;
      case 1: *top = truth(top->low != 0 || top->high != 0, holds_zero(*top)); break;
      case 2: wrong = combine(step.op, top[0], top[1], top); break;
      default: *top = select(top[0], top[1], top[2]); break;
    }
    if (wrong) return wrong;
    depth = depth - taken + 1;
  }
  if (depth != 1) return "another number of results than one";
  *range = stack[0];
  return nullptr;
}

bool upper_bytes(Span<const FormulaRange> ranges, const Interface& tensor, uint64_t* size_bytes) {
  uint64_t numel = 1;
  for (const uint32_t size : tensor.sizes) {
    if (size >= ranges.size() || ranges[size].low < 0 || ranges[size].high > INT32_MAX) return false;
    if (!checked_mul(numel, static_cast<uint64_t>(ranges[size].high), &numel) || numel > INT32_MAX) return false;
  }
  *size_bytes = numel * dtype_size_bytes(tensor.dtype);
  return true;
}

}  // namespace wick::cuda
