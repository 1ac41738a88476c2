// Numerical calculus and order statistics: quantiles, trapezoids, gradients, and small tables of indices.
#include <cmath>
#include <limits>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

Value* from(Builder& b, Value* x, int64_t dim, int64_t start) {
  return b.slice(x, dim, start, x->sizes()[static_cast<size_t>(dim)]);
}
Value* up_to(Builder& b, Value* x, int64_t dim, int64_t left_out) {
  return b.slice(x, dim, 0, x->sizes()[static_cast<size_t>(dim)] - left_out);
}

// --- quantiles ---

// Interpolates between the sorted elements around the quantile's position, q (count - 1), along the last dimension.
Value* interpolate(Compose& c, Value* sorted, Value* position, const std::string& mode) {
  Builder& b = c.b;
  auto at = [&](Value* index) {
    return b.call("aten.gather", {sorted, static_cast<int64_t>(sorted->rank()) - 1, b.cast(index, DType::i64)});
  };
  if (mode == "lower") return at(c.unary("aten.floor", position));
  if (mode == "higher") return at(c.unary("aten.ceil", position));
  if (mode == "nearest") return at(c.unary("aten.round", position));
  Value *below = c.unary("aten.floor", position), *above = c.unary("aten.ceil", position);
  if (mode == "midpoint") return c.mul(c.add(at(below), at(above)), 0.5);
  require(mode == "linear", "quantile: unknown interpolation");
  return c.call("aten.lerp.Tensor", {at(below), at(above), c.sub(position, below)});
}

// q is a number or a vector; the results for a vector form the first dimension.
Results decompose_quantile(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  require(x->dtype() == DType::f32 || x->dtype() == DType::f64, "quantile takes float32 and float64");
  const bool skip_nan = node.op->name().starts_with("aten.nanquantile"), flat = node.is_none("dim");
  Value* q = tensor_or_null(node.arg("q"));
  const bool vector = q && q->rank() == 1;
  if (!q) q = b.scalar(node.real("q"), x->dtype());
  const size_t rank = x->rank();
  int64_t dim = flat ? 0 : wrap_dim(node.static_integer("dim"), rank);
  Value* rows = flat ? b.reshape(x, {numel(x->sizes())}) : rank == 0 ? b.reshape(x, {1}) : b.transpose(x, dim, -1);
  const auto last = static_cast<int64_t>(rows->rank()) - 1;
  Value* sorted = b.call_multi("aten.sort", {rows, last})[0];
  Value* nan = c.unary("aten.isnan", rows);
  Value* count = skip_nan ? b.cast(c.sum(c.logical_not(nan), {last}, true), x->dtype())
                          : c.tensor(rows->sizes().back(), x->dtype());
  Value* top = c.clamp(c.sub(count, 1), 0, None{});
  Value* position = c.mul(vector ? q : b.reshape(q, {1}), top);
  Sizes sizes = rows->sizes();
  sizes.back() = vector ? q->sizes()[0] : Sym(1);
  position = b.expand(position, sizes);
  Value* out = interpolate(c, sorted, position, node.string("interpolation"));
  if (!skip_nan) out = c.where(c.any(nan, {last}, true), std::numeric_limits<double>::quiet_NaN(), out, x->dtype());
  // [.., Q] -> [Q, ..]; the reduced dimension is dropped or kept with size 1, or if all are reduced, all are kept so.
  Value* front = b.unsqueeze(b.permute(out,
                                       [&] {
                                         std::vector<int64_t> order{last};
                                         for (int64_t i = 0; i < last; ++i) order.push_back(i);
                                         return order;
                                       }()),
                             static_cast<int64_t>(rows->rank()));
  if (!flat && rank > 0) front = b.transpose(front, dim + 1, -1);
  Sizes kept = front->sizes();
  if (flat) kept.resize(1);
  if (flat && node.boolean("keepdim")) kept.resize(rank + 1, Sym(1));
  if (!flat && !node.boolean("keepdim")) kept.erase(kept.begin() + dim + 1);
  if (!flat && rank == 0) kept.resize(1);
  if (!vector) kept.erase(kept.begin());
  return {b.reshape(front, std::move(kept))};
}

// --- integrals and slopes ---

struct Steps {
  Value* y;
  int64_t dim;
  Arg width;  // a number, or a tensor with one element less than y along `dim`
};
Steps steps_of(Builder& b, const Node& node) {
  Compose c(b);
  Value* y = node.tensor("y");
  require(y->rank() > 0, "an integral over a scalar");
  const int64_t dim = wrap_dim(node.static_integer("dim"), y->rank());
  if (!has_argument(node, "x")) return {y, dim, node.arg("dx")};
  Value* x = node.tensor("x");
  int64_t along = dim;
  if (x->rank() == 1) {
    Sizes sizes(y->rank(), Sym(1));
    sizes[static_cast<size_t>(dim)] = x->sizes()[0];
    x = b.reshape(x, std::move(sizes));
  } else {
    require(x->rank() > 0, "an integral over steps of a scalar");
    along = wrap_dim(node.static_integer("dim"), x->rank());
  }
  return {y, dim, c.sub(from(b, x, along, 1), up_to(b, x, along, 1))};
}
// Twice the areas of the trapezoids between neighbours.
Value* doubled_areas(Compose& c, const Steps& s) {
  return c.mul(c.add(up_to(c.b, s.y, s.dim, 1), from(c.b, s.y, s.dim, 1)), s.width);
}
// (the sum of all elements - (first + last) / 2) * dx, in eager's order of rounding.
Value* even_trapezoid(Compose& c, const Steps& s) {
  const Sym& size = s.y->sizes()[static_cast<size_t>(s.dim)];
  Value *first = c.b.select(s.y, s.dim, 0), *last = c.b.select(s.y, s.dim, size - 1);
  return c.mul(c.sub(c.sum(s.y, {s.dim}), c.mul(c.add(first, last), 0.5)), s.width);
}
Results decompose_trapezoid(Builder& b, Node& node) {
  Compose c(b);
  const Steps s = steps_of(b, node);
  const Sym& size = s.y->sizes()[static_cast<size_t>(s.dim)];
  if (is_16_bit(s.y->dtype()) && !s.width.is<Value*>() && size.is_const() && size.value() > 0)
    return {even_trapezoid(c, s)};
  return {c.div(c.sum(doubled_areas(c, s), {s.dim}), 2.0)};
}
Results decompose_cumulative_trapezoid(Builder& b, Node& node) {
  Compose c(b);
  const Steps s = steps_of(b, node);
  return {c.div(b.call("aten.cumsum", {doubled_areas(c, s), s.dim}), 2.0)};
}

// The distance of neighbours along each of `count` dimensions.
std::vector<double> spacings(const Node& node, size_t count) {
  if (!has_argument(node, "spacing") || node.is_none("spacing")) return std::vector<double>(count, 1.0);
  if (!node.arg("spacing").is<Reals>() && !node.arg("spacing").is<Ints>())
    return std::vector<double>(count, node.real("spacing"));
  std::vector<double> out;
  if (node.arg("spacing").is<Reals>()) {
    const Reals& given = node.arg("spacing").as<Reals>();
    out.assign(given.begin(), given.end());
  } else {
    for (const int64_t step : node.static_ints("spacing")) out.push_back(static_cast<double>(step));
  }
  require(out.size() == count, "gradient: as many spacings as dimensions are needed");
  return out;
}

// The slope at a border: that of the line through the two elements there, or of the parabola through three.
Value* border_slope(Compose& c, Value* x, int64_t dim, bool is_last, bool parabola, double h) {
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  const auto element = [&](int64_t i) {  // counted from the border
    const Sym at = is_last ? size - 1 - i : Sym(i);
    return c.b.slice(x, dim, at, at + 1);
  };
  Value* slope = parabola ? c.sub(c.add(c.mul(element(0), -1.5), c.mul(element(1), 2.0)), c.mul(element(2), 0.5))
                          : c.sub(element(1), element(0));
  return c.div(slope, is_last ? -h : h);
}

// The parabola through three neighbours. `left`: the distance from the first to the second; `right`: from the second to
// the third.
struct Parabola {
  Value *first, *second, *third;
  Value *left, *right;

  // The slope at the first (0), second (1) or third (2) neighbour.
  Value* slope(Compose& c, int at) const {
    Value *both = c.add(left, right), *product = c.mul(left, right);
    const auto share = [&](Value* of, Value* side) { return c.div(of, c.mul(side, both)); };
    Value *a = nullptr, *m = nullptr, *z = nullptr;
    if (at == 0) {
      a = share(c.neg(c.add(c.mul(left, 2.0), right)), left);
      m = c.div(both, product);
      z = share(c.neg(left), right);
    } else if (at == 1) {
      a = share(c.neg(right), left);
      m = c.div(c.sub(right, left), product);
      z = share(left, right);
    } else {
      a = share(right, left);
      m = c.div(c.neg(both), product);
      z = share(c.add(c.mul(right, 2.0), left), right);
    }
    return c.add(c.add(c.mul(a, first), c.mul(m, second)), c.mul(z, third));
  }
};

// The slopes of x along `dim`. `places` [size]: the coordinates of the elements.
Value* slopes_at(Compose& c, Value* x, int64_t dim, Value* places, bool parabola) {
  require_rank(places, 1, "gradient: the places");
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  require_equal(places->sizes()[0], size, "gradient: the number of places");
  Value* steps = c.sub(from(c.b, places, 0, 1), up_to(c.b, places, 0, 1));
  const auto part = [&](Value* of, const Sym& begin, int64_t count) {
    return c.b.slice(of, dim, begin, begin + count);
  };
  // Steps are 0-d tensors, so that the dtype of x decides the result's dtype at a border, as in eager.
  const auto step = [&](const Sym& at) { return c.b.select(steps, 0, at); };
  const auto three_at = [&](const Sym& at, int which) {
    return Parabola{part(x, at, 1), part(x, at + 1, 1), part(x, at + 2, 1), step(at), step(at + 1)}.slope(c, which);
  };
  const auto two_at = [&](const Sym& at) { return c.div(c.sub(part(x, at + 1, 1), part(x, at, 1)), step(at)); };
  Value* third = from(c.b, x, dim, 2);
  Sizes inside(x->rank(), Sym(1));
  inside[static_cast<size_t>(dim)] = third->sizes()[static_cast<size_t>(dim)];
  const Parabola all{up_to(c.b, x, dim, 2), up_to(c.b, from(c.b, x, dim, 1), dim, 1), third,
                     c.b.reshape(up_to(c.b, steps, 0, 1), inside), c.b.reshape(from(c.b, steps, 0, 1), inside)};
  Value* inner = all.slope(c, 1);
  return c.cat({parabola ? three_at(0, 0) : two_at(0), inner, parabola ? three_at(size - 3, 2) : two_at(size - 2)},
               dim);
}

// Central differences inside, one-sided ones at the borders.
Results decompose_gradient(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  require(x->rank() > 0, "gradient needs two elements");
  const int64_t order = node.static_integer("edge_order");
  require(order == 1 || order == 2, "gradient: edge_order is neither 1 nor 2");
  std::vector<int64_t> dims = all_dims(x->rank());
  if (node.op->parsed->args[static_cast<size_t>(node.op->parsed->find("dim"))].type == ArgType::integer) {
    if (!node.is_none("dim")) dims = {node.static_integer("dim")};
  } else {
    dims = node.static_ints("dim");
  }
  require(!dims.empty(), "gradient over no dimension");
  const bool has_places = has_argument(node, "spacing") && node.arg("spacing").is<Values>();
  const std::vector<double> steps = has_places ? std::vector<double>() : spacings(node, dims.size());
  require(!has_places || node.arg("spacing").as<Values>().size() == dims.size(),
          "gradient: as many spacings as dimensions are needed");
  Results out;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], x->rank());
    const Sym size = x->sizes()[static_cast<size_t>(dim)];
    require(!size.is_const() || size.value() > order, "gradient: edge_order elements and one more are needed");
    if (has_places) {
      out.push_back(slopes_at(c, x, dim, node.arg("spacing").as<Values>()[i], order == 2));
      continue;
    }
    Value* inner = c.div(c.sub(from(b, x, dim, 2), up_to(b, x, dim, 2)), 2 * steps[i]);
    out.push_back(c.cat({border_slope(c, x, dim, false, order == 2, steps[i]), inner,
                         border_slope(c, x, dim, true, order == 2, steps[i])},
                        dim));
  }
  return out;
}

// --- tables ---

// All combinations of r elements, in order.
Results decompose_combinations(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  require_rank(x, 1, "combinations: the input");
  const int64_t r = node.static_integer("r");
  require(x->sizes()[0].is_const() && r >= 0 && r < 64, "combinations of a dynamic size are not supported");
  if (r == 0) return {b.full({0}, 0, x->dtype())};
  const int64_t n = x->sizes()[0].value(), gap = node.boolean("with_replacement") ? 0 : 1;
  std::vector<int64_t> table, combination;
  for (int64_t i = 0; i < r; ++i) combination.push_back(i * gap);
  while (combination.back() < n) {
    table.insert(table.end(), combination.begin(), combination.end());
    require(table.size() < (size_t{1} << 22), "combinations: too many");
    int64_t i = r - 1;
    while (i > 0 && combination[static_cast<size_t>(i)] + 1 + (r - 1 - i) * gap >= n) --i;
    ++combination[static_cast<size_t>(i)];
    for (int64_t k = i + 1; k < r; ++k)
      combination[static_cast<size_t>(k)] = combination[static_cast<size_t>(k - 1)] + gap;
  }
  if (table.empty()) return {b.full({0, r}, 0, x->dtype())};
  const Sym count(static_cast<int64_t>(table.size()) / r);
  Value* index = c.constant_i64(table, {count * Sym(r)});
  return {b.reshape(c.index_select(x, 0, index), {count, r})};
}

// The positions of the first `size` non-zero elements, in order. Unused rows hold fill_value.
Results decompose_nonzero_static(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const Sym size = node.integer("size"), count = numel(x->sizes());
  if (count.is(0)) return {b.full({size, static_cast<int64_t>(x->rank())}, node.arg("fill_value"), DType::i64)};
  Value* set = b.cast(b.reshape(c.compare("ne", x, 0), {count}), DType::i64);
  Value* number = c.sub(b.call("aten.cumsum", {set, 0}), 1);
  Value* wanted = c.logical_and(c.compare("ne", set, 0), c.compare("lt", number, size));
  Value* spare = c.tensor(size, DType::i64);
  Value* target = b.call("aten.where.self", {wanted, number, spare});
  Value* places =
      b.call("aten.scatter.src", {b.full({size + 1}, -1, DType::i64), 0, target, c.arange(count, DType::i64)});
  places = b.slice(places, 0, 0, size);
  Value* found = c.compare("ge", places, 0);
  Values columns;
  Sym stride = count;
  for (const Sym& extent : x->sizes()) {
    stride = floor_div(stride, extent);
    Value* column =
        c.remainder(c.div_mode(places, c.tensor(stride, DType::i64), "floor"), c.tensor(extent, DType::i64));
    columns.push_back(b.call("aten.where.self", {found, column, c.tensor(node.arg("fill_value"), DType::i64)}));
  }
  if (columns.empty()) return {b.full({size, 0}, 0, DType::i64)};
  return {c.stack(columns, 1)};
}

Results decompose_diagflat(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  return {Compose(b).call("aten.diag_embed", {b.reshape(x, {numel(x->sizes())}), node.arg("offset")})};
}

// Like scatter_reduce, with one index for a whole slice.
Results decompose_index_reduce(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *source = node.tensor("source"), *index = node.tensor("index");
  const std::string reduce = node.string("reduce");
  require(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
          "index_reduce: the reduction is none of prod, mean, amax and amin");
  const bool scalar = x->rank() == 0;
  if (scalar) x = b.reshape(x, {1});
  if (source->rank() == 0) source = b.reshape(source, {1});
  if (index->rank() == 0) index = b.reshape(index, {1});
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  Sizes column(x->rank(), Sym(1));
  column[static_cast<size_t>(dim)] = index->sizes()[0];
  Value* wide = b.expand(b.reshape(b.cast(index, DType::i64), std::move(column)), source->sizes());
  Value* out = b.call("aten.scatter_reduce.two", {x, dim, wide, source, node.arg("reduce"), node.arg("include_self")});
  return {scalar ? b.reshape(out, {}) : out};
}

}  // namespace

const OpDef kNumericRows[] = {
    {"aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> "
     "Tensor",
     nullptr, decompose_quantile, nullptr, kPure, Cases("f32[3, 4], f32[2]{range=0.077..0.4}, 1")},
    {"aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") "
     "-> Tensor",
     nullptr, decompose_quantile, nullptr, kPure, Cases("f32[3, 4], 0.3", "f32[3, 4], 0.5, 1")},
    {"aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> "
     "Tensor",
     nullptr, decompose_quantile, nullptr, kPure, Cases("f32[3, 4], f32[2]{=0.3, 0.9}, 1")},
    {"aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     nullptr, decompose_quantile, nullptr, kPure, Cases("f32[3, 4], 0.4, 0")},
    {"aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", nullptr, decompose_trapezoid, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", nullptr, decompose_trapezoid, nullptr, kPure,
     Cases("f32[3, 4]", "f32[3, 4], dx=0.5, dim=0")},
    {"aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", nullptr, decompose_trapezoid, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", nullptr, decompose_trapezoid, nullptr, kPure,
     Cases("f32[3, 4], dx=0.5", "f32[3, 4], dim=0")},
    {"aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", nullptr,
     decompose_cumulative_trapezoid, nullptr, kPure, Cases("f32[3, 4], f32[4]{sorted}")},
    {"aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", nullptr,
     decompose_cumulative_trapezoid, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
     nullptr, decompose_gradient, nullptr, kPure,
     Cases("f32[5]", "f32[3, 4], spacing=2.0, dim=1", "f32[5], edge_order=2")},
    {"aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", nullptr,
     decompose_gradient, nullptr, kPure, Cases("f32[3, 4], spacing=0.5, dim=[0, 1]")},
    {"aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
     nullptr, decompose_gradient, nullptr, kPure, Cases("f32[3, 4], spacing=[2.0], dim=1")},
    {"aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
     nullptr, decompose_gradient, nullptr, kPure, Cases("f32[3, 4], spacing=[0.5, 2.0], dim=[0, 1], edge_order=2")},
    {"aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", nullptr, decompose_gradient,
     nullptr, kPure, Cases("f32[3, 4], dim=[0, 1]")},
    {"aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
     nullptr, decompose_gradient, nullptr, kPure,
     Cases("f32[5], spacing=[f32[5]{sorted}]", "f64[3, 4], spacing=[f64[4]{=0, 1, 3, 7}], dim=1, edge_order=2")},
    {"aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]", nullptr,
     decompose_gradient, nullptr, kPure,
     Cases("f32[3, 4], spacing=[f32[3]{=0, 1, 4}, f32[4]{sorted}], dim=[0, 1]",
           "i64[3, 4], spacing=[f32[4]{=0, -1, 1, 5}, i64[3]{=0, 1, 4}], dim=[-1, 0], edge_order=2")},
    {"aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", nullptr, decompose_combinations,
     nullptr, kPure, Cases("f32[4]", "f32[2], 3", "f32[4], 2, true")},
    {"aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", nullptr,
     decompose_nonzero_static, nullptr, kPure, Cases("f32[3, 4], size=5")},
    {"aten::diagflat(Tensor self, int offset=0) -> Tensor", nullptr, decompose_diagflat, nullptr, kPure,
     Cases("f32[3, 4]")},
    {"aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> "
     "Tensor",
     nullptr, decompose_index_reduce, nullptr, kAlsoInPlace,
     Cases("f32[3, 4], 0, i64[3]{=2, 0, 1}, f32[3, 4], prod", "f32[3, 4], 0, i64[3]{=2, 0, 1}, f32[3, 4], amax",
           "f32[3, 4], 0, i64[3]{=2, 0, 1}, f32[3, 4], mean", "! f32[3, 4], 0, i64[3]{=2, 0, 1}, f32[3, 4], sum")},
};
const size_t kNumericCount = std::size(kNumericRows);

}  // namespace wick::compiler
