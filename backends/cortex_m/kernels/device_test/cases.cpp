#include "backends/cortex_m/kernels/device_test/cases.h"

#include "backends/cortex_m/kernels/device_test/case_parts.h"

namespace wick::cortex_m {
namespace {

void make_convolution(Call& call, const Geometry& g, bool four) {
  const int32_t groups = call.random.one_in(4) ? call.random.in(1, 3) : 1;
  const int32_t taps = g.kernel[0] * g.kernel[1], positions = g.batch * g.out[0] * g.out[1];
  const int32_t inputs = channels_for(call.random, groups > 1 ? 20 : 64, positions, taps), terms = taps * inputs;
  const int32_t most = groups > 1 ? 10 : call.random.one_in(6) ? 140 : 48;
  const int32_t outputs = groups * channels_for(call.random, most, positions, groups * terms);
  call.add_int8({g.batch, groups * inputs, g.height, g.width}, Order::channels_last);
  call.add_int8({outputs, g.kernel[0], g.kernel[1], inputs});
  add_bias(call, outputs);
  add_pair(call, g.stride);
  four ? add_paddings(call, g) : add_pair(call, g.padding);
  add_pair(call, g.dilation);
  add_channel_quantization(call, outputs, terms);
  call.add_scratch(convolution_scratch(call.random, terms));
  call.add_out(DType::i8, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}
void make_conv2d(Call& call) { make_convolution(call, random_geometry(call.random, true), false); }
void make_padded_conv2d(Call& call) { make_convolution(call, random_padded_geometry(call.random), true); }

void make_depthwise(Call& call, const Geometry& g, bool four) {
  const int32_t multiplier = call.random.one_in(3) ? call.random.in(1, 5) : 1;
  const int32_t taps = g.kernel[0] * g.kernel[1] * multiplier;
  const int32_t inputs = channels_for(call.random, multiplier > 1 ? 20 : 64, g.batch * g.out[0] * g.out[1], taps);
  const int32_t outputs = inputs * multiplier;
  call.add_int8({g.batch, inputs, g.height, g.width}, Order::channels_last);
  call.add_int8({1, g.kernel[0], g.kernel[1], outputs});
  add_bias(call, outputs);
  add_pair(call, g.stride);
  four ? add_paddings(call, g) : add_pair(call, g.padding);
  add_pair(call, g.dilation);
  call.add_int(multiplier);
  add_channel_quantization(call, outputs, g.kernel[0] * g.kernel[1]);
  const int32_t kinds[] = {4 * 124 * g.kernel[0] * g.kernel[1], 2 * outputs * g.kernel[0] * g.kernel[1],
                           call.random.in(0, 2000)};
  call.add_scratch(kinds[call.random.in(0, 2)]);
  call.add_out(DType::i8, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}
void make_depthwise_conv2d(Call& call) { make_depthwise(call, random_geometry(call.random, true), false); }
void make_padded_depthwise_conv2d(Call& call) { make_depthwise(call, random_padded_geometry(call.random), true); }

void make_transpose_conv2d(Call& call) {
  Geometry g;
  do {
    g = random_geometry(call.random, false);
    g.height = g.height > 5 ? 5 : g.height;
    const bool one_tap = call.random.one_in(3);  // a single tap for each output
    for (size_t axis = 0; axis < 2; ++axis) g.stride[axis] = one_tap ? g.kernel[axis] : g.stride[axis];
    for (size_t axis = 0; axis < 2; ++axis)
      g.out[axis] = ((axis == 0 ? g.height : g.width) - 1) * g.stride[axis] - 2 * g.padding[axis] + g.kernel[axis];
  } while (g.out[0] <= 0 || g.out[1] <= 0);
  const int32_t taps = g.kernel[0] * g.kernel[1], positions = g.batch * g.out[0] * g.out[1];
  const int32_t inputs = channels_for(call.random, 32, positions, taps), terms = taps * inputs;
  const int32_t outputs = channels_for(call.random, 16, positions, terms);
  call.add_int8({g.batch, inputs, g.height, g.width}, Order::channels_last);
  call.add_int8({outputs, g.kernel[0], g.kernel[1], inputs});
  add_bias(call, outputs);
  add_pair(call, g.stride);
  add_pair(call, g.padding);
  call.add_ints({0, 0});
  call.add_ints({1, 1});
  add_channel_quantization(call, outputs, terms);
  const bool turned = g.stride[0] <= 2 && g.stride[1] <= 2 && inputs > 16;
  const int32_t wide = g.kernel[1] > g.stride[0] ? g.kernel[1] : g.stride[0];
  const int32_t high = g.kernel[0] > g.stride[0] ? g.kernel[0] : g.stride[0];
  call.add_scratch(turned ? convolution_scratch(call.random, terms)
                          : ((g.width - 1) * g.stride[1] + wide) * outputs * high * 4);
  call.add_scratch(turned ? terms * outputs : 0);
  call.add_out(DType::i8, {g.batch, outputs, g.out[0], g.out[1]}, Order::channels_last);
}

void make_any_linear(Call& call, bool per_channel) {
  Stream& random = call.random;
  const int32_t batch = random.one_in(3) ? random.in(2, 9) : 1;
  const int32_t inputs = random.one_in(3) ? 16 * random.in(1, 12) : random.in(1, 150), outputs = random.in(1, 40);
  call.add_int8({batch, inputs});
  call.add_int8({outputs, inputs});
  if (random.one_in(2)) {
    add_bias(call, outputs);
    call.add_none();
  } else {
    call.add_none();
    call.add_int32(outputs, -400000, 400000);
  }
  call.add_int(random_offset(random));
  call.add_int(random.one_in(3) ? random_offset(random) : 0);
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  if (per_channel) {
    add_scales(call, outputs, inputs);
  } else {
    call.add_ints({random_multiplier(random)});
    call.add_ints({random_shift(random, inputs)});
  }
  const Clamp clamp = random_clamp(random);
  call.add_int(per_channel ? clamp.min : clamp.max);
  call.add_int(per_channel ? clamp.max : clamp.min);
  call.add_out(DType::i8, {batch, outputs});
}

void make_linear(Call& call) { make_any_linear(call, false); }
void make_linear_per_channel(Call& call) { make_any_linear(call, true); }

void make_kernel_sum(Call& call) {
  const int32_t inputs = call.random.in(0, 150), outputs = call.random.in(1, 20);
  call.add_int8({outputs, inputs});
  add_bias(call, outputs);
  call.add_int(random_offset(call.random));
  call.add_int(random_offset(call.random));
  call.add_out(DType::i32, {1, outputs});
}

void make_batch_matmul(Call& call) {
  Stream& random = call.random;
  const int32_t batch = random.in(1, 3), rows = random.in(1, 12), columns = random.in(1, 20);
  const int32_t inner = random.one_in(3) ? 16 * random.in(1, 5) : random.in(1, 70);
  call.add_int8({batch, rows, inner});
  call.add_int(random_offset(random));
  call.add_int8({batch, columns, inner});
  call.add_int(random_offset(random));
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  add_scale(call, inner);
  call.add_scratch(random.one_in(3) ? 0 : 4 * columns);
  call.add_out(DType::i8, {batch, rows, columns});
}

/// Operands of equal sizes, or one of them a row of channels; `sizes` receives the output's sizes.
struct Pair {
  int32_t sizes[4];
  bool row_a, row_b;
};
Pair random_pair(Stream& random) {
  const int32_t kind = random.in(0, 5);
  return {{random.in(1, 2), random_channels(random, 48), random.in(1, 5), random.in(1, 9)}, kind == 0, kind == 1};
}
void add_operand(Call& call, const Pair& pair, bool row) {
  if (row) {
    call.add_int8({1, pair.sizes[1], 1, 1}, Order::channels_last);
  } else {
    call.add_int8({pair.sizes[0], pair.sizes[1], pair.sizes[2], pair.sizes[3]}, Order::channels_last);
  }
}
void add_result(Call& call, const Pair& pair) {
  call.add_out(DType::i8, {pair.sizes[0], pair.sizes[1], pair.sizes[2], pair.sizes[3]}, Order::channels_last);
}

/// Adds the output stage of a sum; `any`: with any scale.
void add_sum(Call& call, bool any) {
  Stream& random = call.random;
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(random_multiplier(random));
  call.add_int(any ? random.in(-31, 30) : random.in(-20, -17));
  const Clamp clamp = random_clamp(random);
  call.add_int(clamp.min);
  call.add_int(clamp.max);
}

void make_add(Call& call) {
  Stream& random = call.random;
  const Pair pair = random_pair(random);
  const bool any = random.one_in(8), larger = random.one_in(2);
  for (const bool first : {true, false}) {
    add_operand(call, pair, first ? pair.row_a : pair.row_b);
    call.add_int(random.in(INT8_MIN, INT8_MAX));
    // The operand of the larger scale has the multiplier 2^30 and no shift.
    const bool half = first == larger && !any;
    call.add_int(half ? 1 << 30 : random_multiplier(random));
    call.add_int(half ? 0 : any ? random.in(-31, 30) : random.in(-8, 0));
  }
  add_sum(call, any);
  add_result(call, pair);
}

void make_mul(Call& call) {
  Stream& random = call.random;
  const Pair pair = random_pair(random);
  for (const bool row : {pair.row_a, pair.row_b}) {
    add_operand(call, pair, row);
    call.add_int(random.one_in(8) ? random.in(-32640, 32640) : random.in(INT8_MIN, INT8_MAX));
  }
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  add_scale(call, 1);
  add_result(call, pair);
}

void make_div(Call& call) {
  Stream& random = call.random;
  const DType dtype = random.one_in(2) ? DType::i8 : DType::i16;
  const int32_t count = random.in(1, 90);
  for (int i = 0; i < 2; ++i) {
    call.add_tensor(dtype, {count});
    call.add_int(random.in(INT8_MIN, INT8_MAX));
  }
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_real(random.in(0, 5000) * 0.01);
  call.add_out(dtype, {count});
}

void make_activation(Call& call) {
  const int32_t rows = call.random.in(1, 9), columns = call.random.in(1, 40);
  call.add_int8({rows, columns});
  call.add_int8({256});
  call.add_out(DType::i8, {rows, columns});
}

/// Sizes of two operands that broadcast, and of their output.
struct Broadcasting {
  Order order;
  int32_t operand[2][4], out[4];

  void add_operand(Call& call, size_t i) const {
    call.add_int8({operand[i][0], operand[i][1], operand[i][2], operand[i][3]}, order);
  }
  void add_result(Call& call) const { call.add_out(DType::i8, {out[0], out[1], out[2], out[3]}, order); }
};
Broadcasting random_broadcasting(Stream& random) {
  Broadcasting b;
  b.order = random.one_in(2) ? Order::channels_last : Order::contiguous;
  for (size_t d = 0; d < 4; ++d) b.out[d] = random.one_in(4) ? 1 : random.in(1, d == 3 || d == 1 ? 24 : 4);
  for (auto& sizes : b.operand) {
    for (size_t d = 0; d < 4; ++d) sizes[d] = random.one_in(6) ? 1 : b.out[d];
  }
  for (size_t d = 0; d < 4; ++d) {
    if (b.operand[0][d] != b.out[d] && b.operand[1][d] != b.out[d]) b.operand[random.in(0, 1)][d] = b.out[d];
  }
  return b;
}

void make_extremum(Call& call) {
  const Broadcasting sizes = random_broadcasting(call.random);
  for (const size_t i : {0, 1}) sizes.add_operand(call, i);
  sizes.add_result(call);
}

void make_broadcast_add(Call& call) {
  const Broadcasting sizes = random_broadcasting(call.random);
  for (const size_t i : {0, 1}) {
    sizes.add_operand(call, i);
    call.add_int(call.random.in(INT8_MIN, INT8_MAX));
    call.add_int(random_multiplier(call.random));
    call.add_int(call.random.in(-8, 0));
  }
  add_sum(call, false);
  sizes.add_result(call);
}

void make_broadcast_mul(Call& call) {
  const Broadcasting sizes = random_broadcasting(call.random);
  for (const size_t i : {0, 1}) {
    sizes.add_operand(call, i);
    call.add_int(call.random.in(INT8_MIN, INT8_MAX));
  }
  call.add_int(call.random.in(INT8_MIN, INT8_MAX));
  add_scale(call, 1);
  sizes.add_result(call);
}

void make_softmax(Call& call) {
  Stream& random = call.random;
  const int32_t rows = random.in(1, 4), count = random.one_in(20) ? random.in(500, 1200) : random.in(1, 70);
  call.add_int8({rows, count});
  call.add_int(1);
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(-128);
  call.add_int(random.in(1 << 30, INT32_MAX));
  const int32_t shift = random.one_in(10) ? random.in(0, 30) : random.in(18, 26);
  call.add_int(shift);
  call.add_int(random.one_in(10) ? random.in(-300, 0) : -static_cast<int32_t>((int64_t{31} << 26) >> shift));
  call.add_out(DType::i8, {rows, count});
}

void make_transpose(Call& call) {
  Stream& random = call.random;
  const int32_t kind = random.in(0, 3);
  if (kind == 0) {
    const int32_t rows = random.in(1, 40), columns = random.in(1, 40);
    call.add_int8({rows, columns});
    call.add_ints({1, 0});
    call.add_out(DType::i8, {columns, rows});
    return;
  }
  if (kind == 1) {
    const int32_t batch = random.in(1, 3), rows = random.in(1, 30), columns = random.in(1, 30);
    call.add_int8({batch, rows, columns});
    call.add_ints({0, 2, 1});
    call.add_out(DType::i8, {batch, columns, rows});
    return;
  }
  int32_t sizes[4], perm[4] = {0, 1, 2, 3};
  for (int32_t& size : sizes) size = random.in(1, random.one_in(3) ? 20 : 6);
  for (int32_t i = 3; i > 0; --i) {
    const int32_t j = random.in(0, i), kept = perm[i];
    perm[i] = perm[j];
    perm[j] = kept;
  }
  call.add_int8({sizes[0], sizes[1], sizes[2], sizes[3]}, random.one_in(2) ? Order::channels_last : Order::contiguous);
  call.add_ints({perm[0], perm[1], perm[2], perm[3]});
  call.add_out(DType::i8, {sizes[perm[0]], sizes[perm[1]], sizes[perm[2]], sizes[perm[3]]},
               random.one_in(2) ? Order::channels_last : Order::contiguous);
}

void make_pad(Call& call) {
  Stream& random = call.random;
  const bool last = random.one_in(2);
  const Order order = last ? Order::channels_last : Order::contiguous;
  int32_t sizes[4], pre[4], post[4];
  for (size_t d = 0; d < 4; ++d) {
    sizes[d] = random.in(2, d == 1 || d == 3 ? 24 : 5);
    pre[d] = random.one_in(2) ? 0 : random.in(0, 3);
    post[d] = random.one_in(2) ? 0 : random.in(0, 3);
  }
  const size_t at[4] = {0, last ? 3u : 1u, last ? 1u : 2u, last ? 2u : 3u};  // position of each dimension in the lists
  call.add_int8({sizes[0], sizes[1], sizes[2], sizes[3]}, order);
  call.add_ints({pre[0], pre[1], pre[2], pre[3]});
  call.add_ints({post[0], post[1], post[2], post[3]});
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  for (size_t d = 0; d < 4; ++d) sizes[d] += pre[at[d]] + post[at[d]];
  call.add_out(DType::i8, {sizes[0], sizes[1], sizes[2], sizes[3]}, order);
}

Geometry random_pooling(Stream& random, bool ceil_mode) {
  Geometry g = random_geometry(random, false);
  const int32_t size[2] = {g.height, g.width};
  for (size_t axis = 0; axis < 2; ++axis) {
    const int32_t room = size[axis] + 2 * g.padding[axis] - g.kernel[axis];
    const int32_t more =
        ceil_mode && room % g.stride[axis] != 0 && g.out[axis] * g.stride[axis] < size[axis] + g.padding[axis];
    g.out[axis] += more;
  }
  return g;
}

void make_avg_pool2d(Call& call) {
  const bool ceil_mode = call.random.one_in(3);
  const Geometry g = random_pooling(call.random, ceil_mode);
  const int32_t channels = random_channels(call.random, 64);
  call.add_int8({g.batch, channels, g.height, g.width}, Order::channels_last);
  add_pair(call, g.kernel);
  add_pair(call, g.stride);
  add_pair(call, g.padding);
  call.add_bool(ceil_mode);
  call.add_int(0);
  call.add_int(1);
  call.add_int(0);
  call.add_scratch(call.random.one_in(2) ? 0 : 4 * channels);
  call.add_out(DType::i8, {g.batch, channels, g.out[0], g.out[1]}, Order::channels_last);
}

// A window over the whole image, with more taps than 16-bit sums allow.
Geometry whole_image(Stream& random) {
  Geometry g = {};
  const bool line = random.one_in(3);
  g.batch = 1;
  g.height = line && random.one_in(2) ? 1 : random.in(16, 24);
  g.width = line ? random.in(256, 300) : random.in(16, 24);
  if (line && g.height != 1) std::swap(g.height, g.width), g.width = 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    g.kernel[axis] = axis == 0 ? g.height : g.width;
    g.stride[axis] = g.dilation[axis] = g.out[axis] = 1;
  }
  return g;
}

void make_sum_pool2d(Call& call) {
  const bool whole = call.random.one_in(8);
  const Geometry g = whole ? whole_image(call.random) : random_pooling(call.random, false);
  const int32_t channels = call.random.one_in(4) ? 1 : random_channels(call.random, whole ? 20 : 64);
  call.add_int8({g.batch, channels, g.height, g.width}, Order::channels_last);
  add_pair(call, g.kernel);
  add_pair(call, g.stride);
  add_pair(call, g.padding);
  call.add_int(random_offset(call.random));
  call.add_int(call.random.in(INT8_MIN, INT8_MAX));
  call.add_int(call.random.in(1 << 30, INT32_MAX));
  call.add_int(call.random.in(-12, 1));
  const Clamp clamp = random_clamp(call.random);
  call.add_int(clamp.min);
  call.add_int(clamp.max);
  call.add_out(DType::i8, {g.batch, channels, g.out[0], g.out[1]}, Order::channels_last);
}

void make_max_pool2d(Call& call) {
  const Geometry g = random_pooling(call.random, false);
  const int32_t channels = random_channels(call.random, 64), zero_point = call.random.in(INT8_MIN, INT8_MAX);
  call.add_int8({g.batch, channels, g.height, g.width}, Order::channels_last);
  add_pair(call, g.kernel);
  add_pair(call, g.stride);
  add_pair(call, g.padding);
  call.add_ints({1, 1});
  call.add_bool(false);
  call.add_int(zero_point);
  call.add_int(zero_point);
  const Clamp clamp = random_clamp(call.random);
  call.add_int(clamp.min);
  call.add_int(clamp.max);
  call.add_out(DType::i8, {g.batch, channels, g.out[0], g.out[1]}, Order::channels_last);
}

/// scale, zero_point, quant_min, quant_max, dtype.
void add_range(Call& call, DType dtype, double scale) {
  const int32_t low = dtype == DType::i8 ? INT8_MIN : INT16_MIN, high = dtype == DType::i8 ? INT8_MAX : INT16_MAX;
  call.add_real(scale);
  call.add_int(call.random.in(low, high));
  const int32_t min = call.random.one_in(4) ? call.random.in(low, high) : low;
  call.add_int(min);
  call.add_int(call.random.one_in(4) ? call.random.in(min, high) : high);
  call.add_int(static_cast<int64_t>(dtype));
}

void make_quantize(Call& call) {
  const DType dtype = call.random.one_in(3) ? DType::i16 : DType::i8;
  const int32_t count = call.random.in(1, 70), magnitude = call.random.in(0, 20);
  Tensor& x = call.add_floats({count}, static_cast<float>(1 << magnitude));
  const double scale = 0.001 * call.random.in(1, 2000);
  if (call.random.one_in(8)) {
    for (int32_t i = 0; i < count; ++i) x.as<uint32_t>()[i] = static_cast<uint32_t>(call.random.word());
  } else if (call.random.one_in(4)) {  // halfway between two steps
    for (int32_t i = 0; i < count; ++i) x.as<float>()[i] = static_cast<float>(call.random.in(-300, 300)) * 0.5f;
    add_range(call, dtype, 1.0);
    call.add_out(dtype, {count});
    return;
  }
  add_range(call, dtype, scale);
  call.add_out(dtype, {count});
}

void make_dequantize(Call& call) {
  const DType dtype = call.random.one_in(3) ? DType::i16 : DType::i8;
  const int32_t count = call.random.in(1, 70);
  call.add_tensor(dtype, {count});
  add_range(call, dtype, 0.001 * call.random.in(1, 2000));
  call.add_out(DType::f32, {count});
}

/// input_zero_point, epsilon, shift, output_zero_point, activation_min, activation_max, epsilon_bits.
void add_norm(Call& call, DType dtype) {
  Stream& random = call.random;
  const bool wide = dtype == DType::i16;
  call.add_int(wide ? 0 : random.in(INT8_MIN, INT8_MAX));
  call.add_int(random.in(0, 100000));
  call.add_int(random.in(10, 30));
  call.add_int(wide ? 0 : random.in(INT8_MIN, INT8_MAX));
  const Clamp clamp = random_clamp(random);
  call.add_int(clamp.min * (wide ? 256 : 1));
  call.add_int(clamp.max * (wide ? 256 : 1));
  if (random.one_in(2)) call.add_int(random.in(0, 32));
}

void make_layer_norm(Call& call) {
  Stream& random = call.random;
  const int32_t rows = random.in(1, 3), count = random.in(1, 40);
  const DType dtype = random.one_in(3) ? DType::i16 : DType::i8;
  call.add_tensor(dtype, {rows, count});
  call.add_int32(count, -(1 << 20), 1 << 20);
  call.add_int32(count, -(1 << 22), 1 << 22);
  call.add_bool(random.one_in(2));
  add_norm(call, dtype);
  call.add_out(dtype, {rows, count});
}

void make_group_norm(Call& call) {
  Stream& random = call.random;
  const int32_t groups = random.in(1, 3), channels = groups * random.in(1, 6);
  const Order order = random.one_in(2) ? Order::contiguous : Order::channels_last;
  const std::initializer_list<int32_t> sizes = {random.in(1, 2), channels, random.in(1, 5), random.in(1, 5)};
  const DType dtype = random.one_in(3) ? DType::i16 : DType::i8;
  call.add_tensor(dtype, sizes, order);
  call.add_int32(channels, -(1 << 20), 1 << 20);
  call.add_int32(channels, -(1 << 22), 1 << 22);
  call.add_int(groups);
  add_norm(call, dtype);
  call.add_out(dtype, sizes, order);
}

/// The calls of an operator on channels-last images, converted to NHWC sizes.
template <void (*make)(Call&)>
void make_nhwc(Call& call) {
  call.images_are_nhwc = true;
  make(call);
  call.images_are_nhwc = false;
}

constexpr CaseSource kSources[] = {
    {"cortex_m::quantize_per_tensor.out", 1500, make_quantize},
    {"cortex_m::dequantize_per_tensor.out", 800, make_dequantize},
    {"cortex_m::quantized_add.out", 2000, make_add},
    {"cortex_m::quantized_mul.out", 1500, make_mul},
    {"cortex_m::quantized_div.out", 400, make_div},
    {"cortex_m::quantized_activation.out", 600, make_activation},
    {"cortex_m::minimum.out", 800, make_extremum},
    {"cortex_m::maximum.out", 800, make_extremum},
    {"cortex_m::quantized_linear.out", 2500, make_linear},
    {"cortex_m::softmax.out", 1200, make_softmax},
    {"cortex_m::transpose.out", 1000, make_transpose},
    {"cortex_m::pad.out", 1000, make_pad},
    {"cortex_m::quantized_conv2d.out", 2500, make_conv2d},
    {"cortex_m::quantized_depthwise_conv2d.out", 2500, make_depthwise_conv2d},
    {"cortex_m::quantized_transpose_conv2d.out", 600, make_transpose_conv2d},
    {"cortex_m::quantized_avg_pool2d.out", 1200, make_avg_pool2d},
    {"cortex_m::quantized_max_pool2d.out", 1200, make_max_pool2d},
    {"cortex_m::quantized_batch_matmul.out", 1200, make_batch_matmul},
    {"cortex_m::quantized_conv2d_nhwc.out", 400, make_nhwc<make_conv2d>},
    {"cortex_m::quantized_depthwise_conv2d_nhwc.out", 400, make_nhwc<make_depthwise_conv2d>},
    {"cortex_m::quantized_transpose_conv2d_nhwc.out", 200, make_nhwc<make_transpose_conv2d>},
    {"cortex_m::quantized_avg_pool2d_nhwc.out", 200, make_nhwc<make_avg_pool2d>},
    {"cortex_m::quantized_max_pool2d_nhwc.out", 200, make_nhwc<make_max_pool2d>},
    {"cortex_m::pad_contiguous.out", 200, make_nhwc<make_pad>},
    {"wick_cortex_m::conv2d.out", 1000, make_padded_conv2d},
    {"wick_cortex_m::depthwise_conv2d.out", 1000, make_padded_depthwise_conv2d},
    {"wick_cortex_m::linear_per_channel.out", 1000, make_linear_per_channel},
    {"wick_cortex_m::sum_pool2d.out", 1200, make_sum_pool2d},
    {"wick_cortex_m::kernel_sum.out", 500, make_kernel_sum},
    {"wick_cortex_m::add.out", 800, make_broadcast_add},
    {"wick_cortex_m::mul.out", 800, make_broadcast_mul},
    {"wick_cortex_m::layer_norm.out", 200, make_layer_norm},
    {"wick_cortex_m::group_norm.out", 200, make_group_norm},
    {"wick_cortex_m::attention.out", 1000, make_attention},
    {"wick_cortex_m::log_softmax.out", 200, make_log_softmax},
    {"wick_cortex_m::resize2d.out", 1000, make_resize2d},
    {"wick_cortex_m::lstm.out", 300, make_lstm},
    {"wick_cortex_m::lstm_projected.out", 200, make_lstm_projected},
    {"wick_cortex_m::gru.out", 300, make_gru},
    {"wick_cortex_m::rnn_tanh.out", 150, make_plain_recurrent},
    {"wick_cortex_m::rnn_relu.out", 150, make_plain_recurrent},
};

}  // namespace

Span<const CaseSource> case_sources() { return kSources; }

}  // namespace wick::cortex_m
