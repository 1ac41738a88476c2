// Transposed convolution, phase by phase. Output positions o = phase + stride * q of one phase see the same taps: those
// t with (o + padding - t * dilation) a multiple of the stride. They lie `period` apart, and the input position moves
// by one with q: an ordinary convolution with stride 1 and a (negative) dilation.
#include <string.h>

#include "runtime/kernels/linear_algebra/gemm.h"
#include "runtime/kernels/neural/convolution/conv_geometry.h"

namespace wick {
namespace {

int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// One phase. All counts are 0 in a dimension without taps.
struct Phase {
  int64_t outputs[3], first_tap[3], period[3], taps[3];
  int64_t origin[3];  // input position of the first tap at q = 0
  int64_t step[3];    // input positions from one tap to the next
  int64_t out_offset;
  int64_t weight_offset;  // in the packed weights of one group

  int64_t positions() const { return outputs[0] * outputs[1] * outputs[2]; }
  int64_t num_taps() const { return taps[0] * taps[1] * taps[2]; }
};

/// Phase `residue`; false if it has no outputs.
bool make_phase(const ConvGeometry& g, const int64_t* residue, Phase* phase) {
  phase->out_offset = 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t stride = g.divisor[d], dilation = -g.tap_step[d];
    if (residue[d] >= g.output[d]) return false;
    phase->outputs[d] = (g.output[d] - residue[d] + stride - 1) / stride;
    phase->period[d] = stride / common_divisor(stride, dilation);
    phase->step[d] = -(phase->period[d] * dilation / stride);
    phase->first_tap[d] = phase->taps[d] = phase->origin[d] = 0;
    for (int64_t tap = 0; tap < phase->period[d] && tap < g.kernel[d]; ++tap) {
      const int64_t at = residue[d] + g.origin[d] - tap * dilation;
      if (at % stride != 0) continue;
      phase->first_tap[d] = tap;
      phase->taps[d] = (g.kernel[d] - tap + phase->period[d] - 1) / phase->period[d];
      phase->origin[d] = at / stride;
      break;
    }
    phase->out_offset += residue[d] * g.output_stride[d];
  }
  return true;
}

/// Calls fn(phase) for each phase with outputs, in order.
template <typename F>
void for_each_phase(const ConvGeometry& g, F&& fn) {
  int64_t weight_offset = 0, residue[3];
  for (residue[0] = 0; residue[0] < g.divisor[0] && residue[0] < g.output[0]; ++residue[0])
    for (residue[1] = 0; residue[1] < g.divisor[1] && residue[1] < g.output[1]; ++residue[1])
      for (residue[2] = 0; residue[2] < g.divisor[2] && residue[2] < g.output[2]; ++residue[2]) {
        Phase phase;
        if (!make_phase(g, residue, &phase)) continue;
        phase.weight_offset = weight_offset;
        weight_offset += g.out_channels * g.in_channels * phase.num_taps();
        fn(phase);
      }
}

/// Weights of one phase and group as [out_channels, in_channels, taps].
void pack_phase(const ConvGeometry& g, const Phase& phase, const float* weight, float* out) {
  for (int64_t o = 0; o < g.out_channels; ++o)
    for (int64_t c = 0; c < g.in_channels; ++c) {
      const float* from = weight + o * g.weight_out_stride + c * g.weight_in_stride;
      for (int64_t z = 0; z < phase.taps[0]; ++z)
        for (int64_t y = 0; y < phase.taps[1]; ++y)
          for (int64_t x = 0; x < phase.taps[2]; ++x)
            *out++ = from[(phase.first_tap[0] + z * phase.period[0]) * g.weight_stride[0] +
                          (phase.first_tap[1] + y * phase.period[1]) * g.weight_stride[1] +
                          (phase.first_tap[2] + x * phase.period[2]) * g.weight_stride[2]];
    }
}

/// One image and group of a phase.
struct PhaseState {
  ConvWindow window;
  const int64_t* outputs;
  int64_t stride[3];  // of out, from one q to the next
  int64_t channel_stride;
  const float* bias;  // or null
  float* out;
};

void pack_window(const void* state, const HotKernels& kernels, int64_t k, int64_t k_count, int64_t column,
                 int64_t columns, float* out) {
  kernels.pack_im2col(static_cast<const PhaseState*>(state)->window, k, k_count, column, columns, out);
}

void store_phase(const void* state, int64_t row, int64_t rows, int64_t column, int64_t columns, const float* block) {
  const PhaseState& s = *static_cast<const PhaseState*>(state);
  for (int64_t begin = 0; begin < columns;) {
    const int64_t flat = column + begin, x = flat % s.outputs[2], rest = flat / s.outputs[2];
    const int64_t count = s.outputs[2] - x < columns - begin ? s.outputs[2] - x : columns - begin;
    float* to = s.out + rest / s.outputs[1] * s.stride[0] + rest % s.outputs[1] * s.stride[1] + x * s.stride[2];
    for (int64_t r = 0; r < rows; ++r) {
      const float bias = s.bias ? s.bias[row + r] : 0.0f;
      const float* from = block + r * columns + begin;
      float* line = to + (row + r) * s.channel_stride;
      for (int64_t i = 0; i < count; ++i) line[i * s.stride[2]] = from[i] + bias;
    }
    begin += count;
  }
}

PhaseState state_of(const ConvGeometry& g, const Phase& phase, int64_t index, const float* input, const float* bias,
                    float* out) {
  const int64_t image = index / g.groups, group = index % g.groups;
  PhaseState s = {};
  s.window.input = input + image * g.input_batch_stride + group * g.in_channels * g.input_channel_stride;
  s.window.channel_stride = g.input_channel_stride;
  for (int d = 0; d < 3; ++d) {
    s.window.input_stride[d] = g.input_stride[d];
    s.window.input_size[d] = g.input[d];
    s.window.output_size[d] = phase.outputs[d];
    s.window.kernel[d] = phase.taps[d];
    s.window.stride[d] = 1;
    s.window.padding[d] = -phase.origin[d];
    s.window.dilation[d] = phase.step[d];
    s.stride[d] = g.output_stride[d] * g.divisor[d];
  }
  s.outputs = phase.outputs;
  s.channel_stride = g.output_channel_stride;
  s.bias = bias ? bias + group * g.out_channels : nullptr;
  s.out = out + image * g.output_batch_stride + group * g.out_channels * g.output_channel_stride + phase.out_offset;
  return s;
}

void run_phase(KernelContext& context, const ConvGeometry& g, const Phase& phase, const GemmScratch& scratch,
               const float* input, const float* weight, const float* bias, float* out) {
  const int64_t depth = g.in_channels * phase.num_taps(), group_weights = g.out_channels * g.depth();
  run_gemm_batch<PhaseState>(context, g.batch * g.groups, g.out_channels, phase.positions(), scratch,
                             [&](int64_t index, PhaseState& s) {
                               s = state_of(g, phase, index, input, bias, out);
                               GemmProblem p;
                               p.m = g.out_channels;
                               p.n = phase.positions();
                               p.k = depth;
                               p.a = weight + index % g.groups * group_weights + phase.weight_offset;
                               p.a_row_stride = depth;
                               p.pack_b = pack_window;
                               p.store_c = store_phase;
                               p.b_state = p.c_state = &s;
                               return p;
                             });
}

}  // namespace

bool convolve_transposed(KernelContext& context, const ConvGeometry& g, const float* input, const float* weight,
                         const float* bias, float* out) {
  const int64_t group_weights = g.out_channels * g.depth();
  const uint64_t bytes = static_cast<uint64_t>(g.groups) * static_cast<uint64_t>(group_weights) * sizeof(float);
  if (bytes > context.temp_available() / 2) return false;
  float* packed = context.allocate_temp_array<float>(static_cast<size_t>(g.groups * group_weights));
  const GemmScratch scratch = make_gemm_scratch(context, g.out_channels, g.positions(), g.depth(), true);
  if (!packed || !scratch.memory) return true;
  context.parallel_for(g.groups, 65536 / (group_weights + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      for_each_phase(g, [&](const Phase& phase) {
        pack_phase(g, phase, weight + group * g.weight_group_stride(),
                   packed + group * group_weights + phase.weight_offset);
      });
    }
  });
  for_each_phase(g, [&](const Phase& phase) { run_phase(context, g, phase, scratch, input, packed, bias, out); });
  return true;
}

}  // namespace wick
