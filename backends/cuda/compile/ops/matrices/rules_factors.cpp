// LU and Cholesky factors of matrices, and results computed from them: a block for each matrix, in f64, rounded once.
#include <algorithm>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/matrices/matrix_blocks.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

using compiler::Verdict;

struct Factors {
  Matrices lu;
  uint32_t pivots = 0, info = 0;
  Sym count;  // the number of pivots
};

class Factoring : public MatrixBlocks {
 public:
  using MatrixBlocks::MatrixBlocks;

  Factors factor(const Value* a, bool pivot, bool check) {
    Factors out{copy(a), 0, 0, sym_min(rows_of(a), columns_of(a))};
    out.pivots = l_.scratch(DType::i32, matrices_ * out.count);
    out.info = l_.scratch(DType::i32, matrices_);
    BlockCall call;
    call.function = "factor_lu";
    call.has_shared = true;
    call.numbers = indices({rows_of(a), columns_of(a), flag(pivot)});
    call.operations = out.lu.area * out.count;
    run(std::move(call), out.lu.area,
        {{out.lu.buffer, out.lu.area, true}, {out.pivots, out.count, true}, {out.info, 1, true}});
    if (check) require_zero(out.info, "a matrix is singular");
    return out;
  }

  uint32_t cholesky(const Matrices& a, const Sym& n, bool check) {
    const uint32_t info = l_.scratch(DType::i32, matrices_);
    BlockCall call;
    call.function = "factor_cholesky";
    call.numbers = indices({n});
    call.operations = a.area * n;
    run(std::move(call), a.area, {{a.buffer, a.area, true}, {info, 1, true}});
    if (check) require_zero(info, "a matrix is not positive definite");
    return info;
  }

  void solve(const Factors& a, const Matrices& right, const Sym& n, bool left, bool adjoint) {
    BlockCall call;
    call.function = "solve_lu";
    call.numbers = indices({n, floor_div(right.area, n), flag(left), flag(adjoint)});
    call.operations = right.area * n * 2;
    run(std::move(call), a.lu.area,
        {{a.lu.buffer, a.lu.area, false}, {a.pivots, n, false}, {right.buffer, right.area, true}});
  }

  void solve_triangular(const Matrices& a, const Matrices& right, const Sym& n) {
    const bool left = node_.boolean("left");
    BlockCall call;
    call.function = "solve_triangular";
    call.numbers = indices(
        {n, floor_div(right.area, n), flag(node_.boolean("upper")), flag(left), flag(node_.boolean("unitriangular"))});
    call.operations = right.area * n;
    run(std::move(call), a.area, {{a.buffer, a.area, false}, {right.buffer, right.area, true}});
  }

  // A copy of an operand of pivots, each checked to be a row of the matrix.
  uint32_t checked_pivots(const Value* pivots, const Sym& rows) {
    const uint32_t out = l_.scratch(DType::i32, compiler::numel(pivots->sizes())),
                   check = l_.add_check("a pivot is out of range");
    Draft draft = l_.draft(pivots->sizes(), {});
    const ExpressionPtr one = pool_.constant(1, 1, ScalarType::i64);
    const ExpressionPtr given = pool_.cast(l_.element(pivots, draft.rows), ScalarType::i64);
    const ExpressionPtr row = l_.checked_index(sub(pool_, given, one), rows, false, check);
    const ExpressionPtr kept = pool_.cast(add(pool_, pool_.cast(row, ScalarType::i64), one), ScalarType::i32);
    draft.kernel.row_stores.push_back({out, DType::i32, l_.join(draft.rows, pivots->sizes()), kept, nullptr});
    l_.finish_stores(std::move(draft));
    return out;
  }

  // The permutation of `rows` rows that the swaps make.
  uint32_t order(uint32_t pivots, const Sym& count, const Sym& rows) {
    const uint32_t out = l_.scratch(DType::i32, matrices_ * rows);
    BlockCall call;
    call.function = "order_of_swaps";
    call.numbers = indices({count, rows});
    call.operations = rows;
    run(std::move(call), rows, {{pivots, count, false}, {out, rows, true}});
    return out;
  }
};

void lower_lu_factor(Lowering& l, const Node& node) {
  const Value* a = node.tensor("A");
  Factoring f(l, node, a);
  const Factors factors = f.factor(a, node.boolean("pivot"), node.boolean("check_errors"));
  f.give(0, factors.lu.buffer, DType::f64);
  f.give(1, factors.pivots, DType::i32);
  f.give(2, factors.info, DType::i32);
}

void lower_solve(Lowering& l, const Node& node) {
  const Value *a = node.tensor("A"), *b = node.tensor("B");
  Factoring f(l, node, a);
  const Factors factors = f.factor(a, true, node.boolean("check_errors"));
  const Matrices right = f.copy(b);
  f.solve(factors, right, rows_of(a), node.boolean("left"), false);
  f.give(0, right.buffer, DType::f64);
  f.give(1, factors.lu.buffer, DType::f64);
  f.give(2, factors.pivots, DType::i32);
  f.give(3, factors.info, DType::i32);
}

void lower_inverse(Lowering& l, const Node& node) {
  const Value* a = node.tensor("A");
  Factoring f(l, node, a);
  const Factors factors = f.factor(a, true, node.boolean("check_errors"));
  const Matrices right = f.identity(a->sizes());
  f.solve(factors, right, rows_of(a), true, false);
  f.give(0, right.buffer, DType::f64);
  f.give(1, factors.info, DType::i32);
}

void lower_lu_solve(Lowering& l, const Node& node) {
  const Value *lu = node.tensor("LU"), *b = node.tensor("B");
  Factoring f(l, node, lu);
  const Factors factors{f.copy(lu), f.checked_pivots(node.tensor("pivots"), rows_of(lu)), 0, rows_of(lu)};
  const Matrices right = f.copy(b);
  f.solve(factors, right, rows_of(lu), node.boolean("left"), node.boolean("adjoint"));
  f.give(0, right.buffer, DType::f64);
}

void lower_triangular(Lowering& l, const Node& node) {
  const Value *a = node.tensor("self"), *b = node.tensor("B");
  Factoring f(l, node, a);
  const Matrices factor = f.copy(a), right = f.copy(b);
  f.solve_triangular(factor, right, rows_of(a));
  f.give(0, right.buffer, DType::f64);
}

// The upper factor is the transpose of the lower factor of the transposed matrix.
void lower_cholesky(Lowering& l, const Node& node) {
  const Value* a = node.tensor("self");
  Factoring f(l, node, a);
  const bool upper = node.boolean("upper");
  const Matrices factor = f.copy(a, upper);
  const uint32_t info = f.cholesky(factor, rows_of(a), node.boolean("check_errors"));
  f.give(0, factor.buffer, DType::f64, upper);
  f.give(1, info, DType::i32);
}

// The product of the diagonal of U, negated for each swap; or its sign and the sum of its elements' logarithms.
void lower_determinant(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value* a = node.tensor("A");
  Factoring f(l, node, a);
  const Factors factors = f.factor(a, true, false);
  const Sym n = rows_of(a);
  Draft draft = l.draft(batch_of(a), {n});
  const ExpressionPtr k = draft.columns[0], matrix = l.join(draft.rows, batch_of(a));
  const ExpressionPtr first = pool.add(pool.multiply(matrix, pool.index(n)), k);
  const ExpressionPtr pivot = pool.load(factors.pivots, DType::i32, first);
  const ExpressionPtr in_matrix = pool.multiply(k, pool.index(n + 1));
  const ExpressionPtr d =
      pool.load(factors.lu.buffer, DType::f64, pool.add(pool.multiply(matrix, pool.index(n * n)), in_matrix));
  const ExpressionPtr stays =
      pool.call(ScalarType::boolean, "({0} == {1} + 1)", {pivot, pool.cast(k, ScalarType::i32)});
  const auto with_sign = [&](ExpressionPtr x) {
    return pool.select(stays, x, pool.call(ScalarType::f64, "(-{0})", {x}));
  };
  const bool logarithm = node.is("aten._linalg_slogdet.default");
  const ExpressionPtr sign = pool.call(ScalarType::f64, "({0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0})", {d});
  const Indices at = draft.rows;
  const ScalarType type = scalar_type(a->dtype());
  std::vector<Lowering::DraftResult> results;
  const auto add_result = [&](ReductionKind kind, ExpressionPtr element) {
    results.push_back({node.result(results.size()), at, pool.cast(l.reduce(draft, kind, element), type)});
  };
  add_result(ReductionKind::product, with_sign(logarithm ? sign : d));
  if (logarithm) add_result(ReductionKind::sum, pool.call(ScalarType::f64, "log(op_abs({0}))", {d}));
  const size_t count = results.size();
  l.finish(std::move(draft), std::move(results));
  f.give(count, factors.lu.buffer, DType::f64);
  f.give(count + 1, factors.pivots, DType::i32);
}

// L and U are parts of one matrix. Column j of P has its one in row order[j], the row that the swaps bring to place j.
void lower_lu_unpack(Lowering& l, const Node& node) {
  const Value *lu = node.tensor("LU_data"), *pivots = node.tensor("LU_pivots");
  const auto constant = [](ExpressionPool& pool, int64_t number, ScalarType type) {
    return pool.constant(static_cast<double>(number), number, type);
  };
  const ScalarType type = scalar_type(lu->dtype());
  const auto give = [&](size_t index, bool wanted, const Element& element) {
    const Value* y = node.result(index);
    const ExpressionPtr none = constant(l.pool(), 0, type);
    if (y->num_uses() > 0) l.define(y, wanted ? element : [none](const Indices&) { return none; });
  };
  const bool data = node.boolean("unpack_data"), permutes = node.boolean("unpack_pivots");
  if (permutes && node.result(0)->num_uses() > 0) {
    Factoring f(l, node, lu);
    const Sym rows = rows_of(lu), count = pivots->sizes().back();
    const uint32_t order = f.order(f.checked_pivots(pivots, rows), count, rows);
    Sizes lines = batch_of(lu);
    lines.push_back(rows);
    give(0, true, [&l, order, lines, type, constant](const Indices& at) {
      ExpressionPool& pool = l.pool();
      Indices line(at.begin(), at.end() - 2);
      line.push_back(at.back());
      const ExpressionPtr row = pool.cast(at[at.size() - 2], ScalarType::i32);
      const ExpressionPtr moved = pool.load(order, DType::i32, l.join(line, lines));
      return pool.select(pool.call(ScalarType::boolean, "({0} == {1})", {row, moved}), constant(pool, 1, type),
                         constant(pool, 0, type));
    });
  } else {
    give(0, false, nullptr);
  }
  give(1, data, [&l, lu, type, constant](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ExpressionPtr i = at[at.size() - 2], j = at.back();
    const ExpressionPtr diagonal = pool.select(pool.equal(i, j), constant(pool, 1, type), constant(pool, 0, type));
    return pool.select(pool.less(j, i), l.element(lu, at), diagonal);
  });
  give(2, data, [&l, lu, type, constant](const Indices& at) {
    ExpressionPool& pool = l.pool();
    return pool.select(pool.less(at.back(), at[at.size() - 2]), constant(pool, 0, type), l.element(lu, at));
  });
}

bool same_batch(const Value* a, const Value* b, size_t rest) {
  const size_t rank = a->rank() - 2;
  bool same_sizes = b->rank() == rank + rest;
  for (size_t i = 0; same_sizes && i < rank; ++i) same_sizes = same(a->sizes()[i], b->sizes()[i]);
  return same_sizes;
}

// There must be a right side for each matrix, of fitting size.
Verdict right_side_fits(const Node& node, const compiler::TargetContext& context) {
  const Value *a = node.tensor(node.op->parsed->args[0].name), *b = node.tensor("B");
  if (Verdict square = is_square(node, context); !square.taken) return square;
  if (!has_elements(b)) return Verdict::no(kEmptyMatrix);
  const Sym& n = node.boolean("left") ? rows_of(b) : columns_of(b);
  bool fits = same_batch(a, b, 2) && same(n, rows_of(a));
  if (fits && node.op->parsed->find("pivots") >= 0) {
    const Value* pivots = node.tensor("pivots");
    fits = same_batch(a, pivots, 1) && same(pivots->sizes().back(), rows_of(a));
  }
  return agreed(fits);
}
Verdict pivots_fit(const Node& node, const compiler::TargetContext&) {
  const Value *lu = node.tensor("LU_data"), *pivots = node.tensor("LU_pivots");
  if (!has_elements(lu)) return Verdict::no(kEmptyMatrix);
  if (!node.boolean("unpack_pivots")) return Verdict::yes();
  return agreed(same_batch(lu, pivots, 1) && same(pivots->sizes().back(), sym_min(rows_of(lu), columns_of(lu))));
}

constexpr OpRule kFactorRows[] = {
    {"aten.linalg_lu_factor_ex.default", lower_lu_factor, has_matrices},
    {"aten._linalg_solve_ex.default", lower_solve, right_side_fits},
    {"aten.linalg_inv_ex.default", lower_inverse, is_square},
    {"aten.linalg_lu_solve.default", lower_lu_solve, right_side_fits},
    {"aten.linalg_solve_triangular.default", lower_triangular, right_side_fits},
    {"aten.linalg_cholesky_ex.default", lower_cholesky, is_square},
    {"aten._linalg_det.default", lower_determinant, is_square},
    {"aten._linalg_slogdet.default", lower_determinant, is_square},
    {"aten.lu_unpack.default", lower_lu_unpack, pivots_fit},
};

}  // namespace

const Span<const OpRule> kFactorRules{kFactorRows};

}  // namespace wick::cuda
