// Boxes of images, divided into bins. Source: torchvision::roi_align, roi_pool, ps_roi_align, ps_roi_pool. A block
// computes the bins of one channel of a box, by a function of the vocabulary (text/regions.h).
#include <algorithm>
#include <limits>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/ops/stored_operand.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;
using compiler::Verdict;

constexpr int64_t kMaxSamplingRatio = 32;  // the most that a program may ask for
constexpr int64_t kMaxSamples = 1 << 16;   // the most that a bin may get by the size of its box
constexpr int64_t kMaxBins = 65535;        // along a side

class Regions {
 public:
  Regions(Lowering& l, const Node& node)
      : l_(l),
        pool_(l.pool()),
        node_(node),
        image_(node.tensor("input")),
        boxes_(node.tensor("rois")),
        y_(node.result(0)),
        lane_(y_->dtype() == DType::f64 ? ScalarType::f64 : ScalarType::f32) {}

  // The number of samples is an argument, or follows from the size of each box.
  void align(bool own_channels, bool aligned) {
    const int64_t fixed = node_.static_integer("sampling_ratio");
    BlockCall call = begin("align_region");
    const Draft draft = l_.draft({boxes_->sizes()[0], y_->sizes()[1]}, {});
    add_operands(call, draft);
    call.places.push_back(fixed > 0 ? at_box(draft, numbers_, 0) : at_box(draft, samples_of_boxes(aligned), 2));
    add_numbers(call, draft);
    for (const int64_t number : {std::max<int64_t>(fixed, 0), int64_t{own_channels}, int64_t{aligned}})
      call.numbers.push_back(pool_.index(number));
    finish(std::move(call), draft);
    if (own_channels) define_channels();
  }

  void largest() {
    BlockCall call = begin("largest_of_region");
    const Draft draft = l_.draft({boxes_->sizes()[0], y_->sizes()[1]}, {});
    const Value* places = node_.result(1);
    const uint32_t map =
        places->num_uses() > 0 ? l_.place(places) : l_.scratch(DType::i32, compiler::numel(places->sizes()));
    call.places.push_back(at_bins(draft, map));
    add_operands(call, draft);
    add_numbers(call, draft);
    finish(std::move(call), draft);
  }

  void mean() {
    BlockCall call = begin("mean_of_region");
    const Draft draft = l_.draft({boxes_->sizes()[0], y_->sizes()[1]}, {});
    add_operands(call, draft);
    add_numbers(call, draft);
    finish(std::move(call), draft);
    define_channels();
  }

 private:
  const Sym& rows() const { return y_->sizes()[2]; }
  const Sym& columns() const { return y_->sizes()[3]; }
  Sym bins() const { return rows() * columns(); }

  BlockCall begin(const char* function) {
    image_in_ = stored_operand(l_, image_);
    boxes_in_ = stored_operand(l_, boxes_);
    numbers_ = numbers_of_images();
    BlockCall call;
    call.function = function;
    call.waits = false;
    const int64_t most = SymScope::range(bins()).max;
    call.threads = most <= 32 ? 32 : most <= 64 ? 64 : 128;
    call.operations = bins() * 64;
    result_ = l_.place(y_);
    return call;
  }

  static ExpressionPtr box_of(const Draft& draft) { return draft.rows[0]; }
  BlockCall::Place at_box(const Draft& draft, uint32_t buffer, int64_t each) {
    return {buffer, pool_.multiply(box_of(draft), pool_.index(each)), false};
  }
  BlockCall::Place at_bins(const Draft& draft, uint32_t buffer) {
    const ExpressionPtr line = l_.join(draft.rows, {boxes_->sizes()[0], y_->sizes()[1]});
    return {buffer, pool_.multiply(line, pool_.index(bins())), true};
  }

  // The image, the boxes, and the number of the image of each box.
  void add_operands(BlockCall& call, const Draft& draft) {
    call.places.push_back({image_in_.buffer, pool_.index(image_in_.first), false});
    call.places.push_back({boxes_in_.buffer, boxes_in_.offset(pool_, {box_of(draft)}), false});
    call.places.push_back(at_box(draft, numbers_, 1));
    call.places.insert(call.places.begin(), at_bins(draft, result_));
  }
  void add_numbers(BlockCall& call, const Draft& draft) {
    for (const Sym& stride : image_in_.strides) call.numbers.push_back(pool_.index(stride));
    for (const size_t side : {2u, 3u}) call.numbers.push_back(pool_.index(image_->sizes()[side]));
    call.numbers.push_back(draft.rows[1]);
    call.numbers.push_back(pool_.index(rows()));
    call.numbers.push_back(pool_.index(columns()));
    call.numbers.push_back(pool_.index(boxes_in_.strides[1]));
  }
  void finish(BlockCall call, Draft draft) {
    call.numbers.push_back(pool_.number(node_.real("spatial_scale"), ScalarType::f64));
    draft.kernel.call = std::move(call);
    l_.finish_stores(std::move(draft));
  }

  ExpressionPtr border(ExpressionPtr box, int64_t which) {
    return pool_.cast(l_.element(boxes_, {box, pool_.index(which)}), lane_);
  }

  // A buffer with the number of the image of each box.
  uint32_t numbers_of_images() {
    const Sym boxes = boxes_->sizes()[0];
    const uint32_t out = l_.scratch(DType::i32, boxes),
                   check = l_.add_check("a box names an image that does not exist");
    Draft draft = l_.draft({boxes}, {});
    const ExpressionPtr number = pool_.call(lane_, "floor({0})", {border(draft.rows[0], 0)});
    const ExpressionPtr index = l_.checked_index(pool_.cast(number, ScalarType::i64), image_->sizes()[0], false, check);
    draft.kernel.row_stores.push_back({out, DType::i32, draft.rows[0], pool_.cast(index, ScalarType::i32), nullptr});
    l_.finish_stores(std::move(draft));
    return out;
  }

  // A buffer with the number of samples of each box's bins, along y and along x.
  uint32_t samples_of_boxes(bool aligned) {
    const Sizes sizes = {boxes_->sizes()[0], 2};
    const uint32_t out = l_.scratch(DType::i32, compiler::numel(sizes)),
                   check = l_.add_check("a bin of a box is 2^16 pixels long, or not a number");
    Draft draft = l_.draft(sizes, {});
    const ExpressionPtr box = draft.rows[0], down = pool_.equal(draft.rows[1], pool_.index(0));
    const auto number = [&](double value) { return pool_.number(value, lane_); };
    const auto by_side = [&](ExpressionPtr first, ExpressionPtr second) { return pool_.select(down, first, second); };
    const double least = aligned ? -std::numeric_limits<double>::infinity() : 1;
    const ExpressionPtr count =
        pool_.call(ScalarType::i64, "samples_of_bin({0}, {1}, {2}, {3}, {4}, {5})",
                   {by_side(border(box, 2), border(box, 1)), by_side(border(box, 4), border(box, 3)),
                    number(node_.real("spatial_scale")), number(aligned ? 0.5 : 0), number(least),
                    by_side(pool_.cast(pool_.index(rows()), lane_), pool_.cast(pool_.index(columns()), lane_))});
    const ExpressionPtr checked = l_.checked_index(count, 2 * kMaxSamples, false, check);
    const ExpressionPtr held = pool_.cast(pool_.subtract(checked, pool_.index(kMaxSamples)), ScalarType::i32);
    draft.kernel.row_stores.push_back({out, DType::i32, l_.join(draft.rows, sizes), held, nullptr});
    l_.finish_stores(std::move(draft));
    return out;
  }

  // Defines result 1 if each bin reads a channel of its own: the number of that channel.
  void define_channels() {
    const Value* channels = node_.result(1);
    if (channels->num_uses() == 0) return;
    const Sizes sizes(channels->sizes().begin() + 1, channels->sizes().end());
    Lowering& l = l_;
    l.define(channels, [&l, sizes](const Indices& at) {
      return l.pool().cast(l.join({at.begin() + 1, at.end()}, sizes), ScalarType::i32);
    });
  }

  Lowering& l_;
  ExpressionPool& pool_;
  const Node& node_;
  const Value *image_, *boxes_, *y_;
  const ScalarType lane_;
  uint32_t numbers_ = 0, result_ = 0;
  StoredOperand image_in_, boxes_in_;
};

void lower_align(Lowering& l, const Node& node) { Regions(l, node).align(false, node.boolean("aligned")); }
void lower_align_by_position(Lowering& l, const Node& node) { Regions(l, node).align(true, true); }
void lower_largest(Lowering& l, const Node& node) { Regions(l, node).largest(); }
void lower_mean_by_position(Lowering& l, const Node& node) { Regions(l, node).mean(); }

Verdict boxes_fit(const Node& node, const compiler::TargetContext&) {
  const Value *image = node.tensor("input"), *y = node.result(0);
  if (image->rank() != 4 || node.tensor("rois")->rank() != 2) return Verdict::no("it takes an image and boxes");
  for (const size_t side : {2u, 3u}) {
    const compiler::SymRange bins = SymScope::range(y->sizes()[side]);
    if (bins.min < 1 || bins.max > kMaxBins) return Verdict::no("the number of bins is out of range");
  }
  const bool samples = node.op->parsed->find("sampling_ratio") >= 0;
  if (samples && node.static_integer("sampling_ratio") > kMaxSamplingRatio)
    return Verdict::no("sampling_ratio is above 32");
  if (node.results().size() == 1 || node.is("torchvision.roi_pool.default")) return Verdict::yes();
  const Sym bins = y->sizes()[2] * y->sizes()[3];
  return agreed(same(y->sizes()[1] * bins, image->sizes()[1]));
}

constexpr OpRule kRegionRows[] = {
    whole({"torchvision.roi_align.default", lower_align, boxes_fit}),
    {"torchvision.ps_roi_align.default", lower_align_by_position, boxes_fit},
    {"torchvision.roi_pool.default", lower_largest, boxes_fit},
    {"torchvision.ps_roi_pool.default", lower_mean_by_position, boxes_fit},
};

}  // namespace

const Span<const OpRule> kRegionRules{kRegionRows};

}  // namespace wick::cuda
