// Reductions, scans, norms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/math/deviation.h"
#include "compiler/ops/math/reduction_operands.h"
#include "compiler/ops/ranges/ranges.h"
#include "compiler/ops/sharing.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// The dimensions that `dim` names (an integer, a list, or absent); all if none is given.
std::vector<int64_t> dims_of(const Node& node) {
  const size_t rank = node.tensor("self")->rank();
  if (!has_argument(node, "dim")) return all_dims(rank);
  if (node.arg("dim").is<Sym>()) {
    const int64_t dim = wrap_dim(node.static_integer("dim"), rank);
    return rank == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{dim};
  }
  return reduced_dims(node, "dim", rank);
}
bool keepdim_of(const Node& node) { return has_argument(node, "keepdim") && node.boolean("keepdim"); }

void set_reduced(Node& node, size_t index, DType dtype) {
  set_result(node, index, dtype, reduce_sizes(node.tensor("self")->sizes(), dims_of(node), keepdim_of(node)));
}

DType sum_dtype(DType dtype) { return is_integral(dtype) || dtype == DType::boolean ? DType::i64 : dtype; }
std::optional<DType> wanted(const Node& node) {
  return has_argument(node, "dtype") ? node.dtype("dtype") : std::nullopt;
}

void infer_total(Node& node) { set_reduced(node, 0, wanted(node).value_or(sum_dtype(node.tensor("self")->dtype()))); }
void infer_mean(Node& node) {
  const DType dtype = wanted(node).value_or(node.tensor("self")->dtype());
  require(is_floating(dtype) || is_complex(dtype), "mean of integers needs a floating dtype");
  set_reduced(node, 0, dtype);
}
void infer_any(Node& node) {
  const DType dtype = node.tensor("self")->dtype();
  set_reduced(node, 0, dtype == DType::u8 ? DType::u8 : DType::boolean);
}
void infer_truths(Node& node) {
  require(node.tensor("self")->dtype() == DType::boolean, "this operator takes truth values only");
  infer_any(node);
}
void infer_extreme(Node& node) {
  require(!is_complex(node.tensor("self")->dtype()), "complex numbers have no order");
  set_reduced(node, 0, node.tensor("self")->dtype());
}
void infer_arg_extreme(Node& node) { set_reduced(node, 0, DType::i64); }
void infer_extreme_dim(Node& node) {
  infer_extreme(node);
  set_reduced(node, 1, DType::i64);
}

Results decompose_sum(Builder& b, Node& node) {  // sum.default
  Value* x = node.tensor("self");
  return {b.call("aten.sum.dim_IntList", {x, to_ints(all_dims(x->rank())), false, node.arg("dtype")})};
}
// A sum with result dtype bool is `any`.
Results decompose_sum_of_dims(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (node.result()->dtype() == DType::boolean)
    return {Compose(b).any(b.cast(x, DType::boolean), dims_of(node), keepdim_of(node))};
  return converts_first(node) ? of_converted(b, node) : Results{};
}
// A product with result dtype bool is `all`.
Results decompose_prod(Builder& b, Node& node) {
  Compose c(b);
  if (node.result()->dtype() != DType::boolean) return converts_first(node) ? of_converted(b, node) : Results{};
  Value* is_false = c.logical_not(b.cast(node.tensor("self"), DType::boolean));
  return {c.logical_not(c.any(is_false, dims_of(node), keepdim_of(node)))};
}
Results decompose_mean(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  return {b.call("aten.mean.dim", {x, to_ints(all_dims(x->rank())), false, node.arg("dtype")})};
}
// Complex numbers are true unless both parts are zero.
Value* truth(Compose& c, Value* x) { return is_complex(x->dtype()) ? c.compare("ne", x, 0) : x; }
Results decompose_any_dims(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (!is_complex(x->dtype())) return {};
  return {b.call("aten.any.dims", {truth(c, x), node.arg("dim"), node.arg("keepdim")})};
}
Results decompose_any(Builder& b, Node& node) {
  return {b.call("aten.any.dims", {node.tensor("self"), to_ints(dims_of(node)), keepdim_of(node)})};
}
// all = not any(not x)
Results decompose_all(Builder& b, Node& node) {
  Compose c(b);
  Value* none = c.any(c.logical_not(truth(c, node.tensor("self"))), dims_of(node), keepdim_of(node));
  return {b.cast(c.logical_not(none), node.result()->dtype())};
}

Results decompose_global_extreme(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const char* name = node.is("aten.max.default") ? "aten.amax" : "aten.amin";
  return {b.call(name, {x, to_ints(all_dims(x->rank())), false})};
}

Results decompose_aminmax(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  std::vector<int64_t> dims = all_dims(x->rank());
  if (!node.is_none("dim") && x->rank() > 0) dims = {wrap_dim(node.static_integer("dim"), x->rank())};
  return {c.amin(x, dims, keepdim_of(node)), c.amax(x, dims, keepdim_of(node))};
}
void infer_aminmax(Node& node) {
  const Value* x = node.tensor("self");
  std::vector<int64_t> dims = all_dims(x->rank());
  if (!node.is_none("dim")) dims = {wrap_dim(node.static_integer("dim"), x->rank())};
  for (size_t i = 0; i < 2; ++i) set_result(node, i, x->dtype(), reduce_sizes(x->sizes(), dims, keepdim_of(node)));
}

Results decompose_nansum(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (is_floating(x->dtype())) x = c.where(c.unary("aten.isnan", x), 0.0, x, x->dtype());
  return {b.call("aten.sum.dim_IntList", {x, to_ints(dims_of(node)), keepdim_of(node), node.arg("dtype")})};
}
// Sums in the result's dtype, counts in integers.
Results decompose_nanmean(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* bad = c.unary("aten.isnan", x);
  Value* count = c.sum(c.logical_not(bad), dims_of(node), keepdim_of(node));
  Value* numbers = b.cast(c.where(bad, 0.0, x, x->dtype()), node.result()->dtype());
  return {c.div(c.sum(numbers, dims_of(node), keepdim_of(node)), b.cast(count, numbers->dtype()))};
}
Results decompose_count_nonzero(Builder& b, Node& node) {
  Compose c(b);
  std::vector<int64_t> dims = all_dims(node.tensor("self")->rank());
  if (!node.is_none("dim")) dims = dims_of(node);
  return {c.sum(c.compare("ne", node.tensor("self"), 0), dims)};
}

// --- variance ---

void infer_variance(Node& node) {
  const Value* x = node.tensor("self");
  require(is_floating(x->dtype()) || is_complex(x->dtype()), "variance of a tensor that is not floating");
  const Spread s = spread_of(node);
  for (size_t i = 0; i < node.results().size(); ++i) {
    set_result(node, i, i == 0 ? real_dtype(x->dtype()) : x->dtype(), reduce_sizes(x->sizes(), s.dims, s.keepdim));
  }
}
Results decompose_variance(Builder& b, Node& node) { return {variance(b, node.tensor("self"), spread_of(node))}; }
// In f16 the variance may overflow although its root does not, so both are computed in f32.
Results decompose_deviation(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const Spread s = spread_of(node);
  if (is_complex(x->dtype())) return {deviation(b, x, s)};
  const bool is_half = x->dtype() == DType::f16;  // squares in f32 do not overflow
  return {
      in_float(b, x, [&](Value* of) { return is_half ? Compose(b).sqrt(variance(b, of, s)) : deviation(b, of, s); })};
}
Results decompose_var_mean(Builder& b, Node& node) {
  const Spread s = spread_of(node);
  Value* x = node.tensor("self");
  if (is_complex(x->dtype())) return {variance(b, x, s), Compose(b).mean(x, s.dims, s.keepdim)};
  return b.call_multi("aten.var_mean.correction", {x, to_ints(s.dims), correction_arg(s.correction), s.keepdim});
}
Results decompose_std_mean(Builder& b, Node& node) {
  const Spread s = spread_of(node);
  return {decompose_deviation(b, node)[0], Compose(b).mean(node.tensor("self"), s.dims, s.keepdim)};
}

Results decompose_complex_variance(Builder& b, Node& node) {
  return is_complex(node.tensor("self")->dtype()) ? decompose_variance(b, node) : Results{};
}
Results decompose_complex_var_mean(Builder& b, Node& node) {
  return is_complex(node.tensor("self")->dtype()) ? decompose_var_mean(b, node) : Results{};
}

// --- scans ---

void infer_scan(Node& node) {
  const Value* x = node.tensor("self");
  wrap_dim(node.static_integer("dim"), x->rank());
  set_result(node, wanted(node).value_or(sum_dtype(x->dtype())), x->sizes());
}
// A 0-d tensor is its own sum; stock wants a dimension. Real numbers that are summed as integers are converted first.
Results decompose_cumsum(Builder& b, Node& node) {
  const DType from = node.tensor("self")->dtype(), to = node.result()->dtype();
  if (is_complex(from) && node.tensor("self")->rank() > 0) {  // the real and imaginary parts separately
    Value* parts = b.call("aten.view_as_real", {b.cast(node.tensor("self"), to)});
    const int64_t dim = wrap_dim(node.static_integer("dim"), node.tensor("self")->rank());
    return {b.call("aten.view_as_complex", {b.call("aten.cumsum", {parts, dim})})};
  }
  if (node.tensor("self")->rank() > 0 && is_floating(from) && !is_floating(to) && !is_complex(to)) {
    return {b.call("aten.cumsum", {b.cast(node.tensor("self"), to), node.arg("dim"), to})};
  }
  if (node.tensor("self")->rank() > 0) return converts_first(node) ? of_converted(b, node) : Results{};
  return {b.cast(node.tensor("self"), node.result()->dtype())};
}
void infer_scan_extreme(Node& node) {
  const Value* x = node.tensor("self");
  wrap_dim(node.static_integer("dim"), x->rank());
  set_result(node, 0, x->dtype(), x->sizes());
  set_result(node, 1, DType::i64, x->sizes());
}
// Real numbers that are multiplied as integers are converted first.
Results decompose_cumprod(Builder& b, Node& node) {
  const DType from = node.tensor("self")->dtype(), to = node.result()->dtype();
  return (is_floating(from) && !is_floating(to)) || converts_first(node) ? of_converted(b, node) : Results{};
}
void infer_float_scan(Node& node) {
  const Value* x = node.tensor("self");
  require(!is_complex(x->dtype()), "logcumsumexp of complex numbers is not supported");
  wrap_dim(node.static_integer("dim"), x->rank());
  set_result(node, float_dtype(x->dtype()), x->sizes());
}

// differences of neighbours, n times
Results decompose_diff(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  require(x->rank() > 0, "diff of a scalar");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank()), times = node.static_integer("n");
  if (times == 0) return {x};  // eager then does not append or prepend anything
  Values parts;
  if (Value* first = node.optional_tensor("prepend")) parts.push_back(first);
  parts.push_back(x);
  if (Value* last = node.optional_tensor("append")) parts.push_back(last);
  x = c.cat(parts, dim);
  require(times >= 0 && times < 1000, "diff: the order is out of range");
  for (int64_t i = 0; i < times; ++i) {
    const Sym size = x->sizes()[static_cast<size_t>(dim)];
    Value *high = b.slice(x, dim, 1, size), *low = b.slice(x, dim, 0, size - 1);
    x = x->dtype() == DType::boolean ? b.call("aten.logical_xor", {high, low}) : c.sub(high, low);
  }
  return {x};
}

// max + log(sum(exp(x - max))), with infinite maxima replaced by 0
Results decompose_logsumexp(Builder& b, Node& node) {
  Compose c(b);
  const std::vector<int64_t> dims = dims_of(node);
  Value* x = with_an_element(c, b.cast(node.tensor("self"), float_dtype(node.tensor("self")->dtype())), dims, -kInf);
  const bool keepdim = keepdim_of(node);
  Value* real = is_complex(x->dtype()) ? c.call("aten.real", {x}) : x;
  Value* high = c.amax(real, dims, true);
  high = c.where(c.compare("eq", c.abs(high), kInf), 0.0, high, real->dtype());
  Value* sum = c.sum(c.exp(c.sub(x, high)), dims, keepdim);
  Value* flat = keepdim ? high : b.reshape(high, sum->sizes());
  return {c.add(c.log(sum), flat)};
}
void infer_logsumexp(Node& node) { set_reduced(node, 0, float_dtype(node.tensor("self")->dtype())); }

// --- norms ---

Value* vector_norm_of_reals(Compose& c, Value* x, double order, const std::vector<int64_t>& dims, bool keepdim) {
  if (order == kInf) return c.amax(c.abs(x), dims, keepdim);
  if (order == -kInf) return c.amin(c.abs(x), dims, keepdim);
  if (order == 0) return c.sum(c.b.cast(c.compare("ne", x, 0), x->dtype()), dims, keepdim);
  if (order == 1) return c.sum(c.abs(x), dims, keepdim);
  if (order == 2) return c.sqrt(c.sum(c.mul(x, x), dims, keepdim));
  Value* powers = c.b.call("aten.pow.Tensor_Scalar", {c.abs(x), order});
  return c.b.call("aten.pow.Tensor_Scalar", {c.sum(powers, dims, keepdim), 1.0 / order});
}

// Computes 16-bit floats in f32: in f16 powers may overflow.
Value* vector_norm(Compose& c, Value* x, double order, const std::vector<int64_t>& dims, bool keepdim) {
  if (is_complex(x->dtype())) x = c.abs(x);
  return in_float(c.b, x, [&](Value* wide) { return vector_norm_of_reals(c, wide, order, dims, keepdim); });
}

DType norm_dtype(const Node& node) {
  return real_dtype(wanted(node).value_or(float_dtype(node.tensor("self")->dtype())));
}

double order_of(const Node& node) {
  const char* name = has_argument(node, "ord") ? "ord" : "p";
  if (!has_argument(node, name) || node.is_none(name)) return 2;
  if (!node.arg(name).is<std::string>()) return node.real(name);
  if (node.string(name) == "fro") return 2;
  if (node.string(name) == "inf") return kInf;
  reject("this matrix norm is not supported");
}

void infer_norm(Node& node) {
  const DType dtype = node.tensor("self")->dtype();
  require(is_floating(dtype) || is_complex(dtype), "the norm of integers is not defined: convert them to float");
  set_reduced(node, 0, norm_dtype(node));
}
Results decompose_vector_norm(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const DType dtype = norm_dtype(node);
  if (!is_complex(x->dtype())) x = b.cast(x, dtype);
  return {vector_norm(c, x, order_of(node), dims_of(node), keepdim_of(node))};
}

// The largest of nonnegative numbers; 0 if there are none.
Value* largest(Compose& c, Value* x, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, x->rank());
  if (x->sizes()[static_cast<size_t>(dim)].is(0)) return c.sum(x, {dim}, keepdim);
  return c.amax(with_an_element(c, x, {dim}, 0), {dim}, keepdim);
}

// Matrix norms that are functions of the singular values: "nuc" is their sum, 2 the largest, -2 the least. Null for
// other norms.
Value* spectral_norm(Compose& c, Node& node, Value* x) {
  const Arg& order = node.arg("ord");
  const bool nuclear = order.is<std::string>() && order.as<std::string>() == "nuc";
  const std::optional<double> number = order.is<std::string>() ? std::nullopt : literal(order);
  const std::vector<int64_t> dims = node.is_none("dim") ? all_dims(x->rank()) : node.static_ints("dim");
  if (dims.size() != 2 || (!nuclear && (!number || std::abs(*number) != 2))) return nullptr;
  std::vector<int64_t> rest;
  const int64_t first = wrap_dim(dims[0], x->rank()), second = wrap_dim(dims[1], x->rank());
  for (int64_t i = 0; i < static_cast<int64_t>(x->rank()); ++i) {
    if (i != first && i != second) rest.push_back(i);
  }
  rest.push_back(first);
  rest.push_back(second);
  Value* values = c.b.call_multi("aten._linalg_svd", {c.b.permute(x, rest), false, false})[1];
  Value* norm = nuclear ? c.sum(values, {-1}) : *number > 0 ? largest(c, values, -1, false) : c.amin(values, {-1});
  return c.b.reshape(norm, node.result()->sizes());
}

// Matrix norms over two dimensions: Frobenius, 1, -1, inf, -inf. Norms of vectors are those of vector_norm.
Results decompose_linalg_norm(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (!is_complex(x->dtype())) x = b.cast(x, norm_dtype(node));
  const bool no_order = node.is_none("ord");
  std::vector<int64_t> dims = dims_of(node);
  const bool text = node.arg("ord").is<std::string>();
  if (Value* norm = spectral_norm(c, node, x)) return {norm};
  if (no_order || text || dims.size() != 2) {
    require(!text || dims.size() == 2, "a matrix norm needs two dimensions");
    return {vector_norm(c, x, order_of(node), dims, keepdim_of(node))};
  }
  const double order = order_of(node);
  require(std::abs(order) == 1 || std::abs(order) == kInf, "this matrix norm is not defined");
  if (node.static_ints("dim").size() == 2) {
    dims = node.static_ints("dim");
    for (int64_t& dim : dims) dim = wrap_dim(dim, x->rank());
  }
  const bool columns = std::abs(order) == 1;
  Value* sums = c.sum(c.abs(x), {columns ? dims[0] : dims[1]}, true);
  const int64_t other = columns ? dims[1] : dims[0];
  Value* out = order > 0 ? largest(c, sums, other, true) : c.amin(sums, {other}, true);
  return {keepdim_of(node) ? out : b.reshape(out, node.result()->sizes())};
}

Results decompose_dist(Builder& b, Node& node) {
  Compose c(b);
  Value* gap = c.sub(node.tensor("self"), node.tensor("other"));
  require(!is_integral(gap->dtype()), "the distance of integers is not defined: convert them to float");
  return {vector_norm(c, gap, node.real("p"), all_dims(gap->rank()), false)};
}

Results decompose_sum_to_size(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const Sizes target = node.ints("size");
  require(target.size() <= x->rank(), "sum_to_size: too many dimensions");
  const size_t lead = x->rank() - target.size();
  std::vector<int64_t> dims;
  for (size_t i = 0; i < x->rank(); ++i) {
    if (i < lead || (target[i - lead].is(1) && !x->sizes()[i].is(1))) dims.push_back(static_cast<int64_t>(i));
  }
  if (!dims.empty()) x = c.sum(x, dims, true);
  return {b.reshape(x, target)};
}

}  // namespace

const OpDef kReductionRows[] = {
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_total, decompose_sum, nullptr, kPure,
     Cases("f32[0]", "i64[3, 4]", "f16[3, 4]")},
    {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     infer_total, decompose_sum_of_dims, "aten::sum.IntList_out",
     kPassesBoth | kNoNegativeZero | kReduction | ranges::sum | Growth::total,
     Cases("f32[3, 4], [-1]", "f32[2, 3, 4], [], false", "f16[2, 3], [0], dtype=f32")},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_mean, decompose_mean, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3]{special}", "f16[3, 4]")},
    {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", infer_mean,
     nullptr, "aten::mean.out",
     kPassesBoth | kNoNegativeZero | kReduction | kNoComplexInStock | ranges::mean | Growth::total,
     Cases("f32[2, 0], [1]", "f32[2, 3, 4], [], false", "i64[2, 3]{=-6, -7, -8, -6, 9, -3}, [0], dtype=f32")},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_total, decompose_prod, "aten::prod.out",
     kPure | ranges::product, Cases("f32[]", "i64[3, 4]", "f32[3]{special}")},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", infer_total,
     decompose_prod, "aten::prod.int_out", kPassesBoth | kKeepsZero | kReduction | kNoComplexInStock | ranges::product,
     Cases("f32[3, 4], 1", "i64[3, 4], 0, true", "bool[3, 4], -1")},
    {"aten::any(Tensor self) -> Tensor", infer_any, decompose_any, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3]{special}", "i64[3, 4]")},
    {"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", infer_any, decompose_any, nullptr, kPure,
     Cases("f32[3, 4], 0", "bool[3, 4], -2, true", "i64[3, 4], 1")},
    {"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", infer_any, decompose_any_dims,
     "aten::any.dims_out", kReduction, Cases("bool[2, 3, 4], None", "bool[2, 3, 4], [0, 2]")},
    {"aten::all(Tensor self) -> Tensor", infer_any, decompose_all, "aten::all.all_out", kNoStock,
     Cases("f32[]", "i64[3, 4]", "f32[3]{special}")},
    {"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", infer_any, decompose_all, "aten::all.out",
     kNoStock, Cases("f32[3, 4], 1", "bool[3, 4], -2, true", "i64[3, 4], 1")},
    {"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", infer_any, decompose_all,
     "aten::all.dims_out", kNoStock, Cases("bool[2, 3, 4], None", "bool[2, 3, 4], [0, 2]")},
    {"aten::_is_all_true(Tensor self) -> Tensor", infer_truths, decompose_all, nullptr, kPure, Cases("bool[2]")},
    {"aten::_is_any_true(Tensor self) -> Tensor", infer_truths, decompose_any, nullptr, kPure,
     Cases("bool[4]", "bool[2]{=0}")},
    {"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", infer_extreme, nullptr, "aten::amax.out",
     kPassesNan | kSelectsElements | kReduction | ranges::operands | Growth::keeps,
     Cases("f32[2, 0, 3], [0]", "f16[3, 4], [1]", "f32[2, 3, 4], [], false")},
    {"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", infer_extreme, nullptr, "aten::amin.out",
     kPassesNan | kSelectsElements | kReduction | ranges::operands | Growth::keeps,
     Cases("f32[2, 0, 3], [0]", "f32[3, 4], [1], true", "f16[3, 4], [1]")},
    {"aten::max(Tensor self) -> Tensor", infer_extreme, decompose_global_extreme, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3]{special}", "i64[3, 4]")},
    {"aten::min(Tensor self) -> Tensor", infer_extreme, decompose_global_extreme, nullptr, kPure,
     Cases("f32[]", "i64[3, 4]", "f32[3]{special}")},
    {"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", infer_extreme_dim,
     nullptr, "aten::max.dim_max", kPassesNan | ranges::operands | Growth::keeps,
     Cases("f32[], 0", "f32[3, 4]{distinct}, 1, true", "bool[3], 0")},
    {"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", infer_extreme_dim,
     nullptr, "aten::min.dim_min", kPassesNan | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 0", "f32[3, 4], -1, true", "bool[3], 0")},
    {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", infer_aminmax,
     decompose_aminmax, nullptr, kPure, Cases("f32[3, 4]", "f32[3, 4], dim=1")},
    {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", infer_arg_extreme, nullptr,
     "aten::argmax.out", kPassesBoth, Cases("f32[3, 4]", "f32[3, 5]{distinct}, -1, true", "i64[7]")},
    {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", infer_arg_extreme, nullptr,
     "aten::argmin.out", kPassesBoth, Cases("f32[3, 4], 1", "i64[7]", "f32[3, 5]{distinct}, -1, true")},
    {"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     infer_total, decompose_nansum, nullptr, kPure, Cases("f32[3, 4], [1]", "f32[5]{special}")},
    {"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     infer_mean, decompose_nanmean, nullptr, kPure, Cases("f32[3, 4], [1]", "f32[3]{special}")},
    {"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", nullptr, decompose_count_nonzero, nullptr, kPure,
     Cases("i64[3, 4]", "i64[3, 4], 1")},
    {"aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", nullptr, decompose_count_nonzero, nullptr,
     kPure, Cases("f32[3, 4], [0, 1]")},
    {"aten::var(Tensor self, bool unbiased=True) -> Tensor", infer_variance, decompose_variance, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3, 4], false")},
    {"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", infer_variance,
     decompose_variance, nullptr, kPure, Cases("f32[3, 4], [1]", "f32[3, 4], [1], false, true", "bf16[3, 4], [1]")},
    {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     infer_variance, decompose_complex_variance, "aten::var.correction_out",
     kPassesBoth | kNoNegativeZero | ranges::variance,
     Cases("f32[3, 4]", "f16[3, 4], [1]", "f32[3, 4, 2], [1], correction=0")},
    {"aten::std(Tensor self, bool unbiased=True) -> Tensor", infer_variance, decompose_deviation, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3, 4], false")},
    {"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", infer_variance,
     decompose_deviation, nullptr, kPure, Cases("f32[3, 4], [1]", "f32[3, 4], [1], false, true", "f16[3, 4], [0]")},
    {"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     infer_variance, decompose_deviation, "aten::std.correction_out", kNoStock,
     Cases("f32[3, 4]", "f16[3, 4], [1]", "f32[3, 4, 2], [1], correction=0")},
    {"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", infer_variance, decompose_var_mean, nullptr,
     kPure, Cases("f32[3, 4]")},
    {"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     infer_variance, decompose_var_mean, nullptr, kPure, Cases("f32[3, 4], [1]")},
    {"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     infer_variance, decompose_complex_var_mean, "aten::var_mean.correction_out", kPure,
     Cases("f32[3, 4]", "f32[3, 4], [1], correction=0")},
    {"aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", infer_variance, decompose_std_mean, nullptr,
     kPure, Cases("f32[3, 4]")},
    {"aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     infer_variance, decompose_std_mean, nullptr, kPure, Cases("f32[3, 4], [1]")},
    {"aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     infer_variance, decompose_std_mean, nullptr, kPure,
     Cases("f32[3, 4], [1], correction=0", "f32[3, 4], None, keepdim=true")},
    {"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", infer_scan, decompose_cumsum,
     "aten::cumsum.out", kAlsoInPlace | kPassesBoth | ranges::sum | Growth::total,
     Cases("f32[3, 4], 1", "i64[2, 5], -1, dtype=i32", "f16[5], 0")},
    {"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", infer_scan, decompose_cumprod,
     "aten::cumprod.out", kNoStock | kKeepsZero | kAlsoInPlace | ranges::product,
     Cases("f32[3, 4], 0", "f32[3, 4], -1")},
    {"aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", infer_scan_extreme, nullptr,
     "aten::cummax.out", kNoStock | kKeepsZero, Cases("f32[3, 4], 1")},
    {"aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", infer_scan_extreme, nullptr,
     "aten::cummin.out", kNoStock | kKeepsZero, Cases("f32[3, 4], 1")},
    {"aten::logcumsumexp(Tensor self, int dim) -> Tensor", infer_float_scan, nullptr, "aten::logcumsumexp.out",
     kNoStock, Cases("f32[3, 4], 1")},
    {"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", nullptr,
     decompose_diff, nullptr, kPure, Cases("f32[3, 4]", "f32[3, 4], 1, -1, f32[3, 4]", "i64[3, 5], 2, 0")},
    {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", infer_logsumexp, decompose_logsumexp,
     nullptr, kPassesNan | ranges::logsumexp, Cases("f32[3, 4], [1]", "f32[3, 4], [1], true", "f32[2, 3, 4], [0, 2]")},
    {"aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", infer_logsumexp,
     decompose_logsumexp, nullptr, kPure, Cases("f32[3, 4], [1]")},
    {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm, decompose_vector_norm, "aten::linalg_vector_norm.out", kNoStock,
     Cases("f32[3, 4]", "f16[3, 4], 2, [1], dtype=f32", "f32[3, 4], inf, [1]")},
    {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", infer_norm, decompose_vector_norm, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3, 4], 1")},
    {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", infer_norm,
     decompose_vector_norm, nullptr, kPure, Cases("f32[3, 4], 2, [1]")},
    {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
     infer_norm, decompose_vector_norm, nullptr, kPure, Cases("f32[3, 4], 2, [1], true, dtype=f64")},
    {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", infer_norm,
     decompose_vector_norm, nullptr, kPure, Cases("f32[3, 4], 2, dtype=f64")},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", infer_norm,
     decompose_vector_norm, nullptr, kPure, Cases("f32[3, 4], [0, 1]")},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm, decompose_linalg_norm, nullptr, kPure, Cases("f32[3, 4]", "f32[4], 3", "f32[3, 4], None, [1]")},
    {"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
     "-> Tensor",
     infer_norm, decompose_linalg_norm, nullptr, kPure,
     Cases("f32[3, 4], fro", "f32[3, 4], nuc", "f64[2, 3, 4], fro, [1, 2], true")},
    {"aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm, decompose_linalg_norm, nullptr, kPure, Cases("f32[2, 4, 4], 1", "f32[2, 4, 4], inf")},
    {"aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     infer_norm, decompose_linalg_norm, nullptr, kPure, Cases("f32[2, 4, 4]", "f32[2, 4, 4], nuc")},
    {"aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", nullptr, decompose_dist, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]", "f32[3, 4], f32[3, 4], 1")},
    {"aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", nullptr, decompose_sum_to_size, nullptr,
     shares::if_same_sizes, Cases("f32[3, 4], [1, 4]")},
};
const size_t kReductionCount = std::size(kReductionRows);

}  // namespace wick::compiler
