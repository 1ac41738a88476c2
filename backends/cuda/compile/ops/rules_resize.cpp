// Resizing by interpolation: each element is a weighted sum of few others.   Source: aten::upsample_*.
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"

namespace wick::cuda {
namespace {

enum class Filter : uint8_t { nearest, nearest_exact, linear, cubic };

struct Tap {
  ExpressionPtr at;
  ExpressionPtr weight = nullptr;  // null: 1
};

// Arguments of the forms "self, output_size, [align_corners], scales.." and "input, output_size?, [align_corners],
// scale_factors?".
struct Resize {
  Resize(const Node& node, Filter used, size_t dims)
      : filter(used), spatial(dims), x(node.operands()[0]), y(node.result()) {
    const compiler::Schema& schema = *node.op->parsed;
    align_corners = schema.find("align_corners") >= 0 && node.boolean("align_corners");
    scales.assign(spatial, 0.0);
    if (schema.find("scale_factors") >= 0) {
      if (!node.is_none("scale_factors")) scales = node.arg("scale_factors").as<compiler::Reals>();
      return;
    }
    const size_t first = schema.args.size() - spatial;
    for (size_t i = 0; i < spatial; ++i) {
      if (!node.arg(first + i).is<compiler::None>()) scales[i] = node.real(schema.args[first + i].name);
    }
  }
  Filter filter;
  size_t spatial;
  const Value *x, *y;
  bool align_corners = false;
  std::vector<double> scales;  // output / input as the caller said, or 0
};

class Axis {
 public:
  Axis(Lowering& l, const Resize& r, size_t i)
      : pool_(l.pool()),
        r_(r),
        type_(r.x->dtype() == DType::f64 ? ScalarType::f64 : ScalarType::f32),
        in_(r.x->sizes()[2 + i]),
        out_(r.y->sizes()[2 + i]),
        scale_(r.scales[i]) {}

  std::vector<Tap> taps(ExpressionPtr o) {
    const ExpressionPtr last = pool_.index(in_ - 1);
    if (r_.filter == Filter::nearest || r_.filter == Filter::nearest_exact) {
      const ExpressionPtr step = pool_.cast(step_of(), ScalarType::f32);
      const ExpressionPtr half = pool_.number(r_.filter == Filter::nearest_exact ? 0.5 : 0, ScalarType::f32);
      const ExpressionPtr place = mul(pool_, step, add(pool_, pool_.cast(o, ScalarType::f32), half));
      return {{pool_.minimum(floor_of(place), last)}};
    }
    const ExpressionPtr place = place_of(o);
    ExpressionPtr first = pool_.minimum(floor_of(place), last);
    const ExpressionPtr t = pool_.call(type_, "between_0_and_1({0})", {sub(pool_, place, pool_.cast(first, type_))});
    if (r_.filter == Filter::linear) {
      const ExpressionPtr next = pool_.minimum(pool_.add(first, pool_.index(1)), last);
      return {{first, sub(pool_, number(1), t)}, {next, t}};
    }
    std::vector<Tap> out;
    for (int i = 0; i < 4; ++i) {
      const ExpressionPtr at = pool_.add(first, pool_.index(i - 1));
      const ExpressionPtr inside = pool_.maximum(pool_.minimum(at, last), pool_.index(0));
      out.push_back({inside, pool_.call(type_, kCubic[i], {t})});
    }
    return out;
  }

 private:
  static constexpr const char* kCubic[4] = {"cubic_far({0} + 1)", "cubic_near({0})", "cubic_near(1 - {0})",
                                            "cubic_far(2 - {0})"};
  ExpressionPtr number(double value) { return pool_.number(value, type_); }
  ExpressionPtr floor_of(ExpressionPtr place) {
    return pool_.call(ScalarType::index, "static_cast<idx>(floor({0}))", {place});
  }

  // Input steps for one output step.
  ExpressionPtr step_of() {
    const ExpressionPtr in = pool_.index(in_), out = pool_.index(out_);
    // Eager leaves a dimension whose size stays as it is, whatever the scale.
    if (r_.filter == Filter::linear) return pool_.select(pool_.equal(in, out), number(1), scaled_step(in, out));
    return scaled_step(in, out);
  }
  ExpressionPtr scaled_step(ExpressionPtr in, ExpressionPtr out) {
    if (r_.align_corners) {
      if (out_.is(1)) return number(0);
      return div(pool_, pool_.cast(pool_.index(in_ - 1), type_), pool_.cast(pool_.index(out_ - 1), type_));
    }
    if (scale_ > 0)
      return number(type_ == ScalarType::f32 ? static_cast<double>(static_cast<float>(1.0 / scale_)) : 1.0 / scale_);
    return div(pool_, pool_.cast(in, type_), pool_.cast(out, type_));
  }
  ExpressionPtr place_of(ExpressionPtr o) {
    const ExpressionPtr at = pool_.cast(o, type_);
    if (r_.align_corners) return mul(pool_, step_of(), at);
    const ExpressionPtr place = sub(pool_, mul(pool_, step_of(), add(pool_, at, number(0.5))), number(0.5));
    return r_.filter == Filter::linear ? pool_.call(type_, "maximum({0}, {1})", {place, number(0)}) : place;
  }

  ExpressionPool& pool_;
  const Resize& r_;
  const ScalarType type_;
  const Sym in_, out_;
  const double scale_;
};

// The sum over the taps of the axes from `i` on.
ExpressionPtr weighted_sum(Lowering& l, const Resize& r, const std::vector<std::vector<Tap>>& taps, size_t i,
                           Indices& at) {
  if (i == taps.size()) return l.element(r.x, at);
  ExpressionPool& pool = l.pool();
  ExpressionPtr sum = nullptr;
  for (const Tap& tap : taps[i]) {
    at.push_back(tap.at);
    ExpressionPtr part = weighted_sum(l, r, taps, i + 1, at);
    at.pop_back();
    if (tap.weight) part = mul(pool, pool.cast(tap.weight, part->type), part);
    sum = sum ? add(pool, sum, part) : part;
  }
  return sum;
}

template <Filter filter, size_t spatial>
void lower_resize(Lowering& l, const Node& node) {
  const Resize r(node, filter, spatial);
  l.store_if_expensive(r.x, 2);
  l.define(r.y, [&l, r](const Indices& at) {
    std::vector<std::vector<Tap>> taps;
    for (size_t i = 0; i < r.spatial; ++i) taps.push_back(Axis(l, r, i).taps(at[2 + i]));
    Indices own = {at[0], at[1]};
    const ExpressionPtr sum = weighted_sum(l, r, taps, 0, own);
    return r.filter == Filter::linear || r.filter == Filter::cubic ? l.pool().rounded(sum, r.y->dtype()) : sum;
  });
}

constexpr OpRule kRows[] = {
    {"aten.upsample_nearest1d.default", lower_resize<Filter::nearest, 1>},
    {"aten.upsample_nearest2d.default", lower_resize<Filter::nearest, 2>},
    {"aten.upsample_nearest2d.vec", lower_resize<Filter::nearest, 2>},
    {"aten.upsample_nearest3d.default", lower_resize<Filter::nearest, 3>},
    {"aten._upsample_nearest_exact1d.default", lower_resize<Filter::nearest_exact, 1>},
    {"aten._upsample_nearest_exact2d.default", lower_resize<Filter::nearest_exact, 2>},
    {"aten._upsample_nearest_exact3d.default", lower_resize<Filter::nearest_exact, 3>},
    {"aten.upsample_linear1d.default", lower_resize<Filter::linear, 1>, gives_floats},
    {"aten.upsample_bilinear2d.default", lower_resize<Filter::linear, 2>, gives_floats},
    {"aten.upsample_bilinear2d.vec", lower_resize<Filter::linear, 2>, gives_floats},
    {"aten.upsample_trilinear3d.default", lower_resize<Filter::linear, 3>, gives_floats},
    {"aten.upsample_bicubic2d.default", lower_resize<Filter::cubic, 2>, gives_floats},
};

}  // namespace

const Span<const OpRule> kResizeRules{kRows};

}  // namespace wick::cuda
