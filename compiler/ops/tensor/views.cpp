// Views: data-movement operators of one tensor. In the IR they are view, permute, expand, slice, select and a few that
// no combination of these expresses. All others decompose to these here.
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

// `sizes`, with an entry of -1 replaced so that the number of elements is that of `from`.
Sizes resolve_sizes(const Sizes& from, Sizes sizes) {
  int hole = -1;
  Sym known = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is(-1)) {
      if (hole >= 0) reject("only one size can be -1");
      hole = static_cast<int>(i);
    } else {
      if (sizes[i].is_const() && sizes[i].value() < 0) reject("a size is negative");
      known = known * sizes[i];
    }
  }
  const Sym total = numel(from);
  if (hole >= 0) {
    if (known.is(0)) reject("cannot infer a size beside a size of 0");
    if (known.is_const() && total.is_const() && total.value() % known.value() != 0) {
      reject(fmt::format("{} elements do not divide by {}", total.text(), known.text()));
    }
    sizes[static_cast<size_t>(hole)] = floor_div(total, known);
  } else {
    require_equal(total, known, "number of elements of a view");
  }
  return sizes;
}

void infer_view(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype(), resolve_sizes(x->sizes(), node.ints("size")));
}
void infer_reshape(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype(), resolve_sizes(x->sizes(), node.ints("shape")));
}

// Forms that the sizes of the result describe completely become a view with these sizes.
Results decompose_to_view(Builder& b, Node& node) {
  Value* x = node.tensor(node.op->parsed->args[0].name);
  Sizes sizes = node.result()->sizes();
  if (sizes == x->sizes()) return {x};
  return {b.call("aten.view", {x, std::move(sizes)})};
}
// aten.view itself changes only if its sizes hold a -1.
Results decompose_view(Builder& b, Node& node) {
  if (node.ints("size") == node.result()->sizes() && node.is("aten.view.default")) return {};
  return decompose_to_view(b, node);
}

void infer_reshape_as(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype(), resolve_sizes(x->sizes(), node.tensor("other")->sizes()));
}

void infer_flatten(Node& node) {
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return set_result(node, x->dtype(), {1});
  const int64_t first = wrap_dim(node.static_integer("start_dim"), x->rank());
  const int64_t last = wrap_dim(node.static_integer("end_dim"), x->rank());
  require(first <= last, "flatten: start_dim is after end_dim");
  const Sizes& in = x->sizes();
  Sizes out(in.begin(), in.begin() + first);
  out.push_back(numel(Sizes(in.begin() + first, in.begin() + last + 1)));
  out.insert(out.end(), in.begin() + last + 1, in.end());
  set_result(node, x->dtype(), std::move(out));
}

void infer_ravel(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype(), {numel(x->sizes())});
}

void infer_unflatten(Node& node) {
  const Value* x = node.tensor("self");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  require(x->rank() > 0, "unflatten of a scalar");
  Sizes sizes = x->sizes();
  const Sizes parts = resolve_sizes({sizes[static_cast<size_t>(dim)]}, node.ints("sizes"));
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, parts.begin(), parts.end());
  set_result(node, x->dtype(), std::move(sizes));
}

void infer_unsqueeze(Node& node) {
  const Value* x = node.tensor("self");
  Sizes sizes = x->sizes();
  sizes.insert(sizes.begin() + wrap_dim(node.static_integer("dim"), x->rank() + 1), Sym(1));
  set_result(node, x->dtype(), std::move(sizes));
}

void set_squeezed(Node& node, const std::vector<int64_t>& dims) {
  const Value* x = node.tensor("self");
  Sizes sizes;
  for (size_t i = 0; i < x->rank(); ++i) {
    const bool listed = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!listed || !x->sizes()[i].is(1)) sizes.push_back(x->sizes()[i]);
  }
  set_result(node, x->dtype(), std::move(sizes));
}
void infer_squeeze(Node& node) { set_squeezed(node, all_dims(node.tensor("self")->rank())); }
void infer_squeeze_dim(Node& node) {
  set_squeezed(node, {wrap_dim(node.static_integer("dim"), node.tensor("self")->rank())});
}
void infer_squeeze_dims(Node& node) {
  std::vector<int64_t> dims = node.static_ints("dim");
  for (int64_t& dim : dims) dim = wrap_dim(dim, node.tensor("self")->rank());
  set_squeezed(node, dims);
}

// atleast_1d, 2d, 3d
Value* with_rank(Builder& b, Value* x, size_t rank) {
  const Sizes s = x->sizes();
  if (s.size() >= rank) return x;
  if (s.empty()) return b.reshape(x, Sizes(rank, Sym(1)));
  if (rank == 2) return b.reshape(x, {1, s[0]});
  return b.reshape(x, s.size() == 1 ? Sizes{1, s[0], 1} : Sizes{s[0], s[1], 1});
}
template <size_t rank>
Results decompose_atleast(Builder& b, Node& node) {
  Results out;
  for (Value* x : node.operands()) out.push_back(with_rank(b, x, rank));
  return out;
}

// --- order of dimensions ---

void set_permuted(Node& node, const std::vector<int64_t>& dims) {
  const Value* x = node.tensor("self");
  if (dims.size() != x->rank()) reject(fmt::format("permute lists {} dimensions of {}", dims.size(), x->rank()));
  std::vector<bool> seen(x->rank());
  Sizes sizes;
  for (int64_t dim : dims) {
    const auto at = static_cast<size_t>(wrap_dim(dim, x->rank()));
    if (seen[at]) reject("permute lists a dimension twice");
    seen[at] = true;
    sizes.push_back(x->sizes()[at]);
  }
  set_result(node, x->dtype(), std::move(sizes));
}

// The permutation that each form stands for.
std::vector<int64_t> dim_order_of(const Node& node) {
  const size_t rank = node.tensor("self")->rank();
  std::vector<int64_t> dims = all_dims(rank);
  const std::string_view name = node.op->name();
  auto has = [&](const char* arg) { return node.op->parsed->find(arg) >= 0; };
  auto swap = [&](int64_t a, int64_t c) {
    if (rank == 0) return;
    std::swap(dims[static_cast<size_t>(wrap_dim(a, rank))], dims[static_cast<size_t>(wrap_dim(c, rank))]);
  };
  if (has("dims")) return node.static_ints("dims");
  if (has("dim0")) {
    swap(wrap_dim(node.static_integer("dim0"), rank), wrap_dim(node.static_integer("dim1"), rank));
  } else if (has("axis0")) {
    swap(wrap_dim(node.static_integer("axis0"), rank), wrap_dim(node.static_integer("axis1"), rank));
  } else if (name.starts_with("aten.t.") || name.starts_with("aten.t_copy.")) {
    require(rank <= 2, "t() needs at most two dimensions");
    if (rank == 2) swap(0, 1);
  } else if (name.starts_with("aten.mT")) {
    require(rank >= 2, "mT needs at least two dimensions");
    swap(-1, -2);
  } else if (name.starts_with("aten.matrix_H")) {
    if (rank >= 2) swap(-1, -2);
  } else {  // numpy_T
    std::reverse(dims.begin(), dims.end());
  }
  return dims;
}

void infer_order(Node& node) { set_permuted(node, dim_order_of(node)); }

Results decompose_order(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  std::vector<int64_t> dims = dim_order_of(node);
  for (int64_t& dim : dims) dim = wrap_dim(dim, x->rank());
  const bool primitive = node.is("aten.permute.default");
  if (std::is_sorted(dims.begin(), dims.end())) return {x};
  if (primitive && node.static_ints("dims") == dims) return {};
  return {b.call("aten.permute", {x, to_ints(dims)})};
}

std::vector<int64_t> move_order(const Node& node) {
  const size_t rank = node.tensor("self")->rank();
  std::vector<int64_t> from, to;
  if (node.op->parsed->args[1].type == ArgType::integer) {
    from = {node.static_integer("source")};
    to = {node.static_integer("destination")};
  } else {
    from = node.static_ints("source");
    to = node.static_ints("destination");
  }
  require(from.size() == to.size(), "movedim: the lists differ in length");
  std::vector<int64_t> dims(rank, -1);
  std::vector<bool> used(rank);
  for (size_t i = 0; i < from.size() && rank > 0; ++i) {
    const auto source = static_cast<size_t>(wrap_dim(from[i], rank)),
               target = static_cast<size_t>(wrap_dim(to[i], rank));
    require(dims[target] < 0 && !used[source], "movedim lists a dimension twice");
    dims[target] = static_cast<int64_t>(source);
    used[source] = true;
  }
  size_t next = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (used[next]) ++next;
    dim = static_cast<int64_t>(next++);
  }
  return dims;
}
void infer_movedim(Node& node) { set_permuted(node, move_order(node)); }
Results decompose_movedim(Builder& b, Node& node) { return {b.permute(node.tensor("self"), move_order(node))}; }

// --- expand ---

Sizes expanded(const Value* x, Sizes sizes) {
  if (sizes.size() < x->rank()) reject("expand to fewer dimensions");
  const size_t lead = sizes.size() - x->rank();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool kept = i >= lead && sizes[i].is(-1);
    if (!kept && sizes[i].is_const() && sizes[i].value() < 0)
      reject(fmt::format("expand to a size of {}", sizes[i].value()));
    if (i < lead) continue;
    const Sym& old = x->sizes()[i - lead];
    if (kept)
      sizes[i] = old;
    else if (!old.is(1) && !may_equal(old, sizes[i])) {
      reject(fmt::format("expand: size {} cannot become {}", old.text(), sizes[i].text()));
    }
  }
  return sizes;
}

void infer_expand(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype(), expanded(x, node.ints("size")));
}
void infer_expand_as(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, x->dtype(), expanded(x, node.tensor("other")->sizes()));
}
Results decompose_expand(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const Sizes sizes = node.result()->sizes();
  if (sizes == x->sizes()) return {x};
  if (node.is("aten.expand.default") && node.ints("size") == sizes) return {};
  return {b.call("aten.expand", {x, sizes})};
}

Results decompose_broadcast_tensors(Builder& b, Node& node) {
  Sizes sizes;
  for (Value* x : node.tensors("tensors")) sizes = broadcast(sizes, x->sizes());
  Results out;
  for (Value* x : node.tensors("tensors")) out.push_back(b.expand(x, sizes));
  return out;
}

// --- views without decomposition ---

void infer_as_strided(Node& node) {
  const Value* x = node.tensor("self");
  const Ints sizes = node.ints("size"), strides = node.ints("stride");
  require(sizes.size() == strides.size(), "as_strided: sizes and strides differ in length");
  const Sym offset = node.is_none("storage_offset") ? Sym(0) : node.integer("storage_offset");
  Sym last = offset;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_const() && sizes[i].value() < 0) reject("as_strided: a size is negative");
    if (strides[i].is_const() && strides[i].value() < 0) reject("as_strided: a stride is negative");
    empty = empty || sizes[i].is(0);
    last = last + (sizes[i] - 1) * strides[i];
  }
  if (offset.is_const() && offset.value() < 0) reject("as_strided: the offset is negative");
  const Sym count = numel(x->sizes());
  if (!empty && last.is_const() && count.is_const() && last.value() >= count.value()) {
    reject("as_strided reads outside of its tensor");
  }
  set_result(node, x->dtype(), sizes);
}

void infer_diagonal(Node& node) {
  const Value* x = node.tensor("self");
  const int64_t dim1 = wrap_dim(node.static_integer("dim1"), x->rank()),
                dim2 = wrap_dim(node.static_integer("dim2"), x->rank());
  require(x->rank() >= 2 && dim1 != dim2, "diagonal needs two different dimensions");
  const int64_t offset = node.static_integer("offset");
  Sizes sizes;
  for (size_t i = 0; i < x->rank(); ++i) {
    if (static_cast<int64_t>(i) != dim1 && static_cast<int64_t>(i) != dim2) sizes.push_back(x->sizes()[i]);
  }
  const Sym &rows = x->sizes()[static_cast<size_t>(dim1)], &columns = x->sizes()[static_cast<size_t>(dim2)];
  const Sym length = offset >= 0 ? sym_min(rows, columns - offset) : sym_min(rows + offset, columns);
  sizes.push_back(sym_max(length, 0));
  set_result(node, x->dtype(), std::move(sizes));
}

void infer_unfold(Node& node) {
  const Value* x = node.tensor("self");
  const int64_t dim = wrap_dim(node.static_integer("dimension"), x->rank());
  const int64_t size = node.static_integer("size"), step = node.static_integer("step");
  require(size >= 0 && step > 0, "unfold: size and step must be positive");
  if (x->rank() == 0) return set_result(node, x->dtype(), {size});
  Sizes sizes = x->sizes();
  Sym& at = sizes[static_cast<size_t>(dim)];
  if (at.is_const() && at.value() < size) reject("unfold: the window is larger than the dimension");
  at = floor_div(at - size, step) + 1;
  sizes.push_back(size);
  set_result(node, x->dtype(), std::move(sizes));
}

void infer_view_as_real(Node& node) {
  const Value* x = node.tensor("self");
  require(is_complex(x->dtype()), "view_as_real of a tensor that is not complex");
  Sizes sizes = x->sizes();
  sizes.push_back(2);
  set_result(node, real_dtype(x->dtype()), std::move(sizes));
}
void infer_view_as_complex(Node& node) {
  const Value* x = node.tensor("self");
  require(is_floating(x->dtype()) && x->rank() > 0 && may_equal(x->sizes().back(), 2),
          "view_as_complex needs a last size of 2");
  require(x->dtype() != DType::bf16, "there are no complex numbers of bfloat16");
  Sizes sizes = x->sizes();
  sizes.pop_back();
  set_result(node, complex_dtype(x->dtype()), std::move(sizes));
}

void infer_view_dtype(Node& node) {
  const Value* x = node.tensor("self");
  const DType dtype = node.dtype("dtype").value_or(x->dtype());
  const auto from = static_cast<int64_t>(dtype_size_bytes(x->dtype())),
             to = static_cast<int64_t>(dtype_size_bytes(dtype));
  require(from > 0 && to > 0, "view of an unknown dtype");
  Sizes sizes = x->sizes();
  if (from != to) {
    require(!sizes.empty(), "view: a scalar cannot change its element size");
    const Sym bytes = sizes.back() * from;
    require(!bytes.is_const() || bytes.value() % to == 0, "view: the last size does not fit the larger elements");
    sizes.back() = floor_div(bytes, to);
  }
  set_result(node, dtype, std::move(sizes));
}

// `_copy` forms of the views without decomposition.
Results decompose_uncopy(Builder& b, Node& node) {
  std::string name(node.op->name());
  name.erase(name.find("_copy"), 5);
  return b.call_multi(name, node.args());
}

// The conjugate transpose of the matrices.
Results decompose_adjoint(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  require(x->rank() >= 2, "adjoint needs at least two dimensions");
  Value* turned = b.transpose(x, -2, -1);
  return {is_complex(x->dtype()) ? Compose(b).call("aten.conj_physical", {turned}) : turned};
}

}  // namespace

#define VIEW(schema, infer, ...)                                                       \
  {                                                                                    \
    schema, infer, decompose_to_view, nullptr, kView | shares::always, { __VA_ARGS__ } \
  }
#define VIEW_COPY(schema, infer, ...)                                 \
  {                                                                   \
    schema, infer, decompose_to_view, nullptr, kView, { __VA_ARGS__ } \
  }
#define ORDER(schema, ...)                                                                             \
  {                                                                                                    \
    schema, infer_order, decompose_order, nullptr, kView | kPermutes | shares::always, { __VA_ARGS__ } \
  }
#define ORDER_COPY(schema, ...)                                                       \
  {                                                                                   \
    schema, infer_order, decompose_order, nullptr, kView | kPermutes, { __VA_ARGS__ } \
  }
const OpDef kViewRows[] = {
    {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", infer_view, decompose_view, "aten::view_copy.out",
     kView | kPassesBoth | Movement::view | ranges::operands | Growth::keeps | kPartwise | writes::view |
         shares::always,
     Cases("f32[1], []", "f16[4, 2], [8]", "f32[], [1, 1]")},
    VIEW_COPY("aten::view_copy(Tensor self, SymInt[] size) -> Tensor", infer_view, "f32[3, 4], [4, 3]"),
    VIEW("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", infer_view, "f32[2, 6], [-1]", "f32[0, 3], [3, 0]",
         "f32[1]{=1.721}, []"),
    {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", infer_reshape, decompose_to_view, nullptr,
     kView | shares::if_viewable, Cases("f32[], [1, 1]", "f32[0, 3], [3, 0]", "f32[1]{=2.396}, []")},
    VIEW("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", infer_view,
         "f32[2, 6], [3, 4], [4, 1]"),
    {"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer_reshape_as, decompose_to_view, nullptr,
     kView | shares::if_viewable, Cases("f32[3, 4], f32[3, 4]")},
    VIEW("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer_reshape_as, "f32[3, 4], f32[3, 4]"),
    {"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", infer_flatten,
     decompose_to_view, nullptr, kView | shares::if_viewable, Cases("f32[]", "f32[2, 3, 4], 0, -1", "f32[3, 4]")},
    {"aten::ravel(Tensor(a) self) -> Tensor(a)", infer_ravel, decompose_to_view, nullptr, kView | shares::if_contiguous,
     Cases("f32[2, 3, 4]")},
    VIEW("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", infer_unflatten,
         "f32[3, 4], 1, [2, 2]", "f32[2, 3, 12], -1, [3, 4]"),
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", infer_unsqueeze, decompose_to_view, nullptr,
     kView | kAlsoInPlace | shares::always, Cases("f32[], 0", "i64[3]{=2, 0, 1}, -1", "f32[3, 4], 0")},
    VIEW_COPY("aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", infer_unsqueeze, "f32[3, 4], 0"),
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", infer_squeeze, decompose_to_view, nullptr,
     kView | kAlsoInPlace | shares::always, Cases("f32[1, 3, 4]")},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", infer_squeeze_dim, decompose_to_view, nullptr,
     kView | kAlsoInPlace | shares::always, Cases("f32[1, 3, 4], 0", "f32[2, 1, 3], -1")},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", infer_squeeze_dims, decompose_to_view, nullptr,
     kView | kAlsoInPlace | shares::always, Cases("f32[1, 2, 1, 3], [0, 2]")},
    VIEW_COPY("aten::squeeze_copy(Tensor self) -> Tensor", infer_squeeze, "f32[1, 3, 4]"),
    VIEW_COPY("aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", infer_squeeze_dim, "f32[2, 1, 3], 1",
              "f32[2, 1, 3], 0"),
    VIEW_COPY("aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", infer_squeeze_dims, "f32[2, 6], [0]"),
    {"aten::atleast_1d(Tensor self) -> Tensor", nullptr, decompose_atleast<1>, nullptr, kView | shares::always,
     Cases("f32[]{=2.243}")},
    {"aten::atleast_2d(Tensor self) -> Tensor", nullptr, decompose_atleast<2>, nullptr, kView | shares::always,
     Cases("f32[4]")},
    {"aten::atleast_3d(Tensor self) -> Tensor", nullptr, decompose_atleast<3>, nullptr, kView | shares::always,
     Cases("f32[3, 4]")},
    {"aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", nullptr, decompose_atleast<1>, nullptr, shares::each,
     Cases("[f32[]{=2.243}, f32[3]]")},
    {"aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", nullptr, decompose_atleast<2>, nullptr, shares::each,
     Cases("[f32[]{=2.243}, f32[3], f32[2, 3]]")},
    {"aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", nullptr, decompose_atleast<3>, nullptr, shares::each,
     Cases("[f32[]{=2.243}, f32[3], f32[2, 3], f32[2, 3, 2]]")},
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", infer_order, decompose_order, "aten::permute_copy.out",
     kView | kPassesBoth | kPermutes | Movement::permute | ranges::operands | Growth::keeps | kPartwise |
         writes::permute | shares::always,
     Cases("f32[], []", "f16[2, 3], [1, 0]", "f64[2, 3], [1, 0]")},
    ORDER_COPY("aten::permute_copy(Tensor self, int[] dims) -> Tensor", "f32[3, 4], [1, 0]"),
    ORDER("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "f32[2, 3, 4], 0, 2",
          "f32[2, 3, 4], -1, 0"),
    ORDER_COPY("aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", "f32[3, 4], 0, 1"),
    {"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", infer_order, decompose_order, nullptr,
     kView | kAlsoInPlace | kPermutes | shares::always, Cases("f32[2, 3, 4], 0, 1", "f32[2, 3, 4], -1, 0")},
    {"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", infer_order, decompose_order, nullptr,
     kView | kAlsoInPlace | kPermutes | shares::always, Cases("f32[2, 3, 4], 0, 2")},
    {"aten::t(Tensor(a) self) -> Tensor(a)", infer_order, decompose_order, nullptr,
     kView | kAlsoInPlace | kPermutes | shares::always, Cases("f32[3, 4]", "f32[3]{range=1.5..2.9}")},
    ORDER_COPY("aten::t_copy(Tensor self) -> Tensor", "f32[3, 4]"),
    ORDER("aten::numpy_T(Tensor(a) self) -> Tensor(a)", "f32[3, 4]", "f16[3, 4]", "bf16[3, 4]"),
    ORDER("aten::mT(Tensor(a) self) -> Tensor(a)", "f32[2, 3, 4]"),
    {"aten::adjoint(Tensor(a) self) -> Tensor(a)", nullptr, decompose_adjoint, nullptr, shares::always,
     Cases("c64[3, 4]")},
    {"aten::matrix_H(Tensor(a) self) -> Tensor(a)", nullptr, decompose_adjoint, nullptr, shares::always,
     Cases("f32[3, 4]", "c64[3, 4]")},
    {"aten::mH(Tensor(a) self) -> Tensor(a)", nullptr, decompose_adjoint, nullptr, shares::always,
     Cases("f32[2, 3, 4]")},
    {"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", infer_movedim, decompose_movedim,
     nullptr, kView | shares::always, Cases("f32[2, 3, 4], 0, -1")},
    {"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", infer_movedim,
     decompose_movedim, nullptr, kView | shares::always, Cases("f32[2, 3, 4], [0, 1], [1, 0]")},
    {"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", infer_movedim, decompose_movedim,
     nullptr, kView | shares::always, Cases("f32[2, 3, 4], 0, 2")},
    {"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", infer_movedim,
     decompose_movedim, nullptr, kView | shares::always, Cases("f32[2, 3, 4], [0, 1], [-1, 0]")},
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", infer_expand, decompose_expand,
     "aten::expand_copy.out",
     kView | kPassesBoth | Movement::expand | ranges::operands | Growth::keeps | kPartwise | writes::expand |
         shares::always,
     Cases("f32[1], [0]", "f16[1, 2], [3, 2]", "bool[1, 2], [3, 2]")},
    {"aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", infer_expand, decompose_expand,
     nullptr, kView, Cases("f32[4], [3, 4]", "f32[2, 6], [2, 2, 6]")},
    {"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", infer_expand, decompose_expand, nullptr,
     kView | shares::always, Cases("f32[4], [3, 4]", "f32[1, 3], [2, 2, 3]")},
    {"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer_expand_as, decompose_expand, nullptr,
     kView | shares::always, Cases("f32[3, 4], f32[3, 4]")},
    {"aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", nullptr, decompose_broadcast_tensors, nullptr,
     shares::each, Cases("[f32[4], f32[3, 4]]", "[f32[2, 1], f32[3]]", "[f32[3, 4], f32[3, 4]]")},
    {"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
     infer_as_strided, nullptr, "aten::as_strided_copy.out",
     kView | kAlsoInPlace | kStorage | writes::as_strided | shares::always,
     Cases("f32[12], [3, 3], [1, 1]", "f32[3, 4], [2, 2], [1, 2], 1")},
    {"aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
     infer_as_strided, decompose_uncopy, nullptr, kView | kStorage, Cases("f32[3, 4], [2, 2], [1, 2]")},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", infer_diagonal, nullptr,
     "aten::diagonal_copy.out", kView | writes::diagonal | shares::always,
     Cases("f32[3, 4], 0", "f32[2, 3, 4], 0, 1, 2", "f32[3, 4], -1")},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", infer_diagonal,
     decompose_uncopy, nullptr, kView, Cases("f32[3, 4]")},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", infer_unfold, nullptr,
     "aten::unfold_copy.out", kView | writes::unfold | shares::always, Cases("f32[7], 0, 2, 1", "f32[3, 4], 1, 2, 1")},
    {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", infer_unfold, decompose_uncopy,
     nullptr, kView, Cases("f32[3, 4], 1, 2, 1")},
    {"aten::view_as_real(Tensor(a) self) -> Tensor(a)", infer_view_as_real, nullptr, "aten::view_as_real_copy.out",
     kView | kReinterprets | writes::view_as_real | shares::always, Cases("c64[2, 3]")},
    {"aten::view_as_real_copy(Tensor self) -> Tensor", infer_view_as_real, decompose_uncopy, nullptr, kView,
     Cases("c64[3]")},
    {"aten::view_as_complex(Tensor(a) self) -> Tensor(a)", infer_view_as_complex, nullptr,
     "aten::view_as_complex_copy.out", kView | kNoStock | kReinterprets | writes::view_as_complex | shares::always,
     Cases("f32[3, 2]", "f32[3, 4, 2]")},
    {"aten::view_as_complex_copy(Tensor self) -> Tensor", infer_view_as_complex, decompose_uncopy, nullptr, kView,
     Cases("f32[3, 2]")},
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", infer_view_dtype, nullptr,
     "aten::view_copy.dtype_out", kView | kNoStock | kReinterprets | writes::dtype | shares::always,
     Cases("f32[3, 4], i32")},
    {"aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", infer_view_dtype, decompose_uncopy, nullptr,
     kView, Cases("f32[3], i32")},
};
const size_t kViewCount = std::size(kViewRows);

}  // namespace wick::compiler
