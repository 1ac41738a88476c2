// _embedding_bag: sums, means or maxima of rows of a table, bag by bag.
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

/// The auxiliary outputs (bag of each index, bag sizes, argmax) only matter for training: they get zeros, in the
/// planned shape.
void clear(KernelContext& context, Tensor& out) {
  const uint64_t zero[2] = {};
  fill_view(context, dtype_size_bytes(out.dtype), view_of(out), zero);
}

struct Bags {
  View table;
  DType dtype = DType::f32;  // of table and result
  const Tensor *indices = nullptr, *offsets = nullptr;
  const Tensor* weights = nullptr;                   // of single rows, or null
  const void *numbers = nullptr, *starts = nullptr;  // contiguous indices and offsets
  int64_t mode = kSum;
  int64_t padding = -1;  // row that no bag counts; -1: none
  int64_t count = 0;     // of bags

  int64_t num_indices() const { return static_cast<int64_t>(indices->numel); }
  int64_t num_offsets() const { return static_cast<int64_t>(offsets->numel); }
  int64_t width() const { return table.sizes[1]; }
  float weight(int64_t i) const {
    if (!weights) return 1.0f;
    const size_t size = dtype_size_bytes(weights->dtype);
    return static_cast<float>(
        element_to_double(weights->as<uint8_t>() + static_cast<size_t>(i) * size, weights->dtype));
  }
};

bool read_arguments(KernelContext& context, Span<EValue*> args, Bags* bags) {
  const Tensor &table = *args[0]->tensor, &indices = *args[1]->tensor, &offsets = *args[2]->tensor;
  const int64_t mode = args[4]->integer, padding = args[8]->integer;
  const Tensor* weights = args[6]->is_none() ? nullptr : args[6]->tensor;
  if (!require(context, table.rank == 2 && is_floating(table.dtype), "the table must be a floating matrix") ||
      !require_dtype(context, *args[9]->tensor, table.dtype, "out has a different dtype than the table") ||
      !require(context,
               indices.rank == 1 && offsets.rank == 1 && is_index_dtype(indices.dtype) && is_index_dtype(offsets.dtype),
               "indices and offsets must be vectors of i64 or i32") ||
      !require(context, mode >= kSum && mode <= kMax, "mode is not sum, mean or max") ||
      !require(context, !weights || (mode == kSum && weights->numel == indices.numel && is_floating(weights->dtype)),
               "per_sample_weights need mode sum and one weight for each index"))
    return false;
  bags->table = view_of(table);
  bags->dtype = table.dtype;
  bags->indices = &indices;
  bags->offsets = &offsets;
  bags->weights = weights;
  bags->mode = mode;
  const int64_t rows = bags->table.sizes[0];
  bags->padding = padding >= 0 ? padding : padding < -rows || padding == -1 ? -1 : padding + rows;
  bags->count = bags->num_offsets() - (args[7]->boolean ? 1 : 0);
  return require(context, bags->count >= 0, "include_last_offset needs an offset");
}

// Sum, mean or maximum of one bag's rows, into `result`. `row` has space for one row.
bool combine(KernelContext& context, const Bags& bags, int64_t bag, float* row, float* result) {
  const int64_t width = bags.width();
  const int64_t begin = load_index(bags.starts, bags.offsets->dtype, bag);
  const bool is_last = bag + 1 == bags.num_offsets();
  const int64_t end = is_last ? bags.num_indices() : load_index(bags.starts, bags.offsets->dtype, bag + 1);
  if (!require(context, begin >= 0 && begin <= end && end <= bags.num_indices(),
               "offsets must rise within the indices"))
    return false;
  for (int64_t c = 0; c < width; ++c) result[c] = 0;
  int64_t used = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t r = load_index(bags.numbers, bags.indices->dtype, i);
    if (!require(context, r >= 0 && r < bags.table.sizes[0], "index is out of range")) return false;
    if (r == bags.padding) continue;
    const int64_t offset = r * bags.table.strides[0] * static_cast<int64_t>(dtype_size_bytes(bags.dtype));
    convert_elements(row, DType::f32, 1, bags.table.data + offset, bags.dtype, bags.table.strides[1], width);
    const float factor = bags.weight(i);
    for (int64_t c = 0; c < width; ++c) {
      if (bags.mode == kMax) {
        result[c] = used == 0 || row[c] > result[c] ? row[c] : result[c];
      } else {
        result[c] += row[c] * factor;
      }
    }
    ++used;
  }
  for (int64_t c = 0; bags.mode == kMean && used > 0 && c < width; ++c) result[c] /= static_cast<float>(used);
  return true;
}

}  // namespace

void embedding_bag_out(KernelContext& context, Span<EValue*> args) {
  Bags bags;
  if (!read_arguments(context, args, &bags)) return;
  const int64_t width = bags.width();
  float* results = context.allocate_temp_array<float>(static_cast<size_t>(bags.count * width));
  float* row = context.allocate_temp_array<float>(static_cast<size_t>(width));
  bags.numbers = contiguous_data(context, *bags.indices);
  bags.starts = contiguous_data(context, *bags.offsets);
  if (!results || !row || !bags.numbers || !bags.starts) return;
  for (int64_t bag = 0; bag < bags.count; ++bag) {
    if (!combine(context, bags, bag, row, results + bag * width)) return;
  }
  Tensor& out = *args[9]->tensor;
  const int64_t sizes[2] = {bags.count, width};
  if (!resize_out(context, out, sizes, 2)) return;
  convert_view(context, view_of(out), bags.dtype, contiguous_view(results, sizes, 2), DType::f32);
  for (size_t i = 10; i < 13; ++i) clear(context, *args[i]->tensor);
}

}  // namespace kernels
}  // namespace wick
