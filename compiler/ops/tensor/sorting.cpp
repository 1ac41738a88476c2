// Order and selection by value: sorting, unique elements, positions among boundaries.
#include <algorithm>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// --- order ---

int64_t sorted_dim(const Node& node) { return wrap_dim(node.static_integer("dim"), node.tensor("self")->rank()); }

void infer_sort(Node& node) {
  const Value* x = node.tensor("self");
  sorted_dim(node);
  set_result(node, 0, x->dtype(), x->sizes());
  set_result(node, 1, DType::i64, x->sizes());
}
void infer_argsort(Node& node) {
  sorted_dim(node);
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
  const int64_t dim = sorted_dim(node);
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

// The top 1 of one element is that element, as in routers with a single group of experts.
Results decompose_topk(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (x->rank() == 0 || !node.integer("k").is(1)) return {};
  if (!x->sizes()[static_cast<size_t>(sorted_dim(node))].is(1)) return {};
  return {x, b.full(x->sizes(), 0, DType::i64)};
}

void infer_order_statistic(Node& node) {  // kthvalue, median, mode
  const Value* x = node.tensor("self");
  const int64_t dim = sorted_dim(node);
  if (node.op->parsed->find("k") >= 0 && node.integer("k").is_const())
    require(node.integer("k").value() > 0, "kthvalue counts from 1");
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
// The columns of nonzero.
void infer_where_indices(Node& node) {
  infer_preset(node);
  for (const Value* result : node.results()) {
    if (result->rank() != 1 || result->dtype() != DType::i64) reject("where: a result is not a vector of i64");
  }
}
// Results: the values, for each element the index of its value, the counts. Results not asked for are empty vectors.
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
// Results: the values along a dimension (or of the flat tensor), for each element the index of its value, the counts.
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
  Value* condition = node.operands()[0];
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

// --- positions ---

// A tree of this many elements has two constants of 32 KiB each. Longer sequences are searched by intervals, so that
// the constants of a program with many searches stay in proportion.
constexpr int64_t kMostInTree = (int64_t{1} << 12) - 1;

// Eager's binary search among `length` elements, as a tree. The children of node i of a level are nodes 2i (if the
// element stops the search) and 2i + 1 of the next level. `elements` holds the levels one after the other.
struct SearchTree {
  int64_t levels = 0;
  std::vector<int64_t> elements;   // the index of the element that each node compares
  std::vector<int64_t> positions;  // the results: the positions at the nodes behind the last level

  explicit SearchTree(int64_t length) {
    struct Interval {
      int64_t low, high;
    };
    std::vector<Interval> level = {{0, length}};
    for (; (int64_t{1} << levels) <= length; ++levels) {
      std::vector<Interval> next;
      for (const auto [low, high] : level) {
        const int64_t middle = low + (high - low) / 2;
        const bool done = low == high;  // ends one level before its neighbours; its comparison changes nothing
        elements.push_back(std::min(middle, length - 1));
        next.push_back({low, done ? low : middle});
        next.push_back({done ? low : middle + 1, high});
      }
      level = std::move(next);
    }
    for (const Interval& each : level) positions.push_back(each.low);
  }
};

// The functions below find the position of each element of `x` [.., m] in the rows of `sorted` [.., n]. An element of
// `sorted` stops the search if it is >= that of `x`, or > if `right`; NaN never does. Both forms take a few operators
// for each step and one copy of `sorted`: the tree of up to 2*n elements, the interval of n + 1.

// 0 < n <= kMostInTree
Value* search_tree(Compose& c, Value* sorted, Value* x, bool right) {
  const SearchTree tree(sorted->sizes().back().value());
  const auto count = [](const std::vector<int64_t>& values) { return Sym(static_cast<int64_t>(values.size())); };
  const int64_t dim = static_cast<int64_t>(sorted->rank()) - 1;
  Value* elements = c.index_select(sorted, dim, c.constant_i64(tree.elements, {count(tree.elements)}));
  // Node i of a level has number 2^level - 1 + i in `elements`. The children of number k are 2k + 1 and 2k + 2.
  Value* node = nullptr;
  int64_t level = 0;
  do {  // there is at least one level
    Value* at = node ? c.b.call("aten.gather", {elements, dim, node}) : c.b.slice(elements, dim, 0, 1);
    Value* stops = c.compare(right ? "gt" : "ge", at, x);
    // The nodes behind the last level are numbered from 0.
    const int64_t first = level + 1 < tree.levels ? 1 : 2 - (int64_t{1} << tree.levels);
    Value* step = c.where(stops, first, first + 1, DType::i64);
    node = node ? c.b.call("aten.add.Tensor", {step, node, 2}) : step;
  } while (++level < tree.levels);
  Value* flat = c.b.reshape(node, {numel(node->sizes())});
  Value* positions = c.index_select(c.constant_i64(tree.positions, {count(tree.positions)}), 0, flat);
  return c.b.reshape(positions, node->sizes());
}

// For any n, in as many steps as its upper bound needs. Where low and high are equal, a step keeps them, and may read
// the padding element behind the last one.
Value* search_interval(Compose& c, Value* sorted, Value* x, bool right) {
  const Sym n = sorted->sizes().back();
  const int64_t most = std::min<int64_t>(SymScope::range(n).max, std::numeric_limits<int32_t>::max());
  const int64_t dim = static_cast<int64_t>(sorted->rank()) - 1;
  Value* elements = c.pad(sorted, {0, 1});
  Value* low = c.b.call("aten.full", {x->sizes(), 0, DType::i64});
  Value* high = c.add(low, c.tensor(n, DType::i64));
  for (int64_t left = most; left > 0; left /= 2) {
    Value* middle = c.div_mode(c.add(low, high), 2, "floor");
    Value* stops = c.compare(right ? "gt" : "ge", c.b.call("aten.gather", {elements, dim, middle}), x);
    low = c.where(stops, low, c.minimum(c.add(middle, 1), high));
    high = c.where(stops, middle, high);
  }
  return low;
}

// `x` has the same leading sizes as `sorted`, unless `sorted` is a vector.
Value* positions_in(Compose& c, Value* sorted, Value* x, bool right, DType dtype) {
  const Sizes sizes = x->sizes();
  const bool in_vector = sorted->rank() == 1;
  const Sym n = sorted->sizes().back();
  if (in_vector && sizes.size() != 1) x = c.b.reshape(x, {numel(sizes)});
  const bool in_tree = n.is_const() && n.value() > 0 && n.value() <= kMostInTree;
  Value* positions = in_tree ? search_tree(c, sorted, x, right) : search_interval(c, sorted, x, right);
  if (in_vector && sizes.size() != 1) positions = c.b.reshape(positions, sizes);
  return c.b.cast(positions, dtype);
}

// The searched number or tensor, for boundaries of `dtype`. A float number stays one beside integer boundaries.
Value* number_or_tensor(Compose& c, const Arg& sought, DType dtype) {
  return c.tensor(sought, is_float_number(sought) && is_integral(dtype) ? DType::f64 : dtype);
}
Results decompose_bucketize(Builder& b, Node& node) {
  Compose c(b);
  Value* boundaries = node.tensor("boundaries");
  Value* x = number_or_tensor(c, node.arg("self"), boundaries->dtype());
  require_rank(boundaries, 1, "bucketize: boundaries");
  return {positions_in(c, boundaries, x, node.boolean("right"), node.boolean("out_int32") ? DType::i32 : DType::i64)};
}

// The position at which each element of self would be inserted.
void infer_position(Node& node) {
  set_result(node, node.boolean("out_int32") ? DType::i32 : DType::i64, node.tensor("self")->sizes());
}

Results decompose_searchsorted(Builder& b, Node& node) {
  Compose c(b);
  Value* sorted = node.tensor("sorted_sequence");
  Value* x = number_or_tensor(c, node.arg("self"), sorted->dtype());
  const bool right = node.boolean("right") || (!node.is_none("side") && node.string("side") == "right");
  const DType dtype = node.boolean("out_int32") ? DType::i32 : DType::i64;
  require(sorted->rank() >= 1, "searchsorted of a scalar");
  if (Value* sorter = node.optional_tensor("sorter")) sorted = b.call("aten.gather", {sorted, -1, sorter});
  require(sorted->rank() == 1 || x->rank() == sorted->rank(), "searchsorted: ranks differ");
  return {positions_in(c, sorted, x, right, dtype)};
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

// A number is compared as an element of the tensor.
Results decompose_isin(Builder& b, Node& node) {
  Compose c(b);
  const bool one = node.op->parsed->find("element") >= 0, in_one = node.op->parsed->find("test_element") >= 0;
  Value* found = nullptr;
  if (in_one) {
    found = c.compare("eq", node.tensor("elements"), node.arg("test_element"));
  } else {
    Value* set = node.tensor("test_elements");
    set = b.reshape(set, {numel(set->sizes())});
    Value* x = one ? nullptr : node.tensor("elements");
    const int64_t last = one ? 0 : static_cast<int64_t>(x->rank());
    Value* equal = one ? c.compare("eq", set, node.arg("element")) : c.compare("eq", b.unsqueeze(x, last), set);
    found = c.any(equal, {last});
  }
  return {node.boolean("invert") ? c.logical_not(found) : found};
}

}  // namespace

const OpDef kSortingRows[] = {
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", infer_sort,
     nullptr, "aten::sort.values", kNoStock | kKeepsZero | kPassesBoth | ranges::operands,
     Cases("f32[3, 4]", "f32[3, 5]{distinct}, -1, false", "i64[9]")},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
     "indices)",
     infer_sort, nullptr, "aten::sort.values_stable", kNoStock | kKeepsZero | kPassesBoth | ranges::operands,
     Cases("f32[3, 4], stable=true", "i64[5]{=2, 1, 2, 1, 0}, stable=true, dim=0, descending=true")},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", infer_argsort, decompose_argsort,
     nullptr, kPure, Cases("f32[3, 4], 1", "f32[3, 4], -1, true", "f32[3, 5]{distinct}")},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", infer_argsort,
     decompose_argsort, "aten::argsort.stable_out", kNoStock,
     Cases("f32[3, 4]{distinct}, stable=true", "i64[8]{index<3}, stable=true, dim=0, descending=true")},
    {"aten::msort(Tensor self) -> Tensor", infer_same, decompose_msort, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor "
     "indices)",
     infer_topk, decompose_topk, "aten::topk.values", kPassesBoth | kKeepsZero | ranges::operands | Growth::keeps,
     Cases("f32[3, 4], 2", "f32[5]{special}, 3, 0, false", "f32[4, 5]{distinct}, 2, -1, true")},
    {"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_order_statistic, nullptr, "aten::kthvalue.values", kNoStock | kKeepsZero, Cases("f32[3, 4], 2")},
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
    {"aten::nonzero_numpy(Tensor self) -> Tensor[]", infer_where_indices, decompose_where_indices, nullptr,
     kDataDependent, Cases("f32[3, 4]{special}")},
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
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     infer_position, decompose_bucketize, "aten::bucketize.Tensor_out", kNoStock,
     Cases("f32[3, 4], f32[5]{sorted}", "f32[3]{special}, f32[5]{sorted}, right=true")},
    {"aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     nullptr, decompose_bucketize, nullptr, kPure, Cases("0.5, f32[5]{sorted}", "1, f32[5]{sorted}, right=true")},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None) -> Tensor",
     infer_position, decompose_searchsorted, "aten::searchsorted.Tensor_out", kNoStock,
     Cases("f32[5]{sorted}, f32[3]{special}", "f32[4]{=3, 1, 4, 2}, f32[3, 4], sorter=i64[4]{=1, 3, 0, 2}",
           "f32[2, 2]{=3, 1, 2, 4}, f32[2, 3], sorter=i64[2, 2]{=1, 0, 0, 1}")},
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
const size_t kSortingCount = std::size(kSortingRows);

}  // namespace wick::compiler
