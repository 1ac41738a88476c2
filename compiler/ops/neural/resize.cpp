// Resizing of images and volumes, sampling on a grid, and sliding windows as columns.
#include <algorithm>
#include <cmath>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

size_t spatial_rank(const Node& node) {
  const std::string_view name = node.op->name();
  return static_cast<size_t>(name[name.find_first_of("123")] - '0');
}

int64_t scaled_size(int64_t in, double scale) {
  return static_cast<int64_t>(std::floor(static_cast<double>(in) * scale));
}

// Images of dynamic size are assumed to be no larger: up to here a fraction is compared with what doubles give.
constexpr int64_t kMaxScaled = 1 << 16;

// floor(in * scale), rounded as in doubles. For a dynamic size, the scale must be a fraction that gives the same sizes.
Sym scaled_size(const Sym& in, double scale) {
  require(scale > 0 && scale < 1e9, "upsample: a scale is out of range");
  if (in.is_const()) return Sym(scaled_size(in.value(), scale));
  const int64_t limit = std::min(SymScope::range(in).max, kMaxScaled);
  for (int64_t divisor = 1; divisor <= 1024; ++divisor) {
    const auto factor = static_cast<int64_t>(std::round(scale * static_cast<double>(divisor)));
    if (factor <= 0 || static_cast<double>(factor) / static_cast<double>(divisor) != scale) continue;
    for (int64_t size = 1; size <= limit; ++size)
      require(size * factor / divisor == scaled_size(size, scale), "upsample of a dynamic size by this scale");
    return floor_div(in * Sym(factor), divisor);
  }
  reject("upsample of a dynamic size needs a scale that is a fraction of small numbers");
}

Reals scale_list(const Node& node) {
  const Arg& arg = node.arg("scale_factors");
  if (arg.is<Reals>()) return arg.as<Reals>();
  Reals out;
  if (arg.is<Ints>()) {
    for (const Sym& s : arg.as<Ints>()) out.push_back(s.is_const() ? static_cast<double>(s.value()) : 0);
    return out;
  }
  reject("upsample: scale_factors is not a list of numbers");
}

Ints resized_extents(const Node& node, size_t spatial) {
  const Value* x = node.tensor(node.op->parsed->args[0].name);
  require_rank(x, spatial + 2, "upsample: the input");
  if (!node.is_none("output_size")) {
    const Ints size = repeat_to(node.ints("output_size"), spatial, "output_size");
    for (const Sym& s : size) {
      if (s.is_const() && s.value() <= 0) reject("upsample: an output size is not positive");
    }
    return size;
  }
  require(has_argument(node, "scale_factors") && !node.is_none("scale_factors"),
          "upsample needs a size or scale factors");
  const Reals scales = scale_list(node);
  require(scales.size() == spatial, "upsample: scale_factors has a different length");
  Ints out;
  for (size_t i = 0; i < spatial; ++i) out.push_back(scaled_size(x->sizes()[i + 2], scales[i]));
  return out;
}

void infer_upsample(Node& node) {
  const Value* x = node.tensor(node.op->parsed->args[0].name);
  const size_t spatial = spatial_rank(node);
  const Ints target = resized_extents(node, spatial);
  Sizes sizes(x->sizes().begin(), x->sizes().begin() + 2);
  sizes.insert(sizes.end(), target.begin(), target.end());
  set_result(node, x->dtype(), std::move(sizes));
}

// Becomes the overload with explicit sizes, which has a kernel of our own.
Results decompose_vec(Builder& b, Node& node) {
  const size_t spatial = spatial_rank(node);
  std::string name(node.op->name());
  name = name.substr(0, name.rfind('.')) + ".default";
  Args args{node.arg("input"), resized_extents(node, spatial)};
  if (has_argument(node, "align_corners")) args.push_back(node.arg("align_corners"));
  for (size_t i = 0; i < spatial; ++i) {
    const bool by_size = !node.is_none("output_size");
    args.push_back(by_size ? Arg(None{}) : Arg(scale_list(node)[i]));
  }
  return {b.call(name, std::move(args))};
}

// Converts the explicit sizes and scales to arguments of the .vec overload; false if no .vec call means the same.
bool vec_arguments(const Node& node, size_t spatial, Arg* size, Arg* scales) {
  static const char* const kNames[3][3] = {{"scales"}, {"scales_h", "scales_w"}, {"scales_d", "scales_h", "scales_w"}};
  const Value* x = node.tensor("self");
  const Ints target = resized_extents(node, spatial);
  Reals given;
  for (size_t i = 0; i < spatial; ++i) {
    const char* name = kNames[spatial - 1][i];
    if (node.is_none(name)) continue;
    given.push_back(node.real(name));
    if (!(scaled_size(x->sizes()[i + 2], given.back()) == target[i])) return false;
  }
  if (!given.empty() && given.size() != spatial) return false;
  *size = given.empty() ? Arg(target) : Arg(None{});
  *scales = given.empty() ? Arg(None{}) : Arg(given);
  return true;
}

Results decompose_to_vec(Builder& b, Node& node) {
  Arg size, scales;
  if (!vec_arguments(node, 2, &size, &scales)) return {};
  if (node.is("aten.upsample_nearest2d.default"))
    return {b.call("aten.upsample_nearest2d.vec", {node.arg("self"), size, scales})};
  return {b.call("aten.upsample_bilinear2d.vec", {node.arg("self"), size, node.arg("align_corners"), scales})};
}

// Computes one dimension as an image of height 1.
Results decompose_1d(Builder& b, Node& node) {
  Value* x = node.tensor(node.op->parsed->args[0].name);
  Arg size, scales;
  if (has_argument(node, "scale_factors")) {
    if (node.is_none("output_size"))
      scales = scale_list(node);
    else
      size = resized_extents(node, 1);
  } else if (!vec_arguments(node, 1, &size, &scales)) {
    return {};
  }
  if (size.is<Ints>()) size = Ints{1, size.as<Ints>()[0]};
  if (scales.is<Reals>()) scales = Reals{1.0, scales.as<Reals>()[0]};
  Value* image = b.unsqueeze(x, 2);
  const bool linear = has_argument(node, "align_corners");
  Value* out = linear ? b.call("aten.upsample_bilinear2d.vec", {image, size, node.arg("align_corners"), scales})
                      : b.call("aten.upsample_nearest2d.vec", {image, size, scales});
  return {b.squeeze(out, 2)};
}

// --- sampling ---

void infer_grid_sampler(Node& node) {
  const Value *x = node.tensor("input"), *grid = node.tensor("grid");
  require((x->rank() == 4 || x->rank() == 5) && grid->rank() == x->rank(), "grid_sampler needs rank 4 or 5");
  require_equal(grid->sizes().back(), Sym(static_cast<int64_t>(x->rank()) - 2), "grid_sampler: coordinates");
  require_equal(x->sizes()[0], grid->sizes()[0], "grid_sampler: batch");
  if (x->dtype() != grid->dtype()) reject("grid_sampler: input and grid differ in dtype");
  for (const char* name : {"interpolation_mode", "padding_mode"}) {
    const int64_t mode = node.static_integer(name);
    require(mode >= 0 && mode <= 2, "grid_sampler: unknown interpolation or padding mode");
  }
  Sizes sizes{x->sizes()[0], x->sizes()[1]};
  sizes.insert(sizes.end(), grid->sizes().begin() + 1, grid->sizes().end() - 1);
  set_result(node, x->dtype(), std::move(sizes));
}
Results decompose_grid_sampler(Builder& b, Node& node) {
  return {b.call(node.tensor("input")->rank() == 4 ? "aten.grid_sampler_2d" : "aten.grid_sampler_3d", node.args())};
}

// The coordinates of `count` pixels, from -1 to 1.
template <typename T>
std::vector<T> axis_coordinates(int64_t count, bool align_corners) {
  std::vector<T> out(static_cast<size_t>(count));
  const T step = count > 1 ? T{2} / static_cast<T>(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool first = i < count / 2 || count == 1;
    T v = first ? -1 + step * static_cast<T>(i) : 1 - step * static_cast<T>(count - 1 - i);
    if (count <= 1) v = 0;
    if (!align_corners) v = v * static_cast<T>(count - 1) / static_cast<T>(count);
    out[static_cast<size_t>(i)] = v;
  }
  return out;
}

// Rows (x, y, [z], 1) of all pixels, the last dimension of the image innermost.
template <typename T>
std::vector<T> base_grid(const std::vector<int64_t>& spatial, bool align_corners) {
  std::vector<std::vector<T>> axes;
  int64_t points = 1;
  for (const int64_t size : spatial) {
    axes.push_back(axis_coordinates<T>(size, align_corners));
    points *= size;
  }
  std::vector<T> base;
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    for (size_t i = spatial.size(); i-- > 0;) {
      base.push_back(axes[i][static_cast<size_t>(rest % spatial[i])]);
      rest /= spatial[i];
    }
    base.push_back(1);
  }
  return base;
}

// The base grid times theta transposed. Only the batch may be symbolic: PyTorch fixes the rest.
Results decompose_affine_grid(Builder& b, Node& node) {
  Compose c(b);
  Value* theta = node.tensor("theta");
  const Ints sizes = node.ints("size");
  const Sym batch = sizes.empty() ? Sym(0) : sizes[0];
  std::vector<int64_t> size;
  for (const Sym& one : sizes) {
    if (!size.empty()) require(one.is_const(), "affine_grid_generator: the size of an image is not known");
    size.push_back(one.is_const() ? one.value() : 0);
  }
  require(size.size() == 4 || size.size() == 5, "affine_grid_generator needs four or five sizes");
  require_rank(theta, 3, "affine_grid_generator: theta");
  const std::vector<int64_t> image(size.begin() + 2, size.end());
  int64_t points = 1;
  for (const int64_t one : image) {
    require(one > 0 && one < 65536, "affine_grid_generator: a size is out of range");
    points *= one;
    require(points < (int64_t{1} << 24), "affine_grid_generator: the grid is too large");
  }
  const size_t spatial = image.size();
  const auto width = static_cast<int64_t>(spatial) + 1;
  const bool aligned = node.boolean("align_corners");
  Value* table = theta->dtype() == DType::f64
                     ? c.constant_f64(base_grid<double>(image, aligned), {1, points, width})
                     : b.cast(c.constant_f32(base_grid<float>(image, aligned), {1, points, width}), theta->dtype());
  Value* grid = b.call("aten.bmm", {b.expand(table, {batch, points, width}), b.transpose(theta, 1, 2)});
  Sizes out{batch};
  for (size_t i = 0; i < spatial; ++i) out.push_back(size[i + 2]);
  out.push_back(static_cast<int64_t>(spatial));
  return {b.reshape(grid, std::move(out))};
}

// --- columns ---

struct Columns {
  int64_t kernel[2], dilation[2], padding[2], stride[2];
  Sym image[2], blocks[2];
};
Columns columns_of(const Node& node, const Sym& height, const Sym& width) {
  Columns w;
  for (size_t i = 0; i < 2; ++i) {
    auto at = [&](const char* name) {
      const std::vector<int64_t> list = node.static_ints(name);
      require(list.size() == 1 || list.size() == 2, "sliding windows need two entries");
      require(list[i % list.size()] >= 0 && list[i % list.size()] < (1 << 20), "a window argument is out of range");
      return list[i % list.size()];
    };
    w.kernel[i] = at("kernel_size");
    w.dilation[i] = at("dilation");
    w.padding[i] = at("padding");
    w.stride[i] = at("stride");
    w.image[i] = i == 0 ? height : width;
    require(w.kernel[i] > 0 && w.dilation[i] > 0 && w.stride[i] > 0, "a window argument is not positive");
    constexpr int64_t kMost = int64_t{1} << 31;
    require(w.kernel[i] < 1 << 24 && w.dilation[i] < kMost && w.padding[i] < kMost && w.padding[i] > -kMost,
            "a window argument is too large");
    const Sym free = w.image[i] + 2 * w.padding[i] - (w.dilation[i] * (w.kernel[i] - 1) + 1);
    require(!free.is_const() || free.value() >= 0, "the window is larger than the image");
    w.blocks[i] = floor_div(free, w.stride[i]) + 1;
    require(!w.blocks[i].is_const() || w.blocks[i].value() < (1 << 24) / w.kernel[i], "the windows are too many");
  }
  return w;
}

// Positions [kernel, blocks] along one axis of the padded image.
Value* positions(Compose& c, const Columns& w, size_t axis, Sizes sizes) {
  if (!w.blocks[axis].is_const()) {
    Value* taps = c.mul(c.arange(w.kernel[axis], DType::i64), w.dilation[axis]);
    Value* starts = c.mul(c.arange(w.blocks[axis], DType::i64), w.stride[axis]);
    return c.b.reshape(c.add(c.b.unsqueeze(taps, 1), starts), std::move(sizes));
  }
  std::vector<int64_t> out;
  for (int64_t k = 0; k < w.kernel[axis]; ++k) {
    for (int64_t i = 0; i < w.blocks[axis].value(); ++i) out.push_back(k * w.dilation[axis] + i * w.stride[axis]);
  }
  return c.constant_i64(out, std::move(sizes));
}

Results decompose_im2col(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const bool unbatched = x->rank() == 3;
  if (unbatched) x = b.unsqueeze(x, 0);
  require_rank(x, 4, "im2col: the input");
  const Columns w = columns_of(node, x->sizes()[2], x->sizes()[3]);
  if (w.padding[0] || w.padding[1]) x = c.pad(x, {w.padding[1], w.padding[1], w.padding[0], w.padding[0]});
  Value* rows = positions(c, w, 0, {w.kernel[0], w.blocks[0], 1, 1});
  Value* columns = positions(c, w, 1, {w.kernel[1], w.blocks[1]});
  Value* windows = b.call("aten.index.Tensor", {x, Values{nullptr, nullptr, rows, columns}});  // [n, c, kh, oh, kw, ow]
  Value* ordered = b.permute(windows, {0, 1, 2, 4, 3, 5});
  Sizes out{x->sizes()[0], x->sizes()[1] * Sym(w.kernel[0] * w.kernel[1]), w.blocks[0] * w.blocks[1]};
  if (unbatched) out.erase(out.begin());
  return {b.reshape(ordered, std::move(out))};
}

Results decompose_col2im(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const bool unbatched = x->rank() == 2;
  if (unbatched) x = b.unsqueeze(x, 0);
  require_rank(x, 3, "col2im: the input");
  const Ints image = node.ints("output_size");
  require(image.size() == 2, "col2im: output_size needs two entries");
  const Columns w = columns_of(node, image[0], image[1]);
  const Sym channels = floor_div(x->sizes()[1], w.kernel[0] * w.kernel[1]);
  require_equal(x->sizes()[2], w.blocks[0] * w.blocks[1], "col2im: number of blocks");
  Value* windows = b.reshape(x, {x->sizes()[0], channels, w.kernel[0], w.kernel[1], w.blocks[0], w.blocks[1]});
  windows = b.permute(windows, {0, 1, 2, 4, 3, 5});
  const Sym height = image[0] + 2 * w.padding[0], width = image[1] + 2 * w.padding[1];
  Value* zeros = b.full({x->sizes()[0], channels, height, width}, 0.0, x->dtype());
  Value* rows = positions(c, w, 0, {w.kernel[0], w.blocks[0], 1, 1});
  Value* columns = positions(c, w, 1, {w.kernel[1], w.blocks[1]});
  Value* out = b.call("aten.index_put", {zeros, Values{nullptr, nullptr, rows, columns}, windows, true});
  out = b.slice(b.slice(out, 2, w.padding[0], w.padding[0] + image[0]), 3, w.padding[1], w.padding[1] + image[1]);
  return {unbatched ? b.squeeze(out, 0) : out};
}

}  // namespace

#define OWN(schema, kernel, ...) \
  {schema, infer_upsample, nullptr, kernel, kNoStock | kKeepsZero, {__VA_ARGS__}, &kManyTerms}
#define VEC(schema, ...) {schema, infer_upsample, decompose_vec, nullptr, kPure, {__VA_ARGS__}, &kManyTerms}
const OpDef kResizeRows[] = {
    {"aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
     infer_upsample, nullptr, "aten::upsample_nearest2d.vec_out", kPassesBoth | kKeepsZero | ranges::operands,
     Cases("f32[1, 2, 4, 5], [3, 2], None", "u8[1, 2, 4, 5]{index<10}, None, [2.0, 2.0]")},
    {"aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
     "-> Tensor",
     infer_upsample, nullptr, "aten::upsample_bilinear2d.vec_out", kPassesBoth | kKeepsZero | ranges::mean,
     Cases("f32[1, 2, 4, 5], [3, 2], true, None", "f32[1, 2, 4, 5], [3, 2], false, None",
           "f32[1, 2, 4, 5], None, true, [2.0, 2.0]", "f32[1, 1, 3, 4], None, false, [1.25, 2.0]",
           "u8[1, 3, 5, 7]{range=0..255}, [8, 3], false, None", "u8[1, 5, 4, 6]{range=0..255}, [9, 6], true, None")},
    {"aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> "
     "Tensor",
     infer_upsample, decompose_to_vec, "aten::upsample_nearest2d.out", kNoStock | kKeepsZero,
     Cases("f32[1, 2, 3, 4], [5, 6]", "f16[1, 2, 3, 4], [2, 9]")},
    {"aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     infer_upsample, decompose_to_vec, "aten::upsample_bilinear2d.out", kNoStock | kKeepsZero,
     Cases("f32[1, 2, 3, 4], [5, 6], false", "f32[1, 2, 3, 4], [2, 9], true")},
    {"aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", infer_upsample,
     decompose_1d, "aten::upsample_nearest1d.out", kNoStock | kKeepsZero,
     Cases("f32[1, 2, 5], [8]", "f32[1, 2, 5], [3], 0.6")},
    {"aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor",
     infer_upsample, decompose_1d, "aten::upsample_linear1d.out", kNoStock | kKeepsZero,
     Cases("f32[1, 2, 5], [8], false", "f32[1, 2, 5], [3], true")},
    {"aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
     infer_upsample, decompose_1d, nullptr, kPure, Cases("f32[1, 2, 4], None, [2.0]")},
    {"aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> "
     "Tensor",
     infer_upsample, decompose_1d, nullptr, kPure,
     Cases("f32[1, 2, 5], [9], true, None", "f32[1, 2, 5], [9], false, None", "f32[1, 2, 5], None, true, [2.0]")},
    {"aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None) -> Tensor",
     infer_upsample, nullptr, "aten::_upsample_bilinear2d_aa.out", kPure,
     Cases("f32[1, 2, 6, 6], [4, 9], false", "u8[1, 3, 9, 11]{range=0..255}, [4, 5], false",
           "u8[2, 1, 5, 4]{range=0..255}, [7, 9], true")},
    OWN("aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, "
        "float? scales_w=None) -> Tensor",
        "aten::upsample_nearest3d.out", "f32[1, 1, 2, 3, 4], [3, 5, 6]"),
    OWN("aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
        "aten::_upsample_nearest_exact1d.out", "f32[1, 2, 5], [8]", "f32[1, 2, 5], [3], 0.6"),
    OWN("aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
        "scales_w=None) -> Tensor",
        "aten::_upsample_nearest_exact2d.out", "f32[1, 2, 3, 4], [5, 6]"),
    OWN("aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
        "scales_h=None, float? scales_w=None) -> Tensor",
        "aten::_upsample_nearest_exact3d.out", "f32[1, 1, 2, 3, 4], [3, 5, 6]"),
    OWN("aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, "
        "float? scales_h=None, float? scales_w=None) -> Tensor",
        "aten::upsample_trilinear3d.out", "f32[1, 1, 2, 3, 4], [3, 5, 6], false",
        "f32[1, 1, 2, 3, 4], [3, 5, 6], true"),
    OWN("aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? "
        "scales_w=None) -> Tensor",
        "aten::upsample_bicubic2d.out", "f32[1, 2, 3, 4], [5, 6], false", "f32[1, 2, 3, 4], [2, 9], true",
        "u8[1, 3, 5, 7]{=0, 255, 255, 0, 7}, [8, 3], false", "u8[1, 2, 4, 6]{range=0..255}, [9, 5], true"),
    OWN("aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
        "float? scales_w=None) -> Tensor",
        "aten::_upsample_bicubic2d_aa.out", "f32[1, 2, 6, 8], [3, 4], false", "f32[1, 2, 3, 4], [6, 6], true",
        "u8[1, 3, 11, 9]{=0, 255, 255, 0, 7}, [4, 5], false", "u8[1, 4, 5, 4]{range=0..255}, [7, 4], true"),
    VEC("aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        "f32[1, 2, 2, 2, 3], None, [2.0, 2.0, 2.0]"),
    VEC("aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        "f32[1, 2, 5], [8], None", "f32[1, 2, 5], None, [1.7]"),
    VEC("aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        "f32[1, 4, 6, 8], [5, 5], None"),
    VEC("aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        "f32[1, 1, 2, 3, 4], [3, 5, 6], None", "f32[1, 1, 2, 3, 4], None, [2.0, 1.5, 0.5]"),
    {"aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
     "scale_factors) -> Tensor",
     infer_upsample, decompose_vec, nullptr, kPassesBoth | kKeepsZero | ranges::mean,
     Cases("f32[1, 1, 2, 3, 3], [4, 5, 6], true, None", "f32[1, 2, 4, 4, 6], [5, 5, 5], false, None"), &kManyTerms},
    VEC("aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
        "-> Tensor",
        "f32[1, 2, 4, 5], [3, 2], true, None", "f32[1, 2, 4, 5], [3, 2], false, None",
        "f32[1, 2, 4, 5], None, true, [2.0, 1.5]"),
    VEC("aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
        "scale_factors) -> Tensor",
        "f32[1, 2, 6, 6], [3, 4], true, None", "f32[1, 4, 6, 8], [3, 4], false, None"),
    VEC("aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
        "scale_factors) -> Tensor",
        "f32[1, 2, 6, 6], [3, 4], true, None", "f32[1, 4, 6, 8], [3, 4], false, None"),
    {"aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
     "Tensor",
     infer_grid_sampler, decompose_grid_sampler, nullptr, kPure,
     Cases("f32[1, 2, 5, 4], f32[1, 3, 4, 2], 0, 0, false", "f32[1, 2, 3, 4, 4], f32[1, 2, 2, 2, 3], 0, 0, true")},
    {"aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
     "-> Tensor",
     infer_grid_sampler, nullptr, "aten::grid_sampler_2d.out", kPassesBoth | kKeepsZero,
     Cases("f32[1, 2, 5, 4], f32[1, 3, 4, 2], 0, 0, true", "f32[1, 2, 5, 4], f32[1, 3, 4, 2], 0, 0, false")},
    {"aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
     "-> Tensor",
     infer_grid_sampler, nullptr, "aten::grid_sampler_3d.out", kNoStock | kKeepsZero,
     Cases("f32[1, 2, 3, 4, 5], f32[1, 2, 2, 2, 3]{range=-1.1..1.1}, 0, 0, false",
           "f32[1, 2, 3, 4, 5], f32[1, 2, 2, 2, 3]{range=-1.1..1.1}, 1, 1, true",
           "f32[1, 2, 3, 4, 5], f32[1, 2, 2, 2, 3]{range=-1.1..1.1}, 2, 0, false",
           "f32[1, 2, 3, 4, 5], f32[1, 2, 2, 2, 3]{range=-1.1..1.1}, 2, 1, true",
           "f64[2, 1, 3, 4, 5], f64[2, 2, 2, 2, 3]{range=-1.3..1.3}, 2, 2, false")},
    {"aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", nullptr,
     decompose_affine_grid, nullptr, kPure,
     Cases("f32[1, 2, 3], [1, 2, 4, 5], true", "f32[1, 2, 3], [1, 2, 4, 5], false")},
    {"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", nullptr,
     decompose_im2col, nullptr, kPure, Cases("f32[1, 4, 6, 8], [2, 2], [1, 1], [0, 0], [1, 1]")},
    {"aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
     "stride) -> Tensor",
     nullptr, decompose_col2im, nullptr, kPure, Cases("f32[1, 8, 6], [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]")},
};
const size_t kResizeCount = std::size(kResizeRows);

}  // namespace wick::compiler
