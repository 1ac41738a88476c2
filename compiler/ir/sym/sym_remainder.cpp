// Remainders and quotients of sums.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "compiler/ir/sym/sym_rules.h"

namespace wick::compiler {
namespace {

bool divides_by_number(const Sym& sym, SymOp op) {
  return !sym.is_const() && sym.node()->op == op && sym.node()->args[1].is_const() && sym.node()->args[1].value() > 0;
}

// Coefficients beyond it stay as they are: their sums and sizes might not fit.
constexpr int64_t kLargestCoefficient = std::numeric_limits<int64_t>::max() / 2;

SymList factors_of(const Sym& rest) { return rest.node()->op == SymOp::product ? rest.node()->args : SymList{rest}; }

// A remainder or quotient by a positive number, and the factors beside it.
struct Division {
  Sym node, cofactor;
  const SymList& args() const { return node.node()->args; }  // the dividend x, and d
  int64_t divisor() const { return args()[1].value(); }
};

// How often cofactor * x is in `terms` with the other sign: from 0 to `most`.
int64_t times_cancelled(const std::vector<SymTerm>& terms, const Division& division, int64_t most) {
  for (const Sym& each : terms_of(division.args()[0])) {
    if (each.is_const()) continue;
    const SymTerm own = split_coefficient(division.cofactor * each);
    const auto found = std::find_if(terms.begin(), terms.end(), [&](const SymTerm& t) { return t.rest == own.rest; });
    if (found == terms.end() || own.coefficient < -kLargestCoefficient || own.coefficient > kLargestCoefficient)
      return 0;
    if ((found->coefficient > 0) == ((own.coefficient > 0) == (most > 0))) return 0;
    const int64_t times = std::abs(found->coefficient) / std::abs(own.coefficient);
    most = std::clamp(most, -times, times);
    if (most == 0) return 0;
  }
  return most;
}

// How often the quotient of a remainder is in `terms`, d times and with the same sign: from 0 to `most`.
int64_t times_joined(const std::vector<SymTerm>& terms, const Division& remainder, int64_t most) {
  for (const SymTerm& term : terms) {
    for (const Sym& each : factors_of(term.rest)) {
      if (!divides_by_number(each, SymOp::floor_div) || !(each.node()->args == remainder.args())) continue;
      if (!(each * remainder.cofactor == term.rest) || (term.coefficient > 0) != (most > 0)) continue;
      const int64_t times = std::abs(term.coefficient) / remainder.divisor();
      return std::clamp(most, -times, times);
    }
  }
  return 0;
}

// `terms` and times * cofactor * (x - mod(x, d) - d * floordiv(x, d)), which is 0.
std::optional<Sym> with_zero(int64_t constant, const std::vector<SymTerm>& terms, const Division& division,
                             int64_t times) {
  int64_t in_all = 0;
  if (times == 0 || __builtin_mul_overflow(times, -division.divisor(), &in_all)) return std::nullopt;
  const bool is_mod = division.node.node()->op == SymOp::mod;
  const Sym other = make_sym(is_mod ? SymOp::floor_div : SymOp::mod, division.args());
  SymList sum = {Sym(constant), Sym(-times) * division.cofactor * (is_mod ? division.node : other),
                 Sym(in_all) * division.cofactor * (is_mod ? other : division.node)};
  for (const SymTerm& term : terms) sum.push_back(Sym(term.coefficient) * term.rest);
  for (const Sym& each : terms_of(division.args()[0])) sum.push_back(Sym(times) * division.cofactor * each);
  return make_sym(SymOp::sum, std::move(sum));
}

}  // namespace

std::optional<Sym> without_inner_remainders(const Sym& a, int64_t divisor) {
  Sym sum = 0;
  bool changed = false;
  for (const Sym& each : terms_of(a)) {
    const SymTerm term = split_coefficient(each);
    const bool is_inner = divides_by_number(term.rest, SymOp::mod) && term.rest.node()->args[1].value() % divisor == 0;
    sum = sum + (is_inner ? Sym(term.coefficient) * term.rest.node()->args[0] : each);
    changed = changed || is_inner;
  }
  return changed ? std::optional(make_sym(SymOp::mod, {sum, divisor})) : std::nullopt;
}

std::optional<Sym> positive_division(SymOp op, const Sym& a, int64_t divisor) {
  if (divisor > std::numeric_limits<int32_t>::max()) return std::nullopt;  // x + divisor - 1 might not fit
  for (const Sym& each : terms_of(a)) {
    if (each.is_const()) continue;
    if (split_coefficient(each).coefficient > 0) return std::nullopt;
    const Sym negative = make_sym(op, {Sym(divisor - 1) - a, divisor}) * Sym(-1);
    return op == SymOp::mod ? negative + (divisor - 1) : negative;
  }
  return std::nullopt;
}

// Two of x, its remainder and d times its quotient become the third one, as often as both are there.
std::optional<Sym> join_remainder(int64_t constant, const std::vector<SymTerm>& terms) {
  for (const SymTerm& term : terms) {
    if (term.coefficient < -kLargestCoefficient || term.coefficient > kLargestCoefficient) return std::nullopt;
  }
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
    }
  }
  return std::nullopt;
}

}  // namespace wick::compiler
