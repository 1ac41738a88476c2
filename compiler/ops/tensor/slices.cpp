// Slices, selects and splits: views of a part of a tensor.
#include <algorithm>
#include <numeric>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"
#include "compiler/ops/sharing.h"
#include "compiler/ops/tensor/view_writes.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// --- slices ---

void infer_slice(Node& node) {
  const Value* x = node.tensor("self");
  const SliceBounds r = slice_bounds(node);
  Sizes sizes = x->sizes();
  sizes[static_cast<size_t>(r.dim)] = ceil_div(r.end - r.start, r.step);
  set_result(node, x->dtype(), std::move(sizes));
}

Results decompose_slice(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const SliceBounds r = slice_bounds(node);
  if (r.start.is(0) && r.step.is(1) && r.end == x->sizes()[static_cast<size_t>(r.dim)]) return {x};
  auto same = [&](const char* name, const Sym& wanted) { return !node.is_none(name) && node.integer(name) == wanted; };
  if (node.is("aten.slice.Tensor") && same("dim", r.dim) && same("start", r.start) && same("end", r.end)) return {};
  return {b.call("aten.slice.Tensor", {x, r.dim, r.start, r.end, r.step})};
}

Sym select_index(const Node& node, int64_t dim) {
  const Sym& size = node.tensor("self")->sizes()[static_cast<size_t>(dim)];
  const Sym index = node.integer("index");
  if (index.is_const() && size.is_const() && (index.value() >= size.value() || index.value() < -size.value()))
    reject("select: index out of range");
  return index.is_const() ? from_start(index, size) : index;
}

void infer_select(Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "select of a scalar");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  select_index(node, dim);
  Sizes sizes = x->sizes();
  sizes.erase(sizes.begin() + dim);
  set_result(node, x->dtype(), std::move(sizes));
}

Results decompose_select(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  const Sym index = select_index(node, dim);
  if (node.is("aten.select.int") && node.integer("dim") == Sym(dim) && node.integer("index") == index) return {};
  return {b.call("aten.select.int", {x, dim, index})};
}

void infer_narrow(Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "narrow of a scalar");
  Sizes sizes = x->sizes();
  sizes[static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()))] = node.integer("length");
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_narrow(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  const Sym start = from_start(node.integer("start"), size);
  const Sym end = start + node.integer("length");
  if (end.is_const() && size.is_const() && (end.value() > size.value() || start.value() < 0))
    reject("narrow: out of range");
  return {b.slice(x, dim, start, end)};
}

// --- pieces: one value each ---

Results pieces(Builder& b, Value* x, int64_t dim, const Ints& cuts) {
  Results out;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) out.push_back(b.slice(x, dim, cuts[i], cuts[i + 1]));
  return out;
}

// Cuts into pieces of size `piece`. For symbolic sizes the exported program says how many there are.
Results split_every(Builder& b, Node& node, Value* x, int64_t dim, const Sym& piece) {
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  const size_t count = node.results().size();
  Ints cuts{0};
  if (size.is_const() && piece.is_const()) {
    const int64_t n = size.value(), step = piece.value();
    require(step > 0 || n == 0, "split size must be positive");
    require(step <= 0 || n / step < 1000000, "split gives too many pieces");
    if (n == 0) return {x};
    for (int64_t at = 0; at < n; at += step) cuts.push_back(std::min(at + step, n));
  } else {
    for (size_t i = 1; i < count; ++i) cuts.push_back(piece * Sym(static_cast<int64_t>(i)));
    cuts.push_back(size);
  }
  return pieces(b, x, dim, cuts);
}

int64_t split_dim(const Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "split of a scalar");
  return wrap_dim(node.static_integer("dim"), x->rank());
}

Results decompose_split(Builder& b, Node& node) {
  return split_every(b, node, node.tensor("self"), split_dim(node), node.integer("split_size"));
}

Results decompose_chunk(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const int64_t dim = split_dim(node), chunks = node.static_integer("chunks");
  require(chunks > 0, "chunk needs a positive number of chunks");
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  if (size.is(0)) return Results(static_cast<size_t>(std::min<int64_t>(chunks, 1024)), x);
  return split_every(b, node, x, dim, ceil_div(size, chunks));
}

Results split_sizes(Builder& b, Node& node, const char* name) {
  Value* x = node.tensor("self");
  const int64_t dim = split_dim(node);
  Ints cuts{0};
  for (const Sym& piece : node.ints(name)) {
    if (piece.is_const() && piece.value() < 0) reject("split: a size is negative");
    cuts.push_back(cuts.back() + piece);
  }
  require_equal(cuts.back(), x->sizes()[static_cast<size_t>(dim)], "split sizes");
  cuts.back() = x->sizes()[static_cast<size_t>(dim)];
  return pieces(b, x, dim, cuts);
}
Results decompose_split_with_sizes(Builder& b, Node& node) { return split_sizes(b, node, "split_sizes"); }
Results decompose_split_sizes(Builder& b, Node& node) { return split_sizes(b, node, "split_size"); }

Results split_sections(Builder& b, Value* x, int64_t dim, int64_t sections) {
  require(sections > 0 && sections < 1000000, "tensor_split needs a positive number of sections");
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  const Sym base = floor_div(size, sections), more = sym_mod(size, sections);
  Ints cuts{0};
  for (int64_t i = 1; i <= sections; ++i) cuts.push_back(base * Sym(i) + sym_min(more, i));
  cuts.back() = size;
  return pieces(b, x, dim, cuts);
}

Results split_indices(Builder& b, Value* x, int64_t dim, const Ints& indices) {
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  Results out;
  Sym start = 0;
  for (size_t i = 0; i <= indices.size(); ++i) {
    Sym end = i < indices.size() ? clamp_bound(indices[i], size) : size;
    if (start.is_const() && end.is_const() && end.value() < start.value()) {
      out.push_back(b.slice(x, dim, end, end));
    } else {
      out.push_back(b.slice(x, dim, start, end));
    }
    start = end;
  }
  return out;
}

// Cuts at the positions that a vector holds, like slices with these bounds.
Results split_at_elements(Builder& b, Node& node, Value* x, int64_t dim, Value* indices) {
  Compose c(b);
  const Sym& size = x->sizes()[static_cast<size_t>(dim)];
  require(indices->dtype() == DType::i64, "tensor_split: the indices are not i64");
  require_rank(indices, 1, "tensor_split: the indices");
  const Sym& count = indices->sizes()[0];
  require(count.is_const() && count.value() < 1000000, "tensor_split: the number of pieces depends on data");
  Value* from_start = c.where(c.compare("lt", indices, 0), c.add(indices, size), indices);
  Value* places = c.maximum(from_start, c.tensor(0, DType::i64));
  Results out;
  Sym start = 0;
  for (int64_t i = 0; i <= count.value(); ++i) {
    Sym end = size;
    if (i < count.value()) {
      Node* item =
          b.graph().add_node(op("aten._local_scalar_dense.default"), {b.select(places, 0, i)}, 1, &node, "item");
      item->origin = node.origin;
      end = Sym::symbol(b.graph().unique_name("u_cut"));
      item->result()->type = Type::integer(end);
    }
    out.push_back(b.slice(x, dim, start, sym_max(start, end)));
    start = end;
  }
  return out;
}

Results decompose_tensor_split(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (node.op->parsed->find("tensor_indices_or_sections") >= 0)
    return split_at_elements(b, node, x, split_dim(node), node.tensor("tensor_indices_or_sections"));
  if (node.op->parsed->find("sections") >= 0)
    return split_sections(b, x, split_dim(node), node.static_integer("sections"));
  return split_indices(b, x, split_dim(node), node.ints("indices"));
}

// hsplit: dimension 1 (0 for vectors); vsplit: 0; dsplit: 2
template <int64_t along>
Results decompose_letter_split(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const int64_t dim = along == 1 && x->rank() == 1 ? 0 : along;
  require(static_cast<int64_t>(x->rank()) > dim, "too few dimensions to split");
  if (node.op->parsed->find("sections") >= 0) return split_sections(b, x, dim, node.static_integer("sections"));
  return split_indices(b, x, dim, node.ints("indices"));
}

Results decompose_unbind(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const int64_t dim = split_dim(node);
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  int64_t count = static_cast<int64_t>(node.results().size());
  if (size.is_const()) count = size.value();
  require(count < 1000000, "unbind gives too many values");
  Results out;
  for (int64_t i = 0; i < count; ++i) out.push_back(b.select(x, dim, i));
  return out;
}

}  // namespace

const OpDef kSliceRows[] = {
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
     infer_slice, decompose_slice, "aten::slice_copy.Tensor_out",
     kView | kPassesBoth | Movement::slice | ranges::operands | Growth::keeps | kPartwise | writes::slice |
         shares::always,
     Cases("f32[3, 4], 1, 0, 2", "i64[5]{=-2, -2, 1, -9, 1}, 0, 2", "f32[2, 5], 1, 0, -1, 1")},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
     infer_slice, decompose_slice, nullptr, kView, Cases("f32[3, 4], 1, 0, 2")},
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", infer_select, decompose_select,
     "aten::select_copy.int_out",
     kView | kPassesBoth | Movement::select | ranges::operands | Growth::keeps | kPartwise | writes::select |
         shares::always,
     Cases("f32[4], 0, 0", "f32[2, 3, 4], 1, -1", "f32[3, 4], 0, 0")},
    {"aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", infer_select, decompose_select, nullptr,
     kView, Cases("f32[3, 4], 0, 1")},
    {"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", infer_narrow, decompose_narrow,
     nullptr, kView | shares::always, Cases("f32[3, 4], 1, 1, 2", "f32[2, 5], 1, -3, 2")},
    {"aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", infer_narrow, decompose_narrow,
     nullptr, kView, Cases("f32[3, 4], 1, 1, 2")},
    {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", nullptr, decompose_split,
     nullptr, kView | shares::always, Cases("f32[3, 4], 2, 1")},
    {"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", nullptr,
     decompose_split_sizes, nullptr, kView | shares::always, Cases("f32[5, 2], [2, 3]", "f32[2, 5], [1, 1, 3], -1")},
    {"aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", nullptr, decompose_split,
     nullptr, kView | shares::unless_conjugated_or_negated, Cases("f32[3, 4], 2, 1")},
    {"aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", nullptr, decompose_split,
     nullptr, kView, Cases("f32[3, 4], 2", "f32[2, 6], 4, 1")},
    {"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", nullptr, decompose_chunk, nullptr,
     kView | shares::always, Cases("f32[3, 4], 3, 1", "f32[4, 7], 7, -1")},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", nullptr, decompose_chunk, nullptr,
     kView | shares::unless_conjugated_or_negated, Cases("f32[3, 4], 2, 1")},
    {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", nullptr,
     decompose_split_with_sizes, nullptr, kView | shares::always, Cases("f32[3, 4], [1, 3], 1", "i64[4, 7], [2, 2]")},
    {"aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", nullptr,
     decompose_split_with_sizes, nullptr, kView, Cases("f32[2, 6], [1, 5], 1")},
    {"aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", nullptr,
     decompose_split_with_sizes, nullptr, kView | shares::unless_conjugated_or_negated, Cases("f32[5, 2], [2, 3]")},
    {"aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", nullptr,
     decompose_tensor_split, nullptr, kView | shares::always, Cases("f32[7, 2], 3", "f32[3, 4], 3, 1")},
    {"aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", nullptr,
     decompose_tensor_split, nullptr, kView | shares::always, Cases("f32[7, 2], [2, 5]", "f32[3, 4], [1, 2], 1")},
    {"aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) "
     "-> Tensor(a)[]",
     nullptr, decompose_tensor_split, nullptr, kView | shares::always,
     Cases("f32[7, 2], i64[2]{=2, 5}", "f32[3, 4], i64[3]{=3, 1, -1}, 1", "f32[4], i64[0]")},
    {"aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", nullptr, decompose_letter_split<1>, nullptr,
     kView | shares::always, Cases("f32[3, 4], 2")},
    {"aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", nullptr, decompose_letter_split<1>,
     nullptr, kView | shares::always, Cases("f32[2, 4], [1, 3]")},
    {"aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", nullptr, decompose_letter_split<0>, nullptr,
     kView | shares::always, Cases("f32[2, 3, 4], 2")},
    {"aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", nullptr, decompose_letter_split<0>,
     nullptr, kView | shares::always, Cases("f32[4, 2], [1, 3]")},
    {"aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", nullptr, decompose_letter_split<2>, nullptr,
     kView | shares::always, Cases("f32[2, 3, 4], 2")},
    {"aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", nullptr, decompose_letter_split<2>,
     nullptr, kView | shares::always, Cases("f32[2, 2, 4], [1, 3]")},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", nullptr, decompose_unbind, nullptr,
     kView | shares::always, Cases("f32[3, 4]", "i64[3, 2]{=0, 2, 0, 0, 0, 1}, -1")},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", nullptr, decompose_unbind, nullptr, kView,
     Cases("f32[3, 4]", "f32[2, 6], 1")},
};
const size_t kSliceCount = std::size(kSliceRows);

}  // namespace wick::compiler
