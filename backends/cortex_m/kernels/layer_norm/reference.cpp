// layer_norm(input [.., N], scales [N], offsets [N], centered, input_zero_point, epsilon, shift, output_zero_point,
// activation_min, activation_max, epsilon_bits = 0): rows of int8, or of int16 with zero points 0; scales and offsets
// int32.
//   X = x - input_zero_point;  S = sum of X, or 0 if not centered;  V = N sum of X^2 - S^2
//   E = epsilon 2^-epsilon_bits
//   y[i] = clamp(round((N X[i] - S) / sqrt(V + E) scales[i] 2^-shift + offsets[i] 2^-16) + output_zero_point)
// S, V and N X - S are exact, as is the integer root of V + E, which is scaled by a power of 4 to 60 bits. The quotient
// has 20 fractional bits, sums have 16; both are rounded to nearest, halves up. If V is 0, so is the quotient.
#include "backends/cortex_m/kernels/layer_norm/layer_norm.h"

namespace wick::cortex_m::reference {
namespace {

template <typename T>
void write_rows(const Norm& norm, const NormRow& row, const Tensor& x, const Tensor& y) {
  for (size_t at = 0; at < x.numel; at += static_cast<size_t>(row.inner))
    write_normalized(norm, row, x.as<const T>() + at, y.as<T>() + at);
}

}  // namespace

void layer_norm(KernelContext& context, Span<EValue*> args) {
  constexpr int32_t kMaxRow = 1 << 15;
  const Tensor &x = *args[0]->tensor, &y = norm_output(args);
  if (!require_norm_elements(context, x, y) ||
      !require(context, x.rank > 0 && x.rank == y.rank && is_contiguous(x) && is_contiguous(y),
               "wanted a contiguous input of at least one dimension, and an output like it"))
    return;
  for (size_t d = 0; d < x.rank; ++d) {
    if (!require(context, x.sizes[d] == y.sizes[d], "input and output differ in size")) return;
  }
  const int32_t count = x.sizes[x.rank - 1];
  static constexpr char kRows[] = "scales and offsets are not contiguous int32 tensors with one element per column";
  Norm norm;
  if (!require(context, count > 0 && count <= kMaxRow, "wanted rows of 1 to 32768 elements") ||
      !check_int32_row(context, *args[1]->tensor, count, kRows) ||
      !check_int32_row(context, *args[2]->tensor, count, kRows) || !read_norm(context, norm_args(args), x.dtype, &norm))
    return;
  norm.centered = args[3]->boolean;
  const NormRow row = {1, count, 0, 0, 1, args[1]->tensor->as<const int32_t>(), args[2]->tensor->as<const int32_t>()};
  x.dtype == DType::i8 ? write_rows<int8_t>(norm, row, x, y) : write_rows<int16_t>(norm, row, x, y);
}

}  // namespace wick::cortex_m::reference
