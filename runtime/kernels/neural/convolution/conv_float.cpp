// Convolution as a matmul: rows are output channels, columns output positions, k is (input channel, tap).
#include "common/float16.h"
#include "runtime/kernels/linear_algebra/gemm.h"
#include "runtime/kernels/movement/strided.h"
#include "runtime/kernels/neural/convolution/conv_geometry.h"

namespace wick {
namespace {

/// One image and group of a convolution.
struct ConvState {
  const ConvGeometry* geometry;
  const void* input;
  const void* weight;
  const void* bias;  // of the group, or null
  void* out;
  ConvWindow window;
  int64_t position_stride;  // of a pointwise convolution's input
};

struct Position {
  int64_t at[3];
};

Position position_of(int64_t flat, const int64_t* sizes) {
  return {{flat / sizes[2] / sizes[1], flat / sizes[2] % sizes[1], flat % sizes[2]}};
}

// --- packing for any float type, stride and direction ----------------------------------------------------------------

template <typename T>
void pack_weight(const void* state, int64_t row, int64_t rows, int64_t k, int64_t k_count, float* out) {
  const ConvState& s = *static_cast<const ConvState*>(state);
  const ConvGeometry& g = *s.geometry;
  for (int64_t i = 0; i < k_count; ++i) {
    const Position tap = position_of((k + i) % g.taps(), g.kernel);
    const T* from = static_cast<const T*>(s.weight) + (k + i) / g.taps() * g.weight_in_stride +
                    tap.at[0] * g.weight_stride[0] + tap.at[1] * g.weight_stride[1] + tap.at[2] * g.weight_stride[2];
    for (int64_t r = 0; r < rows; ++r) out[r * k_count + i] = static_cast<float>(from[(row + r) * g.weight_out_stride]);
  }
}

/// Offset of the input element that `tap` sees from an output position, or -1 if there is none.
int64_t input_offset(const ConvGeometry& g, const Position& origin, const Position& tap) {
  int64_t offset = 0;
  for (int d = 0; d < 3; ++d) {
    int64_t x = origin.at[d] + tap.at[d] * g.tap_step[d];
    if (x < 0) return -1;
    if (g.divisor[d] != 1) {
      if (x % g.divisor[d] != 0) return -1;
      x /= g.divisor[d];
    }
    if (x >= g.input[d]) return -1;
    offset += x * g.input_stride[d];
  }
  return offset;
}

template <typename T>
void pack_input(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                int64_t columns, float* out) {
  constexpr int64_t kMaxColumns = 64;
  const ConvState& s = *static_cast<const ConvState*>(state);
  const ConvGeometry& g = *s.geometry;
  const int64_t width = kernels.gemm_columns;
  for (int64_t first = 0; first < columns; first += width, out += k_count * width) {
    Position origins[kMaxColumns];
    const int64_t count = columns - first < width ? columns - first : width;
    for (int64_t j = 0; j < count; ++j) {
      origins[j] = position_of(column + first + j, g.output);
      for (int d = 0; d < 3; ++d) origins[j].at[d] = origins[j].at[d] * g.out_step[d] + g.origin[d];
    }
    for (int64_t i = 0; i < k_count; ++i) {
      const Position tap = position_of((k + i) % g.taps(), g.kernel);
      const T* plane = static_cast<const T*>(s.input) + (k + i) / g.taps() * g.input_channel_stride;
      for (int64_t j = 0; j < width; ++j) {
        const int64_t offset = j < count ? input_offset(g, origins[j], tap) : -1;
        out[i * width + j] = offset < 0 ? 0.0f : static_cast<float>(plane[offset]);
      }
    }
  }
}

template <typename T>
void store_output(const void* state, int64_t row, int64_t rows, int64_t column, int64_t columns, const float* block) {
  const ConvState& s = *static_cast<const ConvState*>(state);
  const ConvGeometry& g = *s.geometry;
  const T* bias = static_cast<const T*>(s.bias);
  for (int64_t j = 0; j < columns; ++j) {
    const Position at = position_of(column + j, g.output);
    T* to = static_cast<T*>(s.out) + at.at[0] * g.output_stride[0] + at.at[1] * g.output_stride[1] +
            at.at[2] * g.output_stride[2];
    for (int64_t r = 0; r < rows; ++r) {
      const float value = block[r * columns + j] + (bias ? static_cast<float>(bias[row + r]) : 0.0f);
      to[(row + r) * g.output_channel_stride] = T(value);
    }
  }
}

// --- packing f32 -----------------------------------------------------------------------------------------------------

void pack_positions(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                    int64_t columns, float* out) {
  const ConvState& s = *static_cast<const ConvState*>(state);
  const ConvWindow& w = s.window;
  kernels.pack_strided(w.input + k * w.channel_stride + column * s.position_stride, w.channel_stride, s.position_stride,
                       k_count, columns, out);
}

void pack_window(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                 int64_t columns, float* out) {
  kernels.pack_im2col(static_cast<const ConvState*>(state)->window, k, k_count, column, columns, out);
}

ConvWindow window_of(const ConvGeometry& g, const float* input) {
  ConvWindow w = {};
  w.input = input;
  w.channel_stride = g.input_channel_stride;
  for (int d = 0; d < 3; ++d) {
    w.input_stride[d] = g.input_stride[d];
    w.input_size[d] = g.input[d];
    w.output_size[d] = g.output[d];
    w.kernel[d] = g.kernel[d];
    w.stride[d] = g.stride[d];
    w.padding[d] = g.padding[d];
    w.dilation[d] = g.dilation[d];
  }
  return w;
}

/// Kernel of one tap that touches every input position once, in memory order, `step` elements apart.
bool is_pointwise(const ConvGeometry& g, int64_t* step) {
  if (g.transposed || g.taps() != 1 || !is_flat(g.input, g.input_stride, step)) return false;
  for (int d = 0; d < 3; ++d)
    if (g.stride[d] != 1 || g.padding[d] != 0) return false;
  return true;
}

bool weight_is_row_major(const ConvGeometry& g) {
  if (g.transposed || (g.kernel[2] != 1 && g.weight_stride[2] != 1)) return false;
  if (g.kernel[1] != 1 && g.weight_stride[1] != g.kernel[2]) return false;
  if (g.kernel[0] != 1 && g.weight_stride[0] != g.kernel[1] * g.kernel[2]) return false;
  return g.in_channels == 1 || g.weight_in_stride == g.taps();
}

/// One input channel for each output plane. In three dimensions the matmul is better: it shares its packed input.
bool is_depthwise(const ConvGeometry& g) {
  return !g.transposed && g.in_channels == 1 && (g.dims <= 2 || g.out_channels <= 4);
}

bool is_depthwise_plane(const ConvGeometry& g) {
  return is_depthwise(g) && weight_is_row_major(g) && (g.input[2] == 1 || g.input_stride[2] == 1) &&
         (g.input[1] == 1 || g.input_stride[1] == g.input[2]) && (g.output[2] == 1 || g.output_stride[2] == 1) &&
         (g.output[1] == 1 || g.output_stride[1] == g.output[2]);
}

/// Output plane z of one channel: the taps of the first dimension that lie inside the input.
void depthwise_planes_at(const ConvGeometry& g, int64_t z, const float* input, const float* weight, float* out,
                         DepthwisePlane* p) {
  const int64_t z0 = z * g.stride[0] - g.padding[0], step = g.dilation[0];
  int64_t first = 0, end = g.kernel[0];
  while (first < end && z0 + first * step < 0) ++first;
  while (end > first && z0 + (end - 1) * step >= g.input[0]) --end;
  p->planes = end - first;
  p->plane_stride = step * g.input_stride[0];
  p->input = p->planes > 0 ? input + (z0 + first * step) * g.input_stride[0] : input;
  p->weight = weight + first * g.kernel[1] * g.kernel[2];
  p->output = out + z * g.output_stride[0];
}

void convolve_depthwise(KernelContext& context, const ConvGeometry& g, const float* input, const float* weight,
                        const float* bias, float* out) {
  const HotKernels& kernels = hot(context.isa());
  const int64_t channels = g.groups * g.out_channels;
  context.parallel_for(g.batch * channels, 4096 / (g.positions() + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / channels, channel = item % channels, group = channel / g.out_channels;
      DepthwisePlane p = {};
      const float* input_channel = input + image * g.input_batch_stride + group * g.input_channel_stride;
      const float* weights = weight + group * g.weight_group_stride() + channel % g.out_channels * g.weight_out_stride;
      float* output_channel = out + image * g.output_batch_stride + channel * g.output_channel_stride;
      p.bias = bias ? bias[channel] : 0.0f;
      p.row_end = g.output[1];
      p.output_columns = g.output[2];
      for (int d = 0; d < 2; ++d) {
        p.input_size[d] = g.input[d + 1];
        p.kernel[d] = g.kernel[d + 1];
        p.stride[d] = g.stride[d + 1];
        p.padding[d] = g.padding[d + 1];
        p.dilation[d] = g.dilation[d + 1];
      }
      for (int64_t z = 0; z < g.output[0]; ++z) {
        depthwise_planes_at(g, z, input_channel, weights, output_channel, &p);
        kernels.depthwise_plane(p);
      }
    }
  });
}

template <typename T>
ConvState state_of(const ConvGeometry& g, int64_t index, const T* input, const T* weight, const T* bias, T* out) {
  const int64_t image = index / g.groups, group = index % g.groups;
  ConvState s = {};
  s.geometry = &g;
  s.input = input + image * g.input_batch_stride + group * g.in_channels * g.input_channel_stride;
  s.weight = weight + group * g.weight_group_stride();
  s.bias = bias ? bias + group * g.out_channels : nullptr;
  s.out = out + image * g.output_batch_stride + group * g.out_channels * g.output_channel_stride;
  return s;
}

template <typename T>
void convolve_converted(KernelContext& context, const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                        const Tensor* bias, Tensor& out) {
  const GemmScratch scratch = make_gemm_scratch(context, g.out_channels, g.positions(), g.depth(), true);
  if (!scratch.memory) return;
  run_gemm_batch<ConvState>(
      context, g.batch * g.groups, g.out_channels, g.positions(), scratch, [&](int64_t index, ConvState& s) {
        s = state_of<T>(g, index, input.as<T>(), weight.as<T>(), bias ? bias->as<T>() : nullptr, out.as<T>());
        GemmProblem p;
        p.m = g.out_channels;
        p.n = g.positions();
        p.k = g.depth();
        p.pack_a = pack_weight<T>;
        p.pack_b = pack_input<T>;
        p.store_c = store_output<T>;
        p.a_state = p.b_state = p.c_state = &s;
        return p;
      });
}

/// An ordinary or transposed convolution whose output positions are one stride apart.
void convolve_product(KernelContext& context, const ConvGeometry& g, const float* input, const float* weight,
                      const float* bias, float* out) {
  int64_t in_step = 0, out_step = 0;
  is_flat(g.output, g.output_stride, &out_step);
  const bool pointwise = is_pointwise(g, &in_step), row_major = weight_is_row_major(g);
  const GemmScratch scratch = make_gemm_scratch(context, g.out_channels, g.positions(), g.depth(), false);
  if (!scratch.memory) return;
  run_gemm_batch<ConvState>(context, g.batch * g.groups, g.out_channels, g.positions(), scratch,
                            [&](int64_t index, ConvState& s) {
                              s = state_of(g, index, input, weight, bias, out);
                              s.window = window_of(g, static_cast<const float*>(s.input));
                              s.position_stride = in_step;
                              GemmProblem p;
                              p.m = g.out_channels;
                              p.n = g.positions();
                              p.k = g.depth();
                              p.a = static_cast<const float*>(s.weight);
                              p.a_row_stride = g.weight_out_stride;
                              if (!row_major) p.pack_a = pack_weight<float>;
                              p.pack_b = g.transposed ? pack_input<float> : pointwise ? pack_positions : pack_window;
                              p.a_state = p.b_state = &s;
                              p.c = static_cast<float*>(s.out);
                              p.c_row_stride = g.output_channel_stride;
                              p.c_column_stride = out_step;
                              p.row_bias = static_cast<const float*>(s.bias);
                              return p;
                            });
}

// --- rearranging -----------------------------------------------------------------------------------------------------

/// The tensor as packed row-major f32: its own memory if it is that, else a copy in temp memory.
const float* packed_f32(KernelContext& context, const Tensor& tensor) {
  if (tensor.dtype == DType::f32) return static_cast<const float*>(kernels::contiguous_data(context, tensor));
  float* copy = context.allocate_temp_array<float>(tensor.numel);
  if (!copy) return nullptr;
  const kernels::View from = kernels::view_of(tensor);
  kernels::convert_view(context, kernels::contiguous_view(copy, from.sizes, from.rank), DType::f32, from, tensor.dtype);
  return copy;
}

void row_major_strides(const int64_t* sizes, int64_t* strides) {
  strides[2] = 1;
  strides[1] = sizes[2];
  strides[0] = sizes[1] * sizes[2];
}

/// The geometry of the same convolution over row-major tensors.
ConvGeometry row_major(const ConvGeometry& g) {
  ConvGeometry r = g;
  row_major_strides(g.input, r.input_stride);
  row_major_strides(g.output, r.output_stride);
  row_major_strides(g.kernel, r.weight_stride);
  r.input_channel_stride = g.input[0] * g.input[1] * g.input[2];
  r.input_batch_stride = g.groups * g.in_channels * r.input_channel_stride;
  r.output_channel_stride = g.positions();
  r.output_batch_stride = g.groups * g.out_channels * g.positions();
  r.weight_in_stride = g.transposed ? g.out_channels * g.taps() : g.taps();
  r.weight_out_stride = g.transposed ? g.taps() : g.depth();
  return r;
}

void convolve_f32(KernelContext& context, const ConvGeometry& g, const float* input, const float* weight,
                  const float* bias, float* out) {
  if (g.transposed && convolve_transposed(context, g, input, weight, bias, out)) return;
  if (is_depthwise_plane(g)) return convolve_depthwise(context, g, input, weight, bias, out);
  convolve_product(context, g, input, weight, bias, out);
}

/// Whether rows of input, output and weights lie in memory as the fast loops need them.
bool is_convenient(const ConvGeometry& g) {
  int64_t step = 0;
  const bool flat = is_flat(g.output, g.output_stride, &step);
  if (is_depthwise(g)) return is_depthwise_plane(g);
  if (!flat || (!g.transposed && !weight_is_row_major(g))) return false;
  return is_pointwise(g, &step) || g.input[2] == 1 || g.input_stride[2] == 1;
}

/// Convolves row-major f32 copies. False, with nothing done, if temp memory has no room for them.
bool convolve_copies(KernelContext& context, const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                     const Tensor* bias, Tensor& out) {
  constexpr uint64_t kReserve = uint64_t{4} << 20;  // for the product's blocks
  const uint64_t floats = uint64_t{input.numel} + 2 * uint64_t{weight.numel} + uint64_t{out.numel};
  if (floats * sizeof(float) + kReserve > context.temp_available()) return false;
  const bool direct = out.dtype == DType::f32 && is_contiguous(out);
  const float* x = packed_f32(context, input);
  const float* w = packed_f32(context, weight);
  const float* b = bias ? packed_f32(context, *bias) : nullptr;
  float* y = direct ? out.as<float>() : context.allocate_temp_array<float>(out.numel);
  if (!x || !w || !y || (bias && !b)) return true;
  convolve_f32(context, row_major(g), x, w, b, y);
  if (direct || !context.ok()) return true;
  const kernels::View to = kernels::view_of(out);
  kernels::convert_view(context, to, out.dtype, kernels::contiguous_view(y, to.sizes, to.rank), DType::f32);
  return true;
}

}  // namespace

void convolve_float(KernelContext& context, const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                    const Tensor* bias, Tensor& out) {
  const bool f32 = out.dtype == DType::f32, bias_dense = !bias || is_contiguous(*bias);
  if (f32 && bias_dense && is_convenient(g)) {
    return convolve_f32(context, g, input.as<float>(), weight.as<float>(), bias ? bias->as<float>() : nullptr,
                        out.as<float>());
  }
  if (convolve_copies(context, g, input, weight, bias, out)) return;
  if (out.dtype == DType::f16) return convolve_converted<Half>(context, g, input, weight, bias, out);
  if (out.dtype == DType::bf16) return convolve_converted<BFloat16>(context, g, input, weight, bias, out);
  convolve_converted<float>(context, g, input, weight, bias, out);
}

}  // namespace wick
