// Pooling windows and adaptive pooling.
#include <algorithm>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

Window window_of(const Node& node, size_t spatial) {
  Window w;
  w.kernel = repeat_to(node.ints("kernel_size"), spatial, "kernel_size");
  const Ints stride = node.is_none("stride") ? Ints{} : node.ints("stride");
  w.stride = stride.empty() ? w.kernel : repeat_to(stride, spatial, "stride");
  w.padding = repeat_to(node.ints("padding"), spatial, "padding");
  w.dilation = node.op->parsed->find("dilation") >= 0 ? repeat_to(node.ints("dilation"), spatial, "dilation")
                                                      : Ints(spatial, Sym(1));
  w.ceil_mode = node.boolean("ceil_mode");
  for (size_t i = 0; i < spatial; ++i) {
    if (!w.padding[i].is_const() || !w.kernel[i].is_const()) continue;
    if (w.padding[i].value() < 0 || w.padding[i].value() > w.kernel[i].value() / 2)
      reject("pooling: padding is more than half of the window");
  }
  return w;
}

// The number in the operator's name: avg_pool2d -> 2.
size_t spatial_of(const Node& node) {
  const std::string_view name = node.op->name();
  return static_cast<size_t>(name[name.find_first_of("123", name.find("pool"))] - '0');
}

Sizes pooled(const Value* x, size_t spatial, const Window& w) {
  if (x->rank() != spatial + 1 && x->rank() != spatial + 2)
    reject(fmt::format("pooling: rank {} is not supported", x->rank()));
  Sizes sizes = x->sizes();
  const size_t first = x->rank() - spatial;
  for (size_t i = 0; i < spatial; ++i) {
    sizes[first + i] =
        window_size(sizes[first + i], w.padding[i], w.kernel[i], w.stride[i], w.dilation[i], w.ceil_mode);
  }
  return sizes;
}

void infer_pool(Node& node) {
  const Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  const Sizes sizes = pooled(x, spatial, window_of(node, spatial));
  set_result(node, 0, x->dtype(), sizes);
  if (node.results().size() > 1) set_result(node, 1, DType::i64, sizes);
}

// Windows at random places: random_samples is [batch or 1, channels, spatial].
void infer_fractional_pool(Node& node) {
  const Value *x = node.tensor("self"), *samples = node.tensor("random_samples");
  const size_t spatial = spatial_of(node);
  require(x->rank() == spatial + 1 || x->rank() == spatial + 2, "fractional pooling: wrong rank");
  require(is_floating(x->dtype()), "fractional pooling takes floats");
  require(samples->dtype() == x->dtype(),
          "fractional pooling: the random samples have a different dtype than the input");
  require_rank(samples, 3, "fractional pooling: random samples");
  const size_t first = x->rank() - spatial;
  const Sym batch = first == 2 ? x->sizes()[0] : Sym(1), rows = samples->sizes()[0];
  require(!rows.is_const() || !batch.is_const() || rows.value() >= batch.value(),
          "fractional pooling: fewer rows of random samples than the batch has");
  require_equal(samples->sizes()[1], x->sizes()[first - 1], "fractional pooling: random samples");
  require_equal(samples->sizes()[2], static_cast<int64_t>(spatial), "fractional pooling: random samples");
  const Ints kernel = repeat_to(node.ints("kernel_size"), spatial, "kernel_size");
  const Ints output = repeat_to(node.ints("output_size"), spatial, "output_size");
  Sizes sizes = x->sizes();
  for (size_t i = 0; i < spatial; ++i) {
    require(!kernel[i].is_const() || (kernel[i].value() > 0 && kernel[i].value() < int64_t{1} << 31),
            "fractional pooling: a window has no elements, or too many");
    const Sym last = output[i] + kernel[i] - (spatial == 2 ? 1 : 0);  // eager wants one position more in 3-d
    if (last.is_const() && sizes[first + i].is_const())
      require(last.value() <= sizes[first + i].value(), "fractional pooling: the output is too large for the input");
    sizes[first + i] = output[i];
  }
  set_result(node, 0, x->dtype(), sizes);
  set_result(node, 1, DType::i64, sizes);
}

// Runs `pool` with a batch dimension and, for one spatial dimension, with a height of 1.
template <typename F>
Results as_batched(Builder& b, Value* x, size_t spatial, size_t wanted, F&& pool) {
  const bool unbatched = x->rank() == spatial + 1, flat = spatial < wanted;
  if (unbatched) x = b.unsqueeze(x, 0);
  if (flat) x = b.unsqueeze(x, 2);
  Results results = pool(x);
  for (Value*& value : results) {
    if (flat) value = b.squeeze(value, 2);
    if (unbatched) value = b.squeeze(value, 0);
  }
  return results;
}

Ints with_height(Ints list, const Sym& height) {
  list.insert(list.begin(), height);
  return list;
}

Results max_pool(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  Window w = window_of(node, spatial);
  if (spatial == 3)
    return b.call_multi("aten.max_pool3d_with_indices", {x, w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode});
  if (spatial == 2 && x->rank() == 4) {
    return b.call_multi("aten.max_pool2d_with_indices", {x, w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode});
  }
  if (spatial == 1) {
    w.kernel = with_height(w.kernel, 1);
    w.stride = with_height(w.stride, 1);
    w.padding = with_height(w.padding, 0);
    w.dilation = with_height(w.dilation, 1);
  }
  return as_batched(b, x, spatial, 2, [&](Value* batched) {
    return b.call_multi("aten.max_pool2d_with_indices",
                        {batched, w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode});
  });
}
Results decompose_max_pool(Builder& b, Node& node) { return {max_pool(b, node)[0]}; }
Results decompose_max_pool_indices(Builder& b, Node& node) {
  const Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  if (spatial == 3 || (spatial == 2 && x->rank() == 4 && !node.ints("stride").empty())) return {};
  return max_pool(b, node);
}

Results decompose_avg_pool1d(Builder& b, Node& node) {
  Window w = window_of(node, 1);
  const bool count_pad = node.boolean("count_include_pad");
  return as_batched(b, node.tensor("self"), 1, 2, [&](Value* x) -> Results {
    return {b.call("aten.avg_pool2d", {x, with_height(w.kernel, 1), with_height(w.stride, 1), with_height(w.padding, 0),
                                       w.ceil_mode, count_pad})};
  });
}
// The kernel takes batches and an explicit stride. An empty stride means the kernel size.
Results decompose_avg_pool(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  if (x->rank() == spatial + 2 && !node.ints("stride").empty()) return {};
  const Window w = window_of(node, spatial);
  const std::string name(node.op->name());
  return as_batched(b, x, spatial, spatial, [&](Value* batched) -> Results {
    return {b.call(name, {batched, w.kernel, w.stride, w.padding, w.ceil_mode, node.arg("count_include_pad"),
                          node.arg("divisor_override")})};
  });
}

// --- adaptive ---

Ints adaptive_target(const Node& node, size_t spatial) {
  Ints target = repeat_to(node.ints("output_size"), spatial, "output_size");
  const Sizes& sizes = node.tensor("self")->sizes();
  for (size_t i = 0; i < spatial; ++i) {
    if (target[i].is(-1)) target[i] = sizes[sizes.size() - spatial + i];
    if (target[i].is_const() && target[i].value() < 0) reject("adaptive pooling: the output size is negative");
  }
  return target;
}

void infer_adaptive(Node& node) {
  const Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  if (x->rank() != spatial + 1 && x->rank() != spatial + 2)
    reject(fmt::format("adaptive pooling: rank {} is not supported", x->rank()));
  const Ints target = adaptive_target(node, spatial);
  Sizes sizes = x->sizes();
  for (size_t i = 0; i < spatial; ++i) {
    Sym& size = sizes[x->rank() - spatial + i];
    require(!size.is(0), "adaptive pooling of an image without rows or columns");
    size = target[i];
  }
  set_result(node, 0, x->dtype(), sizes);
  if (node.results().size() > 1) set_result(node, 1, DType::i64, sizes);
}

// The kernel size (also the stride) of windows that all have size in / out; empty if the sizes do not divide.
Ints even_windows(const Value* x, const Ints& target) {
  Ints kernel;
  const size_t first = x->rank() - target.size();
  for (size_t i = 0; i < target.size(); ++i) {
    const Sym& in = x->sizes()[first + i];
    if (target[i].is(1)) {
      kernel.push_back(in);
    } else if (in == target[i]) {
      kernel.push_back(1);
    } else if (in.is_const() && target[i].is_const() && target[i].value() > 0 && in.value() % target[i].value() == 0) {
      kernel.push_back(in.value() / target[i].value());
    } else {
      return {};
    }
  }
  return kernel;
}

bool all_ones(const Ints& list) {
  return std::all_of(list.begin(), list.end(), [](const Sym& s) { return s.is(1); });
}

// The mean of each window floor(i in / out) .. ceil((i + 1) in / out) along one dimension.
Value* adaptive_mean_along(Compose& c, Value* x, int64_t dim, int64_t out) {
  const Sym in = x->sizes()[static_cast<size_t>(dim)];
  require(out > 0 && out <= 4096, "adaptive pooling to this size is not supported");
  Values parts;
  for (int64_t i = 0; i < out; ++i) {
    const Sym start = floor_div(in * Sym(i), Sym(out)), end = ceil_div(in * Sym(i + 1), Sym(out));
    parts.push_back(c.mean(c.b.slice(x, dim, start, end), {dim}, true));
  }
  return c.cat(std::move(parts), dim);
}

// The same for dynamic sizes, by the kernel for planes. Volumes are averaged over height and width first, then over
// depth.
Value* adaptive_mean_by_areas(Compose& c, Value* x, const Ints& target) {
  Builder& b = c.b;
  auto pool = [&](Value* planes, const Sym& rows, const Sym& columns) {
    return b.call("aten._adaptive_avg_pool2d", {planes, Ints{rows, columns}});
  };
  const size_t spatial = target.size();
  if (spatial == 1) return b.squeeze(pool(b.unsqueeze(x, 2), 1, target[0]), 2);
  const Sizes& in = x->sizes();
  Value* planes = b.reshape(x, {in[0], in[1] * in[2], in[3], in[4]});
  planes = pool(planes, target[1], target[2]);
  planes = b.reshape(planes, {in[0], in[1], in[2], target[1] * target[2]});
  return b.reshape(pool(planes, target[0], target[1] * target[2]), {in[0], in[1], target[0], target[1], target[2]});
}

Results decompose_adaptive_avg(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  const Ints target = adaptive_target(node, spatial);
  if (node.result()->sizes() == x->sizes()) return {x};
  std::vector<int64_t> dims;
  for (size_t i = x->rank() - spatial; i < x->rank(); ++i) dims.push_back(static_cast<int64_t>(i));
  if (all_ones(target)) return {c.mean(x, dims, true)};
  const Ints kernel = even_windows(x, target);
  if (!kernel.empty() && spatial == 3) {
    return {c.call("aten.avg_pool3d", {x, kernel, kernel, Ints(3, Sym(0)), false, true, None{}})};
  }
  if (!kernel.empty()) {
    return as_batched(b, x, spatial, 2, [&](Value* batched) -> Results {
      const Ints full = spatial == 1 ? with_height(kernel, 1) : kernel;
      return {b.call("aten.avg_pool2d", {batched, full, full})};
    });
  }
  if (spatial == 2) {
    if (node.is("aten._adaptive_avg_pool2d.default") && x->rank() == 4) return {};
    return as_batched(b, x, 2, 2, [&](Value* batched) -> Results {
      return {b.call("aten._adaptive_avg_pool2d", {batched, target})};
    });
  }
  const bool fixed = std::all_of(target.begin(), target.end(), [](const Sym& s) { return s.is_const(); });
  if (!fixed || !is_static(x->sizes())) {
    const bool unbatched = x->rank() == spatial + 1;
    Value* out = in_float(b, unbatched ? b.unsqueeze(x, 0) : x,
                          [&](Value* wide) { return adaptive_mean_by_areas(c, wide, target); });
    return {unbatched ? b.squeeze(out, 0) : out};
  }
  return {in_float(b, x, [&](Value* wide) {
    for (size_t i = 0; i < spatial; ++i) wide = adaptive_mean_along(c, wide, dims[i], target[i].value());
    return wide;
  })};
}

// Windows of one size become max_pool; others have kernels of our own.
Results decompose_adaptive_max(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const size_t spatial = spatial_of(node);
  const Ints kernel = even_windows(x, adaptive_target(node, spatial));
  if (kernel.empty() && spatial == 1) {
    return as_batched(b, x, 1, 2, [&](Value* batched) -> Results {
      return b.call_multi("aten.adaptive_max_pool2d", {batched, with_height(adaptive_target(node, 1), 1)});
    });
  }
  const Ints target = adaptive_target(node, spatial);
  if (spatial != 3 && all_ones(target) && !is_static(x->sizes())) {  // the maximum of each plane
    Compose c(b);
    const auto rank = static_cast<int64_t>(x->rank()), first = rank - static_cast<int64_t>(spatial);
    Value* planes = spatial == 1 ? x : c.flatten(x, first, rank - 1);
    Results out = b.call_multi("aten.max.dim", {planes, first, true});
    for (Value*& value : out) value = b.reshape(value, node.result()->sizes());
    return out;
  }
  if (kernel.empty() || spatial == 3) return {};
  return as_batched(b, x, spatial, 2, [&](Value* batched) -> Results {
    const Ints full = spatial == 1 ? with_height(kernel, 1) : kernel;
    return b.call_multi("aten.max_pool2d_with_indices", {batched, full, full});
  });
}

// --- unpooling ---

void infer_unpool(Node& node) {
  const Value* x = node.tensor("self");
  const size_t spatial = node.is("aten.max_unpool2d.default") ? 2 : 3;
  if (x->rank() != spatial + 1 && x->rank() != spatial + 2) reject("max_unpool: the rank is not supported");
  const Ints target = repeat_to(node.ints("output_size"), spatial, "output_size");
  Sizes sizes = x->sizes();
  for (size_t i = 0; i < spatial; ++i) sizes[x->rank() - spatial + i] = target[i];
  set_result(node, x->dtype(), std::move(sizes));
}
// Writes the values to their flat positions in planes of zeros.
Results decompose_unpool(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *indices = node.tensor("indices");
  const size_t spatial = node.is("aten.max_unpool2d.default") ? 2 : 3;
  const size_t lead = x->rank() - spatial;
  const Sizes& out = node.result()->sizes();
  Sizes planes(x->sizes().begin(), x->sizes().begin() + static_cast<int64_t>(lead)), from = planes, to = planes;
  from.push_back(numel(Sizes(x->sizes().begin() + static_cast<int64_t>(lead), x->sizes().end())));
  to.push_back(numel(Sizes(out.begin() + static_cast<int64_t>(lead), out.end())));
  Value* zeros = b.full(to, x->dtype() == DType::f32 ? Arg(0.0) : Arg(0), x->dtype());
  Value* flat =
      b.call("aten.scatter.src", {zeros, static_cast<int64_t>(lead), b.reshape(indices, from), b.reshape(x, from)});
  return {b.reshape(flat, out)};
}

}  // namespace

const OpDef kPoolingRows[] = {
    {"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], "
     "bool ceil_mode=False) -> Tensor",
     infer_pool, decompose_max_pool, nullptr, kPure, Cases("f32[2, 4, 10], [3], [2]", "f32[1, 2, 7], [3], [2], [1]")},
    {"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool "
     "ceil_mode=False) -> Tensor",
     infer_pool, decompose_max_pool, nullptr, kSelectsElements,
     Cases("f32[1, 4, 6, 8], [2, 2]", "f32[1, 4, 6, 8], [3, 3], [2, 2], [1, 1], [1, 1], true",
           "f32[1, 2, 2, 2]{special}, [2, 2]")},
    {"aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool "
     "ceil_mode=False) -> Tensor",
     infer_pool, decompose_max_pool, nullptr, kPure,
     Cases("f32[1, 2, 4, 4, 6], [2, 2, 2]", "f32[1, 2, 4, 5, 5], [2, 3, 3], [2, 2, 2], [0, 1, 1]")},
    {"aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] "
     "dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
     infer_pool, decompose_max_pool_indices, nullptr, kPure, Cases("f32[2, 4, 10], [2]")},
    {"aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
     "dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     infer_pool, decompose_max_pool_indices, "aten::max_pool2d_with_indices.out",
     kPassesNan | kSelectsElements | ranges::operands | Growth::keeps,
     Cases("f32[1, 4, 6, 8], [2, 2]", "f32[1, 2, 6, 7]{distinct}, [3, 2], [], [0, 0], [1, 1], true",
           "f32[1, 2, 6, 7]{distinct}, [3, 2], [], [0, 0], [1, 1], false")},
    {"aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
     "dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     infer_pool, nullptr, "aten::max_pool3d_with_indices.out", kNoStock | kPassesNan | ranges::operands,
     Cases("f32[1, 2, 4, 4, 6], [2, 2, 2]")},
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, "
     "bool count_include_pad=True) -> Tensor",
     infer_pool, decompose_avg_pool1d, nullptr, kPure,
     Cases("f32[2, 4, 10], [3], [2], [1]", "f32[1, 2, 7], [3], [2], [1], false, false",
           "f32[2, 4, 10]{range=0.001..8.8}, [3]")},
    {"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True, int? divisor_override=None) -> Tensor",
     infer_pool, decompose_avg_pool, "aten::avg_pool2d.out", kPassesBoth | ranges::pool | Growth::total,
     Cases("f32[1, 4, 6, 8], [2, 2]", "f32[2, 2, 6, 7], [3, 2], [], [0, 0], true, true",
           "f32[1, 1, 5, 5], [2, 2], [2, 2], [0, 0], false, true, 3", "f32[1, 2, 5, 6], [3], [1], [1]",
           "i64[2, 3, 5, 6], [3, 2], [2], [1, 0], true, false",
           "i64[1, 2, 4, 4]{special}, [2, 2], [1, 1], [0, 0], false, true, -2")},
    {"aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True, int? divisor_override=None) -> Tensor",
     infer_pool, decompose_avg_pool, "aten::avg_pool3d.out", kNoStock | kPassesBoth | ranges::pool | Growth::total,
     Cases("f32[1, 2, 4, 4, 6], [2, 2, 2]", "f32[1, 2, 4, 5, 5], [2, 3, 3], [2, 2, 2], [0, 1, 1], false, false",
           "f32[1, 1, 6, 6, 8]{range=0..8.9}, [3, 1, 1], [1, 1, 1]",
           "i64[1, 2, 4, 5, 5], [2, 3, 3], [2, 2, 2], [0, 1, 1], true, true",
           "i64[2, 3, 4, 4], [2], [1], [1], false, false, 3")},
    {"aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", infer_adaptive, decompose_adaptive_avg,
     nullptr, kPure, Cases("f32[1, 2, 7], [3]")},
    {"aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", infer_adaptive, decompose_adaptive_avg,
     nullptr, kPassesBoth | ranges::mean, Cases("f32[1, 4, 6, 8], [3, 4]")},
    {"aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", infer_adaptive, decompose_adaptive_avg,
     nullptr, kPure, Cases("f32[1, 2, 4, 4, 6], [2, 2, 2]")},
    {"aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", infer_adaptive, decompose_adaptive_avg,
     "aten::_adaptive_avg_pool2d.out", kPassesBoth | ranges::mean | Growth::total, Cases("f32[1, 2, 6, 7], [1, 1]")},
    {"aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", infer_adaptive, decompose_adaptive_avg,
     "aten::_adaptive_avg_pool3d.out", kNoStock, Cases("f32[1, 2, 4, 5, 6], [2, 2, 4]")},
    {"aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> "
     "(Tensor, Tensor)",
     infer_fractional_pool, nullptr, "aten::fractional_max_pool2d.output", kNoStock,
     Cases("f32[2, 3, 8, 9], [2, 3], [3, 4], f32[2, 3, 2]{range=0..1}",
           "f64[3, 7, 6], [2, 2], [1, 5], f64[1, 3, 2]{range=0..1}",
           "f16[1, 2, 40, 37], [2, 3], [9, 7], f16[1, 2, 2]{=0.3335, 0.9, 0.0501, 0.777}",
           "f32[1, 1, 6, 6]{special}, [3, 3], [4, 4], f32[1, 1, 2]{=0, 0.99}",
           "! f32[1, 1, 6, 6], [3, 3], [5, 5], f32[1, 1, 2]", "! f32[1, 1, 6, 6], [3, 3], [2, 2], f64[1, 1, 2]")},
    {"aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> "
     "(Tensor, Tensor)",
     infer_fractional_pool, nullptr, "aten::fractional_max_pool3d.output", kNoStock,
     Cases("f32[2, 2, 5, 8, 9], [2, 3, 2], [3, 4, 5], f32[2, 2, 3]{range=0..1}",
           "f64[2, 4, 7, 6], [2, 2, 2], [2, 3, 4], f64[1, 2, 3]{range=0..1}",
           "f32[2, 1, 8, 8, 8], [1, 1, 1], [4, 5, 4], f32[3, 1, 3]{=-0.7, 4.96, 1.2, 1000.3}",
           "! f64[2, 4, 7, 6], [2, 2, 2], [2, 3, 5], f64[1, 2, 3]",
           "! f32[2, 1, 6, 6, 6], [1, 1, 1], [2, 2, 2], f32[1, 1, 3]")},
    {"aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", infer_adaptive,
     decompose_adaptive_max, nullptr, kPure, Cases("f32[2, 4, 10], [4]")},
    {"aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", infer_adaptive,
     decompose_adaptive_max, "aten::adaptive_max_pool2d.out", kNoStock, Cases("f32[1, 4, 6, 8], [3, 3]")},
    {"aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", infer_adaptive,
     decompose_adaptive_max, "aten::adaptive_max_pool3d.out", kNoStock, Cases("f32[1, 2, 4, 4, 6], [2, 2, 3]")},
    {"aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", infer_unpool, decompose_unpool,
     "aten::max_unpool2d.out", kNoStock, Cases("f32[1, 4, 3, 4], i64[1, 4, 3, 4]{index<48}, [6, 8]")},
    {"aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
     infer_unpool, decompose_unpool, nullptr, kPure,
     Cases("f32[1, 2, 2, 2, 3]{range=0.6..3}, i64[1, 2, 2, 2, 3]{index<90}, [4, 4, 6], [2, 2, 2], [0, 0, 0]")},
};
const size_t kPoolingCount = std::size(kPoolingRows);

}  // namespace wick::compiler
