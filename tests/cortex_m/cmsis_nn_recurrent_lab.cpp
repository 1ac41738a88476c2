// Writes cmsis_nn_recurrent.inc: what CMSIS-NN's LSTM and SVDF compute on the host for the cases of recurrent_cases.h.
// It is no part of the build, as CMSIS-NN is none. With cmsis.a as cmsis_nn_lab.cpp has it:
//   c++ -std=c++20 -I. -I$CMSIS/Include tests/cortex_m/cmsis_nn_recurrent_lab.cpp cmsis.a -o lab
//   ./lab >tests/cortex_m/cmsis_nn_recurrent.inc
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/cortex_m/recurrent_cases.h"
extern "C" {
#include "arm_nnfunctions.h"
}

namespace wick::vectors {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

struct Factor {
  int32_t multiplier, shift;
};
Factor factor(double real) {
  int exponent = 0;
  return {static_cast<int32_t>(std::ldexp(std::frexp(real, &exponent), 31)), exponent};
}

/// Weights of a gate and its bias with what the zero point adds.
template <typename Bias>
struct Gate {
  std::vector<int8_t> weights;
  std::vector<Bias> bias;
  Gate(const std::vector<int32_t>& all, const int32_t* bias_of_gate, int gate, int32_t cells, int32_t terms,
       int32_t zero_point) {
    for (int32_t row = 0; row < cells; ++row) {
      int64_t sum = bias_of_gate ? bias_of_gate[row] : 0;
      for (int32_t i = 0; i < terms; ++i) {
        weights.push_back(static_cast<int8_t>(all[static_cast<size_t>((gate * cells + row) * terms + i)]));
        sum -= int64_t{zero_point} * weights.back();
      }
      bias.push_back(static_cast<Bias>(sum));
    }
  }
};

template <typename Element, typename Bias, typename Function>
std::vector<Element> lstm(const LstmCase& c, Function* function) {
  const LstmShape& s = c.shape;
  std::vector<Gate<Bias>> gates;
  std::vector<cmsis_nn_lstm_gate> parameters;
  for (int gate = 0; gate < 4; ++gate) {
    gates.emplace_back(c.input_weights, &c.bias[static_cast<size_t>(gate * s.cells)], gate, s.cells, s.inputs,
                       c.input_zero_point);
    gates.emplace_back(c.state_weights, nullptr, gate, s.cells, s.cells, c.output_zero_point);
  }
  for (size_t gate = 0; gate < 4; ++gate) {
    const Gate<Bias>&of_input = gates[2 * gate], &of_state = gates[2 * gate + 1];
    const Factor input = factor(c.input_scale * c.input_weight_scales[gate] * 4096);
    const Factor state = factor(c.output_scale * c.state_weight_scales[gate] * 4096);
    parameters.push_back({input.multiplier, input.shift, of_input.weights.data(), of_input.bias.data(),
                          state.multiplier, state.shift, of_state.weights.data(), of_state.bias.data(), nullptr,
                          gate == 2 ? ARM_TANH : ARM_SIGMOID});
  }
  const Factor forget = factor(std::ldexp(1, -15)), input = factor(std::ldexp(1, kCellBits - 30)),
               output = factor(std::ldexp(1, -30) / c.output_scale);
  const cmsis_nn_lstm_params params{
      s.is_time_major,     s.batch,           s.steps,           s.inputs,         s.cells,
      -c.input_zero_point, forget.multiplier, forget.shift,      input.multiplier, input.shift,
      INT16_MAX,           -kCellBits,        output.multiplier, output.shift,     c.output_zero_point,
      parameters[1],       parameters[0],     parameters[2],     parameters[3]};
  std::vector<int16_t> first(static_cast<size_t>(s.batch * s.cells)), second(first), cells(c.c.begin(), c.c.end());
  cells.resize(first.size());
  std::vector<Element> h, x(c.x.begin(), c.x.end()), y(static_cast<size_t>(s.steps * s.batch * s.cells));
  for (const int32_t value : c.h) h.push_back(static_cast<Element>(value + c.output_zero_point));
  cmsis_nn_lstm_context buffers{first.data(), second.data(), cells.data(), h.empty() ? nullptr : h.data()};
  require(function(x.data(), y.data(), &params, &buffers) == ARM_CMSIS_NN_SUCCESS, s.name);
  return y;
}

template <typename Element>
void print_lstm(const LstmCase& c, const std::vector<Element>& y) {
  std::printf("LSTM(\"%s\"", c.shape.name);
  for (const Element value : y) std::printf(", %d", value);
  std::printf(")\n");
}

/// The outputs of all steps.
std::vector<int8_t> svdf(const SvdfCase& c) {
  const SvdfShape& s = c.shape;
  std::vector<int32_t> sums(4096), features(4096), outputs(4096);
  const cmsis_nn_context context{sums.data(), 16384}, of_features{features.data(), 16384},
      of_outputs{outputs.data(), 16384};
  const bool is_wide = s.state_bits == 16;
  const cmsis_nn_svdf_params params{s.rank,
                                    c.input_offset,
                                    c.output_offset,
                                    {is_wide ? INT16_MIN : INT8_MIN, is_wide ? INT16_MAX : INT8_MAX},
                                    {INT8_MIN, INT8_MAX}};
  const cmsis_nn_per_tensor_quant_params in{c.multipliers[0], c.shifts[0]}, out{c.multipliers[1], c.shifts[1]};
  const cmsis_nn_dims input{s.batch, s.inputs, 1, 1}, feature{s.features, 1, 1, 1}, time{1, s.times, 1, 1}, rest{};
  std::vector<int8_t> narrow(c.state.begin(), c.state.end()), y;
  std::vector<int16_t> wide(c.state.begin(), c.state.end()), times(c.time_weights.begin(), c.time_weights.end());
  for (int32_t step = 0; step < kSvdfSteps; ++step) {
    std::vector<int8_t> part(static_cast<size_t>(s.batch * c.units));
    const int8_t* x = c.x.data() + step * s.batch * s.inputs;
    const arm_cmsis_nn_status status =
        is_wide ? arm_svdf_state_s16_s8(&of_features, &of_outputs, &params, &in, &out, &input, x, &rest, wide.data(),
                                        &feature, c.feature_weights.data(), &time, times.data(), &rest, c.bias.data(),
                                        &rest, part.data())
                : arm_svdf_s8(&context, &of_features, &of_outputs, &params, &in, &out, &input, x, &rest, narrow.data(),
                              &feature, c.feature_weights.data(), &time, c.time_weights.data(), &rest, c.bias.data(),
                              &rest, part.data());
    require(status == ARM_CMSIS_NN_SUCCESS, s.name);
    y.insert(y.end(), part.begin(), part.end());
  }
  return y;
}

}  // namespace
}  // namespace wick::vectors

int main() {
  using namespace wick::vectors;
  std::printf(
      "// What CMSIS-NN computes for the cases of recurrent_cases.h: LSTM(name, outputs ..), SVDF(name, hash of the "
      "outputs of all steps).\n// Written by cmsis_nn_recurrent_lab.cpp.\n");
  for (size_t i = 0; i < std::size(kLstmShapes); ++i) {
    const LstmCase c = lstm_case(i);
    if (c.shape.bits == 8) print_lstm(c, lstm<int8_t, int32_t>(c, arm_lstm_unidirectional_s8));
    if (c.shape.bits == 16) print_lstm(c, lstm<int16_t, int64_t>(c, arm_lstm_unidirectional_s16));
  }
  for (size_t i = 0; i < std::size(kSvdfShapes); ++i) {
    const SvdfCase c = svdf_case(i);
    std::printf("SVDF(\"%s\", 0x%016llxu)\n", c.shape.name, static_cast<unsigned long long>(hash(svdf(c))));
  }
  return 0;
}
