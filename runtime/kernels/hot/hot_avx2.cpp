#define WICK_HOT_NAMESPACE hot_avx2
#define WICK_HOT_LANES 8
#define WICK_HOT_TILE_ROWS 6
#define WICK_HOT_TILE_VECTORS 2
#include "runtime/kernels/hot/hot_loops.inl"
