// _embedding_bag: sums, means or maxima of rows of a table, bag by bag.
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

/// Auxiliary outputs (bag of each index, bag sizes, argmax) only matter for training: zeros of whatever shape is
/// planned.
void clear(KernelContext& context, Tensor& out) {
  const uint64_t zero[2] = {};
  fill_view(context, dtype_size_bytes(out.dtype), view_of(out), zero);
}

}  // namespace

void embedding_bag_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& weight = *args[0]->tensor;
  const Tensor& indices = *args[1]->tensor;
  const Tensor& offsets = *args[2]->tensor;
  const int64_t mode = args[4]->integer;
  const Tensor* scale = args[6]->is_none() ? nullptr : args[6]->tensor;
  int64_t padding = args[8]->integer;
  Tensor& out = *args[9]->tensor;
  const View table = view_of(weight);
  const DType dtype = weight.dtype;
  if (!require(context, table.rank == 2 && is_floating(dtype), "the table must be a floating matrix")) return;
  if (!require_dtype(context, out, dtype, "out has a different dtype than the table")) return;
  if (!require(context,
               indices.rank == 1 && offsets.rank == 1 && is_index_dtype(indices.dtype) && is_index_dtype(offsets.dtype),
               "indices and offsets must be vectors of i64 or i32"))
    return;
  if (!require(context, mode >= kSum && mode <= kMax, "mode is not sum, mean or max")) return;
  const int64_t count = static_cast<int64_t>(indices.numel);
  if (!require(context,
               !scale || (mode == kSum && static_cast<int64_t>(scale->numel) == count && is_floating(scale->dtype)),
               "per_sample_weights need mode sum and one weight for each index"))
    return;
  const bool last = args[7]->boolean;
  const int64_t bags = static_cast<int64_t>(offsets.numel) - (last ? 1 : 0);
  if (!require(context, bags >= 0, "include_last_offset needs an offset")) return;
  if (padding < 0) padding = padding < -table.sizes[0] ? -1 : padding == -1 ? -1 : padding + table.sizes[0];
  const int64_t width = table.sizes[1];
  const int64_t element = static_cast<int64_t>(dtype_size_bytes(dtype));
  float* sums = context.allocate_temp_array<float>(static_cast<size_t>(bags * width));
  float* row = context.allocate_temp_array<float>(static_cast<size_t>(width));
  const void* numbers = contiguous_data(context, indices);
  const void* starts = contiguous_data(context, offsets);
  if (!sums || !row || !numbers || !starts) return;
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t begin = load_index(starts, offsets.dtype, b);
    const bool final_bag = b + 1 == static_cast<int64_t>(offsets.numel);
    const int64_t end = final_bag ? count : load_index(starts, offsets.dtype, b + 1);
    if (!require(context, begin >= 0 && begin <= end && end <= count, "offsets must rise within the indices")) return;
    float* sum = sums + b * width;
    for (int64_t c = 0; c < width; ++c) sum[c] = 0;
    int64_t used = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = load_index(numbers, indices.dtype, i);
      if (!require(context, r >= 0 && r < table.sizes[0], "index is out of range")) return;
      if (r == padding) continue;
      convert_elements(row, DType::f32, 1, table.data + r * table.strides[0] * element, dtype, table.strides[1], width);
      const float factor =
          scale ? static_cast<float>(element_to_double(
                      scale->as<uint8_t>() + i * static_cast<int64_t>(dtype_size_bytes(scale->dtype)), scale->dtype))
                : 1.0f;
      for (int64_t c = 0; c < width; ++c) {
        if (mode == kMax) {
          sum[c] = used == 0 || row[c] > sum[c] ? row[c] : sum[c];
        } else {
          sum[c] += row[c] * factor;
        }
      }
      ++used;
    }
    for (int64_t c = 0; mode == kMean && used > 0 && c < width; ++c) sum[c] = sum[c] / static_cast<float>(used);
  }
  const int64_t sizes[2] = {bags, width};
  if (!resize_out(context, out, sizes, 2)) return;
  convert_view(context, view_of(out), dtype, contiguous_view(sums, sizes, 2), DType::f32);
  for (size_t i = 10; i < 13; ++i) clear(context, *args[i]->tensor);
}

}  // namespace kernels
}  // namespace wick
