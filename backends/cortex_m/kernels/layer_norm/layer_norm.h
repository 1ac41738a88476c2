// The normalization of one row, which layer_norm and group_norm share. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

constexpr int64_t kMaxNormEpsilon = int64_t{1} << 60;
constexpr int32_t kMaxNormShift = 40, kMaxEpsilonBits = 32, kQuotientBits = 20, kNormOffsetBits = 16;

struct Norm {
  int64_t epsilon = 0;
  int32_t epsilon_bits = 0;  // fractional bits of epsilon
  bool centered = true;
  int32_t zero = 0, shift = 0;
  OutputStage stage;  // offset, min and max
};

/// Requires that input and output are both int8 or both int16.
bool require_norm_elements(KernelContext& context, const Tensor& x, const Tensor& y);
/// The arguments in `args` that read_norm takes, and the output; the return slot counts as an argument.
inline Span<EValue*> norm_args(Span<EValue*> args) { return args.subspan(4, args.size() - 6); }
inline const Tensor& norm_output(Span<EValue*> args) { return *args[args.size() - 2]->tensor; }
/// args: input_zero_point, epsilon, shift, output_zero_point, activation_min, activation_max; epsilon_bits, which older
/// programs lack. The zero points of int16 are 0.
bool read_norm(KernelContext& context, Span<EValue*> args, DType dtype, Norm* norm);
/// The largest row or group whose sums fit 64 bits.
constexpr int64_t largest_norm(DType dtype, int64_t of_int8) { return dtype == DType::i8 ? of_int8 : 1 << 15; }

/// The elements of a row in memory: `outer` runs, `step` apart, of `inner` neighbors. Scales and offsets advance by
/// `outer_parameters` from run to run, and by `inner_parameters` within a run.
struct NormRow {
  int64_t outer, inner, step;
  int64_t outer_parameters, inner_parameters;  // in elements
  const int32_t *scales, *offsets;
};
/// Requires: outer * inner is at most 2^18 for int8, 2^15 for int16. The equation: layer_norm/reference.cpp.
void write_normalized(const Norm& norm, const NormRow& row, const int8_t* x, int8_t* y);
void write_normalized(const Norm& norm, const NormRow& row, const int16_t* x, int16_t* y);

}  // namespace wick::cortex_m
