// Convolutions and pools: the columns are the taps of a window.
#include <algorithm>

#include "backends/cuda/compile/layout/channels_last.h"
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"

namespace wick::cuda {
namespace {

using compiler::Ints;
using compiler::Verdict;

ExpressionPtr yes(ExpressionPool& pool) { return pool.number(1, ScalarType::boolean); }

// 0 <= at < size
ExpressionPtr inside(ExpressionPool& pool, ExpressionPtr at, const Sym& size) {
  return pool.both(pool.negation(pool.less(at, pool.index(0))), pool.less(at, pool.index(size)));
}

// The number for a dimension; a list of one number holds for all.
Sym entry(const Ints& list, size_t i) { return list.size() == 1 ? list[0] : list[i]; }

// --- convolutions ---

struct Convolution {
  explicit Convolution(const Node& node)
      : x(node.tensor("input")),
        w(node.tensor("weight")),
        bias(node.optional_tensor("bias")),
        stride(node.ints("stride")),
        pad(node.ints("padding")),
        dilation(node.ints("dilation")),
        groups(node.integer("groups")),
        spatial(w->rank() - 2) {}
  const Value *x, *w, *bias;
  Ints stride, pad, dilation;
  Sym groups;
  size_t spatial;
};

// The element if the guard holds, else 0. Needed where the element is a function of a load: its value at 0 may not be
// 0.
ExpressionPtr padded(ExpressionPool& pool, ExpressionPtr guard, ExpressionPtr element) {
  if (is_true(guard) || element->kind == ExpressionKind::load) return element;
  // The rounding stays outside, because matrix instructions take factors that are rounded last.
  if (element->kind == ExpressionKind::call && element->text.rfind("to_f32(to_", 0) == 0)
    return pool.call(element->type, element->text, {padded(pool, guard, element->args[0])});
  return pool.select(guard, element, pool.constant(0, 0, element->type));
}

void finish_convolution(Lowering& l, const Convolution& c, const Value* y, Draft draft, const Indices& x_at,
                        ExpressionPtr weight, ExpressionPtr guard) {
  ExpressionPool& pool = l.pool();
  pool.push_guard(guard);
  const ExpressionPtr element = l.element(c.x, x_at);
  pool.pop_guard();
  const ExpressionPtr a = padded(pool, guard, element);
  ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, mul(pool, a, weight));
  const ExpressionPtr channel = draft.rows[1];
  if (c.bias) sum = add(pool, sum, l.element(c.bias, {channel}));
  const Indices at = draft.rows;
  l.finish(std::move(draft), {{y, at, pool.rounded(sum, y->dtype())}});
}

// Weights [O, 1, 1..]: each output is one product, so it is a function of indices.
void lower_one_tap(Lowering& l, const Node& node) {
  const Convolution c(node);
  const Sym outputs = floor_div(c.w->sizes()[0], c.groups);
  const DType dtype = node.result()->dtype();
  if (!outputs.is(1)) l.store_if_expensive(c.x, 1);  // all outputs of a group read it
  l.define(node.result(), [&l, c, outputs, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    Indices x_at = {at[0], pool.floor_divide(at[1], pool.index(outputs))}, w_at(c.spatial + 2, pool.index(0));
    w_at[0] = at[1];
    ExpressionPtr guard = yes(pool);
    for (size_t i = 0; i < c.spatial; ++i) {
      const ExpressionPtr far = pool.multiply(at[2 + i], pool.index(entry(c.stride, i)));
      x_at.push_back(pool.subtract(far, pool.index(entry(c.pad, i))));
      guard = pool.both(guard, inside(pool, x_at.back(), c.x->sizes()[2 + i]));
    }
    pool.push_guard(guard);
    const ExpressionPtr element = l.element(c.x, x_at);
    pool.pop_guard();
    ExpressionPtr product = mul(pool, padded(pool, guard, element), l.element(c.w, w_at));
    if (c.bias) product = add(pool, product, l.element(c.bias, {at[1]}));
    return pool.rounded(product, dtype);
  });
}

// The columns of a convolution (channels and taps), and the elements of the weights. If the image's channels are
// innermost, constant weights are permuted so that the channels of a tap are adjacent in memory; with groups, so that
// outputs are.
struct Taps {
  Taps(Lowering& l, const Convolution& c, const Sym& channels, size_t channel_dim)
      : channels_last(l.has_channels_last(c.x) && c.groups.is(1)) {
    for (size_t i = 0; i < c.spatial; ++i) sizes.push_back(c.w->sizes()[2 + i]);
    sizes.insert(channels_last ? sizes.end() : sizes.begin(), channels);
    weights = l.elements_of(c.w);
    if (!l.has_channels_last(c.x) || !c.w->is_constant() || !c.w->tensor().dim_order.empty()) return;
    const size_t innermost = channels_last ? channel_dim : 1 - channel_dim;
    std::vector<int64_t> order = {static_cast<int64_t>(1 - innermost)};
    for (size_t i = 0; i < c.spatial; ++i) order.push_back(static_cast<int64_t>(2 + i));
    order.push_back(static_cast<int64_t>(innermost));
    if (!numel(c.w->sizes()).is(1)) weights = l.permuted_constant(c.w, order);
  }
  ExpressionPtr channel(const Indices& columns) const { return channels_last ? columns.back() : columns.front(); }
  ExpressionPtr tap(const Indices& columns, size_t i) const { return columns[channels_last ? i : 1 + i]; }

  bool channels_last;
  Sizes sizes;
  Element weights;
};

// Weights [O, I / groups, k..]: out[o] takes x[o * stride + k * dilation - pad].
void lower_direct(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Convolution c(node);
  const Sym inputs = c.w->sizes()[1], outputs = floor_div(c.w->sizes()[0], c.groups);
  const Taps taps(l, c, inputs, 1);
  Draft draft = l.draft(node.result()->sizes(), taps.sizes);
  const ExpressionPtr group = pool.floor_divide(draft.rows[1], pool.index(outputs));
  const ExpressionPtr channel = taps.channel(draft.columns);
  Indices x_at = {draft.rows[0], pool.add(pool.multiply(group, pool.index(inputs)), channel)};
  Indices w_at = {draft.rows[1], channel};
  ExpressionPtr guard = yes(pool);
  for (size_t i = 0; i < c.spatial; ++i) {
    const ExpressionPtr k = taps.tap(draft.columns, i);
    const ExpressionPtr first = pool.multiply(draft.rows[2 + i], pool.index(entry(c.stride, i)));
    const ExpressionPtr at =
        pool.subtract(pool.add(first, pool.multiply(k, pool.index(entry(c.dilation, i)))), pool.index(entry(c.pad, i)));
    x_at.push_back(at);
    w_at.push_back(k);
    guard = pool.both(guard, inside(pool, at, c.x->sizes()[2 + i]));
  }
  finish_convolution(l, c, node.result(), std::move(draft), x_at, taps.weights(w_at), guard);
}

// Weights [I, O / groups, k..]: out[o] takes x[(o + pad - k * dilation) / stride] if that is an integer.
void lower_transposed(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Convolution c(node);
  const Sym outputs = c.w->sizes()[1], inputs = floor_div(c.w->sizes()[0], c.groups);
  const Taps taps(l, c, inputs, 0);
  Draft draft = l.draft(node.result()->sizes(), taps.sizes);
  const ExpressionPtr group = pool.floor_divide(draft.rows[1], pool.index(outputs));
  const ExpressionPtr input = pool.add(pool.multiply(group, pool.index(inputs)), taps.channel(draft.columns));
  Indices x_at = {draft.rows[0], input};
  Indices w_at = {input, pool.modulo(draft.rows[1], pool.index(outputs))};
  ExpressionPtr guard = yes(pool);
  for (size_t i = 0; i < c.spatial; ++i) {
    const ExpressionPtr k = taps.tap(draft.columns, i), stride = pool.index(entry(c.stride, i));
    const ExpressionPtr far = pool.subtract(pool.add(draft.rows[2 + i], pool.index(entry(c.pad, i))),
                                            pool.multiply(k, pool.index(entry(c.dilation, i))));
    const ExpressionPtr at = pool.floor_divide(far, stride);
    x_at.push_back(at);
    w_at.push_back(k);
    guard = pool.both(guard, pool.equal(pool.modulo(far, stride), pool.index(0)));
    guard = pool.both(guard, inside(pool, at, c.x->sizes()[2 + i]));
  }
  finish_convolution(l, c, node.result(), std::move(draft), x_at, taps.weights(w_at), guard);
}

// Tiles read an element of the input once for each tap and each tile of outputs. From this number on, a copy is
// profitable.
constexpr int64_t kReadsOfCopy = 4;
int64_t max_reads(const Node& node) {
  constexpr int64_t kOutputsOfTile = 64;
  const Sizes& w = node.tensor("weight")->sizes();
  int64_t taps = 1;
  for (size_t i = 2; i < w.size(); ++i) taps *= w[i].value();
  return taps == 1 ? 1 : taps * std::max<int64_t>(w[node.boolean("transposed") ? 1 : 0].value() / kOutputsOfTile, 1);
}

void lower_convolution(Lowering& l, const Node& node) {
  const Sizes& w = node.tensor("weight")->sizes();
  const bool one_tap = std::all_of(w.begin() + 1, w.end(), [](const Sym& size) { return size.is(1); });
  if (one_tap && !node.boolean("transposed")) return lower_one_tap(l, node);
  l.store_if_expensive(node.tensor("input"), 1);
  l.store_if_expensive(node.tensor("weight"), 2);
  if (gains_from_channels_last(node) && max_reads(node) >= kReadsOfCopy) l.bring_channels_last(node.tensor("input"));
  node.boolean("transposed") ? lower_transposed(l, node) : lower_direct(l, node);
}

// --- pools ---

// Tap k of an output's window along one dimension: its position, and whether it exists.
struct Window {
  ExpressionPtr at, guard;
  ExpressionPtr counted;  // by how many positions the window's sum is divided
};

// A pool over the last `spatial` dimensions.
struct Pool {
  const Value *x, *y;
  size_t spatial;
  Sizes taps;
  std::function<Window(size_t dim, const Indices& out, ExpressionPtr k)> window;  // of the element of y at `out`
};

Sym list_entry(const Node& node, std::string_view name, size_t i, const Sym& otherwise) {
  if (node.op->parsed->find(name) < 0) return otherwise;
  const Ints list = node.ints(name);
  return list.empty() ? otherwise : entry(list, i);
}

Pool sliding_pool(Lowering& l, const Node& node, size_t spatial) {
  const Value *x = node.tensor("self"), *y = node.result();
  Pool pool{x, y, spatial, {}, nullptr};
  const Ints kernel = node.ints("kernel_size");
  for (size_t i = 0; i < spatial; ++i) pool.taps.push_back(entry(kernel, i));
  const bool counts_padding = node.op->parsed->find("count_include_pad") >= 0 && node.boolean("count_include_pad");
  pool.window = [&l, &node, x, kernel, spatial, counts_padding](size_t i, const Indices& y_at, ExpressionPtr k) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr out = y_at[y_at.size() - spatial + i];
    const Sym size = x->sizes()[x->rank() - spatial + i], pad = list_entry(node, "padding", i, 0);
    const Sym stride = list_entry(node, "stride", i, entry(kernel, i)), dilation = list_entry(node, "dilation", i, 1);
    const ExpressionPtr begin = p.subtract(p.multiply(out, p.index(stride)), p.index(pad));
    const ExpressionPtr at = p.add(begin, p.multiply(k, p.index(dilation)));
    Window window{at, inside(p, at, size), nullptr};
    const ExpressionPtr end = p.minimum(p.add(begin, p.index(entry(kernel, i))), p.index(size + pad));
    window.counted = counts_padding ? p.subtract(end, begin)
                                    : p.subtract(p.minimum(end, p.index(size)), p.maximum(begin, p.index(0)));
    return window;
  };
  return pool;
}

Pool adaptive_pool(Lowering& l, const Node& node, size_t spatial) {
  const Value *x = node.tensor("self"), *y = node.result();
  Pool pool{x, y, spatial, {}, nullptr};
  for (size_t i = 0; i < spatial; ++i) {
    const Sym in = x->sizes()[x->rank() - spatial + i], out = y->sizes()[y->rank() - spatial + i];
    const bool even = in.is_const() && out.is_const() && in.value() % out.value() == 0;
    pool.taps.push_back(out.is(1) ? in : even ? floor_div(in, out) : floor_div(in, out) + 2);
  }
  pool.window = [&l, x, y, spatial](size_t i, const Indices& y_at, ExpressionPtr k) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr out = y_at[y_at.size() - spatial + i];
    const ExpressionPtr in = p.index(x->sizes()[x->rank() - spatial + i]),
                        count = p.index(y->sizes()[y->rank() - spatial + i]);
    const ExpressionPtr begin = p.floor_divide(p.multiply(out, in), count);
    const ExpressionPtr next = p.multiply(p.add(out, p.index(1)), in);
    const ExpressionPtr end = p.floor_divide(p.subtract(p.add(next, count), p.index(1)), count);
    const ExpressionPtr at = p.add(begin, k);
    return Window{at, p.less(at, end), p.subtract(end, begin)};
  };
  return pool;
}

// Windows begin at positions from a random sample for each plane and dimension: floor((o + sample) * alpha) -
// floor(sample * alpha). The last one ends at the border. Samples are in the order [W, H] for images, [T, H, W] for
// volumes.
Pool fractional_pool(Lowering& l, const Node& node, size_t spatial) {
  const Value *x = node.tensor("self"), *samples = node.tensor("random_samples"), *y = node.result();
  Pool pool{x, y, spatial, {}, nullptr};
  const Ints kernel = node.ints("kernel_size");
  for (size_t i = 0; i < spatial; ++i) pool.taps.push_back(entry(kernel, i));
  pool.window = [&l, x, y, samples, kernel, spatial](size_t i, const Indices& y_at, ExpressionPtr k) {
    ExpressionPool& p = l.pool();
    const size_t lead = y_at.size() - spatial;
    const int64_t in = x->sizes()[lead + i].value(), out = y->sizes()[lead + i].value(),
                  last = in - entry(kernel, i).value();
    const ScalarType type = scalar_type(x->dtype());
    const ExpressionPtr o = y_at[lead + i], number = p.index(static_cast<int64_t>(spatial == 2 ? 1 - i : i));
    const ExpressionPtr sample = l.element(samples, {lead == 2 ? y_at[0] : p.index(0), y_at[lead - 1], number});
    const double steps = static_cast<double>(std::max<int64_t>(out - 1, 1));
    const double alpha = type == ScalarType::f32
                             ? static_cast<double>(static_cast<float>(last) / static_cast<float>(steps))
                             : static_cast<double>(last) / steps;
    const ExpressionPtr ratio = p.number(alpha, type);
    const auto whole = [&](ExpressionPtr real) {
      return p.cast(p.cast(mul(p, real, ratio), ScalarType::i64), ScalarType::index);
    };
    const ExpressionPtr start = p.subtract(whole(add(p, p.cast(o, type), sample)), whole(sample));
    const ExpressionPtr is_last = p.less(p.index(out - 2), o);
    const ExpressionPtr begin =
        p.select(is_last, p.index(last), p.minimum(p.maximum(start, p.index(0)), p.index(last)));
    return Window{p.add(begin, k), yes(p), p.index(1)};
  };
  return pool;
}

struct PoolDraft {
  Draft draft;
  Indices at;  // indices in x
  ExpressionPtr guard, counted;
};

PoolDraft draft_pool(Lowering& l, const Pool& pool) {
  ExpressionPool& p = l.pool();
  l.store_if_expensive(pool.x, 2);
  PoolDraft out{l.draft(pool.y->sizes(), pool.taps), {}, yes(p), p.index(1)};
  const size_t lead = pool.x->rank() - pool.spatial;
  out.at.assign(out.draft.rows.begin(), out.draft.rows.begin() + static_cast<std::ptrdiff_t>(lead));
  for (size_t i = 0; i < pool.spatial; ++i) {
    const Window window = pool.window(i, out.draft.rows, out.draft.columns[i]);
    out.at.push_back(window.at);
    out.guard = p.both(out.guard, window.guard);
    out.counted = p.multiply(out.counted, window.counted);
  }
  return out;
}

ExpressionPtr guarded_element(Lowering& l, const Pool& pool, const PoolDraft& draft) {
  l.pool().push_guard(draft.guard);
  const ExpressionPtr element = l.element(pool.x, draft.at);
  l.pool().pop_guard();
  return element;
}

// Sums of integers are i64 and wrap. Their quotient is rounded toward zero.
void average(Lowering& l, const Node& node, const Pool& pool) {
  ExpressionPool& p = l.pool();
  PoolDraft draft = draft_pool(l, pool);
  ExpressionPtr element = guarded_element(l, pool, draft);
  const bool reals = is_real(element->type);
  if (!reals) element = p.cast(element, ScalarType::i64);
  const ExpressionPtr sum = l.reduce(draft.draft, ReductionKind::sum, element, draft.guard);
  ExpressionPtr divisor = draft.counted;
  if (node.op->parsed->find("divisor_override") >= 0 && !node.is_none("divisor_override"))
    divisor = p.index(node.integer("divisor_override"));
  const ExpressionPtr by = p.cast(divisor, element->type);
  ExpressionPtr out = reals ? div(p, sum, by) : p.call(ScalarType::i64, "divide_trunc({0}, {1})", {sum, by});
  // A window that lies completely in the padding.
  out = p.select(p.equal(divisor, p.index(0)), p.constant(0, 0, element->type), out);
  const Indices at = draft.draft.rows;
  const DType dtype = pool.y->dtype();
  out = p.rounded(reals ? out : p.cast(out, scalar_type(dtype)), dtype);
  l.finish(std::move(draft.draft), {{pool.y, at, out}});
}

// The position of the best tap in the input's plane, as a linear index.
ExpressionPtr plane_position(Lowering& l, const Pool& pool, const PoolDraft& draft, ExpressionPtr tap) {
  ExpressionPool& p = l.pool();
  const size_t lead = pool.x->rank() - pool.spatial;
  const Indices taps = l.split(p.cast(tap, ScalarType::index), pool.taps);
  ExpressionPtr position = p.index(0);
  for (size_t i = 0; i < pool.spatial; ++i) {
    const Window window = pool.window(i, draft.draft.rows, taps[i]);
    position = p.add(p.multiply(position, p.index(pool.x->sizes()[lead + i])), window.at);
  }
  return p.cast(position, ScalarType::i64);
}

void maximum(Lowering& l, const Node& node, const Pool& pool) {
  PoolDraft draft = draft_pool(l, pool);
  const ExpressionPtr element = guarded_element(l, pool, draft);
  const Indices at = draft.draft.rows;
  const bool positions = node.results().size() > 1 && node.result(1)->num_uses() > 0;
  if (!positions) {
    const ExpressionPtr best = l.reduce(draft.draft, ReductionKind::maximum, element, draft.guard);
    return l.finish(std::move(draft.draft), {{pool.y, at, best}});
  }
  const ExpressionPtr best = l.reduce(draft.draft, ReductionKind::arg_maximum, element, draft.guard);
  const ExpressionPtr position = plane_position(l, pool, draft, l.position(draft.draft, best));
  std::vector<Lowering::DraftResult> results = {{node.result(1), at, position}};
  if (pool.y->num_uses() > 0) results.insert(results.begin(), {pool.y, at, best});
  l.finish(std::move(draft.draft), std::move(results));
}

template <size_t spatial>
void lower_average(Lowering& l, const Node& node) {
  average(l, node, sliding_pool(l, node, spatial));
}
template <size_t spatial>
void lower_adaptive_average(Lowering& l, const Node& node) {
  average(l, node, adaptive_pool(l, node, spatial));
}
template <size_t spatial>
void lower_maximum(Lowering& l, const Node& node) {
  maximum(l, node, sliding_pool(l, node, spatial));
}
template <size_t spatial>
void lower_adaptive_maximum(Lowering& l, const Node& node) {
  maximum(l, node, adaptive_pool(l, node, spatial));
}

template <size_t spatial>
void lower_fractional_maximum(Lowering& l, const Node& node) {
  maximum(l, node, fractional_pool(l, node, spatial));
}

Verdict samples_fit(const Node& node, const compiler::TargetContext&) {
  const Value *x = node.tensor("self"), *samples = node.tensor("random_samples");
  const size_t spatial = node.is("aten.fractional_max_pool2d.default") ? 2 : 3, rank = x->rank();
  if (!is_static(x->sizes()) || samples->rank() != 3 || samples->dtype() != x->dtype()) return agreed(false);
  const Sym& rows = samples->sizes()[0];
  const int64_t batch = rank == spatial + 2 ? x->sizes()[0].value() : 1;
  return agreed(rows.is_const() && rows.value() >= batch && samples->sizes()[1] == x->sizes()[rank - spatial - 1] &&
                samples->sizes()[2].is(static_cast<int64_t>(spatial)));
}

void convolution_needs(const Node& node, SizeRequirements& out) {
  const Convolution c(node);
  const bool transposed = node.boolean("transposed");
  const Sym channels = transposed ? c.w->sizes()[0] : c.w->sizes()[1] * c.groups;
  out.push_back(equal(c.x->sizes()[1], channels, "the input has another number of channels than the weight"));
  for (size_t i = 0; i < c.spatial; ++i) {
    const Sym& size = node.result()->sizes()[2 + i];
    out.push_back(
        at_least(size, transposed ? 0 : 1, "the kernel is larger than the padded input, so the result's size"));
  }
}

constexpr OpRule kWindowRows[] = {
    needing(rereading(of_images({"aten.convolution.default", lower_convolution})), convolution_needs),
    of_images({"aten.avg_pool2d.default", lower_average<2>}),
    of_images({"aten.avg_pool3d.default", lower_average<3>}),
    of_images({"aten._adaptive_avg_pool2d.default", lower_adaptive_average<2>}),
    of_images({"aten._adaptive_avg_pool3d.default", lower_adaptive_average<3>}),
    of_images({"aten.max_pool2d_with_indices.default", lower_maximum<2>}),
    of_images({"aten.max_pool3d_with_indices.default", lower_maximum<3>}),
    of_images({"aten.adaptive_max_pool2d.default", lower_adaptive_maximum<2>}),
    of_images({"aten.adaptive_max_pool3d.default", lower_adaptive_maximum<3>}),
    of_images({"aten.fractional_max_pool2d.default", lower_fractional_maximum<2>, samples_fit}),
    of_images({"aten.fractional_max_pool3d.default", lower_fractional_maximum<3>, samples_fit}),
};

}  // namespace

const Span<const OpRule> kWindowRules{kWindowRows};

}  // namespace wick::cuda
