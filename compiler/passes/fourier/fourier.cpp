#include "compiler/passes/fourier/fourier.h"

#include <cmath>

#include "compiler/passes/constants/reals.h"
#include "compiler/support/result.h"

namespace wick::compiler {
namespace {

// The most points of a transform that is one matmul. Larger transforms are faster when split into smaller ones.
constexpr int64_t kMaxPoints = 512;

// The largest divisor that is not above the square root.
int64_t smaller_factor(int64_t points) {
  auto factor = static_cast<int64_t>(std::sqrt(static_cast<double>(points)));
  while (points % factor != 0) --factor;
  return factor;
}

// Whether the points have factors of at most kMaxPoints each, so that matmuls of these compute the transform.
bool has_small_factors(int64_t points) {
  while (points > kMaxPoints) {
    const int64_t factor = smaller_factor(points);
    if (factor == 1 || factor > kMaxPoints) return false;
    points /= factor;
  }
  return true;
}

bool is_by_factors(const Sym& points) { return points.is_const() && has_small_factors(points.value()); }
bool is_one_matrix(const Sym& points) { return SymScope::range(points).max <= kMaxPoints; }

// Makes cosines and sines of multiples of a quarter turn exact: what is almost 0 becomes 0.
double whole_or(double x) { return std::abs(x) < 1e-15 ? 0 : x; }
double cosine(double x) { return whole_or(std::cos(x)); }
double sine(double x) { return whole_or(std::sin(x)); }

// weight[k, j] = scale * f(2 pi j k / points)
Value* wave(Builder& b, DType dtype, int64_t rows, int64_t columns, int64_t points, double scale, double (*f)(double)) {
  Reals64 weights;
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto turn = static_cast<double>(j * k % points) / static_cast<double>(points);
      weights.push_back(scale * f(2 * M_PI * turn));
    }
  }
  return b.constant(TensorType{dtype, {rows, columns}, {}}, *rounded(weights, dtype), "wave");
}

// A complex factor cos - i sin, of absolute value 1 or `scale`.
struct Turn {
  Value *cos, *sin;
};

// x * (cos - i sin); `times` multiplies real tensors.
template <typename F>
Pair turned(Builder& b, const Pair& x, const Turn& by, F&& times) {
  Value* re = sum(b, times(x.re, by.cos), times(x.im, by.sin));
  Value* im = difference(b, times(x.im, by.cos), times(x.re, by.sin));
  WICK_CHECK(re && im);
  return {re, im};
}

// scale * (cos - i sin)(pi t / points), backward +, of integers t, computed in f64 and rounded to `dtype`.
Turn turns(Builder& b, DType dtype, Value* t, const Sym& points, double scale, bool forward) {
  Compose c(b);
  Value* angle = c.div(c.mul(b.cast(t, DType::f64), M_PI), c.tensor(points, DType::f64));
  const auto part = [&](const char* op, double factor) { return b.cast(c.mul(c.unary(op, angle), factor), dtype); };
  return {part("aten.cos", scale), part("aten.sin", forward ? scale : -scale)};
}

// x with a matrix applied along a dimension.
Value* applied(Builder& b, Value* x, size_t dim, Value* matrix) {
  if (!x) return nullptr;
  const auto at = static_cast<int64_t>(dim), last = static_cast<int64_t>(x->rank()) - 1;
  Value* rows = at == last ? x : b.transpose(x, at, last);
  Value* out = b.call("aten.linear", {rows, matrix});
  return at == last ? out : b.transpose(out, at, last);
}
Pair applied(Builder& b, const Pair& x, size_t dim, const Turn& matrices) {
  return turned(b, x, matrices, [&](Value* part, Value* matrix) { return applied(b, part, dim, matrix); });
}

// Multiplies each element along a dimension by its own factor.
Pair turned_along(Builder& b, const Pair& x, size_t dim, const Turn& by) {
  Sizes sizes(x.re->rank(), Sym(1));
  sizes[dim] = by.cos->sizes()[0];
  return turned(b, x, {b.reshape(by.cos, sizes), b.reshape(by.sin, sizes)},
                [&](Value* part, Value* factor) { return product(b, part, factor); });
}

Pair by_matrix(Builder& b, const Pair& x, const Fourier& f) {
  const Sym& columns = x.re->sizes()[f.dim];
  const DType dtype = x.re->dtype();
  if (f.points.is_const() && columns.is_const()) {
    const auto matrix = [&](double scale, double (*of)(double)) {
      return wave(b, dtype, f.rows.value(), columns.value(), f.points.value(), scale, of);
    };
    return applied(b, x, f.dim, {matrix(f.scale, cosine), matrix(f.forward ? f.scale : -f.scale, sine)});
  }
  Compose c(b);
  Value* products = c.mul(b.unsqueeze(c.arange(f.rows, DType::i64), 1), c.arange(columns, DType::i64));
  Value* t = c.mul(c.remainder(products, f.points), 2);
  return applied(b, x, f.dim, turns(b, dtype, t, f.points, f.scale, f.forward));
}

// Multiplies element (k, l) of two dimensions by cos - i sin (backward +) of k l / (p q) turns.
Pair turned_between(Builder& b, const Pair& x, size_t dim, int64_t p, int64_t q, bool forward) {
  Sizes sizes(x.re->rank(), Sym(1));
  sizes[dim] = Sym(p);
  sizes[dim + 1] = Sym(q);
  const DType dtype = x.re->dtype();
  Value* cos = b.reshape(wave(b, dtype, p, q, p * q, 1, cosine), sizes);
  Value* sin = b.reshape(wave(b, dtype, p, q, p * q, forward ? 1 : -1, sine), sizes);
  return turned(b, x, {cos, sin}, [&](Value* part, Value* factor) { return product(b, part, factor); });
}

// Cooley-Tukey with points = p q, x_[j q + l] and y_[k + m p]: transforms of p points over j, then factors of k l /
// points turns, then transforms of q points over l.
Pair by_factors(Builder& b, const Pair& x, const Fourier& f) {
  const int64_t points = f.points.value(), rows = f.rows.value();
  const int64_t p = smaller_factor(points), q = points / p, later = (rows - 1) / p + 1;
  const auto view = [&](Value* value, const Sizes& parts) -> Value* {
    if (!value) return nullptr;
    Sizes sizes = x.re->sizes();
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(f.dim));
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(f.dim), parts.begin(), parts.end());
    return b.reshape(value, std::move(sizes));
  };
  Pair y = transformed(b, {view(x.re, {p, q}), view(x.im, {p, q})}, {f.dim, p, p, 1, f.forward});
  y = turned_between(b, y, f.dim, p, q, f.forward);
  y = transformed(b, y, {f.dim + 1, later, q, f.scale, f.forward});
  const auto first = static_cast<int64_t>(f.dim);
  const auto joined = [&](Value* value) {
    return b.slice(view(b.transpose(value, first, first + 1), {later * p}), first, 0, Sym(rows));
  };
  return {joined(y.re), joined(y.im)};
}

// Bluestein. With 2 j k = j^2 + k^2 - (k - j)^2 and c_n = (cos - i sin)(pi n^2 / points): y_k = c_k * sum of (x_j c_j)
// / c_(k - j), a convolution. Transforms of `length` points compute it. `length` is at least the sum of both ranges, so
// the ends of the circular convolution do not overlap.
Pair by_chirp(Builder& b, const Pair& x, const Fourier& f) {
  Compose c(b);
  const Sym& columns = x.re->sizes()[f.dim];
  const int64_t rows = SymScope::range(f.rows).max, dim = static_cast<int64_t>(f.dim);
  int64_t length = 1;
  while (length < rows + SymScope::range(columns).max) length *= 2;
  const auto chirp = [&](Value* n, double scale, bool forward) {
    return turns(b, x.re->dtype(), c.remainder(c.square(n), f.points * 2), f.points, scale, forward);
  };
  const auto padded = [&](Value* part) {
    Ints pairs(2 * (part->rank() - f.dim), Sym(0));
    pairs.back() = length - columns;
    return c.pad(part, std::move(pairs));
  };
  Pair signal = turned_along(b, x, f.dim, chirp(c.arange(columns, DType::i64), 1, f.forward));
  signal = transformed(b, {padded(signal.re), padded(signal.im)}, {f.dim, length, length, 1, true});
  std::vector<int64_t> distances;  // |k - j|, wrapped around at `length`
  for (int64_t n = 0; n < length; ++n) distances.push_back(n < rows ? n : length - n);
  const Turn inverse = chirp(c.constant_i64(distances, {length}), 1, !f.forward);
  Pair other = transformed(b, {inverse.cos, negative(b, inverse.sin)}, {0, length, length, 1, true});
  Pair y = turned_along(b, signal, f.dim, {other.re, negative(b, other.im)});
  y = transformed(b, y, {f.dim, rows, length, 1 / static_cast<double>(length), false});
  y = {b.slice(y.re, dim, 0, f.rows), b.slice(y.im, dim, 0, f.rows)};
  return turned_along(b, y, f.dim, chirp(c.arange(f.rows, DType::i64), f.scale, f.forward));
}

// The whole spectrum of a real signal from its first half. The other half is the conjugate, mirrored.
Pair mirrored(Builder& b, const Pair& x, size_t dim, int64_t points) {
  const auto at = static_cast<int64_t>(dim);
  const auto extended = [&](Value* half, bool negates) {
    Value* rest = b.call("aten.flip", {b.slice(half, at, 1, Sym((points + 1) / 2)), Ints{at}});
    return b.call("aten.cat", {Values{half, negates ? negative(b, rest) : rest}, at});
  };
  return {extended(x.re, false), x.im ? extended(x.im, true) : nullptr};
}

// Doubles each element of a half spectrum, for itself and its mirror image. The first element, and the middle one of an
// even number of points, have no mirror image; both are real.
Pair counted_twice(Builder& b, const Pair& x, const Fourier& f) {
  Compose c(b);
  Value* j = c.arange(x.re->sizes()[f.dim], DType::i64);
  Value* is_alone = c.logical_or(c.compare("eq", j, 0), c.compare("eq", c.mul(j, 2), f.points));
  Sizes sizes(x.re->rank(), Sym(1));
  sizes[f.dim] = j->sizes()[0];
  const auto counted = [&](Value* part, double alone) {
    return c.mul(part, b.reshape(c.where(is_alone, alone, 2.0, part->dtype()), sizes));
  };
  return {counted(x.re, 1), x.im ? counted(x.im, 0) : nullptr};
}

Value* to_real_by_matrix(Builder& b, const Pair& x, const Fourier& f) {
  const int64_t size = f.points.value(), half = size / 2 + 1;
  const DType dtype = x.re->dtype();
  Reals64 cos, sin;
  for (int64_t k = 0; k < size; ++k) {
    for (int64_t j = 0; j < half; ++j) {
      const double turn = 2 * M_PI * static_cast<double>(j * k % size) / static_cast<double>(size);
      const bool alone = j == 0 || 2 * j == size;
      cos.push_back((alone ? 1 : 2) * f.scale * cosine(turn));
      sin.push_back((alone ? 0 : -2) * f.scale * sine(turn));
    }
  }
  const TensorType type{dtype, {size, half}, {}};
  Value* re = applied(b, x.re, f.dim, b.constant(type, *rounded(cos, dtype), "wave"));
  return sum(b, re, applied(b, x.im, f.dim, b.constant(type, *rounded(sin, dtype), "wave")));
}

}  // namespace

bool becomes_matmuls(const Sym& points, const TargetFacts& facts) {
  const SymRange range = SymScope::range(points);
  if (range.max < 1 || range.max > facts.max_transform_points) return false;
  return is_by_factors(points) || facts.takes_parts_of_complex;
}

bool splits_dimension(const Sym& points) { return !is_one_matrix(points); }

Pair transformed(Builder& b, const Pair& x, const Fourier& fourier) {
  WICK_CHECK(x.re);
  if (is_one_matrix(fourier.points)) return by_matrix(b, x, fourier);
  return is_by_factors(fourier.points) ? by_factors(b, x, fourier) : by_chirp(b, x, fourier);
}

Value* transformed_to_real(Builder& b, const Pair& x, const Fourier& fourier) {
  if (!is_by_factors(fourier.points)) return transformed(b, counted_twice(b, x, fourier), fourier).re;
  if (is_one_matrix(fourier.points)) return to_real_by_matrix(b, x, fourier);
  return transformed(b, mirrored(b, x, fourier.dim, fourier.points.value()), fourier).re;
}

}  // namespace wick::compiler
