// The hot loops, compiled once per instruction set. Whoever includes this defines
//   WICK_HOT_NAMESPACE, WICK_HOT_LANES (floats per vector), WICK_HOT_TILE_ROWS and WICK_HOT_TILE_VECTORS (register tile).
// Only functions of this namespace may be called here: an inline function of another header would be compiled with this
// file's instruction set and might be the copy that the linker keeps for everybody.
#include <stdint.h>

#include "runtime/kernels/hot/hot_kernels.h"

namespace wick {
namespace WICK_HOT_NAMESPACE {
namespace {

#include "runtime/kernels/hot/hot_vector.inl"
#include "runtime/kernels/hot/hot_gemm.inl"
#include "runtime/kernels/hot/hot_rows.inl"

}  // namespace

extern const HotKernels kKernels;
const HotKernels kKernels = {
    kTileRows,     kTileColumns,    gemm_block,          pack_strided,      pack_im2col,     depthwise_plane,
    dot,           axpy,            softmax_row,         log_softmax_row,   max_row,         exp_sum_row,
    scale_row,     moments_row,     normalize_row,       affine_row,        max_pool_row,    map_row<exp_vec>,
    map_row<tanh_vec>, map_row<sigmoid_vec>, map_row<erf_vec>, map_row<gelu_vec>,
};

}  // namespace WICK_HOT_NAMESPACE
}  // namespace wick
