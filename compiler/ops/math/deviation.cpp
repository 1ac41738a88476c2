#include "compiler/ops/math/deviation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"

namespace wick::compiler {

Spread spread_of(const Node& node) {
  Spread s;
  const size_t rank = node.tensor("self")->rank();
  s.dims = has_argument(node, "dim") ? reduced_dims(node, "dim", rank) : all_dims(rank);
  if (has_argument(node, "correction"))
    s.correction = node.is_none("correction") ? 1 : node.real("correction");
  else
    s.correction = node.boolean("unbiased") ? 1 : 0;
  s.keepdim = has_argument(node, "keepdim") && node.boolean("keepdim");
  return s;
}

Arg correction_arg(double correction) {
  if (correction == std::floor(correction) && std::abs(correction) < 1e15) return static_cast<int64_t>(correction);
  return correction;
}
Value* variance(Builder& b, Value* x, const Spread& s) {
  if (is_complex(x->dtype())) {
    Value* parts = b.call("aten.view_as_real", {x});
    const auto last = static_cast<int64_t>(x->rank());
    return Compose(b).add(variance(b, b.select(parts, last, 0), s), variance(b, b.select(parts, last, 1), s));
  }
  return b.call("aten.var.correction", {x, to_ints(s.dims), correction_arg(s.correction), s.keepdim});
}

namespace {

// Whether all these dimensions have known sizes above 0, so that an element along them can be selected.
bool has_elements(const Value* x, const std::vector<int64_t>& dims) {
  return !dims.empty() && std::all_of(dims.begin(), dims.end(), [&](int64_t dim) {
    const Sym& size = x->sizes()[static_cast<size_t>(dim)];
    return size.is_const() && size.value() > 0;
  });
}
// The smaller one of two deviations: that of x, which overflows for large x, and that of 2^-96 * x, scaled back, which
// loses digits for small x and is therefore raised to 2^48. Minima may drop NaN, so scaled * 0, which is 0 or NaN, is
// added.
Value* deviation_in_two_scales(Builder& b, Value* x, const Spread& s) {
  Compose c(b);
  Value* scaled = c.sqrt(variance(b, c.mul(x, 0x1p-96), s));
  Value* far = c.maximum(c.mul(scaled, 0x1p96), 0x1p48);
  return c.add(c.minimum(c.sqrt(variance(b, x, s)), far), c.mul(scaled, 0.0));
}
// If there are no more elements than the correction, the deviation is infinite, or NaN if all elements are equal: 0
// divided by 0. A square that only underflows does not give this NaN.
Value* corrected_deviation(Builder& b, Value* x, Spread s) {
  Compose c(b);
  const double correction = std::exchange(s.correction, 0);
  Sym size = 1;
  for (const int64_t dim : s.dims) size = size * x->sizes()[static_cast<size_t>(dim)];
  Value* count = c.tensor(size, x->dtype());
  Value* ratio = c.div(count, c.clamp(c.sub(count, correction), 0, None{}));
  return c.mul(deviation_in_two_scales(b, x, s), c.sqrt(ratio));
}

}  // namespace

// The root of the variance. Eager computes it in f64, where squares of f32 numbers do not overflow. Here x is divided
// by the largest deviation of its row before squaring. A row that may be empty has no largest deviation.
Value* deviation(Builder& b, Value* x, const Spread& s) {
  Compose c(b);
  if (is_complex(x->dtype())) return c.sqrt(variance(b, x, s));
  if (!has_elements(x, s.dims)) {
    if (x->dtype() != DType::f32) return c.sqrt(variance(b, x, s));
    return s.correction > 1 ? corrected_deviation(b, x, s) : deviation_in_two_scales(b, x, s);
  }
  Value* centred = c.sub(x, c.mean(x, s.dims, true));
  Value* largest = c.as_divisor(c.amax(c.abs(centred), s.dims, true));
  Value* root = c.sqrt(variance(b, c.div(centred, largest), s));
  return c.mul(root, b.reshape(largest, root->sizes()));
}

}  // namespace wick::compiler
