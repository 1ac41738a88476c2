// Matrix product over packed panels, and the packing. Included inside the namespace of one instruction set.

constexpr int64_t kTileRows = WICK_HOT_TILE_ROWS;
constexpr int64_t kTileVectors = WICK_HOT_TILE_VECTORS;
constexpr int64_t kTileColumns = kLanes * kTileVectors;

WICK_HOT_INLINE Vec clamp_vec(Vec v, float lower, float upper) {
  v = select(v < splat(lower), splat(lower), v);
  return select(v > splat(upper), splat(upper), v);
}

/// The tile's results, one by one: `columns` of them in each row.
template <int R, int V>
WICK_HOT_INLINE void store_lanes(const GemmBlock& g, const Vec (&sum)[R][V], float* c, int64_t columns) {
  float lanes[R][V * kLanes];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) store(&lanes[r][v * kLanes], sum[r][v]);
  if (g.c_column_stride == 1) {
    for (int r = 0; r < R; ++r)
      for (int64_t j = 0; j < columns; ++j) c[r * g.c_row_stride + j] = lanes[r][j];
  } else {
    for (int64_t j = 0; j < columns; ++j)
      for (int r = 0; r < R; ++r) c[r * g.c_row_stride + j * g.c_column_stride] = lanes[r][j];
  }
}

/// One register tile: R rows, V vectors of which the last may be partial (`columns` valid in all).
template <int R, int V>
void gemm_tile(const GemmBlock& g, const float* a, const float* b, float* c, int64_t row, int64_t column, int64_t columns) {
  Vec sum[R][V];
  const bool whole = g.c_column_stride == 1 && columns == V * kLanes;
  if (!g.accumulate) {
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) sum[r][v] = Vec{};
  } else if (whole) {
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) sum[r][v] = load(c + r * g.c_row_stride + v * kLanes);
  } else {
    float lanes[R][V * kLanes];
    for (int r = 0; r < R; ++r)
      for (int64_t j = 0; j < V * kLanes; ++j)
        lanes[r][j] = j < columns ? c[r * g.c_row_stride + j * g.c_column_stride] : 0.0f;
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) sum[r][v] = load(&lanes[r][v * kLanes]);
  }

  const int64_t stride = g.a_row_stride;
  for (int64_t k = 0; k < g.k; ++k) {
    Vec right[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) right[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec left = splat(a[r * stride]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] += left * right[v];
    }
    ++a;
    b += kTileColumns;
  }

  if (g.finish) {
    for (int r = 0; r < R; ++r) {
      const Vec row_bias = splat(g.row_bias ? g.row_bias[row + r] : 0.0f);
      for (int v = 0; v < V; ++v) {
        Vec value = sum[r][v];
        if (g.alpha != 1.0f) value = value * splat(g.alpha);
        if (g.row_bias) value = value + row_bias;
        if (g.column_bias) value = value + load_part(g.column_bias + column + v * kLanes, columns - v * kLanes, 0.0f);
        sum[r][v] = clamp_vec(value, g.lower, g.upper);
      }
    }
  }
  if (whole) {
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) store(c + r * g.c_row_stride + v * kLanes, sum[r][v]);
  } else {
    store_lanes<R, V>(g, sum, c, columns);
  }
}

using TileFn = void (*)(const GemmBlock&, const float*, const float*, float*, int64_t, int64_t, int64_t);

#define WICK_HOT_TILES(R) {gemm_tile<R, 1>, gemm_tile<R, kTileVectors>}
const TileFn kTiles[kTileRows][2] = {
    WICK_HOT_TILES(1), WICK_HOT_TILES(2), WICK_HOT_TILES(3), WICK_HOT_TILES(4),
#if WICK_HOT_TILE_ROWS > 4
    WICK_HOT_TILES(5), WICK_HOT_TILES(6),
#endif
#if WICK_HOT_TILE_ROWS > 6
    WICK_HOT_TILES(7), WICK_HOT_TILES(8), WICK_HOT_TILES(9), WICK_HOT_TILES(10), WICK_HOT_TILES(11), WICK_HOT_TILES(12),
#endif
};
#undef WICK_HOT_TILES

/// Cuts rows into tiles of nearly equal height, so that no thin tile remains.
void gemm_block(const GemmBlock& g) {
  const int64_t tiles = (g.m + kTileRows - 1) / kTileRows;
  for (int64_t column = 0; column < g.n; column += kTileColumns) {
    const int64_t columns = g.n - column < kTileColumns ? g.n - column : kTileColumns;
    const float* b = g.b + column * g.k;
    int64_t row = 0;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t rows = (g.m - row + (tiles - tile) - 1) / (tiles - tile);
      kTiles[rows - 1][columns > kLanes](g, g.a + row * g.a_row_stride, b, g.c + row * g.c_row_stride + column * g.c_column_stride,
                                         row, column, columns);
      row += rows;
    }
  }
}

typedef float Vec4 __attribute__((vector_size(16)));

/// Transposes 4 x 4 floats: rows at in + i * in_stride, written to rows at out + i * out_stride.
WICK_HOT_INLINE void transpose4(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
  Vec4 rows[4];
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&rows[i], in + i * in_stride, 16);
  const Vec4 low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Vec4 high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Vec4 low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Vec4 high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  const Vec4 columns[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                           __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) __builtin_memcpy(out + i * out_stride, &columns[i], 16);
}

/// One panel whose columns are rows of memory (k contiguous).
void pack_transposed_panel(const float* source, int64_t column_stride, int64_t k_count, int64_t columns, float* out) {
  const int64_t whole_columns = columns / 4 * 4, whole_k = k_count / 4 * 4;
  for (int64_t j = 0; j < whole_columns; j += 4) {
    for (int64_t k = 0; k < whole_k; k += 4)
      transpose4(source + j * column_stride + k, column_stride, out + k * kTileColumns + j, kTileColumns);
    for (int64_t k = whole_k; k < k_count; ++k)
      for (int64_t i = 0; i < 4; ++i) out[k * kTileColumns + j + i] = source[(j + i) * column_stride + k];
  }
  for (int64_t j = whole_columns; j < kTileColumns; ++j)
    for (int64_t k = 0; k < k_count; ++k) out[k * kTileColumns + j] = j < columns ? source[j * column_stride + k] : 0.0f;
}

void pack_strided(const float* source, int64_t k_stride, int64_t column_stride, int64_t k_count, int64_t columns, float* out) {
  for (int64_t first = 0; first < columns; first += kTileColumns, out += k_count * kTileColumns) {
    const int64_t count = columns - first < kTileColumns ? columns - first : kTileColumns;
    const float* panel = source + first * column_stride;
    if (column_stride == 1 && count == kTileColumns) {
      for (int64_t k = 0; k < k_count; ++k) __builtin_memcpy(out + k * kTileColumns, panel + k * k_stride, kTileColumns * 4);
    } else if (k_stride == 1) {
      pack_transposed_panel(panel, column_stride, k_count, count, out);
    } else {
      for (int64_t k = 0; k < k_count; ++k)
        for (int64_t j = 0; j < kTileColumns; ++j)
          out[k * kTileColumns + j] = j < count ? panel[k * k_stride + j * column_stride] : 0.0f;
    }
  }
}

/// A run of output positions in one output row: all share the row's input origin.
struct Segment {
  int64_t begin, count;            // columns of the panel
  int64_t origin[3];               // input position of tap 0 at the segment's first column; may be outside
};

/// Output positions [first, first + columns) as segments; returns how many.
WICK_HOT_INLINE int64_t make_segments(const ConvWindow& w, int64_t first, int64_t columns, Segment* segments) {
  const int64_t width = w.output_size[2], height = w.output_size[1];
  int64_t x = first % width, y = first / width % height, z = first / width / height, made = 0;
  for (int64_t begin = 0; begin < columns; ++made) {
    const int64_t count = width - x < columns - begin ? width - x : columns - begin;
    segments[made] = {begin, count,
                      {z * w.stride[0] - w.padding[0], y * w.stride[1] - w.padding[1], x * w.stride[2] - w.padding[2]}};
    begin += count;
    x = 0;
    if (++y == height) {
      y = 0;
      ++z;
    }
  }
  return made;
}

/// out[i] = row[(x + i * step)] for positions inside [0, size), else 0.
WICK_HOT_INLINE void copy_row(const float* row, int64_t stride, int64_t x, int64_t step, int64_t size, int64_t count, float* out) {
  if (stride == 1 && step == 1 && x >= 0 && x + count <= size) {
    if (count == kTileColumns) {
      __builtin_memcpy(out, row + x, kTileColumns * 4);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = row[x + i];
    }
    return;
  }
  int64_t begin = x < 0 ? (-x + step - 1) / step : 0;
  int64_t end = x < size ? (size - x + step - 1) / step : 0;
  if (begin > count) begin = count;
  if (end > count) end = count;
  if (end < begin) end = begin;
  for (int64_t i = 0; i < begin; ++i) out[i] = 0.0f;
  if (stride == 1 && step == 1) {
    for (int64_t i = begin; i < end; ++i) out[i] = row[x + i];
  } else {
    const int64_t advance = step * stride;
    for (int64_t i = begin; i < end; ++i) out[i] = row[x * stride + i * advance];
  }
  for (int64_t i = end; i < count; ++i) out[i] = 0.0f;
}

void pack_im2col_panel(const ConvWindow& w, int64_t k_begin, int64_t k_count, int64_t first, int64_t columns, float* out) {
  Segment segments[kTileColumns];
  const int64_t num_segments = make_segments(w, first, columns, segments);
  int64_t tap_x = k_begin % w.kernel[2], rest = k_begin / w.kernel[2];
  int64_t tap_y = rest % w.kernel[1];
  rest /= w.kernel[1];
  int64_t tap_z = rest % w.kernel[0], channel = rest / w.kernel[0];
  for (int64_t k = 0; k < k_count; ++k, out += kTileColumns) {
    const float* plane = w.input + channel * w.channel_stride;
    for (int64_t s = 0; s < num_segments; ++s) {
      const Segment& segment = segments[s];
      const int64_t z = segment.origin[0] + tap_z * w.dilation[0];
      const int64_t y = segment.origin[1] + tap_y * w.dilation[1];
      float* target = out + segment.begin;
      if (z < 0 || z >= w.input_size[0] || y < 0 || y >= w.input_size[1]) {
        for (int64_t i = 0; i < segment.count; ++i) target[i] = 0.0f;
        continue;
      }
      copy_row(plane + z * w.input_stride[0] + y * w.input_stride[1], w.input_stride[2],
               segment.origin[2] + tap_x * w.dilation[2], w.stride[2], w.input_size[2], segment.count, target);
    }
    for (int64_t i = columns; i < kTileColumns; ++i) out[i] = 0.0f;
    if (++tap_x < w.kernel[2]) continue;
    tap_x = 0;
    if (++tap_y < w.kernel[1]) continue;
    tap_y = 0;
    if (++tap_z < w.kernel[0]) continue;
    tap_z = 0;
    ++channel;
  }
}

void pack_im2col(const ConvWindow& window, int64_t k_begin, int64_t k_count, int64_t column_begin, int64_t columns, float* out) {
  for (int64_t first = 0; first < columns; first += kTileColumns, out += k_count * kTileColumns) {
    const int64_t count = columns - first < kTileColumns ? columns - first : kTileColumns;
    pack_im2col_panel(window, k_begin, k_count, column_begin + first, count, out);
  }
}
