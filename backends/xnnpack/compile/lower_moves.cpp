// Payload nodes that move elements.
#include <algorithm>
#include <numeric>

#include "backends/xnnpack/compile/lower.h"
#include "compiler/support/failure.h"

namespace wick::xnnpack {

namespace {

// Sizes as nodes of the payload state them: 0 where they are known only at run time.
std::vector<uint32_t> or_zero(const Sizes& dims) {
  std::vector<uint32_t> out;
  for (const compiler::Sym& dim : dims) out.push_back(dim.is_const() ? static_cast<uint32_t>(dim.value()) : 0);
  return out;
}

// The position of dimension number `index`, if dimensions of size 1 are not counted.
size_t place_of(const Sizes& dims, size_t index) {
  size_t at = 0;
  while (dims[at].is(1) || index-- > 0) ++at;
  return at;
}

}  // namespace

int64_t Regrouping::num_pieces() const {
  const auto count = [](const std::vector<int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end() - 1, int64_t{0});
  };
  return count(from) + count(to);
}

std::optional<Regrouping> regrouping(const Sizes& from, const Sizes& to) {
  const Sizes a = without_ones(from), b = without_ones(to);
  const size_t most = std::min(a.size(), b.size());
  size_t front = 0, back = 0;
  while (front < most && a[front] == b[front]) ++front;
  while (front + back < most && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  const auto between = [&](const Sizes& dims) {
    return Sizes(dims.begin() + static_cast<ptrdiff_t>(front), dims.end() - static_cast<ptrdiff_t>(back));
  };
  const Sizes old = between(a), fresh = between(b);
  if (old.empty() || fresh.empty() || num_symbolic(old) + num_symbolic(fresh) > 0 || !(product(old) == product(fresh)))
    return std::nullopt;
  const auto numbers = [](const Sizes& dims) {
    std::vector<int64_t> out;
    for (const compiler::Sym& dim : dims) out.push_back(dim.value());
    return out;
  };
  return Regrouping{front, numbers(old), numbers(fresh)};
}

bool has_small_blocks(const Sizes& dims, size_t at) {
  constexpr int64_t kFewElements = 4, kManyBlocks = 64;
  if (num_symbolic(dims) > 0) return false;
  const auto dim = dims.begin() + static_cast<ptrdiff_t>(at);
  return product({dim + 1, dims.end()}).value() <= kFewElements && product({dims.begin(), dim}).value() >= kManyBlocks;
}

uint32_t Lowering::reshape(uint32_t x, const Sizes& to) {
  if (dims(x) == to) return x;
  if (payload_.values[x].type == DataType::qdint8) return reshape_rows(x, to);
  if (num_symbolic(to) > 1) {
    const auto change = regrouping(dims(x), to);
    return move_ones(change ? regroup(x, *change) : x, to);
  }
  PayloadNode node;
  node.type = NodeType::static_reshape;
  node.inputs[0] = x;
  node.first = or_zero(to);
  return add(std::move(node), to);
}

// Drops dimensions of size 1 until `x` has at most `rank`, two at a time: the library's mean over two dimensions drops
// them.
uint32_t Lowering::drop_ones(uint32_t x, size_t rank) {
  while (dims(x).size() > rank) {
    const bool is_single = dims(x).size() == rank + 1;
    if (is_single) x = binary(NodeType::multiply, x, constant({1}, Sizes(rank + 2, 1)));
    const Sizes from = dims(x);
    std::vector<uint32_t> perm, ones;
    for (uint32_t i = 0; i < from.size(); ++i) (from[i].is(1) && ones.size() < 2 ? ones : perm).push_back(i);
    perm.insert(perm.end() - 1, ones.begin(), ones.end());
    if (!std::is_sorted(perm.begin(), perm.end())) x = transpose(x, perm);
    Sizes to;
    for (const uint32_t i : perm) {
      if (std::find(ones.begin(), ones.end(), i) == ones.end()) to.push_back(from[i]);
    }
    PayloadNode node;
    node.type = NodeType::global_avg_pooling_2d;
    node.inputs[0] = x;
    x = add(std::move(node), to);
  }
  return x;
}

// A reshape to dims that differ only in dims of 1, without the node that infers sizes. A multiplication by a 1 of that
// rank adds leading dims of 1; a transpose moves them.
uint32_t Lowering::move_ones(uint32_t x, const Sizes& to) {
  if (dims(x) == to) return x;
  if (!(without_ones(dims(x)) == without_ones(to)))
    compiler::fail(compiler::Code::internal, "xnnpack: a view of several sizes known only at run time");
  if (to.size() < dims(x).size()) x = drop_ones(x, to.size());
  if (to.size() > dims(x).size()) x = binary(NodeType::multiply, x, constant({1}, Sizes(to.size(), 1)));
  std::vector<uint32_t> perm;
  std::vector<bool> taken(to.size());
  const Sizes from = dims(x);
  for (const compiler::Sym& size : to) {
    size_t at = 0;
    while (taken[at] || !(from[at] == size)) ++at;
    taken[at] = true;
    perm.push_back(static_cast<uint32_t>(at));
  }
  return std::is_sorted(perm.begin(), perm.end()) ? x : transpose(x, perm);
}

uint32_t Lowering::pieces(uint32_t x, const Pieces& pieces) {
  std::vector<uint32_t> parts;
  std::vector<uint32_t> offsets(dims(x).size(), 0);
  Sizes sizes = dims(x);
  sizes[pieces.at] = pieces.width;
  for (int64_t i = 0; i < pieces.count; ++i) {
    offsets[pieces.at] = static_cast<uint32_t>(pieces.start + i * pieces.step);
    parts.push_back(slice(x, offsets, sizes));
  }
  return concatenate(std::move(parts), pieces.to);
}

// Merges by concatenating the slices of the outer dimension along the inner one. Splits by concatenating slices along a
// dimension of 1 in front.
uint32_t Lowering::regroup(uint32_t x, const Regrouping& change) {
  for (size_t i = change.from.size() - 1; i-- > 0;) {
    const size_t at = place_of(dims(x), change.at + i);
    x = pieces(x, {at, place_of(dims(x), change.at + i + 1), 0, 1, 1, change.from[i]});
  }
  int64_t size = std::accumulate(change.to.begin(), change.to.end(), int64_t{1}, std::multiplies<>());
  for (size_t i = 0; i + 1 < change.to.size(); ++i) {
    size /= change.to[i];
    size_t at = place_of(dims(x), change.at + i);
    Sizes with_one = dims(x);
    const auto one = std::find_if(with_one.begin(), with_one.end(), [](const auto& dim) { return dim.is(1); });
    at -= one < with_one.begin() + static_cast<ptrdiff_t>(at) ? 1 : 0;
    if (one != with_one.end()) with_one.erase(one);
    with_one.insert(with_one.begin() + static_cast<ptrdiff_t>(at), 1);
    x = pieces(move_ones(x, with_one), {at + 1, at, 0, size, size, change.to[i]});
  }
  return x;
}

uint32_t Lowering::copy(uint32_t x) {
  if (num_symbolic(dims(x)) > 1) return binary(NodeType::multiply, x, constant({1}, {1}));
  PayloadNode node;
  node.type = NodeType::static_reshape;
  node.inputs[0] = x;
  node.first = or_zero(dims(x));
  return add(std::move(node), Sizes(dims(x)));
}

uint32_t Lowering::transpose(uint32_t x, const std::vector<uint32_t>& perm) {
  PayloadNode node;
  node.type = NodeType::static_transpose;
  node.inputs[0] = x;
  node.first = perm;
  Sizes out;
  for (const uint32_t dim : perm) out.push_back(dims(x)[dim]);
  return add(std::move(node), out);
}

uint32_t Lowering::slice(uint32_t x, const std::vector<uint32_t>& offsets, const Sizes& sizes) {
  if (sizes == dims(x)) return x;
  PayloadNode node;
  node.type = NodeType::static_slice;
  node.inputs[0] = x;
  node.first = offsets;
  node.second = or_zero(sizes);
  return add(std::move(node), sizes);
}

uint32_t Lowering::in_front(uint32_t x, size_t at) {
  const auto [known, is_new] = in_front_.try_emplace({x, at});
  if (!is_new) return known->second;
  const Sizes from = dims(x);
  const auto dim = from.begin() + static_cast<ptrdiff_t>(at);
  const uint32_t split = reshape(x, {product({from.begin(), dim}), *dim, product({dim + 1, from.end()})});
  return in_front_[{x, at}] = transpose(split, {1, 0, 2});
}

uint32_t Lowering::concatenate(std::vector<uint32_t> parts, size_t axis) {
  constexpr size_t kMaxParts = 5;
  constexpr NodeType kTypes[] = {NodeType::concatenate_2, NodeType::concatenate_3, NodeType::concatenate_4,
                                 NodeType::concatenate_5};
  const Sizes first = dims(parts[0]);
  const auto is_single = [&](uint32_t part) { return dims(part)[axis].is(1); };
  if (axis > 0 && parts.size() > 1 && has_small_blocks(first, axis) &&
      std::all_of(parts.begin(), parts.end(), is_single)) {
    const compiler::Sym outer = product({first.begin(), first.begin() + static_cast<ptrdiff_t>(axis)});
    const compiler::Sym inner = product({first.begin() + static_cast<ptrdiff_t>(axis) + 1, first.end()});
    for (uint32_t& part : parts) part = reshape(part, {1, outer, inner});
    Sizes out = first;
    out[axis] = static_cast<int64_t>(parts.size());
    return reshape(transpose(concatenate(std::move(parts), 0), {1, 0, 2}), out);
  }
  // Concatenates five at a time: each round copies every element once.
  while (parts.size() > 1) {
    std::vector<uint32_t> joined;
    for (size_t at = 0; at < parts.size(); at += kMaxParts) {
      const size_t count = std::min(kMaxParts, parts.size() - at);
      if (count == 1) {
        joined.push_back(parts[at]);
        continue;
      }
      PayloadNode node;
      node.type = kTypes[count - 2];
      node.axis = static_cast<uint32_t>(axis);
      Sizes out = dims(parts[at]);
      out[axis] = 0;
      for (size_t i = 0; i < count; ++i) {
        node.inputs[i] = parts[at + i];
        out[axis] = out[axis] + dims(parts[at + i])[axis];
      }
      joined.push_back(add(std::move(node), out));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

uint32_t Lowering::pad(uint32_t x, const std::vector<uint32_t>& before, const std::vector<uint32_t>& after,
                       float padding) {
  PayloadNode node;
  node.type = NodeType::static_constant_pad;
  node.inputs[0] = x;
  node.first = before;
  node.second = after;
  node.value = padding;
  Sizes out = dims(x);
  for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] + before[i] + after[i];
  return add(std::move(node), out);
}

}  // namespace wick::xnnpack
