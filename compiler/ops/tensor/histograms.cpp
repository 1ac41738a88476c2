// Histograms.
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/sharing.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void infer_histc(Node& node) {
  const int64_t bins = node.static_integer("bins");
  require(bins > 0, "histc needs a positive number of bins");
  set_result(node, node.tensor("self")->dtype(), {bins});
}

// The bin of each element of a vector, and whether the element lies between the first and the last edge; NaN does not.
struct Bins {
  Value *number, *inside;
  Sym count;
};
Bins bins_of(Compose& c, Value* x, Value* edges) {
  Builder& b = c.b;
  const Sym count = edges->sizes()[0] - 1;
  Value* above = b.call("aten.ge.Tensor", {x, b.select(edges, 0, 0)});
  Value* below = b.call("aten.le.Tensor", {x, b.select(edges, 0, count)});
  Value* number = c.clamp(c.sub(b.call("aten.bucketize.Tensor", {x, edges, false, true}), 1), 0, count - 1);
  return {number, c.logical_and(above, below), count};
}

// Counts the points in each box between neighbouring edges. The last edge of a dimension belongs to the last box.
// `columns`: the coordinates of all points in each dimension.
Value* count_points(Compose& c, Node& node, const Results& columns, const Results& edges) {
  Builder& b = c.b;
  const Value* x = columns[0];
  Value *place = nullptr, *inside = nullptr;
  Sizes sizes;
  std::vector<int64_t> dims;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Bins bins = bins_of(c, columns[i], edges[i]);
    place = place ? c.add(c.mul(place, c.tensor(bins.count, DType::i64)), bins.number) : bins.number;
    inside = inside ? c.logical_and(inside, bins.inside) : bins.inside;
    sizes.push_back(bins.count);
    dims.push_back(static_cast<int64_t>(i));
  }
  Value* weight = node.optional_tensor("weight");
  weight = weight ? b.reshape(weight, x->sizes()) : b.full(x->sizes(), 1, x->dtype());
  weight = c.where(inside, weight, 0.0, x->dtype());
  Value* counts = b.call("aten.scatter_add", {b.full({numel(sizes)}, 0, x->dtype()), 0, place, weight});
  counts = b.reshape(counts, sizes);
  if (!node.boolean("density")) return counts;
  counts = c.div(counts, c.sum(counts, dims));
  for (size_t i = 0; i < edges.size(); ++i) {
    Sizes along(sizes.size(), 1);
    along[i] = sizes[i];
    Value* widths = c.sub(b.slice(edges[i], 0, 1, sizes[i] + 1), b.slice(edges[i], 0, 0, sizes[i]));
    counts = c.div(counts, b.reshape(widths, along));
  }
  return counts;
}

// Equally spaced edges over the range `ends`; if that is empty, from the smallest to the largest element of x. A range
// of width 0 is widened by 1/2 on both sides.
Value* even_edges(Compose& c, Value* x, int64_t bins, Span<const double> ends) {
  Builder& b = c.b;
  require(bins > 0 && bins < (int64_t{1} << 28), "histogram needs a positive number of bins");
  Value *low = nullptr, *high = nullptr;
  if (!ends.empty()) {
    require(ends[0] <= ends[1], "histogram: the range is not a pair of ascending numbers");
    low = b.scalar(ends[0], x->dtype());
    high = b.scalar(ends[1], x->dtype());
  } else if (numel(x->sizes()).is(0)) {
    low = b.scalar(0, x->dtype());
    high = b.scalar(1, x->dtype());
  } else {
    low = c.amin(x, all_dims(x->rank()));
    high = c.amax(x, all_dims(x->rank()));
  }
  Value* half = c.mul(b.cast(b.call("aten.eq.Tensor", {low, high}), x->dtype()), 0.5);
  return c.call("aten.linspace.Tensor_Tensor", {c.sub(low, half), c.add(high, half), bins + 1, x->dtype()});
}

// The range: two numbers for each dimension, or empty.
Reals ends_of(const Node& node, size_t dimensions) {
  if (node.op->parsed->find("range") < 0 || node.is_none("range")) return {};
  const Reals& ends = node.arg("range").as<Reals>();
  require(ends.size() == 2 * dimensions, "histogram: the range has not two numbers for each dimension");
  return ends;
}
Span<const double> ends_at(const Reals& ends, size_t i) {
  return ends.empty() ? Span<const double>() : Span<const double>(ends.data() + 2 * i, 2);
}

void require_edges(const Value* x, const Value* edges) {
  require_rank(edges, 1, "histogram: bin edges");
  require(edges->dtype() == x->dtype(), "histogram takes floating tensors of one dtype");
}

Value* flat(Compose& c, const Node& node) {
  Value* x = node.tensor("self");
  require(is_floating(x->dtype()), "histogram takes floating tensors");
  return c.b.reshape(x, {numel(x->sizes())});
}
Results decompose_histogram_edges(Builder& b, Node& node) {
  Compose c(b);
  Value *x = flat(c, node), *edges = node.tensor("bins");
  require_edges(x, edges);
  return {count_points(c, node, {x}, {edges}), edges};
}
Results decompose_histogram_count(Builder& b, Node& node) {
  Compose c(b);
  Value* x = flat(c, node);
  Value* edges = even_edges(c, x, node.static_integer("bins"), ends_at(ends_of(node, 1), 0));
  return {count_points(c, node, {x}, {edges}), edges};
}

// The coordinates of the points. Each point is a vector along the last dimension.
Results coordinates_of(Compose& c, const Node& node, size_t dimensions) {
  Value* x = node.tensor("self");
  require(is_floating(x->dtype()), "histogramdd takes floating tensors");
  require(x->rank() >= 2 && dimensions > 0 && x->sizes().back().is(static_cast<int64_t>(dimensions)),
          "histogramdd: wanted bins for each element of the last dimension");
  const Sizes lead(x->sizes().begin(), x->sizes().end() - 1);
  Results columns;
  for (size_t i = 0; i < dimensions; ++i)
    columns.push_back(c.b.reshape(c.b.select(x, -1, static_cast<int64_t>(i)), {numel(lead)}));
  return columns;
}

// The coordinates and the bin edges in each dimension.
struct Grid {
  Results columns, edges;
};
Grid grid_of(Compose& c, const Node& node) {
  Grid grid;
  if (node.arg("bins").is<Values>()) {
    grid.edges = node.arg("bins").as<Values>();
    grid.columns = coordinates_of(c, node, grid.edges.size());
    for (const Value* edges : grid.edges) require_edges(grid.columns[0], edges);
    return grid;
  }
  Ints bins;
  if (node.arg("bins").is<Ints>()) bins = node.arg("bins").as<Ints>();
  const Sym last = node.tensor("self")->sizes().empty() ? Sym(0) : node.tensor("self")->sizes().back();
  if (node.arg("bins").is<Sym>() && last.is_const() && last.value() < 64)
    bins.assign(static_cast<size_t>(last.value()), node.static_integer("bins"));
  grid.columns = coordinates_of(c, node, bins.size());
  const Reals ends = ends_of(node, bins.size());
  for (size_t i = 0; i < bins.size(); ++i) {
    require(bins[i].is_const(), "histogramdd: wanted bins whose number is known");
    grid.edges.push_back(even_edges(c, grid.columns[i], bins[i].value(), ends_at(ends, i)));
  }
  return grid;
}
Results decompose_histogramdd(Builder& b, Node& node) {
  Compose c(b);
  Grid grid = grid_of(c, node);
  Results out = {count_points(c, node, grid.columns, grid.edges)};
  out.insert(out.end(), grid.edges.begin(), grid.edges.end());
  return out;
}
Results decompose_histogramdd_counts(Builder& b, Node& node) {
  Compose c(b);
  const Grid grid = grid_of(c, node);
  return {count_points(c, node, grid.columns, grid.edges)};
}
Results decompose_histogramdd_edges(Builder& b, Node& node) {
  Compose c(b);
  return grid_of(c, node).edges;
}

}  // namespace

const OpDef kHistogramRows[] = {
    {"aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", infer_histc, nullptr,
     "aten::histc.out", kNoStock,
     Cases("f32[20], 4", "f32[3, 4], 5, -2, 2", "f32[12]{=0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, 10, 0, 1",
           "f64[4]{=0, 5e-6, 1e-5, 1.2e-5}, 1000, 0, 1e-5",
           "f16[12]{=0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, 10, 0, 1")},
    {"aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor "
     "hist, Tensor bin_edges)",
     nullptr, decompose_histogram_edges, nullptr, kPure,
     Cases("f32[4, 10], f32[6]{sorted}", "f64[20], f64[5]{=-2, -1, 0, 0.5, 3}, weight=f64[20], density=true",
           "f32[20]{special}, f32[4]{=-1, 0, 1, inf}", "! i64[5], i64[3]{sorted}")},
    {"aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
     "density=False) -> (Tensor hist, Tensor bin_edges)",
     nullptr, decompose_histogram_count, nullptr, kPure,
     Cases("f32[4, 10], 5", "f64[30], 7, range=[-2.0, 2.0], weight=f64[30]{range=0..1}, density=true", "f32[3]{=2}, 4",
           "f32[6]{=1, 2, nan, 0, -1, 3}, 4, range=[0.0, 2.0]", "! f32[5], 0")},
    {"aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> "
     "(Tensor "
     "hist, Tensor[] bin_edges)",
     nullptr, decompose_histogramdd, nullptr, kPure,
     Cases("f32[10, 2], [3, 4]", "f64[2, 5, 3], [2, 3, 2], weight=f64[2, 5], density=true",
           "f32[20, 2]{special}, [3, 2], [-2.0, 2.0, 0.0, 1.0]", "f32[4, 1]{=2}, [3]", "! f32[4, 2], [3]")},
    {"aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) "
     "-> (Tensor hist, Tensor[] bin_edges)",
     nullptr, decompose_histogramdd, nullptr, kPure, Cases("f32[10, 2], 3")},
    {"aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool "
     "density=False) -> (Tensor hist, Tensor[] bin_edges)",
     nullptr, decompose_histogramdd, nullptr, shares::each_but_first,
     Cases("f32[10, 2], [f32[4]{sorted}, f32[3]{sorted}], density=true")},
    {"aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool "
     "density=False) -> Tensor[]",
     nullptr, decompose_histogramdd_edges, nullptr, kPure,
     Cases("f32[10, 2], [3, 4]", "f32[10, 2], [3, 4], range=[0.0, 1.0, -1.0, 2.0]")},
    {"aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool "
     "density=False) -> Tensor",
     nullptr, decompose_histogramdd_counts, nullptr, kPure, Cases("f32[10, 2], [3, 4], density=true")},
    {"aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> "
     "Tensor",
     nullptr, decompose_histogramdd_counts, nullptr, kPure,
     Cases("f32[10, 2], [f32[4]{sorted}, f32[3]{sorted}], weight=f32[10]")},
};
const size_t kHistogramCount = std::size(kHistogramRows);

}  // namespace wick::compiler
