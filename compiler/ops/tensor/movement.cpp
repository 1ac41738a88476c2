// Operators that copy elements to other places.
#include <algorithm>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"
#include "compiler/ops/sharing.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// Eager's legacy rule: 1-d tensors of size 0 take part in any concatenation.
bool is_legacy_empty(const Value* x) { return x->rank() == 1 && x->sizes()[0].is(0); }

Values cat_operands(const Node& node) {
  Values all = node.tensors(node.op->parsed->args[0].name);
  for (Value* x : all) require(x != nullptr, "cat: a tensor is None");
  require(!all.empty(), "cat needs at least one tensor");
  Values out;
  for (Value* x : all) {
    if (!is_legacy_empty(x)) out.push_back(x);
  }
  return out.empty() ? Values{all[0]} : out;
}

DType cat_dtype(const Node& node) {
  Args operands;
  for (Value* x : node.tensors(node.op->parsed->args[0].name)) operands.push_back(x);
  return promote(operands);
}

void infer_cat(Node& node) {
  const Values operands = cat_operands(node);
  const size_t rank = operands[0]->rank();
  require(rank > 0, "cat of scalars");
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), rank));
  Sizes sizes = operands[0]->sizes();
  for (size_t i = 1; i < operands.size(); ++i) {
    require_rank(operands[i], rank, "cat: a tensor");
    for (size_t d = 0; d < rank; ++d) {
      const Sym& size = operands[i]->sizes()[d];
      if (d == dim)
        sizes[d] = sizes[d] + size;
      else
        require_equal(sizes[d], size, "cat: sizes");
      if (d != dim && !sizes[d].is_const() && size.is_const()) sizes[d] = size;
    }
  }
  set_result(node, cat_dtype(node), std::move(sizes));
}

void infer_repeats(Node& node) {
  const DType dtype = node.tensor("repeats")->dtype();
  require(dtype == DType::i32 || dtype == DType::i64, "counts of repetitions must be i32 or i64");
  infer_preset(node);
}
// Converts the operands to one dtype, drops legacy empty ones, and wraps the dimension.
Results decompose_cat(Builder& b, Node& node) {
  Values operands = cat_operands(node);
  const DType dtype = node.result()->dtype();
  if (operands.size() == 1) return {b.cast(operands[0], dtype)};
  const int64_t dim = wrap_dim(node.static_integer("dim"), operands[0]->rank());
  bool plain = operands.size() == node.tensors("tensors").size() && node.integer("dim") == Sym(dim);
  for (Value*& x : operands) {
    plain = plain && x->dtype() == dtype;
    x = b.cast(x, dtype);
  }
  if (plain && node.is("aten.cat.default")) return {};
  return {b.call("aten.cat", {std::move(operands), dim})};
}

Results decompose_stack(Builder& b, Node& node) {
  Compose c(b);
  Values operands = node.tensors("tensors");
  const DType dtype = cat_dtype(node);
  for (Value*& x : operands) {
    require(x && x->rank() == operands[0]->rank(), "stack: ranks differ");
    x = b.cast(x, dtype);
  }
  return {c.stack(operands, node.static_integer("dim"))};
}

// hstack, vstack, dstack, column_stack: first to at least 1, 2, 3, 2 dimensions
template <char letter>
Results decompose_letter_stack(Builder& b, Node& node) {
  Compose c(b);
  Values operands = node.tensors("tensors");
  require(!operands.empty(), "stack needs at least one tensor");
  const DType dtype = cat_dtype(node);
  for (Value*& x : operands) {
    x = b.cast(x, dtype);
    if (x->rank() == 0) x = b.reshape(x, {1});
    const Sizes s = x->sizes();
    if (letter == 'v' && s.size() == 1) x = b.reshape(x, {1, s[0]});
    if (letter == 'c' && s.size() == 1) x = b.reshape(x, {s[0], 1});
    if (letter == 'd' && s.size() == 1) x = b.reshape(x, {1, s[0], 1});
    if (letter == 'd' && s.size() == 2) x = b.reshape(x, {s[0], s[1], 1});
  }
  const int64_t dim = letter == 'v' ? 0 : letter == 'd' ? 2 : letter == 'c' ? 1 : operands[0]->rank() == 1 ? 0 : 1;
  return {c.cat(std::move(operands), dim)};
}

Results decompose_block_diag(Builder& b, Node& node) {
  Compose c(b);
  Values blocks = node.tensors("tensors");
  Sym columns = 0, before = 0;
  for (Value*& x : blocks) {
    if (x->rank() < 2) x = b.reshape(x, {1, numel(x->sizes())});
    columns = columns + x->sizes()[1];
  }
  Values rows;
  for (Value* x : blocks) {
    const Sym after = columns - before - x->sizes()[1];
    rows.push_back(c.pad(x, {before, after, 0, 0}));
    before = before + x->sizes()[1];
  }
  return {c.cat(std::move(rows), 0)};
}

// --- repetition ---

void infer_repeat(Node& node) {
  const Value* x = node.tensor("self");
  const Ints repeats = node.ints("repeats");
  require(repeats.size() >= x->rank(), "repeat: too few entries");
  const size_t lead = repeats.size() - x->rank();
  Sizes sizes;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i].is_const() && repeats[i].value() < 0) reject("repeat: an entry is negative");
    sizes.push_back(i < lead ? repeats[i] : repeats[i] * x->sizes()[i - lead]);
  }
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_repeat(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  if (x->sizes() == node.result()->sizes()) {
    const Ints repeats = node.ints("repeats");
    if (std::all_of(repeats.begin(), repeats.end(), [](const Sym& r) { return r.is(1); })) return {x};
  }
  return {};
}
Results decompose_tile(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  Ints repeats = node.ints("dims");
  while (repeats.size() < x->rank()) repeats.insert(repeats.begin(), Sym(1));
  return Compose(b).call_multi("aten.repeat", {x, std::move(repeats)});
}
// each element `repeats` times along a dimension: unsqueeze, expand, flatten
Results decompose_repeat_interleave(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (node.is_none("dim")) x = b.reshape(x, {numel(x->sizes())});
  const int64_t dim = node.is_none("dim") ? 0 : wrap_dim(node.static_integer("dim"), x->rank());
  if (x->rank() == 0) x = b.reshape(x, {1});
  const Sym repeats = node.integer("repeats");
  Sizes wide = x->sizes(), out = x->sizes();
  wide.insert(wide.begin() + dim + 1, repeats);
  out[static_cast<size_t>(dim)] = out[static_cast<size_t>(dim)] * repeats;
  return {b.reshape(b.expand(b.unsqueeze(x, dim + 1), std::move(wide)), std::move(out))};
}
// with a tensor of counts: selects rows by number, each as often as its count says
Results decompose_repeat_interleave_tensor(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *repeats = node.tensor("repeats");
  if (node.is_none("dim") || x->rank() == 0) x = b.reshape(x, {numel(x->sizes())});
  const int64_t dim = node.is_none("dim") ? 0 : wrap_dim(node.static_integer("dim"), x->rank());
  const Sym size = x->sizes()[static_cast<size_t>(dim)];
  if (repeats->rank() == 0 || repeats->sizes()[0].is(1)) repeats = b.expand(b.reshape(repeats, {1}), {size});
  Node* rows = b.graph().add_node(op("aten.repeat_interleave.Tensor"), {repeats}, 1, &node, "rows");
  rows->origin = node.origin;
  const Value* out = node.result();
  if (!out->type.is_tensor() || out->sizes().size() <= static_cast<size_t>(dim))
    reject("repeat_interleave needs its result type from the exported program");
  set_result(*rows, repeats->dtype(), {out->sizes()[static_cast<size_t>(dim)]});
  return {c.index_select(x, dim, rows->result())};
}

// --- order along dimensions ---

void infer_flip(Node& node) {
  const Value* x = node.tensor("self");
  for (int64_t dim : node.static_ints("dims")) wrap_dim(dim, x->rank());
  infer_same(node);
}
// A 0-d tensor counts as one-dimensional in eager, but has no dimension for the kernels.
Results decompose_flip(Builder&, Node& node) {
  Value* x = node.tensor("self");
  return x->rank() == 0 ? Results{x} : Results{};
}
Results decompose_flip_letter(Builder& b, Node& node) {  // fliplr, flipud
  const int64_t dim = node.is("aten.fliplr.default") ? 1 : 0;
  require(static_cast<int64_t>(node.tensor("self")->rank()) > dim, "flip: too few dimensions");
  return {b.call("aten.flip", {node.tensor("self"), Ints{dim}})};
}
void infer_roll(Node& node) {
  const Value* x = node.tensor("self");
  const auto dims = node.static_ints("dims");
  require(dims.size() == node.ints("shifts").size() || (dims.empty() && node.ints("shifts").size() == 1),
          "roll: shifts and dims differ in length");
  require(dims.empty() || x->rank() > 0, "roll of a tensor without dimensions along one");
  for (int64_t dim : dims) wrap_dim(dim, x->rank());
  infer_same(node);
}
// Per dimension, two slices joined in swapped order.
Results decompose_roll(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  std::vector<int64_t> dims = node.static_ints("dims");
  const Ints shifts = node.ints("shifts");
  if (!dims.empty()) {
    const bool wrapped = std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
    if (wrapped) return {};
  }
  if (dims.empty()) {
    Value* flat = b.reshape(x, {numel(x->sizes())});
    return {b.reshape(b.call("aten.roll", {flat, shifts, Ints{0}}), x->sizes())};
  }
  for (int64_t& dim : dims) dim = wrap_dim(dim, x->rank());
  return {b.call("aten.roll", {x, shifts, to_ints(dims)})};
}
Results decompose_rot90(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const auto dims = node.static_ints("dims");
  require(dims.size() == 2, "rot90 needs two dimensions");
  const int64_t first = wrap_dim(dims[0], x->rank()), second = wrap_dim(dims[1], x->rank());
  require(first != second, "rot90 needs two different dimensions");
  const int64_t turns = ((node.static_integer("k") % 4) + 4) % 4;
  if (turns == 0) return {x};
  if (turns == 2) return {b.call("aten.flip", {x, Ints{first, second}})};
  if (turns == 1) return {b.transpose(b.call("aten.flip", {x, Ints{second}}), first, second)};
  return {b.call("aten.flip", {b.transpose(x, first, second), Ints{second}})};
}

// --- grids ---

Results mesh(Builder& b, Values operands, bool swap) {
  if (operands.size() < 2) swap = false;
  if (swap) std::swap(operands[0], operands[1]);
  Sizes full;
  for (Value* x : operands) {
    require(x->rank() <= 1, "meshgrid needs vectors");
    full.push_back(x->rank() == 0 ? Sym(1) : x->sizes()[0]);
  }
  Results out;
  for (size_t i = 0; i < operands.size(); ++i) {
    Sizes sizes(operands.size(), Sym(1));
    sizes[i] = full[i];
    out.push_back(b.expand(b.reshape(operands[i], std::move(sizes)), full));
  }
  if (swap) std::swap(out[0], out[1]);
  return out;
}
Results decompose_meshgrid(Builder& b, Node& node) {
  const bool swap = node.op->parsed->find("indexing") >= 0 && node.string("indexing") == "xy";
  return mesh(b, node.tensors("tensors"), swap);
}
Results decompose_cartesian(Builder& b, Node& node) {
  Compose c(b);
  Values operands = node.tensors("tensors");
  if (operands.size() == 1) return {operands[0]};
  Results grids = mesh(b, operands, false);
  for (Value*& grid : grids) grid = b.reshape(grid, {numel(grid->sizes())});
  return {c.stack(grids, 1)};
}

// --- triangles and diagonals ---

// Elements with column - row <= diagonal (tril), >= diagonal (triu)
Results decompose_triangle(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  require(x->rank() >= 2, "triangle of a vector");
  const Sym rows = x->sizes()[x->rank() - 2], columns = x->sizes().back();
  const Sym diagonal = node.integer("diagonal");
  Value* row = b.reshape(c.arange(rows, DType::i64), {rows, 1});
  Value* gap = c.sub(c.arange(columns, DType::i64), row);
  Value* keep = c.compare(node.is("aten.triu.default") ? "ge" : "le", gap, diagonal);
  return {c.where(keep, x, 0, x->dtype())};
}
void infer_triangle(Node& node) {
  require(node.tensor("self")->rank() >= 2, "triangle of a vector");
  infer_same(node);
}

// The last dimension becomes the diagonal of a matrix in dim1, dim2.
Value* diag_embed(Compose& c, Value* x, int64_t offset, int64_t dim1, int64_t dim2) {
  const size_t rank = x->rank() + 1;
  dim1 = wrap_dim(dim1, rank);
  dim2 = wrap_dim(dim2, rank);
  require(dim1 != dim2 && x->rank() > 0, "diag_embed needs two different dimensions");
  const Sym n = x->sizes().back(), size = n + Sym(offset < 0 ? -offset : offset);
  Value* row = c.b.reshape(c.arange(size, DType::i64), {size, 1});
  Value* on = c.compare("eq", c.sub(c.arange(size, DType::i64), row), offset);
  // Element k is in row k (offset >= 0) or column k: pads to the matrix size, then broadcasts along the other
  // dimension.
  Value* padded = offset == 0 ? x : c.pad(x, {0, size - n});
  const bool by_row = offset >= 0;
  Value* spread = c.b.unsqueeze(padded, by_row ? -1 : -2);
  Value* out = c.where(on, spread, 0, x->dtype());
  std::vector<int64_t> order(rank, -1);
  order[static_cast<size_t>(dim1)] = static_cast<int64_t>(rank) - 2;
  order[static_cast<size_t>(dim2)] = static_cast<int64_t>(rank) - 1;
  int64_t next = 0;
  for (int64_t& dim : order) {
    if (dim < 0) dim = next++;
  }
  return c.b.permute(out, order);
}
Results decompose_diag_embed(Builder& b, Node& node) {
  Compose c(b);
  return {diag_embed(c, node.tensor("self"), node.static_integer("offset"), node.static_integer("dim1"),
                     node.static_integer("dim2"))};
}
Results decompose_diag(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const int64_t offset = node.static_integer("diagonal");
  if (x->rank() == 1) return {diag_embed(c, x, offset, 0, 1)};
  require_rank(x, 2, "diag");
  return {b.call("aten.diagonal", {x, offset})};
}
Results decompose_linalg_diagonal(Builder& b, Node& node) {
  return {b.call("aten.diagonal", {node.arg(0), node.arg("offset"), node.arg("dim1"), node.arg("dim2")})};
}

// --- blocks of pixels ---

void infer_pixel_shuffle(Node& node) {
  const Value* x = node.tensor("self");
  const int64_t r = node.static_integer("upscale_factor");
  require(x->rank() >= 3 && r > 0 && r < 65536, "pixel_shuffle needs three dimensions and a positive factor");
  Sizes sizes = x->sizes();
  Sym& channels = sizes[x->rank() - 3];
  if (channels.is_const() && channels.value() % (r * r) != 0)
    reject("pixel_shuffle: the factor does not divide the channels");
  channels = floor_div(channels, r * r);
  sizes[x->rank() - 2] = sizes[x->rank() - 2] * r;
  sizes[x->rank() - 1] = sizes[x->rank() - 1] * r;
  set_result(node, x->dtype(), std::move(sizes));
}
void infer_pixel_unshuffle(Node& node) {
  const Value* x = node.tensor("self");
  const int64_t r = node.static_integer("downscale_factor");
  require(x->rank() >= 3 && r > 0 && r < 65536, "pixel_unshuffle needs three dimensions and a positive factor");
  Sizes sizes = x->sizes();
  for (size_t i = x->rank() - 2; i < x->rank(); ++i) {
    if (sizes[i].is_const() && sizes[i].value() % r != 0)
      reject("pixel_unshuffle: the factor does not divide the size");
    sizes[i] = floor_div(sizes[i], r);
  }
  sizes[x->rank() - 3] = sizes[x->rank() - 3] * (r * r);
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_channel_shuffle(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const Sym groups = node.integer("groups");
  require(x->rank() >= 3, "channel_shuffle needs three dimensions");
  Sizes wide = x->sizes();
  const Sym channels = wide[1];
  wide[1] = groups;
  wide.insert(wide.begin() + 2, floor_div(channels, groups));
  return {b.reshape(b.transpose(b.reshape(x, std::move(wide)), 1, 2), x->sizes())};
}

}  // namespace

const OpDef kMovementRows[] = {
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, decompose_cat, "aten::cat.out",
     kPassesBoth | kMoves | ranges::operands | Growth::keeps | kPartwise,
     Cases("[f32[5]]", "[f32[2, 3, 2], f32[2, 3, 2], f32[2, 3, 2]], -1", "[f64[2, 2], f64[1, 2]]")},
    {"aten::concat(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, decompose_cat, nullptr, kPure,
     Cases("[f32[3, 4], f32[3, 4]]", "[f32[2, 3], f32[2, 1]], 1")},
    {"aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, decompose_cat, nullptr, kPure,
     Cases("[f32[2, 3], f32[2, 1]{range=1.2..2.9}], 1")},
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", nullptr, decompose_stack, nullptr, kMoves,
     Cases("[f32[3, 4], f32[3, 4]], 1", "[f32[2], i64[2]{=0, -7}]", "[c64[3, 4], c64[3, 4]]")},
    {"aten::hstack(Tensor[] tensors) -> Tensor", nullptr, decompose_letter_stack<'h'>, nullptr, kPure,
     Cases("[f32[4], f32[3]]", "[f32[3, 4], f32[3, 4]]")},
    {"aten::vstack(Tensor[] tensors) -> Tensor", nullptr, decompose_letter_stack<'v'>, nullptr, kPure,
     Cases("[f32[3, 4], f32[3, 4]]")},
    {"aten::dstack(Tensor[] tensors) -> Tensor", nullptr, decompose_letter_stack<'d'>, nullptr, kPure,
     Cases("[f32[3, 4], f32[3, 4]]")},
    {"aten::column_stack(Tensor[] tensors) -> Tensor", nullptr, decompose_letter_stack<'c'>, nullptr, kPure,
     Cases("[f32[3, 4], f32[3, 4]]")},
    {"aten::block_diag(Tensor[] tensors) -> Tensor", nullptr, decompose_block_diag, nullptr, kPure,
     Cases("[f32[3, 4], f32[4, 4]]")},
    {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", infer_repeat, decompose_repeat, "aten::repeat.out",
     kPassesBoth | kMoves | ranges::operands | Growth::keeps | kPartwise,
     Cases("f32[3, 4], [2, 2]", "f32[2, 2, 3], [1, 2, 1]")},
    {"aten::tile(Tensor self, SymInt[] dims) -> Tensor", nullptr, decompose_tile, nullptr, kPure,
     Cases("f32[2, 3], [2]", "i64[3]{=-2, -5, 0}, [2, 2]")},
    {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> "
     "Tensor",
     nullptr, decompose_repeat_interleave, nullptr, kPure, Cases("f32[3, 4], 2", "f32[3, 4], 2, 0")},
    {"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> "
     "Tensor",
     infer_preset, decompose_repeat_interleave_tensor, nullptr, kDataDependent,
     Cases("f32[3, 2], i64[3]{=2, 0, 1}, 0")},
    {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", infer_repeats, nullptr,
     "aten::repeat_interleave.Tensor_out", kDataDependent, Cases("i64[4]{=1, 0, 2, 3}")},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", infer_flip, decompose_flip, "aten::flip.out",
     kPassesBoth | kMoves | ranges::operands | Growth::keeps, Cases("f32[2, 3], [0]", "f32[2, 3, 2], []")},
    {"aten::fliplr(Tensor self) -> Tensor", nullptr, decompose_flip_letter, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::flipud(Tensor self) -> Tensor", nullptr, decompose_flip_letter, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", infer_roll, decompose_roll,
     "aten::roll.out", kPassesBoth | kMoves | Movement::roll | ranges::operands | Growth::keeps | kPartwise,
     Cases("f32[3, 4], [1]", "f32[2, 3, 4], [1, -1], [0, 2]")},
    {"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", nullptr, decompose_rot90, nullptr, kPure,
     Cases("f32[3, 4]", "f32[2, 3, 2], -1, [1, 2]")},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", nullptr, decompose_meshgrid, nullptr, shares::each,
     Cases("[f32[2], f32[3]]")},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", nullptr, decompose_meshgrid, nullptr,
     shares::each, Cases("[f32[4], f32[3]], indexing=ij", "[f32[2], f32[3], f32[2]], indexing=xy")},
    {"aten::cartesian_prod(Tensor[] tensors) -> Tensor", nullptr, decompose_cartesian, nullptr, shares::if_alone,
     Cases("[f32[4], f32[3]]")},
    {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", infer_triangle, nullptr, "aten::tril.out",
     kAlsoInPlace | kKeepsZero | kPassesBoth | ranges::triangle | Growth::keeps,
     Cases("f32[4, 4]", "f32[3, 4], -1", "bool[3, 3]")},
    {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", infer_triangle, decompose_triangle, "aten::triu.out",
     kNoStock | kKeepsZero | kAlsoInPlace | kPassesBoth | ranges::triangle | Growth::keeps,
     Cases("f32[3, 4], 1", "f32[2, 3, 4], -1")},
    {"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", nullptr, decompose_diag_embed,
     nullptr, kPure, Cases("f32[3, 4]", "f32[3, 4], 1, 0, 2")},
    {"aten::diag(Tensor self, int diagonal=0) -> Tensor", nullptr, decompose_diag, nullptr, kPure,
     Cases("f32[3, 4]", "f32[4], 1")},
    {"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", nullptr,
     decompose_linalg_diagonal, nullptr, shares::always, Cases("f32[2, 4, 4]")},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", infer_pixel_shuffle, nullptr,
     "aten::pixel_shuffle.out", kPassesBoth | kMoves | ranges::operands | Growth::keeps, Cases("f32[1, 4, 6, 8], 2")},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", infer_pixel_unshuffle, nullptr,
     "aten::pixel_unshuffle.out", kPassesBoth | kMoves | ranges::operands, Cases("f32[1, 4, 6, 8], 2")},
    {"aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", infer_same, decompose_channel_shuffle,
     "aten::channel_shuffle.out", kNoStock, Cases("f32[1, 4, 2, 3], 2", "f32[2, 6, 5], 3")},
    {"aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", infer_same, decompose_channel_shuffle,
     nullptr, kPure, Cases("f32[1, 4, 2, 3], 2")},
};
const size_t kMovementCount = std::size(kMovementRows);

}  // namespace wick::compiler
