// Resizing by interpolation: each element is a weighted sum of a few inputs.   Source: aten::upsample_*.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/byte_resize.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"

namespace wick::cuda {
namespace {

enum class Filter : uint8_t { nearest, nearest_exact, linear, cubic, linear_antialias, cubic_antialias };

struct Tap {
  ExpressionPtr at;
  ExpressionPtr weight = nullptr;  // null: 1
};

// The arguments of a resizing node: "self, output_size, [align_corners], scales.." or "input, output_size?,
// [align_corners], scale_factors?".
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
  std::vector<double> scales;  // output / input as the caller gave it, or 0
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
      if (const ExpressionPtr at = whole_place(o)) return {{at}};
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
      out.push_back({inside, pool_.call(type_, kCubicWeights[i], {t})});
    }
    return out;
  }

  // Tap k of an output with antialiasing: its input is at `at`, if `inside`.
  struct Tapered {
    ExpressionPtr at, inside, weight;
  };
  Tapered tapered(ExpressionPtr o, ExpressionPtr k) {
    const bool cubic = r_.filter == Filter::cubic_antialias;
    const ExpressionPtr step = scaled_step(pool_.index(in_), pool_.index(out_)), half = number(0.5);
    const ExpressionPtr wide = pool_.call(type_, "maximum({0}, {1})", {step, number(1)});
    const ExpressionPtr reach = mul(pool_, number(cubic ? 2 : 1), wide);
    const ExpressionPtr center = mul(pool_, step, add(pool_, pool_.cast(o, type_), half));
    const ExpressionPtr zero = pool_.index(0), last = pool_.index(in_ - 1);
    const ExpressionPtr first =
        pool_.maximum(pool_.minimum(floor_of(add(pool_, sub(pool_, center, reach), half)), last), zero);
    const ExpressionPtr end = pool_.minimum(floor_of(add(pool_, add(pool_, center, reach), half)), pool_.index(in_));
    Tapered tap;
    tap.at = pool_.add(first, k);
    tap.inside = pool_.less(tap.at, end);
    const ExpressionPtr distance = add(pool_, sub(pool_, pool_.cast(tap.at, type_), center), half);
    tap.weight = pool_.call(type_, cubic ? "antialias_weight<true>({0})" : "antialias_weight<false>({0})",
                            {div(pool_, distance, wide)});
    return tap;
  }
  // An upper bound of the taps of an output.
  Sym most_taps() const {
    const int64_t half = r_.filter == Filter::cubic_antialias ? 2 : 1;
    Sym reach = r_.align_corners ? floor_div((in_ - 1) * half, compiler::sym_max(out_ - 1, 1))
                : scale_ > 0     ? Sym(static_cast<int64_t>(std::min(half / scale_, 1e9)))
                                 : floor_div(in_ * half, out_);
    reach = compiler::sym_max(reach, half) + 2;
    return compiler::sym_min(reach * 2 + 1, in_ + 1);
  }

 private:
  ExpressionPtr number(double value) { return pool_.number(value, type_); }
  ExpressionPtr floor_of(ExpressionPtr place) {
    return pool_.call(ScalarType::index, "static_cast<idx>(floor({0}))", {place});
  }

  // The index of the nearest input without floats, if one size is a multiple of the other: neighbouring outputs then
  // have neighbouring inputs. Null if it differs from the index by floats for any output.
  ExpressionPtr whole_place(ExpressionPtr o) {
    constexpr int64_t kMostOutputs = 1 << 16;
    if (!in_.is_const() || !out_.is_const() || in_.value() < 1) return nullptr;
    const int64_t in = in_.value(), out = out_.value();
    if (out < 1 || out > kMostOutputs) return nullptr;
    const int64_t grows = out / in, shrinks = in / out;
    if (out != in * grows && in != out * shrinks) return nullptr;
    const bool exact = r_.filter == Filter::nearest_exact;
    const int64_t middle = exact ? shrinks / 2 : 0;
    const auto step =
        static_cast<float>(scale_ > 0 ? 1.0 / scale_ : static_cast<double>(in) / static_cast<double>(out));
    for (int64_t i = 0; i < out; ++i) {
      const float place = step * (static_cast<float>(i) + (exact ? 0.5f : 0.0f));
      const double given = std::min(static_cast<double>(std::floor(place)), static_cast<double>(in - 1));
      if (given != static_cast<double>(grows > 0 ? i / grows : i * shrinks + middle)) return nullptr;
    }
    if (grows > 0) return pool_.floor_divide(o, pool_.index(grows));
    return pool_.add(pool_.multiply(o, pool_.index(shrinks)), pool_.index(middle));
  }

  // The distance in inputs between neighbouring outputs.
  ExpressionPtr step_of() {
    const ExpressionPtr in = pool_.index(in_), out = pool_.index(out_);
    // Eager does not change a dimension whose size stays the same, whatever the scale is.
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

// The weighted sum over the taps of axes `i` and later.
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

// --- bytes ---

ByteAxis byte_axis(const Resize& r, size_t i) {
  ByteAxis out;
  out.in = r.x->sizes()[2 + i].value();
  out.out = r.y->sizes()[2 + i].value();
  out.cubic = r.filter == Filter::cubic || r.filter == Filter::cubic_antialias;
  out.antialias = r.filter == Filter::linear_antialias || r.filter == Filter::cubic_antialias;
  out.align_corners = r.align_corners;
  out.scale = r.scales[i];
  return out;
}

// Bytes blended along a dimension; `sizes` are those of the result.
std::pair<Draft, ExpressionPtr> blend_bytes(Lowering& l, const ByteBlend& blend, size_t dim, const Sizes& sizes,
                                            const Element& element) {
  ExpressionPool& pool = l.pool();
  const uint32_t places = l.table(blend.places), weights = l.table(blend.weights);
  Draft draft = l.draft(sizes, {blend.taps});
  const ExpressionPtr tap = pool.add(pool.multiply(draft.rows[dim], pool.index(blend.taps)), draft.columns[0]);
  Indices at = draft.rows;
  at[dim] = pool.cast(pool.load(places, DType::i32, tap), ScalarType::index);
  const ExpressionPtr weight = pool.cast(pool.load(weights, DType::i32, tap), ScalarType::i64);
  const ExpressionPtr taken = pool.cast(element(at), ScalarType::i64);
  const ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, mul(pool, weight, taken));
  const std::string text = "blended_byte({0}, " + std::to_string(blend.precision) + ")";
  return {std::move(draft), pool.call(ScalarType::i32, text, {sum})};
}

// Blends along rows, then along columns. Each pass rounds to bytes; a dimension whose size stays the same has none.
void lower_bytes(Lowering& l, const Resize& r) {
  ExpressionPool& pool = l.pool();
  const bool across = !(r.x->sizes()[3] == r.y->sizes()[3]), down = !(r.x->sizes()[2] == r.y->sizes()[2]);
  if (!across && !down) return l.define(r.y, l.elements_of(r.x));
  l.store_if_expensive(r.x, 2);
  Element element = l.elements_of(r.x);
  if (across && down) {
    Sizes between = r.x->sizes();
    between[3] = r.y->sizes()[3];
    const uint32_t buffer = l.scratch(DType::u8, compiler::numel(between));
    auto [rows, row] = blend_bytes(l, *byte_blend(byte_axis(r, 1)), 3, between, element);
    rows.kernel.row_stores.push_back({buffer, DType::u8, l.join(rows.rows, between), row, nullptr});
    l.finish_stores(std::move(rows));
    element = [&l, &pool, buffer, between](const Indices& at) {
      return pool.load(buffer, DType::u8, l.join(at, between));
    };
  }
  const size_t last = down ? 0 : 1;
  auto [draft, out] = blend_bytes(l, *byte_blend(byte_axis(r, last)), 2 + last, r.y->sizes(), element);
  const Indices at = draft.rows;
  l.finish(std::move(draft), {{r.y, at, out}});
}

// Bytes need tables, so their sizes must be known.
template <Filter filter>
compiler::Verdict blends(const Node& node, const compiler::TargetContext& context) {
  if (node.result()->dtype() != DType::u8) return gives_floats(node, context);
  const Resize r(node, filter, 2);
  for (size_t i = 0; i < 2; ++i) {
    if (!r.x->sizes()[2 + i].is_const() || !r.y->sizes()[2 + i].is_const())
      return compiler::Verdict::no("bytes are blended by tables, for which their sizes must be known");
    if (!byte_blend(byte_axis(r, i))) return compiler::Verdict::no("its scale shrinks far more than the sizes do");
  }
  return compiler::Verdict::yes();
}

// --- antialiased floats ---

// Along the last dimension into memory, then along the one before it.
template <Filter filter>
void lower_antialiased(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Resize r(node, filter, 2);
  if (r.y->dtype() == DType::u8) return lower_bytes(l, r);
  l.store_if_expensive(r.x, 2);
  Sizes between = r.x->sizes();
  between[3] = r.y->sizes()[3];
  const DType stored = r.y->dtype() == DType::f64 ? DType::f64 : DType::f32;
  const uint32_t buffer = l.scratch(stored, compiler::numel(between));
  const auto blend = [&](size_t dim, const Sizes& sizes, const Element& element) {
    Axis axis(l, r, dim - 2);
    Draft draft = l.draft(sizes, {axis.most_taps()});
    const Axis::Tapered tap = axis.tapered(draft.rows[dim], draft.columns[0]);
    Indices at = draft.rows;
    at[dim] = tap.at;
    pool.push_guard(tap.inside);
    const ExpressionPtr taken = element(at);
    pool.pop_guard();
    const ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, mul(pool, tap.weight, taken), tap.inside);
    const ExpressionPtr total = l.reduce(draft, ReductionKind::sum, tap.weight, tap.inside);
    return std::pair(std::move(draft), div(pool, sum, total));
  };
  auto [rows, row] = blend(3, between, l.elements_of(r.x));
  rows.kernel.row_stores.push_back({buffer, stored, l.join(rows.rows, between), row, nullptr});
  l.finish_stores(std::move(rows));
  auto [draft, out] =
      blend(2, r.y->sizes(), [&](const Indices& at) { return pool.load(buffer, stored, l.join(at, between)); });
  const Indices at = draft.rows;
  l.finish(std::move(draft), {{r.y, at, pool.rounded(out, r.y->dtype())}});
}

template <Filter filter>
void lower_plane(Lowering& l, const Node& node) {
  const Resize r(node, filter, 2);
  r.y->dtype() == DType::u8 ? lower_bytes(l, r) : lower_resize<filter, 2>(l, node);
}

constexpr OpRule kResizeRows[] = {
    of_images({"aten.upsample_nearest1d.default", lower_resize<Filter::nearest, 1>}),
    of_images({"aten.upsample_nearest2d.default", lower_resize<Filter::nearest, 2>}),
    of_images({"aten.upsample_nearest2d.vec", lower_resize<Filter::nearest, 2>}),
    of_images({"aten.upsample_nearest3d.default", lower_resize<Filter::nearest, 3>}),
    of_images({"aten._upsample_nearest_exact1d.default", lower_resize<Filter::nearest_exact, 1>}),
    of_images({"aten._upsample_nearest_exact2d.default", lower_resize<Filter::nearest_exact, 2>}),
    of_images({"aten._upsample_nearest_exact3d.default", lower_resize<Filter::nearest_exact, 3>}),
    of_images({"aten.upsample_linear1d.default", lower_resize<Filter::linear, 1>, gives_floats}),
    of_images({"aten.upsample_bilinear2d.default", lower_plane<Filter::linear>, blends<Filter::linear>}),
    of_images({"aten.upsample_bilinear2d.vec", lower_plane<Filter::linear>, blends<Filter::linear>}),
    of_images({"aten.upsample_trilinear3d.default", lower_resize<Filter::linear, 3>, gives_floats}),
    of_images({"aten.upsample_bicubic2d.default", lower_plane<Filter::cubic>, blends<Filter::cubic>}),
    of_images({"aten._upsample_bilinear2d_aa.default", lower_antialiased<Filter::linear_antialias>,
               blends<Filter::linear_antialias>}),
    of_images({"aten._upsample_bicubic2d_aa.default", lower_antialiased<Filter::cubic_antialias>,
               blends<Filter::cubic_antialias>}),
};

}  // namespace

const Span<const OpRule> kResizeRules{kResizeRows};

}  // namespace wick::cuda
