// Pooling and resizing: channels innermost.
#include <algorithm>

#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- pooling ---

struct Pooling {
  std::vector<int64_t> kernel, stride, padding, dilation;
  Dims input, output;  // heights and widths
};

Pooling pooling_of(const Node& node) {
  Pooling pool;
  pool.kernel = node.static_ints("kernel_size");
  pool.stride = node.static_ints("stride");
  pool.padding = node.static_ints("padding");
  pool.dilation = node.op->parsed->find("dilation") >= 0 ? node.static_ints("dilation") : std::vector<int64_t>{1, 1};
  if (pool.stride.empty()) pool.stride = pool.kernel;
  const Dims in = dims_of(*node.operands()[0]), out = result_dims(node);
  pool.input = {in[in.size() - 2], in[in.size() - 1]};
  pool.output = {out[out.size() - 2], out[out.size() - 1]};
  return pool;
}

// Rows that windows reach behind the input: what `padding` says or, with ceil_mode, more.
int64_t padding_behind(const Pooling& pool, size_t i) {
  if (!pool.input[i].is_const()) return pool.padding[i];
  const int64_t last = (pool.output[i].value() - 1) * pool.stride[i];
  const int64_t reach = last + pool.dilation[i] * (pool.kernel[i] - 1) + 1;
  return std::max(pool.padding[i], reach - pool.input[i].value() - pool.padding[i]);
}

bool is_trivial(const Pooling& pool) { return pool.kernel[0] == 1 && pool.kernel[1] == 1; }

Verdict plain_pooling(const Node& node, const TargetOptions&) {
  if (node.result()->rank() != 4) return Verdict::no("an image without batch");
  const Pooling pool = pooling_of(node);
  if (node.boolean("ceil_mode") && num_symbolic(pool.input) > 0)
    return Verdict::no("ceil_mode with sizes known only at run time");
  if (is_trivial(pool) && (pool.stride[0] != 1 || pool.stride[1] != 1)) return Verdict::no("a window of one element");
  for (size_t i = 0; i < 2; ++i) {
    if (padding_behind(pool, i) >= pool.dilation[i] * (pool.kernel[i] - 1) + 1)
      return Verdict::no("a window that lies in the padding alone");
  }
  return Verdict::yes();
}

Verdict max_pooling(const Node& node, const TargetOptions& options) {
  const Verdict verdict = plain_pooling(node, options);
  if (!verdict.taken) return verdict;
  const Pooling pool = pooling_of(node);
  for (size_t i = 0; i < 2; ++i) {
    if (pool.stride[i] > pool.kernel[i]) return Verdict::no("a stride larger than the window");
  }
  return Verdict::yes();
}

Verdict average_pooling(const Node& node, const TargetOptions& options) {
  const Verdict verdict = plain_pooling(node, options);
  if (!verdict.taken) return verdict;
  if (!node.is_none("divisor_override")) return Verdict::no("a divisor of its own");
  const Pooling pool = pooling_of(node);
  const bool padded = pool.padding[0] > 0 || pool.padding[1] > 0;
  const bool reaches_on = padding_behind(pool, 0) > pool.padding[0] || padding_behind(pool, 1) > pool.padding[1];
  if (node.boolean("count_include_pad") && padded && reaches_on)
    return Verdict::no("ceil_mode with padding that counts in the mean");
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

void lower_pooling(Lowering& l, const Node& node, NodeType type, uint32_t x, const Pooling& pool) {
  if (is_trivial(pool)) return l.set_result(node, x);
  PayloadNode out;
  out.type = type;
  out.inputs[0] = x;
  set_window(out, pool);
  l.set_result(node, l.add(std::move(out), physical(result_dims(node), channels_last_order(4))));
}

void lower_max_pool(Lowering& l, const Node& node) {
  lower_pooling(l, node, NodeType::max_pooling_2d, l.operand(node, 0), pooling_of(node));
}

// The library's mean leaves padding out; where it counts, it becomes part of the input.
void lower_avg_pool(Lowering& l, const Node& node) {
  Pooling pool = pooling_of(node);
  uint32_t x = l.operand(node, 0);
  if (node.boolean("count_include_pad") && (pool.padding[0] > 0 || pool.padding[1] > 0)) {
    const std::vector<uint32_t> amount{0, static_cast<uint32_t>(pool.padding[0]),
                                       static_cast<uint32_t>(pool.padding[1]), 0};
    x = l.pad(x, amount, amount, 0);
    for (size_t i = 0; i < 2; ++i) pool.input[i] = pool.input[i] + 2 * pool.padding[i];
    pool.padding = {0, 0};
  }
  lower_pooling(l, node, NodeType::avg_pooling_2d, x, pool);
}

// Windows of one size: the mean over each.
Verdict whole_windows(const Node& node, const TargetOptions&) {
  if (node.result()->rank() != 4) return Verdict::no("an image without batch");
  const Dims in = dims_of(*node.operands()[0]), out = result_dims(node);
  if (out[2].is(1) && out[3].is(1) && in[1].is_const()) return Verdict::yes();
  if (num_symbolic({in.begin() + 1, in.end()}) > 0) return Verdict::no("windows of sizes known only at run time");
  if (in[2].value() % out[2].value() != 0 || in[3].value() % out[3].value() != 0)
    return Verdict::no("windows of different sizes");
  return Verdict::yes();
}

void lower_adaptive_avg_pool(Lowering& l, const Node& node) {
  const Dims in = dims_of(*node.operands()[0]), out = result_dims(node);
  const uint32_t x = l.operand(node, 0);
  if (in[2] == out[2] && in[3] == out[3]) return l.set_result(node, x);
  if (!out[2].is(1) || !out[3].is(1)) {
    Pooling pool;
    pool.input = {in[2], in[3]};
    pool.output = {out[2], out[3]};
    pool.kernel = {in[2].value() / out[2].value(), in[3].value() / out[3].value()};
    pool.stride = pool.kernel;
    pool.padding = {0, 0};
    pool.dilation = {1, 1};
    return lower_pooling(l, node, NodeType::avg_pooling_2d, x, pool);
  }
  l.set_result(node, image_mean(l, x));
}

// --- resizing ---

// Where a factor was given, eager maps coordinates by it and not by the quotient of the sizes.
bool factors_match(const Node& node) {
  if (node.op->parsed->find("scale_factors") < 0 || node.is_none("scale_factors")) return true;
  const compiler::Arg& arg = node.arg("scale_factors");
  if (!arg.is<compiler::Reals>()) return false;
  const Dims in = dims_of(*node.operands()[0]), out = result_dims(node);
  const auto& factors = arg.as<compiler::Reals>();
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!in[i + 2].is_const() || !out[i + 2].is_const()) return false;
    if (static_cast<double>(in[i + 2].value()) * factors[i] != static_cast<double>(out[i + 2].value())) return false;
  }
  return true;
}

Verdict plain_resize(const Node& node, const TargetOptions&) {
  if (node.result()->rank() != 4) return Verdict::no("an image without batch");
  if (num_symbolic({node.result()->sizes().begin() + 2, node.result()->sizes().end()}) > 0)
    return Verdict::no("an image whose size is known only at run time");
  if (!factors_match(node)) return Verdict::no("a scale factor that is not the quotient of the sizes");
  return Verdict::yes();
}

void lower_bilinear(Lowering& l, const Node& node) {
  const Dims to = result_dims(node);
  PayloadNode resize;
  resize.type = NodeType::static_resize_bilinear_2d;
  resize.inputs[0] = l.operand(node, 0);
  resize.first = {static_cast<uint32_t>(to[2].value()), static_cast<uint32_t>(to[3].value())};
  if (node.boolean("align_corners")) resize.flags = kAlignCorners;
  l.set_result(node, l.add(std::move(resize), physical(to, channels_last_order(4))));
}

Verdict whole_factors(const Node& node, const TargetOptions& options) {
  const Verdict verdict = plain_resize(node, options);
  if (!verdict.taken) return verdict;
  const Dims in = dims_of(*node.operands()[0]), out = result_dims(node);
  if (!in[2].is_const() || !in[3].is_const() || out[2].value() % in[2].value() != 0 ||
      out[3].value() % in[3].value() != 0)
    return Verdict::no("a factor that is not a whole number");
  return Verdict::yes();
}

// Each pixel becomes a block: a product with ones.
void lower_nearest(Lowering& l, const Node& node) {
  const Dims in = dims_of(*node.operands()[0]), out = result_dims(node);
  const int64_t rows = out[2].value() / in[2].value(), columns = out[3].value() / in[3].value();
  const uint32_t x = l.reshape(l.operand(node, 0), {in[0] * in[2], 1, in[3], 1, in[1]});
  const std::vector<float> ones(static_cast<size_t>(rows * columns), 1.0f);
  l.set_result(node, l.as_result(node, l.binary(NodeType::multiply, x, l.constant(ones, {rows, 1, columns, 1}))));
}

constexpr OpRule kRows[] = {
    {"aten._adaptive_avg_pool2d.default", whole_windows, channels_last, lower_adaptive_avg_pool, Unknown::any},
    {"aten._upsample_nearest_exact2d.vec", whole_factors, channels_last, lower_nearest, Unknown::one},
    {"aten.adaptive_avg_pool2d.default", whole_windows, channels_last, lower_adaptive_avg_pool, Unknown::any},
    {"aten.avg_pool2d.default", average_pooling, channels_last, lower_avg_pool, Unknown::any},
    {"aten.max_pool2d_with_indices.default", max_pooling, channels_last, lower_max_pool, Unknown::any},
    {"aten.upsample_bilinear2d.vec", plain_resize, channels_last, lower_bilinear, Unknown::one},
    {"aten.upsample_nearest2d.vec", whole_factors, channels_last, lower_nearest, Unknown::one},
};

}  // namespace

const RuleFamily kWindowRules = {kRows, std::size(kRows)};

}  // namespace wick::xnnpack
