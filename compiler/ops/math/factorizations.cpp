// Linear systems, determinants, factorizations and spectra of matrices.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

Value* first(const Node& node) { return node.tensor(node.op->parsed->args[0].name); }

void require_matrices(const Value* a) {
  require(a->rank() >= 2, "a matrix needs two dimensions");
  const DType part = real_dtype(a->dtype());
  if (part != DType::f32 && part != DType::f64)
    reject(fmt::format("factorisations of {} are not supported", dtype_name(a->dtype())));
}
void require_square(const Value* a) {
  require_matrices(a);
  require_equal(a->sizes().back(), a->sizes()[a->rank() - 2], "a matrix that must be square");
}

// The leading sizes of a batch of matrices, followed by `more`.
Sizes batch_of(const Value* a, Sizes more = {}) {
  Sizes sizes(a->sizes().begin(), a->sizes().end() - 2);
  sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes;
}
const Sym& rows(const Value* a) { return a->sizes()[a->rank() - 2]; }
const Sym& columns(const Value* a) { return a->sizes().back(); }
Value* transposed(Builder& b, Value* a) { return b.transpose(a, -2, -1); }
Value* adjoint(Builder& b, Value* a) { return Compose(b).call("aten.adjoint", {a}); }

// `a` expanded to the leading sizes `batch`.
Value* in_batch(Builder& b, Value* a, const Sizes& batch) {
  Sizes sizes = batch;
  sizes.push_back(rows(a));
  sizes.push_back(columns(a));
  return b.expand(a, std::move(sizes));
}
struct Pair {
  Value *a, *b;
};
Pair same_batch(Builder& builder, Value* a, Value* b) {
  require(a->rank() >= 2 && b->rank() >= 2, "a matrix needs two dimensions");
  const Sizes batch = broadcast(batch_of(a), batch_of(b));
  return {in_batch(builder, a, batch), in_batch(builder, b, batch)};
}

Value* identity(Compose& c, const Sym& n, DType dtype) { return c.call("aten.eye", {n, dtype}); }

// --- shapes ---

void infer_lu(Node& node) {
  const Value* a = first(node);
  require_matrices(a);
  set_result(node, 0, a->dtype(), a->sizes());
  set_result(node, 1, DType::i32, batch_of(a, {sym_min(rows(a), columns(a))}));
  if (node.results().size() > 2) set_result(node, 2, DType::i32, batch_of(a));
}
// P [.., m, m], L [.., m, k] and U [.., k, n] with k = min(m, n); what is not unpacked is empty.
void infer_lu_unpack(Node& node) {
  const Value *lu = first(node), *pivots = node.tensor("LU_pivots");
  const DType dtype = lu->dtype();
  require(lu->rank() >= 2, "a matrix needs two dimensions");
  require(dtype != DType::u16 && dtype != DType::u32 && dtype != DType::u64 &&
              (!is_floating(dtype) || dtype_size_bytes(dtype) > 1),
          "lu_unpack: matrices of this dtype are not supported");
  const Sym inner = sym_min(rows(lu), columns(lu));
  const bool data = node.boolean("unpack_data"), permute = node.boolean("unpack_pivots");
  if (permute) {
    require(pivots->dtype() == DType::i32, "lu_unpack: pivots are i32");
    const Sizes wanted = batch_of(lu, {inner});
    require(pivots->rank() == wanted.size(), "lu_unpack: wanted min(m, n) pivots for each matrix");
    for (size_t i = 0; i < wanted.size(); ++i) require_equal(pivots->sizes()[i], wanted[i], "the pivots of a matrix");
  }
  set_result(node, 0, dtype, permute ? batch_of(lu, {rows(lu), rows(lu)}) : Sizes{0});
  set_result(node, 1, dtype, data ? batch_of(lu, {rows(lu), inner}) : Sizes{0});
  set_result(node, 2, dtype, data ? batch_of(lu, {inner, columns(lu)}) : Sizes{0});
}
// Whether the right side is one vector for each matrix.
bool is_vector(const Value* a, const Value* right) {
  return right->rank() == 1 ||
         (right->rank() + 1 == a->rank() && right->sizes() == Sizes(a->sizes().begin(), a->sizes().end() - 1));
}
// The leading sizes of both, broadcast, then the rows and columns of the right side.
Sizes solution_sizes(const Value* a, const Value* right) {
  Sizes sizes = broadcast(batch_of(a), batch_of(right));
  sizes.push_back(rows(right));
  sizes.push_back(columns(right));
  return sizes;
}
void infer_solve_ex(Node& node) {
  const Value *a = node.tensor("A"), *b = node.tensor("B");
  require_square(a);
  require(a->dtype() == b->dtype(), "a right side has a different dtype than its matrix");
  if (is_vector(a, b)) {
    set_result(node, 0, b->dtype(), b->rank() == 1 ? batch_of(a, {rows(a)}) : b->sizes());
  } else {
    require_matrices(b);
    set_result(node, 0, b->dtype(), solution_sizes(a, b));
  }
  set_result(node, 1, a->dtype(), a->sizes());
  set_result(node, 2, DType::i32, batch_of(a, {rows(a)}));
  set_result(node, 3, DType::i32, batch_of(a));
}
// The first result is like the operand, the second holds one number for each matrix.
void infer_with_info(Node& node) {
  const Value* a = first(node);
  require_square(a);
  set_result(node, 0, a->dtype(), a->sizes());
  if (node.results().size() > 1) set_result(node, 1, DType::i32, batch_of(a));
}
// A matrix of right sides for each matrix; leading sizes broadcast.
void infer_like_right_side(Node& node) {
  const Value *a = first(node), *b = node.tensor("B");
  require_square(a);
  require_matrices(b);
  require(a->dtype() == b->dtype(), "a right side has a different dtype than its matrix");
  set_result(node, b->dtype(), solution_sizes(a, b));
}
void infer_lu_solve(Node& node) {
  require(node.tensor("pivots")->dtype() == DType::i32, "linalg_lu_solve: the pivots are not i32");
  infer_like_right_side(node);
}
void infer_ldl(Node& node) {
  require_square(first(node));
  infer_lu(node);
}
void infer_ldl_solve(Node& node) {
  const DType pivots = node.tensor("pivots")->dtype();
  require(is_integral(pivots) && pivots != DType::u16 && pivots != DType::u32 && pivots != DType::u64,
          "linalg_ldl_solve: the pivots are not signed integers");
  infer_like_right_side(node);
}
void infer_determinant(Node& node) {
  const Value* a = first(node);
  require_square(a);
  const size_t numbers = node.results().size() == 3 ? 1 : 2;
  for (size_t i = 0; i < numbers; ++i) set_result(node, i, i == 1 ? real_dtype(a->dtype()) : a->dtype(), batch_of(a));
  set_result(node, numbers, a->dtype(), a->sizes());
  set_result(node, numbers + 1, DType::i32, batch_of(a, {rows(a)}));
}
void infer_qr(Node& node) {
  const Value* a = first(node);
  require_matrices(a);
  const std::string mode = node.string("mode");
  require(mode == "reduced" || mode == "complete" || mode == "r", "qr: unknown mode");
  const Sym inner = mode == "complete" ? rows(a) : sym_min(rows(a), columns(a));
  set_result(node, 0, a->dtype(), mode == "r" ? Sizes{0} : batch_of(a, {rows(a), inner}));
  set_result(node, 1, a->dtype(), batch_of(a, {inner, columns(a)}));
}
void infer_geqrf(Node& node) {
  const Value* a = first(node);
  require_matrices(a);
  set_result(node, 0, a->dtype(), a->sizes());
  set_result(node, 1, a->dtype(), batch_of(a, {sym_min(rows(a), columns(a))}));
}
void infer_householder(Node& node) {
  require_matrices(first(node));
  infer_same(node);
}
void infer_eigh(Node& node) {
  const Value* a = first(node);
  require_square(a);
  set_result(node, 0, real_dtype(a->dtype()), batch_of(a, {rows(a)}));
  set_result(node, 1, a->dtype(), node.boolean("compute_v") ? a->sizes() : Sizes{0});
}
void infer_svd(Node& node) {
  const Value* a = first(node);
  require_matrices(a);
  const Sym small = sym_min(rows(a), columns(a));
  const bool full = node.boolean("full_matrices"), vectors = node.boolean("compute_uv");
  set_result(node, 0, a->dtype(), vectors ? batch_of(a, {rows(a), full ? rows(a) : small}) : Sizes{0});
  set_result(node, 1, real_dtype(a->dtype()), batch_of(a, {small}));
  set_result(node, 2, a->dtype(), vectors ? batch_of(a, {full ? columns(a) : small, columns(a)}) : Sizes{0});
}
// --- systems ---

// Solves A @ X = B, or X @ A = B. Vectors become matrices, and batches are expanded to one size.
Results solve(Builder& b, Value* a, Value* right, bool left, bool check) {
  require_square(a);
  require(right->rank() >= 1, "solve: the right side is a scalar");
  const bool vector = is_vector(a, right);
  require(!vector || left, "solve: a vector stands on the right side");
  if (vector) right = b.unsqueeze(right, -1);
  const Pair both = same_batch(b, a, right);
  Results out = b.call_multi("aten._linalg_solve_ex", {both.a, both.b, left, check});
  if (vector) out[0] = b.squeeze(out[0], -1);
  return out;
}
// The results contain the factors of the matrices as given, not expanded to the batch of the right side.
Results decompose_solve_ex(Builder& b, Node& node) {
  Value *a = node.tensor("A"), *right = node.tensor("B");
  if (!is_vector(a, right) && have_equal_batches(a, right)) return {};
  Results out = b.call_multi("aten.linalg_lu_factor_ex", {a, true, node.arg("check_errors")});
  out.insert(out.begin(), solve(b, a, right, node.boolean("left"), node.boolean("check_errors"))[0]);
  return out;
}
Results decompose_solve(Builder& b, Node& node) {
  const bool two = node.results().size() == 2;
  Results all =
      solve(b, node.tensor("A"), node.tensor("B"), node.boolean("left"), !two || node.boolean("check_errors"));
  if (two) return {all[0], all[3]};
  return {all[0]};
}
Value* inverse(Builder& b, Value* a) { return b.call_multi("aten.linalg_inv_ex", {a, true})[0]; }
Results decompose_inv(Builder& b, Node& node) { return {inverse(b, first(node))}; }

Results decompose_lu_factor(Builder& b, Node& node) {
  Results all = b.call_multi("aten.linalg_lu_factor_ex", {first(node), node.arg("pivot"), true});
  return {all[0], all[1]};
}
Results decompose_lu(Builder& b, Node& node) {
  Results factors = b.call_multi("aten.linalg_lu_factor_ex", {first(node), node.arg("pivot"), false});
  return b.call_multi("aten.lu_unpack", {factors[0], factors[1], true, true});
}
Results decompose_lu_solve(Builder& b, Node& node) {
  const bool modern = node.op->parsed->find("LU") >= 0;
  Value *lu = node.tensor(modern ? "LU" : "LU_data"), *right = node.tensor(modern ? "B" : "self");
  Value* pivots = node.tensor(modern ? "pivots" : "LU_pivots");
  require(lu->rank() >= 2 && right->rank() >= 2, "a matrix needs two dimensions");
  const bool same = have_equal_batches(lu, right);
  if (modern && same) return {};
  const Pair both = same_batch(b, lu, right);
  Sizes sizes = batch_of(both.a, {rows(lu)});
  const Arg left = modern ? node.arg("left") : Arg(true), adjoint = modern ? node.arg("adjoint") : Arg(false);
  return {b.call("aten.linalg_lu_solve", {both.a, b.expand(pivots, std::move(sizes)), both.b, left, adjoint})};
}

Value* solve_triangular(Builder& b, Value* a, Value* right, bool upper, bool left = true, bool unit = false) {
  const Pair both = same_batch(b, a, right);
  return b.call("aten.linalg_solve_triangular", {both.a, both.b, upper, left, unit});
}
Results decompose_solve_triangular(Builder& b, Node& node) {
  Value *a = first(node), *right = node.tensor("B");
  if (have_equal_batches(a, right)) return {};
  return {solve_triangular(b, a, right, node.boolean("upper"), node.boolean("left"), node.boolean("unitriangular"))};
}
Results decompose_old_triangular(Builder& b, Node& node) {
  Value* a = node.tensor("A");
  const bool turn = node.boolean("transpose");
  Value* out = solve_triangular(b, turn ? transposed(b, a) : a, first(node), node.boolean("upper") != turn, true,
                                node.boolean("unitriangular"));
  return {out, in_batch(b, a, batch_of(out))};
}

Results decompose_cholesky(Builder& b, Node& node) {
  return {b.call_multi("aten.linalg_cholesky_ex", {first(node), node.arg("upper"), true})[0]};
}
// L L^H X = B
Value* cholesky_solve(Builder& b, Value* factor, Value* right, bool upper) {
  Value *lower = upper ? adjoint(b, factor) : factor, *top = upper ? factor : adjoint(b, factor);
  return solve_triangular(b, top, solve_triangular(b, lower, right, false), true);
}
Results decompose_cholesky_solve(Builder& b, Node& node) {
  return {cholesky_solve(b, node.tensor("input2"), first(node), node.boolean("upper"))};
}
Results decompose_cholesky_inverse(Builder& b, Node& node) {
  Compose c(b);
  Value* factor = first(node);
  require_square(factor);
  Value* unit = b.expand(identity(c, rows(factor), factor->dtype()), factor->sizes());
  return {cholesky_solve(b, factor, unit, node.boolean("upper"))};
}

Results decompose_ldl_factor(Builder& b, Node& node) {
  Results all = b.call_multi("aten.linalg_ldl_factor_ex", {first(node), node.arg("hermitian"), true});
  return {all[0], all[1]};
}
Results decompose_ldl_solve(Builder& b, Node& node) {
  Value *ld = node.tensor("LD"), *pivots = node.tensor("pivots"), *right = node.tensor("B");
  require(ld->rank() >= 2 && right->rank() >= 2, "a matrix needs two dimensions");
  if (pivots->dtype() == DType::i32 && have_equal_batches(ld, right)) return {};
  const Pair both = same_batch(b, ld, right);
  Value* swaps = b.expand(b.cast(pivots, DType::i32), batch_of(both.a, {rows(ld)}));
  return {b.call("aten.linalg_ldl_solve", {both.a, swaps, both.b, node.arg("hermitian")})};
}

// --- determinants ---

Results decompose_det(Builder& b, Node& node) { return {b.call_multi("aten._linalg_det", {first(node)})[0]}; }
Results decompose_slogdet(Builder& b, Node& node) {
  Results all = b.call_multi("aten._linalg_slogdet", {first(node)});
  return {all[0], all[1]};
}
Results decompose_logdet(Builder& b, Node& node) {
  Compose c(b);
  Results all = b.call_multi("aten._linalg_slogdet", {first(node)});
  if (is_complex(all[0]->dtype())) return {c.add(all[1], c.log(all[0]))};
  Value* nan = c.where(c.compare("lt", all[0], 0), std::numeric_limits<double>::quiet_NaN(), all[1]);
  return {nan};
}

// --- spectra ---

Results decompose_eigh(Builder& b, Node& node) {
  return b.call_multi("aten._linalg_eigh", {first(node), node.arg("UPLO"), true});
}
Results decompose_eigvalsh(Builder& b, Node& node) {
  return {b.call_multi("aten._linalg_eigh", {first(node), node.arg("UPLO"), false})[0]};
}
Results decompose_svd(Builder& b, Node& node) {
  if (node.is("aten.linalg_svd.default"))
    return b.call_multi("aten._linalg_svd", {first(node), node.arg("full_matrices"), true});
  Results all = b.call_multi("aten._linalg_svd", {first(node), !node.boolean("some"), true});
  require(node.boolean("compute_uv"), "svd without vectors: use linalg.svdvals");
  return {all[0], all[1], adjoint(b, all[2])};
}
Value* svdvals(Builder& b, Value* a) { return b.call_multi("aten._linalg_svd", {a, false, false})[1]; }
Results decompose_svdvals(Builder& b, Node& node) { return {svdvals(b, first(node))}; }
Results decompose_orgqr(Builder& b, Node& node) {
  return {b.call("aten.linalg_householder_product", {first(node), node.tensor("input2")})};
}

double epsilon(DType dtype) {
  return real_dtype(dtype) == DType::f64 ? std::numeric_limits<double>::epsilon()
                                         : std::numeric_limits<float>::epsilon();
}
// Singular values below max(atol, rtol * largest) count as zero; rtol is eps * max(m, n) unless one of both is given.
Value* threshold(Compose& c, Node& node, Value* a, Value* values) {
  auto given = [&](const char* name) { return node.op->parsed->find(name) >= 0 && !node.is_none(name); };
  Sizes one_each = values->sizes();
  one_each.back() = 1;
  Value* largest = values->sizes().back().is(0) ? c.b.full(one_each, 0, values->dtype()) : c.amax(values, {-1}, true);
  auto as_column = [&](const char* name) -> Arg {
    if (Value* tensor = tensor_or_null(node.arg(name))) return tensor->rank() ? c.b.unsqueeze(tensor, -1) : tensor;
    return node.real(name);
  };
  for (const char* name : {"rcond", "tol"}) {
    if (!given(name)) continue;
    return std::string_view(name) == "tol" ? c.add(c.mul(largest, 0.0), as_column(name))
                                           : c.mul(largest, as_column(name));
  }
  Value* relative = nullptr;
  if (given("rtol")) {
    relative = c.mul(largest, as_column("rtol"));
  } else if (given("atol")) {
    relative = c.mul(largest, 0.0);
  } else {
    const Sym size = sym_max(rows(a), columns(a));
    const double unit = epsilon(a->dtype());
    relative = size.is_const() ? c.mul(largest, unit * static_cast<double>(size.value()))
                               : c.mul(largest, c.mul(c.tensor(size, values->dtype()), unit));
  }
  return given("atol") ? c.maximum(relative, as_column("atol")) : relative;
}
// The matrix that eager computes with. If the matrix is said to be Hermitian, eager reads only its lower triangle.
Value* read_part(Compose& c, const Node& node) {
  Value* a = first(node);
  if (node.op->parsed->find("hermitian") < 0 || !node.boolean("hermitian")) return a;
  Value* below = c.b.call("aten.tril", {a, -1});
  Value* rest = c.b.call("aten.tril", {a, 0});
  if (is_complex(a->dtype())) {  // only the real parts of the diagonal count
    Value* diagonal = c.b.call("aten.triu", {rest, 0});
    rest = c.add(below, c.mul(c.add(diagonal, adjoint(c.b, diagonal)), 0.5));
  }
  return c.add(rest, adjoint(c.b, below));
}
Results decompose_matrix_rank(Builder& b, Node& node) {
  Compose c(b);
  Value* a = read_part(c, node);
  Value* values = svdvals(b, a);
  return {c.sum(b.cast(c.compare("gt", values, threshold(c, node, a, values)), DType::i64), {-1})};
}
// V diag(1 / s) U^H over the singular values that count
Results decompose_pinv(Builder& b, Node& node) {
  Compose c(b);
  Value* a = read_part(c, node);
  Results all = b.call_multi("aten._linalg_svd", {a, false, true});
  Value* counts = c.compare("gt", all[1], threshold(c, node, a, all[1]));
  Value* reciprocal = c.where(counts, c.unary("aten.reciprocal", all[1]), 0.0);
  Value* scaled = c.mul(adjoint(b, all[2]), b.unsqueeze(reciprocal, -2));
  return {c.matmul(scaled, adjoint(b, all[0]))};
}

// --- norms ---

Value* matrix_norm(Compose& c, Value* a, const Arg& order) {
  Args args{a, order};
  return c.call(order.is<std::string>() ? "aten.linalg_matrix_norm.str_ord" : "aten.linalg_matrix_norm",
                std::move(args));
}
Results decompose_cond(Builder& b, Node& node) {
  Compose c(b);
  Value* a = first(node);
  const Arg& p = node.arg("p");
  const std::optional<double> order = p.is<std::string>() ? std::nullopt : literal(p);
  if (p.is<None>() || (order && std::abs(*order) == 2)) {
    Value* values = svdvals(b, a);
    const auto last = static_cast<int64_t>(values->rank()) - 1;
    Value *largest = b.select(values, last, 0), *least = b.select(values, last, -1);
    return {order && *order < 0 ? c.div(least, largest) : c.div(largest, least)};
  }
  return {c.mul(matrix_norm(c, a, p), matrix_norm(c, inverse(b, a), p))};
}
Results decompose_nuclear_norm(Builder& b, Node& node) {
  Compose c(b);
  Value* a = first(node);
  require(node.op->parsed->find("dim") < 0 || a->rank() == 2, "nuclear_norm over chosen dimensions is not supported");
  Value* norm = c.sum(svdvals(b, a), {-1});
  return {node.boolean("keepdim") ? b.unsqueeze(b.unsqueeze(norm, -1), -1) : norm};
}

// --- tensors as matrices ---

Results decompose_tensorinv(Builder& b, Node& node) {
  Value* a = first(node);
  const int64_t split = node.static_integer("ind");
  require(split > 0 && split < static_cast<int64_t>(a->rank()), "tensorinv: ind is out of range");
  const Sizes head(a->sizes().begin(), a->sizes().begin() + split), tail(a->sizes().begin() + split, a->sizes().end());
  Sizes out = tail;
  out.insert(out.end(), head.begin(), head.end());
  return {b.reshape(inverse(b, b.reshape(a, {numel(head), numel(tail)})), std::move(out))};
}
// The dimensions in the order given, after all others.
Value* moved_to_end(Builder& b, Value* a, const Ints& dims) {
  Ints ends;
  for (size_t i = 0; i < dims.size(); ++i) ends.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims.size()));
  return b.call("aten.movedim.intlist", {a, dims, std::move(ends)});
}
Results decompose_tensorsolve(Builder& b, Node& node) {
  Value *a = first(node), *right = node.tensor("other");
  require(a->rank() >= right->rank(), "tensorsolve: the ranks do not fit");
  if (!node.is_none("dims")) a = moved_to_end(b, a, node.ints("dims"));
  Sizes tail(a->sizes().begin() + static_cast<int64_t>(right->rank()), a->sizes().end());
  const Sym n = numel(right->sizes());
  Results all = solve(b, b.reshape(a, {n, numel(tail)}), b.reshape(right, {n}), true, true);
  return {b.reshape(all[0], std::move(tail))};
}

}  // namespace

#define SOLVER(schema, infer, decompose, kernel, ...)                                                               \
  {                                                                                                                 \
    schema, infer, decompose, kernel, kNoStock | kIterative | kDependsOnZeroSign | ranges::unknown, { __VA_ARGS__ } \
  }
const OpDef kFactorizationRows[] = {
    SOLVER("aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor "
           "pivots, Tensor info)",
           infer_lu, nullptr, "aten::linalg_lu_factor_ex.out", "f32[3, 3]", "f64[2, 4, 3]"),
    SOLVER("aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, "
           "Tensor LU, Tensor pivots, Tensor info)",
           infer_solve_ex, decompose_solve_ex, "aten::_linalg_solve_ex.result", "f32[3, 3]{definite}, f32[3, 2]",
           "f64[2, 3, 3]{definite}, f64[2, 3], left=true", "f32[3, 3]{definite}, f32[3]",
           "f64[2, 3, 3]{definite}, f64[3, 2]", "f64[3, 3]{definite}, f64[2, 4, 3], left=false",
           "c64[2, 1, 3, 3], c64[4, 3, 1]"),
    SOLVER("aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
           infer_with_info, nullptr, "aten::linalg_inv_ex.inverse", "f32[2, 4, 4]"),
    SOLVER("aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
           infer_lu_solve, decompose_lu_solve, "aten::linalg_lu_solve.out",
           "f32[3, 3]{definite}, i32[3]{=1, 2, 3}, f32[3, 2]", "f64[3, 3]{definite}, i32[3]{=2, 3, 3}, f64[3, 2]",
           "f32[3, 3]{definite}, i32[3]{=1, 3, 3}, f32[2, 3, 2]"),
    SOLVER("aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
           "unitriangular=False) -> Tensor",
           infer_like_right_side, decompose_solve_triangular, "aten::linalg_solve_triangular.out",
           "f32[2, 4, 4], f32[2, 4, 3], upper=true", "f32[2, 4, 4], f32[2, 4, 3], upper=false, unitriangular=true",
           "f64[3, 3], f64[2, 3, 1], upper=true", "f32[2, 3, 3], f32[3, 1], upper=false"),
    SOLVER("aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor "
           "info)",
           infer_with_info, nullptr, "aten::linalg_cholesky_ex.L", "f32[2, 4, 4]{definite}"),
    SOLVER("aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, "
           "Tensor pivots, Tensor info)",
           infer_ldl, nullptr, "aten::linalg_ldl_factor_ex.out", "f32[2, 5, 5]", "f64[3, 3]{definite}",
           "c64[4, 4], hermitian=true", "c128[2, 3, 3]", "f64[2, 0, 0]", "f32[6, 6]{special}"),
    SOLVER("aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
           infer_ldl_solve, decompose_ldl_solve, "aten::linalg_ldl_solve.out",
           "f32[3, 3]{definite}, i32[3]{=1, 3, 3}, f32[2, 3, 2]",
           "f64[4, 4]{definite}, i32[4]{=3, -4, -4, 4}, f64[4, 1]",
           "c64[2, 3, 3]{definite}, i64[2, 3]{=1, 2, 3, -2, -2, 3}, c64[3, 2], hermitian=true"),
    SOLVER("aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", infer_determinant, nullptr,
           "aten::_linalg_det.result", "f64[2, 4, 4]{definite}"),
    SOLVER("aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
           infer_determinant, nullptr, "aten::_linalg_slogdet.sign", "f64[2, 4, 4]{definite}"),
    SOLVER("aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", infer_qr, nullptr,
           "aten::linalg_qr.out", "f32[2, 5, 3]", "f32[2, 5, 3], r"),
    SOLVER("aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", infer_geqrf, nullptr, "aten::geqrf.a", "f32[4, 3]",
           "f64[2, 3, 3]"),
    SOLVER("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", infer_householder, nullptr,
           "aten::linalg_householder_product.out", "f32[2, 5, 3], f32[2, 3]"),
    SOLVER("aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor "
           "eigenvectors)",
           infer_eigh, nullptr, "aten::_linalg_eigh.eigenvalues"),
    SOLVER(
        "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor "
        "U, Tensor S, Tensor Vh)",
        infer_svd, nullptr, "aten::_linalg_svd.U"),
    {"aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, "
     "Tensor L, Tensor U)",
     infer_lu_unpack, nullptr, "aten::lu_unpack.out", kNoStock,
     Cases("f32[3, 4]{special}, i32[3]{=2, 3, 3}", "f64[2, 4, 3], i32[2, 3]{=4, 2, 3, 1, 4, 4}", "f16[0, 3], i32[0]",
           "c64[3, 3], i64[7], unpack_pivots=false", "bf16[2, 5, 1], i32[2, 1]{=5, 1}, false",
           "! f32[3, 3], i64[3]{=1, 2, 3}")},
    {"aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", nullptr, decompose_solve, nullptr, kPure,
     Cases("f32[4, 4], f32[4]", "f32[2, 4, 4], f32[2, 4]", "f32[2, 4, 4], f32[2, 4, 3]")},
    {"aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor "
     "info)",
     nullptr, decompose_solve, nullptr, kPure, Cases("f32[2, 4, 4], f32[2, 4, 3]")},
    {"aten::linalg_inv(Tensor A) -> Tensor", nullptr, decompose_inv, nullptr, kPure,
     Cases("f32[2, 4, 4]", "f64[3, 3]")},
    {"aten::inverse(Tensor self) -> Tensor", nullptr, decompose_inv, nullptr, kPure, Cases("f32[2, 4, 4]")},
    {"aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", nullptr, decompose_lu_factor,
     nullptr, kPure, Cases("f32[2, 4, 4]")},
    {"aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", nullptr,
     decompose_ldl_factor, nullptr, kPure, Cases("f32[2, 4, 4]", "c64[3, 3], hermitian=true")},
    {"aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", nullptr, decompose_lu, nullptr,
     kPure, Cases("f32[2, 4, 4]", "f64[5, 3]", "f32[3, 5]")},
    {"aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", nullptr, decompose_lu_solve, nullptr,
     kPure, Cases("f32[3, 2], f32[3, 3]{definite}, i32[3]{=1, 2, 3}")},
    {"aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) "
     "-> (Tensor solution, Tensor cloned_coefficient)",
     nullptr, decompose_old_triangular, nullptr, kPure, Cases("f32[2, 4, 3], f32[2, 4, 4]")},
    {"aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", nullptr, decompose_cholesky, nullptr, kPure,
     Cases("f32[2, 4, 4]{definite}", "f32[2, 4, 4]{definite}, upper=true")},
    {"aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", nullptr, decompose_cholesky_solve,
     nullptr, kPure, Cases("f32[3, 2], f32[3, 3]{definite}", "f64[2, 4, 2], f64[2, 4, 4]{definite}, true")},
    {"aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", nullptr, decompose_cholesky_inverse, nullptr,
     kPure, Cases("f32[3, 3]{definite}", "f64[2, 4, 4]{definite}, true")},
    {"aten::linalg_det(Tensor A) -> Tensor", nullptr, decompose_det, nullptr, kPure,
     Cases("f32[2, 4, 4]", "f64[3, 3]")},
    {"aten::det(Tensor self) -> Tensor", nullptr, decompose_det, nullptr, kPure, Cases("f32[2, 4, 4]")},
    {"aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", nullptr, decompose_slogdet, nullptr, kPure,
     Cases("f32[2, 4, 4]")},
    {"aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", nullptr, decompose_slogdet, nullptr, kPure,
     Cases("f32[2, 4, 4]")},
    {"aten::logdet(Tensor self) -> Tensor", nullptr, decompose_logdet, nullptr, kPure, Cases("f32[2, 4, 4]{definite}")},
    {"aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", nullptr,
     decompose_eigh},
    {"aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", nullptr, decompose_eigvalsh, nullptr, kPure,
     Cases("f32[2, 4, 4]{definite}", "f64[2, 4, 4]{definite}")},
    {"aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     nullptr, decompose_svd},
    {"aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", nullptr,
     decompose_svd},
    {"aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", nullptr, decompose_svdvals, nullptr, kPure,
     Cases("f32[4, 3]", "f64[2, 3, 3]")},
    {"aten::orgqr(Tensor self, Tensor input2) -> Tensor", nullptr, decompose_orgqr, nullptr, kPure,
     Cases("f32[2, 5, 3], f32[2, 3]")},
    {"aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", nullptr, decompose_matrix_rank,
     nullptr, kPure, Cases("f32[4, 3], 0.01", "f64[2, 3, 3], 0.01, true")},
    {"aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", nullptr,
     decompose_matrix_rank, nullptr, kPure, Cases("f32[4, 3], f32[]{=0.1}")},
    {"aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
     "hermitian=False) -> Tensor",
     nullptr, decompose_matrix_rank, nullptr, kPure,
     Cases("f32[4, 3]", "f64[3, 3]{definite}, hermitian=true", "f32[4, 4], atol=0.5", "f64[2, 0, 0]",
           "f64[0, 0], hermitian=true")},
    {"aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
     "hermitian=False) -> Tensor",
     nullptr, decompose_matrix_rank, nullptr, kPure, Cases("f32[2, 4, 4]")},
    {"aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", nullptr, decompose_pinv, nullptr,
     kPure, Cases("f64[4, 3], 0.001", "f64[3, 3]{definite}, 0.001, true")},
    {"aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", nullptr,
     decompose_pinv, nullptr, kPure, Cases("f64[4, 3], f64[]{=0.001}")},
    {"aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> "
     "Tensor",
     nullptr, decompose_pinv, nullptr, kPure, Cases("f64[4, 3]", "f64[2, 3, 4], rtol=0.001", "f32[2, 0, 3]")},
    {"aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) "
     "-> Tensor",
     nullptr, decompose_pinv, nullptr, kPure,
     Cases("f32[2, 5, 3]", "f32[2, 4, 4]{definite}, hermitian=true", "f64[3, 3], hermitian=true")},
    {"aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", nullptr, decompose_pinv, nullptr,
     kPure, Cases("f32[3, 4]")},
    {"aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", nullptr, decompose_cond, nullptr, kPure,
     Cases("f32[2, 4, 4]", "f32[2, 4, 4], 1")},
    {"aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", nullptr, decompose_cond, nullptr, kPure,
     Cases("f64[3, 3]{definite}, fro", "f64[3, 3]{definite}, nuc")},
    {"aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", nullptr, decompose_nuclear_norm, nullptr, kPure,
     Cases("f32[3, 4]")},
    {"aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", nullptr, decompose_tensorinv, nullptr, kPure,
     Cases("f32[2, 3, 6]{range=0..2}")},
    {"aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", nullptr, decompose_tensorsolve,
     nullptr, kPure,
     Cases("f32[2, 3, 6]{range=0..1}, f32[2, 3]", "f32[2, 6, 3]{range=0..1}, f32[6], [0]",
           "f64[2, 6, 3]{range=0..1}, f64[6], [-1, 0]", "! f32[2, 6, 3], f32[6], [0, -3]")},
};
#undef SOLVER
const size_t kFactorizationCount = std::size(kFactorizationRows);

}  // namespace wick::compiler
