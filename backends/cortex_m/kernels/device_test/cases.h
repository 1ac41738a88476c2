// Seeded calls of each operator: shapes and parameters that its checks accept. C++17, no heap.
#pragma once
#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

struct CaseSource {
  const char* name;  // that of the kernel's row
  int32_t count;     // of cases
  void (*make)(Call& call);
};

/// Operators that only Wick has (wick_cases.cpp).
void make_attention(Call& call);
void make_gru(Call& call);
void make_log_softmax(Call& call);
void make_lstm(Call& call);
void make_lstm_projected(Call& call);
void make_plain_recurrent(Call& call);  // rnn_tanh and rnn_relu
void make_resize2d(Call& call);

/// One source for each row of kernels.inc: int8 operators, operators with 4-bit weights, and int16 operators.
Span<const CaseSource> case_sources();
Span<const CaseSource> int4_case_sources();
Span<const CaseSource> int16_case_sources();

/// Makes `count` calls of each source in `call`, and calls body(source) after each.
template <typename Body>
void for_each_call(Call& call, int32_t count, const Body& body) {
  for (const Span<const CaseSource>& family : {case_sources(), int4_case_sources(), int16_case_sources()}) {
    for (const CaseSource& source : family) {
      for (int32_t i = 0; i < count; ++i) {
        call.random = Stream(static_cast<uint64_t>(i));
        call.clear();
        source.make(call);
        body(source);
      }
    }
  }
}

}  // namespace wick::cortex_m
