// Matmuls, and other products of matrices and vectors.
#include <cmath>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void require_same_dtype(const Value* a, const Value* b) {
  if (a->dtype() != b->dtype())
    reject(fmt::format("matmul of {} and {}", dtype_name(a->dtype()), dtype_name(b->dtype())));
}

void infer_linear(Node& node) {
  const Value *x = node.tensor("input"), *weight = node.tensor("weight");
  require(x->rank() >= 1, "linear of a scalar");
  require(weight->rank() == 1 || weight->rank() == 2, "linear: the weight needs one or two dimensions");
  require_same_dtype(x, weight);
  require_equal(x->sizes().back(), weight->sizes().back(), "linear: input features");
  Sizes sizes = x->sizes();
  sizes.pop_back();
  if (weight->rank() == 2) sizes.push_back(weight->sizes()[0]);
  if (const Value* bias = node.optional_tensor("bias")) {
    if (x->dtype() != bias->dtype())
      fail(Diag(Code::unsupported_model, "linear: the bias has another dtype than the input")
               .expected(std::string(dtype_name(bias->dtype())), std::string(dtype_name(x->dtype())))
               .with_help("convert the bias; eager takes another dtype only for some layouts of the input"));
    if (bias->rank() > 0 && weight->rank() == 2 && !bias->sizes().back().is(1)) {
      require_equal(bias->sizes().back(), weight->sizes()[0], "linear: bias size");
    }
    require(bias->rank() <= std::max<size_t>(sizes.size(), 1), "linear: the bias has more dimensions than the result");
    require(broadcast(sizes, bias->sizes()) == sizes, "linear: the bias is larger than the result");
  }
  set_result(node, x->dtype(), std::move(sizes));
}
// Decomposes only what the kernel does not take: a vector as weight or input, and a bias that is no vector.
Results decompose_linear(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input"), *weight = node.tensor("weight"), *bias = node.optional_tensor("bias");
  if (weight->rank() == 2 && (!bias || bias->rank() == 1) && x->rank() >= 2) return {};
  if (weight->rank() == 2 && (!bias || bias->rank() == 1)) {
    return {b.squeeze(b.call("aten.linear", {b.unsqueeze(x, 0), weight, node.arg("bias")}), 0)};
  }
  Value* out = c.matmul(x, weight->rank() == 2 ? b.transpose(weight, 0, 1) : weight);
  return {bias ? c.add(out, bias) : out};
}

void infer_mm(Node& node) {
  const Value *x = node.tensor("self"), *y = node.tensor("mat2");
  require_rank(x, 2, "mm: self");
  require_rank(y, 2, "mm: mat2");
  require_same_dtype(x, y);
  require_equal(x->sizes()[1], y->sizes()[0], "mm: inner sizes");
  set_result(node, x->dtype(), {x->sizes()[0], y->sizes()[1]});
}

// int8 times int8, summed as int32.
Results decompose_int_mm(Builder& b, Node& node) {
  auto wide = [&](const char* name) { return b.cast(node.tensor(name), DType::i32); };
  return {b.call("aten.mm", {wide("self"), wide("mat2")})};
}

void check_bmm(const Value* x, const Value* y) {
  require_rank(x, 3, "bmm: self");
  require_rank(y, 3, "bmm: mat2");
  require_same_dtype(x, y);
  require_equal(x->sizes()[0], y->sizes()[0], "bmm: batch sizes");
  require_equal(x->sizes()[2], y->sizes()[1], "bmm: inner sizes");
}
void infer_bmm(Node& node) {
  const Value *x = node.tensor("self"), *y = node.tensor("mat2");
  check_bmm(x, y);
  set_result(node, x->dtype(), {x->sizes()[0], x->sizes()[1], y->sizes()[2]});
}

void infer_addmm(Node& node) {
  const Value *bias = node.tensor("self"), *x = node.tensor("mat1"), *y = node.tensor("mat2");
  require_rank(x, 2, "addmm: mat1");
  require_rank(y, 2, "addmm: mat2");
  require_same_dtype(x, y);
  require_equal(x->sizes()[1], y->sizes()[0], "addmm: inner sizes");
  Sizes sizes{x->sizes()[0], y->sizes()[1]};
  require(bias->rank() <= 2, "addmm: self has more than two dimensions");
  require(broadcast(bias->sizes(), sizes) == sizes, "addmm: self is larger than the result");
  set_result(node, x->dtype(), std::move(sizes));
}

// alpha or beta for matrices of `dtype`. For integer matrices eager drops the fraction of the number.
Arg factor_arg(const Arg& arg, DType dtype) {
  const auto number = literal(arg);
  return number && is_integral(dtype) && std::abs(*number) < 0x1p63 ? Arg(Sym(static_cast<int64_t>(*number))) : arg;
}

// beta * self + alpha * product. If beta is 0, self is ignored, even its NaN.
Value* blend(Compose& c, Node& node, Value* product) {
  const DType dtype = product->dtype();
  const Arg beta_arg = factor_arg(node.arg("beta"), dtype), alpha_arg = factor_arg(node.arg("alpha"), dtype);
  const auto beta = literal(beta_arg), alpha = literal(alpha_arg);
  if (alpha != 1.0) product = c.mul(product, alpha_arg);
  if (beta == 0.0) return product;
  Value* bias = node.tensor("self");
  if (product->dtype() == DType::f32) bias = c.b.cast(bias, DType::f32);
  if (beta != 1.0) bias = c.mul(bias, beta_arg);
  return c.add(product, bias);
}

// Blends the product that `multiply` computes. For 16-bit floats eager rounds the sum only once, except that addbmm
// rounds after each batch.
template <typename F>
Results blend_in_float(Builder& b, Node& node, const char* first, const char* second, F&& multiply) {
  Compose c(b);
  Value *x = node.tensor(first), *y = node.tensor(second);
  const DType dtype = x->dtype();
  const bool alone = literal(node.arg("beta")) == 0.0 && literal(node.arg("alpha")) == 1.0;
  if (!is_16_bit(dtype) || alone) return {blend(c, node, multiply(c, x, y))};
  return {b.cast(blend(c, node, multiply(c, b.cast(x, DType::f32), b.cast(y, DType::f32))), dtype)};
}

// The number as an element of a 16-bit `dtype`; other arguments and dtypes unchanged.
Arg half_arg(const Arg& arg, DType dtype) {
  const auto number = literal(arg);
  return number && is_16_bit(dtype) ? Arg(half_number(*number, dtype)) : arg;
}

// If beta is 0, eager ignores self; stock multiplies by 0.
Results decompose_addmm(Builder& b, Node& node) {
  if (literal(node.arg("beta")) != 0.0) return {};
  Compose c(b);
  return {blend(c, node, b.call("aten.mm", {node.arg("mat1"), node.arg("mat2")}))};
}

void infer_baddbmm(Node& node) {
  const Value *x = node.tensor("batch1"), *y = node.tensor("batch2");
  check_bmm(x, y);
  Sizes sizes{x->sizes()[0], x->sizes()[1], y->sizes()[2]};
  require(broadcast(node.tensor("self")->sizes(), sizes) == sizes, "baddbmm: self is larger than the result");
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_baddbmm(Builder& b, Node& node) {
  return blend_in_float(b, node, "batch1", "batch2",
                        [](Compose& c, Value* x, Value* y) { return c.b.call("aten.bmm", {x, y}); });
}
Results decompose_addbmm(Builder& b, Node& node) {
  return blend_in_float(b, node, "batch1", "batch2", [](Compose& c, Value* x, Value* y) {
    Value* products = c.b.call("aten.bmm", {x, y});
    return c.b.cast(c.sum(products, {0}), products->dtype());  // sums of integers are i64
  });
}
// For 16-bit floats, eager rounds alpha, beta and beta * self, and then the sum.
Results decompose_addmv(Builder& b, Node& node) {
  Compose c(b);
  Value *matrix = node.tensor("mat"), *vector = node.tensor("vec");
  const DType dtype = matrix->dtype();
  if (!is_16_bit(dtype)) return {blend(c, node, c.matmul(matrix, vector))};
  Value* product = c.matmul(b.cast(matrix, DType::f32), b.cast(vector, DType::f32));
  if (literal(node.arg("alpha")) != 1.0) product = c.mul(product, half_arg(node.arg("alpha"), dtype));
  if (literal(node.arg("beta")) == 0.0) return {b.cast(product, dtype)};
  Value* bias = c.mul(node.tensor("self"), half_arg(node.arg("beta"), dtype));
  return {b.cast(c.add(product, b.cast(bias, DType::f32)), dtype)};
}
// addr for bool tensors. Factors other than 0 count as true.
Value* conjunction_of_vectors(Compose& c, Node& node, Value* x, Value* y) {
  const bool first = literal(node.arg("beta")) != 0.0, second = literal(node.arg("alpha")) != 0.0;
  Value* product = c.logical_and(x, y);
  if (!second) product = c.b.full(product->sizes(), false, DType::boolean);
  return first ? c.logical_or(node.tensor("self"), product) : product;
}
void infer_addr(Node& node) {
  const Value *x = node.tensor("vec1"), *y = node.tensor("vec2");
  require_rank(x, 1, "addr: vec1");
  require_rank(y, 1, "addr: vec2");
  Sizes sizes{x->sizes()[0], y->sizes()[0]};
  require(broadcast(node.tensor("self")->sizes(), sizes) == sizes, "addr: self is larger than the result");
  set_result(node, promote({node.arg("self"), node.arg("vec1"), node.arg("vec2")}), std::move(sizes));
}
// Eager rounds each step; alpha * vec1 is the first one.
Results decompose_addr(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.result()->dtype();
  Value *x = b.unsqueeze(b.cast(node.tensor("vec1"), dtype), 1),
        *y = b.unsqueeze(b.cast(node.tensor("vec2"), dtype), 0);
  if (dtype == DType::boolean && y->dtype() == dtype && node.tensor("self")->dtype() == dtype)
    return {conjunction_of_vectors(c, node, x, y)};
  if (!is_16_bit(dtype)) return {blend(c, node, c.mul(x, y))};
  if (literal(node.arg("alpha")) != 1.0) x = c.mul(x, half_arg(node.arg("alpha"), dtype));
  Value* product = c.mul(x, y);
  if (literal(node.arg("beta")) == 0.0) return {product};
  return {c.add(c.mul(node.tensor("self"), half_arg(node.arg("beta"), dtype)), product)};
}

void infer_matmul(Node& node) {
  const Value *x = node.tensor("self"), *y = node.tensor("other");
  require(x->rank() >= 1 && y->rank() >= 1, "matmul of a scalar");
  require_same_dtype(x, y);
  Sizes a = x->sizes(), c = y->sizes();
  if (a.size() == 1) a.insert(a.begin(), Sym(1));
  if (c.size() == 1) c.push_back(1);
  require_equal(a.back(), c[c.size() - 2], "matmul: inner sizes");
  Sizes out = broadcast(Sizes(a.begin(), a.end() - 2), Sizes(c.begin(), c.end() - 2));
  if (x->rank() > 1) out.push_back(a[a.size() - 2]);
  if (y->rank() > 1) out.push_back(c.back());
  set_result(node, x->dtype(), std::move(out));
}
Results decompose_matmul(Builder& b, Node& node) {
  return {Compose(b).matmul(tensor_or_null(node.arg(0)), tensor_or_null(node.arg(1)))};
}
// The dot product with the conjugate of the first operand.
Results decompose_vdot(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (is_complex(x->dtype())) x = c.call("aten.conj_physical", {x});
  return {c.matmul(x, node.tensor("other"))};
}
Results decompose_outer(Builder& b, Node& node) {
  Compose c(b);
  return {c.mul(b.unsqueeze(node.tensor("self"), 1), b.unsqueeze(node.tensor("vec2"), 0))};
}

// inner(x, y): over the last dimension of both
Results decompose_inner(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("other");
  if (x->rank() == 0 || y->rank() == 0) return {c.mul(x, y)};
  const Sym last = x->sizes().back();
  require_equal(last, y->sizes().back(), "inner: last sizes");
  Sizes out(x->sizes().begin(), x->sizes().end() - 1);
  const Sym rows = numel(out);
  Sizes tail(y->sizes().begin(), y->sizes().end() - 1);
  const Sym columns = numel(tail);
  out.insert(out.end(), tail.begin(), tail.end());
  Value* right = b.transpose(b.reshape(y, {columns, last}), 0, 1);
  return {b.reshape(b.call("aten.mm", {b.reshape(x, {rows, last}), right}), std::move(out))};
}

Results decompose_tensordot(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("other");
  std::vector<int64_t> dx = node.static_ints("dims_self"), dy = node.static_ints("dims_other");
  require(dx.size() == dy.size(), "tensordot: the lists differ in length");
  auto split = [](Value* v, std::vector<int64_t>& dims) {  // the dimensions that stay
    std::vector<bool> summed(v->rank());
    for (int64_t& dim : dims) {
      dim = wrap_dim(dim, v->rank());
      require(v->rank() > 0 && !summed[static_cast<size_t>(dim)], "tensordot lists a dimension twice");
      summed[static_cast<size_t>(dim)] = true;
    }
    std::vector<int64_t> free;
    for (size_t i = 0; i < v->rank(); ++i) {
      if (!summed[i]) free.push_back(static_cast<int64_t>(i));
    }
    return free;
  };
  const std::vector<int64_t> fx = split(x, dx), fy = split(y, dy);
  // A summed dimension of size 1 broadcasts: the other operand is summed over its dimension first.
  for (size_t i = 0; i < dx.size(); ++i) {
    const Sym &a = x->sizes()[static_cast<size_t>(dx[i])], &other = y->sizes()[static_cast<size_t>(dy[i])];
    if (a == other) continue;
    if (a.is(1)) y = b.cast(b.call("aten.sum.dim_IntList", {y, Ints{dy[i]}, true}), y->dtype());
    if (other.is(1)) x = b.cast(b.call("aten.sum.dim_IntList", {x, Ints{dx[i]}, true}), x->dtype());
  }
  Sizes out;
  Sym rows = 1, columns = 1, inner = 1;
  for (int64_t dim : fx) {
    out.push_back(x->sizes()[static_cast<size_t>(dim)]);
    rows = rows * out.back();
  }
  for (int64_t dim : fy) {
    out.push_back(y->sizes()[static_cast<size_t>(dim)]);
    columns = columns * out.back();
  }
  for (size_t i = 0; i < dx.size(); ++i) {
    const Sym& size = x->sizes()[static_cast<size_t>(dx[i])];
    require_equal(size, y->sizes()[static_cast<size_t>(dy[i])], "tensordot: summed sizes");
    inner = inner * size;
  }
  std::vector<int64_t> order_x = fx, order_y = dy;
  order_x.insert(order_x.end(), dx.begin(), dx.end());
  order_y.insert(order_y.end(), fy.begin(), fy.end());
  Value* left = b.reshape(b.permute(x, order_x), {rows, inner});
  Value* right = b.reshape(b.permute(y, order_y), {inner, columns});
  return {b.reshape(b.call("aten.mm", {left, right}), std::move(out))};
}

Results decompose_kron(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("other");
  const size_t rank = std::max(x->rank(), y->rank());
  Sizes left, right, out;
  for (size_t i = 0; i < rank; ++i) {
    const Sym p = i + x->rank() >= rank ? x->sizes()[i + x->rank() - rank] : Sym(1);
    const Sym q = i + y->rank() >= rank ? y->sizes()[i + y->rank() - rank] : Sym(1);
    left.push_back(p);
    left.push_back(1);
    right.push_back(1);
    right.push_back(q);
    out.push_back(p * q);
  }
  return {b.reshape(c.mul(b.reshape(x, std::move(left)), b.reshape(y, std::move(right))), std::move(out))};
}

// out[.., o] = sum_ij x[.., i] weight[o, i, j] y[.., j] + bias[o]
void infer_bilinear(Node& node) {
  const Value *x = node.tensor("input1"), *y = node.tensor("input2"), *w = node.tensor("weight");
  require(x->rank() >= 1 && y->rank() == x->rank(), "bilinear: the inputs differ in rank");
  require_rank(w, 3, "bilinear: weight");
  require_equal(x->sizes().back(), w->sizes()[1], "bilinear: input1 features");
  require_equal(y->sizes().back(), w->sizes()[2], "bilinear: input2 features");
  Sizes sizes = x->sizes();
  sizes.back() = w->sizes()[0];
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_bilinear(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input1"), *y = node.tensor("input2"), *w = node.tensor("weight");
  const Sym i = w->sizes()[1], j = w->sizes()[2], o = w->sizes()[0];
  const Sym rows = numel(Sizes(x->sizes().begin(), x->sizes().end() - 1));
  Value* left = b.reshape(x, {rows, i});
  Value* first = b.call("aten.mm", {left, b.reshape(b.permute(w, {1, 0, 2}), {i, o * j})});  // [rows, o * j]
  // A second matmul, as in eager: 16-bit floats are rounded twice.
  Value* product = b.call("aten.bmm", {b.reshape(first, {rows, o, j}), b.reshape(y, {rows, j, 1})});
  Value* out = b.reshape(product, node.result()->sizes());
  if (Value* bias = node.optional_tensor("bias")) out = c.add(out, bias);
  return {out};
}

// sum over sumdim of the three tensors, each with new dimensions of size 1 at expand_k
Results decompose_trilinear(Builder& b, Node& node) {
  Compose c(b);
  auto widen = [&](const char* tensor, const char* dims) {
    Value* v = node.tensor(tensor);
    for (int64_t dim : node.static_ints(dims)) v = b.unsqueeze(v, dim);
    return v;
  };
  Value* product = c.mul(c.mul(widen("i1", "expand1"), widen("i2", "expand2")), widen("i3", "expand3"));
  std::vector<int64_t> dims = node.static_ints("sumdim");
  return {dims.empty() ? product : b.cast(c.sum(product, dims), product->dtype())};
}

Results decompose_chain_matmul(Builder& b, Node& node) {
  Compose c(b);
  Values list = node.tensors(node.op->parsed->args[0].name);
  require(!list.empty(), "chain product of nothing");
  Value* out = list[0];
  for (size_t i = 1; i < list.size(); ++i) out = c.matmul(out, list[i]);
  return {out};
}

Results decompose_cross(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *y = node.tensor("other");
  const Sizes sizes = broadcast(x->sizes(), y->sizes());
  x = b.expand(x, sizes);
  y = b.expand(y, sizes);
  int64_t dim = 0;
  if (node.is_none("dim")) {
    while (dim < static_cast<int64_t>(sizes.size()) && !sizes[static_cast<size_t>(dim)].is(3)) ++dim;
    require(dim < static_cast<int64_t>(sizes.size()), "cross: no dimension has size 3");
  } else {
    dim = wrap_dim(node.static_integer("dim"), sizes.size());
  }
  require(!sizes.empty() && may_equal(sizes[static_cast<size_t>(dim)], 3), "cross: the dimension does not have size 3");
  auto term = [&](int64_t i, int64_t j) {
    return c.sub(c.mul(b.select(x, dim, i), b.select(y, dim, j)), c.mul(b.select(x, dim, j), b.select(y, dim, i)));
  };
  return {c.stack({term(1, 2), term(2, 0), term(0, 1)}, dim)};
}

Results decompose_trace(Builder& b, Node& node) {
  require_rank(node.tensor("self"), 2, "trace");
  return {Compose(b).sum(b.call("aten.diagonal", {node.tensor("self")}), {0})};
}

// --- matmuls by groups of rows ---

// out[r] = x[r] @ weights[g], where g is the first group with offsets[g] > r; rows after the last group are 0. Computes
// the products with all groups, then selects one for each row.
Value* grouped_matmul(Builder& b, Value* x, Value* weights, Value* offsets) {
  Compose c(b);
  require_rank(x, 2, "grouped matmul: rows");
  require_rank(weights, 3, "grouped matmul: weights");
  require_rank(offsets, 1, "grouped matmul: offsets");
  require_equal(offsets->sizes()[0], weights->sizes()[0], "grouped matmul: groups");
  const Sym rows = x->sizes()[0], groups = weights->sizes()[0], columns = weights->sizes()[2];
  Value* side_by_side = b.reshape(b.permute(weights, {1, 0, 2}), {weights->sizes()[1], groups * columns});
  Value* products = b.reshape(b.call("aten.mm", {x, side_by_side}), {rows * groups, columns});
  Value* row = c.arange(rows, DType::i64);
  Value* group = c.sum(c.compare("le", b.unsqueeze(b.cast(offsets, DType::i64), 0), b.unsqueeze(row, 1)), {1});
  Value* own = c.add(c.mul(row, groups), c.minimum(group, groups - Sym(1)));
  return c.where(b.unsqueeze(c.compare("lt", group, groups), 1), c.index_select(products, 0, own), 0.0);
}
Results decompose_grouped_mm(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *weights = node.tensor("mat2"), *offsets = node.optional_tensor("offs");
  require(node.is_none("bias"), "grouped matmul with a bias");
  require_same_dtype(x, weights);
  Value* out = nullptr;
  if (offsets)
    out = grouped_matmul(b, x, weights, offsets);
  else
    out = b.call("aten.bmm", {x, weights});
  return {b.cast(out, node.dtype("out_dtype").value_or(out->dtype()))};
}
Results decompose_grouped_mm_fallback(Builder& b, Node& node) {
  require_same_dtype(node.tensor("input"), node.tensor("weight"));
  return {grouped_matmul(b, node.tensor("input"), node.tensor("weight"), node.tensor("offs"))};
}

// --- vectors ---

Results decompose_vecdot(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("x");
  if (is_complex(x->dtype())) x = c.call("aten.conj_physical", {x});
  return {c.sum(c.mul(x, node.tensor("y")), {node.static_integer("dim")})};
}
// Columns x^0, x^1, ..; aten.vander counts down unless `increasing` is true.
Results decompose_vander(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("x");
  if (x->rank() == 0) x = b.reshape(x, {1});
  const bool rising = node.is("aten.linalg_vander.default") || node.boolean("increasing");
  const Sym count = node.is_none("N") ? x->sizes().back() : node.integer("N");
  Value* exponents = c.arange(count, DType::i64);
  if (!rising) exponents = b.call("aten.flip", {exponents, Ints{0}});
  return {b.call("aten.pow.Tensor_Tensor", {b.unsqueeze(x, -1), exponents})};
}

// Multiplies by the whole matrix Q. Reflectors that are padded with zeros change nothing.
Results decompose_ormqr(Builder& b, Node& node) {
  Compose c(b);
  Value *reflectors = node.tensor("self"), *tau = node.tensor("input2"), *x = node.tensor("input3");
  require(reflectors->rank() >= 2 && tau->rank() + 1 == reflectors->rank() && x->rank() == reflectors->rank(),
          "ormqr: the ranks do not fit");
  const size_t rank = reflectors->rank();
  const Sym m = reflectors->sizes()[rank - 2], columns = reflectors->sizes()[rank - 1], k = tau->sizes().back();
  Value* wide = c.pad(b.slice(reflectors, -1, 0, k), {Sym(0), m - k});
  require(!columns.is_const() || !k.is_const() || k.value() <= columns.value(), "ormqr: more factors than reflectors");
  Value* q = b.call("aten.linalg_householder_product", {wide, c.pad(tau, {Sym(0), m - k})});
  if (node.boolean("transpose")) q = b.transpose(is_complex(q->dtype()) ? c.call("aten.conj", {q}) : q, -2, -1);
  return {node.boolean("left") ? c.matmul(q, x) : c.matmul(x, q)};
}

Results decompose_lu_with_info(Builder& b, Node& node) {
  return b.call_multi("aten.linalg_lu_factor_ex", {node.arg("self"), node.arg("pivot"), node.arg("check_errors")});
}

}  // namespace

const OpDef kLinearAlgebraRows[] = {
    {"aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor "
     "info)",
     nullptr, decompose_lu_with_info, nullptr, kPure, Cases("f32[2, 4, 4]", "f64[4, 3], true, false")},
    {"aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", nullptr, decompose_int_mm, nullptr, kPure,
     Cases("i8[17, 8], i8[8, 16]")},
    {"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", infer_linear, decompose_linear,
     "aten::linear.out", kPassesBoth | kWeightedSum | kNoNegativeZero | kLinear | Growth::matrices,
     Cases("f32[2, 5], f32[4, 5]", "f32[0, 5], f32[4, 5], f32[4]", "bf16[2, 5], bf16[4, 5]"), &kManyTerms},
    {"aten::mm(Tensor self, Tensor mat2) -> Tensor", infer_mm, nullptr, "aten::mm.out",
     kPassesBoth | kWeightedSum | kNoNegativeZero | kMatrices | Growth::matrices,
     Cases("! f32[2, 3], f32[2, 3]", "f32[3, 4], f32[4, 4]", "f64[3, 5], f64[5, 4]", "f16[3, 5], f16[5, 4]"),
     &kManyTerms},
    {"aten::bmm(Tensor self, Tensor mat2) -> Tensor", infer_bmm, nullptr, "aten::bmm.out",
     kPassesBoth | kWeightedSum | kNoNegativeZero | kBatches | Growth::matrices,
     Cases("! f32[2, 2, 3], f32[2, 2, 3]", "f32[2, 4, 4], f32[2, 4, 3]", "f64[2, 3, 5], f64[2, 5, 4]",
           "f16[2, 3, 5], f16[2, 5, 4]"),
     &kManyTerms},
    {"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", infer_addmm,
     decompose_addmm, "aten::addmm.out",
     kAlsoInPlace | Numbers::fit_wide | kPassesBoth | kWeightedSum | kNoNegativeZero | kMatricesAndTerm |
         Growth::matrices | Summand{"aten.mm.default"},
     Cases("f32[4], f32[3, 5], f32[5, 4]", "i64[4]{=-8, -1, 4, -1}, i64[3, 5], i64[5, 4], beta=2, alpha=-1",
           "i64[4], i64[3, 5], i64[5, 4], beta=2.6, alpha=-1.7", "f32[4]{special}, f32[3, 5], f32[5, 4], beta=0"),
     &kManyTerms},
    {"aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     infer_baddbmm, decompose_baddbmm, nullptr,
     kAlsoInPlace | Numbers::fit_wide | kBatchesAndTerm | Summand{"aten.bmm.default"},
     Cases("f32[4], f32[2, 3, 5], f32[2, 5, 4]", "f32[2, 3, 4], f32[2, 3, 5], f32[2, 5, 4], beta=0.5, alpha=2",
           "i64[2, 3, 4], i64[2, 3, 5], i64[2, 5, 4], beta=0.6, alpha=1.7"),
     &kManyTerms},
    {"aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", nullptr,
     decompose_addbmm, nullptr, kAlsoInPlace | Numbers::fit_wide,
     Cases("f32[4, 3], f32[2, 4, 4], f32[2, 4, 3]", "i64[4, 3], i64[2, 4, 4], i64[2, 4, 3], beta=-2.5, alpha=1.5"),
     &kManyTerms},
    {"aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", nullptr,
     decompose_addmv, nullptr, kAlsoInPlace | Numbers::fit_wide | Summand{"aten.mv.default"},
     Cases("f32[3], f32[3, 4], f32[4]", "i64[3], i64[3, 4], i64[4], beta=2.9, alpha=-1.5"), &kManyTerms},
    {"aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", infer_addr,
     decompose_addr, nullptr, kAlsoInPlace | Numbers::fit_wide | Summand{"aten.outer.default"},
     Cases("f32[3, 4], f32[3], f32[4]", "bool[3, 4], bool[3], bool[4]", "bool[3, 4], bool[3], bool[4], beta=0",
           "bool[3, 4], bool[3], bool[4], beta=2, alpha=0", "f32[3, 4], bool[3], bool[4], beta=2, alpha=3",
           "bool[3, 4], bool[3], f32[4]")},
    {"aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> "
     "Tensor",
     nullptr, decompose_grouped_mm},
    {"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", nullptr,
     decompose_grouped_mm_fallback, nullptr, kPure},
    {"aten::matmul(Tensor self, Tensor other) -> Tensor", infer_matmul, decompose_matmul, nullptr,
     kPassesBoth | kWeightedSum | kAnyMatrices | Growth::matrices,
     Cases("f32[5], f32[5]", "f64[3, 5], f64[5]", "f32[4], f32[4, 4]"), &kManyTerms},
    {"aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", infer_matmul, decompose_matmul, nullptr, kPure,
     Cases("f32[2, 4, 4], f32[2, 4, 3]")},
    {"aten::mv(Tensor self, Tensor vec) -> Tensor", nullptr, decompose_matmul, nullptr, kPure,
     Cases("f32[3, 4], f32[4]"), &kManyTerms},
    {"aten::dot(Tensor self, Tensor tensor) -> Tensor", nullptr, decompose_matmul, nullptr, kPure,
     Cases("f32[4], f32[4]")},
    {"aten::vdot(Tensor self, Tensor other) -> Tensor", nullptr, decompose_vdot, nullptr, kPure,
     Cases("f32[4], f32[4]")},
    {"aten::outer(Tensor self, Tensor vec2) -> Tensor", nullptr, decompose_outer, nullptr, kPure,
     Cases("f32[3], f32[4]")},
    {"aten::ger(Tensor self, Tensor vec2) -> Tensor", nullptr, decompose_outer, nullptr, kPure,
     Cases("f32[3], f32[4]")},
    {"aten::inner(Tensor self, Tensor other) -> Tensor", nullptr, decompose_inner, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", nullptr,
     decompose_tensordot, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[4, 4], [-1], [0]", "f32[2, 3, 4], f32[2, 4, 3], [2], [1]",
           "f32[2, 1, 4], f32[4, 3], [1, 2], [1, 0]", "i32[2, 1], i32[3, 2], [1], [0]")},
    {"aten::kron(Tensor self, Tensor other) -> Tensor", nullptr, decompose_kron, nullptr, kPure,
     Cases("f32[3, 4], f32[2, 3]")},
    {"aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", infer_bilinear,
     decompose_bilinear, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 3], f32[2, 4, 3]", "f32[2, 3], f32[2, 4], f32[5, 3, 4], f32[5]{range=-1..1}"),
     &kManyTerms},
    {"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int "
     "unroll_dim=1) -> Tensor",
     nullptr, decompose_trilinear, nullptr, kPure,
     Cases("f32[2, 3], f32[5, 3, 4], f32[2, 4], [1, 3], [0], [1, 2], [2, 3]")},
    {"aten::chain_matmul(Tensor[] matrices) -> Tensor", nullptr, decompose_chain_matmul, nullptr, kPure,
     Cases("[f32[3, 4], f32[4, 4], f32[4, 3]]")},
    {"aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", nullptr, decompose_chain_matmul, nullptr, kPure,
     Cases("[f32[3, 4], f32[4, 4], f32[4, 3]]")},
    {"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", nullptr, decompose_cross, nullptr, kPure,
     Cases("f32[2, 3], f32[2, 3], 1")},
    {"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", nullptr, decompose_cross, nullptr, kPure,
     Cases("f32[2, 3], f32[2, 3]")},
    {"aten::trace(Tensor self) -> Tensor", nullptr, decompose_trace, nullptr, kPure, Cases("f32[4, 4]")},
    {"aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", nullptr,
     decompose_ormqr, nullptr, kPure,
     Cases("f32[4, 3], f32[3], f32[4, 2]", "f32[2, 4, 3], f32[2, 3], f32[2, 3, 4], false, true"), &kManyTerms},
    {"aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", nullptr, decompose_vecdot, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", nullptr, decompose_vander, nullptr, kPure,
     Cases("f32[4]")},
    {"aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", nullptr, decompose_vander, nullptr, kPure,
     Cases("f32[4]", "f32[4], 3, true")},
};
const size_t kLinearAlgebraCount = std::size(kLinearAlgebraRows);

}  // namespace wick::compiler
