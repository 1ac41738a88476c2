// The inner loops that decide the speed of a model, built once per instruction set from hot_loops.inl. C++17,
// freestanding.
#pragma once
#include <stdint.h>

#include "wick/kernel.h"

namespace wick {

/// C = A B over one block. Elements are summed over k in ascending order, one accumulator per element, so that a split
/// of k into several calls (accumulate = true from the second on) changes no bit of the result.
struct GemmBlock {
  const float* a;        // [m, k], k contiguous
  int64_t a_row_stride;  // in elements
  const float* b;        // packed by pack_strided or pack_im2col: [n / gemm_columns][k][gemm_columns]
  float* c;              // [m, n]
  int64_t c_row_stride, c_column_stride;
  int64_t m, n, k;
  bool accumulate;  // start from C instead of 0
  bool finish;      // last call for this block: C = clamp(alpha * C + row_bias + column_bias)
  float alpha;
  const float* row_bias;     // m values or null
  const float* column_bias;  // n values or null
  float lower, upper;        // clamp; NaN passes
};

/// Geometry of a convolution over one image and one group, always as three spatial dimensions (unused ones: size 1,
/// kernel 1, stride 1). Strides of the input are in elements.
struct ConvWindow {
  const float* input;
  int64_t channel_stride;
  int64_t input_stride[3];
  int64_t input_size[3], output_size[3], kernel[3], stride[3], padding[3], dilation[3];
};

/// One output plane of a depthwise convolution: rows and columns contiguous. The taps of a third dimension are `planes`
/// input planes, 0 included.
struct DepthwisePlane {
  const float* input;            // [planes, input_size[0], input_size[1]]
  const float* weight;           // [planes, kernel[0], kernel[1]]
  int64_t planes, plane_stride;  // the stride is the input's
  float bias;
  float* output;  // rows [row_begin, row_end) of [.., output_columns] are written
  int64_t row_begin, row_end, output_columns;
  int64_t input_size[2], kernel[2], stride[2], padding[2], dilation[2];
};

/// One pass of a Fourier transform over `stride` interleaved sequences of n elements (element k of sequence q lies at
/// k * stride + q): transforms of `radix` elements that lie n / radix apart, times roots of unity. Makes stride * radix
/// sequences of n / radix elements. Passes over all factors of a length give its forward transform.
struct FourierPass {
  const double *re, *im;
  double *out_re, *out_im;  // elsewhere
  int64_t n, stride, radix;
  const double *root_re, *root_im;  // exp(-2 pi i k / (n * root_step)) for k < n * root_step
  int64_t root_step;
};

/// Rows of the tiles of HotKernels::tile_f64 and the other tile functions, which have gemm_columns * 4 / sizeof(T)
/// columns.
constexpr int kProductRows = 4;
constexpr int kMostProductColumns = 32;  // of 32-bit numbers, at any instruction set

struct HotKernels {
  int64_t gemm_rows, gemm_columns;  // register tile
  void (*gemm_block)(const GemmBlock&);
  /// Packs columns of B: element (k, j) of the k_count x columns block lies at source[k * k_stride + j *
  /// column_stride]. Writes ceil(columns / gemm_columns) panels; missing columns are 0.
  void (*pack_strided)(const float* source, int64_t k_stride, int64_t column_stride, int64_t k_count, int64_t columns,
                       float* out);
  /// The same for B = im2col(window): row k is (channel, tap), column j a flat output position, both from an offset.
  void (*pack_im2col)(const ConvWindow& window, int64_t k_begin, int64_t k_count, int64_t column_begin, int64_t columns,
                      float* out);
  void (*depthwise_plane)(const DepthwisePlane&);
  /// Sum of a[i] * b[i].
  float (*dot)(const float* a, const float* b, int64_t count);
  /// y[i] += a * x[i].
  void (*axpy)(float a, const float* x, float* y, int64_t count);
  /// Softmax (or its logarithm) of one contiguous row; in and out may be the same.
  void (*softmax_row)(const float* in, float* out, int64_t count);
  void (*log_softmax_row)(const float* in, float* out, int64_t count);
  /// Softmax over the middle dimension of [outer = 1, count, inner], inner contiguous.
  float (*max_row)(const float* in, int64_t count);  // NaN wins; -inf for count 0
  /// out[i] = exp(in[i] - shift); returns their sum.
  float (*exp_sum_row)(const float* in, float shift, float* out, int64_t count);
  void (*scale_row)(float* data, float factor, int64_t count);
  /// Mean and 1 / sqrt(variance + epsilon) of a row (biased variance, two passes).
  void (*moments_row)(const float* in, int64_t count, float epsilon, float* mean, float* inverse_deviation);
  /// out[i] = (in[i] - mean) * scale * weight[i] + bias[i]; weight and bias may be null.
  void (*normalize_row)(const float* in, float mean, float scale, const float* weight, const float* bias, float* out,
                        int64_t count);
  /// out[i] = in[i] * scale + shift.
  void (*affine_row)(const float* in, float scale, float shift, float* out, int64_t count);
  /// out[i] = max(out[i], in[i * stride]), NaN wins; the index of a new maximum (first + i * stride) goes to index.
  void (*max_pool_row)(const float* in, int64_t stride, int64_t first, float* out, int64_t* index, int64_t count);
  /// out[i] = f(in[i]); in and out may be the same. sigmoid, erf, gelu and their like are computed in float and within
  /// 3 units in the last place, the others in double and rounded once.
  using Map = void (*)(const float* in, float* out, int64_t count);
  Map exp, tanh, sigmoid, erf, gelu, gelu_tanh, silu;
  Map log, log2, log10, log1p, expm1, sinh, cosh, asinh, acosh, atanh, asin, acos, atan;
  Map softplus, log_sigmoid, mish;  // log(1 + exp(x)), -log(1 + exp(-x)), x tanh(softplus(x))
  Map sin, cos, tan;
  /// out[i] = f(a[i], b[i]); out may be an input.
  using Map2 = void (*)(const float* a, const float* b, float* out, int64_t count);
  Map2 pow, atan2;
  void (*fourier_pass)(const FourierPass&);
  /// sums[r, j] += a[k, r] * b[k, j] for each k, ascending; integers wrap.
  void (*tile_f64)(const double* a, const double* b, int64_t k, double* sums);
  void (*tile_u32)(const uint32_t* a, const uint32_t* b, int64_t k, uint32_t* sums);
  void (*tile_u64)(const uint64_t* a, const uint64_t* b, int64_t k, uint64_t* sums);
};

/// The loops for `level`; a level that this build lacks gives the next lower one. The caller has checked that the
/// processor executes `level`.
const HotKernels& hot(IsaLevel level);

}  // namespace wick
