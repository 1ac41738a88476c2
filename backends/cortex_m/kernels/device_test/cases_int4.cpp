// Calls of operators with 4-bit weights.
#include "backends/cortex_m/kernels/device_test/case_parts.h"
#include "backends/cortex_m/kernels/device_test/cases.h"
#include "backends/cortex_m/kernels/int4.h"

namespace wick::cortex_m {
namespace {

void make_linear(Call& call) {
  Stream& random = call.random;
  const int32_t batch = random.one_in(2) ? random.in(2, 9) : 1;
  const int32_t inputs = random.one_in(20)  ? random.in(380, 800)
                         : random.one_in(3) ? 16 * random.in(1, 12)
                                            : random.in(1, 150);
  const int32_t outputs = random.in(1, inputs > 300 ? 12 : 40);
  call.add_int8({batch, inputs});
  call.add_tensor(DType::u8, {outputs, static_cast<int32_t>(int4_row_bytes(inputs))});
  if (random.one_in(2)) {
    add_bias(call, outputs);
    call.add_none();
  } else {
    call.add_none();
    call.add_int32(outputs, -400000, 400000);
  }
  call.add_int(random_offset(random));
  call.add_int(random.one_in(3) ? random_offset(random) : random.one_in(8) ? 8 : 0);
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  add_scales(call, random.one_in(3) ? 1 : outputs, inputs / 16);
  add_clamp(call);
  call.add_out(DType::i8, {batch, outputs});
}

void make_convolution(Call& call) {
  const Geometry g = random_padded_geometry(call.random);
  const int32_t taps = g.kernel[0] * g.kernel[1], positions = g.batch * g.out[0] * g.out[1];
  const int32_t groups = call.random.one_in(4) ? call.random.in(2, 3) : 1;
  const int32_t inputs = channels_for(call.random, 40, positions, taps), terms = taps * inputs;
  const int32_t outputs = groups * channels_for(call.random, 40, positions, terms * groups);
  call.add_int8({g.batch, groups * inputs, g.height, g.width}, Order::channels_last);
  call.add_tensor(DType::u8, {outputs, static_cast<int32_t>(int4_row_bytes(terms))});
  if (call.random.one_in(2)) {
    add_bias(call, outputs);
    call.add_none();
  } else {
    call.add_none();
    call.add_int32(outputs, -400000, 400000);
  }
  call.add_ints({g.kernel[0], g.kernel[1]});
  call.add_int(groups);
  add_pair(call, g.stride);
  add_paddings(call, g);
  add_pair(call, g.dilation);
  add_channel_quantization(call, outputs, terms / 16);
  const int32_t windows = 4 * ((terms + 15) / 16 * 16);
  call.add_scratch(call.random.one_in(4)   ? call.random.in(0, 2000)
                   : call.random.one_in(2) ? windows + call.random.in(0, outputs) * terms
                                           : windows);
  call.add_out(DType::i8, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}

void make_depthwise(Call& call) {
  const Geometry g = random_padded_geometry(call.random);
  const int32_t multiplier = call.random.one_in(4) ? call.random.in(1, 5) : 1, taps = g.kernel[0] * g.kernel[1];
  const int32_t inputs =
      channels_for(call.random, multiplier > 1 ? 20 : 64, g.batch * g.out[0] * g.out[1], taps * multiplier);
  const int32_t outputs = inputs * multiplier;
  call.add_int8({g.batch, inputs, g.height, g.width}, Order::channels_last);
  call.add_tensor(DType::u8, {1, g.kernel[0], g.kernel[1], static_cast<int32_t>(int4_row_bytes(outputs))});
  add_bias(call, outputs);
  add_pair(call, g.stride);
  add_paddings(call, g);
  add_pair(call, g.dilation);
  call.add_int(multiplier);
  add_channel_quantization(call, outputs, taps / 16);
  const int32_t kinds[] = {4 * 124 * taps, 2 * outputs * taps, call.random.in(0, 2000)};
  call.add_scratch(kinds[call.random.in(0, 2)]);
  call.add_out(DType::i8, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}

constexpr CaseSource kSources[] = {
    {"wick_cortex_m::depthwise_conv2d_int4.out", 1000, make_depthwise},
    {"wick_cortex_m::conv2d_int4.out", 1000, make_convolution},
    {"wick_cortex_m::linear_int4.out", 2500, make_linear},
};

}  // namespace

Span<const CaseSource> int4_case_sources() { return kSources; }

}  // namespace wick::cortex_m
