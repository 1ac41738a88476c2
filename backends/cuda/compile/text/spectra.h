// Kernel vocabulary: orthogonal factors, eigenvalues, singular values and exponentials of a matrix, computed by the
// threads of a block. As in runtime/kernels/linear_algebra, except that disjoint pairs of columns are rotated at the
// same time.
namespace wick_text {
namespace {

/// The exponent of a magnitude, clamped to [-1000, 1000]; 0 if the magnitude is zero or not finite.
WICK_FUNCTION i32 scale_exponent(f64 largest) {
  if (largest == 0 || !isfinite(largest)) return 0;
  const i32 exponent = exponent_of(largest);
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}
WICK_FUNCTION f64 power_of_two(i32 exponent) { return f64_of_bits(static_cast<u64>(1023 + exponent) << 52); }

/// The square root of the sum of squares, without over- or underflow of a square. Each thread takes elements self, self
/// + step .., and `reduce` combines the values of the threads.
template <typename Reduce>
WICK_FUNCTION f64 length_of(const f64* x, i64 count, i64 stride, i64 self, i64 step, Reduce reduce) {
  f64 largest = 0;
  for (i64 i = self; i < count; i += step) largest = maximum(largest, op_abs(x[i * stride]));
  const i32 exponent = scale_exponent(reduce(largest, true));
  const f64 factor = power_of_two(-exponent);
  f64 square = 0;
  for (i64 i = self; i < count; i += step) {
    const f64 scaled = x[i * stride] * factor;
    square += scaled * scaled;
  }
  return wick::math::scale_by_power_of_two(sqrt(reduce(square, false)), exponent);
}
template <u32 kThreads>
struct BlockReduce {
  f64* shared;
  WICK_FUNCTION f64 operator()(f64 value, bool largest) const {
    return largest ? block_reduce<Maximum, kThreads>(value, shared) : block_reduce<Sum, kThreads>(value, shared);
  }
};
struct WarpReduce {
  WICK_FUNCTION f64 operator()(f64 value, bool largest) const {
    return largest ? warp_reduce<Maximum>(value) : warp_reduce<Sum>(value);
  }
};

/// Scales so that the largest magnitude is near 1. Returns the exponent that undoes this.
template <u32 kThreads>
WICK_FUNCTION i32 scale_to_one(f64* data, i64 count, f64* shared) {
  f64 largest = 0;
  for (i64 i = static_cast<i64>(thread_x()); i < count; i += kThreads) largest = maximum(largest, op_abs(data[i]));
  const i32 exponent = scale_exponent(block_reduce<Maximum, kThreads>(largest, shared));
  const f64 factor = power_of_two(-exponent);
  for (i64 i = static_cast<i64>(thread_x()); i < count; i += kThreads) data[i] *= factor;
  block_barrier();
  return exponent;
}

template <u32 kThreads>
WICK_FUNCTION void set_identity(f64* data, i64 rows, i64 columns) {
  for (i64 e = static_cast<i64>(thread_x()); e < rows * columns; e += kThreads)
    data[e] = e / columns == e % columns ? 1 : 0;
}

/// A becomes R on and above the diagonal, and Householder vectors below it, as by LAPACK's geqrf.
template <u32 kThreads>
WICK_FUNCTION void factor_householder(f64* data, f64* tau, Positioned<f64>* shared, i64 rows, i64 columns) {
  const MatrixView<f64> a = {data, columns, 1};
  const i64 thread = static_cast<i64>(thread_x()), count = rows < columns ? rows : columns;
  const BlockReduce<kThreads> reduce = {reinterpret_cast<f64*>(shared)};
  for (i64 k = 0; k < count; ++k) {
    bool below = false;
    for (i64 i = k + 1 + thread; i < rows; i += kThreads) below = below || a(i, k) != 0;
    if (!block_any(below)) {
      if (thread == 0) tau[k] = 0;
      continue;
    }
    const f64 alpha = a(k, k), size = length_of(&a(k, k), rows - k, columns, thread, kThreads, reduce);
    const f64 beta = alpha >= 0 ? -size : size, scale = (beta - alpha) / beta;
    block_barrier();
    for (i64 i = k + 1 + thread; i < rows; i += kThreads) a(i, k) /= alpha - beta;
    if (thread == 0) {
      tau[k] = scale;
      a(k, k) = beta;
    }
    block_barrier();
    for (i64 j = k + 1 + thread; j < columns; j += kThreads) {
      f64 dot = a(k, j);
      for (i64 i = k + 1; i < rows; ++i) dot += a(i, k) * a(i, j);
      a(k, j) -= scale * dot;
      for (i64 i = k + 1; i < rows; ++i) a(i, j) -= scale * dot * a(i, k);
    }
    block_barrier();
  }
}

/// The first `wanted` columns of the product of `count` reflectors. Columns do not depend on each other.
template <u32 kThreads>
WICK_FUNCTION void product_of_reflectors(const f64* data, const f64* tau, f64* product, i64 rows, i64 columns,
                                         i64 count, i64 wanted) {
  const MatrixView<const f64> a = {data, columns, 1};
  const MatrixView<f64> q = {product, wanted, 1};
  for (i64 j = static_cast<i64>(thread_x()); j < wanted; j += kThreads) {
    for (i64 i = 0; i < rows; ++i) q(i, j) = i == j ? 1 : 0;
    for (i64 k = count - 1; k >= 0; --k) {
      f64 dot = q(k, j);
      for (i64 i = k + 1; i < rows; ++i) dot += a(i, k) * q(i, j);
      q(k, j) -= tau[k] * dot;
      for (i64 i = k + 1; i < rows; ++i) q(i, j) -= tau[k] * dot * a(i, k);
    }
  }
}

/// The most sweeps of Jacobi's method. Each rotates all pairs once.
constexpr i32 kMaxSweeps = 60;

/// Pairs of a round-robin tournament. Each round pairs all numbers below `count`; if `count` is odd, one is paired with
/// `count` itself. Each pair meets once in players() - 1 rounds.
struct PairsOfRound {
  i64 first, second;  // first < second

  static WICK_FUNCTION i64 players(i64 count) { return count + count % 2; }
  WICK_FUNCTION PairsOfRound(i64 round, i64 pair, i64 count) {
    const i64 last = players(count) - 1;
    const i64 a = pair == 0 ? last : (round + pair) % last, b = (round - pair + last) % last;
    first = a < b ? a : b;
    second = a < b ? b : a;
  }
};

/// The rotation that makes [[p, r], [r, q]] diagonal.
struct Rotation {
  f64 cosine, sine;

  static WICK_FUNCTION Rotation of(f64 p, f64 q, f64 r) {
    const f64 theta = (q - p) / (2 * r), magnitude = op_abs(theta);
    const f64 t = copysign(1 / (magnitude + sqrt(magnitude * magnitude + 1)), theta);
    const f64 cosine = 1 / sqrt(t * t + 1);
    return {cosine, t * cosine};
  }
  WICK_FUNCTION void turn(f64& x, f64& y) const {
    const f64 old = x;
    x = cosine * old - sine * y;
    y = sine * old + cosine * y;
  }
};

/// Rotates all pairs of a round. `rotations` has room for n + 1 numbers. Returns whether this thread found a pair to
/// rotate.
template <u32 kThreads>
WICK_FUNCTION bool turn_pairs(MatrixView<f64> a, MatrixView<f64> v, f64* rotations, i64 n, i64 round) {
  const i64 thread = static_cast<i64>(thread_x()), pairs = PairsOfRound::players(n) / 2;
  bool moved = false;
  for (i64 p = thread; p < pairs; p += kThreads) {
    const PairsOfRound at(round, p, n);
    Rotation turn = {1, 0};
    if (at.second < n) {
      const f64 first = a(at.first, at.first), second = a(at.second, at.second), r = a(at.first, at.second);
      if (op_abs(r) > 1e-16 * sqrt(op_abs(first * second)) && op_abs(r) > 1e-300) {
        turn = Rotation::of(first, second, r);
        moved = true;
      }
    }
    rotations[2 * p] = turn.cosine;
    rotations[2 * p + 1] = turn.sine;
  }
  block_barrier();
  for (i64 e = thread; e < pairs * n; e += kThreads) {
    const i64 p = e % pairs, row = e / pairs;
    const PairsOfRound at(round, p, n);
    const Rotation turn = {rotations[2 * p], rotations[2 * p + 1]};
    if (turn.sine == 0) continue;
    turn.turn(a(row, at.first), a(row, at.second));
    turn.turn(v(row, at.first), v(row, at.second));
  }
  block_barrier();
  for (i64 e = thread; e < pairs * n; e += kThreads) {
    const i64 p = e / n, column = e % n;
    const PairsOfRound at(round, p, n);
    const Rotation turn = {rotations[2 * p], rotations[2 * p + 1]};
    if (turn.sine != 0) turn.turn(a(at.first, column), a(at.second, column));
  }
  block_barrier();
  for (i64 p = thread; p < pairs; p += kThreads) {
    const PairsOfRound at(round, p, n);
    if (rotations[2 * p + 1] != 0) a(at.first, at.second) = a(at.second, at.first) = 0;
  }
  block_barrier();
  return moved;
}

/// Eigenvalues of a symmetric matrix, in ascending order, and their vectors as columns. `data`, `vectors` and `work` (n
/// + 1 numbers) are overwritten.
template <u32 kThreads>
WICK_FUNCTION void eigen_symmetric(f64* data, f64* vectors, f64* work, f64* values, f64* sorted,
                                   Positioned<f64>* shared, i64 n) {
  const MatrixView<f64> a = {data, n, 1}, v = {vectors, n, 1};
  const i64 thread = static_cast<i64>(thread_x()), rounds = PairsOfRound::players(n) - 1;
  const i32 exponent = scale_to_one<kThreads>(data, n * n, reinterpret_cast<f64*>(shared));
  set_identity<kThreads>(vectors, n, n);
  block_barrier();
  for (i32 sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool moved = false;
    for (i64 round = 0; round < rounds; ++round) moved = turn_pairs<kThreads>(a, v, work, n, round) || moved;
    if (!block_any(moved)) break;
  }
  for (i64 i = thread; i < n; i += kThreads) {
    i64 place = 0;
    for (i64 j = 0; j < n; ++j)
      place += stands_before<false>(a(j, j), static_cast<i32>(j), a(i, i), static_cast<i32>(i)) ? 1 : 0;
    work[i] = static_cast<f64>(place);
    values[place] = wick::math::scale_by_power_of_two(a(i, i), exponent);
  }
  block_barrier();
  for (i64 e = thread; e < n * n; e += kThreads) sorted[e / n * n + static_cast<i64>(work[e % n])] = vectors[e];
}

/// Replaces lines [have, want) of `basis` (lines of `size` numbers) by unit vectors that are orthogonal to all other
/// lines; want <= size. `work`: want numbers.
template <u32 kThreads>
WICK_FUNCTION void complete_basis(f64* basis, f64* work, f64* shared, i64 size, i64 have, i64 want) {
  const i64 thread = static_cast<i64>(thread_x()), warps = kThreads / 32, warp = thread / 32;
  i64 line = have;
  for (i64 axis = 0; axis < size && line < want; ++axis) {
    f64* const x = basis + line * size;
    for (i64 i = thread; i < size; i += kThreads) x[i] = i == axis ? 1 : 0;
    for (i32 again = 0; again < 2; ++again) {
      block_barrier();
      for (i64 j = warp; j < line; j += warps) {
        f64 dot = 0;
        for (i64 i = static_cast<i64>(lane()); i < size; i += 32) dot += basis[j * size + i] * x[i];
        dot = warp_reduce<Sum>(dot);
        if (lane() == 0) work[j] = dot;
      }
      block_barrier();
      for (i64 i = thread; i < size; i += kThreads)
        for (i64 j = 0; j < line; ++j) x[i] -= work[j] * basis[j * size + i];
    }
    f64 square = 0;
    for (i64 i = thread; i < size; i += kThreads) square += x[i] * x[i];
    square = block_reduce<Sum, kThreads>(square, shared);
    if (!(square > 1e-8)) continue;
    const f64 length = sqrt(square);
    for (i64 i = thread; i < size; i += kThreads) x[i] /= length;
    ++line;
  }
  block_barrier();
}

/// A warp rotates two lines so that they become orthogonal, and the same lines of `right`. Returns false if they
/// already are.
WICK_FUNCTION bool turn_lines(f64* a, f64* b, i64 size, f64* right_a, f64* right_b, i64 count) {
  const i64 self = static_cast<i64>(lane());
  f64 p = 0, q = 0, r = 0;
  for (i64 i = self; i < size; i += 32) {
    p += a[i] * a[i];
    q += b[i] * b[i];
    r += a[i] * b[i];
  }
  p = warp_reduce<Sum>(p);
  q = warp_reduce<Sum>(q);
  r = warp_reduce<Sum>(r);
  if (!(op_abs(r) > 1e-15 * sqrt(p * q) && op_abs(r) > 1e-300)) return false;
  const Rotation turn = Rotation::of(p, q, r);
  for (i64 i = self; i < size; i += 32) turn.turn(a[i], b[i]);
  for (i64 i = self; i < count; i += 32) turn.turn(right_a[i], right_b[i]);
  return true;
}

/// The singular value decomposition of a matrix [size, count], size >= count, whose columns are the lines of `data`.
/// Singular values come in descending order; the lines of `left` (`wanted` of them) and `right` are singular vectors.
/// `data`, `turned` [count, count] and `work` (2 * size) are overwritten. Computes only the values if `vectors` is 0.
template <u32 kThreads>
WICK_FUNCTION void singular_values(f64* data, f64* turned, f64* work, f64* values, f64* left, f64* right,
                                   Positioned<f64>* shared, i64 size, i64 count, i64 wanted, i64 vectors) {
  const i64 thread = static_cast<i64>(thread_x()), warps = kThreads / 32, warp = thread / 32;
  const i64 players = PairsOfRound::players(count);
  f64* const lengths = work;
  f64* const places = work + count;
  const i32 exponent = scale_to_one<kThreads>(data, size * count, reinterpret_cast<f64*>(shared));
  set_identity<kThreads>(turned, count, count);
  block_barrier();
  for (i32 sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool moved = false;
    for (i64 round = 0; round + 1 < players; ++round) {
      for (i64 pair = warp; pair < players / 2; pair += warps) {
        const PairsOfRound at(round, pair, count);
        if (at.second >= count) continue;
        moved = turn_lines(data + at.first * size, data + at.second * size, size, turned + at.first * count,
                           turned + at.second * count, count) ||
                moved;
      }
      block_barrier();
    }
    if (!block_any(moved)) break;
  }
  for (i64 j = warp; j < count; j += warps) {
    const f64 length = length_of(data + j * size, size, 1, static_cast<i64>(lane()), 32, WarpReduce());
    if (lane() == 0) lengths[j] = length;
  }
  block_barrier();
  for (i64 j = thread; j < count; j += kThreads) {
    i64 place = 0;
    for (i64 i = 0; i < count; ++i)
      place += stands_before<true>(lengths[i], static_cast<i32>(i), lengths[j], static_cast<i32>(j)) ? 1 : 0;
    places[j] = static_cast<f64>(place);
    values[place] = wick::math::scale_by_power_of_two(lengths[j], exponent);
  }
  block_barrier();
  if (vectors == 0) return;
  for (i64 e = thread; e < size * count; e += kThreads) {
    const i64 j = e / size;
    left[static_cast<i64>(places[j]) * size + e % size] = lengths[j] > 0 ? data[e] / lengths[j] : data[e];
  }
  for (i64 e = thread; e < count * count; e += kThreads)
    right[static_cast<i64>(places[e / count]) * count + e % count] = turned[e];
  i64 have = 0;
  while (have < count && values[have] > values[0] * 1e-14) ++have;
  block_barrier();
  complete_basis<kThreads>(left, work, reinterpret_cast<f64*>(shared), size, have, wanted);
}

/// out = a b, all [n, n].
template <u32 kThreads>
WICK_FUNCTION void multiply_squares(const f64* a, const f64* b, f64* out, i64 n) {
  for (i64 e = static_cast<i64>(thread_x()); e < n * n; e += kThreads) {
    const i64 row = e / n, column = e % n;
    f64 sum = 0;
    for (i64 k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    out[e] = sum;
  }
  block_barrier();
}

/// Replaces A by its exponential: the Taylor series of A / 2^s, whose norm is at most one half, then s squarings.
/// `work` has room for three matrices.
template <u32 kThreads>
WICK_FUNCTION void exponential(f64* a, f64* work, Positioned<f64>* shared, i64 n) {
  const i64 thread = static_cast<i64>(thread_x()), area = n * n;
  f64 norm = 0;
  for (i64 i = thread; i < n; i += kThreads) {
    f64 row = 0;
    for (i64 j = 0; j < n; ++j) row += op_abs(a[i * n + j]);
    norm = maximum(norm, row);
  }
  norm = block_reduce<Maximum, kThreads>(norm, reinterpret_cast<f64*>(shared));
  block_barrier();
  if (!isfinite(norm)) {
    for (i64 e = thread; e < area; e += kThreads) a[e] = not_a_number(0.0);
    return;
  }
  i32 squarings = 0;
  for (; norm > 0.5; norm /= 2) ++squarings;
  f64 *const scaled = work, *const term = work + area, *const next = work + 2 * area;
  for (i64 e = thread; e < area; e += kThreads) {
    scaled[e] = wick::math::scale_by_power_of_two(a[e], -squarings);
    a[e] = term[e] = e % (n + 1) == 0 ? 1 : 0;
  }
  block_barrier();
  for (i32 k = 1; k <= 18; ++k) {
    multiply_squares<kThreads>(term, scaled, next, n);
    for (i64 e = thread; e < area; e += kThreads) {
      term[e] = next[e] / k;
      a[e] += term[e];
    }
    block_barrier();
  }
  for (i32 k = 0; k < squarings; ++k) {
    multiply_squares<kThreads>(a, a, next, n);
    for (i64 e = thread; e < area; e += kThreads) a[e] = next[e];
    block_barrier();
  }
}

}  // namespace
}  // namespace wick_text
