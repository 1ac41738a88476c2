// Loops over contiguous rows. Included inside the namespace of one instruction set.

/// out[i] = Fn(in[i]) over whole vectors and a padded rest.
template <Vec (*Fn)(Vec)>
void map_row(const float* in, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, Fn(load(in + i)));
  if (i < count) store_part(out + i, Fn(load_part(in + i, count - i, 0.0f)), count - i);
}

float dot(const float* a, const float* b, int64_t count) {
  Vec sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    for (int v = 0; v < 4; ++v) sum[v] += load(a + i + v * kLanes) * load(b + i + v * kLanes);
  for (; i + kLanes <= count; i += kLanes) sum[0] += load(a + i) * load(b + i);
  if (i < count) sum[1] += load_part(a + i, count - i, 0.0f) * load_part(b + i, count - i, 0.0f);
  return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

void axpy(float a, const float* x, float* y, int64_t count) {
  int64_t i = 0;
  const Vec factor = splat(a);
  for (; i + kLanes <= count; i += kLanes) store(y + i, load(y + i) + factor * load(x + i));
  for (; i < count; ++i) y[i] += a * x[i];
}

/// The larger of both; NaN if either is NaN.
WICK_HOT_INLINE Vec max_vec(Vec a, Vec b) { return select((a > b) | (a != a), a, b); }

float max_row(const float* in, int64_t count) {
  const float lowest = -__builtin_inff();
  Vec best = splat(lowest);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) best = max_vec(best, load(in + i));
  if (i < count) best = max_vec(best, load_part(in + i, count - i, lowest));
  float lanes[kLanes];
  store(lanes, best);
  float result = lanes[0];
  for (int64_t lane = 1; lane < kLanes; ++lane)
    if (!(result > lanes[lane]) && result == result) result = lanes[lane];
  return result;
}

float exp_sum_row(const float* in, float shift, float* out, int64_t count) {
  const Vec offset = splat(shift);
  Vec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec e = exp_vec(load(in + i) - offset);
    store(out + i, e);
    sum += e;
  }
  float rest = 0.0f;
  if (i < count) {
    float lanes[kLanes];
    store(lanes, exp_vec(load_part(in + i, count - i, 0.0f) - offset));
    for (int64_t j = 0; j < count - i; ++j) {
      out[i + j] = lanes[j];
      rest += lanes[j];
    }
  }
  return sum_lanes(sum) + rest;
}

void scale_row(float* data, float factor, int64_t count) {
  const Vec by = splat(factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(data + i, load(data + i) * by);
  for (; i < count; ++i) data[i] *= factor;
}

void softmax_row(const float* in, float* out, int64_t count) {
  const float sum = exp_sum_row(in, max_row(in, count), out, count);
  scale_row(out, 1.0f / sum, count);
}

/// log(x) for a finite x >= 1: exponent and mantissa, then three Newton steps on exp.
WICK_HOT_INLINE float log_of_sum(float x) {
  if (!(x < __builtin_inff())) return x;
  int32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  float y = static_cast<float>(bits - 0x3f800000) * 8.26295829e-8f;  // log2, piecewise linear, times ln 2
  for (int step = 0; step < 3; ++step) {
    const Vec e = exp_vec(splat(-y));
    y = y + (x * e[0] - 1.0f);
  }
  return y;
}

void log_softmax_row(const float* in, float* out, int64_t count) {
  const float top = max_row(in, count);
  const Vec offset = splat(top);
  Vec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sum += exp_vec(load(in + i) - offset);
  float total = sum_lanes(sum);
  if (i < count) {
    float lanes[kLanes];
    store(lanes, exp_vec(load_part(in + i, count - i, 0.0f) - offset));
    for (int64_t j = 0; j < count - i; ++j) total += lanes[j];
  }
  const float log_sum = log_of_sum(total);
  for (int64_t j = 0; j < count; ++j) out[j] = (in[j] - top) - log_sum;
}

float square_root(float value) {
#if defined(__x86_64__) || (defined(__ARM_FP) && (__ARM_FP & 4))
  return __builtin_sqrtf(value < 0.0f ? __builtin_nanf("") : value);
#else
  if (!(value > 0.0f) || value == __builtin_inff()) return value < 0.0f ? __builtin_nanf("") : value;
  int32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  bits = (bits >> 1) + 0x1fbd1df5;
  float guess;
  __builtin_memcpy(&guess, &bits, 4);
  double root = static_cast<double>(guess);
  for (int step = 0; step < 5; ++step) root = 0.5 * (root + static_cast<double>(value) / root);
  return static_cast<float>(root);
#endif
}

void moments_row(const float* in, int64_t count, float epsilon, float* mean, float* inverse_deviation) {
  Vec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sum += load(in + i);
  if (i < count) sum += load_part(in + i, count - i, 0.0f);
  const float average = sum_lanes(sum) / static_cast<float>(count);
  Vec squares = {};
  for (i = 0; i + kLanes <= count; i += kLanes) {
    const Vec d = load(in + i) - splat(average);
    squares += d * d;
  }
  if (i < count) {
    const Vec d = load_part(in + i, count - i, average) - splat(average);
    squares += d * d;
  }
  *mean = average;
  *inverse_deviation = 1.0f / square_root(sum_lanes(squares) / static_cast<float>(count) + epsilon);
}

void normalize_row(const float* in, float mean, float scale, const float* weight, const float* bias, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vec v = (load(in + i) - splat(mean)) * splat(scale);
    if (weight) v = v * load(weight + i);
    if (bias) v = v + load(bias + i);
    store(out + i, v);
  }
  for (; i < count; ++i) {
    float v = (in[i] - mean) * scale;
    if (weight) v = v * weight[i];
    if (bias) v = v + bias[i];
    out[i] = v;
  }
}

void affine_row(const float* in, float scale, float shift, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, load(in + i) * splat(scale) + splat(shift));
  for (; i < count; ++i) out[i] = in[i] * scale + shift;
}

/// Elements 0, 2, 4 .. 2 * kLanes - 2; reads nothing behind the last.
WICK_HOT_INLINE Vec load_even(const float* p) {
#if WICK_HOT_LANES == 4
  return __builtin_shufflevector(load(p), load(p + 3), 0, 2, 5, 7);
#elif WICK_HOT_LANES == 8
  return __builtin_shufflevector(load(p), load(p + 7), 0, 2, 4, 6, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(load(p), load(p + 15), 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
#endif
}

typedef int64_t LongVec __attribute__((vector_size(WICK_HOT_LANES * 8)));

/// max_pool_row for strides 1 and 2; returns how many elements it did.
template <int Stride>
int64_t max_pool_vectors(const float* in, int64_t first, float* out, int64_t* index, int64_t count) {
  LongVec candidate;
  for (int64_t l = 0; l < kLanes; ++l) candidate[l] = first + l * Stride;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec value = Stride == 1 ? load(in + i) : load_even(in + 2 * i), best = load(out + i);
    const IntVec better = (value > best) | (value != value);
    store(out + i, select(better, value, best));
    LongVec at;
    __builtin_memcpy(&at, index + i, sizeof at);
    const LongVec wide = __builtin_convertvector(better, LongVec);
    at = (candidate & wide) | (at & ~wide);
    __builtin_memcpy(index + i, &at, sizeof at);
    candidate += kLanes * Stride;
  }
  return i;
}

void max_pool_row(const float* in, int64_t stride, int64_t first, float* out, int64_t* index, int64_t count) {
  int64_t i = 0;
  if (stride == 1) i = max_pool_vectors<1>(in, first, out, index, count);
  if (stride == 2) i = max_pool_vectors<2>(in, first, out, index, count);
  for (; i < count; ++i) {
    const float value = in[i * stride];
    const bool better = value > out[i] || value != value;
    out[i] = better ? value : out[i];
    index[i] = better ? first + i * stride : index[i];
  }
}

/// One output of a depthwise convolution, taps outside the input skipped.
WICK_HOT_INLINE float depthwise_edge(const DepthwisePlane& p, int64_t y0, int64_t x0) {
  float sum = 0.0f;
  const float *input = p.input, *weight = p.weight;
  for (int64_t plane = 0; plane < p.planes; ++plane, input += p.plane_stride, weight += p.kernel[0] * p.kernel[1]) {
    for (int64_t ky = 0; ky < p.kernel[0]; ++ky) {
      const int64_t y = y0 + ky * p.dilation[0];
      if (y < 0 || y >= p.input_size[0]) continue;
      for (int64_t kx = 0; kx < p.kernel[1]; ++kx) {
        const int64_t x = x0 + kx * p.dilation[1];
        if (x >= 0 && x < p.input_size[1]) sum += weight[ky * p.kernel[1] + kx] * input[y * p.input_size[1] + x];
      }
    }
  }
  return sum + p.bias;
}

/// kLanes outputs of one row, all columns of all taps inside the input. Step is the column stride, 1 or 2.
template <int Step>
WICK_HOT_INLINE Vec depthwise_inner(const DepthwisePlane& p, int64_t y0, int64_t x0) {
  Vec sum = {};
  const float *input = p.input, *weight = p.weight;
  for (int64_t plane = 0; plane < p.planes; ++plane, input += p.plane_stride, weight += p.kernel[0] * p.kernel[1]) {
    for (int64_t ky = 0; ky < p.kernel[0]; ++ky) {
      const int64_t y = y0 + ky * p.dilation[0];
      if (y < 0 || y >= p.input_size[0]) continue;
      const float* row = input + y * p.input_size[1] + x0;
      for (int64_t kx = 0; kx < p.kernel[1]; ++kx) {
        const float* at = row + kx * p.dilation[1];
        sum += splat(weight[ky * p.kernel[1] + kx]) * (Step == 1 ? load(at) : load_even(at));
      }
    }
  }
  return sum + splat(p.bias);
}

/// A row of outputs: vectors where all columns of all taps lie inside the input, single outputs at the edges.
void depthwise_row(const DepthwisePlane& p, int64_t y) {
  const int64_t step = p.stride[1], count = p.output_columns;
  const int64_t room = p.input_size[1] - (p.kernel[1] - 1) * p.dilation[1] - 1 + p.padding[1];
  int64_t first = (p.padding[1] + step - 1) / step;           // from here on no tap lies left of the input
  int64_t last = room < 0 ? 0 : room / step + 1;              // up to here none lies right of it
  if (last > count) last = count;
  const bool vectors = step <= 2 && last - first >= kLanes;
  if (!vectors) first = last = count;
  const int64_t y0 = y * p.stride[0] - p.padding[0];
  float* out = p.output + y * count;
  for (int64_t x = 0; x < first; ++x) out[x] = depthwise_edge(p, y0, x * step - p.padding[1]);
  for (int64_t x = first; x < last; x += kLanes) {
    if (x + kLanes > last) x = last - kLanes;  // the last vector overlaps the one before
    const int64_t x0 = x * step - p.padding[1];
    store(out + x, step == 1 ? depthwise_inner<1>(p, y0, x0) : depthwise_inner<2>(p, y0, x0));
  }
  for (int64_t x = last; x < count; ++x) out[x] = depthwise_edge(p, y0, x * step - p.padding[1]);
}

#if WICK_HOT_LANES > 4
constexpr int64_t kPaddedFloats = 2048;

/// A plane narrower than two vectors: from a zero-padded copy, so that every output is a lane of a vector. False if the copy
/// does not fit the stack.
bool depthwise_narrow(const DepthwisePlane& p) {
  const int64_t step = p.stride[1], slack = kLanes * step;
  const int64_t rows = p.input_size[0] + 2 * p.padding[0], columns = p.input_size[1] + 2 * p.padding[1] + slack;
  if (p.planes != 1 || step > 2 || p.output_columns >= 2 * kLanes || rows > kPaddedFloats || columns > kPaddedFloats || rows * columns > kPaddedFloats)
    return false;
  float copy[kPaddedFloats];
  for (int64_t i = 0; i < rows * columns; ++i) copy[i] = 0.0f;
  for (int64_t y = 0; y < p.input_size[0]; ++y)
    for (int64_t x = 0; x < p.input_size[1]; ++x)
      copy[(y + p.padding[0]) * columns + x + p.padding[1]] = p.input[y * p.input_size[1] + x];
  DepthwisePlane padded = p;
  padded.input = copy;
  padded.input_size[0] = rows;
  padded.input_size[1] = columns;
  padded.padding[0] = padded.padding[1] = 0;
  for (int64_t y = p.row_begin; y < p.row_end; ++y) {
    float* out = p.output + y * p.output_columns;
    for (int64_t x = 0; x < p.output_columns; x += kLanes) {
      const Vec v = step == 1 ? depthwise_inner<1>(padded, y * p.stride[0], x) : depthwise_inner<2>(padded, y * p.stride[0], x * 2);
      p.output_columns - x < kLanes ? store_part(out + x, v, p.output_columns - x) : store(out + x, v);
    }
  }
  return true;
}
#endif

void depthwise_plane(const DepthwisePlane& p) {
#if WICK_HOT_LANES > 4
  if (depthwise_narrow(p)) return;
#endif
  for (int64_t y = p.row_begin; y < p.row_end; ++y) depthwise_row(p, y);
}
