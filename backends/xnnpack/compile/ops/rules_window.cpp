// Pooling and resizing: channels innermost. Three dimensions are computed as rows and columns of all depths, then
// depths.
#include <algorithm>
#include <utility>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Verdict;

namespace {

// --- pooling ---

// A pooling over heights and widths, or over depths, heights and widths.
struct Pooling {
  std::vector<int64_t> kernel, stride, padding, dilation;
  Sizes input, output;
  bool ceil_mode = false;
  size_t rank() const { return kernel.size(); }
};

Pooling pooling_of(const Node& node) {
  Pooling pool;
  pool.kernel = node.static_ints("kernel_size");
  pool.stride = node.static_ints("stride");
  pool.padding = node.static_ints("padding");
  const bool dilated = node.op->parsed->find("dilation") >= 0;
  pool.dilation = dilated ? node.static_ints("dilation") : std::vector<int64_t>(pool.rank(), 1);
  if (pool.stride.empty()) pool.stride = pool.kernel;
  const auto rank = static_cast<ptrdiff_t>(pool.rank());
  const Sizes in = dims_of(*node.operands()[0]), out = result_dims(node);
  pool.input = {in.end() - rank, in.end()};
  pool.output = {out.end() - rank, out.end()};
  pool.ceil_mode = node.boolean("ceil_mode");
  return pool;
}

// Channels innermost, with a batch or without.
LayoutRule pool_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::fixed;
  const size_t rank = node.result()->rank();
  rule.order = made_last(plain_order(rank), rank - 1 - pooling_of(node).rank());
  return rule;
}

// The operand with a batch.
uint32_t images_of(Lowering& l, const Node& node, const Pooling& pool) {
  const uint32_t x = l.operand(node, 0);
  Sizes dims = l.dims(x);
  if (dims.size() == pool.rank() + 1) dims.insert(dims.begin(), 1);
  return l.reshape(x, dims);
}

// The part of a pooling over three dimensions that is over the last two.
Pooling over_images(const Pooling& pool) {
  const auto last = [](const auto& of) { return std::decay_t<decltype(of)>(of.end() - 2, of.end()); };
  return {last(pool.kernel), last(pool.stride), last(pool.padding), last(pool.dilation),
          last(pool.input),  last(pool.output), pool.ceil_mode};
}

// The part of a pooling over three dimensions that is over the first, as a pooling over heights.
Pooling over_depths(const Pooling& pool) {
  return {{pool.kernel[0], 1}, {pool.stride[0], 1}, {pool.padding[0], 0}, {pool.dilation[0], 1},
          {pool.input[0], 1},  {pool.output[0], 1}, pool.ceil_mode};
}

std::vector<Pooling> parts_of_pool(const Pooling& pool) {
  return pool.rank() == 2 ? std::vector<Pooling>{pool} : std::vector<Pooling>{over_images(pool), over_depths(pool)};
}

// Rows by which windows reach beyond the end of the input: `padding` or, with ceil_mode, more. For an input of unknown
// size, the most that may be needed: ceil_mode adds a window as soon as one row of a stride remains.
int64_t padding_behind(const Pooling& pool, size_t i) {
  if (!pool.input[i].is_const()) return pool.padding[i] + (pool.ceil_mode ? pool.stride[i] - 1 : 0);
  const int64_t last = (pool.output[i].value() - 1) * pool.stride[i];
  const int64_t reach = last + pool.dilation[i] * (pool.kernel[i] - 1) + 1;
  return std::max(pool.padding[i], reach - pool.input[i].value() - pool.padding[i]);
}

bool is_trivial(const Pooling& pool) { return pool.kernel[0] == 1 && pool.kernel[1] == 1; }

Verdict plain_pooling(const Node& node, const TargetContext&) {
  const Pooling pool = pooling_of(node);
  for (const Pooling& part : parts_of_pool(pool)) {
    if (is_trivial(part) && (part.stride[0] != 1 || part.stride[1] != 1) && num_symbolic(part.input) > 0)
      return Verdict::no("a window of one element, with sizes known only at run time");
  }
  for (size_t i = 0; i < pool.rank(); ++i) {
    if (padding_behind(pool, i) >= pool.dilation[i] * (pool.kernel[i] - 1) + 1)
      return Verdict::no("a window that lies entirely in the padding");
  }
  return Verdict::yes();
}

// stay_in_image, for every size that the image may have.
bool always_stay_in_image(const Pooling& pool, size_t i) {
  const auto padding = static_cast<uint64_t>(pool.padding[i]), stride = static_cast<uint64_t>(pool.stride[i]),
             dilation = static_cast<uint64_t>(pool.dilation[i]);
  const compiler::Sym& size = pool.input[i];
  if (size.is_const())
    return stay_in_image({static_cast<uint64_t>(size.value()), padding, stride, dilation},
                         static_cast<uint64_t>(pool.output[i].value()));
  // The last window begins beyond the image's end by at most the amount by which the padding exceeds a window.
  const int64_t before = pool.padding[i] % pool.dilation[i], least = compiler::SymScope::range(size).min;
  const bool begins_inside =
      pool.padding[i] + padding_behind(pool, i) - before < pool.dilation[i] * (pool.kernel[i] - 1) + 1;
  return begins_inside && (before == 0 || least >= pool.dilation[i]);
}

Verdict max_pooling(const Node& node, const TargetContext& context) {
  Verdict verdict = plain_pooling(node, context);
  if (!verdict.taken) return verdict;
  const Sizes dims = dims_of(*node.operands()[0]);
  // A requirement of Lowering::add_by_channel.
  if (!dims[dims.size() - 1 - pooling_of(node).rank()].is_const() && num_symbolic(dims) > 1)
    return Verdict::no("a number of channels known only at run time beside other unknown sizes");
  for (const Pooling& part : parts_of_pool(pooling_of(node))) {
    const bool skips = part.stride[0] > part.kernel[0] || part.stride[1] > part.kernel[1];
    if (is_trivial(part)) continue;
    if (skips) return Verdict::no("a stride larger than the window");
    const bool dilated = part.dilation[0] > 1 || part.dilation[1] > 1;
    if (dilated && !(always_stay_in_image(part, 0) && always_stay_in_image(part, 1)))
      return Verdict::no("a dilated window of which the library would read an element behind the image");
  }
  return Verdict::yes();
}

// Whether elements of the padding count as zeros. They always do if the divisor is given, which is for whole windows.
bool counts_padding(const Node& node, const Pooling& pool) {
  if (!node.is_none("divisor_override")) return true;
  const bool padded = std::any_of(pool.padding.begin(), pool.padding.end(), [](int64_t amount) { return amount > 0; });
  return padded && node.boolean("count_include_pad");
}

Verdict average_pooling(const Node& node, const TargetContext& context) {
  Verdict verdict = plain_pooling(node, context);
  if (!verdict.taken) return verdict;
  const Pooling pool = pooling_of(node);
  const bool divides = !node.is_none("divisor_override");
  if (divides && !number(node, "divisor_override")) return Verdict::no("a divisor known only at run time");
  bool reaches_on = false;
  for (size_t i = 0; i < pool.rank(); ++i) reaches_on |= padding_behind(pool, i) > pool.padding[i];
  if (counts_padding(node, pool) && reaches_on) return Verdict::no("ceil_mode with padding that counts in the mean");
  return Verdict::yes();
}

void set_window(PayloadNode& node, const Pooling& pool) {
  node.window.pad_top = static_cast<uint32_t>(pool.padding[0]);
  node.window.pad_left = static_cast<uint32_t>(pool.padding[1]);
  node.window.pad_bottom = static_cast<uint32_t>(padding_behind(pool, 0));
  node.window.pad_right = static_cast<uint32_t>(padding_behind(pool, 1));
  for (size_t i = 0; i < 2; ++i) {
    node.window.kernel[i] = static_cast<uint32_t>(pool.kernel[i]);
    node.window.stride[i] = static_cast<uint32_t>(pool.stride[i]);
    node.window.dilation[i] = static_cast<uint32_t>(pool.dilation[i]);
  }
}

// x [n, h, w, c]
uint32_t pooled(Lowering& l, NodeType type, uint32_t x, const Pooling& pool) {
  if (is_trivial(pool)) {
    for (size_t i = 0; i < 2; ++i) {
      if (pool.stride[i] != 1) x = every_step(l, x, i + 1, 0, pool.stride[i], pool.output[i].value());
    }
    return x;
  }
  PayloadNode out;
  out.type = type;
  out.inputs[0] = x;
  set_window(out, pool);
  const Sizes dims = l.dims(x);
  return l.add_by_channel(std::move(out), {dims[0], pool.output[0], pool.output[1], dims[3]});
}

// x [n, d, h, w, c]: the windows of rows and columns, then those of depths.
uint32_t pooled_volume(Lowering& l, NodeType type, uint32_t x, const Pooling& pool) {
  const Sizes dims = l.dims(x);
  const Pooling images = over_images(pool);
  const uint32_t flat = pooled(l, type, l.reshape(x, {dims[0] * dims[1], dims[2], dims[3], dims[4]}), images);
  const compiler::Sym area = images.output[0] * images.output[1];
  const uint32_t deep = pooled(l, type, l.reshape(flat, {dims[0], dims[1], area, dims[4]}), [&] {
    Pooling depths = over_depths(pool);
    depths.input[1] = depths.output[1] = area;
    return depths;
  }());
  return l.reshape(deep, {dims[0], pool.output[0], images.output[0], images.output[1], dims[4]});
}

uint32_t pooled_windows(Lowering& l, NodeType type, uint32_t x, const Pooling& pool) {
  return pool.rank() == 2 ? pooled(l, type, x, pool) : pooled_volume(l, type, x, pool);
}

void lower_max_pool(Lowering& l, const Node& node) {
  const Pooling pool = pooling_of(node);
  l.set_result(node, pooled_windows(l, NodeType::max_pooling_2d, images_of(l, node, pool), pool));
}

// The library's mean leaves padding out. Padding that counts becomes part of the input.
uint32_t averaged(Lowering& l, const Node& node, uint32_t x) {
  Pooling pool = pooling_of(node);
  if (counts_padding(node, pool)) {
    std::vector<uint32_t> amount(pool.rank() + 2, 0);
    for (size_t i = 0; i < pool.rank(); ++i) {
      amount[i + 1] = static_cast<uint32_t>(pool.padding[i]);
      pool.input[i] = pool.input[i] + 2 * std::exchange(pool.padding[i], 0);
    }
    const bool padded = std::any_of(amount.begin(), amount.end(), [](uint32_t many) { return many > 0; });
    if (padded) x = l.pad(x, amount, amount, 0);
  }
  const uint32_t out = pooled_windows(l, NodeType::avg_pooling_2d, x, pool);
  if (node.is_none("divisor_override")) return out;
  double count = 1;
  for (const int64_t size : pool.kernel) count *= static_cast<double>(size);
  return l.binary(NodeType::multiply, out, l.scalar(count / *number(node, "divisor_override")));
}

void lower_avg_pool(Lowering& l, const Node& node) {
  lower_in_fp32(l, node, images_of(l, node, pooling_of(node)), [&](uint32_t x) { return averaged(l, node, x); });
}

// The limit for windows of different sizes: each becomes a mean of its own.
constexpr int64_t kMaxWindows = 16;

Verdict known_windows(const Node& node, const TargetContext&) {
  if (node.result()->rank() != 4) return Verdict::no("an image without batch");
  const Sizes in = dims_of(*node.operands()[0]), out = result_dims(node);
  if (out[2].is(1) && out[3].is(1) && in[1].is_const()) return Verdict::yes();
  if (num_symbolic({in.begin() + 1, in.end()}) > 0) return Verdict::no("windows of sizes known only at run time");
  for (size_t i = 2; i < 4; ++i) {
    if (in[i].value() % out[i].value() != 0 && out[i].value() > kMaxWindows)
      return Verdict::no("more than 16 windows of different sizes");
  }
  return Verdict::yes();
}

// x [n, h, w, c]: means over `count` windows along dimension 1 or 2, which begin and end where eager's do.
uint32_t means_along(Lowering& l, uint32_t x, size_t at, int64_t count) {
  const Sizes dims = l.dims(x);
  const int64_t size = dims[at].value();
  if (size == count) return x;
  std::vector<uint32_t> means;
  Sizes kept = dims;
  kept[at] = 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = i * size / count, end = ((i + 1) * size + count - 1) / count;
    const uint32_t window = slice_dim(l, x, at, start, end - start);
    const Sizes rows =
        at == 1 ? Sizes{dims[0], end - start, 1, dims[2] * dims[3]} : Sizes{dims[0] * dims[1], end - start, 1, dims[3]};
    means.push_back(l.reshape(image_mean(l, l.reshape(window, rows)), kept));
  }
  return l.concatenate(std::move(means), at);
}

void lower_adaptive_avg_pool(Lowering& l, const Node& node) {
  const Sizes in = dims_of(*node.operands()[0]), out = result_dims(node);
  const uint32_t x = l.operand(node, 0);
  if (in[2] == out[2] && in[3] == out[3]) return l.set_result(node, x);
  const auto is_ragged = [&](size_t i) { return in[i].is_const() && in[i].value() % out[i].value() != 0; };
  if (is_ragged(2) || is_ragged(3)) {
    return lower_in_fp32(l, node, x, [&](uint32_t wide) {
      return means_along(l, means_along(l, wide, 1, out[2].value()), 2, out[3].value());
    });
  }
  if (!out[2].is(1) || !out[3].is(1)) {
    Pooling pool;
    pool.input = {in[2], in[3]};
    pool.output = {out[2], out[3]};
    pool.kernel = {in[2].value() / out[2].value(), in[3].value() / out[3].value()};
    pool.stride = pool.kernel;
    pool.padding = {0, 0};
    pool.dilation = {1, 1};
    return lower_in_fp32(l, node, x, [&](uint32_t wide) { return pooled(l, NodeType::avg_pooling_2d, wide, pool); });
  }
  lower_in_fp32(l, node, x, [&](uint32_t wide) { return image_mean(l, wide); });
}

// --- resizing ---

// Whether scale factors, if given, are the quotients of the sizes. Eager maps coordinates by the factors, except where
// corners are aligned, or, in linear resizes, where a size stays.
bool factors_match(const Node& node) {
  if (node.op->parsed->find("scale_factors") < 0 || node.is_none("scale_factors")) return true;
  if (node.op->parsed->find("align_corners") >= 0 && node.boolean("align_corners")) return true;
  const compiler::Arg& arg = node.arg("scale_factors");
  if (!arg.is<compiler::Reals>()) return false;
  const Sizes in = dims_of(*node.operands()[0]), out = result_dims(node);
  const auto& factors = arg.as<compiler::Reals>();
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!in[i + 2].is_const() || !out[i + 2].is_const()) return false;
    if (in[i + 2] == out[i + 2] && node.op->parsed->find("align_corners") >= 0) continue;
    if (static_cast<double>(in[i + 2].value()) * factors[i] != static_cast<double>(out[i + 2].value())) return false;
  }
  return true;
}

Verdict plain_resize(const Node& node, const TargetContext&) {
  if (num_symbolic({node.result()->sizes().begin() + 2, node.result()->sizes().end()}) > 0)
    return Verdict::no("an image whose size is known only at run time");
  if (!factors_match(node)) return Verdict::no("a scale factor that is not the quotient of the sizes");
  return Verdict::yes();
}

// x [n, h, w, c]
uint32_t resized(Lowering& l, const Node& node, uint32_t x, const compiler::Sym& height, const compiler::Sym& width) {
  const Sizes dims = l.dims(x);
  PayloadNode resize;
  resize.type = NodeType::static_resize_bilinear_2d;
  resize.inputs[0] = x;
  resize.first = {static_cast<uint32_t>(height.value()), static_cast<uint32_t>(width.value())};
  if (node.boolean("align_corners")) resize.flags = kAlignCorners;
  return l.add_by_channel(std::move(resize), {dims[0], height, width, dims[3]});
}

void lower_bilinear(Lowering& l, const Node& node) {
  const Sizes to = result_dims(node);
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) { return resized(l, node, x, to[2], to[3]); });
}

// Resizes rows and columns of all depths, then depths. In the second step a row is a whole image, and columns stay.
void lower_trilinear(Lowering& l, const Node& node) {
  const Sizes in = dims_of(*node.operands()[0]), to = result_dims(node);
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const uint32_t images = l.reshape(x, {in[0] * in[2], in[3], in[4], in[1]});
    const uint32_t flat = l.reshape(resized(l, node, images, to[3], to[4]), {in[0], in[2], to[3] * to[4], in[1]});
    return l.as_result(node, resized(l, node, flat, to[2], to[3] * to[4]));
  });
}

Verdict whole_factors(const Node& node, const TargetContext& context) {
  Verdict verdict = plain_resize(node, context);
  if (!verdict.taken) return verdict;
  const Sizes in = dims_of(*node.operands()[0]), out = result_dims(node);
  for (size_t i = 2; i < in.size(); ++i) {
    if (!in[i].is_const() || out[i].value() % in[i].value() != 0)
      return Verdict::no("a factor that is not a whole number");
  }
  return Verdict::yes();
}

// Each pixel becomes a block by a multiplication by ones. In three dimensions, each image is then repeated likewise.
void lower_nearest(Lowering& l, const Node& node) {
  const Sizes in = dims_of(*node.operands()[0]), out = result_dims(node);
  const size_t h = in.size() - 2, w = in.size() - 1;
  const int64_t rows = out[h].value() / in[h].value(), columns = out[w].value() / in[w].value();
  const compiler::Sym images = compiler::layout::product({in.begin() + 2, in.end() - 2}) * in[0];
  uint32_t x = l.reshape(l.operand(node, 0), {images * in[h], 1, in[w], 1, in[1]});
  const std::vector<float> ones(static_cast<size_t>(rows * columns), 1.0f);
  x = l.binary(NodeType::multiply, x, l.constant(ones, {rows, 1, columns, 1}));
  if (in.size() == 5 && !(in[2] == out[2])) {
    const int64_t depths = out[2].value() / in[2].value();
    const std::vector<float> more(static_cast<size_t>(depths), 1.0f);
    x = l.reshape(x, {images, 1, out[h] * out[w] * in[1]});
    x = l.binary(NodeType::multiply, x, l.constant(more, {depths, 1}));
  }
  l.set_result(node, l.as_result(node, x));
}

// A mean over whole images. The library needs channels innermost; the portable kernel need not move them.
bool is_global_mean(const Node& node) {
  const Sizes out = result_dims(node);
  return out[2].is(1) && out[3].is(1);
}

constexpr OpRule kWindowRows[] = {
    costs_more(deviates(kProduct, on_int8(fits_mean, {"aten._adaptive_avg_pool2d.default", known_windows, channels_last,
                                                      lower_adaptive_avg_pool, Unknown::any})),
               is_global_mean),
    {"aten._upsample_nearest_exact2d.vec", whole_factors, channels_last, lower_nearest, Unknown::one},
    {"aten._upsample_nearest_exact3d.vec", whole_factors, channels_last, lower_nearest, Unknown::one},
    costs_more(deviates(kProduct, on_int8(fits_mean, {"aten.adaptive_avg_pool2d.default", known_windows, channels_last,
                                                      lower_adaptive_avg_pool, Unknown::any})),
               is_global_mean),
    deviates(kProduct, {"aten.avg_pool2d.default", average_pooling, pool_layout, lower_avg_pool, Unknown::any}),
    deviates(kProduct, {"aten.avg_pool3d.default", average_pooling, pool_layout, lower_avg_pool, Unknown::one}),
    loses_sign(deviates(kDropsNan, on_int8(same_scales, {"aten.max_pool2d_with_indices.default", max_pooling,
                                                         pool_layout, lower_max_pool, Unknown::any}))),
    loses_sign(deviates(
        kDropsNan, {"aten.max_pool3d_with_indices.default", max_pooling, pool_layout, lower_max_pool, Unknown::one})),
    loses_sign(
        deviates(kResize, {"aten.upsample_bilinear2d.vec", plain_resize, channels_last, lower_bilinear, Unknown::one})),
    {"aten.upsample_nearest2d.vec", whole_factors, channels_last, lower_nearest, Unknown::one},
    {"aten.upsample_nearest3d.vec", whole_factors, channels_last, lower_nearest, Unknown::one},
    loses_sign(deviates(kResize,
                        {"aten.upsample_trilinear3d.vec", plain_resize, channels_last, lower_trilinear, Unknown::one})),
};

}  // namespace

const RuleFamily kWindowRules = {kWindowRows, std::size(kWindowRows)};

}  // namespace wick::xnnpack
