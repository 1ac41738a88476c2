// Seeded calls of each operator: shapes and parameters that its checks accept. C++17, no heap.
#pragma once
#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

struct CaseSource {
  const char* name;  // of the kernel's row
  int32_t count;     // of cases
  void (*make)(Call& call);
};

/// Of operators that only Wick has (wick_cases.cpp).
void make_attention(Call& call);
void make_gru(Call& call);
void make_log_softmax(Call& call);
void make_lstm(Call& call);
void make_lstm_projected(Call& call);
void make_plain_recurrent(Call& call);  // rnn_tanh and rnn_relu
void make_resize2d(Call& call);

/// One source for each row of kernels.inc: of int8, of operators with weights of four bits, and of int16.
Span<const CaseSource> case_sources();
Span<const CaseSource> int4_case_sources();
Span<const CaseSource> int16_case_sources();

/// body(source) with each of `count` calls that each source makes; `call` is the one that it was made in.
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
