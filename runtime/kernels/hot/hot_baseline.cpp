// Plain C++ in one fixed order: the same bits on every host.
#define WICK_HOT_NAMESPACE hot_baseline
#define WICK_HOT_LANES 4
#define WICK_HOT_TILE_ROWS 4
#define WICK_HOT_TILE_VECTORS 2
#include "runtime/kernels/hot/hot_loops.inl"
