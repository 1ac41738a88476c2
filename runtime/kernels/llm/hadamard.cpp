// Multiplies each row by a Hadamard matrix: of 2^k columns by the Sylvester matrix over sqrt(2^k); of 28 * 2^k columns,
// taken as a matrix [28, 2^k], also by a Hadamard matrix of order 28 from the left, which is not scaled.
//   out, mat: f32, f64 or f16 [.., n], row-major; f16 is computed in f32.
//   Source: llama::fast_hadamard_transform of ExecuTorch's library of LLM operators.
#include "runtime/kernels/llm/hadamard.h"

#include "common/float16.h"
#include "common/math/math.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace {

constexpr int kOrder = 28, kBlock = 7;

}  // namespace

/// Williamson's construction from four symmetric circulants of order 7; bit j of a row is set where the sign is minus.
bool hadamard_28_is_negative(int row, int column) {
  constexpr uint8_t kCirculants[4] = {0b1111110, 0b0111100, 0b1011010, 0b1100110};  // first rows, from bit 0
  constexpr int8_t kBlocks[4][4] = {{0, 1, 2, 3}, {~1, 0, ~3, 2}, {~2, 3, 0, ~1}, {~3, ~2, 1, 0}};  // ~i: minus i
  const int block = kBlocks[row / kBlock][column / kBlock];
  const int shift = (column % kBlock - row % kBlock + kBlock) % kBlock;
  const bool negative = (kCirculants[block < 0 ? ~block : block] >> shift & 1) != 0;
  return negative != (block < 0);
}

namespace {

template <typename T>
void transform_powers(T* row, int64_t count) {
  for (int64_t half = 1; half < count; half *= 2) {
    for (int64_t start = 0; start < count; start += 2 * half) {
      for (int64_t i = start; i < start + half; ++i) {
        const T a = row[i], b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
  }
  const T factor = T(1) / math::sqrt(static_cast<T>(count));
  for (int64_t i = 0; i < count; ++i) row[i] *= factor;
}

/// The columns of [28, inner] by the matrix of order 28.
template <typename T>
void transform_28(T* row, int64_t inner) {
  for (int64_t column = 0; column < inner; ++column) {
    T in[kOrder];
    for (int i = 0; i < kOrder; ++i) in[i] = row[i * inner + column];
    for (int i = 0; i < kOrder; ++i) {
      T sum = 0;
      for (int j = 0; j < kOrder; ++j) sum += hadamard_28_is_negative(i, j) ? -in[j] : in[j];
      row[i * inner + column] = sum;
    }
  }
}

template <typename T>
void transform_row(T* row, int64_t count) {
  const int64_t outer = count % kOrder == 0 ? kOrder : 1, inner = count / outer;
  for (int64_t i = 0; i < outer; ++i) transform_powers(row + i * inner, inner);
  if (outer == kOrder) transform_28(row, inner);
}

/// T: the dtype, Wide: what it is computed in.
template <typename T, typename Wide>
void transform(KernelContext& context, const Tensor& in, Tensor& out, int64_t columns) {
  const int64_t rows = static_cast<int64_t>(in.numel) / columns;
  Wide* memory = context.allocate_temp_array<Wide>(static_cast<size_t>(columns));
  if (!memory) return;
  for (int64_t row = 0; row < rows; ++row) {
    const T* from = in.as<T>() + row * columns;
    T* to = out.as<T>() + row * columns;
    for (int64_t i = 0; i < columns; ++i) memory[i] = static_cast<Wide>(from[i]);
    transform_row(memory, columns);
    for (int64_t i = 0; i < columns; ++i) to[i] = T(memory[i]);
  }
}

}  // namespace

namespace kernels {

// (mat, out)
void fast_hadamard_transform(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  if (!require(context, in.rank > 0 && in.dtype == out.dtype, Error::InvalidArgument,
               "fast_hadamard_transform: wanted rows, and out of their dtype"))
    return;
  const int64_t columns = in.sizes[in.rank - 1], powers = columns % kOrder == 0 ? columns / kOrder : columns;
  if (!resize_or_fail(context, out, in.sizes, in.rank, "fast_hadamard_transform: out has a different shape")) return;
  if (in.numel == 0) return;
  if (!require(context, (powers & (powers - 1)) == 0, Error::InvalidArgument,
               "fast_hadamard_transform: wanted 2^k or 28 * 2^k columns") ||
      !require(context, is_contiguous(in) && is_contiguous(out), Error::NotSupported,
               "fast_hadamard_transform: tensors must be row-major"))
    return;
  if (in.dtype == DType::f32)
    transform<float, float>(context, in, out, columns);
  else if (in.dtype == DType::f64)
    transform<double, double>(context, in, out, columns);
  else if (in.dtype == DType::f16)
    transform<Half, float>(context, in, out, columns);
  else
    context.fail(Error::InvalidType, "fast_hadamard_transform: wanted f32, f64 or f16");
}

}  // namespace kernels
}  // namespace wick
