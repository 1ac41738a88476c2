// Conversions between tensor memory and the lanes of the elementwise engine. C++17, freestanding.
#pragma once
#include "runtime/kernels/elementwise.h"

namespace wick {

/// Reads `count` elements at from, from + stride .. (in elements) into a packed array of the lane's type.
using LoadFn = void (*)(const void* from, int64_t stride, void* to, int64_t count);
/// Writes a packed array of the lane's type to consecutive elements.
using StoreFn = void (*)(const void* from, void* to, int64_t count);

/// Null if values of `dtype` are never computed in `lane`: numbers only widen from bool over integers and floats to
/// complex.
LoadFn load_function(DType dtype, Lane lane);
/// Null if eager would refuse to store the lane's values there. Integers wrap, floats round.
StoreFn store_function(Lane lane, DType dtype);
size_t lane_size_bytes(Lane lane);
/// Whether an array of `dtype` in memory is an array of the lane's type.
bool is_lane_dtype(DType dtype, Lane lane);

}  // namespace wick
