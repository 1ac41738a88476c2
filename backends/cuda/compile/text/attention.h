// Kernel vocabulary: attention tile by tile (Dao, FlashAttention-2). A thread has parts of kRows rows of queries. Its
// values number e = 0 .. of a tile are those of matrix fragments (kFragments: rows lane / 4 and lane / 4 + 8, each
// shared by 4 lanes), or kRows groups of neighbours (each row shared by 8 lanes).
namespace wick_text {
namespace {

template <bool kFragments, u32 kRows, u32 kCount>
WICK_FUNCTION constexpr u32 row_of_value(u32 e) {
  return kFragments ? e % 4 / 2 : e / (kCount / kRows);
}

/// exp(x - base). With kFragments, for weights that are rounded to 16 bits: an error of a few units in the last place
/// of f32, and 0 for the smallest results. Subtracts before it multiplies, because base * log2(e) may overflow.
template <bool kFragments>
WICK_FUNCTION f32 weight_of(f32 x, f32 base) {
  if constexpr (kFragments) {
    return exp2_approximate((x - base) * 1.44269504f);
  } else {
    return exp(x - base);
  }
}

/// The number that is subtracted from scores: the largest score, or 0 if all keys so far are masked, as -inf - -inf is
/// NaN.
WICK_FUNCTION f32 base_of(f32 largest) { return largest == -infinity(0.0f) ? 0.0f : largest; }

/// Turns scores of more keys into weights. Scales `out` and `total` down if the largest score grows. `total`: the sum
/// of the lane's own weights.
template <bool kFragments, u32 kRows, u32 kScores, u32 kOut>
WICK_FUNCTION void weigh_scores(f32* scores, f32* out, f32* largest, f32* total) {
  f32 now[kRows];
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) now[r] = largest[r];
  WICK_UNROLL
  for (u32 e = 0; e < kScores; ++e) {
    const u32 r = row_of_value<kFragments, kRows, kScores>(e);
    now[r] = max_nan(now[r], scores[e]);
  }
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) {
    WICK_UNROLL
    for (u32 mask = kFragments ? 2 : 4; mask != 0; mask /= 2) now[r] = max_nan(now[r], shuffle_xor(now[r], mask));
  }
  f32 shrink[kRows];
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) {
    shrink[r] = weight_of<kFragments>(largest[r], base_of(now[r]));
    largest[r] = now[r];
    total[r] *= shrink[r];
  }
  WICK_UNROLL
  for (u32 e = 0; e < kScores; ++e) {
    const u32 r = row_of_value<kFragments, kRows, kScores>(e);
    scores[e] = weight_of<kFragments>(scores[e], base_of(now[r]));
    total[r] += scores[e];
  }
  WICK_UNROLL
  for (u32 e = 0; e < kOut; ++e) out[e] *= shrink[row_of_value<kFragments, kRows, kOut>(e)];
}

/// Adds the totals of the lanes that share a row.
template <bool kFragments, u32 kRows>
WICK_FUNCTION void join_totals(f32* total) {
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) {
    WICK_UNROLL
    for (u32 mask = kFragments ? 2 : 4; mask != 0; mask /= 2) total[r] += shuffle_xor(total[r], mask);
  }
}

/// Turns totals into what weighted values are multiplied by: 1 / total, or `empty` for a row in which all keys are
/// masked.
template <u32 kRows>
WICK_FUNCTION void invert_totals(f32* total, f32 empty) {
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) total[r] = total[r] == 0.0f ? empty : 1.0f / total[r];
}

WICK_FUNCTION u32 rounded_pair(f32 low, f32 high, bf16) { return bf16_pair(low, high); }
WICK_FUNCTION u32 rounded_pair(f32 low, f32 high, f16) { return f16_pair(low, high); }

/// Adds weights times values: `values` has a row of kWidth elements for each of 8 * kKeys keys.
template <u32 kWidth, typename T, u32 kOut, u32 kKeys>
WICK_FUNCTION void add_values(f32 (&out)[1][kOut][4], const f32 (&weights)[1][kKeys][4], const T* values) {
  WICK_UNROLL
  for (u32 k = 0; k < kKeys; k += 2) {
    const f32(&low)[4] = weights[0][k], (&high)[4] = weights[0][k + 1];
    const u32 a[4] = {rounded_pair(low[0], low[1], T()), rounded_pair(low[2], low[3], T()),
                      rounded_pair(high[0], high[1], T()), rounded_pair(high[2], high[3], T())};
    WICK_UNROLL
    for (u32 j = 0; j < kOut; j += 2) {
      u32 first[2], second[2];
      load_right<kWidth, false>(first, second, values, 8 * j, 8 * k);
      multiply_fragments(out[0][j], a, first, T());
      multiply_fragments(out[0][j + 1], a, second, T());
    }
  }
}

/// Like add_splits(), for splits that have parts of the keys. In the last block, `out`, `largest` and `total` are those
/// of all keys.
template <bool kFragments, u32 kRows, u32 kOut>
WICK_FUNCTION bool join_splits(f32* out, f32* largest, f32* total, f32* partial, u32* counter, void* shared, u32 split,
                               u32 splits, u32 threads) {
  constexpr u32 kCount = kOut + 2 * kRows;
  f32* const own = partial + split * kCount * threads + thread_x();
  WICK_UNROLL
  for (u32 e = 0; e < kOut; ++e) own[e * threads] = out[e];
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) {
    own[(kOut + r) * threads] = largest[r];
    own[(kOut + kRows + r) * threads] = total[r];
  }
  if (!is_last_split(counter, shared, splits)) return false;
  WICK_UNROLL
  for (u32 e = 0; e < kOut; ++e) out[e] = 0.0f;
  WICK_UNROLL
  for (u32 r = 0; r < kRows; ++r) {
    largest[r] = -infinity(0.0f);
    total[r] = 0.0f;
  }
  for (u32 from = 0; from < splits; ++from) {
    const f32* const part = partial + from * kCount * threads + thread_x();
    f32 shrink[kRows], grow[kRows];
    WICK_UNROLL
    for (u32 r = 0; r < kRows; ++r) {
      const f32 other = part[(kOut + r) * threads], now = maximum(largest[r], other);
      shrink[r] = exp(largest[r] - base_of(now));
      grow[r] = exp(other - base_of(now));
      total[r] = total[r] * shrink[r] + part[(kOut + kRows + r) * threads] * grow[r];
      largest[r] = now;
    }
    WICK_UNROLL
    for (u32 e = 0; e < kOut; ++e) {
      const u32 r = row_of_value<kFragments, kRows, kOut>(e);
      out[e] = out[e] * shrink[r] + part[e * threads] * grow[r];
    }
  }
  return true;
}

/// The sum of weighted values of one query and one column, over a part of the keys.
struct PartialRow {
  f32 sum, largest, total;
};
WICK_FUNCTION f32 result_of(PartialRow row, f32 empty) { return row.total == 0.0f ? empty : row.sum / row.total; }

/// Rows in shared memory are padded, so that the rows of a warp lie in different banks.
template <u32 kWidth>
WICK_FUNCTION constexpr u32 padded_row() {
  return kWidth + 8;
}

/// Writes a warp's partial results of rows 0 .. kRows - 1 to `sums` [warps][kRows][padded_row] and `bounds`
/// [warps][2][kRows] (largest score, total).
template <u32 kRows, u32 kWidth>
WICK_FUNCTION void put_rows(f32* sums, f32* bounds, const f32 (&out)[1][kWidth / 8][4], const f32 (&largest)[2],
                            const f32 (&total)[2], u32 warp) {
  WICK_UNROLL
  for (u32 i = 0; i < 2; ++i) {
    const u32 row = lane() / 4 + 8 * i;
    if (row >= kRows) continue;
    f32* const own = sums + (warp * kRows + row) * padded_row<kWidth>() + lane() % 4 * 2;
    WICK_UNROLL
    for (u32 j = 0; j < kWidth / 8; ++j)
      store_vector(own + 8 * j, Vector<f32, 2>{{out[0][j][2 * i], out[0][j][2 * i + 1]}});
    if (lane() % 4 == 0) {
      bounds[warp * 2 * kRows + row] = largest[i];
      bounds[warp * 2 * kRows + kRows + row] = total[i];
    }
  }
}

/// Combines kParts parts of the keys. Part p has its sum at sums[p * sums_step], its largest score at bounds[p *
/// bounds_step], and its total kRows behind that.
template <u32 kParts, u32 kRows>
WICK_FUNCTION PartialRow join_parts(const f32* sums, u32 sums_step, const f32* bounds, u32 bounds_step) {
  constexpr u32 kAtOnce = kParts < 16 ? kParts : 16;
  PartialRow out = {0.0f, -infinity(0.0f), 0.0f};
  WICK_NO_UNROLL
  for (u32 first = 0; first < kParts; first += kAtOnce) {
    f32 sum[kAtOnce], largest[kAtOnce], total[kAtOnce];
    WICK_UNROLL
    for (u32 i = 0; i < kAtOnce; ++i) {
      const u32 part = first + i < kParts ? first + i : first;
      sum[i] = sums[part * sums_step];
      largest[i] = bounds[part * bounds_step];
      total[i] = bounds[part * bounds_step + kRows];
    }
    f32 now = out.largest;
    WICK_UNROLL
    for (u32 i = 0; i < kAtOnce; ++i) now = maximum(now, largest[i]);
    const f32 shrink = exp(out.largest - base_of(now));
    out = {out.sum * shrink, now, out.total * shrink};
    WICK_UNROLL
    for (u32 i = 0; i < kAtOnce; ++i) {
      const f32 grow = first + i < kParts ? exp(largest[i] - base_of(now)) : 0.0f;
      out.sum += sum[i] * grow;
      out.total += total[i] * grow;
    }
  }
  return out;
}

/// Element e of [kRows][kWidth], combined over the warps.
template <u32 kWarps, u32 kRows, u32 kWidth>
WICK_FUNCTION PartialRow join_rows_of_warps(const f32* sums, const f32* bounds, u32 e) {
  return join_parts<kWarps, kRows>(sums + e / kWidth * padded_row<kWidth>() + e % kWidth, kRows * padded_row<kWidth>(),
                                   bounds + e / kWidth, 2 * kRows);
}
/// The same over the splits. Each split has written its rows by put_row().
template <u32 kSplits, u32 kRows, u32 kWidth>
WICK_FUNCTION PartialRow join_rows_of_splits(const f32* rows, u32 e) {
  constexpr u32 kStep = kRows * (kWidth + 2);
  return join_parts<kSplits, kRows>(rows + e, kStep, rows + kRows * kWidth + e / kWidth, kStep);
}
template <u32 kRows, u32 kWidth>
WICK_FUNCTION void put_row(f32* to, u32 e, PartialRow row) {
  to[e] = row.sum;
  if (e % kWidth != 0) return;
  to[kRows * kWidth + e / kWidth] = row.largest;
  to[kRows * kWidth + kRows + e / kWidth] = row.total;
}

}  // namespace
}  // namespace wick_text
