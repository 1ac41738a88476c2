// quantized_batch_matmul on cores without vectors: gemm.h for each batch. C++17, freestanding.
#include "backends/cortex_m/kernels/batch_matmul/batch_matmul.h"
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {
namespace {

/// Requires: matmul.inner > 0.
void multiply_batches(const BatchMatmul& matmul) {
  Gemm gemm;
  gemm.num_rows = static_cast<int32_t>(matmul.rows);
  gemm.depth = static_cast<int32_t>(matmul.inner);
  gemm.num_outputs = gemm.row_stride = static_cast<int32_t>(matmul.columns);
  gemm.input_offset = matmul.lhs_offset;
  gemm.weight_offset = matmul.rhs_offset;
  gemm.stage = matmul.stage;
  const RepeatedScale scale(matmul.stage, &gemm);
  run_with_tile(matmul.scratch, [&](Span<uint32_t> tile) {
    for (int32_t b = 0; b < static_cast<int32_t>(matmul.batch); ++b) {
      gemm.weights = matmul.rhs + b * gemm.num_outputs * gemm.depth;
      const MatrixRows<int8_t> rows = {matmul.lhs + b * gemm.num_rows * gemm.depth, gemm.depth};
      GemmTile<Isa>(gemm, tile).run(rows, matmul.y + b * gemm.num_rows * gemm.num_outputs);
    }
  });
}

}  // namespace

void quantized_batch_matmul(KernelContext& context, Span<EValue*> args) {
  BatchMatmul matmul;
  if (!read_batch_matmul(context, args, &matmul)) return;
  if (matmul.inner == 0) return reference::quantized_batch_matmul(context, args);
  multiply_batches(matmul);
}

}  // namespace wick::cortex_m::plain
