#include "compiler/ir/sym/sym.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "common/math/arithmetic.h"
#include "compiler/ir/sym/sym_rules.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

thread_local const SymRanges* current_ranges = nullptr;

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) fail(Code::limit, "a symbolic size overflows 64 bits");
  return result;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) fail(Code::limit, "a symbolic size overflows 64 bits");
  return result;
}

// Whether a / b is defined and does not overflow.
bool divisible_args(int64_t a, int64_t b) { return b != 0 && !(a == std::numeric_limits<int64_t>::min() && b == -1); }

}  // namespace

SymTerm split_coefficient(const Sym& sym) {
  if (sym.is_const()) return {sym.value(), Sym(1)};
  const SymNode* node = sym.node();
  if (node->op == SymOp::product && node->args[0].is_const()) {
    SymList rest(node->args.begin() + 1, node->args.end());
    return {node->args[0].value(), rest.size() == 1 ? rest[0] : make_sym(SymOp::product, std::move(rest))};
  }
  return {1, sym};
}

SymList terms_of(const Sym& sym) {
  return !sym.is_const() && sym.node()->op == SymOp::sum ? sym.node()->args : SymList{sym};
}

SymScope::SymScope(const SymRanges& ranges) : outer_(current_ranges) { current_ranges = &ranges; }
SymScope::~SymScope() { current_ranges = outer_; }
SymRange SymScope::range(const Sym& sym) {
  static const SymRanges kNone;  // a temporary would make the other choice a copy
  return range_of(sym, current_ranges ? *current_ranges : kNone);
}

bool SymScope::is_from_data(const Sym& sym) {
  if (!current_ranges) return false;
  std::set<std::string, std::less<>> symbols;
  collect_symbols(sym, symbols);
  return std::any_of(symbols.begin(), symbols.end(), [](const std::string& name) {
    const auto range = current_ranges->find(name);
    return range != current_ranges->end() && range->second.from_data;
  });
}

void Sym::retain(const SymNode* node) { node->references.fetch_add(1, std::memory_order_relaxed); }

void Sym::release(const SymNode* node) {
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node;
}

Sym Sym::adopt(std::unique_ptr<SymNode> node) {
  Sym sym;
  sym.node_ = node.release();
  return sym;
}

Sym Sym::symbol(std::string name) {
  auto node = std::make_unique<SymNode>();
  node->op = SymOp::symbol;
  node->name = std::move(name);
  return adopt(std::move(node));
}

SymList::SymList() = default;
SymList::SymList(std::initializer_list<Sym> items) : vector(items) {}
SymList::SymList(size_t count, const Sym& item) : vector(count, item) {}
SymList::SymList(size_t count) : vector(count) {}
SymList::SymList(const Sym* first, const Sym* last) : vector(first, last) {}
SymList::SymList(const_iterator first, const_iterator last) : vector(first, last) {}
SymList::SymList(iterator first, iterator last) : vector(first, last) {}
SymList::SymList(std::vector<Sym> items) : vector(std::move(items)) {}
SymList::SymList(const std::vector<int64_t>& values) : vector(values.begin(), values.end()) {}
SymList::SymList(const SymList& other) = default;
SymList::SymList(SymList&& other) noexcept = default;
SymList& SymList::operator=(const SymList& other) = default;
SymList& SymList::operator=(SymList&& other) noexcept = default;
SymList::~SymList() = default;

void SymList::push_back(Sym item) { vector::push_back(std::move(item)); }
SymList::iterator SymList::insert(const_iterator position, Sym item) {
  return vector::insert(position, std::move(item));
}
SymList::iterator SymList::insert(const_iterator position, const_iterator first, const_iterator last) {
  return vector::insert(position, first, last);
}
SymList::iterator SymList::insert(const_iterator position, size_t count, const Sym& item) {
  return vector::insert(position, count, item);
}
SymList::iterator SymList::erase(const_iterator position) { return vector::erase(position); }
SymList::iterator SymList::erase(const_iterator first, const_iterator last) { return vector::erase(first, last); }
void SymList::resize(size_t count, const Sym& item) { vector::resize(count, item); }
void SymList::assign(size_t count, const Sym& item) { vector::assign(count, item); }
bool operator==(const SymList& a, const SymList& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::string_view Sym::symbol_name() const {
  return node_ && node_->op == SymOp::symbol ? std::string_view(node_->name) : std::string_view();
}

int compare(const Sym& a, const Sym& b) {
  if (a.node_ == b.node_) return a.value_ < b.value_ ? -1 : a.value_ > b.value_;
  if (!a.node_ || !b.node_) return a.node_ ? 1 : -1;
  const SymNode& x = *a.node_;
  const SymNode& y = *b.node_;
  if (x.op != y.op) return x.op < y.op ? -1 : 1;
  if (int order = x.name.compare(y.name)) return order < 0 ? -1 : 1;
  for (size_t i = 0; i < std::min(x.args.size(), y.args.size()); ++i) {
    if (int order = compare(x.args[i], y.args[i])) return order;
  }
  return x.args.size() < y.args.size() ? -1 : x.args.size() > y.args.size();
}

bool operator==(const Sym& a, const Sym& b) { return compare(a, b) == 0; }

namespace {

Sym make_sum(SymList args, Sym (*build)(SymOp, SymList)) {
  int64_t constant = 0;
  std::vector<SymTerm> terms;
  auto add = [&](const Sym& sym) {
    SymTerm term = split_coefficient(sym);
    if (term.rest.is(1)) {
      constant = checked_add(constant, term.coefficient);
      return;
    }
    terms.push_back(std::move(term));
  };
  for (const Sym& arg : args) {
    if (!arg.is_const() && arg.node()->op == SymOp::sum) {
      for (const Sym& inner : arg.node()->args) add(inner);
    } else {
      add(arg);
    }
  }
  std::sort(terms.begin(), terms.end(), [](const SymTerm& a, const SymTerm& b) { return compare(a.rest, b.rest) < 0; });
  // Equal ones are neighbours now.
  size_t count = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (count > 0 && terms[count - 1].rest == terms[i].rest) {
      terms[count - 1].coefficient = checked_add(terms[count - 1].coefficient, terms[i].coefficient);
    } else {
      if (count != i) terms[count] = std::move(terms[i]);
      ++count;
    }
  }
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(count), terms.end());
  terms.erase(std::remove_if(terms.begin(), terms.end(), [](const SymTerm& t) { return t.coefficient == 0; }),
              terms.end());
  if (auto joined = join_remainder(constant, terms)) return *joined;
  SymList out;
  if (constant != 0) out.push_back(constant);
  for (const SymTerm& t : terms) {
    out.push_back(t.coefficient == 1 ? t.rest : make_sym(SymOp::product, {Sym(t.coefficient), t.rest}));
  }
  if (out.empty()) return Sym(0);
  if (out.size() == 1) return out[0];
  return build(SymOp::sum, std::move(out));
}

Sym make_product(SymList args, Sym (*build)(SymOp, SymList)) {
  int64_t coefficient = 1;
  SymList factors;
  for (const Sym& arg : args) {
    if (arg.is_const()) {
      coefficient = checked_mul(coefficient, arg.value());
    } else if (arg.node()->op == SymOp::product) {
      for (const Sym& inner : arg.node()->args) {
        if (inner.is_const())
          coefficient = checked_mul(coefficient, inner.value());
        else
          factors.push_back(inner);
      }
    } else {
      factors.push_back(arg);
    }
  }
  if (coefficient == 0 || factors.empty()) return Sym(coefficient);
  // One sum times the rest: distribute, so that 2*(s0+1) and 2*s0+2 are one.
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].node()->op != SymOp::sum) continue;
    const SymList terms = factors[i].node()->args;
    factors.erase(factors.begin() + static_cast<ptrdiff_t>(i));
    factors.push_back(coefficient);
    SymList out;
    for (const Sym& term : terms) {
      SymList product = factors;
      product.push_back(term);
      out.push_back(make_sym(SymOp::product, std::move(product)));
    }
    return make_sym(SymOp::sum, std::move(out));
  }
  std::sort(factors.begin(), factors.end(), [](const Sym& a, const Sym& b) { return compare(a, b) < 0; });
  if (coefficient != 1) factors.insert(factors.begin(), Sym(coefficient));
  if (factors.size() == 1) return factors[0];
  return build(SymOp::product, std::move(factors));
}

// The exact quotient of a sum all of whose coefficients are multiples of `divisor`; nothing for other sums.
std::optional<Sym> exact_quotient(const Sym& sym, int64_t divisor) {
  const SymList terms = terms_of(sym);
  SymList out;
  for (const Sym& term : terms) {
    SymTerm t = split_coefficient(term);
    if (!divisible_args(t.coefficient, divisor) || t.coefficient % divisor != 0) return std::nullopt;
    out.push_back(make_sym(SymOp::product, {Sym(t.coefficient / divisor), t.rest}));
  }
  return make_sym(SymOp::sum, std::move(out));
}

// sum = divisor * first + second, with all that is divisible in first. Nothing if first would be 0.
std::optional<std::pair<Sym, Sym>> split_multiples(const Sym& sum, int64_t divisor) {
  Sym multiples = 0, rest = 0;
  for (const Sym& term : sum.node()->args) {
    const SymTerm t = split_coefficient(term);
    const int64_t quotient = math::floor_divide(t.coefficient, divisor);
    const int64_t left = math::floor_modulo(t.coefficient, divisor);
    const bool whole = left == 0;
    if (whole || t.rest.is(1)) {
      multiples = multiples + Sym(quotient) * t.rest;
      rest = rest + Sym(left) * t.rest;
    } else {
      rest = rest + term;
    }
  }
  if (multiples.is(0)) return std::nullopt;
  return std::pair(multiples, rest);
}

// floordiv(floordiv(x, m) + y, divisor) as floordiv(x + m*y, m*divisor), for a constant m > 0. Applies if y is a
// constant, or if the dividends fit into 32 bits.
std::optional<Sym> nested_quotient(const Sym& a, int64_t divisor) {
  const SymList terms = terms_of(a);
  const auto is_quotient = [](const Sym& term) {
    return !term.is_const() && term.node()->op == SymOp::floor_div && term.node()->args[1].is_const();
  };
  const auto found = std::find_if(terms.begin(), terms.end(), is_quotient);
  if (found == terms.end()) return std::nullopt;
  const Sym &x = found->node()->args[0], &m = found->node()->args[1];
  int64_t product = 0;
  if (m.value() < 1 || __builtin_mul_overflow(m.value(), divisor, &product)) return std::nullopt;
  if (terms.size() == 1) return make_sym(SymOp::floor_div, {x, Sym(product)});
  const bool has_number = terms.size() == 2 && terms[0].is_const();
  if (!fits_times(a, m.value(), x)) return std::nullopt;
  if (has_number) return make_sym(SymOp::floor_div, {x + m * terms[0], Sym(product)});
  if (SymScope::range(a).max > std::numeric_limits<int32_t>::max() / m.value()) return std::nullopt;
  const Sym dividend = x + m * (a - *found);
  const SymRange range = SymScope::range(dividend);
  if (range.min < 0 || range.max > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return make_sym(SymOp::floor_div, {dividend, Sym(product)});
}

// floordiv(g*x + c, g*m) as floordiv(x + floordiv(c, g), m), for the largest constant g.
std::optional<Sym> reduced_quotient(const Sym& a, int64_t divisor) {
  const SymList terms = terms_of(a);
  int64_t common = divisor;
  for (const Sym& term : terms) {
    if (!term.is_const()) common = std::gcd(common, split_coefficient(term).coefficient % divisor);
  }
  if (common == 1) return std::nullopt;
  Sym reduced = 0;
  for (const Sym& term : terms) {
    const SymTerm t = split_coefficient(term);
    reduced = reduced + Sym(math::floor_divide(t.coefficient, common)) * t.rest;
  }
  return make_sym(SymOp::floor_div, {reduced, Sym(divisor / common)});
}

// a / b where b is a product whose factors all occur in a.
std::optional<Sym> cancel_factors(const Sym& a, const Sym& b) {
  if (a == b) return Sym(1);
  if (a.is_const() || a.node()->op != SymOp::product || b.is_const()) return std::nullopt;
  SymList left = a.node()->args;
  const SymList right = b.node()->op == SymOp::product ? b.node()->args : SymList{b};
  for (const Sym& factor : right) {
    if (factor.is_const()) {
      if (!left[0].is_const() || !divisible_args(left[0].value(), factor.value()) ||
          left[0].value() % factor.value() != 0)
        return std::nullopt;
      left[0] = Sym(left[0].value() / factor.value());
      continue;
    }
    auto it = std::find_if(left.begin(), left.end(), [&](const Sym& x) { return x == factor; });
    if (it == left.end()) return std::nullopt;
    left.erase(it);
  }
  return left.empty() ? Sym(1) : make_sym(SymOp::product, std::move(left));
}

int64_t fold(SymOp op, int64_t a, int64_t b) {
  switch (op) {
    case SymOp::floor_div: return math::floor_divide(a, b);
    case SymOp::mod: return math::floor_modulo(a, b);
    case SymOp::max: return std::max(a, b);
    case SymOp::min: return std::min(a, b);
    case SymOp::eq: return a == b;
    case SymOp::ne: return a != b;
    case SymOp::lt: return a < b;
    case SymOp::le: return a <= b;
    case SymOp::logical_and: return a && b;
    case SymOp::logical_or: return a || b;
    default: break;
  }
  fail(Code::internal, "not a binary operator");
}

// The result of a comparison of two numbers whose difference lies in `distance`; nothing if that leaves it open.
std::optional<bool> decided(SymOp op, const SymRange& distance) {
  const bool apart = distance.min > 0 || distance.max < 0;
  switch (op) {
    case SymOp::le:
      if (distance.max <= 0) return true;
      if (distance.min > 0) return false;
      return std::nullopt;
    case SymOp::lt:
      if (distance.max < 0) return true;
      if (distance.min >= 0) return false;
      return std::nullopt;
    case SymOp::eq: return apart ? std::optional(false) : std::nullopt;
    case SymOp::ne: return apart ? std::optional(true) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Sym operator+(const Sym& a, const Sym& b) {
  return a.is_const() && b.is_const() ? Sym(checked_add(a.value(), b.value())) : make_sym(SymOp::sum, {a, b});
}
Sym operator*(const Sym& a, const Sym& b) {
  return a.is_const() && b.is_const() ? Sym(checked_mul(a.value(), b.value())) : make_sym(SymOp::product, {a, b});
}
Sym operator-(const Sym& a, const Sym& b) { return a + b * Sym(-1); }
Sym floor_div(const Sym& a, const Sym& b) { return make_sym(SymOp::floor_div, {a, b}); }
Sym ceil_div(const Sym& a, const Sym& b) { return floor_div(a + b - 1, b); }
Sym sym_mod(const Sym& a, const Sym& b) { return make_sym(SymOp::mod, {a, b}); }
Sym sym_max(const Sym& a, const Sym& b) { return make_sym(SymOp::max, {a, b}); }
Sym sym_min(const Sym& a, const Sym& b) { return make_sym(SymOp::min, {a, b}); }

namespace {

// A quotient or remainder that needs no node of its own; nothing if it does.
std::optional<Sym> simplify_division(SymOp op, const Sym& a, const Sym& b) {
  const bool quotient = op == SymOp::floor_div;
  if (b.is(0)) fail(Code::unsupported_model, "a symbolic size divides by zero");
  if (b.is(1)) return quotient ? a : Sym(0);
  if (!a.is_const() && b.is_const()) {
    if (auto q = exact_quotient(a, b.value())) return quotient ? *q : Sym(0);
  }
  if (!a.is_const() && a.node()->op == SymOp::sum && b.is_const() && b.value() > 0) {
    if (auto split = split_multiples(a, b.value())) {
      const Sym rest = make_sym(op, {split->second, b});
      return quotient ? split->first + rest : rest;
    }
    if (auto shown = extract_multiples(op, a, b.value())) return shown;
  }
  if (quotient && !a.is_const() && b.is_const() && b.value() > 0) {
    if (auto q = nested_quotient(a, b.value())) return q;
    if (auto q = quotient_of_remainder(a, b.value())) return q;
    if (auto q = reduced_quotient(a, b.value())) return q;
  }
  if (!a.is_const() && b.is_const() && b.value() > 0) {
    if (!quotient) {
      if (auto remainder = without_inner_remainders(a, b.value())) return remainder;
    }
    if (auto shorter = without_small_terms(op, a, b.value())) return shorter;
    if (auto positive = positive_division(op, a, b.value())) return positive;
  }
  if (auto q = cancel_factors(a, b)) return quotient ? *q : Sym(0);
  if (current_ranges && range_of(a, *current_ranges).min >= 0 && range_of(b - a, *current_ranges).min > 0)
    return quotient ? Sym(0) : a;
  if (a.is_const() && b.is_const() && !divisible_args(a.value(), b.value()))
    fail(Code::limit, "a symbolic size overflows 64 bits");
  return std::nullopt;
}

// a - b, if that is a constant.
std::optional<int64_t> distance_of(const Sym& a, const Sym& b) {
  std::optional<int64_t> distance;
  const Status fits = catch_failure([&] {
    if (const Sym difference = a - b; difference.is_const()) distance = difference.value();
  });
  return fits.ok() ? distance : std::nullopt;
}

uint32_t size_of(const Sym& sym) { return sym.is_const() ? 1 : sym.node()->size; }

// Whether a <= b follows from the form of the expressions: min(b, ..) <= b, and max(x, y) <= b if x <= b and y <= b.
// Looks two levels deep. The time grows with the sizes no faster than that of one subtraction.
constexpr int kLevels = 2;
bool is_at_most(const Sym& a, const Sym& b, int depth = kLevels) {
  constexpr uint32_t kSmall = 16;
  if (depth == kLevels || size_of(a) + size_of(b) <= kSmall) {
    if (const auto distance = distance_of(a, b)) return *distance <= 0;
  } else if (a == b) {
    return true;
  }
  if (depth == 0) return false;
  const auto is = [](const Sym& sym, SymOp op) { return !sym.is_const() && sym.node()->op == op; };
  const auto below = [&](const Sym& arg) { return is_at_most(arg, b, depth - 1); };
  const auto above = [&](const Sym& arg) { return is_at_most(a, arg, depth - 1); };
  if (is(a, SymOp::min) && std::any_of(a.node()->args.begin(), a.node()->args.end(), below)) return true;
  if (is(a, SymOp::max) && std::all_of(a.node()->args.begin(), a.node()->args.end(), below)) return true;
  if (is(b, SymOp::max) && std::any_of(b.node()->args.begin(), b.node()->args.end(), above)) return true;
  return is(b, SymOp::min) && std::all_of(b.node()->args.begin(), b.node()->args.end(), above);
}

// max or min of two expressions whose order is known; nothing for others.
std::optional<Sym> simplify_extreme(SymOp op, const Sym& a, const Sym& b) {
  if (is_at_most(a, b)) return op == SymOp::max ? b : a;
  if (is_at_most(b, a)) return op == SymOp::max ? a : b;
  if (current_ranges) {
    const SymRange distance = range_of(a - b, *current_ranges);
    if (distance.min >= 0) return op == SymOp::max ? a : b;
    if (distance.max <= 0) return op == SymOp::max ? b : a;
  }
  return std::nullopt;
}

// The value of op(operand, operand); nothing if it needs a node.
std::optional<Sym> simplify_equal(SymOp op, const Sym& operand) {
  switch (op) {
    case SymOp::max:
    case SymOp::min:
    case SymOp::logical_and:
    case SymOp::logical_or: return operand;
    case SymOp::eq:
    case SymOp::le: return Sym(1);
    case SymOp::ne:
    case SymOp::lt: return Sym(0);
    default: return std::nullopt;
  }
}

std::optional<Sym> simplify_binary(SymOp op, const Sym& a, const Sym& b) {
  if (op == SymOp::floor_div || op == SymOp::mod) {
    if (auto simple = simplify_division(op, a, b)) return simple;
  }
  if (a.is_const() && b.is_const()) return Sym(fold(op, a.value(), b.value()));
  if (op == SymOp::max || op == SymOp::min) {
    if (auto simple = simplify_extreme(op, a, b)) return simple;
  }
  if (current_ranges) {
    if (auto known = decided(op, range_of(a - b, *current_ranges))) return Sym(*known);
  }
  if (a == b) {
    if (auto simple = simplify_equal(op, a)) return simple;
  }
  if (op == SymOp::logical_and || op == SymOp::logical_or) {
    // This constant is the result. Beside the other constant, the result is the other operand.
    const bool decides = op == SymOp::logical_or;
    if (a.is_const()) return (a.value() != 0) == decides ? Sym(decides) : b;
    if (b.is_const()) return (b.value() != 0) == decides ? Sym(decides) : a;
  }
  return std::nullopt;
}

bool commutes(SymOp op) {
  return op == SymOp::max || op == SymOp::min || op == SymOp::eq || op == SymOp::ne || op == SymOp::logical_and ||
         op == SymOp::logical_or;
}

}  // namespace

Sym make_sym(SymOp op, SymList args) {
  const auto build = [](SymOp o, SymList a) {
    auto node = std::make_unique<SymNode>();
    node->op = o;
    uint64_t size = 1;
    for (const Sym& arg : a) size += arg.is_const() ? 1 : arg.node()->size;
    if (size > kMaxSymSize) fail(Code::limit, "a symbolic size is too complex");
    node->size = static_cast<uint32_t>(size);
    node->args = std::move(a);
    return Sym::adopt(std::move(node));
  };
  switch (op) {
    case SymOp::symbol: fail(Code::internal, "use Sym::symbol");
    case SymOp::sum: return make_sum(std::move(args), build);
    case SymOp::product: return make_product(std::move(args), build);
    case SymOp::logical_not:
      if (args[0].is_const()) return Sym(args[0].value() == 0);
      return build(op, std::move(args));
    case SymOp::where:
      if (args[0].is_const()) return args[0].value() ? args[1] : args[2];
      if (args[1] == args[2]) return args[1];
      return build(op, std::move(args));
    default: break;
  }
  if (auto simple = simplify_binary(op, args[0], args[1])) return *simple;
  if (commutes(op) && compare(args[1], args[0]) < 0) std::swap(args[0], args[1]);
  return build(op, std::move(args));
}

void collect_symbols(const Sym& sym, std::set<std::string, std::less<>>& names) {
  if (sym.is_const()) return;
  if (sym.node()->op == SymOp::symbol) names.insert(sym.node()->name);
  for (const Sym& arg : sym.node()->args) collect_symbols(arg, names);
}

Sym substitute(const Sym& sym, const std::map<std::string, Sym, std::less<>>& replacements) {
  if (sym.is_const()) return sym;
  if (sym.node()->op == SymOp::symbol) {
    auto it = replacements.find(sym.node()->name);
    return it == replacements.end() ? sym : it->second;
  }
  SymList args;
  for (const Sym& arg : sym.node()->args) args.push_back(substitute(arg, replacements));
  return make_sym(sym.node()->op, std::move(args));
}

std::optional<int64_t> evaluate(const Sym& sym, const SymValues& values) {
  if (sym.is_const()) return sym.value();
  const SymNode& node = *sym.node();
  if (node.op == SymOp::symbol) {
    auto it = values.find(node.name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }
  std::vector<int64_t> args;
  for (const Sym& arg : node.args) {
    auto value = evaluate(arg, values);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  if (node.op == SymOp::logical_not) return args[0] == 0;
  if (node.op == SymOp::where) return args[0] ? args[1] : args[2];
  int64_t result = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    const bool divides = node.op == SymOp::floor_div || node.op == SymOp::mod;
    if (divides && !divisible_args(result, args[i])) return std::nullopt;
    if (node.op == SymOp::sum) {
      if (__builtin_add_overflow(result, args[i], &result)) return std::nullopt;
    } else if (node.op == SymOp::product) {
      if (__builtin_mul_overflow(result, args[i], &result)) return std::nullopt;
    } else {
      result = fold(node.op, result, args[i]);
    }
  }
  return result;
}

}  // namespace wick::compiler
