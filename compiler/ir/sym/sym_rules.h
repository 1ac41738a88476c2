// Rules by which expressions become canonical. Not for use outside this folder.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/sym/sym.h"

namespace wick::compiler {

/// A product as coefficient * rest; rest has no constant factor (1 when the whole is constant).
struct SymTerm {
  int64_t coefficient;
  Sym rest;
};
SymTerm split_coefficient(const Sym& sym);
/// What a sum adds; of anything else, that alone.
SymList terms_of(const Sym& sym);

/// Numbers below are known; divisors are positive. Nothing is returned where a rule does not apply.

/// mod(k*mod(x, n*divisor) + y, divisor) as mod(k*x + y, divisor).
std::optional<Sym> without_inner_remainders(const Sym& a, int64_t divisor);
/// floordiv(-x, d) as -floordiv(x + d - 1, d), and mod(-x, d) as d - 1 - mod(x + d - 1, d): the first term of `a`
/// that is not a number gets a positive coefficient.
std::optional<Sym> positive_division(SymOp op, const Sym& a, int64_t divisor);
/// A sum in which x meets its own remainder or quotient: x - mod(x, d) is d*floordiv(x, d), and x - d*floordiv(x, d)
/// is mod(x, d), and mod(x, d) + d*floordiv(x, d) is x; each as often as both are there, and times other factors, too.
/// So x + mod(-x, d), the next multiple of d, is d*floordiv(x + d - 1, d). `terms` are not numbers, and no two have
/// equal rests.
std::optional<Sym> join_remainder(int64_t constant, const std::vector<SymTerm>& terms);

}  // namespace wick::compiler
