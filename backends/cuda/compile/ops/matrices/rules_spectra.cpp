// Orthogonal factors, eigenvalues of symmetric matrices, singular values and exponentials: a block for each matrix, in
// f64, rounded once.
#include <utility>

#include "backends/cuda/compile/ops/matrices/matrix_blocks.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

using compiler::Verdict;

class Spectra : public MatrixBlocks {
 public:
  using MatrixBlocks::MatrixBlocks;

  // R with the Householder vectors of Q, and the scales of these.
  struct Reflectors {
    Matrices a, scales;
  };
  Reflectors householder(const Value* a) {
    Reflectors out{copy(a), room(sym_min(rows_of(a), columns_of(a)))};
    BlockCall call = begin("factor_householder", {rows_of(a), columns_of(a)}, out.a.area * out.scales.area * 2);
    call.has_shared = true;
    run(std::move(call), out.a.area, {{out.a.buffer, out.a.area, true}, {out.scales.buffer, out.scales.area, true}});
    return out;
  }

  // The first `wanted` columns of the product of reflectors, Q.
  Matrices product(const Reflectors& of, const Sym& rows, const Sym& columns, const Sym& wanted) {
    const Matrices out = room(rows * wanted);
    BlockCall call =
        begin("product_of_reflectors", {rows, columns, of.scales.area, wanted}, out.area * of.scales.area * 4);
    call.waits = false;
    run(std::move(call), out.area,
        {{of.a.buffer, of.a.area, false}, {of.scales.buffer, of.scales.area, false}, {out.buffer, out.area, true}});
    return out;
  }

  // Defines result `index` as the upper triangle of `a`, whose matrices have as many columns as the result.
  void give_upper(size_t index, const Matrices& a) {
    const Value* y = node_.result(index);
    if (y->num_uses() == 0) return;
    Sizes sizes = y->sizes();
    sizes[sizes.size() - 2] = floor_div(a.area, sizes.back());
    Lowering& l = l_;
    l.define(y, [&l, y, a, sizes](const Indices& at) {
      ExpressionPool& pool = l.pool();
      const ScalarType type = scalar_type(y->dtype());
      const ExpressionPtr below = pool.less(at.back(), at[at.size() - 2]);
      return pool.select(below, pool.number(0, type),
                         pool.cast(pool.load(a.buffer, DType::f64, l.join(at, sizes)), type));
    });
  }

  // Eigenvalues, and eigenvectors as columns. Reads only one triangle of `a`.
  std::pair<Matrices, Matrices> eigen(const Value* a, bool upper) {
    const Sym& n = rows_of(a);
    const Matrices mirrored = filled(a->sizes(), [&](const Indices& at) {
      const size_t last = at.size() - 1;
      Indices from = at;
      from[last - 1] = upper ? pool_.minimum(at[last - 1], at[last]) : pool_.maximum(at[last - 1], at[last]);
      from[last] = upper ? pool_.maximum(at[last - 1], at[last]) : pool_.minimum(at[last - 1], at[last]);
      return pool_.cast(l_.element(a, from), ScalarType::f64);
    });
    const Matrices turned = room(n * n), work = room(n + 1), values = room(n), vectors = room(n * n);
    BlockCall call = begin("eigen_symmetric", {n}, n * n * n * 100);
    call.has_shared = true;
    run(std::move(call), n * n,
        {{mirrored.buffer, mirrored.area, true},
         {turned.buffer, turned.area, true},
         {work.buffer, work.area, true},
         {values.buffer, values.area, true},
         {vectors.buffer, vectors.area, true}});
    return {values, vectors};
  }

  // Singular values, and singular vectors as rows: `wanted` of them for the longer side, and all for the shorter side.
  struct Singular {
    Matrices values, longer, shorter;
  };
  Singular singular(const Value* a, bool wide, const Sym& wanted, bool vectors) {
    const Sym &large = wide ? columns_of(a) : rows_of(a), &small = wide ? rows_of(a) : columns_of(a);
    const Matrices lines = copy(a, !wide), turned = room(small * small), work = room(large * 2);
    const Singular out{room(small), room(vectors ? large * wanted : Sym(1)), room(vectors ? small * small : Sym(1))};
    BlockCall call = begin("singular_values", {large, small, wanted, flag(vectors)}, lines.area * small * 100);
    call.has_shared = true;
    run(std::move(call), lines.area,
        {{lines.buffer, lines.area, true},
         {turned.buffer, turned.area, true},
         {work.buffer, work.area, true},
         {out.values.buffer, out.values.area, true},
         {out.longer.buffer, out.longer.area, true},
         {out.shorter.buffer, out.shorter.area, true}});
    return out;
  }

  Matrices exponential(const Value* a) {
    const Matrices out = copy(a), work = room(out.area * 3);
    BlockCall call = begin("exponential", {rows_of(a)}, out.area * rows_of(a) * 50);
    call.has_shared = true;
    run(std::move(call), out.area, {{out.buffer, out.area, true}, {work.buffer, work.area, true}});
    return out;
  }

 private:
  BlockCall begin(const char* function, const std::vector<Sym>& numbers, const Sym& operations) {
    BlockCall call;
    call.function = function;
    call.numbers = indices(numbers);
    call.operations = operations;
    return call;
  }
};

void lower_qr(Lowering& l, const Node& node) {
  const Value* a = node.tensor("A");
  const std::string mode = node.string("mode");
  Spectra s(l, node, a);
  const Spectra::Reflectors factors = s.householder(a);
  if (mode == "r" || node.result(0)->num_uses() == 0) {
    s.give_nothing(0);
  } else {
    const Sym wanted = mode == "complete" ? rows_of(a) : sym_min(rows_of(a), columns_of(a));
    s.give(0, s.product(factors, rows_of(a), columns_of(a), wanted).buffer, DType::f64);
  }
  s.give_upper(1, factors.a);
}

void lower_geqrf(Lowering& l, const Node& node) {
  const Value* a = node.tensor("self");
  Spectra s(l, node, a);
  const Spectra::Reflectors factors = s.householder(a);
  s.give(0, factors.a.buffer, DType::f64);
  s.give(1, factors.scales.buffer, DType::f64);
}

void lower_householder_product(Lowering& l, const Node& node) {
  const Value *a = node.tensor("input"), *scales = node.tensor("tau");
  Spectra s(l, node, a);
  s.give(0, s.product({s.copy(a), s.copy(scales)}, rows_of(a), columns_of(a), columns_of(a)).buffer, DType::f64);
}

void lower_eigh(Lowering& l, const Node& node) {
  const Value* a = node.tensor("A");
  const std::string triangle = node.string("UPLO");
  Spectra s(l, node, a);
  const auto [values, vectors] = s.eigen(a, triangle == "U" || triangle == "u");
  s.give(0, values.buffer, DType::f64);
  if (node.boolean("compute_v"))
    s.give(1, vectors.buffer, DType::f64);
  else
    s.give_nothing(1);
}

bool is_wide(const Value* a) { return !no_larger(columns_of(a), rows_of(a)); }

// A = U diag(S) Vh. If the matrix is wide, the vectors of the longer side are the rows of Vh.
void lower_svd(Lowering& l, const Node& node) {
  const Value* a = node.tensor("A");
  const bool wide = is_wide(a), vectors = node.boolean("compute_uv");
  const Sym &large = wide ? columns_of(a) : rows_of(a), &small = wide ? rows_of(a) : columns_of(a);
  Spectra s(l, node, a);
  const Spectra::Singular found = s.singular(a, wide, node.boolean("full_matrices") ? large : small, vectors);
  s.give(1, found.values.buffer, DType::f64);
  if (!vectors) {
    s.give_nothing(0);
    s.give_nothing(2);
    return;
  }
  s.give(0, wide ? found.shorter.buffer : found.longer.buffer, DType::f64, true);
  s.give(2, wide ? found.longer.buffer : found.shorter.buffer, DType::f64);
}

void lower_exponential(Lowering& l, const Node& node) {
  const Value* a = node.tensor("self");
  Spectra s(l, node, a);
  s.give(0, s.exponential(a).buffer, DType::f64);
}

Verdict side_is_known(const Node& node, const compiler::TargetContext&) {
  const Value* a = node.tensor("A");
  if (!has_elements(a)) return Verdict::no(kEmptyMatrix);
  return agreed(no_larger(columns_of(a), rows_of(a)) || no_larger(rows_of(a), columns_of(a)));
}
// The matrix must have at least as many rows as columns, and at most as many scales as columns; scales are there for
// each matrix.
Verdict scales_fit(const Node& node, const compiler::TargetContext&) {
  const Value *a = node.tensor("input"), *scales = node.tensor("tau");
  if (!has_elements(a)) return Verdict::no(kEmptyMatrix);
  bool fits = scales->rank() + 1 == a->rank() && no_larger(columns_of(a), rows_of(a)) &&
              no_larger(scales->sizes().back(), columns_of(a));
  for (size_t i = 0; fits && i + 2 < a->rank(); ++i) fits = same(a->sizes()[i], scales->sizes()[i]);
  return agreed(fits);
}

constexpr OpRule kSpectrumRows[] = {
    {"aten.linalg_qr.default", lower_qr, has_matrices},
    {"aten.geqrf.default", lower_geqrf, has_matrices},
    {"aten.linalg_householder_product.default", lower_householder_product, scales_fit},
    {"aten._linalg_eigh.default", lower_eigh, is_square},
    {"aten._linalg_svd.default", lower_svd, side_is_known},
    {"aten.linalg_matrix_exp.default", lower_exponential, is_square},
};

}  // namespace

const Span<const OpRule> kSpectrumRules{kSpectrumRows};

}  // namespace wick::cuda
