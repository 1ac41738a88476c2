// Writes cmsis_nn_vectors.inc: hashes of what CMSIS-NN computes on the host for the cases of vector_cases.h. It is no
// part of the build, as CMSIS-NN is none. With a checkout of CMSIS-NN (99f736a, July 2026) in $CMSIS:
//   for f in $(find $CMSIS/Source -name '*.c' ! -name '*f16*' ! -name '*f32*' ! -name '*flt*'); do
//     cc -O1 -fwrapv -w -I$CMSIS/Include -c $f; done; ar rc cmsis.a *.o
//   c++ -std=c++20 -I. -I$CMSIS/Include tests/cortex_m/cmsis_nn_lab.cpp cmsis.a -o lab
//   ./lab >tests/cortex_m/cmsis_nn_vectors.inc; ./lab shapes >shapes.inc && mv shapes.inc
//   tests/cortex_m/cmsis_nn_shapes.inc
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tests/cortex_m/vector_cases.h"
extern "C" {
#include "arm_nnfunctions.h"
}

namespace wick::vectors {
namespace {

constexpr uint64_t kSeeds = 100;  // of each kind

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

/// Scratch of any size that CMSIS-NN may ask for in these cases.
struct Scratch {
  std::vector<int32_t> words = std::vector<int32_t>(1 << 16);
  cmsis_nn_context context{words.data(), static_cast<int32_t>(words.size() * sizeof(int32_t))};
};

struct Call {
  const VectorCase& c;
  std::vector<int8_t> y;
  Scratch scratch, second;
  cmsis_nn_dims in{c.batch, c.height, c.width, c.channels}, out{c.batch, c.out_height, c.out_width, c.outputs};
  cmsis_nn_dims bias{1, 1, 1, c.outputs};
  cmsis_nn_tile stride{c.stride[1], c.stride[0]}, padding{c.padding[1], c.padding[0]},
      dilation{c.dilation[1], c.dilation[0]};
  cmsis_nn_activation activation{c.min, c.max};
  cmsis_nn_per_channel_quant_params channels{const_cast<int32_t*>(c.multipliers.data()),
                                             const_cast<int32_t*>(c.shifts.data())};
  cmsis_nn_per_tensor_quant_params whole = c.shifts.empty()
                                               ? cmsis_nn_per_tensor_quant_params{}
                                               : cmsis_nn_per_tensor_quant_params{c.multipliers[0], c.shifts[0]};

  /// Two weights in a byte, the first in its low half.
  std::vector<int8_t> packed() const {
    std::vector<int8_t> bytes((c.w.size() + 1) / 2);
    for (size_t i = 0; i < c.w.size(); ++i)
      bytes[i / 2] = static_cast<int8_t>(bytes[i / 2] | (c.w[i] & 15) << (i % 2 == 0 ? 0 : 4));
    return bytes;
  }
  /// By the function for weights of eight or of four bits.
  template <typename Function>
  int convolution_by(Function* function, const std::vector<int8_t>& weights) {
    y.resize(size_t(c.batch) * c.out_height * c.out_width * c.outputs);
    const cmsis_nn_dims filter{c.outputs, c.kernel[0], c.kernel[1], c.channels / c.groups};
    const cmsis_nn_conv_params params{c.input_offset, c.output_offset, stride, padding, dilation, activation};
    return function(&scratch.context, &params, &channels, &in, c.x.data(), &filter, weights.data(), &bias,
                    c.bias.data(), &out, y.data());
  }
  int convolution() { return convolution_by(arm_convolve_wrapper_s8, c.w); }
  int convolution_int4() { return convolution_by(arm_convolve_wrapper_s4, packed()); }
  template <typename Function>
  int depthwise_by(Function* function, const std::vector<int8_t>& weights) {
    y.resize(size_t(c.batch) * c.out_height * c.out_width * c.outputs);
    const cmsis_nn_dims filter{1, c.kernel[0], c.kernel[1], c.outputs};
    const cmsis_nn_dw_conv_params params{c.input_offset, c.output_offset, c.outputs / c.channels, stride, padding,
                                         dilation,       activation};
    return function(&scratch.context, &params, &channels, &in, c.x.data(), &filter, weights.data(), &bias,
                    c.bias.data(), &out, y.data());
  }
  int depthwise() { return depthwise_by(arm_depthwise_conv_wrapper_s8, c.w); }
  int depthwise_int4() { return depthwise_by(arm_depthwise_conv_wrapper_s4, packed()); }
  int transposed() {
    const size_t size = size_t(c.batch) * c.out_height * c.out_width * c.outputs;
    y.resize(size + (1 << 16));  // some shapes make CMSIS-NN write behind its output
    const cmsis_nn_dims filter{c.outputs, c.kernel[0], c.kernel[1], c.channels};
    const cmsis_nn_transpose_conv_params params{c.input_offset, c.output_offset, stride,    padding,
                                                {0, 0},         {1, 1},          activation};
    const int status =
        arm_transpose_conv_wrapper_s8(&scratch.context, &second.context, &params, &channels, &in, c.x.data(), &filter,
                                      c.w.data(), &bias, c.bias.data(), &out, y.data());
    y.resize(size);
    return status;
  }
  template <typename Function>
  int linear_by(Function* function, const std::vector<int8_t>& weights) {
    const int32_t rows = c.batch * c.height;
    y.resize(size_t(rows) * c.outputs);
    const cmsis_nn_dims input{rows, 1, 1, c.channels}, filter{c.channels, 1, 1, c.outputs},
        output{rows, 1, 1, c.outputs};
    const cmsis_nn_fc_params params{c.input_offset, c.filter_offset, c.output_offset, activation};
    return function(&scratch.context, &params, &whole, &input, c.x.data(), &filter, weights.data(), &bias,
                    c.bias.data(), &output, y.data());
  }
  int linear() { return linear_by(arm_fully_connected_s8, c.w); }
  int linear_int4() { return linear_by(arm_fully_connected_s4, packed()); }
  int matmul() {
    y.resize(size_t(c.batch) * c.height * c.outputs);
    const cmsis_nn_dims lhs{1, c.batch, c.height, c.channels}, rhs{1, c.batch, c.outputs, c.channels},
        output{1, c.batch, c.height, c.outputs};
    const cmsis_nn_bmm_params params{false, false, {c.input_offset, c.filter_offset, c.output_offset, {-128, 127}}};
    return arm_batch_matmul_s8(&scratch.context, &params, &whole, &lhs, c.x.data(), &rhs, c.w.data(), &output,
                               y.data());
  }
  int add() {
    y.resize(c.x.size());
    return arm_elementwise_add_s8(c.x.data(), c.w.data(), c.input_offset, c.multipliers[0], c.shifts[0],
                                  c.filter_offset, c.multipliers[1], c.shifts[1], 20, y.data(), c.output_offset,
                                  c.multipliers[2], c.shifts[2], c.min, c.max, static_cast<int32_t>(y.size()));
  }
  int mul() {
    y.resize(c.x.size());
    return arm_elementwise_mul_s8(c.x.data(), c.w.data(), c.input_offset, c.filter_offset, y.data(), c.output_offset,
                                  c.multipliers[0], c.shifts[0], -128, 127, static_cast<int32_t>(y.size()));
  }
  int softmax() {
    y.resize(c.x.size());
    arm_softmax_s8(c.x.data(), c.batch * c.height * c.width, c.channels, c.multipliers[0], c.shifts[0], diff_min(c),
                   y.data());
    return 0;
  }
  int pool(bool average) {
    y.resize(size_t(c.batch) * c.out_height * c.out_width * c.outputs);
    const cmsis_nn_dims filter{1, c.kernel[0], c.kernel[1], 1};
    const cmsis_nn_pool_params params{stride, padding, average ? cmsis_nn_activation{-128, 127} : activation};
    return average ? arm_avgpool_s8(&scratch.context, &params, &in, c.x.data(), &filter, &out, y.data())
                   : arm_max_pool_s8(&scratch.context, &params, &in, c.x.data(), &filter, &out, y.data());
  }
  static cmsis_nn_dims dims(const int32_t* sizes) { return {sizes[0], sizes[1], sizes[2], sizes[3]}; }
  int elementwise(bool minimum) {
    int32_t sizes[4];
    for (int d = 0; d < 4; ++d) sizes[d] = std::max(c.numbers[d], c.numbers[4 + d]);
    y.resize(count_elements(sizes));
    const cmsis_nn_dims a = dims(c.numbers), b = dims(c.numbers + 4), to = dims(sizes);
    return (minimum ? arm_minimum_s8 : arm_maximum_s8)(&scratch.context, c.x.data(), &a, c.w.data(), &b, y.data(), &to);
  }
  int pad() {
    int32_t sizes[4];
    for (int d = 0; d < 4; ++d) sizes[d] = c.numbers[d] + c.numbers[4 + d] + c.numbers[8 + d];
    y.resize(count_elements(sizes));
    const cmsis_nn_dims from = dims(c.numbers), before = dims(c.numbers + 4), after = dims(c.numbers + 8);
    return arm_pad_s8(c.x.data(), y.data(), static_cast<int8_t>(c.numbers[12]), &from, &before, &after);
  }
  int transpose() {
    int32_t rank = 0, sizes[4] = {0, 0, 0, 0};
    uint32_t order[4];
    while (rank < 4 && c.numbers[rank] != 0) ++rank;
    for (int d = 0; d < rank; ++d) order[d] = static_cast<uint32_t>(c.numbers[4 + d]), sizes[d] = c.numbers[order[d]];
    y.resize(c.x.size());
    const cmsis_nn_dims from = dims(c.numbers), to = dims(sizes);
    const cmsis_nn_transpose_params params{rank, order};
    return arm_transpose_s8(c.x.data(), y.data(), &from, &to, &params);
  }
};

int run(Kind kind, Call& call) {
  switch (kind) {
    case Kind::convolution: return call.convolution();
    case Kind::depthwise: return call.depthwise();
    case Kind::transposed: return call.transposed();
    case Kind::linear: return call.linear();
    case Kind::matmul: return call.matmul();
    case Kind::add: return call.add();
    case Kind::mul: return call.mul();
    case Kind::softmax: return call.softmax();
    case Kind::average: return call.pool(true);
    case Kind::maximum: return call.pool(false);
    case Kind::elementwise_minimum: return call.elementwise(true);
    case Kind::elementwise_maximum: return call.elementwise(false);
    case Kind::pad: return call.pad();
    case Kind::transpose: return call.transpose();
    case Kind::convolution_int4: return call.convolution_int4();
    case Kind::depthwise_int4: return call.depthwise_int4();
    default: return call.linear_int4();
  }
}

constexpr const char* kNames[] = {"convolution",
                                  "depthwise",
                                  "transposed",
                                  "linear",
                                  "matmul",
                                  "add",
                                  "mul",
                                  "softmax",
                                  "average",
                                  "maximum",
                                  "elementwise_minimum",
                                  "elementwise_maximum",
                                  "pad",
                                  "transpose",
                                  "convolution_int4",
                                  "depthwise_int4",
                                  "linear_int4"};

struct ShapeCase {
  Kind kind;
  const char* name;
  Shape shape;
};
constexpr ShapeCase kShapes[] = {
#define SHAPE(kind, name, numbers, hash) {Kind::kind, name, Shape numbers},
#include "tests/cortex_m/cmsis_nn_shapes.inc"
#undef SHAPE
};

// The table of shapes with its hashes written anew.
int write_shapes() {
  std::printf(
      "// The shapes of CMSIS-NN's own integer tests, by the test's name, and hashes of what CMSIS-NN computes for "
      "seeded elements: SHAPE(kind, name,\n// (n, h, w, c, outputs, groups, kernel, stride, padding, dilation, "
      "output), "
      "hash), sizes as height, width. Those on int16 are here\n// on int8, and two "
      "depthwise ones with weights of four bits, which CMSIS-NN computes otherwise than its equation on hosts. The "
      "hashes are\n// written by cmsis_nn_lab.cpp.\n");
  for (size_t i = 0; i < std::size(kShapes); ++i) {
    const VectorCase c = make_case(kShapes[i].kind, kShapes[i].shape, i);
    Call call{c, {}};
    require(run(kShapes[i].kind, call) == 0, kShapes[i].name);
    std::printf("SHAPE(%s, \"%s\", (", kNames[static_cast<int>(kShapes[i].kind)], kShapes[i].name);
    for (const int32_t& size : kShapes[i].shape.sizes)
      std::printf("%s%d", &size == kShapes[i].shape.sizes ? "" : ", ", size);
    std::printf("), 0x%016llxu)\n", static_cast<unsigned long long>(hash(call.y)));
  }
  return 0;
}

}  // namespace
}  // namespace wick::vectors

int main(int argc, char**) {
  using namespace wick::vectors;
  if (argc > 1) return write_shapes();
  std::printf(
      "// Outputs of CMSIS-NN for the cases of vector_cases.h: VECTOR(kind, seed, hash). Written by "
      "cmsis_nn_lab.cpp.\n");
  std::printf("// Behind each: n h w c -> outputs, kernel, stride, padding, dilation, groups.\n");
  for (int kind = 0; kind < static_cast<int>(std::size(kNames)); ++kind) {
    if (kind >= static_cast<int>(Kind::elementwise_minimum) && kind <= static_cast<int>(Kind::transpose)) continue;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const VectorCase c = make_case(static_cast<Kind>(kind), seed);
      Call call{c, {}};
      require(run(static_cast<Kind>(kind), call) == 0, kNames[kind]);
      std::printf("VECTOR(%s, %llu, 0x%016llxu)  // %d %d %d %d -> %d, %dx%d, %dx%d, %dx%d, %dx%d, %d\n", kNames[kind],
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(hash(call.y)), c.batch,
                  c.height, c.width, c.channels, c.outputs, c.kernel[0], c.kernel[1], c.stride[0], c.stride[1],
                  c.padding[0], c.padding[1], c.dilation[0], c.dilation[1], c.groups);
    }
  }
  return 0;
}
