// Padding by a constant, by reflection, by replication, and circular padding.
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// `pairs`: (left, right) for each dimension, the last dimension first.
Sizes padded_sizes(const Value* x, const Ints& pairs) {
  require(pairs.size() % 2 == 0, "pad: the list needs pairs");
  if (pairs.size() / 2 > x->rank()) reject("pad: too many pairs");
  Sizes sizes = x->sizes();
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    Sym& size = sizes[x->rank() - 1 - i];
    size = size + pairs[2 * i] + pairs[2 * i + 1];
    if (size.is_const() && size.value() < 0) reject("pad: a size becomes negative");
  }
  return sizes;
}

void infer_pad(Node& node) {
  const Value* x = node.tensor("self");
  const char* name = node.op->parsed->find("pad") >= 0 ? "pad" : "padding";
  set_result(node, x->dtype(), padded_sizes(x, node.ints(name)));
}

bool no_padding(const Ints& pairs) {
  for (const Sym& p : pairs) {
    if (!p.is(0)) return false;
  }
  return true;
}

// Cuts from `x` what negative amounts remove, and sets these amounts to 0.
Value* cut(Builder& b, Value* x, Ints& pairs) {
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    const auto dim = static_cast<int64_t>(x->rank() - 1 - i);
    const auto amount = [&](Sym& side) -> Sym {
      if (!side.is_const() || side.value() >= 0) return 0;
      const Sym cut_off = -side.value();
      side = 0;
      return cut_off;
    };
    const Sym left = amount(pairs[2 * i]), right = amount(pairs[2 * i + 1]);
    const Sym size = x->sizes()[static_cast<size_t>(dim)];
    if (!left.is(0) || !right.is(0)) x = b.slice(x, dim, left, size - right);
  }
  return x;
}

// Stock's kernel takes no negative amounts.
Results decompose_constant_pad(Builder& b, Node& node) {
  Ints pairs = node.ints("pad");
  Value* x = node.tensor("self");
  if (no_padding(pairs)) return {x};
  x = cut(b, x, pairs);
  if (x == node.tensor("self")) return {};
  if (no_padding(pairs)) return {x};
  return {b.call("aten.constant_pad_nd", {x, pairs, node.arg("value")})};
}

// Negative amounts cut first. Then the elements added on each side are copied from the opposite side.
Value* circular(Compose& c, Value* x, Ints pairs) {
  x = cut(c.b, x, pairs);
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    const auto dim = static_cast<int64_t>(x->rank() - 1 - i);
    const Sym size = x->sizes()[static_cast<size_t>(dim)];
    const Sym &left = pairs[2 * i], &right = pairs[2 * i + 1];
    for (const Sym& side : {left, right}) {
      if (side.is_const() && size.is_const() && side.value() > size.value())
        reject("circular padding wraps more than once");
    }
    Values parts;
    if (!left.is(0)) parts.push_back(c.b.slice(x, dim, size - left, size));
    parts.push_back(x);
    if (!right.is(0)) parts.push_back(c.b.slice(x, dim, 0, right));
    x = parts.size() == 1 ? parts[0] : c.cat(std::move(parts), dim);
  }
  return x;
}

// reflection_padNd and replication_padNd take rank N + 1 or N + 2.
Value* edge_pad(Compose& c, Value* x, const Ints& pairs, const char* kind) {
  const size_t spatial = pairs.size() / 2;
  require(spatial >= 1 && spatial <= 3, "pad: one to three dimensions can be padded this way");
  if (x->rank() != spatial + 1 && x->rank() != spatial + 2) reject("pad: the rank does not fit this mode");
  return c.b.call(fmt::format("aten.{}_pad{}d", kind, spatial), {x, pairs});
}

Results decompose_pad(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const Ints pairs = node.ints("pad");
  const std::string mode = node.op->parsed->find("mode") < 0 ? "circular" : node.string("mode");
  if (no_padding(pairs)) return {x};
  if (mode == "constant") {
    Arg value = node.is_none("value") ? Arg(0) : Arg(node.real("value"));
    if (is_floating(x->dtype()) && node.is_none("value")) value = 0.0;
    if (!is_floating(x->dtype()) && value.is<double>() &&
        value.as<double>() == static_cast<double>(static_cast<int64_t>(value.as<double>()))) {
      value = static_cast<int64_t>(value.as<double>());
    }
    return {b.call("aten.constant_pad_nd", {x, pairs, value})};
  }
  if (mode == "reflect") return {edge_pad(c, x, pairs, "reflection")};
  if (mode == "replicate") return {edge_pad(c, x, pairs, "replication")};
  if (mode == "circular") return {circular(c, x, pairs)};
  reject("this padding mode is not supported");
}

void infer_edge_pad(Node& node) {
  infer_pad(node);
  const Value* x = node.tensor("self");
  const Ints pairs = node.ints("padding");
  if (!node.op->name().starts_with("aten.reflection")) return;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Sym& size = x->sizes()[x->rank() - 1 - i / 2];
    if (size.is_const() && pairs[i].is_const() && pairs[i].value() >= size.value())
      reject("reflection padding must be smaller than the size");
  }
}

// Each tensor is split along `dim` into chunks, the last one padded with zeros, and the dimensions from `dim` on are
// flattened within each chunk.
Results decompose_chunk_cat(Builder& b, Node& node) {
  Compose c(b);
  const Values tensors = node.tensors("tensors");
  require(!tensors.empty(), "_chunk_cat of no tensor");
  const int64_t chunks = node.static_integer("num_chunks");
  require(chunks > 0, "_chunk_cat needs a positive number of chunks");
  Values parts;
  size_t dim = 0;
  for (Value* x : tensors) {
    require(x->rank() > 0, "_chunk_cat of a tensor without dimensions");
    dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank()));
    const Sym size = x->sizes()[dim], each = floor_div(size + (chunks - 1), chunks);
    Ints pairs(2 * (x->rank() - dim), Sym(0));
    pairs.back() = each * chunks - size;
    x = c.pad(x, std::move(pairs));
    Sizes sizes(x->sizes().begin(), x->sizes().begin() + static_cast<int64_t>(dim));
    const Sizes rest(x->sizes().begin() + static_cast<int64_t>(dim) + 1, x->sizes().end());
    sizes.push_back(chunks);
    sizes.push_back(each * numel(rest));
    parts.push_back(b.reshape(x, std::move(sizes)));
  }
  return {c.cat(std::move(parts), static_cast<int64_t>(dim) + 1)};
}

}  // namespace

const OpDef kPaddingRows[] = {
    {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", infer_pad, decompose_constant_pad,
     "aten::constant_pad_nd.out", kPassesBoth | Numbers::fit | kMoves | ranges::pad | Growth::keeps,
     Cases("f32[3, 4], [1, 2], 3.0", "bool[3], [1, 2], 1", "i64[3, 4], [1, 1], 7")},
    {"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", infer_pad,
     decompose_pad, nullptr, kPure,
     Cases("f32[3, 4], [1, 2]", "f32[2, 3, 4], [2, 1], reflect", "f32[3, 4], [1, 2], constant, -2.0")},
    {"aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", nullptr, decompose_chunk_cat, nullptr,
     kPure, Cases("[f32[5, 3], f32[4]], 0, 2", "[f32[2, 3, 2], f32[2, 4]], 1, 3")},
    {"aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", infer_pad, decompose_pad, nullptr, kPure,
     Cases("f32[1, 2, 4], [1, 2]", "f32[1, 2, 3, 4], [1, 1, 2, 0]", "f32[1, 2, 5, 4], [-1, 3, 2, -2]")},
    {"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", infer_edge_pad, nullptr,
     "aten::reflection_pad1d.out", kPure, Cases("f32[2, 5], [2, 3]")},
    {"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", infer_edge_pad, nullptr,
     "aten::reflection_pad2d.out", kPure, Cases("f32[1, 2, 3, 4], [1, 2, 2, 1]")},
    {"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", infer_edge_pad, nullptr,
     "aten::reflection_pad3d.out", kPure, Cases("f32[1, 1, 3, 3, 3], [1, 1, 1, 1, 1, 1]")},
    {"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", infer_edge_pad, nullptr,
     "aten::replication_pad1d.out", kPure, Cases("f32[2, 5], [2, 3]", "f32[2, 4], [-4, 5]")},
    {"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", infer_edge_pad, nullptr,
     "aten::replication_pad2d.out", kPure, Cases("f32[1, 2, 3, 4], [1, 2, 2, 1]")},
    {"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", infer_edge_pad, nullptr,
     "aten::replication_pad3d.out", kPure, Cases("f32[1, 1, 3, 3, 3], [1, 2, 1, 1, 0, 1]")},
};
const size_t kPaddingCount = std::size(kPaddingRows);

}  // namespace wick::compiler
