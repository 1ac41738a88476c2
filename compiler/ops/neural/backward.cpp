// Gradients that exported training steps contain as operators. A result that output_mask leaves out is an empty tensor
// that nobody reads.
#include <algorithm>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

Bools output_mask(const Node& node) {
  const Arg& mask = node.arg("output_mask");
  require(mask.is<Bools>() && mask.as<Bools>().size() == 3, "output_mask needs three entries");
  return mask.as<Bools>();
}

void set_masked(Node& node, size_t index, bool wanted, DType dtype, Sizes sizes) {
  set_result(node, index, dtype, wanted ? std::move(sizes) : Sizes{0});
}

// Multiplies by the mask: a dropped NaN or infinity gives NaN.
Results decompose_dropout_backward(Builder& b, Node& node) {
  Compose c(b);
  return {in_float(b, node.tensor("grad_output"), [&](Value* grad) {
    return c.mul(c.mul(grad, b.cast(node.tensor("mask"), grad->dtype())), node.real("scale"));
  })};
}

// --- convolution ---

void infer_convolution_backward(Node& node) {
  const Value *grad = node.tensor("grad_output"), *x = node.tensor("input"), *weight = node.tensor("weight");
  require(weight->rank() >= 3 && weight->rank() <= 5, "convolution_backward: the rank is not supported");
  require_rank(x, weight->rank(), "convolution_backward: the input");
  require_rank(grad, weight->rank(), "convolution_backward: grad_output");
  require(grad->dtype() == x->dtype() && x->dtype() == weight->dtype(), "convolution_backward: dtypes differ");
  require_equal(grad->sizes()[0], x->sizes()[0], "convolution_backward: batch");
  const Bools wanted = output_mask(node);
  set_masked(node, 0, wanted[0], x->dtype(), x->sizes());
  set_masked(node, 1, wanted[1], x->dtype(), weight->sizes());
  set_masked(node, 2, wanted[2], x->dtype(), {grad->sizes()[1]});
}

struct Convolution {
  Ints stride, padding, dilation, output_padding;
};
Convolution convolution_of(const Node& node, size_t spatial) {
  return {repeat_to(node.ints("stride"), spatial, "stride"), repeat_to(node.ints("padding"), spatial, "padding"),
          repeat_to(node.ints("dilation"), spatial, "dilation"),
          repeat_to(node.ints("output_padding"), spatial, "output_padding")};
}

// Convolutions over one dimension are computed as 2-d ones of height 1.
Results line_convolution_backward(Builder& b, Node& node) {
  Convolution k = convolution_of(node, 1);
  auto add = [](Ints& list, int64_t value) { list.insert(list.begin(), Sym(value)); };
  add(k.stride, 1), add(k.padding, 0), add(k.dilation, 1), add(k.output_padding, 0);
  auto plane = [&](const char* name) { return b.unsqueeze(node.tensor(name), 2); };
  Results out =
      b.call_multi("aten.convolution_backward",
                   {plane("grad_output"), plane("input"), plane("weight"), node.arg("bias_sizes"), k.stride, k.padding,
                    k.dilation, node.arg("transposed"), k.output_padding, node.arg("groups"), node.arg("output_mask")});
  const Bools wanted = output_mask(node);
  for (size_t i = 0; i < 2; ++i) out[i] = wanted[i] ? b.squeeze(out[i], 2) : nullptr;
  if (!wanted[2]) out[2] = nullptr;
  return out;
}

// A transposed convolution is the gradient of a plain one with respect to its input, so input and gradient swap roles.
Results transposed_convolution_backward(Builder& b, Node& node, const Convolution& k) {
  Value *grad = node.tensor("grad_output"), *x = node.tensor("input"), *weight = node.tensor("weight");
  const Ints none(k.stride.size(), Sym(0));
  const Bools wanted = output_mask(node);
  Results out(3, nullptr);
  if (wanted[0])
    out[0] = b.call("aten.convolution",
                    {grad, weight, None{}, k.stride, k.padding, k.dilation, false, none, node.arg("groups")});
  if (wanted[1])
    out[1] = b.call_multi("aten.convolution_backward", {x, grad, weight, None{}, k.stride, k.padding, k.dilation, false,
                                                        none, node.arg("groups"), Bools{false, true, false}})[1];
  if (wanted[2]) {
    std::vector<int64_t> dims = all_dims(grad->rank());
    dims.erase(dims.begin() + 1);
    out[2] = Compose(b).sum(grad, dims);
  }
  return out;
}

Results decompose_convolution_backward(Builder& b, Node& node) {
  const size_t spatial = node.tensor("weight")->rank() - 2;
  if (spatial == 1) return line_convolution_backward(b, node);
  if (!node.boolean("transposed")) return {};
  const Convolution k = convolution_of(node, spatial);
  for (size_t i = 0; i < spatial; ++i) {  // otherwise the plain convolution gives more elements than the input has
    const Sym &stride = k.stride[i], &extra = k.output_padding[i];
    if (!stride.is_const() || !extra.is_const() || extra.value() >= stride.value()) return {};
  }
  return transposed_convolution_backward(b, node, k);
}

// --- pooling ---

void infer_like_self(Node& node) {
  const Value *grad = node.tensor("grad_output"), *x = node.tensor("self");
  require(x->rank() == 3 || x->rank() == 4, "pooling backward: the rank is not supported");
  require_rank(grad, x->rank(), "pooling backward: grad_output");
  for (size_t i = 0; i + 2 < x->rank(); ++i) require_equal(grad->sizes()[i], x->sizes()[i], "pooling backward: planes");
  require(is_floating(x->dtype()) && grad->dtype() == x->dtype(), "pooling backward: the dtypes do not fit");
  set_result(node, x->dtype(), x->sizes());
}

struct PoolWindow {
  Ints kernel, stride, padding;
};
PoolWindow pool_window(const Node& node) {
  PoolWindow w;
  w.kernel = repeat_to(node.ints("kernel_size"), 2, "kernel_size");
  const Ints stride = node.ints("stride");
  w.stride = stride.empty() ? w.kernel : repeat_to(stride, 2, "stride");
  w.padding = repeat_to(node.ints("padding"), 2, "padding");
  for (size_t i = 0; i < 2; ++i) {
    require(w.kernel[i].is_const() && w.stride[i].is_const() && w.padding[i].is_const(),
            "pooling backward: the window is not known");
    require(w.padding[i].value() >= 0 && w.padding[i].value() <= w.kernel[i].value() / 2,
            "pooling: padding is more than half of the window");
  }
  return w;
}

// The sizes of the forward pass's result.
Sizes pooled_sizes(const Node& node, const PoolWindow& w, const Ints& dilation) {
  const Value *grad = node.tensor("grad_output"), *x = node.tensor("self");
  Sizes sizes = x->sizes();
  for (size_t i = 0, d = x->rank() - 2; i < 2; ++i, ++d) {
    sizes[d] =
        window_size(x->sizes()[d], w.padding[i], w.kernel[i], w.stride[i], dilation[i], node.boolean("ceil_mode"));
    require_equal(grad->sizes()[d], sizes[d], "pooling backward: grad_output");
  }
  return sizes;
}

void infer_max_pool_backward(Node& node) {
  infer_like_self(node);
  pooled_sizes(node, pool_window(node), repeat_to(node.ints("dilation"), 2, "dilation"));
  const Value *indices = node.tensor("indices"), *grad = node.tensor("grad_output");
  require(indices->dtype() == DType::i64, "max pooling backward: the indices are not i64");
  require_rank(indices, grad->rank(), "max pooling backward: the indices");
  for (size_t i = 0; i < grad->rank(); ++i)
    require_equal(indices->sizes()[i], grad->sizes()[i], "max pooling backward: the indices");
}
// An empty stride means the kernel size.
Results decompose_max_pool_backward(Builder& b, Node& node) {
  if (!node.ints("stride").empty()) return {};
  return {b.call("aten.max_pool2d_with_indices_backward",
                 {node.arg("grad_output"), node.arg("self"), node.ints("kernel_size"), node.ints("kernel_size"),
                  node.arg("padding"), node.arg("dilation"), node.arg("ceil_mode"), node.arg("indices")})};
}

void infer_avg_pool_backward(Node& node) {
  infer_like_self(node);
  pooled_sizes(node, pool_window(node), Ints(2, Sym(1)));
  if (!node.is_none("divisor_override")) require(!node.integer("divisor_override").is(0), "the divisor must not be 0");
}

// The windows first[p] .. last[p] contain position p. There are at most `most`, and with `one_at_least` always one or
// more.
struct Covering {
  Value *first, *last;
  int64_t most;
  bool one_at_least;
};
// Element p of the result along `dim` is the sum of x over the windows that contain p.
Value* sum_of_windows(Compose& c, Value* x, int64_t dim, const Covering& windows) {
  require(windows.most > 0 && windows.most <= 4096, "pooling backward: too many windows overlap");
  const Sym count = x->sizes()[static_cast<size_t>(dim)];
  Sizes along(x->rank() - static_cast<size_t>(dim), Sym(1));
  along[0] = windows.first->sizes()[0];
  Value* sum = nullptr;
  for (int64_t i = 0; i < windows.most; ++i) {
    Value* index = i ? c.add(windows.first, i) : windows.first;
    Value* part = c.index_select(x, dim, c.clamp(index, 0, count - 1));
    if (i || !windows.one_at_least) {
      Value* live = c.b.reshape(c.compare("le", index, windows.last), along);
      part = c.where(live, part, 0.0, part->dtype());
    }
    sum = sum ? c.add(sum, part) : part;
  }
  return sum;
}

Value* floor_by(Compose& c, Value* x, const Sym& divisor) {
  return divisor.is(1) ? x : c.div_mode(x, divisor, "floor");
}

// The number of elements that each of `count` windows averages along one dimension.
Value* window_lengths(Compose& c, const Sym& count, const Sym& in, const PoolWindow& w, size_t i, bool with_padding) {
  Value* start = c.sub(c.mul(c.arange(count, DType::i64), w.stride[i]), w.padding[i]);
  Value* end = c.clamp(c.add(start, w.kernel[i]), None{}, in + w.padding[i]);
  if (with_padding) return c.sub(end, start);
  return c.sub(c.clamp(end, None{}, in), c.clamp(start, 0, None{}));
}

Covering windows_around(Compose& c, const Sym& count, const Sym& in, const PoolWindow& w, size_t i) {
  const Sym &kernel = w.kernel[i], &stride = w.stride[i];
  Value* position = c.add(c.arange(in, DType::i64), w.padding[i]);
  Value* first = c.clamp(floor_by(c, c.add(position, stride - kernel), stride), 0, None{});
  Value* last = c.clamp(floor_by(c, position, stride), None{}, count - 1);
  return {first, last, ceil_div(kernel, stride).value(), false};
}

Value* divided(Compose& c, Value* grad, Value* rows, Value* columns) {
  Value* areas = c.mul(c.b.unsqueeze(rows, 1), columns);
  return c.div(grad, c.b.cast(areas, grad->dtype()));
}

Results decompose_avg_pool_backward(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* grad = b.cast(node.tensor("grad_output"), wide_dtype(x->dtype()));
  const PoolWindow w = pool_window(node);
  const size_t height = x->rank() - 2;
  const Sizes in = x->sizes(), out = pooled_sizes(node, w, Ints(2, Sym(1)));
  grad = b.reshape(grad, out);  // checks the sizes, at run time if they are dynamic
  if (node.is_none("divisor_override")) {
    auto lengths = [&](size_t i) {
      return window_lengths(c, out[height + i], in[height + i], w, i, node.boolean("count_include_pad"));
    };
    grad = divided(c, grad, lengths(0), lengths(1));
  } else {
    grad = c.div(grad, node.arg("divisor_override"));
  }
  for (size_t i = 0; i < 2; ++i)
    grad = sum_of_windows(c, grad, static_cast<int64_t>(height + i),
                          windows_around(c, out[height + i], in[height + i], w, i));
  return {b.cast(grad, x->dtype())};
}

// The lengths of the windows floor(i in / out) .. ceil((i + 1) in / out).
Value* adaptive_lengths(Compose& c, const Sym& count, const Sym& in) {
  Value* start = c.mul(c.arange(count, DType::i64), in);
  return c.sub(floor_by(c, c.add(start, in + count - 1), count), floor_by(c, start, count));
}

int64_t most_adaptive_windows(const Sym& count, const Sym& in) {
  require(count.is_const(), "adaptive pooling backward: the size of grad_output is not known");
  if (!in.is_const()) return count.value();
  int64_t most = 1;
  for (int64_t at = 0, n = count.value(), size = in.value(); at < std::min<int64_t>(size, 65536); ++at)
    most = std::max(most, ((at + 1) * n + size - 1) / size - at * n / size);
  return most;
}

// Position p is in the windows floor(p out / in) .. ceil((p + 1) out / in) - 1.
Covering adaptive_windows_around(Compose& c, const Sym& count, const Sym& in) {
  Value* position = c.mul(c.arange(in, DType::i64), count);
  Value* last = c.sub(floor_by(c, c.add(position, count + in - 1), in), 1);
  return {floor_by(c, position, in), last, most_adaptive_windows(count, in), true};
}

Results decompose_adaptive_avg_backward(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  Value* grad = b.cast(node.tensor("grad_output"), wide_dtype(x->dtype()));
  const size_t height = x->rank() - 2;
  const Sizes in = x->sizes(), out = grad->sizes();
  require(!out[height].is(0) && !out[height + 1].is(0), "adaptive pooling backward: grad_output is empty");
  grad = divided(c, grad, adaptive_lengths(c, out[height], in[height]),
                 adaptive_lengths(c, out[height + 1], in[height + 1]));
  for (size_t d = height; d < height + 2; ++d) {
    if (out[d] == in[d]) continue;
    grad = sum_of_windows(c, grad, static_cast<int64_t>(d), adaptive_windows_around(c, out[d], in[d]));
  }
  return {b.cast(grad, x->dtype())};
}

// --- embedding ---

void infer_embedding_backward(Node& node) {
  const Value *grad = node.tensor("grad_output"), *indices = node.tensor("indices");
  require(indices->dtype() == DType::i64 || indices->dtype() == DType::i32, "the indices are not i32 or i64");
  require_rank(grad, indices->rank() + 1, "embedding backward: grad_output");
  for (size_t i = 0; i < indices->rank(); ++i)
    require_equal(grad->sizes()[i], indices->sizes()[i], "embedding backward: grad_output");
  set_result(node, grad->dtype(), {node.integer("num_weights"), grad->sizes().back()});
}
// Row i of the table gets the sum of the gradients of its uses (with scale_grad_by_freq, the mean). The padding row
// gets zeros.
Results decompose_embedding_backward(Builder& b, Node& node) {
  Compose c(b);
  Value *grad = node.tensor("grad_output"), *indices = node.tensor("indices");
  const Sym uses = numel(indices->sizes()), rows = node.integer("num_weights"), columns = grad->sizes().back();
  const DType dtype = grad->dtype();
  Value* flat = b.cast(b.reshape(indices, {uses}), DType::i64);
  Value* live = c.compare("ne", flat, node.integer("padding_idx"));
  Value* at = c.where(live, flat, 0, DType::i64);
  Value* parts = c.where(b.unsqueeze(live, 1), b.reshape(grad, {uses, columns}), 0, dtype);
  Value* out = b.call("aten.index_put", {b.full({rows, columns}, 0, dtype), Values{at}, parts, true});
  if (node.boolean("scale_grad_by_freq")) {
    require(is_floating(dtype), "embedding backward: integers cannot be scaled");
    const DType wide = wide_dtype(dtype);
    Value* counts = b.call("aten.index_put", {b.full({rows}, 0, wide), Values{at}, b.cast(live, wide), true});
    out = b.cast(c.div(b.cast(out, wide), b.unsqueeze(c.clamp(counts, 1, None{}), 1)), dtype);
  }
  return {out};
}

// --- normalization ---

// The gradient with respect to x, with n = (x - mean) rstd and h = grad weight: rstd (h - mean(h) - n mean(h n)). Means
// are over `dims`.
Value* normalized_gradient(Compose& c, Value* h, Value* n, Value* rstd, const std::vector<int64_t>& dims) {
  Value* centered = c.sub(h, c.mean(h, dims, true));
  return c.mul(rstd, c.sub(centered, c.mul(n, c.mean(c.mul(h, n), dims, true))));
}

Value* sum_over(Compose& c, Value* x, const std::vector<int64_t>& dims) { return dims.empty() ? x : c.sum(x, dims); }

struct NormGradient {
  Value *grad, *normalized, *rstd;  // equal shapes, except for the statistics; in a wide dtype
  Value* weight;                    // broadcasts to grad, or null
  std::vector<int64_t> averaged, summed;
};
// The gradients with respect to input, weight and bias, in the shapes of `g`.
Results norm_gradients(Compose& c, const NormGradient& g, const Bools& wanted) {
  Results out(3, nullptr);
  if (wanted[0]) {
    Value* h = g.weight ? c.mul(g.grad, g.weight) : g.grad;
    out[0] = normalized_gradient(c, h, g.normalized, g.rstd, g.averaged);
  }
  if (wanted[1]) out[1] = sum_over(c, c.mul(g.grad, g.normalized), g.summed);
  if (wanted[2]) out[2] = sum_over(c, g.grad, g.summed);
  return out;
}

// Reshapes input, statistics and weight to the given sizes and widens them.
NormGradient norm_gradient(Compose& c, const Node& node, const Sizes& sizes, const Sizes& stats, const Sizes& weights) {
  Builder& b = c.b;
  const DType wide = wide_dtype(node.tensor("input")->dtype());
  auto as = [&](const char* name, const Sizes& shape) { return b.reshape(b.cast(node.tensor(name), wide), shape); };
  Value* rstd = as("rstd", stats);
  Value* normalized = c.mul(c.sub(as("input", sizes), as("mean", stats)), rstd);
  Value* weight = node.is_none("weight") ? nullptr : as("weight", weights);
  return {as("grad_out", sizes), normalized, rstd, weight, {}, {}};
}

// Converts results to the dtypes and sizes of the node.
Results as_results(Builder& b, const Node& node, Results out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i]) out[i] = b.reshape(b.cast(out[i], node.result(i)->dtype()), node.result(i)->sizes());
  }
  return out;
}

void check_like(const Node& node, const char* name, const Sizes& sizes) {
  const Value* v = node.tensor(name);
  require_rank(v, sizes.size(), name);
  for (size_t i = 0; i < sizes.size(); ++i) require_equal(v->sizes()[i], sizes[i], name);
}

DType dtype_or(const Value* value, DType otherwise) { return value ? value->dtype() : otherwise; }

// A parameter that is absent has no gradient.
Bools layer_norm_mask(const Node& node) {
  Bools wanted = output_mask(node);
  wanted[1] = wanted[1] && !node.is_none("weight");
  wanted[2] = wanted[2] && !node.is_none("bias");
  return wanted;
}

void infer_layer_norm_backward(Node& node) {
  const Value* x = node.tensor("input");
  const Ints normalized = node.ints("normalized_shape");
  if (normalized.empty() || normalized.size() > x->rank()) reject("normalized_shape does not fit the input");
  const size_t lead = x->rank() - normalized.size();
  Sizes stats = x->sizes();
  for (size_t i = lead; i < x->rank(); ++i) {
    require_equal(x->sizes()[i], normalized[i - lead], "normalized_shape");
    stats[i] = 1;
  }
  check_like(node, "grad_out", x->sizes());
  check_like(node, "mean", stats);
  check_like(node, "rstd", stats);
  for (const char* name : {"weight", "bias"}) {
    if (!node.is_none(name)) check_like(node, name, normalized);
  }
  const Bools wanted = layer_norm_mask(node);
  set_masked(node, 0, wanted[0], x->dtype(), x->sizes());
  set_masked(node, 1, wanted[1], dtype_or(node.optional_tensor("weight"), x->dtype()), normalized);
  set_masked(node, 2, wanted[2], dtype_or(node.optional_tensor("bias"), x->dtype()), normalized);
}
Results decompose_layer_norm_backward(Builder& b, Node& node) {
  Compose c(b);
  const Sizes &sizes = node.tensor("input")->sizes(), &stats = node.tensor("mean")->sizes();
  const Ints normalized = node.ints("normalized_shape");
  NormGradient g = norm_gradient(c, node, sizes, stats, normalized);
  for (size_t i = 0; i < sizes.size(); ++i)
    (i < sizes.size() - normalized.size() ? g.summed : g.averaged).push_back(static_cast<int64_t>(i));
  return as_results(b, node, norm_gradients(c, g, layer_norm_mask(node)));
}

void infer_group_norm_backward(Node& node) {
  const Value* x = node.tensor("input");
  require(x->rank() >= 2, "normalisation over channels needs at least two dimensions");
  const Sym batch = node.integer("N"), channels = node.integer("C"), groups = node.integer("group");
  require_equal(x->sizes()[0], batch, "group_norm backward: batch");
  require_equal(x->sizes()[1], channels, "group_norm backward: channels");
  require_equal(numel(x->sizes()), batch * channels * node.integer("HxW"), "group_norm backward: elements");
  if (!groups.is_const() || groups.value() <= 0 || (channels.is_const() && channels.value() % groups.value() != 0))
    reject("group_norm: groups do not divide the channels");
  check_like(node, "grad_out", x->sizes());
  check_like(node, "mean", {batch, groups});
  check_like(node, "rstd", {batch, groups});
  if (!node.is_none("weight")) check_like(node, "weight", {channels});
  const Bools wanted = output_mask(node);
  const DType dtype = dtype_or(node.optional_tensor("weight"), x->dtype());
  set_masked(node, 0, wanted[0], x->dtype(), x->sizes());
  set_masked(node, 1, wanted[1], dtype, {channels});
  set_masked(node, 2, wanted[2], dtype, {channels});
}
Results decompose_group_norm_backward(Builder& b, Node& node) {
  Compose c(b);
  const Sym batch = node.integer("N"), groups = node.integer("group");
  const Sym members = floor_div(node.integer("C"), groups);
  NormGradient g = norm_gradient(c, node, {batch, groups, members, node.integer("HxW")}, {batch, groups, 1, 1},
                                 {1, groups, members, 1});
  g.averaged = {2, 3};
  g.summed = {0, 3};
  return as_results(b, node, norm_gradients(c, g, output_mask(node)));
}

// The gradient through y = softmax(x): (g - sum(g y)) y. The difference comes first, as in eager: for large g little of
// it may be left.
Results decompose_softmax_backward(Builder& b, Node& node) {
  Compose c(b);
  const int64_t dim = node.static_integer("dim");
  Value* out = in_float(b, node.tensor("output"), [&](Value* y) {
    Value* g = b.cast(node.tensor("grad_output"), y->dtype());
    return c.mul(c.sub(g, c.sum(c.mul(g, y), {dim}, true)), y);
  });
  return {out};
}

// The gradient through y = log_softmax(x): g - e^y sum(g).
Results decompose_log_softmax_backward(Builder& b, Node& node) {
  Compose c(b);
  const int64_t dim = node.static_integer("dim");
  Value* out = in_float(b, node.tensor("output"), [&](Value* y) {
    Value* g = b.cast(node.tensor("grad_output"), y->dtype());
    return c.sub(g, c.mul(c.exp(y), c.sum(g, {dim}, true)));
  });
  return {out};
}

}  // namespace

const OpDef kBackwardRows[] = {
    {"aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     nullptr, decompose_softmax_backward, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]{range=0..1}, -1, f32", "f32[2, 3, 4], f32[2, 3, 4]{range=0..1}, 1, f32")},
    {"aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     nullptr, decompose_log_softmax_backward, nullptr, kPure, Cases("f32[3, 4], f32[3, 4], -1, f32")},
    {"aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] "
     "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] "
     "output_mask) -> (Tensor, Tensor, Tensor)",
     infer_convolution_backward, decompose_convolution_backward, "aten::convolution_backward.out", kPure,
     Cases("f32[2, 4, 3, 3], f32[2, 4, 5, 6], f32[4, 2, 3, 2], [4], [2, 2], [1, 0], [1, 1], false, [0, 0], 2, [true, "
           "true, true]",
           "f32[1, 3, 4, 4], f32[1, 2, 6, 6], f32[3, 2, 3, 3], None, [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [false, "
           "true, false]",
           "f32[2, 3, 4], f32[2, 2, 8], f32[3, 2, 3], [3], [2], [1], [1], false, [0], 1, [true, true, true]",
           "f32[1, 4, 4, 4], f32[1, 2, 2, 2], f32[2, 2, 3, 3], [4], [2, 2], [1, 1], [1, 1], true, [1, 1], 2, [true, "
           "true, true]",
           "f32[1, 2, 6], f32[1, 3, 4], f32[3, 2, 3], None, [1], [0], [1], true, [0], 1, [true, true, false]",
           "f32[1, 2, 2, 2, 3], f32[1, 2, 3, 3, 4], f32[2, 1, 2, 2, 2], [2], [1, 1, 1], [0, 0, 0], [1, 1, 1], false, "
           "[0, 0, 0], 2, [true, true, true]"),
     &kManyTerms},
    {"aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
     "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     infer_max_pool_backward, decompose_max_pool_backward, "aten::max_pool2d_with_indices_backward.grad_input", kPure,
     Cases("f32[1, 2, 2, 3], f32[1, 2, 4, 6], [2, 2], [], [0, 0], [1, 1], false, i64[1, 2, 2, 3]{index<24}",
           "f32[2, 2, 2], f32[2, 4, 4], [3, 3], [2, 2], [1, 1], [1, 1], false, i64[2, 2, 2]{=5, 5, 9, 15}",
           "! f32[1, 2, 2, 2], f32[1, 2, 9, 9], [2, 2], [2, 2], [0, 0], [1, 1], false, i64[1, 2, 2, 2]{index<4}"),
     &kManyTerms},
    {"aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
     "bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
     infer_avg_pool_backward, decompose_avg_pool_backward, nullptr, kPure,
     Cases("f32[2, 3, 2, 3], f32[2, 3, 4, 6], [2, 2], [], [0, 0], false, true, None",
           "f32[1, 2, 3, 3], f32[1, 2, 6, 5], [3, 3], [2, 2], [1, 1], false, false, None",
           "f32[2, 5, 3], f32[2, 8, 5], [3, 2], [2, 2], [1, 0], true, true, None",
           "f32[2, 5, 3], f32[2, 8, 5], [3, 2], [2, 2], [1, 0], true, false, None",
           "f16[1, 1, 3, 2], f16[1, 1, 5, 7], [3, 3], [1, 3], [0, 0], false, true, 5",
           "! f32[1, 2, 2, 3], f32[1, 2, 4, 4], [2, 2], [2, 2], [0, 0], false, true, None"),
     &kManyTerms},
    {"aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", nullptr,
     decompose_dropout_backward, nullptr, kPure,
     Cases("f32[3, 4], bool[3, 4], 1.25", "f16[33]{special}, bool[33], 1.1111", "bf16[3, 4], bool[3, 4], 1.1111",
           "f32[3, 1], bool[3, 4], 2", "f32[0, 3], bool[0, 3], 2")},
    {"aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor", infer_like_self,
     decompose_adaptive_avg_backward, nullptr, kPure,
     Cases("f32[2, 3, 1, 1], f32[2, 3, 4, 5]", "f32[1, 2, 3, 4], f32[1, 2, 7, 6]", "f32[2, 5, 3], f32[2, 2, 3]",
           "f32[1, 1, 2, 2]{=1, inf, -2, nan}, f32[1, 1, 4, 3]", "bf16[1, 2, 2, 2], bf16[1, 2, 5, 4]"),
     &kManyTerms},
    {"aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
     "scale_grad_by_freq) -> Tensor",
     infer_embedding_backward, decompose_embedding_backward, nullptr, kPure,
     Cases("f32[2, 3, 4], i64[2, 3]{=0, 2, 2, 4, 0, 2}, 5, -1, false",
           "f32[2, 3, 4], i64[2, 3]{=0, 2, 2, 4, 0, 3}, 5, 2, true", "f32[6, 2], i32[6]{=1, 1, 1, 0, 3, 1}, 4, 0, true",
           "f64[4], i64[]{=1}, 3, -1, false", "f32[0, 4], i64[0], 3, -1, false"),
     &kManyTerms},
    {"aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor "
     "rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     infer_layer_norm_backward, decompose_layer_norm_backward, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[2, 3, 4], [4], f32[2, 3, 1], f32[2, 3, 1]{range=0.5..2}, f32[4], f32[4], [true, true, "
           "true]",
           "f32[2, 3, 4], f32[2, 3, 4], [3, 4], f32[2, 1, 1], f32[2, 1, 1]{range=0.5..2}, None, None, [true, false, "
           "false]",
           "f32[3, 5], f32[3, 5], [5], f32[3, 1], f32[3, 1]{range=0.5..2}, f32[5], f32[5], [false, true, true]",
           "f32[5], f32[5], [5], f32[1], f32[1]{range=0.5..2}, f32[5], f32[5], [true, true, true]",
           "f32[0, 4], f32[0, 4], [4], f32[0, 1], f32[0, 1], f32[4], f32[4], [true, true, true]"),
     &kManyTerms},
    {"aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt "
     "N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     infer_group_norm_backward, decompose_group_norm_backward, nullptr, kPure,
     Cases("f32[2, 4, 3], f32[2, 4, 3], f32[2, 2], f32[2, 2]{range=0.5..2}, f32[4], 2, 4, 3, 2, [true, true, true]",
           "f32[1, 6, 2, 2], f32[1, 6, 2, 2], f32[1, 3], f32[1, 3]{range=0.5..2}, None, 1, 6, 4, 3, [true, false, "
           "false]",
           "f32[2, 4], f32[2, 4], f32[2, 1], f32[2, 1]{range=0.5..2}, f32[4], 2, 4, 1, 1, [false, true, true]"),
     &kManyTerms},
};
const size_t kBackwardCount = std::size(kBackwardRows);

}  // namespace wick::compiler
