// Writes cmsis_nn_scratch.inc: hashes of the scratch sizes that CMSIS-NN asks for, for the shapes of scratch_cases.h.
// It is no part of the build, as CMSIS-NN is none. With a checkout of CMSIS-NN (99f736a, July 2026) in $CMSIS:
//   for f in $(find $CMSIS/Source -name '*get_buffer_size*s8*.c'); do cc -O1 -w -I$CMSIS/Include -c $f; done
//   c++ -std=c++20 -I. -I$CMSIS/Include tests/cortex_m/cmsis_nn_scratch_lab.cpp *.o -o lab
//   ./lab >tests/cortex_m/cmsis_nn_scratch.inc
// The host's functions without suffix are those of scalar code.
#include <cstdio>

#include "tests/cortex_m/scratch_cases.h"
extern "C" {
#include "arm_nnfunctions.h"
}

namespace wick::vectors {
namespace {

struct Sizes {
  int64_t mve = 0, dsp = 0, scalar = 0;
};

struct Shape {
  explicit Shape(const cortex_m::ConvolutionShape& s)
      : s(s),
        in(dims(s.batch, s.input[0], s.input[1], s.channels)),
        out(dims(s.batch, s.output[0], s.output[1], s.outputs)) {}

  static cmsis_nn_dims dims(int64_t n, int64_t h, int64_t w, int64_t c) {
    return {static_cast<int32_t>(n), static_cast<int32_t>(h), static_cast<int32_t>(w), static_cast<int32_t>(c)};
  }
  static cmsis_nn_tile tile(const int64_t pair[2]) {
    return {static_cast<int32_t>(pair[1]), static_cast<int32_t>(pair[0])};
  }
  Sizes convolution() const {
    const cmsis_nn_dims filter = dims(s.outputs, s.kernel[0], s.kernel[1], s.group_channels);
    const cmsis_nn_conv_params p{0, 0, tile(s.stride), tile(s.padding), tile(s.dilation), {-128, 127}};
    return {arm_convolve_wrapper_s8_get_buffer_size_mve(&p, &in, &filter, &out),
            arm_convolve_wrapper_s8_get_buffer_size_dsp(&p, &in, &filter, &out),
            arm_convolve_wrapper_s8_get_buffer_size(&p, &in, &filter, &out)};
  }
  Sizes depthwise() const {
    const cmsis_nn_dims filter = dims(1, s.kernel[0], s.kernel[1], s.outputs);
    const cmsis_nn_dw_conv_params p{
        0,          0, static_cast<int32_t>(s.outputs / s.channels), tile(s.stride), tile(s.padding), tile(s.dilation),
        {-128, 127}};
    return {arm_depthwise_conv_wrapper_s8_get_buffer_size_mve(&p, &in, &filter, &out),
            arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp(&p, &in, &filter, &out),
            arm_depthwise_conv_wrapper_s8_get_buffer_size(&p, &in, &filter, &out)};
  }
  // The size of the filter comes last, once for each instruction set.
  Sizes transposed(Sizes* reversed) const {
    const cmsis_nn_dims filter = dims(s.outputs, s.kernel[0], s.kernel[1], s.channels);
    const cmsis_nn_transpose_conv_params p{0, 0, tile(s.stride), tile(s.padding), {0, 0}, {1, 1}, {-128, 127}};
    const int64_t turned = arm_transpose_conv_s8_get_reverse_conv_buffer_size(&p, &in, &filter);
    const int64_t words = arm_transpose_conv_s8_get_buffer_size(&p, &in, &filter, &out);
    *reversed = {turned, turned, turned};
    return {arm_transpose_conv_s8_get_buffer_size_mve(&p, &in, &filter, &out), words, words};
  }
  Sizes matmul() const {
    const cmsis_nn_dims filter = dims(s.channels, 1, 1, s.outputs);
    return {arm_fully_connected_s8_get_buffer_size_mve(&filter), arm_fully_connected_s8_get_buffer_size_dsp(&filter),
            arm_fully_connected_s8_get_buffer_size(&filter)};
  }
  Sizes average() const {
    return {arm_avgpool_s8_get_buffer_size_mve(out.w, in.c), arm_avgpool_s8_get_buffer_size_dsp(out.w, in.c),
            arm_avgpool_s8_get_buffer_size(out.w, in.c)};
  }

  const cortex_m::ConvolutionShape& s;
  cmsis_nn_dims in, out;
};

uint64_t add(uint64_t hash, const Sizes& sizes) {
  return hash_size(hash_size(hash_size(hash, sizes.mve), sizes.dsp), sizes.scalar);
}

uint64_t add(uint64_t hash, ScratchKind kind, const Shape& shape) {
  Sizes filter;
  switch (kind) {
    case ScratchKind::convolution: return add(hash, shape.convolution());
    case ScratchKind::depthwise: return add(hash, shape.depthwise());
    case ScratchKind::transposed: hash = add(hash, shape.transposed(&filter)); return add(hash, filter);
    case ScratchKind::matmul: return add(hash, shape.matmul());
    default: return add(hash, shape.average());
  }
}

}  // namespace
}  // namespace wick::vectors

int main() {
  using namespace wick::vectors;
  const char* names[] = {"convolution", "depthwise", "transposed", "matmul", "average"};
  std::printf(
      "// Scratch sizes of CMSIS-NN for the shapes of scratch_cases.h: SCRATCH(kind, first seed, hash of a block).\n");
  std::printf("// Written by cmsis_nn_scratch_lab.cpp.\n");
  for (int kind = 0; kind < 5; ++kind) {
    for (uint64_t first = 0; first < kScratchSeeds; first += kScratchBlock) {
      uint64_t hash = 0xcbf29ce484222325u;
      for (uint64_t seed = first; seed < first + kScratchBlock; ++seed) {
        const wick::cortex_m::ConvolutionShape shape = make_scratch_shape(static_cast<ScratchKind>(kind), seed);
        hash = add(hash, static_cast<ScratchKind>(kind), Shape(shape));
      }
      std::printf("SCRATCH(%s, %llu, 0x%016llxu)\n", names[kind], static_cast<unsigned long long>(first),
                  static_cast<unsigned long long>(hash));
    }
  }
  return 0;
}
