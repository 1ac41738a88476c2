// Interpolation at positions from a grid.   Source: aten::grid_sampler_2d, aten::grid_sampler_3d.
#include <fmt/format.h>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

enum class Mode : int64_t { bilinear = 0, nearest = 1, bicubic = 2 };

class GridSampler {
 public:
  GridSampler(Lowering& l, const Node& node)
      : l_(l),
        x_(node.tensor("input")),
        grid_(node.tensor("grid")),
        y_(node.result()),
        mode_(static_cast<Mode>(node.static_integer("interpolation_mode"))),
        padding_(node.static_integer("padding_mode")),
        aligned_(node.boolean("align_corners")),
        type_(scalar_type(y_->dtype())),
        spatial_(x_->rank() - 2) {}

  ExpressionPtr element(const Indices& at) const {
    std::vector<std::vector<Tap>> taps;
    for (size_t i = 0; i < spatial_; ++i) taps.push_back(taps_of(at, i));
    Indices own = {at[0], at[1]};
    const ExpressionPtr sum = weighted_sum(taps, yes(), nullptr, own);
    return l_.pool().rounded(sum, y_->dtype());
  }

 private:
  struct Tap {
    ExpressionPtr at, inside, weight;  // null weight: 1
  };

  ExpressionPtr yes() const { return l_.pool().number(1, ScalarType::boolean); }
  ExpressionPtr number(double value) const { return l_.pool().number(value, type_); }

  // Taps along spatial dimension i. Coordinates in the grid are in reverse order: the last dimension comes first.
  std::vector<Tap> taps_of(const Indices& at, size_t i) const {
    ExpressionPool& pool = l_.pool();
    const Sym size = x_->sizes()[2 + i];
    Indices own = {at[0]};
    own.insert(own.end(), at.begin() + 2, at.end());
    own.push_back(pool.index(static_cast<int64_t>(spatial_ - 1 - i)));
    const ExpressionPtr extent = pool.cast(pool.index(size), type_);
    const std::string text =
        fmt::format("grid_place<{}, {}, {}>({{0}}, {{1}})", static_cast<int64_t>(mode_), padding_, aligned_);
    const ExpressionPtr place = pool.call(type_, text, {l_.element(grid_, own), extent});
    if (mode_ == Mode::nearest) return {tap(pool.call(type_, "round({0})", {place}), size, nullptr)};
    const ExpressionPtr base = pool.call(type_, "floor({0})", {place}), t = sub(pool, place, base);
    if (mode_ == Mode::bilinear)
      return {tap(base, size, sub(pool, number(1), t)), tap(add(pool, base, number(1)), size, t)};
    std::vector<Tap> out;
    for (int k = 0; k < 4; ++k) {
      const ExpressionPtr near = add(pool, base, number(k - 1));
      const std::string padded = fmt::format("round(grid_padded<{}, {}>({{0}}, {{1}}))", padding_, aligned_);
      out.push_back(tap(pool.call(type_, padded, {near, extent}), size, pool.call(type_, kCubicWeights[k], {t})));
    }
    return out;
  }
  Tap tap(ExpressionPtr place, const Sym& size, ExpressionPtr weight) const {
    ExpressionPool& pool = l_.pool();
    const ExpressionPtr at = pool.call(ScalarType::index, "grid_index<idx>({0}, {1})", {place, pool.index(size)});
    return {at, pool.negation(pool.less(at, pool.index(0))), weight};
  }

  // The weighted sum over the taps of the dimensions that `at` does not have yet. Taps outside count as 0.
  ExpressionPtr weighted_sum(const std::vector<std::vector<Tap>>& taps, ExpressionPtr inside, ExpressionPtr weight,
                             Indices& at) const {
    ExpressionPool& pool = l_.pool();
    if (at.size() == taps.size() + 2) {
      pool.push_guard(inside);
      const ExpressionPtr element = l_.element(x_, at);
      pool.pop_guard();
      if (!weight) return pool.select(inside, element, number(0));
      return pool.select(inside, mul(pool, element, weight), number(0));
    }
    ExpressionPtr sum = nullptr;
    for (const Tap& tap : taps[at.size() - 2]) {
      const ExpressionPtr product = weight && tap.weight ? mul(pool, weight, tap.weight) : tap.weight;
      at.push_back(tap.at);
      const ExpressionPtr part = weighted_sum(taps, pool.both(inside, tap.inside), product, at);
      at.pop_back();
      sum = sum ? add(pool, sum, part) : part;
    }
    return sum;
  }

  Lowering& l_;
  const Value *x_, *grid_, *y_;
  const Mode mode_;
  const int64_t padding_;
  const bool aligned_;
  const ScalarType type_;
  const size_t spatial_;
};

void lower_grid_sampler(Lowering& l, const Node& node) {
  l.store_if_expensive(node.tensor("input"), 2);
  l.store_if_expensive(node.tensor("grid"), 2);
  const GridSampler sampler(l, node);
  l.define(node.result(), [sampler](const Indices& at) { return sampler.element(at); });
}

void grid_needs(const Node& node, SizeRequirements& out) {
  out.push_back(equal(node.tensor("grid")->sizes()[0], node.tensor("input")->sizes()[0],
                      "the grid has another number of images than the input"));
}

constexpr OpRule kSamplingRows[] = {
    needing({"aten.grid_sampler_2d.default", lower_grid_sampler}, grid_needs),
    needing({"aten.grid_sampler_3d.default", lower_grid_sampler}, grid_needs),
};

}  // namespace

const Span<const OpRule> kSamplingRules{kSamplingRows};

}  // namespace wick::cuda
