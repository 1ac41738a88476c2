// Calls of operators on int16.
#include "backends/cortex_m/kernels/device_test/case_parts.h"
#include "backends/cortex_m/kernels/device_test/cases.h"

namespace wick::cortex_m {
namespace {

struct ActivationRange {
  int32_t min = INT16_MIN, max = INT16_MAX;
};

void add_range(Call& call) {
  ActivationRange range;
  if (call.random.one_in(3)) {
    range.min = call.random.in(INT16_MIN, INT16_MAX);
    range.max = call.random.in(range.min, INT16_MAX);
  }
  call.add_int(range.min);
  call.add_int(range.max);
}

/// Adds an int32 bias, an int64 bias, or none; returns whether sums have 64 bits.
bool add_any_bias(Call& call, int32_t channels) {
  const int32_t kind = call.random.in(0, 3);
  if (kind == 0) {
    call.add_none();
  } else if (kind == 1) {
    call.add_int64(channels, call.random.in(10, 46));
  } else {
    call.add_int32(channels, -100000000, 100000000);
  }
  return kind == 1;
}

/// Adds multipliers and shifts that bring sums of `terms` products into the range of int16, sometimes any; one for each
/// channel, or one for all.
void add_wide_scales(Call& call, int32_t channels, int32_t terms, bool wide) {
  Stream& random = call.random;
  const int32_t count = random.one_in(4) ? 1 : channels;
  int32_t extra = 0;
  while (terms >> extra > 1) ++extra;
  Tensor& multipliers = call.add_int32(count, 0, 0);
  for (int32_t c = 0; c < count; ++c) multipliers.as<int32_t>()[c] = random_multiplier(random);
  Tensor& shifts = call.add_int32(count, 0, 0);
  for (int32_t c = 0; c < count; ++c)
    shifts.as<int32_t>()[c] = random.one_in(16) ? random.in(-31, wide ? 14 : 30) : -6 - extra / 2 - random.in(0, 3);
}

void make_linear(Call& call) {
  Stream& random = call.random;
  const int32_t batch = random.one_in(2) ? random.in(2, 9) : 1;
  const int32_t inputs = random.one_in(20)  ? random.in(400, 1200)
                         : random.one_in(3) ? 16 * random.in(1, 12)
                                            : random.in(1, 150);
  const int32_t outputs = random.in(1, inputs > 300 ? 9 : 40);
  call.add_int16({batch, inputs});
  call.add_int8({outputs, inputs});
  const bool wide = add_any_bias(call, outputs);
  add_wide_scales(call, outputs, inputs, wide);
  add_range(call);
  call.add_out(DType::i16, {batch, outputs});
}

void make_requantize(Call& call) {
  Stream& random = call.random;
  static constexpr DType kElements[] = {DType::i8, DType::i16, DType::i32};
  const DType from = kElements[random.in(0, 2)], to = kElements[random.in(0, 2)];
  const int32_t count = random.in(1, 90);
  const int32_t low = to == DType::i8 ? INT8_MIN : to == DType::i16 ? INT16_MIN : INT32_MIN;
  const int32_t high = to == DType::i8    ? INT8_MAX
                       : to == DType::i16 ? INT16_MAX
                                          : INT32_MAX,
                min = random.one_in(3) ? random.in(low, high) : low;
  call.add_tensor(from, {count});
  call.add_int(from == DType::i32 ? 0 : random.in(INT8_MIN, INT8_MAX));
  call.add_int(to == DType::i32 ? 0 : random.in(INT8_MIN, INT8_MAX));
  call.add_int(random_multiplier(random));
  call.add_int(random.one_in(8) ? random.in(-31, 30) : random.in(-24, -5));
  call.add_int(min);
  call.add_int(random.one_in(3) ? random.in(min, high) : high);
  call.add_int(static_cast<int64_t>(to));
  call.add_out(to, {count});
}

void make_conv2d(Call& call) {
  const Geometry g = random_geometry(call.random, true);
  const int32_t groups = call.random.one_in(4) ? call.random.in(1, 3) : 1;
  const int32_t taps = g.kernel[0] * g.kernel[1], positions = g.batch * g.out[0] * g.out[1];
  const int32_t inputs = channels_for(call.random, groups > 1 ? 20 : 64, positions, taps), terms = taps * inputs;
  const int32_t outputs = groups * channels_for(call.random, groups > 1 ? 10 : 40, positions, groups * terms);
  call.add_int16({g.batch, groups * inputs, g.height, g.width}, Order::channels_last);
  call.add_int8({outputs, g.kernel[0], g.kernel[1], inputs});
  const bool wide = add_any_bias(call, outputs);
  add_pair(call, g.stride);
  add_pair(call, g.padding);
  add_pair(call, g.dilation);
  add_wide_scales(call, outputs, terms, wide);
  add_range(call);
  call.add_scratch(call.random.one_in(4) ? call.random.in(0, 8 * terms) : 8 * terms);
  call.add_out(DType::i16, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}

void make_depthwise_conv2d(Call& call) {
  const Geometry g = random_geometry(call.random, true);
  const int32_t multiplier = call.random.one_in(5) ? call.random.in(1, 4) : 1, taps = g.kernel[0] * g.kernel[1];
  const int32_t inputs = channels_for(call.random, multiplier > 1 ? 12 : 64, g.batch * g.out[0] * g.out[1], taps);
  const int32_t outputs = inputs * multiplier;
  call.add_int16({g.batch, inputs, g.height, g.width}, Order::channels_last);
  call.add_int8({1, g.kernel[0], g.kernel[1], outputs});
  const bool wide = add_any_bias(call, outputs);
  add_pair(call, g.stride);
  add_pair(call, g.padding);
  add_pair(call, g.dilation);
  call.add_int(multiplier);
  add_wide_scales(call, outputs, taps, wide);
  add_range(call);
  call.add_out(DType::i16, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}

/// Sizes of two operands that broadcast, and of their output.
struct Operands {
  Order order;
  int32_t sizes[2][4], out[4];
};
Operands random_operands(Stream& random) {
  Operands o;
  o.order = random.one_in(2) ? Order::channels_last : Order::contiguous;
  for (size_t d = 0; d < 4; ++d) {
    o.out[d] = random.one_in(4) ? 1 : random.in(1, d == 3 || d == 1 ? 24 : 4);
    const int32_t kind = random.in(0, 5);
    for (int32_t i = 0; i < 2; ++i) o.sizes[i][d] = kind == i ? 1 : o.out[d];
  }
  return o;
}
void add_operand(Call& call, const Operands& o, size_t i) {
  call.add_int16({o.sizes[i][0], o.sizes[i][1], o.sizes[i][2], o.sizes[i][3]}, o.order);
}
void add_result(Call& call, const Operands& o, int32_t low, int32_t high) {
  call.add_int(random_multiplier(call.random));
  call.add_int(call.random.one_in(10) ? call.random.in(-31, 30) : call.random.in(low, high));
  add_range(call);
  call.add_out(DType::i16, {o.out[0], o.out[1], o.out[2], o.out[3]}, o.order);
}

void make_add(Call& call) {
  const Operands o = random_operands(call.random);
  for (const size_t i : {0, 1}) {
    add_operand(call, o, i);
    call.add_int(random_multiplier(call.random));
    call.add_int(call.random.one_in(10) ? call.random.in(-31, 30) : call.random.in(-6, 0));
  }
  add_result(call, o, -16, -12);
}

void make_mul(Call& call) {
  const Operands o = random_operands(call.random);
  for (const size_t i : {0, 1}) add_operand(call, o, i);
  add_result(call, o, -16, -12);
}

void make_lookup(Call& call) {
  const int32_t count = call.random.in(1, 90);
  call.add_int16({count});
  const bool any = call.random.one_in(4);
  call.add_int32((1 << call.random.in(1, 12)) + 1, any ? INT32_MIN : -(1 << 19), any ? INT32_MAX : 1 << 19);
  add_range(call);
  call.add_out(DType::i16, {count});
}

void make_graded_lookup(Call& call) {
  const int32_t count = call.random.in(1, 90), bits = call.random.in(1, 8), half = ((16 - bits) << bits) + 2;
  call.add_int16({count});
  const bool any = call.random.one_in(4), constant = call.random.one_in(2);
  call.add_int32(constant ? half + 1 : 2 * half, any ? INT32_MIN : -(1 << 19), any ? INT32_MAX : 1 << 19);
  add_range(call);
  call.add_out(DType::i16, {count});
}

void make_softmax(Call& call) {
  Stream& random = call.random;
  const int32_t rows = random.in(1, 3), columns = random.in(1, 30);
  call.add_int16({rows, columns});
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(8) ? random.in(-31, 30) : random.in(0, 14));
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(8) ? random.in(-31, 30) : random.in(-16, -13));
  add_range(call);
  call.add_out(DType::i16, {rows, columns});
}

void make_log_softmax(Call& call) {
  Stream& random = call.random;
  const int32_t rows = random.in(1, 3), columns = random.in(1, 30);
  call.add_int16({rows, columns});
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(8) ? random.in(-31, 14) : random.in(-2, 12));
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(8) ? random.in(-31, 30) : random.in(-12, -4));
  add_range(call);
  call.add_out(DType::i16, {rows, columns});
}

void make_resize2d(Call& call) {
  constexpr int32_t kTapBits = 20;
  Stream& random = call.random;
  const int32_t batch = random.in(1, 2), channels = random.in(1, 12), h = random.in(1, 6), w = random.in(1, 6),
                rows = random.in(1, 7), columns = random.in(1, 7);
  call.add_int16({batch, channels, h, w}, Order::channels_last);
  add_taps(call, rows, h, kTapBits);
  add_taps(call, columns, w, kTapBits);
  call.add_int(random_multiplier(random));
  call.add_int(random.one_in(8) ? random.in(-31, 30) : random.in(-17, -14));
  add_range(call);
  call.add_out(DType::i16, {batch, channels, rows, columns}, Order::channels_last);
}

void make_batch_matmul(Call& call) {
  Stream& random = call.random;
  const int32_t batch = random.in(1, 2), rows = random.in(1, 6), columns = random.in(1, 6), inner = random.in(0, 40);
  call.add_int16({batch, rows, inner});
  call.add_int16({batch, columns, inner});
  call.add_int(random.in(INT32_MIN + 1, INT32_MAX));
  call.add_int(random.one_in(8) ? random.in(-31, 14) : random.in(-20, -14));
  add_range(call);
  call.add_out(DType::i16, {batch, rows, columns});
}

void make_attention(Call& call) {
  Stream& random = call.random;
  const int32_t group = random.one_in(3) ? 2 : 1, batch = group * random.in(1, 2), queries = random.in(1, 4),
                keys = random.one_in(4) ? random.in(1, 40) : random.in(1, 12), features = random.in(1, 20),
                outputs = random.in(1, 20);
  call.add_int16({batch, queries, features});
  call.add_int16({batch / group, keys, features});
  call.add_int16({batch / group, keys, outputs});
  add_mask(call, batch, queries, keys);
  call.add_int(random.one_in(16) ? random.in(0, INT32_MAX) : random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(16) ? random.in(-31, 30) : random.in(-6, 8));
  call.add_bool(random.one_in(3));
  call.add_int(random_multiplier(random));
  call.add_int(random.one_in(16) ? random.in(-31, 30) : random.in(-16, -13));
  add_range(call);
  call.add_scratch(4 * keys);
  call.add_out(DType::i16, {batch, queries, outputs});
}

constexpr CaseSource kSources[] = {
    {"wick_cortex_m::linear_int16.out", 2500, make_linear},
    {"wick_cortex_m::conv2d_int16.out", 1500, make_conv2d},
    {"wick_cortex_m::depthwise_conv2d_int16.out", 1500, make_depthwise_conv2d},
    {"wick_cortex_m::add_int16.out", 800, make_add},
    {"wick_cortex_m::mul_int16.out", 800, make_mul},
    {"wick_cortex_m::lookup_int16.out", 600, make_lookup},
    {"wick_cortex_m::requantize.out", 800, make_requantize},
    {"wick_cortex_m::softmax_int16.out", 200, make_softmax},
    {"wick_cortex_m::batch_matmul_int16.out", 300, make_batch_matmul},
    {"wick_cortex_m::log_softmax_int16.out", 200, make_log_softmax},
    {"wick_cortex_m::resize2d_int16.out", 200, make_resize2d},
    {"wick_cortex_m::attention_int16.out", 200, make_attention},
    {"wick_cortex_m::graded_lookup_int16.out", 200, make_graded_lookup},
};

}  // namespace

Span<const CaseSource> int16_case_sources() { return kSources; }

}  // namespace wick::cortex_m
