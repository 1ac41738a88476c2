// Writes rows into a cache [batch, length, heads, features]: at positions from start_pos on, or at those in `indices`
// [batch, rows]. If two rows have the same position, the later one stays. The result is a placeholder of one element
// that nobody reads.
//   Source: llama::update_cache, update_cache_with_indices of ExecuTorch's library of LLM operators.
#include <string.h>

#include "runtime/kernels/llm/cache.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace {

size_t row_bytes(const Tensor& t) {
  return static_cast<size_t>(t.sizes[2]) * static_cast<size_t>(t.sizes[3]) * dtype_size_bytes(t.dtype);
}

/// Copies `rows` rows of one batch. A program may give overlapping tensors.
void copy_rows(const Tensor& value, int64_t batch, int64_t row, int64_t rows, Tensor& cache, int64_t position) {
  const size_t bytes = row_bytes(value);
  const auto at = [&](const Tensor& t, int64_t index) {
    return static_cast<size_t>(batch * t.sizes[1] + index) * bytes;
  };
  memmove(cache.as<uint8_t>() + at(cache, position), value.as<uint8_t>() + at(value, row),
          static_cast<size_t>(rows) * bytes);
}

}  // namespace

bool check_cache(KernelContext& context, const Tensor& value, const Tensor& cache) {
  const bool fits = value.rank == 4 && cache.rank == 4 && value.dtype == cache.dtype &&
                    value.sizes[0] == cache.sizes[0] && value.sizes[2] == cache.sizes[2] &&
                    value.sizes[3] == cache.sizes[3];
  return require(context, fits, Error::InvalidArgument,
                 "update_cache: value and cache of rank 4 must agree in dtype and in all sizes but the second") &&
         require(context, is_contiguous(value) && is_contiguous(cache), Error::NotSupported,
                 "update_cache: value and cache must be row-major");
}

bool check_cache_range(KernelContext& context, const Tensor& value, const Tensor& cache, int64_t start) {
  const int64_t length = cache.sizes[1];
  return require(context, start >= 0 && start <= length && value.sizes[1] <= length - start, Error::InvalidArgument,
                 "update_cache: the rows do not lie within the cache");
}

void write_cache(const Tensor& value, Tensor& cache, int64_t start) {
  if (value.numel == 0) return;
  for (int64_t batch = 0; batch < value.sizes[0]; ++batch) copy_rows(value, batch, 0, value.sizes[1], cache, start);
}

namespace kernels {

// (value, cache, start_pos, out)
void update_cache(KernelContext& context, Span<EValue*> args) {
  const Tensor& value = *args[0]->tensor;
  Tensor& cache = *args[1]->tensor;
  if (check_cache(context, value, cache) && check_cache_range(context, value, cache, args[2]->integer))
    write_cache(value, cache, args[2]->integer);
}

// (value, cache, start_pos, indices, out)
void update_cache_with_indices(KernelContext& context, Span<EValue*> args) {
  const Tensor &value = *args[0]->tensor, &indices = *args[3]->tensor;
  Tensor& cache = *args[1]->tensor;
  if (!check_cache(context, value, cache)) return;
  const bool fits = indices.dtype == DType::i64 && indices.rank == 2 && is_contiguous(indices) &&
                    indices.sizes[0] == value.sizes[0] && indices.sizes[1] == value.sizes[1];
  if (!require(context, fits, Error::InvalidArgument, "update_cache: wanted i64 indices [batch, rows]")) return;
  const int64_t* positions = indices.as<int64_t>();
  for (size_t i = 0; i < indices.numel; ++i) {
    if (!require(context, positions[i] >= 0 && positions[i] < cache.sizes[1], Error::InvalidArgument,
                 "update_cache: an index is outside the cache"))
      return;
  }
  if (value.numel == 0) return;
  for (int64_t batch = 0; batch < value.sizes[0]; ++batch) {
    for (int64_t row = 0; row < value.sizes[1]; ++row)
      copy_rows(value, batch, row, 1, cache, positions[batch * value.sizes[1] + row]);
  }
}

}  // namespace kernels
}  // namespace wick
