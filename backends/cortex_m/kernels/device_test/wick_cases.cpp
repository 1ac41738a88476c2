#include "backends/cortex_m/kernels/device_test/case_parts.h"
#include "backends/cortex_m/kernels/device_test/cases.h"

namespace wick::cortex_m {

void make_attention(Call& call) {
  Stream& random = call.random;
  const int32_t group = random.one_in(3) ? 2 : 1, batch = group * random.in(1, 2), queries = random.in(1, 4),
                keys = random.one_in(4) ? random.in(1, 80) : random.in(1, 12), features = random.in(1, 40),
                outputs = random.in(1, 40);
  call.add_int8({batch, queries, features});
  call.add_int8({batch / group, keys, features});
  call.add_int8({batch / group, keys, outputs});
  add_mask(call, batch, queries, keys);
  call.add_int(random.in(0, 9));
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(random.one_in(16) ? random.in(0, INT32_MAX) : random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(16) ? random.in(-31, 30) : random.in(-3, 18));
  call.add_bool(random.one_in(3));
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(16) ? random.in(-31, 30) : random.in(-24, -20));
  call.add_scratch(4 * (keys + (features + 3) / 4 * 4));
  call.add_out(DType::i8, {batch, queries, outputs});
}

void make_log_softmax(Call& call) {
  Stream& random = call.random;
  const int32_t rows = random.in(1, 3), columns = random.in(1, 40);
  call.add_int8({rows, columns});
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(16) ? random.in(-31, 22) : random.in(5, 20));
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.one_in(16) ? random.in(-31, 30) : random.in(-20, -10));
  call.add_int(random.in(INT8_MIN, 0));
  call.add_int(random.in(0, INT8_MAX));
  call.add_out(DType::i8, {rows, columns});
}

namespace {

void add_factors(Call& call, int32_t rows) {
  Tensor& factors = call.add_int32(2 * rows, 0, 0);
  for (int32_t i = 0; i < rows; ++i) {
    factors.as<int32_t>()[2 * i] = call.random.in(0, 1 << 22);
    factors.as<int32_t>()[2 * i + 1] = call.random.one_in(16) ? call.random.in(1, 62) : call.random.in(16, 26);
  }
}

void make_recurrent(Call& call, int32_t gates, bool projected = false) {
  Stream& random = call.random;
  const int32_t steps = random.in(1, 4), batch = random.in(1, 2), inputs = random.in(1, 20), cells = random.in(1, 12),
                rows = gates * cells, outputs = projected ? random.in(1, 12) : cells;
  call.add_tensor(random.one_in(3) ? DType::i16 : DType::i8, {steps, batch, inputs});
  call.add_tensor(DType::i16, {rows, inputs});
  call.add_tensor(DType::i16, {rows, outputs});
  if (projected) call.add_tensor(DType::i16, {outputs, cells});
  add_factors(call, rows);
  add_factors(call, rows);
  if (projected) add_factors(call, outputs);
  call.add_int32(4 * cells, -(1 << 27), 1 << 27);
  const bool has_state = random.one_in(2);
  if (has_state)
    call.add_int16({batch, outputs});
  else
    call.add_none();
  if (has_state && gates == 4)
    call.add_tensor(DType::i32, {batch, cells});
  else
    call.add_none();
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_bool(random.one_in(2));
  call.add_int(random.one_in(2) ? 15 : random.in(8, 15));
  call.add_int(random.in(INT8_MIN, INT8_MAX));
  call.add_int(random.in(1 << 30, INT32_MAX));
  call.add_int(random.in(-9, -5));
  call.add_scratch(4 * (4 * cells + (inputs + 1) / 2 + (projected ? (cells + 1) / 2 : 0)));
  const DType dtype = random.one_in(3) ? DType::i16 : DType::i8;
  call.add_int(static_cast<int64_t>(dtype));
  call.add_out(DType::i16, {batch, outputs});
  call.add_out(DType::i32, {batch, cells});
  call.add_out(dtype, {steps, batch, outputs});
}

}  // namespace

void make_lstm(Call& call) { make_recurrent(call, 4); }
void make_lstm_projected(Call& call) { make_recurrent(call, 4, true); }
void make_gru(Call& call) { make_recurrent(call, 3); }
void make_plain_recurrent(Call& call) { make_recurrent(call, 1); }

void make_resize2d(Call& call) {
  Stream& random = call.random;
  const int32_t batch = random.in(1, 2), channels = random.in(1, 40), h = random.in(1, 6), w = random.in(1, 6),
                rows = random.in(1, 7), columns = random.in(1, 7), zero = random.in(INT8_MIN, INT8_MAX);
  const bool copies = random.one_in(3), same = random.one_in(2);
  call.add_int8({batch, channels, h, w}, Order::channels_last);
  add_taps(call, rows, h, copies ? 0 : 11);
  add_taps(call, columns, w, copies ? 0 : 11);
  call.add_int(zero);
  call.add_int(same ? 1 << 30 : random.in(-INT32_MAX, INT32_MAX));
  call.add_int(same ? -21 : random.one_in(16) ? random.in(-31, 30) : random.in(-24, -19));
  call.add_int(same ? zero : random.in(INT8_MIN, INT8_MAX));
  call.add_int(same ? INT8_MIN : random.in(INT8_MIN, 0));
  call.add_int(same ? INT8_MAX : random.in(0, INT8_MAX));
  call.add_out(DType::i8, {batch, channels, rows, columns}, Order::channels_last);
}

}  // namespace wick::cortex_m
