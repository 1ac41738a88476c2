// Reading and writing elements by index.
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

// Scales the rows of `self` that `indices` names down to max_norm, where their norm is larger.
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
  index_dim(node);
  set_result(node, x->dtype(), index->sizes());
  if (numel(index->sizes()).is(0)) return;  // eager does not check an empty index further
  require(is_index(index->dtype()), "gather: the index is not i32 or i64");
  const bool fits = std::max<size_t>(x->rank(), 1) == std::max<size_t>(index->rank(), 1);  // 0-d counts as 1-d
  if (!fits) reject("gather: ranks differ");
}
// Kernels take i64.
Results decompose_narrow_index(Builder& b, Node& node) {
  const int at = node.op->parsed->find("index");
  Value* index = node.tensor("index");
  if (index->dtype() == DType::i64) return {};
  Args args = node.args();
  args[static_cast<size_t>(at)] = b.cast(index, DType::i64);
  return {b.call(node.op->name(), std::move(args))};
}
Results decompose_gather(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *index = node.tensor("index");
  if (numel(index->sizes()).is(0)) return {b.full(index->sizes(), 0, x->dtype())};
  if (index->rank() > 0 || x->rank() == 0) return decompose_narrow_index(b, node);
  Value* vector = b.cast(b.reshape(index, {Sym(1)}), DType::i64);
  return {b.reshape(b.call("aten.gather", {x, 0, vector}), {})};
}
// Adds the size to negative indices, which count from the end in take_along_dim with a `dim`. Without one, and in
// gather, they do not.
Value* count_from_end(Builder& b, Value* index, const Sym& size) {
  Compose c(b);
  return c.where(c.compare("lt", index, 0), c.add(index, size), index, index->dtype());
}

Results decompose_take_along(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *index = node.tensor("indices");
  if (node.is_none("dim")) {
    return {b.call("aten.gather", {b.reshape(x, {numel(x->sizes())}), 0, b.reshape(index, {numel(index->sizes())})})};
  }
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  require(x->rank() == index->rank() && x->rank() > 0, "take_along_dim: ranks differ");
  index = count_from_end(b, index, x->sizes()[static_cast<size_t>(dim)]);
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

// Indices, padded to the rank of x. A mask of rank n is followed by n - 1 nulls.
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

// Index tensors are broadcast together. Their sizes replace the indexed dimensions if these are neighbours, else they
// come first.
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
  if (a.has_mask) {  // the size is the number of true elements, which the importer has preset
    if (!node.result()->type.is_tensor() || node.result()->rank() == 0)
      reject("index by a mask needs its result type from the exported program");
    if (node.result()->dtype() != x->dtype()) reject("index: the result has a different dtype");
    return;
  }
  set_result(node, x->dtype(), indexed_sizes(x, a.indices));
}

// Converts integer indices to i64.
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
  const Advanced a = advanced_of(node);
  // With a mask, eager takes a single value of another dtype.
  if (x->dtype() != values->dtype() && !(a.has_mask && numel(values->sizes()).is(1)))
    reject("index_put: the values have a different dtype");
  if (!a.has_mask) {
    const Sizes indexed = indexed_sizes(x, a.indices);
    require(values->rank() <= indexed.size(), "index_put: the values have more dimensions than what they replace");
    require(broadcast(indexed, values->sizes()) == indexed, "index_put: the values are larger than what they replace");
  }
  infer_same(node);
}
// x[mask] = scalar is where(mask, scalar, x).
Results decompose_index_put(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *values = b.cast(node.tensor("values"), x->dtype());
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
  if (node.is("aten.index_put.default") && values == node.tensor("values")) return {};
  return {b.call("aten.index_put", {x, given, values, accumulate})};
}

// Indices into the dimensions of `x`, clamped to [-size, size - 1].
Values cut_indices(Compose& c, const Value* x, Values indices) {
  require(indices.size() <= x->rank(), "index: too many indices");
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    require(is_index(indices[i]->dtype()), "a masked index is not i32 or i64");
    const Sym size = x->sizes()[i];
    indices[i] = c.clamp(indices[i], Sym(0) - size, size - 1);
  }
  return indices;
}

// Where `mask` is false, indices may be out of range and the result is `fill`.
Results decompose_masked_index(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *mask = node.tensor("mask");
  require(mask->dtype() == DType::boolean, "the mask is not bool");
  const Values indices = node.tensors("indices");
  if (numel(x->sizes()).is(0)) return {b.full(indexed_sizes(x, indices), node.arg("fill"), x->dtype())};
  Value* found = c.call("aten.index.Tensor", {x, cut_indices(c, x, indices)});
  return {c.call("aten.masked_fill.Scalar", {found, c.logical_not(mask), node.arg("fill")})};
}

Results decompose_masked_index_put(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *mask = node.tensor("mask");
  require(mask->dtype() == DType::boolean, "the mask is not bool");
  if (numel(x->sizes()).is(0)) return {x};
  Value* values = c.call("aten.masked_fill.Scalar", {node.tensor("values"), c.logical_not(mask), Sym(0)});
  return {c.call("aten.index_put", {x, cut_indices(c, x, node.tensors("indices")), values, true})};
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

// index_put with the index for dimension `dim`
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
  // Dimensions before the indexed one are whole, so the values of index_put have the index in the same dimension.
  Value* out = put_along(b, x, dim, index, source, add);
  return {scalar ? b.reshape(out, {}) : out};
}

// A scalar counts as a vector of one element.
void require_equal_ranks(const Value* a, const Value* b) {
  if (std::max<size_t>(a->rank(), 1) != std::max<size_t>(b->rank(), 1)) reject("scatter: ranks differ");
}
void infer_scatter(Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  require(is_index(index->dtype()), "scatter: the index is not i32 or i64");
  index_dim(node);
  require_equal_ranks(x, index);
  if (node.op->parsed->find("src") >= 0) require_equal_ranks(index, node.tensor("src"));
  if (node.op->parsed->find("src") >= 0 && node.tensor("src")->dtype() != x->dtype())
    reject("scatter: the source has a different dtype");
  infer_same(node);
}

void infer_scatter_reduce(Node& node) {
  require(!is_complex(node.tensor("self")->dtype()), "a scatter that reduces takes no complex numbers");
  const std::string reduce = node.string("reduce");
  if (node.op->parsed->find("include_self") < 0)
    require(reduce == "add" || reduce == "multiply", "scatter: reduce is neither add nor multiply");
  else
    require(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
            "scatter_reduce: reduce is none of sum, prod, mean, amax and amin");
  infer_scatter(node);
}

// Complex numbers are summed part by part.
Results decompose_scatter_add(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *index = node.tensor("index"), *source = node.tensor("src");
  if (!is_complex(x->dtype())) return decompose_narrow_index(b, node);
  if (x->rank() == 0) {
    x = b.reshape(x, {Sym(1)});
    index = b.reshape(index, {Sym(1)});
    source = b.reshape(source, {Sym(1)});
  }
  Sizes sizes = index->sizes();
  sizes.push_back(2);
  Value* sum = b.call("aten.scatter_add",
                      {b.call("aten.view_as_real", {x}), wrap_dim(node.static_integer("dim"), x->rank()),
                       b.expand(b.unsqueeze(index, -1), std::move(sizes)), b.call("aten.view_as_real", {source})});
  return {b.reshape(b.call("aten.view_as_complex", {sum}), node.tensor("self")->sizes())};
}

void infer_masked_scatter(Node& node) {
  const Value *x = node.tensor("self"), *mask = node.tensor("mask");
  require(mask->dtype() == DType::boolean, "masked_scatter: the mask is not bool");
  if (node.tensor("source")->dtype() != x->dtype()) reject("masked_scatter: the source has a different dtype");
  set_result(node, x->dtype(), broadcast(x->sizes(), mask->sizes()));
}

void infer_put(Node& node) {
  require(is_index(node.tensor("index")->dtype()), "put: the index is not i32 or i64");
  infer_same(node);
}

// self with a slice, a row, a diagonal replaced
void infer_write_view(Node& node) {
  const Value *x = node.tensor("self"), *source = node.tensor("src");
  if (is_complex(source->dtype()) && !is_complex(x->dtype())) reject("complex numbers are written into real ones");
  if (node.op->parsed->find("stride") >= 0)
    require(node.ints("size").size() == node.ints("stride").size(), "sizes and strides differ in length");
  infer_same(node);
}
// Converts the written tensor to the dtype of `self`.
Value* converted_source(Builder& b, Node& node) { return b.cast(node.tensor("src"), node.tensor("self")->dtype()); }

Results decompose_strided_scatter(Builder& b, Node& node) {
  Args args = node.args();
  args[1] = converted_source(b, node);
  return args[1] == node.arg(1) ? Results{} : Results{b.call("aten.as_strided_scatter", std::move(args))};
}

// where(on the diagonal, source, self). The source is aligned with the rows of dim1 and broadcast along dim2.
Results decompose_diagonal_scatter(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *source = converted_source(b, node);
  const int64_t offset = node.static_integer("offset"), dim1 = wrap_dim(node.static_integer("dim1"), x->rank()),
                dim2 = wrap_dim(node.static_integer("dim2"), x->rank());
  require(x->rank() >= 2 && dim1 != dim2 && source->rank() + 1 == x->rank(),
          "diagonal_scatter: the dimensions do not fit");
  const Sym rows = x->sizes()[static_cast<size_t>(dim1)], columns = x->sizes()[static_cast<size_t>(dim2)];
  require(offset >= -INT32_MAX, "diagonal_scatter: the offset lies outside");
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
  Value *x = node.tensor("self"), *source = converted_source(b, node);
  const auto [dim, start, end, step] = slice_bounds(node);
  Sizes sizes = x->sizes();
  sizes[static_cast<size_t>(dim)] = ceil_div(end - start, step);
  if (sizes == x->sizes()) return {b.expand(source, x->sizes())};
  const auto same = [&node](const char* name, const Sym& value) {
    return !node.is_none(name) && node.integer(name) == value;
  };
  const bool plain = source == node.tensor("src") && source->sizes() == sizes;
  if (plain && same("dim", dim) && same("start", start) && same("end", end)) return {};
  return {b.call("aten.slice_scatter", {x, b.expand(source, sizes), dim, start, end, step})};
}
Results decompose_select_scatter(Builder& b, Node& node) {
  Value *x = node.tensor("self"), *source = converted_source(b, node);
  const int64_t dim = index_dim(node);
  require(x->rank() > 0, "select_scatter of a scalar");
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  Sym index = node.integer("index");
  if (index.is_const() && index.value() < 0) index = size + index;
  if (index.is_const() && (index.value() < 0 || (size.is_const() && index.value() >= size.value())))
    reject("select_scatter: the index is out of range");
  Sizes sizes = x->sizes();
  sizes.erase(sizes.begin() + dim);
  const bool plain = source == node.tensor("src") && source->sizes() == sizes;
  if (plain && node.integer("dim") == Sym(dim) && node.integer("index") == index) return {};
  return {b.call("aten.select_scatter", {x, b.expand(source, sizes), dim, index})};
}

}  // namespace

const OpDef kIndexingRows[] = {
    {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
     "sparse=False) -> Tensor",
     infer_embedding, nullptr, "aten::embedding.out", kPassesBoth | kWeightedSum | ranges::operands | Growth::keeps,
     Cases("f32[7, 4], i64[0]", "f32[7, 4], i64[]{=3}", "f32[7, 4], i32[3]{=4, 3, 1}")},
    {"aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", infer_same,
     decompose_embedding_renorm, nullptr, kAlsoInPlace,
     Cases("f32[4, 3], i64[2]{=2, 0}, 0.5, 2.0", "f32[4, 3], i64[2, 2]{=1, 1, 3, 1}, 1.0, 1.0")},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", infer_index_select, decompose_index_select,
     "aten::index_select.out", kPassesBoth | kMoves | Movement::index_select | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 0, i32[1]{=1}", "f32[3, 4], -1, i64[3]{=2, 0, 2}")},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", infer_gather,
     decompose_gather, "aten::gather.out", kPassesBoth | kMoves | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}", "f32[3, 4], 0, i32[2, 4]{index<3}",
           "i64[2, 3, 4], 2, i64[2, 3, 2]{index<3}", "f32[3, 3]{range=0.2..2.8}, -1, i64[2, 3]{=0, 0, 1, 2, 1, 0}")},
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
     decompose_index_put, "aten::index_put.out",
     kOverwrites | kAlsoInPlace | kPassesBoth | ranges::accumulated | Growth::keeps,
     Cases("f32[3, 4], [bool[3, 4]], f32[]{=7}", "f32[3, 4], [i64[3]{=0, 0, 2}], f32[3, 4], true",
           "f32[3, 4], [i64[2]{=0, 2}, i64[2]{=1, -1}], f32[2]")},
    {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     infer_index_put, decompose_index_put, nullptr, kPure,
     Cases("f32[5, 2], [i64[2]{=3, 1}], f32[2, 2]", "f32[5], [i64[4]{index<5}], f32[4], true")},
    {"aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", nullptr,
     decompose_masked_index, nullptr, kMoves | Numbers::fit,
     Cases("f32[3, 4], bool[2]{=1, 0}, [i64[2]{=2, 9}, i64[2]{=1, -7}], 0.5",
           "f32[3, 4], bool[3, 2], [None, i64[2]{index<4}], 0")},
    {"aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
     nullptr, decompose_masked_index_put, nullptr, kPure,
     Cases("f32[3, 4], bool[3]{=1, 0, 1}, [i64[3]{=2, 9, -3}, i64[3]{=1, -7, 1}], f32[3]")},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", infer_index_write,
     decompose_index_write, "aten::index_copy.out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[1]{=0}, f32[3, 1]")},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     infer_index_write, decompose_index_write, nullptr, kAlsoInPlace | Numbers::fit,
     Cases("f32[3, 4], 0, i64[3]{=2, 0, 1}, f32[3, 4]", "f32[3, 4], 1, i64[2]{=1, 1}, f32[3, 2], alpha=2")},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", infer_index_write,
     decompose_index_write, nullptr, kAlsoInPlace | Numbers::fit, Cases("f32[3, 4], 0, i64[1]{=2}, 5.0")},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", infer_index_write,
     decompose_index_write, nullptr, kAlsoInPlace, Cases("f32[3, 4], 1, i64[2]{=0, 3}, f32[]")},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer_scatter,
     decompose_narrow_index, "aten::scatter.src_out", kAlsoInPlace | kPassesBoth | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, f32[3, 4]", "f32[3, 4], 0, i32[1, 4]{index<3}, f32[1, 4]")},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", infer_scatter,
     decompose_narrow_index, "aten::scatter.value_out", kAlsoInPlace | Numbers::fit | ranges::select,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, 1.5", "f32[3, 3], -1, i64[1, 3]{=2, 0, 1}, 2.5")},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
     infer_scatter_reduce, decompose_narrow_index, "aten::scatter.reduce_out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 2]{index<4}, f32[3, 2], reduce=add",
           "f32[3, 4], 0, i64[2, 4]{index<3}, f32[2, 4], reduce=multiply")},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
     infer_scatter_reduce, decompose_narrow_index, "aten::scatter.value_reduce_out",
     kNoStock | Numbers::fit | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 2]{index<4}, 2.0, reduce=add",
           "f32[3, 4], 0, i64[2, 4]{index<3}, 2.0, reduce=multiply")},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer_scatter,
     decompose_scatter_add, "aten::scatter_add.out", kAlsoInPlace | kPassesBoth | ranges::accumulated | Growth::keeps,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, f32[3, 4]", "f32[3, 4], 0, i32[3, 4]{index<3}, f32[3, 4]",
           "i64[4]{=-7, 6, 2, 4}, 0, i64[3]{=0, 0, 3}, i64[3]{=-1, 6, -9}",
           "f32[3, 3], -1, i64[2, 3]{=2, 0, 1, 1, 1, 2}, f32[3, 3]")},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) "
     "-> Tensor",
     infer_scatter_reduce, decompose_narrow_index, "aten::scatter_reduce.two_out", kNoStock | kAlsoInPlace,
     Cases("f32[3, 4], 1, i64[3, 4]{index<3}, f32[3, 4], amax",
           "f32[3, 3], 0, i64[2, 3]{=0, 1, 0, 1, 1, 1}, f32[2, 3], sum, include_self=true")},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", infer_masked_scatter, nullptr,
     "aten::masked_scatter.out", kAlsoInPlace,
     Cases("f32[3, 3], bool[3, 3], f32[5]", "f32[3, 4], bool[3, 4], f32[3, 4]", "f32[4], bool[4]{=0, 0, 0, 0}, f32[0]",
           "f32[2, 2], bool[2]{=0, 0}, f32[2, 0]")},
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
     infer_write_view, decompose_strided_scatter, "aten::as_strided_scatter.out", kNoStock | kStorage,
     Cases("f32[6], f32[2, 2], [2, 2], [3, 1]", "f32[3, 4], f32[2, 2], [2, 2], [1, 2]")},
    {"aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", infer_put, nullptr,
     "aten::put.out", kNoStock | kAlsoInPlace, Cases("f32[3, 4], i64[3]{=2, 0, 1}, f32[3]")},
};
const size_t kIndexingCount = std::size(kIndexingRows);

}  // namespace wick::compiler
