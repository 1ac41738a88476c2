// Operators that move elements.
#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::Sym;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

size_t dim_of(const Node& node, const char* name = "dim") {
  return static_cast<size_t>(compiler::wrap_dim(node.static_integer(name), node.operands()[0]->rank()));
}

// The position of logical dimension `dim` in `order`.
size_t position(const Order& order, size_t dim) {
  return static_cast<size_t>(std::find(order.begin(), order.end(), dim) - order.begin());
}

// --- layouts ---

std::vector<int64_t> permutation(const Node& node) {
  std::vector<int64_t> perm = node.static_ints("dims");
  for (int64_t& dim : perm) dim = compiler::wrap_dim(dim, perm.size());
  return perm;
}

LayoutRule permute_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::permute;
  rule.perm = permutation(node);
  return rule;
}
LayoutRule view_layout(const Node&) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::view;
  return rule;
}
LayoutRule select_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::select;
  rule.dim = dim_of(node);
  return rule;
}

constexpr char kInexactBound[] = "a merged size whose upper bound differs from that of its parts";

constexpr int64_t kMaxPieces = 64;  // of a tensor that is taken apart: each is a copy

// The library infers one size of a view. With more of them it can add, move and drop dimensions of size 1, and take
// tensors apart and join them.
Verdict viewable(const Node& node, const TargetContext& context) {
  const Sizes from = dims_of(*node.operands()[0]), to = result_dims(node);
  const bool only_ones = without_ones(from) == without_ones(to), drops = to.size() < from.size();
  if (num_symbolic(to) <= 1 || (only_ones && !drops)) return Verdict::yes();
  const auto no = [&](const std::string& why) {
    return Verdict::no(
        fmt::format("more than one size known only at run time{}: {}", why, compiler::to_text(node.result()->type)));
  };
  if (!is_floating(node.result()->dtype()) || node.result()->is_quantized()) return no("");
  if (node.is("aten.view.default") && !only_ones) {
    const auto change = regrouping(from, to);
    if (!change) return no("");
    if (change->num_pieces() > kMaxPieces) return no(fmt::format(", and a view of more than {} pieces", kMaxPieces));
  }
  if (!drops) return Verdict::yes();
  constexpr size_t kRoom = 2;  // dropping one needs two more dimensions
  if (to.size() + kRoom > kMaxRank) return no(" in more dimensions than the library can drop one of");
  const std::string reason =
      context.ranges ? refuse_zero_sign(node, *context.ranges, ZeroSign::lost_from_operands) : "";
  return reason.empty() ? Verdict::yes() : Verdict::no(reason);
}

// --- slices ---

struct Slice {
  size_t dim;
  int64_t start, step;
  int64_t count;  // 0: all
};

std::optional<Slice> slice_of(const Node& node) {
  const Value& x = *node.operands()[0];
  Slice slice{dim_of(node), 0, 1, 0};
  const Sym size = dims_of(x)[slice.dim], count = result_dims(node)[slice.dim];
  if (!node.is_none("start")) {
    const Sym start = node.integer("start");
    if (!start.is_const() || (!size.is_const() && start.value() < 0)) return {};
    const int64_t most = bound(size);
    slice.start = start.value() < 0 ? std::max<int64_t>(start.value() + most, 0) : std::min(start.value(), most);
  }
  const Sym step = node.integer("step");
  if (!step.is_const() || step.value() < 1) return {};
  slice.step = step.value();
  if (count == size && slice.start == 0 && slice.step == 1) return slice;  // all of it
  if (!count.is_const()) return {};
  slice.count = count.value();
  if (slice.step != 1 && !size.is_const()) return {};
  return slice;
}

Verdict known_slice(const Node& node, const TargetContext&) {
  const auto slice = slice_of(node);
  if (!slice) return Verdict::no("a slice whose bounds are known only at run time");
  const bool in_pieces = slice->step != 1 && num_symbolic(dims_of(*node.operands()[0])) > 1;
  if (in_pieces && slice->count > kMaxPieces)
    return Verdict::no(
        fmt::format("a step between more than {} rows, with more than one size known only at run time", kMaxPieces));
  return Verdict::yes();
}

void lower_slice(Lowering& l, const Node& node) {
  const Slice slice = *slice_of(node);
  const uint32_t x = l.operand(node, 0);
  const size_t at = position(l.order(node), slice.dim);
  if (slice.count == 0) return l.set_result(node, x);
  l.set_result(node, every_step(l, x, at, slice.start, slice.step, slice.count));
}

Verdict known_index(const Node& node, const TargetContext& context) {
  const auto index = number(node, "index");
  const bool counts_back = index && *index < 0 && !dims_of(*node.operands()[0])[dim_of(node)].is_const();
  if (!index || counts_back) return Verdict::no("an index known only at run time");
  return viewable(node, context);
}

void lower_select(Lowering& l, const Node& node) {
  const Value* from = node.operands()[0];
  const size_t dim = dim_of(node);
  const auto index = static_cast<int64_t>(*number(node, "index"));
  const int64_t start = index < 0 ? index + dims_of(*from)[dim].value() : index;
  l.set_result(node, slice_dim(l, l.operand(node, 0), position(l.order_of(from), dim), start, 1));
}

// x with the rows from `start` on replaced by those of `source`.
Verdict known_scatter(const Node& node, const TargetContext&) {
  for (const char* name : {"start", "end"}) {
    if (!node.is_none(name) && !number(node, name)) return Verdict::no("bounds known only at run time");
  }
  if (node.static_integer("step") != 1) return Verdict::no("a step other than 1");
  const size_t dim = dim_of(node);
  const bool known = result_dims(node)[dim].is_const() && dims_of(*node.operands()[1])[dim].is_const();
  return known ? Verdict::yes() : Verdict::no("a number of rows known only at run time");
}

void lower_slice_scatter(Lowering& l, const Node& node) {
  const size_t dim = dim_of(node);
  const int64_t size = result_dims(node)[dim].value(), count = dims_of(*node.operands()[1])[dim].value();
  int64_t start = node.is_none("start") ? 0 : static_cast<int64_t>(*number(node, "start"));
  start = std::min(start < 0 ? std::max<int64_t>(start + size, 0) : start, size);
  const uint32_t x = l.operand(node, 0);
  const size_t at = position(l.order(node), dim);
  std::vector<uint32_t> parts;
  if (start > 0) parts.push_back(slice_dim(l, x, at, 0, start));
  parts.push_back(l.operand(node, 1));
  if (start + count < size) parts.push_back(slice_dim(l, x, at, start + count, size - start - count));
  l.set_result(node, l.concatenate(std::move(parts), at));
}

// --- others ---

void lower_view(Lowering& l, const Node& node) { l.set_result(node, l.as_result(node, l.operand(node, 0))); }

Verdict known_view(const Node& node, const TargetContext& context) {
  const Sizes from = dims_of(*node.operands()[0]), to = result_dims(node);
  if (!(compiler::numel(from) == compiler::numel(to)))
    return Verdict::no("a view that fixes a size known only at run time");
  // The upper bound of s0 * (s1 - 1) is computed as that of s0*s1 - s0, which exceeds the product of the bounds.
  if (elements(from) != elements(to)) return Verdict::no(kInexactBound);
  return viewable(node, context);
}

// Permutes cost nothing: the layout says where the dimensions lie.
void lower_permute(Lowering& l, const Node& node) {
  const Value* from = node.operands()[0];
  l.set_result(node, l.operand(from, l.order_of(from)));
}

Verdict known_halves(const Node& node, const TargetContext&) {
  const bool known = dims_of(*node.operands()[0])[dim_of(node)].is_const();
  return known ? Verdict::yes() : Verdict::no("halves whose size is known only at run time");
}

// The first half times the sigmoid of the second.
void lower_glu(Lowering& l, const Node& node) {
  const size_t dim = dim_of(node), at = position(l.order(node), dim);
  const int64_t half = result_dims(node)[dim].value();
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t gate = sigmoid(l, node, slice_dim(l, x, at, half, half));
    return l.binary(NodeType::multiply, slice_dim(l, x, at, 0, half), gate);
  });
}

Verdict known_growth(const Node& node, const TargetContext&) {
  const Sizes from = dims_of(*node.operands()[0]), to = result_dims(node);
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t added = to.size() - from.size();
    if (!to[i].is_const() && (i < added || !(from[i - added] == to[i])))
      return Verdict::no("an expansion to a size known only at run time");
    if (to[i].is_const() && i >= added && !from[i - added].is_const())
      return Verdict::no("an expansion that fixes a size known only at run time");
  }
  return Verdict::yes();
}

// Repeats dimensions by a multiplication by ones.
void lower_expand(Lowering& l, const Node& node) {
  const Value* from = node.operands()[0];
  const uint32_t x = l.operand(from, l.order(node));
  const Sizes wanted = physical(result_dims(node), l.order(node));
  Sizes ones(wanted.size(), 1);
  int64_t count = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (l.dims(x)[i] == wanted[i]) continue;
    ones[i] = wanted[i];
    count *= wanted[i].value();
  }
  if (count == 1) return l.set_result(node, x);
  const std::vector<float> elements(static_cast<size_t>(count), 1.0f);
  l.set_result(node, l.binary(NodeType::multiply, x, l.constant(elements, ones)));
}

void lower_repeat(Lowering& l, const Node& node) {
  const std::vector<int64_t> repeats = node.static_ints("repeats");
  uint32_t x = l.operand(node, 0);
  for (size_t dim = 0; dim < repeats.size(); ++dim) {
    if (repeats[dim] == 1) continue;
    x = l.concatenate(std::vector<uint32_t>(static_cast<size_t>(repeats[dim]), x), position(l.order(node), dim));
  }
  l.set_result(node, x);
}

void lower_cat(Lowering& l, const Node& node) {
  std::vector<uint32_t> parts;
  for (size_t i = 0; i < node.operands().size(); ++i) parts.push_back(l.operand(node, i));
  const auto dim = compiler::wrap_dim(node.static_integer("dim"), node.result()->rank());
  l.set_result(node, l.concatenate(std::move(parts), position(l.order(node), static_cast<size_t>(dim))));
}

Verdict same_ranks(const Node& node, const TargetContext&) {
  const Sizes result = result_dims(node);
  const auto along = static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), result.size()));
  Sym sum = 0;
  int64_t most = 0;
  for (const Value* operand : node.operands()) {
    const Sizes dims = dims_of(*operand);
    if (dims.size() != result.size()) return Verdict::no("parts of different ranks");
    sum = sum + dims[along];
    most += bound(dims[along]);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i != along && !(dims[i] == result[i])) return Verdict::no(kAgreeOnlyAtRunTime);
    }
  }
  if (!(sum == result[along])) return Verdict::no(kAgreeOnlyAtRunTime);
  return most == bound(result[along]) ? Verdict::yes() : Verdict::no(kInexactBound);
}

Verdict known_pad(const Node& node, const TargetContext&) {
  if (!number(node, "value")) return Verdict::no("a padding value known only at run time");
  Sizes padded = dims_of(*node.operands()[0]);
  const compiler::Ints amounts = node.ints("pad");
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (!amounts[i].is_const()) return Verdict::no("padding known only at run time");
    if (amounts[i].value() < 0 && num_symbolic(result_dims(node)) > 0)
      return Verdict::no("negative padding of sizes known only at run time");
    Sym& size = padded[padded.size() - 1 - i / 2];
    size = size + amounts[i];
    const int64_t kept = bound(dims_of(*node.operands()[0])[padded.size() - 1 - i / 2]) +
                         std::min<int64_t>(amounts[i].value(), 0) +
                         (i % 2 == 1 ? std::min<int64_t>(amounts[i - 1].value(), 0) : 0);
    if (kept < 1) return Verdict::no("a pad that cuts off all elements");
  }
  return padded == result_dims(node) ? Verdict::yes() : Verdict::no(kAgreeOnlyAtRunTime);
}

// Negative amounts cut off.
void lower_pad(Lowering& l, const Node& node) {
  const std::vector<int64_t> amounts = node.static_ints("pad");
  uint32_t x = l.operand(node, 0);
  const size_t rank = node.result()->rank();
  std::vector<uint32_t> before(rank, 0), after(rank, 0), offsets(rank, 0);
  Sizes sizes = l.dims(x);
  bool grows = false;
  for (size_t i = 0; i + 1 < amounts.size(); i += 2) {
    const size_t at = position(l.order(node), rank - 1 - i / 2);
    const int64_t low = amounts[i], high = amounts[i + 1];
    before[at] = static_cast<uint32_t>(std::max<int64_t>(low, 0));
    after[at] = static_cast<uint32_t>(std::max<int64_t>(high, 0));
    offsets[at] = static_cast<uint32_t>(std::max<int64_t>(-low, 0));
    sizes[at] = sizes[at] - (std::max<int64_t>(-low, 0) + std::max<int64_t>(-high, 0));
    grows |= low > 0 || high > 0;
  }
  x = l.slice(x, offsets, sizes);
  if (grows) x = l.pad(x, before, after, static_cast<float>(*number(node, "value")));
  l.set_result(node, x);
}

void lower_roll(Lowering& l, const Node& node) {
  const std::vector<int64_t> shifts = node.static_ints("shifts"), dims = node.static_ints("dims");
  uint32_t x = l.operand(node, 0);
  const Sizes sizes = result_dims(node);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto dim = static_cast<size_t>(compiler::wrap_dim(dims[i], sizes.size()));
    const int64_t size = sizes[dim].value(), shift = ((shifts[i] % size) + size) % size;
    if (shift == 0) continue;
    const size_t at = position(l.order(node), dim);
    x = l.concatenate({slice_dim(l, x, at, size - shift, shift), slice_dim(l, x, at, 0, size - shift)}, at);
  }
  l.set_result(node, x);
}

Verdict known_roll(const Node& node, const TargetContext&) {
  if (node.ints("dims").empty()) return Verdict::no("a roll of the flattened tensor");
  for (const Sym& shift : node.ints("shifts")) {
    if (!shift.is_const()) return Verdict::no("a shift known only at run time");
  }
  const Sizes sizes = result_dims(node);
  for (const int64_t dim : node.static_ints("dims")) {
    if (!sizes[static_cast<size_t>(compiler::wrap_dim(dim, sizes.size()))].is_const())
      return Verdict::no("a roll along a size known only at run time");
  }
  return Verdict::yes();
}

Verdict known_repeats(const Node& node, const TargetContext&) {
  for (const Sym& count : node.ints("repeats")) {
    if (!count.is_const()) return Verdict::no("a number of repetitions known only at run time");
  }
  return Verdict::yes();
}

// Sizes of images: those before the last three as one, channels, height, width.
Sizes image_dims(const Sizes& dims) {
  const auto channels = dims.end() - 3;
  return {compiler::layout::product({dims.begin(), channels}), channels[0], channels[1], channels[2]};
}

// [n, c r r, h, w] -> [n, c, h r, w r], channels innermost all along.
void lower_pixel_shuffle(Lowering& l, const Node& node) {
  const Sizes from = image_dims(dims_of(*node.operands()[0]));
  const Sym r = node.integer("upscale_factor"), c = image_dims(result_dims(node))[1];
  const uint32_t split = l.reshape(l.operand(node, 0), {from[0] * from[2], from[3], c, r, r});
  l.set_result(node, l.as_result(node, l.transpose(split, {0, 3, 1, 4, 2})));
}
// [n, c, h r, w r] -> [n, c r r, h, w]
void lower_pixel_unshuffle(Lowering& l, const Node& node) {
  const Sizes to = image_dims(result_dims(node));
  const Sym r = node.integer("downscale_factor"), c = image_dims(dims_of(*node.operands()[0]))[1];
  const uint32_t split = l.reshape(l.operand(node, 0), {to[0] * to[2], r, to[3], r, c});
  l.set_result(node, l.as_result(node, l.transpose(split, {0, 2, 4, 1, 3})));
}

LayoutRule image_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::fixed;
  const size_t rank = node.result()->rank();
  rule.order = made_last(plain_order(rank), rank - 3);
  return rule;
}

constexpr OpRule kMovementRows[] = {
    on_int8(same_scales, {"aten.cat.default", same_ranks, any_dim_order, lower_cat, Unknown::any}),
    on_int8(same_scales, {"aten.constant_pad_nd.default", known_pad, any_dim_order, lower_pad, Unknown::any}),
    {"aten.expand.default", known_growth, any_dim_order, lower_expand, Unknown::any},
    deviates(kSigmoid, {"aten.glu.default", known_halves, any_dim_order, lower_glu, Unknown::any}),
    on_int8(same_scales, {"aten.permute.default", nullptr, permute_layout, lower_permute, Unknown::any}),
    {"aten.pixel_shuffle.default", nullptr, image_layout, lower_pixel_shuffle, Unknown::one},
    {"aten.pixel_unshuffle.default", nullptr, image_layout, lower_pixel_unshuffle, Unknown::one},
    {"aten.repeat.default", known_repeats, any_dim_order, lower_repeat, Unknown::any},
    {"aten.roll.default", known_roll, any_dim_order, lower_roll, Unknown::any},
    on_int8(same_scales, {"aten.select.int", known_index, select_layout, lower_select, Unknown::any}),
    on_int8(fits_slice, {"aten.slice.Tensor", known_slice, any_dim_order, lower_slice, Unknown::any}),
    {"aten.slice_scatter.default", known_scatter, any_dim_order, lower_slice_scatter, Unknown::any},
    on_int8(same_scales, {"aten.view.default", known_view, view_layout, lower_view, Unknown::any}),
};

}  // namespace

const RuleFamily kMovementRules = {kMovementRows, std::size(kMovementRows)};

uint32_t slice_dim(Lowering& l, uint32_t x, size_t at, int64_t start, int64_t count) {
  if (count == 1 && !l.dims(x)[at].is(1) && has_small_blocks(l.dims(x), at)) {
    Sizes one = l.dims(x);
    one[at] = 1;
    const uint32_t front = l.in_front(x, at);
    return l.reshape(l.slice(front, {static_cast<uint32_t>(start), 0, 0}, {1, l.dims(front)[1], l.dims(front)[2]}),
                     one);
  }
  std::vector<uint32_t> offsets(l.dims(x).size(), 0);
  Sizes sizes = l.dims(x);
  offsets[at] = static_cast<uint32_t>(start);
  sizes[at] = count;
  return l.slice(x, offsets, sizes);
}

// Views the dimension as rows of `step` elements and keeps one of each: at `start`, or the first one of rows that begin
// at `start`.
uint32_t every_step(Lowering& l, uint32_t x, size_t at, int64_t start, int64_t step, int64_t count) {
  if (step == 1) return slice_dim(l, x, at, start, count);
  const Sizes dims = l.dims(x);
  const Sym outer = compiler::layout::product({dims.begin(), dims.begin() + static_cast<ptrdiff_t>(at)});
  const Sym inner = compiler::layout::product({dims.begin() + static_cast<ptrdiff_t>(at) + 1, dims.end()});
  if (num_symbolic(dims) > 1) return l.pieces(x, {at, at, start, step, 1, count});
  Sizes result = dims;
  result[at] = count;
  const int64_t size = dims[at].value(), span = count * step, missing = start + span - size;
  if (size % step == 0) {
    const uint32_t kept = slice_dim(l, l.reshape(x, {outer, size / step, step, inner}), 2, start % step, 1);
    return l.reshape(slice_dim(l, kept, 1, start / step, count), result);
  }
  uint32_t rows = l.reshape(x, {outer, dims[at], inner});
  if (missing > 0) rows = l.pad(rows, {0, 0, 0}, {0, static_cast<uint32_t>(missing), 0}, 0);
  rows = slice_dim(l, rows, 1, start, span);
  return l.reshape(slice_dim(l, l.reshape(rows, {outer, count, step, inner}), 2, 0, 1), result);
}

}  // namespace wick::xnnpack
