// Symbolic integers: sizes such as `4*s0 + 1`, kept in one canonical form so that equal expressions compare equal.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/support/result.h"

namespace wick::compiler {

enum class SymOp : uint8_t {
  symbol,
  sum,        // n-ary, constant term first
  product,    // n-ary, constant factor first
  floor_div,  // Python //
  mod,        // Python %: sign of the divisor
  max,
  min,
  // Truth values, 0 or 1:
  eq,
  ne,
  lt,
  le,
  logical_and,
  logical_or,
  logical_not,
  where,  // (condition, then, else)
};

struct SymNode;
class SymList;

/// An integer expression over symbols. Constants carry no allocation. Immutable, cheap to copy.
class Sym {
 public:
  Sym(int64_t value = 0) : value_(value) {}
  Sym(const Sym& other) : value_(other.value_), node_(other.node_) {
    if (node_) retain(node_);
  }
  Sym(Sym&& other) noexcept : value_(other.value_), node_(std::exchange(other.node_, nullptr)) {}
  Sym& operator=(Sym other) noexcept {
    std::swap(value_, other.value_);
    std::swap(node_, other.node_);
    return *this;
  }
  ~Sym() {
    if (node_) release(node_);
  }
  static Sym symbol(std::string name);

  bool is_const() const { return node_ == nullptr; }
  bool is(int64_t value) const { return is_const() && value_ == value; }
  /// The constant. Only when is_const().
  int64_t value() const { return value_; }
  const SymNode* node() const { return node_; }
  /// The name if this is a lone symbol, else "".
  std::string_view symbol_name() const;

  /// Canonical text: "7", "s0", "4*s0 + 1", "floordiv(s0, 2)". parse_sym reads it back.
  std::string text() const;

  friend bool operator==(const Sym& a, const Sym& b);

 private:
  friend Sym make_sym(SymOp op, SymList args);
  friend int compare(const Sym& a, const Sym& b);
  static Sym adopt(std::unique_ptr<SymNode> node);
  static void retain(const SymNode* node);
  static void release(const SymNode* node);
  int64_t value_ = 0;
  const SymNode* node_ = nullptr;  // shared; null: a constant
};

/// A list of expressions. Its code is compiled once, in sym.cpp, and not in each file that copies a list of sizes.
class SymList : public std::vector<Sym> {
 public:
  SymList();
  SymList(std::initializer_list<Sym> items);
  SymList(size_t count, const Sym& item);
  explicit SymList(size_t count);
  SymList(const Sym* first, const Sym* last);
  SymList(const_iterator first, const_iterator last);
  SymList(iterator first, iterator last);
  SymList(std::vector<Sym> items);
  explicit SymList(const std::vector<int64_t>& values);
  SymList(const SymList& other);
  SymList(SymList&& other) noexcept;
  SymList& operator=(const SymList& other);
  SymList& operator=(SymList&& other) noexcept;
  ~SymList();

  void push_back(Sym item);
  iterator insert(const_iterator position, Sym item);
  iterator insert(const_iterator position, const_iterator first, const_iterator last);
  iterator insert(const_iterator position, size_t count, const Sym& item);
  iterator erase(const_iterator position);
  iterator erase(const_iterator first, const_iterator last);
  void resize(size_t count, const Sym& item = 0);
  void assign(size_t count, const Sym& item);
  friend bool operator==(const SymList& a, const SymList& b);
};

struct SymNode {
  SymOp op = SymOp::symbol;
  std::string name;  // symbol only
  SymList args;
  uint32_t size = 1;  // nodes in the tree, bounded by kMaxSymSize
  mutable std::atomic<uint32_t> references = 1;
};
constexpr uint32_t kMaxSymSize = 1024;

/// Canonicalises. Integer overflow while folding constants and trees beyond kMaxSymSize throw Failure(limit).
Sym make_sym(SymOp op, SymList args);
/// A total order, independent of addresses.
int compare(const Sym& a, const Sym& b);

Sym operator+(const Sym& a, const Sym& b);
Sym operator*(const Sym& a, const Sym& b);
Sym operator-(const Sym& a, const Sym& b);
Sym floor_div(const Sym& a, const Sym& b);
Sym ceil_div(const Sym& a, const Sym& b);
Sym sym_mod(const Sym& a, const Sym& b);
Sym sym_max(const Sym& a, const Sym& b);
Sym sym_min(const Sym& a, const Sym& b);

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

/// Inclusive bounds; kUnbounded as max = no bound known.
struct SymRange {
  int64_t min = 0;
  int64_t max = kUnbounded;
  /// The symbol stands for a number that the program computes from the values of tensors, not for a size of an input.
  bool from_data = false;
};
/// The known range of each symbol.
using SymRanges = std::map<std::string, SymRange, std::less<>>;
using SymValues = std::map<std::string, int64_t, std::less<>>;

/// While it lives, expressions made on this thread are simplified with these bounds: min(1, s0 + 1) is 1 where s0 >= 0.
class SymScope {
 public:
  explicit SymScope(const SymRanges& ranges);
  ~SymScope();
  SymScope(const SymScope&) = delete;
  /// Bounds of the expression in the scope that is open on this thread; 0..unbounded without one.
  static SymRange range(const Sym& sym);
  /// Does the expression depend on a number that the program computes from the values of tensors?
  static bool is_from_data(const Sym& sym);

 private:
  const SymRanges* outer_;
};

/// Bounds of the expression by interval arithmetic (saturating); symbols without entry are 0..unbounded.
SymRange range_of(const Sym& sym, const SymRanges& ranges);
/// Value for given symbols. Nothing if a symbol is missing, a division by zero occurs or int64 overflows.
std::optional<int64_t> evaluate(const Sym& sym, const SymValues& values);
/// Replaces symbols by expressions.
Sym substitute(const Sym& sym, const std::map<std::string, Sym, std::less<>>& replacements);
/// Adds the names of all symbols in `sym`.
void collect_symbols(const Sym& sym, std::set<std::string, std::less<>>& names);

/// True if provably so for all values in range.
bool provably_le(const Sym& a, const Sym& b, const SymRanges& ranges);
/// Whether the numbers differ when one size is 0 or 1, within its range, and the others are as large as they may be (in
/// the scope that is open on this thread). torch's formulas assume sizes of 2 or more: it takes x[-n:] to have length
/// n, but for n = 0 it is all of x. False for numbers read from data, and for more than eight sizes. A negative value
/// of `stated` counts only if there is one size: for several, the file is taken to know that it never occurs.
bool differs_at_small_sizes(const Sym& stated, const Sym& computed);

/// Reads Sym::text() form. Depth and length are bounded.
Result<Sym> parse_sym(std::string_view text);
/// Reads sympy srepr text as torch writes it (integer and boolean expressions only).
Result<Sym> parse_srepr(std::string_view text);

}  // namespace wick::compiler
