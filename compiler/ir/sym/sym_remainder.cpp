// Rules for remainders and quotients of sums.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "common/math/arithmetic.h"
#include "compiler/ir/sym/sym_rules.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

bool divides_by_number(const Sym& sym, SymOp op) {
  return !sym.is_const() && sym.node()->op == op && sym.node()->args[1].is_const() && sym.node()->args[1].value() > 0;
}

constexpr int64_t kSmallestNumber = std::numeric_limits<int64_t>::min();
// No rule applies to larger coefficients: their sums and magnitudes might overflow.
constexpr int64_t kLargestCoefficient = std::numeric_limits<int64_t>::max() / 2;

// True while a rule builds an expression only to compare it with others. Such rules do not apply meanwhile. Otherwise
// each sum would build expressions for each of its remainders, those for the remainders in them, and so on, in time
// exponential in the depth. The expression is dropped, so canonical forms do not depend on this.
thread_local bool is_comparing = false;
std::optional<Sym> quotient_to_compare(const SymList& args) {
  struct Comparing {
    Comparing() { is_comparing = true; }
    ~Comparing() { is_comparing = false; }
    Comparing(const Comparing&) = delete;
    Comparing& operator=(const Comparing&) = delete;
  };
  const Comparing comparing;
  std::optional<Sym> quotient;
  const Status fits = catch_failure([&] { quotient = make_sym(SymOp::floor_div, args); });
  return fits.ok() ? quotient : std::nullopt;
}

SymList factors_of(const Sym& rest) { return rest.node()->op == SymOp::product ? rest.node()->args : SymList{rest}; }

// The product cofactor * node, where node is mod(x, d) or floordiv(x, d) for a constant d > 0.
struct Division {
  Sym node, cofactor;
  const SymList& args() const { return node.node()->args; }  // the dividend x, and d
  int64_t divisor() const { return args()[1].value(); }
};

// How many times factor * sum can be taken out of `terms`, from 0 to `most`, which may be negative. Ignores constants.
int64_t times_in(const std::vector<SymTerm>& terms, const Sym& factor, const Sym& sum, int64_t most) {
  bool any = false;
  const SymTerm scale = split_coefficient(factor);
  for (const Sym& each : terms_of(sum)) {
    if (each.is_const()) continue;
    any = true;
    SymTerm own = split_coefficient(scale.rest * each);
    if (__builtin_mul_overflow(own.coefficient, scale.coefficient, &own.coefficient)) return 0;
    const auto found = std::find_if(terms.begin(), terms.end(), [&](const SymTerm& t) { return t.rest == own.rest; });
    if (found == terms.end() || own.coefficient < -kLargestCoefficient || own.coefficient > kLargestCoefficient)
      return 0;
    if ((found->coefficient > 0) != ((own.coefficient > 0) == (most > 0))) return 0;
    const int64_t times = std::abs(found->coefficient) / std::abs(own.coefficient);
    most = std::clamp(most, -times, times);
    if (most == 0) return 0;
  }
  return any ? most : 0;
}

bool are_small(const std::vector<SymTerm>& terms) {
  return std::all_of(terms.begin(), terms.end(), [](const SymTerm& term) {
    return term.coefficient >= -kLargestCoefficient && term.coefficient <= kLargestCoefficient;
  });
}

// Let S be the sum of `terms` without `quotient`, which is floordiv(x, d), and with times*mod(x, d) in place of
// times*x. Returns whether without_small_terms would remove mod(x, d) from floordiv(S, divisor).
bool loses_remainder(const std::vector<SymTerm>& terms, const Sym& quotient, int64_t times, int64_t divisor) {
  struct Left {
    int64_t coefficient;
    SymRange range;
    bool is_number;
  };
  const SymList& args = quotient.node()->args;
  const SymList dividend = terms_of(args[0]);
  std::vector<SymTerm> all = terms;
  if (!all[0].rest.is(1)) all.insert(all.begin(), {0, Sym(1)});
  std::vector<Left> others;
  std::set<int64_t> factors = {divisor};
  for (const auto& [coefficient, rest] : all) {
    if (rest == quotient) continue;
    int64_t left = coefficient;
    for (const Sym& each : dividend) {
      const SymTerm own = split_coefficient(each);
      if (own.rest == rest) left -= times * own.coefficient;
    }
    if (left == 0) continue;
    others.push_back({left, rest.is(1) ? SymRange{1, 1} : SymScope::range(rest), rest.is(1)});
    if (!rest.is(1)) factors.insert(std::gcd(left % divisor, divisor));
  }
  const int64_t largest = times * (args[1].value() - 1);  // bound of times*mod(x, d); times*d fits
  return std::any_of(factors.begin(), factors.end(), [&](int64_t factor) {
    int64_t min = std::min<int64_t>(0, largest), max = std::max<int64_t>(0, largest);
    for (const auto& [coefficient, range, is_number] : others) {
      if (coefficient % factor == 0) continue;
      const int64_t left = is_number ? math::floor_modulo(coefficient, factor) : coefficient;
      int64_t a = 0, b = 0;
      const bool is_bounded = range.min != kSmallestNumber && range.max != kUnbounded;
      if (!is_bounded || __builtin_mul_overflow(left, range.min, &a) || __builtin_mul_overflow(left, range.max, &b))
        return false;
      if (__builtin_add_overflow(min, std::min(a, b), &min) || __builtin_add_overflow(max, std::max(a, b), &max))
        return false;
    }
    return min >= 0 && max < factor;
  });
}

// How many times -cofactor * x can be taken out of `terms`, from 0 to `most`.
int64_t times_cancelled(const std::vector<SymTerm>& terms, const Division& division, int64_t most) {
  return -times_in(terms, division.cofactor, division.args()[0], -most);
}

// How many times cofactor * d * floordiv(x, d) can be taken out of `terms`, from 0 to `most`. If x is floordiv(y, a),
// the canonical form of floordiv(x, d) is floordiv(y, a*d); it may also be a sum. The divisors in it are multiples of
// d.
int64_t times_joined(const std::vector<SymTerm>& terms, const Division& remainder, int64_t most) {
  if (is_comparing) return 0;
  const auto is_candidate = [&](const Sym& factor) {
    return divides_by_number(factor, SymOp::floor_div) && factor.node()->args[1].value() % remainder.divisor() == 0;
  };
  const bool any = std::any_of(terms.begin(), terms.end(), [&](const SymTerm& term) {
    const SymList factors = factors_of(term.rest);
    return std::any_of(factors.begin(), factors.end(), is_candidate);
  });
  if (!any) return 0;
  const auto quotient = quotient_to_compare(remainder.args());
  return quotient ? times_in(terms, remainder.cofactor * Sym(remainder.divisor()), *quotient, most) : 0;
}

// constant + terms + times * cofactor * (x - mod(x, d) - d * floordiv(x, d)), whose last part is 0.
std::optional<Sym> with_zero(int64_t constant, const std::vector<SymTerm>& terms, const Division& division,
                             int64_t times) {
  int64_t in_all = 0;
  if (times == 0 || __builtin_mul_overflow(times, -division.divisor(), &in_all)) return std::nullopt;
  if (in_all < -kLargestCoefficient || in_all > kLargestCoefficient) return std::nullopt;
  if (!fits_times(division.args()[0], times, Sym(constant))) return std::nullopt;
  const bool is_mod = division.node.node()->op == SymOp::mod;
  const Sym other = make_sym(is_mod ? SymOp::floor_div : SymOp::mod, division.args());
  SymList sum = {Sym(constant), Sym(-times) * division.cofactor * (is_mod ? division.node : other),
                 Sym(in_all) * division.cofactor * (is_mod ? other : division.node)};
  for (const SymTerm& term : terms) sum.push_back(Sym(term.coefficient) * term.rest);
  for (const Sym& each : terms_of(division.args()[0])) sum.push_back(Sym(times) * division.cofactor * each);
  return make_sym(SymOp::sum, std::move(sum));
}

// constant + terms, with c*mod(x, a) + c*a*mod(floordiv(x, a), b) replaced by c*mod(x, a*b).
std::optional<Sym> with_joined_digits(int64_t constant, const std::vector<SymTerm>& terms, size_t low,
                                      const Division& division) {
  int64_t wanted = 0, divisor = 0;
  if (is_comparing || __builtin_mul_overflow(terms[low].coefficient, division.divisor(), &wanted)) return std::nullopt;
  std::optional<Sym> quotient;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i == low || terms[i].coefficient != wanted) continue;
    for (const Sym& factor : factors_of(terms[i].rest)) {
      if (!divides_by_number(factor, SymOp::mod)) continue;
      if (!quotient) quotient = quotient_to_compare(division.args());
      if (!quotient) return std::nullopt;
      if (!(factor.node()->args[0] == *quotient) || !(factor * division.cofactor == terms[i].rest)) continue;
      if (__builtin_mul_overflow(division.divisor(), factor.node()->args[1].value(), &divisor)) continue;
      const Sym joined = make_sym(SymOp::mod, {division.args()[0], divisor});
      SymList sum = {Sym(constant), Sym(terms[low].coefficient) * division.cofactor * joined};
      for (size_t j = 0; j < terms.size(); ++j) {
        if (j != low && j != i) sum.push_back(Sym(terms[j].coefficient) * terms[j].rest);
      }
      return make_sym(SymOp::sum, std::move(sum));
    }
  }
  return std::nullopt;
}

}  // namespace

bool fits_times(const Sym& a, int64_t factor, const Sym& b) {
  int64_t total = 0, product = 0;
  const auto add = [&](const Sym& sum, int64_t times) {
    const SymList terms = terms_of(sum);
    return std::all_of(terms.begin(), terms.end(), [&](const Sym& each) {
      const int64_t coefficient = split_coefficient(each).coefficient;
      return !__builtin_mul_overflow(coefficient, times, &product) && product != kSmallestNumber &&
             !__builtin_add_overflow(total, std::abs(product), &total);
    });
  };
  return add(a, factor) && add(b, 1);
}

std::optional<Sym> without_small_terms(SymOp op, const Sym& a, int64_t divisor) {
  const SymList terms = terms_of(a);
  std::set<int64_t, std::greater<>> factors;
  for (const Sym& term : terms) {
    if (!term.is_const()) factors.insert(std::gcd(split_coefficient(term).coefficient % divisor, divisor));
  }
  factors.erase(1);
  for (const int64_t factor : factors) {
    Sym multiples = 0, rest = 0;
    for (const Sym& term : terms) {
      const SymTerm t = split_coefficient(term);
      const bool is_multiple = term.is_const() || t.coefficient % factor == 0;
      if (is_multiple) multiples = multiples + Sym(math::floor_divide(t.coefficient, factor)) * t.rest;
      rest = rest + (is_multiple ? Sym(math::floor_modulo(t.coefficient, factor)) * t.rest : term);
    }
    const SymRange range = SymScope::range(rest);
    if (range.min < 0 || range.max >= factor) continue;
    const Sym divided = make_sym(op, {multiples, Sym(divisor / factor)});
    return op == SymOp::mod ? Sym(factor) * divided + rest : divided;
  }
  return std::nullopt;
}

std::optional<Sym> extract_multiples(SymOp op, const Sym& a, int64_t divisor) {
  std::vector<SymTerm> terms;
  for (const Sym& each : terms_of(a)) terms.push_back(split_coefficient(each));
  if (!are_small(terms)) return std::nullopt;
  for (const auto& [coefficient, quotient] : terms) {
    if (!divides_by_number(quotient, SymOp::floor_div)) continue;
    const SymList& args = quotient.node()->args;
    for (const int64_t most : {kLargestCoefficient, -kLargestCoefficient}) {
      const int64_t times = times_in(terms, Sym(1), args[0], most);
      int64_t in_all = 0;
      if (times == 0 || __builtin_mul_overflow(times, args[1].value(), &in_all) ||
          __builtin_add_overflow(in_all, coefficient, &in_all) || in_all % divisor != 0)
        continue;
      if (!fits_times(args[0], times, a)) continue;
      if (op == SymOp::floor_div && !loses_remainder(terms, quotient, times, divisor)) continue;
      const Sym others = a - Sym(coefficient) * quotient - Sym(times) * args[0];
      const Sym rest = make_sym(op, {others + Sym(times) * make_sym(SymOp::mod, args), Sym(divisor)});
      return op == SymOp::mod ? rest : Sym(in_all / divisor) * quotient + rest;
    }
  }
  return std::nullopt;
}

std::optional<Sym> quotient_of_remainder(const Sym& a, int64_t divisor) {
  if (!divides_by_number(a, SymOp::mod) || a.node()->args[1].value() % divisor != 0) return std::nullopt;
  const Sym digits = a.node()->args[1].value() / divisor;
  return make_sym(SymOp::mod, {make_sym(SymOp::floor_div, {a.node()->args[0], Sym(divisor)}), digits});
}

std::optional<Sym> without_inner_remainders(const Sym& a, int64_t divisor) {
  Sym sum = a;
  bool changed = false;
  for (const Sym& each : terms_of(a)) {
    const SymTerm term = split_coefficient(each);
    if (!divides_by_number(term.rest, SymOp::mod) || term.rest.node()->args[1].value() % divisor != 0) continue;
    const Sym& dividend = term.rest.node()->args[0];
    if (term.coefficient == kSmallestNumber || !fits_times(dividend, term.coefficient, sum)) continue;
    sum = sum - each + Sym(term.coefficient) * dividend;
    changed = true;
  }
  return changed ? std::optional(make_sym(SymOp::mod, {sum, divisor})) : std::nullopt;
}

std::optional<Sym> positive_division(SymOp op, const Sym& a, int64_t divisor) {
  if (divisor > std::numeric_limits<int32_t>::max()) return std::nullopt;  // x + divisor - 1 might not fit
  for (const Sym& each : terms_of(a)) {
    if (each.is_const()) continue;
    if (split_coefficient(each).coefficient > 0 || !fits_times(a, -1, Sym(divisor))) return std::nullopt;
    const Sym negative = make_sym(op, {Sym(divisor - 1) - a, divisor}) * Sym(-1);
    return op == SymOp::mod ? negative + (divisor - 1) : negative;
  }
  return std::nullopt;
}

// If two of x, mod(x, d) and d*floordiv(x, d) occur together, replaces them by the third, as often as both occur.
std::optional<Sym> join_remainder(int64_t constant, const std::vector<SymTerm>& terms) {
  if (!are_small(terms)) return std::nullopt;
  for (const SymTerm& term : terms) {
    const SymList factors = factors_of(term.rest);
    for (size_t i = 0; i < factors.size(); ++i) {
      const bool is_mod = divides_by_number(factors[i], SymOp::mod);
      if (!is_mod && !divides_by_number(factors[i], SymOp::floor_div)) continue;
      SymList others = factors;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const Division division{factors[i], make_sym(SymOp::product, std::move(others))};
      if (!is_mod && term.coefficient % division.divisor() != 0) continue;
      const int64_t most = is_mod ? term.coefficient : term.coefficient / division.divisor();
      int64_t times = times_cancelled(terms, division, most);
      if (times == 0 && is_mod) times = times_joined(terms, division, most);
      if (auto joined = with_zero(constant, terms, division, times)) return joined;
      if (!is_mod) continue;
      if (auto joined = with_joined_digits(constant, terms, static_cast<size_t>(&term - terms.data()), division))
        return joined;
    }
  }
  return std::nullopt;
}

}  // namespace wick::compiler
