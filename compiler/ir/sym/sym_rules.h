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
/// The terms of a sum; `sym` alone if it is no sum.
SymList terms_of(const Sym& sym);

/// Whether all coefficients of factor*a + b fit into 64 bits, in whatever order its terms are added. An optional rule
/// is skipped where it might overflow.
bool fits_times(const Sym& a, int64_t factor, const Sym& b);

/// In the rules below the numbers d, g, k, n and `divisor` are constants, and divisors are positive. A rule that does
/// not apply returns nothing.

/// mod(k*mod(x, n*divisor) + y, divisor) as mod(k*x + y, divisor).
std::optional<Sym> without_inner_remainders(const Sym& a, int64_t divisor);
/// floordiv(g*x + y, g*n) as floordiv(x, n), and mod(g*x + y, g*n) as g*mod(x, n) + y, where 0 <= y < g in the scope
/// that is open on this thread. Terms whose coefficients g divides are in x, others in y. A constant c is split into
/// g*floordiv(c, g), in x, and mod(c, g), in y. The candidates for g are the common divisors, greater than 1, of one
/// coefficient and `divisor`; the largest one that satisfies the condition is taken.
std::optional<Sym> without_small_terms(SymOp op, const Sym& a, int64_t divisor);
/// x + (n*divisor - d)*floordiv(x, d) + y is n*divisor*floordiv(x, d) + mod(x, d) + y, whose first term a division
/// takes out. For a quotient this applies only if without_small_terms removes mod(x, d) from the rest, so that no
/// division is added. Bounds of the terms decide that before anything is built: at most k checks of k terms for k
/// quotients, and one division of the rest.
std::optional<Sym> extract_multiples(SymOp op, const Sym& a, int64_t divisor);
/// floordiv(mod(x, n*divisor), divisor) as mod(floordiv(x, divisor), n).
std::optional<Sym> quotient_of_remainder(const Sym& a, int64_t divisor);
/// floordiv(-x, d) as -floordiv(x + d - 1, d), and mod(-x, d) as d - 1 - mod(x + d - 1, d): the first term of `a`
/// that is not a number gets a positive coefficient.
std::optional<Sym> positive_division(SymOp op, const Sym& a, int64_t divisor);
/// Joins terms of a sum: x - mod(x, d) is d*floordiv(x, d), x - d*floordiv(x, d) is mod(x, d), and mod(x, d) +
/// d*floordiv(x, d) is x. Each applies as often as both terms occur, also with common factors. mod(x, d) +
/// d*mod(floordiv(x, d), n) is mod(x, n*d). So x + mod(-x, d), the next multiple of d, is d*floordiv(x + d - 1, d).
/// `terms` holds no constants, and no two terms have equal rests.
std::optional<Sym> join_remainder(int64_t constant, const std::vector<SymTerm>& terms);

}  // namespace wick::compiler
