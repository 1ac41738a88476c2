// Remainders and quotients of sums.
#include <algorithm>

#include "compiler/ir/sym/sym_rules.h"

namespace wick::compiler {
namespace {

SymList terms_of(const Sym& sym) {
  return !sym.is_const() && sym.node()->op == SymOp::sum ? sym.node()->args : SymList{sym};
}

bool divides_by_number(const Sym& sym, SymOp op) {
  return !sym.is_const() && sym.node()->op == op && sym.node()->args[1].is_const() && sym.node()->args[1].value() > 0;
}

// `terms` without those of -factor * x, numbers aside; nothing if one of these is missing.
std::optional<std::vector<SymTerm>> without(const std::vector<SymTerm>& terms, const Sym& x, int64_t factor) {
  std::vector<SymTerm> left = terms;
  for (const Sym& each : terms_of(x)) {
    if (each.is_const()) continue;
    const SymTerm own = split_coefficient(each);
    const auto found = std::find_if(left.begin(), left.end(), [&](const SymTerm& term) {
      int64_t sum = 0;
      return term.rest == own.rest && !__builtin_mul_overflow(own.coefficient, factor, &sum) &&
             !__builtin_add_overflow(sum, term.coefficient, &sum) && sum == 0;
    });
    if (found == left.end()) return std::nullopt;
    left.erase(found);
  }
  return left;
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
  for (const Sym& each : terms_of(a)) {
    if (each.is_const()) continue;
    if (split_coefficient(each).coefficient > 0) return std::nullopt;
    const Sym negative = make_sym(op, {Sym(divisor - 1) - a, divisor}) * Sym(-1);
    return op == SymOp::mod ? negative + (divisor - 1) : negative;
  }
  return std::nullopt;
}

// factor * mod(x, d) = factor * x - factor * d * floordiv(x, d), either way: x must cancel what else is in the sum.
std::optional<Sym> join_remainder(int64_t constant, const std::vector<SymTerm>& terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool is_mod = divides_by_number(terms[i].rest, SymOp::mod);
    if (!is_mod && !divides_by_number(terms[i].rest, SymOp::floor_div)) continue;
    const Sym &x = terms[i].rest.node()->args[0], &divisor = terms[i].rest.node()->args[1];
    if (!is_mod && terms[i].coefficient % divisor.value() != 0) continue;
    const int64_t factor = is_mod ? terms[i].coefficient : terms[i].coefficient / divisor.value();
    std::vector<SymTerm> others = terms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto left = without(others, x, factor);
    if (!left) continue;
    Sym sum = constant;
    for (const SymTerm& term : *left) sum = sum + Sym(term.coefficient) * term.rest;
    for (const Sym& each : terms_of(x)) {
      if (each.is_const()) sum = sum + each * Sym(factor);
    }
    const Sym other = make_sym(is_mod ? SymOp::floor_div : SymOp::mod, {x, divisor});
    return sum - other * Sym(factor) * (is_mod ? divisor : Sym(1));
  }
  return std::nullopt;
}

}  // namespace wick::compiler
