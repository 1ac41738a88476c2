// softmax(q k^T * scale + mask) v for each batch and head, without ever holding the whole matrix of scores: scores come
// in blocks of keys, the running maximum and sum of each row rescale what was summed so far. A row whose keys are all
// masked, or that has none, gives 0; without columns in the query all scores are 0.
// A mask is added to the scores (bool: -inf where false), so that a score of NaN or +inf shows through it. is_causal
// instead drops the scores of later keys, whatever they are. The value of a key of weight 0 still counts as 0 * value,
// NaN if it is not finite; but under is_causal, blocks of keys that a block of rows cannot see are skipped, as in
// eager, whose blocks have other sizes.   Source: wick::sdpa, ours; meaning of aten::scaled_dot_product_attention,
// dropout 0.
#include <math.h>

#include "common/math/math.h"
#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace kernels {
namespace {

constexpr int64_t kQueryBlock = 48, kKeyBlock = 256;

struct Attention {
  const Tensor *query, *key, *value, *mask;
  Tensor* out;
  int64_t heads = 1, group = 1;  // query heads, and how many of them share a key head
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;
  float scale = 1;
  int64_t mask_batch_stride[kMaxRank] = {}, mask_row_stride = 0, mask_column_stride = 0;
};

/// Offset of the matrix of head number `head` of the query; `group` heads in a row share one.
int64_t head_offset(const Tensor& query, const int64_t* strides, int64_t head, int64_t group) {
  int64_t offset = 0;
  for (int d = query.rank - 3; d >= 0; --d) {
    const int64_t index = head % query.sizes[d];
    offset += (d == query.rank - 3 ? index / group : index) * strides[d];
    head /= query.sizes[d];
  }
  return offset;
}
int64_t head_offset(const Attention& a, const Tensor& tensor, int64_t head, int64_t group) {
  int64_t strides[kMaxRank];
  for (int d = 0; d < tensor.rank; ++d) strides[d] = tensor.strides[d];
  return head_offset(*a.query, strides, head, group);
}

struct Workspace {
  float *keys, *values, *scores, *top, *sum;
};

template <typename T>
void mask_scores(const T* mask, int64_t stride, int64_t count, float* scores) {
  const auto masked = [](T m, float score) {
    if constexpr (sizeof(T) == 1)
      return m != 0 ? score : score - INFINITY;
    else
      return score + m;
  };
  if (stride == 1) {
    for (int64_t j = 0; j < count; ++j) scores[j] = masked(mask[j], scores[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) scores[j] = masked(mask[j * stride], scores[j]);
  }
}

/// Adds the mask to one row of scores.
void mask_row(const Attention& a, int64_t mask_offset, int64_t row, int64_t first, int64_t count, float* scores) {
  if (a.mask) {
    const int64_t at = mask_offset + row * a.mask_row_stride + first * a.mask_column_stride;
    if (a.mask->dtype == DType::boolean)
      mask_scores(a.mask->as<uint8_t>() + at, a.mask_column_stride, count, scores);
    else
      mask_scores(a.mask->as<float>() + at, a.mask_column_stride, count, scores);
  }
  for (int64_t j = row + 1 > first ? row + 1 - first : 0; a.causal && j < count; ++j) scores[j] = -INFINITY;
}

/// Turns one row of scores into weights and rescales the output row to the new maximum.
void weigh_row(const HotKernels& kernels, float* scores, int64_t count, float* out, int64_t width, float* top,
               float* sum) {
  const float block_top = kernels.max_row(scores, count);
  const float new_top = block_top > *top || block_top != block_top ? block_top : *top;
  if (new_top == -INFINITY) {
    for (int64_t j = 0; j < count; ++j) scores[j] = 0.0f;
    return;
  }
  const float shrink = *top == -INFINITY ? 0.0f : static_cast<float>(math::exp(static_cast<double>(*top - new_top)));
  if (*top != new_top) kernels.scale_row(out, shrink, width);
  *sum = *sum * shrink + kernels.exp_sum_row(scores, new_top, scores, count);
  *top = new_top;
}

/// Rows [begin, end) of one head; `begin` is a multiple of kQueryBlock.
void run_rows(const HotKernels& kernels, const Attention& a, int64_t head, int64_t begin, int64_t end,
              const Workspace& w) {
  const float* query = a.query->as<float>() + head_offset(a, *a.query, head, 1);
  const float* key = a.key->as<float>() + head_offset(a, *a.key, head, a.group);
  const float* value = a.value->as<float>() + head_offset(a, *a.value, head, a.group);
  float* out = a.out->as<float>() + head * a.queries * a.value_width;
  const int64_t mask_offset = a.mask ? head_offset(*a.query, a.mask_batch_stride, head, 1) : 0;
  for (int64_t i = begin; i < end; ++i) {
    w.top[i] = -INFINITY;
    w.sum[i] = 0.0f;
  }
  for (int64_t i = begin * a.value_width; i < end * a.value_width; ++i) out[i] = 0.0f;
  for (int64_t first = 0; first < a.keys; first += kKeyBlock) {
    // Causal: earlier rows see no key of this block.
    const int64_t seeing = a.causal && first > begin ? first / kQueryBlock * kQueryBlock : begin;
    if (seeing >= end) break;
    const int64_t count = a.keys - first < kKeyBlock ? a.keys - first : kKeyBlock;
    kernels.pack_strided(key + first * a.width, 1, a.width, a.width, count, w.keys);
    kernels.pack_strided(value + first * a.value_width, a.value_width, 1, count, a.value_width, w.values);
    for (int64_t row = seeing; row < end; row += kQueryBlock) {
      const int64_t rows = end - row < kQueryBlock ? end - row : kQueryBlock;
      GemmBlock scores = {query + row * a.width,
                          a.width,
                          w.keys,
                          w.scores,
                          count,
                          1,
                          rows,
                          count,
                          a.width,
                          false,
                          true,
                          a.scale,
                          nullptr,
                          nullptr,
                          -INFINITY,
                          INFINITY};
      kernels.gemm_block(scores);
      for (int64_t i = 0; i < rows; ++i) {
        mask_row(a, mask_offset, row + i, first, count, w.scores + i * count);
        weigh_row(kernels, w.scores + i * count, count, out + (row + i) * a.value_width, a.value_width, &w.top[row + i],
                  &w.sum[row + i]);
      }
      GemmBlock sums = {w.scores,      count,   w.values,  out + row * a.value_width,
                        a.value_width, 1,       rows,      a.value_width,
                        count,         true,    false,     1.0f,
                        nullptr,       nullptr, -INFINITY, INFINITY};
      kernels.gemm_block(sums);
    }
  }
  for (int64_t i = begin; i < end; ++i)
    if (w.sum[i] != 0.0f) kernels.scale_row(out + i * a.value_width, 1.0f / w.sum[i], a.value_width);
}

bool read_shapes(KernelContext& context, Attention& a, bool grouped) {
  const Tensor &q = *a.query, &k = *a.key, &v = *a.value;
  const char* const message =
      "attention: wanted query [.., l, e], key [.., s, e], value [.., s, f] with equal leading sizes";
  const int rank = q.rank;
  if (!require(context,
               rank >= 2 && k.rank == rank && v.rank == rank && q.sizes[rank - 1] == k.sizes[rank - 1] &&
                   k.sizes[rank - 2] == v.sizes[rank - 2],
               Error::InvalidArgument, message))
    return false;
  for (int d = 0; d + 2 < rank; ++d) {
    if (grouped && d == rank - 3 && k.sizes[d] > 0 && q.sizes[d] % k.sizes[d] == 0) a.group = q.sizes[d] / k.sizes[d];
    const bool fits = q.sizes[d] == k.sizes[d] * (d == rank - 3 ? a.group : 1) && k.sizes[d] == v.sizes[d];
    if (!require(context, fits, Error::InvalidArgument, message)) return false;
    a.heads *= q.sizes[d];
  }
  a.queries = q.sizes[rank - 2];
  a.keys = k.sizes[rank - 2];
  a.width = q.sizes[rank - 1];
  a.value_width = v.sizes[rank - 1];
  if (!a.mask) return true;
  const Tensor& m = *a.mask;
  const bool dtype = m.dtype == DType::boolean || m.dtype == DType::f32;
  if (!require(context, dtype && m.rank <= rank, Error::InvalidArgument,
               "attention: mask must be bool or f32 and broadcast to the scores"))
    return false;
  for (int d = 0; d < m.rank; ++d) {
    const int to = rank - m.rank + d;
    const int64_t size = to == rank - 1 ? a.keys : q.sizes[to];
    if (!require(context, m.sizes[d] == size || m.sizes[d] == 1, Error::InvalidArgument,
                 "attention: mask does not broadcast to the scores"))
      return false;
    const int64_t stride = m.sizes[d] == 1 ? 0 : m.strides[d];
    (to == rank - 1 ? a.mask_column_stride : to == rank - 2 ? a.mask_row_stride : a.mask_batch_stride[to]) = stride;
  }
  return true;
}

}  // namespace

void sdpa(KernelContext& context, Span<EValue*> args) {
  Attention a;
  a.query = args[0]->tensor;
  a.key = args[1]->tensor;
  a.value = args[2]->tensor;
  a.mask = args[3]->is_none() ? nullptr : args[3]->tensor;
  a.causal = args[5]->boolean;
  a.out = args[8]->tensor;
  if (!require(context, args[4]->real == 0, Error::NotSupported, "attention: dropout must be 0") ||
      !read_shapes(context, a, args[7]->boolean))
    return;
  const bool types = a.query->dtype == DType::f32 && a.key->dtype == DType::f32 && a.value->dtype == DType::f32 &&
                     a.out->dtype == DType::f32;
  if (!require(context, types, Error::InvalidType, "attention: wanted f32")) return;
  int32_t sizes[kMaxRank];
  for (int d = 0; d < a.query->rank; ++d) sizes[d] = a.query->sizes[d];
  sizes[a.query->rank - 1] = static_cast<int32_t>(a.value_width);
  if (!resize_or_fail(context, *a.out, sizes, a.query->rank, "attention: out has another shape") || a.out->numel == 0)
    return;
  const bool row_major =
      is_contiguous(*a.query) && is_contiguous(*a.key) && is_contiguous(*a.value) && is_contiguous(*a.out);
  if (!require(context, row_major, Error::NotSupported, "attention: query, key, value and out must be row-major"))
    return;
  a.scale = a.width == 0         ? 1.0f  // of sums of nothing
            : args[6]->is_none() ? 1.0f / math::sqrt(static_cast<float>(a.width))
                                 : static_cast<float>(args[6]->real);
  const HotKernels& kernels = hot(context.isa());
  const int64_t threads = context.num_threads() < 1 ? 1 : context.num_threads();
  // Few heads for each thread: heads in pieces, so that all threads have as much to do.
  const int64_t blocks = (a.queries + kQueryBlock - 1) / kQueryBlock;
  const int64_t enough = threads > 1 ? 4 * threads : 1, wanted = (enough + a.heads - 1) / a.heads;
  const int64_t pieces = wanted < blocks ? wanted : blocks;
  const int64_t items = a.heads * pieces, tasks = items < threads ? items : threads;
  const auto panels = [&](int64_t columns) {
    return (columns + kernels.gemm_columns - 1) / kernels.gemm_columns * kernels.gemm_columns;
  };
  const int64_t key_floats = panels(kKeyBlock) * a.width, value_floats = kKeyBlock * panels(a.value_width);
  const int64_t each = key_floats + value_floats + kQueryBlock * kKeyBlock + 2 * ((a.queries + 15) / 16 * 16);
  float* memory = context.allocate_temp_array<float>(static_cast<size_t>(tasks) * static_cast<size_t>(each));
  if (!memory) return;
  context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      Workspace w;
      w.keys = memory + task * each;
      w.values = w.keys + key_floats;
      w.scores = w.values + value_floats;
      w.top = w.scores + kQueryBlock * kKeyBlock;
      w.sum = w.top + (a.queries + 15) / 16 * 16;
      for (int64_t item = items * task / tasks; item < items * (task + 1) / tasks; ++item) {
        const int64_t piece = item % pieces, first = blocks * piece / pieces * kQueryBlock;
        const int64_t last = blocks * (piece + 1) / pieces * kQueryBlock;
        run_rows(kernels, a, item / pieces, first, last < a.queries ? last : a.queries, w);
      }
    }
  });
}

}  // namespace kernels
}  // namespace wick
