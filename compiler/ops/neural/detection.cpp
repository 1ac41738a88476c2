// Operators of torchvision's detection models.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// The positions of samples along one axis of the image, for all boxes: [boxes, bins * samples].
struct Samples {
  Value* low;       // i64: the pixel before
  Value* high;      // i64: the pixel after
  Value* fraction;  // weight of the pixel after
  Value* inside;    // bool: within [-1, size]
};

struct Axis {
  int64_t size, bins, samples;
  double scale;
  bool aligned;
};

// `first`, `last`: the boxes' borders along the axis, [boxes, 1]. Sample i of bin p lies at first + p * bin + (i + 0.5)
// * bin / samples, where bin is the width of a bin.
Samples sample_axis(Builder& b, Value* first, Value* last, const Axis& axis) {
  Compose c(b);
  const double offset = axis.aligned ? 0.5 : 0.0;
  Value* start = c.sub(c.mul(first, axis.scale), offset);
  Value* length = c.sub(c.sub(c.mul(last, axis.scale), offset), start);
  if (!axis.aligned) length = c.clamp(length, 1.0, None{});
  Value* bin = c.div(length, static_cast<double>(axis.bins));
  std::vector<float> bins, steps;
  for (int64_t p = 0; p < axis.bins; ++p) {
    for (int64_t i = 0; i < axis.samples; ++i) {
      bins.push_back(static_cast<float>(p));
      steps.push_back(static_cast<float>(i) + 0.5f);
    }
  }
  const Sizes row = {1, Sym(axis.bins * axis.samples)};
  Value* step = c.div(c.mul(c.constant_f32(steps, row), bin), static_cast<double>(axis.samples));
  Value* at = c.add(c.add(start, c.mul(c.constant_f32(bins, row), bin)), step);
  const double limit = static_cast<double>(axis.size), top = static_cast<double>(axis.size - 1);
  Value* inside = c.logical_and(c.compare("ge", at, -1.0), c.compare("le", at, limit));
  Value* position = c.clamp(at, 0.0, top);
  Value* low = b.cast(position, DType::i64);
  return {low, c.clamp(c.add(low, 1), None{}, axis.size - 1), c.sub(position, b.cast(low, DType::f32)), inside};
}

// image [n, c, h, w] and rois [boxes, 5], rows of (image, x1, y1, x2, y2); out [boxes, channels, rows, columns].
void set_regions(Node& node, bool by_position) {
  const Value *image = node.tensor("input"), *rois = node.tensor("rois");
  require_rank(image, 4, "regions: the image");
  require_rank(rois, 2, "regions: the boxes");
  require_equal(rois->sizes()[1], 5, "regions: columns of the boxes");
  require(image->dtype() == rois->dtype() && is_floating(image->dtype()), "regions: image and boxes differ in dtype");
  const Sym rows = node.integer("pooled_height"), columns = node.integer("pooled_width");
  for (const Sym& size : {rows, columns})
    require(!size.is_const() || size.value() > 0, "regions: the output size must be positive");
  Sym channels = image->sizes()[1];
  if (by_position) channels = floor_div(channels, rows * columns);
  set_result(node, 0, image->dtype(), {rois->sizes()[0], channels, rows, columns});
  if (node.results().size() > 1) set_result(node, 1, DType::i32, {rois->sizes()[0], channels, rows, columns});
}
void infer_regions(Node& node) { set_regions(node, false); }
void infer_position_regions(Node& node) { set_regions(node, true); }

void infer_nms(Node& node) {
  infer_preset(node);
  const Value *boxes = node.tensor("dets"), *scores = node.tensor("scores");
  require_rank(boxes, 2, "nms: the boxes");
  require_rank(scores, 1, "nms: the scores");
  require_equal(boxes->sizes()[1], 4, "nms: columns of the boxes");
  require_equal(boxes->sizes()[0], scores->sizes()[0], "nms: number of scores");
  require(node.result()->rank() == 1 && node.result()->dtype() == DType::i64, "nms: the result is not a vector of i64");
}

// Bounds the number of kept boxes, which depends on data, by the number of boxes.
Results decompose_nms(Builder& b, Node& node) {
  SymRanges& ranges = b.graph().ranges;
  const std::string kept(node.result()->sizes()[0].symbol_name());
  const SymRange all = range_of(node.tensor("dets")->sizes()[0], ranges);
  if (!kept.empty() && ranges[kept].max > all.max) ranges[kept].max = all.max;
  return {};
}

void infer_deform_conv(Node& node) {
  const Value *x = node.tensor("input"), *weight = node.tensor("weight");
  require_rank(x, 4, "deform_conv2d: the input");
  require_rank(weight, 4, "deform_conv2d: the weight");
  require(x->dtype() == weight->dtype(), "deform_conv2d: dtypes differ");
  Sizes sizes{x->sizes()[0], weight->sizes()[0]};
  for (size_t i = 0; i < 2; ++i) {
    const char* side = i == 0 ? "h" : "w";
    auto at = [&](const char* name) { return node.integer(fmt::format("{}_{}", name, side)); };
    sizes.push_back(
        window_size(x->sizes()[2 + i], at("pad"), weight->sizes()[2 + i], at("stride"), at("dilation"), false));
  }
  set_result(node, x->dtype(), std::move(sizes));
}

constexpr int64_t kMaxSamplingRatio = 32;  // the kernel's bound, too
constexpr int64_t kMaxWrittenBins = 4096;  // along an axis: the positions of the samples become constants

// Each output element is the mean of samples x samples bilinear samples. Kept whole if the number of samples depends on
// the boxes, or their positions on a dynamic size of the image.
Results decompose_roi_align(Builder& b, Node& node) {
  Compose c(b);
  Value *image = node.tensor("input"), *rois = node.tensor("rois");
  const int64_t samples = node.static_integer("sampling_ratio");
  const bool fixed = image->sizes()[2].is_const() && image->sizes()[3].is_const() &&
                     node.integer("pooled_height").is_const() && node.integer("pooled_width").is_const();
  if (samples <= 0 || !fixed || image->dtype() != DType::f32) return {};
  const int64_t height = node.static_integer("pooled_height"), width = node.static_integer("pooled_width");
  if (samples > kMaxSamplingRatio)
    reject(fmt::format("roi_align: sampling_ratio is {}; at most {} is taken", samples, kMaxSamplingRatio));
  if (std::max(height, width) > kMaxWrittenBins) return {};
  require(image->sizes()[2].value() > 0 && image->sizes()[3].value() > 0, "roi_align of an image without pixels");
  const double scale = node.real("spatial_scale");
  const bool aligned = node.boolean("aligned");
  auto column = [&](int64_t i) { return b.slice(rois, 1, i, Sym(i + 1)); };
  const Samples y = sample_axis(b, column(2), column(4), {image->sizes()[2].value(), height, samples, scale, aligned});
  const Samples x = sample_axis(b, column(1), column(3), {image->sizes()[3].value(), width, samples, scale, aligned});
  Value* batch = b.unsqueeze(b.cast(column(0), DType::i64), 2);
  auto along_y = [&](Value* v) { return b.unsqueeze(v, 2); };
  auto along_x = [&](Value* v) { return b.unsqueeze(v, 1); };
  auto one_minus = [&](Value* v) { return c.add(c.neg(v), 1.0); };
  // [boxes, rows, columns, channels]
  auto corner = [&](Value* row, Value* row_weight, Value* col, Value* col_weight) {
    Value* pixels = b.call("aten.index.Tensor", {image, Values{batch, nullptr, along_y(row), along_x(col)}});
    return c.mul(pixels, b.unsqueeze(c.mul(along_y(row_weight), along_x(col_weight)), 3));
  };
  Value *y_rest = one_minus(y.fraction), *x_rest = one_minus(x.fraction);
  Value* sum = c.add(corner(y.low, y_rest, x.low, x_rest), corner(y.low, y_rest, x.high, x.fraction));
  sum = c.add(c.add(sum, corner(y.high, y.fraction, x.low, x_rest)), corner(y.high, y.fraction, x.high, x.fraction));
  Value* inside = b.unsqueeze(c.logical_and(along_y(y.inside), along_x(x.inside)), 3);
  sum = c.where(inside, sum, 0.0);
  const Sym boxes = rois->sizes()[0], channels = image->sizes()[1];
  sum = b.reshape(sum, {boxes, Sym(height), Sym(samples), Sym(width), Sym(samples), channels});
  return {b.permute(c.mean(sum, {2, 4}), {0, 3, 1, 2})};
}

}  // namespace

const OpDef kDetectionRows[] = {
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
     "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     infer_regions, decompose_roi_align, "torchvision::roi_align.out", kNoStock,
     Cases("f32[1, 4, 6, 8], f32[2, 5]{=0, 1, 1, 5.5, 4}, 0.5, 3, 3, 2, true",
           "f32[1, 4, 6, 8], f32[2, 5]{=0, 1, 1, 5.5, 4}, 1.0, 2, 2, -1, false")},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
     "pooled_width) -> (Tensor, Tensor)",
     infer_regions, nullptr, "torchvision::roi_pool.out", kNoStock,
     Cases("f32[1, 4, 6, 8], f32[2, 5]{=0, 1, 1, 5.5, 4}, 1.0, 2, 2")},
    {"torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
     "pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
     infer_position_regions, nullptr, "torchvision::ps_roi_align.out", kNoStock,
     Cases("f32[1, 4, 6, 8], f32[2, 5]{=0, 1, 1, 5.5, 4}, 1.0, 2, 2, -1")},
    {"torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
     "pooled_width) -> (Tensor, Tensor)",
     infer_position_regions, nullptr, "torchvision::ps_roi_pool.out", kNoStock,
     Cases("f32[1, 4, 6, 8], f32[2, 5]{=0, 1, 1, 5.5, 4}, 1.0, 2, 2")},
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", infer_nms, decompose_nms,
     "torchvision::nms.out", kNoStock | kDataDependent, Cases("f32[6, 4]{range=2.4..12.5}, f32[6]{distinct}, 0.1")},
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt "
     "stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
     "SymInt offset_groups, bool use_mask) -> Tensor",
     infer_deform_conv, nullptr, "torchvision::deform_conv2d.out", kNoStock,
     Cases("f32[1, 2, 5, 5], f32[3, 2, 3, 3], f32[1, 18, 3, 3]{range=-1..1}, f32[1, 9, 3, 3]{range=0.007..1}, f32[3], "
           "1, 1, "
           "0, 0, 1, 1, 1, 1, true"),
     &kManyTerms},
};
const size_t kDetectionCount = std::size(kDetectionRows);

}  // namespace wick::compiler
