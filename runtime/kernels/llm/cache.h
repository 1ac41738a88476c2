// Rows written into a cache [batch, length, heads, features]. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// Fails the context unless both are row-major, of rank 4 and one dtype, and differ in length only.
bool check_cache(KernelContext& context, const Tensor& value, const Tensor& cache);
/// Fails the context unless the rows of `value` fit into the cache from position `start` on.
bool check_cache_range(KernelContext& context, const Tensor& value, const Tensor& cache, int64_t start);
/// Writes the rows of `value` from position `start` on. Requires: both checks passed.
void write_cache(const Tensor& value, Tensor& cache, int64_t start);

}  // namespace wick
