// Reading and writing elements by index, sorting, selection by value.
#include <algorithm>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

bool is_index(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

void infer_embedding(Node& node) {
  const Value *weight = node.tensor("weight"), *indices = node.tensor("indices");
  require_rank(weight, 2, "embedding: weight");
  require(is_index(indices->dtype()), "embedding: the indices are not i32 or i64");
  Sizes sizes = indices->sizes();
  sizes.push_back(weight->sizes()[1]);
  set_result(node, weight->dtype(), std::move(sizes));
}

// Rows of `self` that `indices` names, scaled down to max_norm where their norm is larger.
Results decompose_embedding_renorm(Builder& b, Node& node) {
  Value *table = node.tensor("self"), *indices = node.tensor("indices");
  require_rank(table, 2, "embedding_renorm_: self");
  require(is_index(indices->dtype()), "embedding_renorm_: the indices are not i32 or i64");
  Compose c(b);
  const double limit = node.real("max_norm");
  Value* norm = c.call("aten.linalg_vector_norm", {table, node.real("norm_type"), Ints{1}, true});
  Value* scale = c.div(b.scalar(limit, norm->dtype()), c.add(norm, 1e-7));
  Value* one = b.scalar(1, DType::boolean);
  Value* named = b.call("aten.index_put", {b.call("aten.full", {Sizes{table->sizes()[0], 1}, false, DType::boolean}),
                                           Values{b.reshape(indices, {numel(indices->sizes())})}, one, false});
  Value* shrink = c.logical_and(named, c.compare("gt", norm, limit));
  return {c.where(shrink, c.mul(table, scale), table, table->dtype())};
}

int64_t index_dim(const Node& node) { return wrap_dim(node.static_integer("dim"), node.tensor("self")->rank()); }

void infer_index_select(Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  require(is_index(index->dtype()) && index->rank() <= 1, "index_select: the index is not a vector of i32 or i64");
  Sizes sizes = x->sizes();
  const int64_t dim = index_dim(node);
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = numel(index->sizes());
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_index_select(Builder& b, Node& node) {
  Value* index = node.tensor("index");
  const int64_t dim = index_dim(node);
  if (index->rank() == 1 && node.integer("dim") == Sym(dim)) return {};
  if (node.tensor("self")->rank() == 0) return {node.tensor("self")};
  return {b.call("aten.index_select", {node.arg("self"), dim, b.reshape(index, {numel(index->sizes())})})};
}

void infer_gather(Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  require(index->dtype() == DType::i64, "gather: the index is not i64");
  index_dim(node);
  if (x->rank() != index->rank() && x->rank() > 0 && index->rank() > 0) reject("gather: ranks differ");
  set_result(node, x->dtype(), index->sizes());
}
Results decompose_take_along(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *index = node.tensor("indices");
  if (node.is_none("dim")) {
    return {b.call("aten.gather", {b.reshape(x, {numel(x->sizes())}), 0, b.reshape(index, {numel(index->sizes())})})};
  }
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  require(x->rank() == index->rank() && x->rank() > 0, "take_along_dim: ranks differ");
  Sizes wide_x = broadcast(x->sizes(), [&] {
    Sizes s = index->sizes();
    s[static_cast<size_t>(dim)] = 1;
    return s;
  }());
  Sizes wide_index = broadcast(index->sizes(), [&] {
    Sizes s = x->sizes();
    s[static_cast<size_t>(dim)] = 1;
    return s;
  }());
  wide_x[static_cast<size_t>(dim)] = x->sizes()[static_cast<size_t>(dim)];
  wide_index[static_cast<size_t>(dim)] = index->sizes()[static_cast<size_t>(dim)];
  return {b.call("aten.gather", {b.expand(x, std::move(wide_x)), dim, b.expand(index, std::move(wide_index))})};
}
Results decompose_take(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *index = node.tensor("index");
  Value* flat = b.call("aten.index.Tensor",
                       {b.reshape(x, {numel(x->sizes())}), Values{b.reshape(index, {numel(index->sizes())})}});
  return {b.reshape(flat, index->sizes())};
}

// --- x[i, :, j] ---

// Indices as long as the rank; masks count once per dimension they cover.
struct Advanced {
  Values indices;  // null: the whole dimension
  bool has_mask = false;
};
Advanced advanced_of(const Node& node) {
  Advanced out;
  const Value* x = node.tensor("self");
  for (Value* index : node.tensors("indices")) {
    if (!index) {
      out.indices.push_back(nullptr);
      continue;
    }
    const bool mask = index->dtype() == DType::boolean || index->dtype() == DType::u8;
    if (!mask && !is_index(index->dtype()) && index->dtype() != DType::i8 && index->dtype() != DType::i16) {
      reject("index: an index is neither integral nor a mask");
    }
    out.has_mask = out.has_mask || mask;
    out.indices.push_back(index);
    for (size_t i = 1; mask && i < index->rank(); ++i) out.indices.push_back(nullptr);
  }
  if (out.indices.size() > x->rank()) reject("index: too many indices");
  out.indices.resize(x->rank(), nullptr);
  return out;
}

// Index tensors broadcast together; their sizes go where they are, or first if they are not neighbours.
Sizes indexed_sizes(const Value* x, const Values& indices) {
  Sizes together;
  size_t first = indices.size(), last = 0, count = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    together = broadcast(together, indices[i]->sizes());
    first = std::min(first, i);
    last = i;
    ++count;
  }
  Sizes out;
  const bool neighbours = count > 0 && last - first + 1 == count;
  if (count > 0 && !neighbours) out = together;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (neighbours && i == first) out.insert(out.end(), together.begin(), together.end());
    if (!indices[i]) out.push_back(x->sizes()[i]);
  }
  return out;
}

void infer_index(Node& node) {
  const Value* x = node.tensor("self");
  const Advanced a = advanced_of(node);
  if (a.has_mask) {  // as many results as true elements: preset by the importer
    if (!node.result()->type.is_tensor() || node.result()->rank() == 0)
      reject("index by a mask needs its result type from the exported program");
    if (node.result()->dtype() != x->dtype()) reject("index: the result has a different dtype");
    return;
  }
  set_result(node, x->dtype(), indexed_sizes(x, a.indices));
}

// Narrow integral indices are widened.
Results decompose_index(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const Advanced a = advanced_of(node);
  if (a.has_mask) return {};
  const bool all = std::all_of(a.indices.begin(), a.indices.end(), [](Value* index) { return index == nullptr; });
  if (all) return {x};
  bool plain = node.is("aten.index.Tensor");
  for (Value* index : a.indices) plain = plain && (!index || is_index(index->dtype()));
  if (plain) return {};
  Values cast = a.indices;
  for (Value*& index : cast) {
    if (index) index = b.cast(index, DType::i64);
  }
  return {b.call("aten.index.Tensor", {x, std::move(cast)})};
}

void infer_index_put(Node& node) {
  const Value* x = node.tensor("self");
  const Value* values = node.tensor("values");
  if (x->dtype() != values->dtype()) reject("index_put: the values have a different dtype");
  const Advanced a = advanced_of(node);
  if (!a.has_mask) broadcast(indexed_sizes(x, a.indices), values->sizes());
  infer_same(node);
}
// x[mask] = scalar is where(mask, scalar, x).
Results decompose_index_put(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *values = node.tensor("values");
  const Advanced a = advanced_of(node);
  const Values given = node.tensors("indices");
  const bool accumulate = node.boolean("accumulate");
  if (given.size() == 1 && given[0] && given[0]->dtype() == DType::boolean && numel(values->sizes()).is(1)) {
    Sizes sizes = given[0]->sizes();
    sizes.resize(x->rank(), Sym(1));
    Value* scalar = b.reshape(values, {});
    return {c.where(b.reshape(given[0], std::move(sizes)), accumulate ? Arg(c.add(x, scalar)) : Arg(scalar), x,
                    x->dtype())};
  }
  if (node.is("aten.index_put.default")) return {};
  return {b.call("aten.index_put", {x, given, values, accumulate})};
}

// --- writes along one dimension ---

void check_write(const Node& node, const char* source_name) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  const int64_t dim = index_dim(node);
  require(is_index(index->dtype()) && index->rank() <= 1, "the index is not a vector of i32 or i64");
  if (Value* source = tensor_or_null(node.arg(source_name))) {
    if (source->rank() == 0 || x->rank() == 0) return;
    require_rank(source, x->rank(), "source");
    for (size_t i = 0; i < x->rank(); ++i) {
      const bool at = static_cast<int64_t>(i) == dim;
      require_equal(source->sizes()[i], at ? numel(index->sizes()) : x->sizes()[i], "sizes of the source");
    }
  }
}
void infer_index_write(Node& node) {
  check_write(node, node.op->parsed->find("source") >= 0 ? "source" : "value");
  infer_same(node);
}

// index_put with the index in its place
Value* put_along(Builder& b, Value* x, int64_t dim, Value* index, Value* source, bool accumulate) {
  Values indices(static_cast<size_t>(dim), nullptr);
  indices.push_back(index);
  return b.call("aten.index_put", {x, std::move(indices), b.cast(source, x->dtype()), accumulate});
}
Results decompose_index_write(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *index = node.tensor("index");
  const int64_t dim = index_dim(node);
  const bool scalar = x->rank() == 0;
  if (scalar) x = b.reshape(x, {1});
  index = b.reshape(index, {numel(index->sizes())});
  Sizes sizes = x->sizes();
  sizes[static_cast<size_t>(dim)] = index->sizes()[0];
  const bool fill = node.op->name().starts_with("aten.index_fill"), add = node.op->name().starts_with("aten.index_add");
  Value* source = c.tensor(node.arg(fill ? "value" : "source"), x->dtype());
  if (add && literal(node.arg("alpha")) != 1.0) source = c.mul(source, node.arg("alpha"));
  source = fill ? b.reshape(source, {}) : b.reshape(source, sizes);
  // Leading whole dimensions: the values of index_put follow the index in its place.
  Value* out = put_along(b, x, dim, index, source, add);
  return {scalar ? b.reshape(out, {}) : out};
}

void infer_scatter(Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  require(index->dtype() == DType::i64, "scatter: the index is not i64");
  index_dim(node);
  if (x->rank() != index->rank() && x->rank() > 0 && index->rank() > 0) reject("scatter: ranks differ");
  if (node.op->parsed->find("src") >= 0 && node.tensor("src")->dtype() != x->dtype())
    reject("scatter: the source has a different dtype");
  infer_same(node);
}

void infer_scatter_reduce(Node& node) {
  require(!is_complex(node.tensor("self")->dtype()), "a scatter that reduces takes no complex numbers");
  infer_scatter(node);
}

void infer_masked_scatter(Node& node) {
  const Value *x = node.tensor("self"), *mask = node.tensor("mask");
  require(mask->dtype() == DType::boolean, "masked_scatter: the mask is not bool");
  if (node.tensor("source")->dtype() != x->dtype()) reject("masked_scatter: the source has a different dtype");
  set_result(node, x->dtype(), broadcast(x->sizes(), mask->sizes()));
}

// self with a slice, a row, a diagonal replaced
void infer_write_view(Node& node) {
  const Value *x = node.tensor("self"), *source = node.tensor("src");
  if (x->dtype() != source->dtype()) reject("the source has a different dtype");
  infer_same(node);
}
// where(on the diagonal, source, self): the source lies along the rows of the two dimensions.
Results decompose_diagonal_scatter(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *source = node.tensor("src");
  const int64_t offset = node.static_integer("offset"), dim1 = wrap_dim(node.static_integer("dim1"), x->rank()),
                dim2 = wrap_dim(node.static_integer("dim2"), x->rank());
  require(x->rank() >= 2 && dim1 != dim2 && source->rank() + 1 == x->rank(),
          "diagonal_scatter: the dimensions do not fit");
  const Sym rows = x->sizes()[static_cast<size_t>(dim1)], columns = x->sizes()[static_cast<size_t>(dim2)];
  const int64_t above = offset < 0 ? -offset : 0;
  Value* along_rows = c.pad(source, {above, rows - above - source->sizes().back()});
  Value* row = b.unsqueeze(c.arange(rows, DType::i64), 1);
  Value* on = c.compare("eq", c.sub(c.arange(columns, DType::i64), row), offset);
  std::vector<int64_t> order, back(x->rank());
  for (int64_t i = 0; i < static_cast<int64_t>(x->rank()); ++i) {
    if (i != dim1 && i != dim2) order.push_back(i);
  }
  order.push_back(dim1);
  order.push_back(dim2);
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Value* out = b.call("aten.where.self", {on, b.unsqueeze(along_rows, -1), b.permute(x, order)});
  return {b.permute(out, back)};
}
Results decompose_slice_scatter(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *source = node.tensor("src");
  const int64_t dim = index_dim(node);
  require(x->rank() > 0, "slice_scatter of a scalar");
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  const Sym start = node.is_none("start") ? Sym(0) : clamp_bound(node.integer("start"), size);
  Sym end = node.is_none("end") ? size : clamp_bound(node.integer("end"), size);
  if (const Sym length = end - start; length.is_const() && length.value() < 0) end = start;
  const Sym step = node.integer("step");
  if (step.is_const() && step.value() <= 0) reject("slice_scatter with a step below 1");
  Sizes sizes = x->sizes();
  sizes[static_cast<size_t>(dim)] = ceil_div(end - start, step);
  if (sizes == x->sizes()) return {b.expand(source, x->sizes())};
  auto same = [&](const char* name, const Sym& value) { return !node.is_none(name) && node.integer(name) == value; };
  if (source->sizes() == sizes && same("dim", dim) && same("start", start) && same("end", end)) return {};
  return {b.call("aten.slice_scatter", {x, b.expand(source, sizes), dim, start, end, step})};
}
Results decompose_select_scatter(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *source = node.tensor("src");
  const int64_t dim = index_dim(node);
  require(x->rank() > 0, "select_scatter of a scalar");
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  Sym index = node.integer("index");
  if (index.is_const() && index.value() < 0) index = size + index;
  Sizes sizes = x->sizes();
  sizes.erase(sizes.begin() + dim);
  if (source->sizes() == sizes && node.integer("dim") == Sym(dim) && node.integer("index") == index) return {};
  return {b.call("aten.select_scatter", {x, b.expand(source, sizes), dim, index})};
}

// --- order ---

void infer_sort(Node& node) {
  const Value* x = node.tensor("self");
  index_dim(node);
  set_result(node, 0, x->dtype(), x->sizes());
  set_result(node, 1, DType::i64, x->sizes());
}
void infer_argsort(Node& node) {
  index_dim(node);
  set_result(node, DType::i64, node.tensor("self")->sizes());
}
Results decompose_argsort(Builder& b, Node& node) {
  if (node.op->parsed->find("stable") >= 0 && node.boolean("stable")) {
    return {b.call_multi("aten.sort.stable", {node.arg("self"), true, node.arg("dim"), node.arg("descending")})[1]};
  }
  return {b.call_multi("aten.sort", {node.arg("self"), node.arg("dim"), node.arg("descending")})[1]};
}
Results decompose_msort(Builder& b, Node& node) { return {b.call_multi("aten.sort", {node.arg("self"), 0, false})[0]}; }

void infer_topk(Node& node) {
  const Value* x = node.tensor("self");
  Sizes sizes = x->sizes();
  const int64_t dim = index_dim(node);
  const Sym k = node.integer("k");
  if (!sizes.empty()) {
    Sym& size = sizes[static_cast<size_t>(dim)];
    if (k.is_const() && (k.value() < 0 || (size.is_const() && k.value() > size.value())))
      reject("topk: k is out of range");
    size = k;
  }
  set_result(node, 0, x->dtype(), sizes);
  set_result(node, 1, DType::i64, sizes);
}

void infer_order_statistic(Node& node) {  // kthvalue, median, mode
  const Value* x = node.tensor("self");
  const int64_t dim = index_dim(node);
  const Sizes sizes = x->rank() == 0 ? Sizes{} : reduce_sizes(x->sizes(), {dim}, node.boolean("keepdim"));
  set_result(node, 0, x->dtype(), sizes);
  set_result(node, 1, DType::i64, sizes);
}
void infer_scalar_result(Node& node) { set_result(node, node.tensor("self")->dtype(), {}); }

// --- sizes that depend on values ---

void infer_nonzero(Node& node) {
  infer_preset(node);
  const Value* x = node.tensor("self");
  if (node.result()->rank() != 2 || node.result()->dtype() != DType::i64)
    reject("nonzero: the result type does not fit");
  require_equal(node.result()->sizes()[1], Sym(static_cast<int64_t>(x->rank())), "nonzero: columns");
}
// where(condition): the columns of nonzero
void infer_where_indices(Node& node) {
  infer_preset(node);
  for (const Value* result : node.results()) {
    if (result->rank() != 1 || result->dtype() != DType::i64) reject("where: a result is not a vector of i64");
  }
}
// Values, the number of each element's value, counts; those not asked for are empty vectors.
void infer_unique(Node& node) {
  infer_preset(node);
  const Value* x = node.tensor("self");
  const auto is_vector = [&](size_t i) { return node.result(i)->rank() == 1; };
  if (!is_vector(0) || !is_vector(2) || node.result(1)->rank() != (node.boolean("return_inverse") ? x->rank() : 1)) {
    reject("unique: a result type does not fit");
  }
  if (node.result(0)->dtype() != x->dtype() || node.result(1)->dtype() != DType::i64 ||
      node.result(2)->dtype() != DType::i64) {
    reject("unique: a result dtype does not fit");
  }
}
Results decompose_argwhere(Builder& b, Node& node) {
  Node* found = b.graph().add_node(op("aten.nonzero.default"), {node.tensor("self")}, 1, &node, "nonzero");
  found->origin = node.origin;
  set_result(*found, DType::i64, node.result()->sizes());
  return {found->result()};
}
// Values along a dimension (or of the flat tensor), the number of each one's value, counts.
void infer_unique_consecutive(Node& node) {
  infer_preset(node);
  const Value* x = node.tensor("self");
  const bool flat = node.is_none("dim");
  if (node.result(0)->rank() != (flat ? 1 : x->rank())) reject("unique: a result type does not fit");
  if (node.result(0)->dtype() != x->dtype() || node.result(1)->dtype() != DType::i64 ||
      node.result(2)->dtype() != DType::i64) {
    reject("unique: a result dtype does not fit");
  }
}
Results decompose_unique_dim_consecutive(Builder& b, Node& node) {
  Node* made =
      b.graph().add_node(op("aten.unique_consecutive.default"),
                         {node.tensor("self"), node.arg("return_inverse"), node.arg("return_counts"), node.arg("dim")},
                         3, &node, "unique");
  made->origin = node.origin;
  for (size_t i = 0; i < 3; ++i) made->result(i)->type = node.result(i)->type;
  return made->results();
}
Results decompose_where_indices(Builder& b, Node& node) {
  Value* condition = node.tensor("condition");
  const size_t rank = std::max<size_t>(condition->rank(), 1);
  require(node.results().size() == rank, "where: there is one result for each dimension");
  if (condition->rank() == 0) condition = b.reshape(condition, {1});
  Node* found = b.graph().add_node(op("aten.nonzero.default"), {condition}, 1, &node, "nonzero");
  found->origin = node.origin;
  set_result(*found, DType::i64, {node.result()->sizes()[0], static_cast<int64_t>(rank)});
  Results columns;
  for (size_t i = 0; i < rank; ++i) columns.push_back(b.select(found->result(), 1, static_cast<int64_t>(i)));
  return columns;
}
void infer_vector_result(Node& node) {
  infer_preset(node);
  if (node.result()->rank() != 1) reject("the result is not a vector");
}

void infer_histogram(Node& node) {
  const int64_t bins = node.static_integer("bins");
  require(bins > 0, "histc needs a positive number of bins");
  set_result(node, node.tensor("self")->dtype(), {bins});
}

// How many elements lie between neighbouring edges, the last edge included: NaN and what is outside counts nowhere.
Results count_bins(Compose& c, Node& node, Value* edges) {
  Builder& b = c.b;
  Value* x = b.reshape(node.tensor("self"), {numel(node.tensor("self")->sizes())});
  const Sym bins = edges->sizes()[0] - 1;
  Value* last = b.select(edges, 0, bins);
  Value* inside =
      c.logical_and(b.call("aten.ge.Tensor", {x, b.select(edges, 0, 0)}), b.call("aten.le.Tensor", {x, last}));
  Value* bin = c.sub(b.call("aten.bucketize.Tensor", {x, edges, false, true}), 1);
  bin = c.clamp(bin, 0, bins - 1);
  Value* weight = node.optional_tensor("weight");
  weight = weight ? b.reshape(weight, {numel(x->sizes())}) : b.full(x->sizes(), 1, x->dtype());
  weight = c.where(inside, weight, 0.0, x->dtype());
  Value* counts = b.call("aten.scatter_add", {b.full({bins}, 0, x->dtype()), 0, bin, weight});
  if (node.boolean("density")) {
    Value* widths = c.sub(b.slice(edges, 0, 1, bins + 1), b.slice(edges, 0, 0, bins));
    counts = c.div(c.div(counts, c.sum(counts, {0})), widths);
  }
  return {counts, edges};
}

Results decompose_histogram_edges(Builder& b, Node& node) {
  const Value *x = node.tensor("self"), *edges = node.tensor("bins");
  require_rank(edges, 1, "histogram: bin edges");
  require(is_floating(x->dtype()) && edges->dtype() == x->dtype(), "histogram takes floating tensors of one dtype");
  Compose c(b);
  return count_bins(c, node, node.tensor("bins"));
}
// Edges at equal distances over the range, or from the smallest to the largest element; a range without width is
// widened by a half on both sides.
Results decompose_histogram_count(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const int64_t bins = node.static_integer("bins");
  require(bins > 0 && bins < (int64_t{1} << 28), "histogram needs a positive number of bins");
  require(is_floating(x->dtype()), "histogram takes floating tensors");
  Compose c(b);
  Value *low = nullptr, *high = nullptr;
  if (!node.is_none("range")) {
    const Reals& range = node.arg("range").as<Reals>();
    require(range.size() == 2 && range[0] <= range[1], "histogram: the range is not a pair of ascending numbers");
    low = b.scalar(range[0], x->dtype());
    high = b.scalar(range[1], x->dtype());
  } else if (numel(x->sizes()).is(0)) {
    low = b.scalar(0, x->dtype());
    high = b.scalar(1, x->dtype());
  } else {
    low = c.amin(x, all_dims(x->rank()));
    high = c.amax(x, all_dims(x->rank()));
  }
  Value* half = c.mul(b.cast(b.call("aten.eq.Tensor", {low, high}), x->dtype()), 0.5);
  low = c.sub(low, half);
  high = c.add(high, half);
  return count_bins(c, node, c.call("aten.linspace.Tensor_Tensor", {low, high, bins + 1, x->dtype()}));
}

// searchsorted / bucketize: for each value the number of boundaries before it
Value* count_before(Compose& c, Value* boundaries, Value* x, bool right, DType dtype) {
  Value* wide = c.b.unsqueeze(x, static_cast<int64_t>(x->rank()));
  Value* before =
      c.compare(right ? "le" : "lt", c.b.unsqueeze(boundaries, static_cast<int64_t>(boundaries->rank()) - 1), wide);
  return c.b.cast(c.sum(before, {static_cast<int64_t>(before->rank()) - 1}), dtype);
}
Results decompose_bucketize(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* boundaries = node.tensor("boundaries");
  require_rank(boundaries, 1, "bucketize: boundaries");
  Value* wide = b.unsqueeze(x, static_cast<int64_t>(x->rank()));
  Value* before = c.compare(node.boolean("right") ? "ge" : "gt", wide, boundaries);
  Value* count = c.sum(before, {static_cast<int64_t>(x->rank())});
  return {b.cast(count, node.boolean("out_int32") ? DType::i32 : DType::i64)};
}

// Where each element of self belongs.
void infer_position(Node& node) {
  set_result(node, node.boolean("out_int32") ? DType::i32 : DType::i64, node.tensor("self")->sizes());
}

Results decompose_searchsorted(Builder& b, Node& node) {
  Compose c(b);
  Value* sorted = node.tensor("sorted_sequence");
  // A fraction stays one beside integers.
  const bool fraction = is_float_number(node.arg("self")) && is_integral(sorted->dtype());
  Value* x = c.tensor(node.arg("self"), fraction ? DType::f64 : sorted->dtype());
  require(node.is_none("sorter"), "searchsorted with a sorter is not supported");
  const bool right = node.boolean("right") || (!node.is_none("side") && node.string("side") == "right");
  const DType dtype = node.boolean("out_int32") ? DType::i32 : DType::i64;
  require(sorted->rank() >= 1, "searchsorted of a scalar");
  if (sorted->rank() > 1) {
    require(x->rank() == sorted->rank(), "searchsorted: ranks differ");
    return {count_before(c, sorted, x, right, dtype)};
  }
  Value* wide = b.unsqueeze(x, static_cast<int64_t>(x->rank()));
  Value* before = c.compare(right ? "ge" : "gt", wide, sorted);
  return {b.cast(c.sum(before, {static_cast<int64_t>(x->rank())}), dtype)};
}

// --- classes ---

void infer_one_hot(Node& node) {
  const Value* x = node.tensor("self");
  const Sym classes = node.integer("num_classes");
  Sizes sizes = x->sizes();
  if (classes.is(-1)) {
    infer_preset(node);
    if (node.result()->rank() != x->rank() + 1 || node.result()->dtype() != DType::i64)
      reject("one_hot: the result type does not fit");
    return;
  }
  sizes.push_back(classes);
  set_result(node, DType::i64, std::move(sizes));
}
Results decompose_one_hot(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const Sym classes = node.integer("num_classes").is(-1) ? node.result()->sizes().back() : node.integer("num_classes");
  Value* wide = b.unsqueeze(x, static_cast<int64_t>(x->rank()));
  return {b.cast(c.compare("eq", wide, c.arange(classes, DType::i64)), DType::i64)};
}

Results decompose_isin(Builder& b, Node& node) {
  Compose c(b);
  auto operand = [&](const char* many, const char* one) {
    if (node.op->parsed->find(many) >= 0) return node.tensor(many);
    const Arg& number = node.arg(one);
    return c.tensor(number, is_float_number(number) ? DType::f32 : DType::i64);
  };
  Value *x = operand("elements", "element"), *set = operand("test_elements", "test_element");
  set = b.reshape(set, {numel(set->sizes())});
  Value* equal = c.compare("eq", b.unsqueeze(x, static_cast<int64_t>(x->rank())), set);
  Value* found = c.any(equal, {static_cast<int64_t>(x->rank())});
  return {node.boolean("invert") ? c.logical_not(found) : found};
}

}  // namespace

const OpDef kIndexingRows[] = {
    {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
     "sparse=False) -> Tensor",
     infer_embedding, nullptr, "aten::embedding.out", kPassesBoth | kWeighs | ranges::operands | Growth::keeps,
     Cases("f32[7, 4], i64[0]", "f32[7, 4], i64[]{=3}", "f32[7, 4], i32[3]{=4, 3, 1}")},
    {"aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", infer_same,
     decompose_embedding_renorm, nullptr, kAlsoInPlace,
     Cases("f32[4, 3], i64[2]{=2, 0}, 0.5, 2.0", "f32[4, 3], i64[2, 2]{=1, 1, 3, 1}, 1.0, 1.0")},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", infer_index_select, decompose_index_select,
     "aten::index_select.out", kPassesBoth | kMoves | Movement::index_select | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 0, i32[1]{=1}", "f32[3, 4], -1, i64[3]{=2, 0, 2}")},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", infer_gather, nullptr,
     "aten::gather.out", kPassesBoth | kMoves | ranges::operands,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}", "i64[2, 3, 4], 2, i64[2, 3, 2]{index<3}",
           "f32[3, 3]{range=0.2..2.8}, -1, i64[2, 3]{=0, 0, 1, 2, 1, 0}")},
    {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", nullptr, decompose_take_along,
     nullptr, kPure, Cases("f32[3, 4], i64[3, 4]{index<3}, 1")},
    {"aten::take(Tensor self, Tensor index) -> Tensor", nullptr, decompose_take, nullptr, kPure,
     Cases("f32[3, 4], i64[3]{=2, 0, 1}", "f32[3, 4], i64[2, 2]{=0, 11, -1, 5}")},
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", infer_index, decompose_index,
     "aten::index.Tensor_out", kPassesBoth | ranges::operands | Growth::keeps,
     Cases("f32[3, 4, 5], [i64[0]]", "f32[3, 4], [bool[3, 4]]", "i64[3, 4], [i64[2]{=2, 0}]")},
    {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", infer_index, decompose_index, nullptr,
     kPure, Cases("f32[3, 4], [i64[2]{index<3}]", "f32[3, 4], [None, i64[2]{index<4}]")},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", infer_index_put,
     decompose_index_put, "aten::index_put.out", kOverwrites | kAlsoInPlace | kPassesBoth | Growth::keeps,
     Cases("f32[3, 4], [bool[3, 4]], f32[]{=7}", "f32[3, 4], [i64[3]{=0, 0, 2}], f32[3, 4], true",
           "f32[3, 4], [i64[2]{=0, 2}, i64[2]{=1, -1}], f32[2]")},
    {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     infer_index_put, decompose_index_put, nullptr, kPure,
     Cases("f32[5, 2], [i64[2]{=3, 1}], f32[2, 2]", "f32[5], [i64[4]{index<5}], f32[4], true")},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", infer_index_write,
     decompose_index_write, "aten::index_copy.out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[1]{=0}, f32[3, 1]")},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     infer_index_write, decompose_index_write, nullptr, kAlsoInPlace,
     Cases("f32[3, 4], 0, i64[3]{=2, 0, 1}, f32[3, 4]", "f32[3, 4], 1, i64[2]{=1, 1}, f32[3, 2], alpha=2")},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", infer_index_write,
     decompose_index_write, nullptr, kAlsoInPlace, Cases("f32[3, 4], 0, i64[1]{=2}, 5.0")},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", infer_index_write,
     decompose_index_write, nullptr, kAlsoInPlace, Cases("f32[3, 4], 1, i64[2]{=0, 3}, f32[]")},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer_scatter, nullptr,
     "aten::scatter.src_out", kAlsoInPlace | kPassesBoth | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, f32[3, 4]")},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", infer_scatter, nullptr,
     "aten::scatter.value_out", kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, 1.5", "f32[3, 3], -1, i64[1, 3]{=2, 0, 1}, 2.5")},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
     infer_scatter_reduce, nullptr, "aten::scatter.reduce_out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 2]{index<4}, f32[3, 2], reduce=add",
           "f32[3, 4], 0, i64[2, 4]{index<3}, f32[2, 4], reduce=multiply")},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
     infer_scatter_reduce, nullptr, "aten::scatter.value_reduce_out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 2]{index<4}, 2.0, reduce=add",
           "f32[3, 4], 0, i64[2, 4]{index<3}, 2.0, reduce=multiply")},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer_scatter_reduce, nullptr,
     "aten::scatter_add.out", kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, f32[3, 4]",
           "i64[4]{=-7, 6, 2, 4}, 0, i64[3]{=0, 0, 3}, i64[3]{=-1, 6, -9}",
           "f32[3, 3], -1, i64[2, 3]{=2, 0, 1, 1, 1, 2}, f32[3, 3]")},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) "
     "-> Tensor",
     infer_scatter_reduce, nullptr, "aten::scatter_reduce.two_out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, f32[3, 4], amax",
           "f32[3, 3], 0, i64[2, 3]{=0, 1, 0, 1, 1, 1}, f32[2, 3], sum, include_self=true")},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", infer_masked_scatter, nullptr,
     "aten::masked_scatter.out", kAlsoInPlace,
     Cases("f32[3, 3], bool[3, 3], f32[5]", "f32[3, 4], bool[3, 4], f32[3, 4]")},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
     "Tensor",
     infer_write_view, decompose_slice_scatter, "aten::slice_scatter.out",
     kOverwrites | kPassesBoth | ranges::operands | Growth::keeps,
     Cases("f32[4, 5], f32[2, 5], 0, -2", "f32[3, 4], f32[3, 2], 1, 0, 4, 2")},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", infer_write_view,
     decompose_select_scatter, "aten::select_scatter.out", kOverwrites | kPassesBoth | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], f32[4], 0, 1", "f32[4, 5], f32[4], 1, -1")},
    {"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     infer_write_view, decompose_diagonal_scatter, "aten::diagonal_scatter.out", kNoStock,
     Cases("f32[4, 4], f32[4]", "f32[3, 4], f32[3], 1")},
    {"aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) "
     "-> Tensor",
     infer_write_view, nullptr, "aten::as_strided_scatter.out", kNoStock,
     Cases("f32[6], f32[2, 2], [2, 2], [3, 1]", "f32[3, 4], f32[2, 2], [2, 2], [1, 2]")},
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", infer_sort,
     nullptr, "aten::sort.values", kNoStock | kPassesBoth | ranges::operands,
     Cases("f32[3, 4]", "f32[3, 5]{distinct}, -1, false", "i64[9]")},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
     "indices)",
     infer_sort, nullptr, "aten::sort.values_stable", kNoStock,
     Cases("f32[3, 4], stable=true", "i64[5]{=2, 1, 2, 1, 0}, stable=true, dim=0, descending=true")},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", infer_argsort, decompose_argsort,
     nullptr, kPure, Cases("f32[3, 4], 1", "f32[3, 4], -1, true", "f32[3, 5]{distinct}")},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", infer_argsort,
     decompose_argsort, "aten::argsort.stable_out", kNoStock,
     Cases("f32[3, 4]{distinct}, stable=true", "i64[8]{index<3}, stable=true, dim=0, descending=true")},
    {"aten::msort(Tensor self) -> Tensor", infer_same, decompose_msort, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor "
     "indices)",
     infer_topk, nullptr, "aten::topk.values", kPassesBoth | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 2", "f32[5]{special}, 3, 0, false", "f32[4, 5]{distinct}, 2, -1, true")},
    {"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_order_statistic, nullptr, "aten::kthvalue.values", kNoStock, Cases("f32[3, 4], 2")},
    {"aten::median(Tensor self) -> Tensor", infer_scalar_result, nullptr, "aten::median.out", kNoStock,
     Cases("f32[3, 4]")},
    {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_order_statistic, nullptr, "aten::median.dim_values", kNoStock, Cases("f32[3, 4], 1")},
    {"aten::nanmedian(Tensor self) -> Tensor", infer_scalar_result, nullptr, "aten::nanmedian.out", kNoStock,
     Cases("f32[5]{special}")},
    {"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_order_statistic, nullptr, "aten::nanmedian.dim_values", kNoStock, Cases("f32[3, 4], 0")},
    {"aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_order_statistic, nullptr, "aten::mode.values", kNoStock, Cases("i32[3, 4]{index<7}, 1")},
    {"aten::where(Tensor condition) -> Tensor[]", infer_where_indices, decompose_where_indices, nullptr, kDataDependent,
     Cases("bool[3, 4]")},
    {"aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
     "Tensor, Tensor)",
     infer_unique, nullptr, "aten::_unique2.out", kNoStock | kDataDependent,
     Cases("f32[2, 6]{range=0..3}", "i64[5]{=3, 1, 3, 2, 1}, true, true, true", "f32[2, 6]{range=0..3}, true, true")},
    {"aten::nonzero(Tensor self) -> Tensor", infer_nonzero, nullptr, "aten::nonzero.out", kDataDependent,
     Cases("f32[2, 2]{special}", "i64[0]", "bool[2, 3, 2]")},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", infer_vector_result, nullptr, "aten::masked_select.out",
     kDataDependent, Cases("f32[3], bool[2, 3]", "f32[3, 4], bool[3, 4]")},
    {"aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", infer_vector_result, nullptr,
     "aten::bincount.out", kDataDependent | kNoStock, Cases("i64[9]{index<5}", "i64[9]{index<5}, f32[9], 8")},
    {"aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", infer_histogram, nullptr,
     "aten::histc.out", kNoStock, Cases("f32[20], 4", "f32[3, 4], 5, -2, 2")},
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
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     infer_position, decompose_bucketize, "aten::bucketize.Tensor_out", kNoStock,
     Cases("f32[3, 4], f32[5]{sorted}", "f32[3, 4], f32[5]{sorted}, right=true")},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None) -> Tensor",
     infer_position, decompose_searchsorted, "aten::searchsorted.Tensor_out", kNoStock,
     Cases("f32[5]{sorted}, f32[3, 4]")},
    {"aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None) -> Tensor",
     nullptr, decompose_searchsorted, nullptr, kPure, Cases("f32[5]{sorted}, 0.5", "f32[5]{sorted}, 1, right=true")},
    {"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", infer_one_hot, decompose_one_hot, nullptr, kPure,
     Cases("i64[1, 2]{=2, 0}", "i64[3]{=1, 0, 3}, 5")},
    {"aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
     "-> Tensor",
     nullptr, decompose_isin, nullptr, kPure, Cases("i64[3, 4], i64[3, 4]{index<10}")},
    {"aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) "
     "-> Tensor",
     nullptr, decompose_isin, nullptr, kPure, Cases("i64[3, 4], 2")},
    {"aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
     "-> Tensor",
     nullptr, decompose_isin, nullptr, kPure, Cases("2, i64[4]{index<4}")},
    {"aten::argwhere(Tensor self) -> Tensor", infer_nonzero, decompose_argwhere, nullptr, kDataDependent,
     Cases("f32[3, 4]", "bool[3, 4]")},
    {"aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", infer_same, nullptr,
     "aten::put.out", kNoStock | kAlsoInPlace, Cases("f32[3, 4], i64[3]{=2, 0, 1}, f32[3]")},
    {"aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
     "(Tensor, Tensor, Tensor)",
     infer_unique_consecutive, nullptr, "aten::unique_consecutive.out", kNoStock | kDataDependent,
     Cases("f32[2, 6]{range=0..3}", "i64[4, 2]{index<4}, false, true, 0", "f32[2, 6]{range=0..3}, true")},
    {"aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> "
     "(Tensor, Tensor, Tensor)",
     infer_unique_consecutive, decompose_unique_dim_consecutive, nullptr, kDataDependent,
     Cases("i64[3, 2]{=1, 2, 1, 2, 3, 1}, 0, true, true")},
    {"aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
     "(Tensor, Tensor, Tensor)",
     infer_unique_consecutive, nullptr, "aten::unique_dim.out", kNoStock | kDataDependent,
     Cases("i64[4, 2]{index<4}, 0", "i64[4, 2]{index<4}, 1, true, true")},
};
const size_t kIndexingCount = std::size(kIndexingRows);

}  // namespace wick::compiler
