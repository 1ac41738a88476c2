// The hot loops, compiled once per instruction set. A file that includes this one defines
//   WICK_HOT_NAMESPACE, WICK_HOT_LANES (floats per vector), WICK_HOT_TILE_ROWS and WICK_HOT_TILE_VECTORS (register
//   tile).
// Only functions of this namespace may be called here. An inline function of another header would be compiled with this
// file's instruction set, and the linker might keep that copy for all callers.
#include <stdint.h>

#include "runtime/kernels/hot/hot_kernels.h"

namespace wick {
namespace math {  // of common/math/math.h, whose inline functions may not be included here
double sin(double);
double cos(double);
double tan(double);
double pow(double, double);
double atan2(double, double);
}  // namespace math
namespace WICK_HOT_NAMESPACE {
namespace {

#include "runtime/kernels/hot/hot_vector.inl"
#include "runtime/kernels/hot/hot_gemm.inl"
#include "runtime/kernels/hot/hot_math.inl"
#include "runtime/kernels/hot/hot_rows.inl"
#include "runtime/kernels/hot/hot_fourier.inl"
#include "runtime/kernels/hot/hot_tiles.inl"

}  // namespace

extern const HotKernels kKernels;
const HotKernels kKernels = {
    kTileRows, kTileColumns, gemm_block, pack_strided, pack_im2col, depthwise_plane, dot, axpy, softmax_row,
    log_softmax_row, max_row, exp_sum_row, scale_row, moments_row, normalize_row, affine_row, max_pool_row,
    map_row<exp_vec>, map_row<tanh_vec>, map_row<sigmoid_vec>, map_row<erf_vec>, map_row<gelu_vec>,
    map_row<gelu_tanh_vec>, map_row<silu_vec>, map_row<log_vec>, map_row<log2_vec>, map_row<log10_vec>,
    map_row<log1p_vec>, map_row<expm1_vec>, map_row<sinh_vec>, map_row<cosh_vec>, map_row<asinh_vec>,
    map_row<acosh_vec>, map_row<atanh_vec>, map_row<asin_vec>, map_row<acos_vec>, map_row<atan_vec>,
    map_row<softplus_vec>, map_row<log_sigmoid_vec>, map_row<mish_vec>, map_row<periodic<sin_near, math::sin>>,
    map_row<periodic<cos_near, math::cos>>, map_row<periodic<tan_near, math::tan>>, power, atan2, fourier_pass,
    product_tile<double>, product_tile<uint32_t>, product_tile<uint64_t>,
};

}  // namespace WICK_HOT_NAMESPACE
}  // namespace wick
