// Means, sums, variances and extremes over dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- means over images ---

constexpr int64_t kLongSum = 256;

// The mean over the two dimensions before the last, which keep size 1.
uint32_t global_mean(Lowering& l, uint32_t x, uint32_t flags = 0) {
  const Sizes dims = l.dims(x);
  PayloadNode node;
  node.type = NodeType::global_avg_pooling_2d;
  node.inputs[0] = x;
  node.flags = kKeepDims | flags;
  Sizes out = dims;
  out[dims.size() - 3] = out[dims.size() - 2] = 1;
  return l.add(std::move(node), out);
}

// The largest divisor up to the square root.
int64_t middle_divisor(int64_t count) {
  int64_t divisor = 1;
  for (int64_t i = 2; i * i <= count; ++i) {
    if (count % i == 0) divisor = i;
  }
  return divisor;
}

}  // namespace

uint32_t image_mean(Lowering& l, uint32_t x) {
  const Sizes dims = l.dims(x);
  if (l.is_int8() || !dims[1].is_const() || !dims[2].is_const() || !dims[3].is_const()) return global_mean(l, x);
  const int64_t count = dims[1].value() * dims[2].value(), parts = middle_divisor(count);
  if (count <= kLongSum || parts == 1) return global_mean(l, x);
  const uint32_t means = global_mean(l, l.reshape(x, {dims[0] * parts, count / parts, 1, dims[3]}));
  return global_mean(l, l.reshape(means, {dims[0], parts, 1, dims[3]}));
}

uint32_t mean_of_rows(Lowering& l, uint32_t x) {
  Sizes dims = l.dims(x);
  if (dims.back().is_const()) return l.row_mean(x);
  Sizes images = dims;
  images.insert(images.end(), 2, compiler::Sym(1));
  dims.back() = 1;
  return l.reshape(global_mean(l, l.reshape(x, images)), dims);
}

namespace {

// --- what is reduced ---

std::vector<bool> reduced_dims(const Node& node) {
  const size_t rank = node.operands()[0]->rank();
  if (node.arg("dim").is<compiler::Sym>()) {
    std::vector<bool> one(rank, false);
    one[static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), rank))] = true;
    return one;
  }
  const bool all = node.is_none("dim") || node.ints("dim").empty();
  std::vector<bool> reduced(rank, all);
  if (all) return reduced;
  for (const int64_t dim : node.static_ints("dim")) reduced[static_cast<size_t>(compiler::wrap_dim(dim, rank))] = true;
  return reduced;
}

// Whether the node reduces only the last dimension, of known size, and keeps it: then no reshape is needed.
bool is_over_last(const Node& node) {
  const std::vector<bool> reduced = reduced_dims(node);
  return node.boolean("keepdim") && std::count(reduced.begin(), reduced.end(), true) == 1 && reduced.back() &&
         dims_of(*node.operands()[0]).back().is_const();
}

LayoutRule reduce_layout(const Node& node) {
  if (is_over_last(node)) return innermost(reduced_dims(node).size() - 1);
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::reduce;
  rule.reduced = reduced_dims(node);
  rule.keep_dims = node.boolean("keepdim");
  return rule;
}

// If the reduced dimensions cannot be merged into one, there may be two: the library's mean is over two dimensions.
Verdict few_dims(const Node& node, const TargetContext&) {
  const Value& x = *node.operands()[0];
  if (x.rank() == 0) return Verdict::no("a reduction of a scalar");
  const std::vector<bool> reduced = reduced_dims(node);
  if (is_over_last(node) || can_merge(dims_of(x), reduced)) return Verdict::yes();
  const auto count = std::count(reduced.begin(), reduced.end(), true);
  const std::string text = compiler::to_text(x.type);
  if (count > 2)
    return Verdict::no(
        fmt::format("a reduction over {} dimensions beside other sizes known only at run time: {}; at "
                    "most two are taken",
                    count, text));
  if (count == 1 && x.rank() == kMaxRank && !node.boolean("keepdim"))
    return Verdict::no(
        fmt::format("a reduction of {} dimensions, several of a size known only at run time: {}; at "
                    "most five are taken",
                    kMaxRank, text));
  return Verdict::yes();
}

// A single dimension beside several sizes known only at run time can be viewed neither as rows nor as an image.
bool sums_one_apart(const Node& node) {
  const std::vector<bool> reduced = reduced_dims(node);
  return std::count(reduced.begin(), reduced.end(), true) == 1 && !can_merge(dims_of(*node.operands()[0]), reduced);
}

// Elements before, in and after the reduced dimensions, as they lie in memory.
struct Split {
  compiler::Sym outer = 1, reduced = 1, inner = 1;
};

struct Reduction {
  uint32_t x;
  Split split;
  // If sizes known only at run time keep the reduced dimensions of x apart: their number, and the first one. They come
  // before the last dimension of x, or are that one, with a known size. 0: they may be merged as `split` says.
  size_t count = 0, begin = 0;
};

uint32_t row_sum(Lowering& l, uint32_t x) {
  const compiler::Sym columns = l.dims(x).back();
  const std::vector<float> ones(static_cast<size_t>(columns.value()), 1.0f);
  return l.fully_connected(x, l.constant(ones, {1, columns}), kNoValue);
}

Split split_of(const Sizes& dims, const Order& order, const std::vector<bool>& reduced) {
  const size_t begin = *adjacent_run(dims, order, reduced);
  Split split;
  for (size_t i = 0; i < order.size(); ++i) {
    compiler::Sym& part = reduced[order[i]] ? split.reduced : i < begin ? split.outer : split.inner;
    part = part * dims[order[i]];
  }
  return split;
}

Reduction reduction_of(Lowering& l, const Node& node) {
  const Value* from = node.operands()[0];
  const LayoutRule rule = reduce_layout(node);
  const Sizes dims = dims_of(*from);
  if (rule.kind == LayoutRule::Kind::last) {
    const uint32_t x = l.rows_along(node, rule.dim);
    return {x, {compiler::layout::product({l.dims(x).begin(), l.dims(x).end() - 1}), dims.back(), 1}};
  }
  const Order order = Layouts::wanted(node, rule, {}, 0, *from, l.order_of(from));
  const uint32_t x = l.operand(from, order);
  const Split split = split_of(dims, order, rule.reduced);
  if (!can_merge(dims, rule.reduced)) {
    const auto is_reduced = [&](uint8_t dim) { return rule.reduced[dim]; };
    const auto begin = std::find_if(order.begin(), order.end(), is_reduced) - order.begin();
    const auto count = std::count(rule.reduced.begin(), rule.reduced.end(), true);
    return {x, split, static_cast<size_t>(count), static_cast<size_t>(begin)};
  }
  if (split.reduced.is_const()) return {x, split};
  return {l.reshape(x, {split.outer, split.reduced, 1, split.inner}), split, 2, 1};
}

// x with the reduced elements innermost.
uint32_t rows_of(Lowering& l, const Reduction& reduction) {
  const Sizes& dims = l.dims(reduction.x);
  if (dims.back() == reduction.split.reduced) return reduction.x;
  return l.reshape(reduction.x, {reduction.split.outer, reduction.split.reduced});
}

// The reduction with its reduced elements in dimensions of their own, which a mean keeps with size 1.
Reduction separated(Lowering& l, const Reduction& reduction) {
  const Split& split = reduction.split;
  if (reduction.count != 0) return reduction;
  if (split.inner.is(1)) return {rows_of(l, reduction), split};
  return {l.reshape(reduction.x, {split.outer, split.reduced, 1, split.inner}), split};
}

// The sizes of a mean over separated elements.
Sizes kept(const Lowering& l, const Reduction& reduction) {
  Sizes dims = l.dims(reduction.x);
  dims[reduction.split.inner.is(1) ? dims.size() - 1 : 1] = 1;
  return dims;
}

// --- numbers of elements known only at run time ---

// [1, .., 1, size of dimension `at`]: ones, whatever x holds. They come from int8 values, which have no NaN.
uint32_t ones_along(Lowering& l, uint32_t x, size_t at) {
  Quantization below_one;
  below_one.kind = Quantization::Kind::per_tensor;
  below_one.scale = 1.0f / 128;
  Sizes sizes(l.dims(x).size(), 1);
  sizes[at] = l.dims(x)[at];
  const uint32_t some = l.slice(x, std::vector<uint32_t>(sizes.size(), 0), sizes);
  const uint32_t integers = l.convert(l.as_type(some, DataType::fp32), DataType::qint8, below_one);
  std::swap(sizes[at], sizes.back());
  return l.reshape(clamped(l, l.convert(integers, DataType::fp32, {}), {.min = 1}), sizes);
}

// [1, 1]: how many elements lie along dimension `at` of x.
uint32_t count_along(Lowering& l, uint32_t x, size_t at) {
  const uint32_t ones = l.reshape(ones_along(l, x, at), {1, l.dims(x)[at]});
  return batch_product(l, ones, ones, true);
}

// How many elements are reduced.
uint32_t count_of(Lowering& l, const Reduction& reduction) {
  if (reduction.split.reduced.is_const()) return l.scalar(static_cast<double>(reduction.split.reduced.value()));
  uint32_t count = kNoValue;
  for (size_t i = reduction.begin; i < reduction.begin + reduction.count; ++i) {
    const compiler::Sym& size = l.dims(reduction.x)[i];
    if (size.is(1)) continue;
    const uint32_t some =
        size.is_const() ? l.scalar(static_cast<double>(size.value())) : count_along(l, reduction.x, i);
    count = count == kNoValue ? some : l.binary(NodeType::multiply, count, some);
  }
  return count;
}

// The sum over a single dimension that cannot be merged with others.
uint32_t sum_along(Lowering& l, const Reduction& reduction) {
  if (reduction.split.reduced.is_const()) return row_sum(l, reduction.x);
  return batch_product(l, ones_along(l, reduction.x, reduction.begin), reduction.x, false);
}

// --- means and sums ---

uint32_t mean_of(Lowering& l, const Reduction& reduction) {
  const Split& split = reduction.split;
  if (reduction.count == 1) return l.binary(NodeType::div, sum_along(l, reduction), count_of(l, reduction));
  if (reduction.count == 2) return global_mean(l, reduction.x);
  if (split.inner.is(1) && !l.is_int8()) return l.row_mean(rows_of(l, reduction));
  return image_mean(l, l.reshape(reduction.x, {split.outer, split.reduced, 1, split.inner}));
}

uint32_t sum_of(Lowering& l, const Reduction& reduction) {
  const Split& split = reduction.split;
  if (reduction.count == 1) return sum_along(l, reduction);
  if (reduction.count == 0 && split.inner.is(1)) return row_sum(l, rows_of(l, reduction));
  const uint32_t mean = reduction.count == 2 ? global_mean(l, reduction.x, kZeroOfNone) : mean_of(l, reduction);
  return l.binary(NodeType::multiply, mean, count_of(l, reduction));
}

// Sets body(reduction) as the node's result, computed in f32.
template <typename Body>
void reduce_in_fp32(Lowering& l, const Node& node, const Reduction& from, const Body& body) {
  const DataType type = l.type();
  Reduction wide = from;
  wide.x = l.as_type(from.x, DataType::fp32);
  const uint32_t out = body(separated(l, wide));
  l.set_result(node, l.as_result(node, type == DataType::fp16 ? l.as_type(out, type) : out));
}

using Reduce = uint32_t (*)(Lowering& l, const Reduction& reduction);

template <Reduce reduce>
void lower_reduction(Lowering& l, const Node& node) {
  const Reduction from = reduction_of(l, node);
  if (from.count != 0 && !l.is_int8())
    return reduce_in_fp32(l, node, from, [&](const Reduction& x) { return reduce(l, x); });
  l.set_result(node, l.as_result(node, reduce(l, from)));
}

Verdict enough_elements(const Node& node, const TargetContext& context) {
  Verdict verdict = few_dims(node, context);
  if (!verdict.taken) return verdict;
  const auto correction = node.is_none("correction") ? std::optional<double>(1) : number(node, "correction");
  if (!correction) return Verdict::no("a correction known only at run time");
  const Sizes dims = dims_of(*node.operands()[0]);
  const std::vector<bool> reduced = reduced_dims(node);
  compiler::Sym count = 1;
  for (size_t i = 0; i < dims.size(); ++i) count = reduced[i] ? count * dims[i] : count;
  if (count.is_const() && static_cast<double>(count.value()) <= *correction)
    return Verdict::no(fmt::format("{} elements; the correction of {} needs more", count.value(), *correction));
  return Verdict::yes();
}

// mean(c^2) n / max(n - correction, 0), where c is x minus its mean. The mean is subtracted twice, because the mean of
// large numbers is rounded.
void lower_variance(Lowering& l, const Node& node) {
  const double correction = node.is_none("correction") ? 1 : *number(node, "correction");
  reduce_in_fp32(l, node, reduction_of(l, node), [&](const Reduction& from) {
    Reduction x = from;
    for (int i = 0; i < 2; ++i) x.x = l.binary(NodeType::subtract, x.x, mean_of(l, x));
    x.x = l.unary(NodeType::square, x.x);
    const uint32_t variance = mean_of(l, x);
    if (correction == 0) return variance;
    if (from.split.reduced.is_const()) {
      const auto count = static_cast<double>(from.split.reduced.value());
      return l.binary(NodeType::multiply, variance, l.scalar(count / (count - correction)));
    }
    const uint32_t count = count_of(l, from);
    const uint32_t rest = l.binary(NodeType::subtract, count, l.scalar(correction), {.min = 0});
    return l.binary(NodeType::multiply, variance, l.binary(NodeType::div, count, rest));
  });
}

// The largest elements along the second dimension of [outer, reduced, 1, inner], without that dimension.
uint32_t largest_of(Lowering& l, uint32_t x, const Split& split) {
  PayloadNode node;
  node.type = NodeType::max_pooling_2d;
  node.inputs[0] = l.reshape(x, {split.outer, split.reduced, 1, split.inner});
  if (split.reduced.is(1)) return node.inputs[0];
  node.window.kernel[0] = static_cast<uint32_t>(split.reduced.value());
  node.window.stride[0] = node.window.kernel[0];
  return l.add_by_channel(std::move(node), {split.outer, 1, 1, split.inner});
}

// The library computes adjacent channels in parallel, but the elements of a window one after the other. So long rows
// are reduced in two steps, the first with 16 channels.
uint32_t largest(Lowering& l, uint32_t x, const Split& split) {
  constexpr int64_t kSide = 16, kLong = 128;
  const int64_t count = split.reduced.value();
  if (!split.inner.is(1) || count < kLong || count % kSide != 0) return largest_of(l, x, split);
  const Split first = {split.outer, count / kSide, kSide}, rest = {split.outer, kSide, 1};
  return largest_of(l, largest_of(l, x, first), rest);
}

void lower_amax(Lowering& l, const Node& node) {
  const Reduction reduction = reduction_of(l, node);
  l.set_result(node, l.as_result(node, largest(l, reduction.x, reduction.split)));
}
void lower_amin(Lowering& l, const Node& node) {
  const Reduction reduction = reduction_of(l, node);
  const uint32_t negated = l.unary(NodeType::negate, reduction.x);
  l.set_result(node, l.as_result(node, l.unary(NodeType::negate, largest(l, negated, reduction.split))));
}

// m + log(sum(e^(x - m))), m the largest element, clamped to finite numbers
void lower_log_sum_exp(Lowering& l, const Node& node) {
  reduce_in_fp32(l, node, reduction_of(l, node), [&](const Reduction& from) {
    const uint32_t most = clamped(l, l.reshape(largest(l, from.x, from.split), kept(l, from)), kAllFinite);
    const uint32_t powers = l.unary(NodeType::exp, l.binary(NodeType::subtract, from.x, most));
    return l.binary(NodeType::add, most, l.unary(NodeType::log, sum_of(l, {powers, from.split})));
  });
}

// Two more dimensions of size 1 make images of rows.
Verdict rows_or_images(const Node& node, const TargetContext&) {
  const Sizes dims = result_dims(node);
  if (dims.empty()) return Verdict::no("a softmax of a scalar");
  const bool is_known = dims[softmax_layout(node).dim].is_const();
  return is_known || dims.size() + 2 <= kMaxRank ? Verdict::yes()
                                                 : Verdict::no(
                                                       "more than four dimensions, that of the softmax of a "
                                                       "size known only at run time");
}

// x - m - log(sum(e^(x - m))), m the largest
uint32_t log_softmax_by_max(Lowering& l, uint32_t x) {
  const Sizes dims = l.dims(x);
  Sizes ones = dims;
  ones.back() = 1;
  const Split split{compiler::layout::product({dims.begin(), dims.end() - 1}), dims.back(), 1};
  const uint32_t below = l.binary(NodeType::subtract, x, l.reshape(largest(l, x, split), ones));
  const uint32_t total = row_sum(l, l.unary(NodeType::exp, below));
  return l.binary(NodeType::subtract, below, l.unary(NodeType::log, total));
}

// The same without the largest element, which needs known sizes. With n elements, m = sum(p x), where p = softmax(x),
// lies at most log(n) below the largest. The mean of p is 1 / n.
uint32_t log_softmax_by_mean(Lowering& l, uint32_t x) {
  const uint32_t weights = l.unary(NodeType::softmax, x), share = mean_of_rows(l, weights);
  const auto sum = [&](uint32_t terms) { return l.binary(NodeType::div, mean_of_rows(l, terms), share); };
  const uint32_t middle = sum(l.binary(NodeType::multiply, weights, clamped(l, x, kAllFinite)));
  const uint32_t below = l.binary(NodeType::subtract, x, middle);
  return l.binary(NodeType::subtract, below, l.unary(NodeType::log, sum(l.unary(NodeType::exp, below))));
}

void lower_log_softmax(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, l.rows_along(node, softmax_layout(node).dim), [&](uint32_t x) {
    const bool may_reshape = l.dims(x).back().is_const() && num_symbolic(l.dims(x)) <= 1;
    return may_reshape ? log_softmax_by_max(l, x) : log_softmax_by_mean(l, x);
  });
}

Verdict largest_taken(const Node& node, const TargetContext&) {
  const Sizes dims = dims_of(*node.operands()[0]);
  if (dims.empty()) return Verdict::no("a reduction of a scalar");
  const std::vector<bool> reduced = reduced_dims(node);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (reduced[i] && !dims[i].is_const()) return Verdict::no("a reduction over a size known only at run time");
  }
  return num_symbolic(dims) <= 1 ? Verdict::yes() : Verdict::no("more than one size known only at run time");
}

// --- products ---

constexpr int64_t kMaxFactors = 16;

Verdict few_factors(const Node& node, const TargetContext& context) {
  Verdict verdict = largest_taken(node, context);
  if (!verdict.taken) return verdict;
  const auto dim = static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.operands()[0]->rank()));
  const int64_t size = dims_of(*node.operands()[0])[dim].value();
  return size <= kMaxFactors ? Verdict::yes() : Verdict::no(fmt::format("a product of {} elements; at most 16", size));
}

// Multiplies one element after the other, as eager does: other orders overflow where this one does not.
void lower_product(Lowering& l, const Node& node) {
  reduce_in_fp32(l, node, reduction_of(l, node), [&](const Reduction& from) {
    const Split& split = from.split;
    const uint32_t x = l.reshape(from.x, {split.outer, split.reduced, split.inner});
    uint32_t out = slice_dim(l, x, 1, 0, 1);
    for (int64_t i = 1; i < split.reduced.value(); ++i)
      out = l.binary(NodeType::multiply, out, slice_dim(l, x, 1, i, 1));
    return out;
  });
}

// --- running sums ---

constexpr int64_t kMaxRunningSum = 1024;
constexpr int64_t kRunningBlock = 32;

LayoutRule scan_layout(const Node& node) {
  const size_t rank = node.result()->rank();
  return rank == 0 ? LayoutRule{}
                   : innermost(static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), rank)));
}

Verdict known_scan(const Node& node, const TargetContext&) {
  const Sizes dims = result_dims(node);
  if (dims.empty()) return Verdict::no("a running sum of a scalar");
  const compiler::Sym& size = dims[scan_layout(node).dim];
  if (!size.is_const()) return Verdict::no("a running sum over a size known only at run time");
  if (size.value() > kMaxRunningSum)
    return Verdict::no(
        fmt::format("a running sum of {} elements; at most 1024 cost less than a graph break", size.value()));
  return Verdict::yes();
}

// x @ a triangle of ones: running sums over the last dimension; `before`: without the element itself.
uint32_t triangle_sums(Lowering& l, uint32_t x, bool before) {
  const int64_t size = l.dims(x).back().value();
  std::vector<float> ones;
  for (int64_t to = 0; to < size; ++to) {
    for (int64_t from = 0; from < size; ++from) ones.push_back(from < to || (from == to && !before) ? 1.0f : 0.0f);
  }
  return l.fully_connected(x, l.constant(ones, {size, size}), kNoValue);
}

// Running sums over the last dimension, in blocks: the totals of the blocks before are added to each.
uint32_t running_sums(Lowering& l, uint32_t x) {
  const Sizes dims = l.dims(x);
  const int64_t size = dims.back().value();
  if (size <= kRunningBlock) return triangle_sums(l, x, false);
  const compiler::Sym rows = compiler::layout::product({dims.begin(), dims.end() - 1});
  const int64_t blocks = (size + kRunningBlock - 1) / kRunningBlock, whole = blocks * kRunningBlock;
  uint32_t out = l.reshape(x, {rows, size});
  if (whole != size) out = l.pad(out, {0, 0}, {0, static_cast<uint32_t>(whole - size)}, 0);
  out = triangle_sums(l, l.reshape(out, {rows, blocks, kRunningBlock}), false);
  const uint32_t totals = l.reshape(slice_dim(l, out, 2, kRunningBlock - 1, 1), {rows, blocks});
  const uint32_t before = l.reshape(triangle_sums(l, totals, true), {rows, blocks, 1});
  out = l.reshape(l.binary(NodeType::add, out, before), {rows, whole});
  return l.reshape(slice_dim(l, out, 1, 0, size), dims);
}

// Running sums without matmuls, in which infinity times zero would reach earlier elements: adds shifted copies, which
// gives sums of 2, 4, 8 .. elements.
uint32_t running_sums_by_shifts(Lowering& l, uint32_t x) {
  const Sizes dims = l.dims(x);
  const int64_t size = dims.back().value();
  uint32_t out = l.reshape(x, {compiler::layout::product({dims.begin(), dims.end() - 1}), size});
  for (int64_t shift = 1; shift < size; shift *= 2) {
    const uint32_t kept = slice_dim(l, out, 1, 0, size - shift);
    out = l.binary(NodeType::add, out, l.pad(kept, {0, static_cast<uint32_t>(shift)}, {0, 0}, 0));
  }
  return l.reshape(out, dims);
}

// Is no sum of elements infinite or NaN?
bool has_finite_sums(const Lowering& l, const Node& node) {
  if (l.is_strict()) return false;  // ranges hold for finite inputs
  const compiler::ValueRange numbers = l.numbers_of(node.operands()[0]);
  const double count = static_cast<double>(node.result()->sizes()[scan_layout(node).dim].value());
  return node.result()->dtype() == DType::f32 && numbers.is_finite() &&
         count * std::max(std::abs(numbers.min), std::abs(numbers.max)) <= 0x1p126;
}

void lower_running_sum(Lowering& l, const Node& node) {
  const bool finite = has_finite_sums(l, node);
  lower_in_fp32(l, node, l.rows_along(node, scan_layout(node).dim),
                [&](uint32_t x) { return finite ? running_sums(l, x) : running_sums_by_shifts(l, x); });
}

// Whether each result sums so many elements that the constant of ones that multiplies them is long.
bool sums_many(const Node& node) {
  constexpr int64_t kMany = 512;
  const Sizes dims = dims_of(*node.operands()[0]);
  const std::vector<bool> reduced = reduced_dims(node);
  compiler::Sym count = 1;
  for (size_t i = 0; i < dims.size(); ++i) count = reduced[i] ? count * dims[i] : count;
  return count.is_const() && count.value() > kMany;
}

constexpr OpRule kReductionRows[] = {
    costs_more(loses_sign(deviates(
        kLogSumExp, {"aten._log_softmax.default", rows_or_images, softmax_layout, lower_log_softmax, Unknown::any}))),
    loses_sign(deviates(kDropsNan, {"aten.amax.default", largest_taken, reduce_layout, lower_amax, Unknown::one})),
    loses_sign(deviates(kDropsNan, {"aten.amin.default", largest_taken, reduce_layout, lower_amin, Unknown::one})),
    // Computed as a matmul with a triangle of ones.
    costs_more({"aten.cumsum.default", known_scan, scan_layout, lower_running_sum, Unknown::one}),
    costs_more(deviates(kLogSumExp,
                        {"aten.logsumexp.default", largest_taken, reduce_layout, lower_log_sum_exp, Unknown::one})),
    loses_sign(deviates(kDropsNan, {"aten.max.dim", largest_taken, reduce_layout, lower_amax, Unknown::one})),
    costs_more(deviates(kProduct, on_int8(fits_mean, {"aten.mean.dim", few_dims, reduce_layout,
                                                      lower_reduction<mean_of>, Unknown::any})),
               sums_many),
    loses_sign(deviates(kDropsNan, {"aten.min.dim", largest_taken, reduce_layout, lower_amin, Unknown::one})),
    {"aten.prod.dim_int", few_factors, reduce_layout, lower_product, Unknown::one},
    costs_more(
        deviates(kProduct, {"aten.sum.dim_IntList", few_dims, reduce_layout, lower_reduction<sum_of>, Unknown::any}),
        sums_many),
    costs_more(
        deviates(kProduct, {"aten.var.correction", enough_elements, reduce_layout, lower_variance, Unknown::any})),
};

}  // namespace

bool is_matrix_mean(const Node& node) { return node.is("aten.mean.dim") && sums_one_apart(node); }

const RuleFamily kReductionRules = {kReductionRows, std::size(kReductionRows)};

}  // namespace wick::xnnpack
