// Seeded cases for the shapes of CMSIS-NN's own tests of LSTM and SVDF, by the tests' names, as vector_cases.h has them
// for its other tests. Scales are sums of few powers of two, so that CMSIS-NN's multipliers hold them exactly. C++20.
#pragma once
#include <array>
#include <string>

#include "tests/cortex_m/vector_cases.h"

namespace wick::vectors {

struct LstmShape {
  const char* name;
  int32_t is_time_major, batch, steps, inputs, cells;
  int32_t has_state;
  int32_t bits;  // of input and output
};
constexpr LstmShape kLstmShapes[] = {
    {"lstm_1", 1, 1, 10, 22, 11, 0, 8},
    {"lstm_2", 0, 1, 9, 6, 7, 0, 8},
    {"lstm_one_time_step", 0, 3, 1, 22, 3, 0, 8},
    {"lstm_stateful_batch_major_multibatch", 0, 2, 2, 6, 7, 1, 8},
    {"lstm_1_s16", 1, 1, 10, 22, 11, 0, 16},
    {"lstm_2_s16", 0, 1, 9, 6, 7, 0, 16},
    {"lstm_one_time_step_s16", 0, 3, 1, 22, 3, 0, 16},
    {"lstm_stateful_batch_major_multibatch_s16", 0, 2, 2, 6, 7, 1, 16},
};

/// Of the gates i, f, g, o. Row j of gate p is row p * cells + j of the weights.
struct LstmCase {
  LstmShape shape;
  int32_t input_zero_point, output_zero_point;
  double input_scale, output_scale;
  std::array<double, 4> input_weight_scales, state_weight_scales;
  std::vector<int32_t> x, input_weights, state_weights, bias;  // x: in the order of the shape
  std::vector<int32_t> h, c;                                   // the first state, c with kCellBits; empty: 0

  /// Where the element of one step, one sequence lies in x or in the output.
  size_t at(int32_t step, int32_t row, int32_t i, int32_t width) const {
    const int32_t outer = shape.is_time_major ? step * shape.batch + row : row * shape.steps + step;
    return static_cast<size_t>(outer * width + i);
  }
};
constexpr int kCellBits = 12;  // behind the point of CMSIS-NN's c, which ends at 8

inline std::vector<int32_t> integers(Stream& stream, int32_t count, int32_t low, int32_t high) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (int32_t& value : values) value = stream.in(low, high);
  return values;
}

inline LstmCase lstm_case(size_t index) {
  Stream stream(1000 + index);
  LstmCase c{};
  c.shape = kLstmShapes[index];
  const LstmShape& s = c.shape;
  const bool is_wide = s.bits == 16;
  const int32_t largest = is_wide ? INT16_MAX : INT8_MAX, states = s.batch * s.cells;
  c.input_zero_point = is_wide ? 0 : stream.in(-30, 30);
  c.output_zero_point = is_wide ? 0 : stream.in(-1, 1);
  c.input_scale = std::ldexp(1, is_wide ? -14 : -6);
  c.output_scale = std::ldexp(1, is_wide ? -15 : -7);
  for (int gate = 0; gate < 4; ++gate) {
    c.input_weight_scales[gate] = std::ldexp(stream.in(64, 128), -15);
    c.state_weight_scales[gate] = std::ldexp(stream.in(128, 256), -15);
  }
  c.x = integers(stream, s.steps * s.batch * s.inputs, -largest - 1, largest);
  c.input_weights = integers(stream, 4 * s.cells * s.inputs, -127, 127);
  c.state_weights = integers(stream, 4 * s.cells * s.cells, -127, 127);
  c.bias = integers(stream, 4 * s.cells, is_wide ? -2000000 : -8000, is_wide ? 2000000 : 8000);
  if (s.has_state) {
    c.h = integers(stream, states, -largest * 9 / 10, largest * 9 / 10);
    c.c = integers(stream, states, -2 << kCellBits, 2 << kCellBits);
  }
  return c;
}

struct SvdfShape {
  const char* name;
  int32_t batch, inputs, features, rank, times;
  int32_t state_bits;
};
constexpr SvdfShape kSvdfShapes[] = {
    {"svdf_arm_svdf_state_s16_s8", 2, 3, 24, 8, 8, 16},   {"svdf_1_arm_svdf_state_s16_s8", 3, 7, 5, 1, 2, 16},
    {"svdf_2_arm_svdf_state_s16_s8", 3, 7, 10, 2, 2, 16}, {"svdf_3_arm_svdf_state_s16_s8", 1, 20, 12, 1, 2, 16},
    {"svdf_int8_arm_svdf_s8", 1, 20, 12, 1, 2, 8},        {"svdf_int8_2_arm_svdf_s8", 2, 40, 26, 2, 3, 8},
};
constexpr int32_t kSvdfSteps = 3;  // of one case, from one state to the next

/// Weights of time have 8 bits, also those beside a state of 16, as a program's weights have.
struct SvdfCase {
  SvdfShape shape;
  int32_t units, input_offset, output_offset;
  int32_t multipliers[2], shifts[2];  // of the features, of the output
  std::vector<int8_t> x, feature_weights, time_weights;
  std::vector<int32_t> state, bias;
};

inline SvdfCase svdf_case(size_t index) {
  Stream stream(2000 + index);
  SvdfCase c{};
  c.shape = kSvdfShapes[index];
  const SvdfShape& s = c.shape;
  const bool is_wide = s.state_bits == 16;
  const auto bits_of = [](int32_t terms) { return static_cast<int32_t>(std::log2(terms)) / 2; };
  c.units = s.features / s.rank;
  c.input_offset = stream.in(-20, 20);
  c.output_offset = is_wide ? 0 : stream.in(-20, 20);
  for (int32_t& multiplier : c.multipliers) multiplier = stream.in(1 << 30, INT32_MAX);
  c.shifts[0] = (is_wide ? 0 : -7) - bits_of(s.inputs);
  c.shifts[1] = (is_wide ? -14 : -7) - bits_of(s.rank * s.times);
  c.x = stream.bytes(int64_t{kSvdfSteps} * s.batch * s.inputs);
  c.feature_weights = stream.bytes(int64_t{s.features} * s.inputs);
  c.time_weights = stream.bytes(int64_t{s.features} * s.times);
  const int32_t largest = is_wide ? 20000 : 127, bias = is_wide ? 300000 : 3000;
  c.state = integers(stream, s.batch * s.features * s.times, -largest, largest);
  c.bias = integers(stream, c.units, -bias, bias);
  return c;
}

}  // namespace wick::vectors
