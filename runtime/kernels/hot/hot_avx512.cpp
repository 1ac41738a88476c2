#define WICK_HOT_NAMESPACE hot_avx512
#define WICK_HOT_LANES 16
#define WICK_HOT_TILE_ROWS 12
#define WICK_HOT_TILE_VECTORS 2
#include "runtime/kernels/hot/hot_loops.inl"
