// Bounds of expressions, from those of their symbols.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "common/math/arithmetic.h"
#include "compiler/ir/sym/sym.h"

namespace wick::compiler {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

int64_t saturating_add(int64_t a, int64_t b) {
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  if (a == kLowest || b == kLowest) return kLowest;
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return a > 0 ? kUnbounded : kLowest;
  return result;
}

int64_t saturating_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kUnbounded || b == kUnbounded || a == kLowest || b == kLowest;
  int64_t result;
  if (infinite || __builtin_mul_overflow(a, b, &result)) return (a < 0) == (b < 0) ? kUnbounded : kLowest;
  return result;
}

SymRange combine(SymOp op, SymRange a, SymRange b) {
  // The divisor is not 0: a division by zero has no value.
  if ((op == SymOp::floor_div || op == SymOp::mod) && b.min == 0 && b.max > 0) b.min = 1;
  switch (op) {
    case SymOp::sum: return {saturating_add(a.min, b.min), saturating_add(a.max, b.max)};
    case SymOp::product: {
      const int64_t corners[] = {saturating_mul(a.min, b.min), saturating_mul(a.min, b.max),
                                 saturating_mul(a.max, b.min), saturating_mul(a.max, b.max)};
      return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
    }
    case SymOp::max: return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case SymOp::min: return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case SymOp::floor_div: {
      if (b.min <= 0) return {kLowest, kUnbounded};
      auto quotient = [](int64_t x, int64_t y) {
        if (x == kUnbounded || x == kLowest) return x;
        return y == kUnbounded ? (x < 0 ? int64_t{-1} : int64_t{0}) : math::floor_divide(x, y);
      };
      return {std::min(quotient(a.min, b.min), quotient(a.min, b.max)),
              std::max(quotient(a.max, b.min), quotient(a.max, b.max))};
    }
    case SymOp::mod:
      if (b.min <= 0) return {kLowest, kUnbounded};
      return {0, b.max == kUnbounded ? kUnbounded : b.max - 1};
    default: return {0, 1};
  }
}

}  // namespace

SymRange range_of(const Sym& sym, const SymRanges& ranges) {
  if (sym.is_const()) return {sym.value(), sym.value()};
  const SymNode& node = *sym.node();
  if (node.op == SymOp::symbol) {
    auto it = ranges.find(node.name);
    return it == ranges.end() ? SymRange{} : it->second;
  }
  // A derived size may have a tighter bound of its own.
  auto known = ranges.find(sym.text());
  SymRange result = range_of(node.args[0], ranges);
  if (node.op == SymOp::logical_not) return {0, 1};
  if (node.op == SymOp::where) {
    const SymRange b = range_of(node.args[1], ranges), c = range_of(node.args[2], ranges);
    result = {std::min(b.min, c.min), std::max(b.max, c.max)};
  } else {
    for (size_t i = 1; i < node.args.size(); ++i) result = combine(node.op, result, range_of(node.args[i], ranges));
  }
  if (known != ranges.end()) {
    result.min = std::max(result.min, known->second.min);
    result.max = std::min(result.max, known->second.max);
  }
  return result;
}

bool provably_le(const Sym& a, const Sym& b, const SymRanges& ranges) { return range_of(b - a, ranges).min >= 0; }

bool differs_at_small_sizes(const Sym& stated, const Sym& computed) {
  constexpr int64_t kLarge = int64_t{1} << 20;  // stands for a size without an upper bound
  constexpr size_t kMostSymbols = 8;
  if (SymScope::is_from_data(stated) || SymScope::is_from_data(computed)) return false;
  std::set<std::string, std::less<>> symbols;
  collect_symbols(stated, symbols);
  collect_symbols(computed, symbols);
  if (symbols.size() > kMostSymbols) return false;
  std::map<std::string, SymRange> ranges;
  SymValues largest;
  for (const std::string& symbol : symbols) {
    const SymRange range = SymScope::range(Sym::symbol(symbol));
    ranges[symbol] = range;
    largest[symbol] = range.max == kUnbounded ? std::max(range.min, kLarge) : range.max;
  }
  for (const auto& [symbol, range] : ranges) {
    for (const int64_t size : {0, 1}) {
      if (size < range.min || size > range.max) continue;
      SymValues values = largest;
      values[symbol] = size;
      const auto a = evaluate(stated, values), b = evaluate(computed, values);
      if (a && b && *a != *b && (*a >= 0 || symbols.size() == 1)) return true;
    }
  }
  return false;
}

}  // namespace wick::compiler
