// Pools, and means and sums over any dimensions. A mean that keeps the scale is one of stock's pools. A mean with
// another scale is a sum over each window times a multiplier that includes the divisor, so that it rounds once. If
// windows count different numbers of elements, there is one such operator for each run of equal windows. Profile stock
// and int16 use a depthwise convolution with a filter of ones instead.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/ops/int16/int16_convolution.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/ops/windows/pool_windows.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::Sizes;
using compiler::Value;
using compiler::Verdict;

namespace rules_pools {
namespace {

// A window on images [N, C, H, W].
struct Pool {
  int64_t kernel[2], stride[2], padding[2], dilation[2] = {1, 1};
  int64_t overhang[2];  // how far the last window reaches beyond input and padding (ceil_mode)
  bool overhangs() const { return overhang[0] > 0 || overhang[1] > 0; }
  bool is_padded() const { return padding[0] > 0 || padding[1] > 0; }
};

int64_t along(const std::vector<int64_t>& list, size_t axis) { return list.size() == 1 ? list[0] : list[axis]; }

Pool read_pool(const Node& node, bool dilated) {
  Pool pool{};
  const std::vector<int64_t> kernel = node.static_ints("kernel_size"), stride = node.static_ints("stride");
  for (size_t axis = 0; axis < 2; ++axis) {
    pool.kernel[axis] = along(kernel, axis);
    pool.stride[axis] = along(stride.empty() ? kernel : stride, axis);
    pool.padding[axis] = along(node.static_ints("padding"), axis);
    pool.dilation[axis] = dilated ? along(node.static_ints("dilation"), axis) : 1;
    const int64_t span = pool.dilation[axis] * (pool.kernel[axis] - 1) + 1;
    const int64_t input = node.operands()[0]->sizes()[2 + axis].value();
    const int64_t end = (node.result()->sizes()[2 + axis].value() - 1) * pool.stride[axis] + span;
    pool.overhang[axis] = std::max<int64_t>(0, end - input - 2 * pool.padding[axis]);
  }
  return pool;
}

Ints pair(const int64_t values[2]) { return {values[0], values[1]}; }

// The input padded with `element`, also under the overhang of the last window.
Value* pad_image(Builder& b, Value* x, const Pool& pool, int64_t element) {
  if (!pool.is_padded() && !pool.overhangs()) return x;
  const Ints before = {0, pool.padding[0], pool.padding[1], 0};
  const Ints after = {0, pool.padding[0] + pool.overhang[0], pool.padding[1] + pool.overhang[1], 0};
  return b.call("cortex_m.pad", {x, before, after, element});
}

// The same for int8 or int16, padded with the number 0.
Value* pad_with_zeros(Builder& b, Value* x, const Pool& pool) {
  if (x->dtype() == DType::i8) return pad_image(b, x, pool, affine(*x).zero);
  const Ints pads = {pool.padding[1], pool.padding[1] + pool.overhang[1], pool.padding[0],
                     pool.padding[0] + pool.overhang[0]};
  return b.call("aten.constant_pad_nd", {x, pads, int64_t{0}});
}

// --- means ---

// A mean of `count` elements whose sum is divided by `divisor`.
Refusal refuse_mean(const Node& node, int64_t count, int64_t divisor) {
  const bool wide = computes_on_int16(node);
  Refusal reason = wide ? refuse_int16(node) : refuse_int8(node);
  if (!reason.empty()) return reason;
  const Affine x = affine(*node.operands()[0]), y = affine(*node.result());
  const auto factor = requantization_of_sums(x.scale / y.scale / static_cast<double>(divisor));
  if (!factor) return {"the scale of its result is too far from that of its input", kNearerScale};
  if (!keeps_32_bits(count * (wide ? 32768 : 255), *factor)) return {"its sums could exceed 32 bits", kSmallerSums};
  return {};
}

// Stock's pool: padding never counts.
Value* average(Builder& b, Value* x, const Pool& pool, bool ceil, const Affine& q, Isa isa) {
  const Requantization unused = requantization(q.scale).value_or(Requantization{});
  return b.call("cortex_m.quantized_avg_pool2d", {x, pair(pool.kernel), pair(pool.stride), pair(pool.padding), ceil,
                                                  int64_t{q.zero}, int64_t{unused.multiplier}, int64_t{unused.shift},
                                                  scratch(b, avg_pool2d_scratch(x->sizes()[1].value()), isa)});
}

// Sums of windows times `factor`. Padding counts as zeros.
Value* sum_pool(Builder& b, Value* x, const Pool& pool, const Requantization& factor, const Affine& from,
                const Affine& to) {
  return b.call("wick_cortex_m.sum_pool2d",
                {x, pair(pool.kernel), pair(pool.stride), pair(pool.padding), int64_t{-from.zero}, int64_t{to.zero},
                 int64_t{factor.multiplier}, int64_t{factor.shift}, int64_t{to.min}, int64_t{to.max}});
}

// Sums of windows times scale(x) / scale(y) / divisor. Padding counts as zeros. Stock has no such pool; there a
// depthwise convolution computes it, whose scratch grows with the taps of a window.
Value* scaled_sums(Builder& b, Value* x, const Pool& pool, int64_t divisor, const Affine& from, const Affine& to,
                   const Configuration& configuration) {
  const Requantization factor = *requantization_of_sums(from.scale / to.scale / static_cast<double>(divisor));
  if (x->dtype() == DType::i8 && !configuration.stock_only) return sum_pool(b, x, pool, factor, from, to);
  Convolution c;
  ConvolutionShape& s = c.shape;
  s.batch = batch_of(*x);
  s.channels = s.outputs = c.groups = x->sizes()[1].value();
  for (size_t axis = 0; axis < 2; ++axis) {
    s.input[axis] = x->sizes()[2 + axis].value();
    s.kernel[axis] = pool.kernel[axis];
    s.stride[axis] = pool.stride[axis];
    s.padding[axis] = pool.padding[axis];
    s.output[axis] = (s.input[axis] + 2 * s.padding[axis] - s.kernel[axis]) / s.stride[axis] + 1;
  }
  const int64_t count = s.kernel[0] * s.kernel[1];
  c.input = from;
  c.output = to;
  c.filter.assign(static_cast<size_t>(s.channels * count), 1);
  if (x->dtype() == DType::i16) return int16_convolution(b, x, c, {{factor}, {}, false}, configuration.isa);
  c.multipliers.assign(static_cast<size_t>(s.channels), factor.multiplier);
  c.shifts.assign(static_cast<size_t>(s.channels), factor.shift);
  return convolution(b, x, c, configuration.isa);
}

// Whether stock's pool takes it: int8 elements, and the same scale before and behind it.
bool keeps_scale(const Node& node) {
  return !computes_on_int16(node) && same_numbers(affine(*node.operands()[0]), affine(*node.result()));
}

bool has_equal_counts(const Node& node, const Pool& pool) {
  return !pool.overhangs() && (!pool.is_padded() || node.boolean("count_include_pad"));
}

// Whether stock's operator computes it. Padding that counts is made explicit for it. With ceil_mode, eager drops a last
// window that would begin in the padding behind the image; the operator would keep it.
bool is_stocks_average(const Node& node, const Pool& pool) {
  if (!keeps_scale(node)) return false;
  if (!node.boolean("ceil_mode") || !node.boolean("count_include_pad")) return true;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t padded = node.operands()[0]->sizes()[2 + axis].value() + 2 * pool.padding[axis];
    const int64_t last = (padded - pool.kernel[axis] + pool.stride[axis] - 1) / pool.stride[axis];
    if (last + 1 > node.result()->sizes()[2 + axis].value()) return false;
  }
  return true;
}

constexpr size_t kMostRuns = 64;

// Refuses pools whose windows differ.
Refusal refuse_runs(const Node& node) {
  const std::vector<WindowRun> rows = window_runs(node, 0), columns = window_runs(node, 1);
  if (rows.empty() || columns.empty()) return {"a window without elements", "leave the empty window out of the model"};
  if (rows.size() * columns.size() > kMostRuns)
    return {"windows of more than 64 kinds", "choose an output size that divides that of the input"};
  for (const WindowRun& row : rows) {
    for (const WindowRun& column : columns) {
      Refusal reason = refuse_mean(node, row.size * column.size, row.divisor * column.divisor);
      if (!reason.empty()) return reason;
    }
  }
  return {};
}

Value* part_of_runs(Builder& b, Value* x, const WindowRun& row, const WindowRun& column, const Node& node,
                    const Configuration& configuration) {
  x = b.slice(b.slice(x, 2, row.start, row.start + row.span()), 3, column.start, column.start + column.span());
  const Pool pool = {{row.size, column.size}, {row.stride, column.stride}, {0, 0}, {1, 1}, {0, 0}};
  const Affine from = affine(*node.operands()[0]), to = affine(*node.result());
  return b.permute(scaled_sums(b, x, pool, row.divisor * column.divisor, from, to, configuration), {0, 2, 3, 1});
}

// Parts are concatenated channels last, which is their layout.
Value* average_of_runs(Builder& b, const Node& node, const Configuration& configuration) {
  const auto joined = [&](const compiler::Values& parts, int64_t dim) {
    return parts.size() == 1 ? parts[0] : b.call("aten.cat", {parts, dim});
  };
  compiler::Values rows;
  for (const WindowRun& row : window_runs(node, 0)) {
    compiler::Values parts;
    for (const WindowRun& column : window_runs(node, 1))
      parts.push_back(part_of_runs(b, node.operands()[0], row, column, node, configuration));
    rows.push_back(joined(parts, 2));
  }
  return b.permute(joined(rows, 1), {0, 3, 1, 2});
}

Refusal refuse_pool(const Node& node) {
  if (node.operands()[0]->rank() != 4)
    return {"wanted images [N, C, H, W]",
            "view it as images: x.unsqueeze(0) for one without a batch, x.unsqueeze(-2) for rows"};
  if (node.is("aten._adaptive_avg_pool2d.default")) return refuse_runs(node);
  const Pool pool = read_pool(node, false);
  const int64_t count = pool.kernel[0] * pool.kernel[1];
  if (!node.is_none("divisor_override")) return refuse_mean(node, count, node.static_integer("divisor_override"));
  return is_stocks_average(node, pool) || has_equal_counts(node, pool) ? refuse_mean(node, count, count)
                                                                       : refuse_runs(node);
}

Verdict supports_avg_pool(const Node& node, const Configuration&) {
  Refusal reason = computes_on_int16(node) ? refuse_int16(node) : refuse_int8(node);
  if (reason.empty()) reason = refuse_pool(node);
  return verdict_of(reason);
}

std::vector<Value*> rewrite_adaptive_avg_pool(Builder& b, Node& node, const Configuration& configuration) {
  return {average_of_runs(b, node, configuration)};
}

std::vector<Value*> rewrite_avg_pool(Builder& b, Node& node, const Configuration& configuration) {
  Value* x = node.tensor("self");
  Pool pool = read_pool(node, false);
  const Affine from = affine(*x), to = affine(*node.result());
  const bool own_divisor = !node.is_none("divisor_override");
  if (own_divisor || !is_stocks_average(node, pool)) {
    if (!own_divisor && !has_equal_counts(node, pool)) return {average_of_runs(b, node, configuration)};
    const int64_t divisor = own_divisor ? node.static_integer("divisor_override") : pool.kernel[0] * pool.kernel[1];
    if (pool.overhangs()) {
      x = pad_with_zeros(b, x, pool);
      pool.padding[0] = pool.padding[1] = 0;
    }
    return {scaled_sums(b, x, pool, divisor, from, to, configuration)};
  }
  const bool ceil = node.boolean("ceil_mode");
  if (pool.is_padded() && node.boolean("count_include_pad")) {
    pool.overhang[0] = pool.overhang[1] = 0;
    x = pad_image(b, x, pool, from.zero);
    pool.padding[0] = pool.padding[1] = 0;
  }
  return {clamped(b, average(b, x, pool, ceil, from, configuration.isa), from, to)};
}

// --- means over dimensions: of images [N, I, R, 1], where R are the reduced elements ---

struct Mean {
  std::vector<int64_t> perm;  // leading dimensions that stay, the reduced ones, the others
  compiler::Sym outer = 1;
  int64_t reduced = 1, inner = 1;
  bool is_sum = false;
  int64_t divisor() const { return is_sum ? 1 : reduced; }
};

Mean read_mean(const Node& node) {
  const Value* x = node.tensor("self");
  std::vector<bool> is_reduced(x->rank(), node.is_none("dim") || node.static_ints("dim").empty());
  if (!node.is_none("dim") && x->rank() > 0) {
    for (const int64_t dim : node.static_ints("dim"))
      is_reduced[static_cast<size_t>(compiler::wrap_dim(dim, x->rank()))] = true;
  }
  const auto first = std::find(is_reduced.begin(), is_reduced.end(), true);
  const auto behind = std::find(first, is_reduced.end(), false);
  const bool adjacent = std::find(behind, is_reduced.end(), true) == is_reduced.end();
  Mean mean;
  mean.is_sum = node.is("aten.sum.dim_IntList");
  std::vector<int64_t> front, middle, back;
  for (size_t d = 0; d < x->rank(); ++d) {
    const compiler::Sym& size = x->sizes()[d];
    // If the reduced dimensions are not adjacent, they move behind all others.
    const bool is_behind = adjacent && is_reduced.begin() + static_cast<std::ptrdiff_t>(d) >= behind;
    std::vector<int64_t>& list = is_reduced[d] ? middle : is_behind ? back : front;
    list.push_back(static_cast<int64_t>(d));
    if (is_reduced[d] || is_behind)
      (is_reduced[d] ? mean.reduced : mean.inner) *= size.is_const() ? size.value() : 0;
    else
      mean.outer = mean.outer * size;
  }
  for (const std::vector<int64_t>* list : {&front, &middle, &back})
    mean.perm.insert(mean.perm.end(), list->begin(), list->end());
  return mean;
}

Verdict supports_mean(const Node& node, const Configuration&) {
  const Mean mean = read_mean(node);
  if (mean.reduced == 0 || mean.inner == 0)
    return refused({"a batch known only at run time is not in front of what is reduced", kFixedBatch});
  return verdict_of(refuse_mean(node, mean.reduced, mean.divisor()));
}

bool is_over_plane(const Node& node) {
  const Value* x = node.tensor("self");
  if (x->rank() != 4 || node.is_none("dim")) return false;
  std::vector<int64_t> dims = node.static_ints("dim");
  for (int64_t& dim : dims) dim = compiler::wrap_dim(dim, 4);
  std::sort(dims.begin(), dims.end());
  return dims == std::vector<int64_t>{2, 3};
}

std::vector<Value*> rewrite_mean(Builder& b, Node& node, const Configuration& configuration) {
  Value* x = node.tensor("self");
  const Affine from = affine(*x), to = affine(*node.result());
  const Mean mean = read_mean(node);
  if (!is_over_plane(node)) {
    x = b.reshape(b.permute(x, mean.perm), {mean.outer, mean.reduced, mean.inner});
    x = b.unsqueeze(b.transpose(x, 1, 2), 3);
  }
  Pool pool{};
  for (size_t axis = 0; axis < 2; ++axis) {
    pool.kernel[axis] = x->sizes()[2 + axis].value();
    pool.stride[axis] = 1;
  }
  Value* y = keeps_scale(node) && !mean.is_sum
                 ? clamped(b, average(b, x, pool, false, from, configuration.isa), from, to)
                 : scaled_sums(b, x, pool, mean.divisor(), from, to, configuration);
  return {b.reshape(y, node.result()->sizes())};
}

// --- maxima ---

// The equal windows of an adaptive pool; nullopt: they differ.
std::optional<Pool> equal_windows(const Node& node) {
  Pool pool{};
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t input = node.tensor("self")->sizes()[2 + axis].value();
    const int64_t output = node.result()->sizes()[2 + axis].value();
    if (input % output != 0) return std::nullopt;
    pool.kernel[axis] = pool.stride[axis] = input / output;
  }
  return pool;
}

bool is_adaptive_max(const Node& node) { return node.is("aten.adaptive_max_pool2d.default"); }

constexpr int64_t kMostWindows = 64;
int64_t num_unequal_windows(const Node& node) {
  return node.result()->sizes()[2].value() + node.result()->sizes()[3].value();
}

// The maxima of windows of different sizes, by portable kernels on slices: one dimension after the other.
Value* max_of_unequal_windows(Builder& b, Value* x, const compiler::Sizes& sizes) {
  for (const size_t dim : {size_t{2}, size_t{3}}) {
    const int64_t input = x->sizes()[dim].value(), output = sizes[dim].value();
    const auto axis = static_cast<int64_t>(dim);
    compiler::Values windows;
    for (int64_t i = 0; i < output; ++i) {
      Value* window = b.slice(x, axis, i * input / output, ((i + 1) * input + output - 1) / output);
      windows.push_back(b.call("aten.amax", {window, Ints{axis}, true}));
    }
    x = windows.size() == 1 ? windows[0] : b.call("aten.cat", {windows, axis});
  }
  return x;
}

Verdict supports_max_pool(const Node& node, const Configuration& configuration) {
  const Value *x = node.tensor("self"), *y = node.result();
  if (x->rank() != 4)
    return refused({"wanted images [N, C, H, W]",
                    "view it as images: x.unsqueeze(0) for one without a batch, x.unsqueeze(-2) for rows"});
  if (node.results().size() > 1 && node.result(1)->num_uses() > 0)
    return refused(
        {"its indices are read", "leave out return_indices, or move the pool behind the last dequantize node"});
  if (is_adaptive_max(node) && !equal_windows(node) && num_unequal_windows(node) > kMostWindows)
    return refused({"more than 64 rows and columns of windows that differ",
                    "choose an output size that divides that of the input, or max_pool2d"});
  for (const Value* each : {x, y}) {
    const Refusal reason = refuse_elements(*each, each == x ? "its input" : "its result");
    if (!reason.empty()) return refused(reason);
  }
  return verdict_of(refuse_conversion(*x, *y, configuration));
}

// The maximum over taps `dilation` apart, by an operator of two tensors: one dimension after the other.
Value* max_of_taps(Builder& b, Value* x, const Pool& pool, const char* maximum) {
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t span = pool.dilation[axis] * (pool.kernel[axis] - 1);
    const int64_t last = (x->sizes()[2 + axis].value() - span - 1) / pool.stride[axis] * pool.stride[axis];
    const auto elements_at = [&](int64_t tap) {
      const int64_t from = tap * pool.dilation[axis];
      return b.slice(x, static_cast<int64_t>(2 + axis), from, from + last + 1, pool.stride[axis]);
    };
    Value* most = elements_at(0);
    for (int64_t tap = 1; tap < pool.kernel[axis]; ++tap) most = b.call(maximum, {most, elements_at(tap)});
    x = most;
  }
  return x;
}

Value* max_pool(Builder& b, Value* x, const Pool& pool, const Affine& to) {
  return b.call("cortex_m.quantized_max_pool2d",
                {x, pair(pool.kernel), pair(pool.stride), pair(pool.padding), pair(pool.dilation), false,
                 int64_t{to.zero}, int64_t{to.zero}, int64_t{to.min}, int64_t{to.max}});
}

// By portable kernels on elements; each tap is a slice.
Value* max_pool_int16(Builder& b, Value* x, const Pool& pool) {
  if (pool.is_padded() || pool.overhangs()) {
    const Ints pads = {pool.padding[1], pool.padding[1] + pool.overhang[1], pool.padding[0],
                       pool.padding[0] + pool.overhang[0]};
    x = b.call("aten.constant_pad_nd", {x, pads, int64_t{INT16_MIN}});
  }
  return max_of_taps(b, x, pool, "aten.maximum");
}

// The maxima of int8 elements, clamped to the range of `to`, which has their scale.
Value* max_pool_int8(Builder& b, Value* x, Pool pool, const Affine& to) {
  const bool dilated = pool.dilation[0] != 1 || pool.dilation[1] != 1;
  if (dilated || pool.overhangs()) {
    x = pad_image(b, x, pool, INT8_MIN);
    pool.padding[0] = pool.padding[1] = 0;
  }
  if (dilated) {
    x = max_of_taps(b, x, pool, "cortex_m.maximum");
    pool = Pool{{1, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}};
  }
  const bool clamped = to.min > -128 || to.max < 127;
  return dilated && !clamped ? x : max_pool(b, x, pool, to);
}

// The largest element stands for the largest number on any scale.
std::vector<Value*> rewrite_max_pool(Builder& b, Node& node, const Configuration&) {
  Value* x = node.tensor("self");
  const bool differ = is_adaptive_max(node) && !equal_windows(node);
  const Pool pool = differ ? Pool{} : is_adaptive_max(node) ? *equal_windows(node) : read_pool(node, true);
  const Affine from = affine(*x), to = affine(*node.result());
  const DType dtype = node.result()->dtype();
  const bool narrow = x->dtype() == DType::i8, same = narrow && dtype == DType::i8 && same_numbers(from, to);
  Value* y = differ   ? max_of_unequal_windows(b, x, node.result()->sizes())
             : narrow ? max_pool_int8(b, x, pool, same ? to : Affine{from.scale, from.zero})
                      : max_pool_int16(b, x, pool);
  std::vector<Value*> results = {same && !differ ? y : converted(b, y, from, to, dtype)};
  // The indices have no reader.
  if (node.results().size() > 1) results.push_back(b.full(node.result(1)->sizes(), 0, DType::i64));
  return results;
}

constexpr OpRule kRules[] = {
    {"aten._adaptive_avg_pool2d.default", supports_avg_pool, rewrite_adaptive_avg_pool, true, false, OpenSizes::batch},
    {"aten.adaptive_max_pool2d.default", supports_max_pool, rewrite_max_pool, true, false, OpenSizes::batch},
    {"aten.avg_pool2d.default", supports_avg_pool, rewrite_avg_pool, true, false, OpenSizes::batch},
    {"aten.max_pool2d.default", supports_max_pool, rewrite_max_pool, true, false, OpenSizes::batch},
    {"aten.max_pool2d_with_indices.default", supports_max_pool, rewrite_max_pool, true, false, OpenSizes::batch},
    {"aten.mean.dim", supports_mean, rewrite_mean, true, false, OpenSizes::batch},
    {"aten.sum.dim_IntList", supports_mean, rewrite_mean, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_pools

const RuleFamily kPoolRules = {rules_pools::kRules, std::size(rules_pools::kRules)};

}  // namespace wick::cortex_m
