// softmax(q k^T * scale + mask) v without ever holding the whole matrix of scores. Scores come in blocks of keys; the
// running maximum and sum of each row rescale the partial sums.
//   - Rows are packed into blocks of 48 for the GEMM. A few rows (decoding) take dot products with the keys in place.
//   - Heads that share a key head and have one query each become the rows of one matrix: keys are read once.
//   - Operands other than f32 are widened block by block; sums are f32 throughout, outputs are rounded once.
#include "runtime/kernels/neural/attention/attention_blocks.h"

#include <math.h>

#include "common/float16.h"
#include "common/math/math.h"
#include "runtime/kernels/hot/hot_kernels.h"

namespace wick {
namespace {

constexpr int64_t kQueryBlock = 48, kKeyBlock = 256, kFewRows = 4, kWidenedRows = 192;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Offset of the matrix of head number `head`; `group` heads in a row share one.
int64_t head_offset(const Attention& a, const int64_t* strides, int64_t head, int64_t group) {
  int64_t offset = 0;
  for (int d = a.lead - 1; d >= 0; --d) {
    const int64_t index = head % a.lead_sizes[d];
    offset += (d == a.lead - 1 ? index / group : index) * strides[d];
    head /= a.lead_sizes[d];
  }
  return offset;
}

/// The matrix of one head.
struct Matrix {
  const HeadMatrices* of;
  int64_t offset, parameter_offset;
};
Matrix matrix_of(const Attention& a, const HeadMatrices& m, int64_t head, int64_t group) {
  return {&m, head_offset(a, m.head_strides, head, group), head_offset(a, m.parameter_head_strides, head, group)};
}

struct Rows {
  const float* data;
  int64_t stride;
};

template <typename T>
void widen(const T* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

/// Rows [first, first + count) as f32: in place, or widened into `buffer`.
Rows rows_of(const Matrix& m, int64_t first, int64_t count, int64_t columns, float* buffer) {
  const HeadMatrices& of = *m.of;
  const int64_t offset = m.offset + first * of.row_stride;
  if (of.dtype == DType::f32) return {static_cast<const float*>(of.data) + offset, of.row_stride};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = offset + i * of.row_stride;
    float* out = buffer + i * columns;
    if (of.dtype == DType::f16) {
      widen(static_cast<const Half*>(of.data) + at, columns, out);
    } else if (of.dtype == DType::bf16) {
      widen(static_cast<const BFloat16*>(of.data) + at, columns, out);
    } else {
      const int64_t parameter = m.parameter_offset + (first + i) * of.parameter_row_stride;
      const float scale = of.scales[parameter];
      const int32_t zero = of.zero_points[parameter];
      const int8_t* in = static_cast<const int8_t*>(of.data) + at;
      for (int64_t j = 0; j < columns; ++j) out[j] = static_cast<float>(in[j] - zero) * scale;
    }
  }
  return {buffer, columns};
}

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

/// Adds the mask to one row of scores of the keys [first, first + count).
void mask_row(const Attention& a, int64_t mask_offset, int64_t row, int64_t first, int64_t count, float* scores) {
  const AttentionMask& m = a.mask;
  if (m.data) {
    const int64_t at = mask_offset + row * m.row_stride + first * m.column_stride;
    if (m.dtype == DType::boolean)
      mask_scores(static_cast<const uint8_t*>(m.data) + at, m.column_stride, count, scores);
    else
      mask_scores(static_cast<const float*>(m.data) + at, m.column_stride, count, scores);
  }
  if (!a.causal) return;
  const int64_t hidden = a.first_position + row * a.position_step + 1 - first;
  for (int64_t j = hidden > 0 ? hidden : 0; j < count; ++j) scores[j] = -INFINITY;
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

/// Scratch memory of one task, in floats.
struct Workspace {
  int64_t key_block, query_block, sums;  // rows
  int64_t packed_keys, packed_values, scores, widened_keys, widened_queries, outputs;

  Workspace(const Attention& a, const HotKernels& kernels) {
    const auto panels = [&](int64_t columns) { return round_up(columns, kernels.gemm_columns); };
    key_block = smaller(a.keys, kKeyBlock);
    query_block = smaller(a.queries, kQueryBlock);
    const bool narrow_out = a.out_dtype != DType::f32, few = a.queries <= kFewRows;
    const int64_t rows = narrow_out ? smaller(a.queries, kWidenedRows) : a.queries;
    const bool narrow_keys = a.key.dtype != DType::f32 || a.value.dtype != DType::f32;
    sums = round_up(rows, 16);
    packed_keys = few ? 0 : panels(key_block) * a.width;
    packed_values = few ? 0 : key_block * panels(a.value_width);
    scores = round_up(query_block * key_block, 16);
    widened_keys = narrow_keys ? round_up(key_block * (a.width > a.value_width ? a.width : a.value_width), 16) : 0;
    widened_queries = a.query.dtype != DType::f32 ? round_up(query_block * a.width, 16) : 0;
    outputs = narrow_out ? round_up(rows * a.value_width, 16) : 0;
  }
  int64_t total() const {
    return packed_keys + packed_values + scores + widened_keys + widened_queries + outputs + 2 * sums;
  }
};

class HeadRunner {
 public:
  HeadRunner(const HotKernels& kernels, const Attention& a, const Workspace& sizes, float* memory)
      : kernels_(kernels), a_(a), sizes_(sizes) {
    const auto take = [&](int64_t count) {
      float* at = memory;
      memory += count;
      return at;
    };
    packed_keys_ = take(sizes.packed_keys);
    packed_values_ = take(sizes.packed_values);
    scores_ = take(sizes.scores);
    widened_keys_ = take(sizes.widened_keys);
    widened_queries_ = take(sizes.widened_queries);
    outputs_ = take(sizes.outputs);
    top_ = take(sizes.sums);
    sum_ = take(sizes.sums);
  }

  /// Rows [begin, end) of one head.
  void run(int64_t head, int64_t begin, int64_t end) {
    query_ = matrix_of(a_, a_.query, head, 1);
    key_ = matrix_of(a_, a_.key, head, a_.group);
    value_ = matrix_of(a_, a_.value, head, a_.group);
    mask_offset_ = a_.mask.data ? head_offset(a_, a_.mask.head_strides, head, 1) : 0;
    const int64_t offset = head_offset(a_, a_.out_head_strides, head, 1);
    if (a_.out_dtype == DType::f32) {
      run_rows(begin, end, static_cast<float*>(a_.out) + offset + begin * a_.out_row_stride, a_.out_row_stride);
      return;
    }
    for (int64_t row = begin; row < end; row += kWidenedRows) {
      const int64_t last = smaller(end, row + kWidenedRows);
      run_rows(row, last, outputs_, a_.value_width);
      for (int64_t i = row; i < last; ++i)
        narrow(outputs_ + (i - row) * a_.value_width, offset + i * a_.out_row_stride);
    }
  }

 private:
  void narrow(const float* in, int64_t at) const {
    for (int64_t j = 0; j < a_.value_width; ++j) {
      if (a_.out_dtype == DType::f16)
        static_cast<Half*>(a_.out)[at + j] = Half(in[j]);
      else
        static_cast<BFloat16*>(a_.out)[at + j] = BFloat16(in[j]);
    }
  }

  int64_t position(int64_t row) const { return a_.first_position + row * a_.position_step; }

  /// The first row, in steps of kQueryBlock from `begin`, whose block of rows sees key `first`.
  int64_t first_seeing(int64_t begin, int64_t end, int64_t first) const {
    if (!a_.causal || position(begin) >= first) return begin;
    if (position(end - 1) < first) return end;
    return begin + (first - position(begin)) / a_.position_step / kQueryBlock * kQueryBlock;
  }

  void run_rows(int64_t begin, int64_t end, float* out, int64_t out_stride) {
    for (int64_t i = 0; i < end - begin; ++i) {
      top_[i] = -INFINITY;
      sum_[i] = 0.0f;
      for (int64_t j = 0; j < a_.value_width; ++j) out[i * out_stride + j] = 0.0f;
    }
    for (int64_t first = 0; first < a_.keys; first += sizes_.key_block) {
      const int64_t seeing = first_seeing(begin, end, first);
      if (seeing >= end) break;
      const int64_t count = smaller(a_.keys - first, sizes_.key_block);
      if (a_.queries <= kFewRows)
        add_few(begin, end, first, count, out, out_stride);
      else
        add_many(begin, seeing, end, first, count, out, out_stride);
    }
    for (int64_t i = 0; i < end - begin; ++i)
      if (sum_[i] != 0.0f || a_.empty_rows_are_nan)
        kernels_.scale_row(out + i * out_stride, 1.0f / sum_[i], a_.value_width);
  }

  /// Adds the keys [first, first + count) to a few rows.
  void add_few(int64_t begin, int64_t end, int64_t first, int64_t count, float* out, int64_t out_stride) {
    const int64_t rows = end - begin;
    const Rows query = rows_of(query_, begin, rows, a_.width, widened_queries_);
    const Rows key = rows_of(key_, first, count, a_.width, widened_keys_);
    for (int64_t i = 0; i < rows; ++i) {
      float* scores = scores_ + i * count;
      for (int64_t j = 0; j < count; ++j) {
        scores[j] = 0.0f;  // without columns there is no data
        if (a_.width != 0)
          scores[j] = a_.scale * kernels_.dot(query.data + i * query.stride, key.data + j * key.stride, a_.width);
      }
      mask_row(a_, mask_offset_, begin + i, first, count, scores);
      weigh_row(kernels_, scores, count, out + i * out_stride, a_.value_width, &top_[i], &sum_[i]);
    }
    const Rows value = rows_of(value_, first, count, a_.value_width, widened_keys_);
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = 0; i < rows; ++i)
        kernels_.axpy(scores_[i * count + j], value.data + j * value.stride, out + i * out_stride, a_.value_width);
    }
  }

  /// Adds the keys [first, first + count) to the rows from `seeing` on.
  void add_many(int64_t begin, int64_t seeing, int64_t end, int64_t first, int64_t count, float* out,
                int64_t out_stride) {
    const Rows key = rows_of(key_, first, count, a_.width, widened_keys_);
    kernels_.pack_strided(key.data, 1, key.stride, a_.width, count, packed_keys_);
    const Rows value = rows_of(value_, first, count, a_.value_width, widened_keys_);
    kernels_.pack_strided(value.data, value.stride, 1, count, a_.value_width, packed_values_);
    for (int64_t row = seeing; row < end; row += kQueryBlock) {
      const int64_t rows = smaller(end - row, kQueryBlock);
      const Rows query = rows_of(query_, row, rows, a_.width, widened_queries_);
      float* out_row = out + (row - begin) * out_stride;
      kernels_.gemm_block({query.data, query.stride, packed_keys_, scores_, count, 1, rows, count, a_.width, false,
                           true, a_.scale, nullptr, nullptr, -INFINITY, INFINITY});
      for (int64_t i = 0; i < rows; ++i) {
        mask_row(a_, mask_offset_, row + i, first, count, scores_ + i * count);
        weigh_row(kernels_, scores_ + i * count, count, out_row + i * out_stride, a_.value_width,
                  &top_[row - begin + i], &sum_[row - begin + i]);
      }
      kernels_.gemm_block({scores_, count, packed_values_, out_row, out_stride, 1, rows, a_.value_width, count, true,
                           false, 1.0f, nullptr, nullptr, -INFINITY, INFINITY});
    }
  }

  const HotKernels& kernels_;
  const Attention& a_;
  const Workspace& sizes_;
  Matrix query_{}, key_{}, value_{};
  int64_t mask_offset_ = 0;
  float *packed_keys_, *packed_values_, *scores_, *widened_keys_, *widened_queries_, *outputs_, *top_, *sum_;
};

/// One query a head: the heads of a group become rows.
void fold_groups(Attention& a) {
  const int last = a.lead - 1;
  if (a.queries != 1 || a.group == 1 || (a.mask.data && a.mask.head_strides[last] != 0)) return;
  const auto fold = [&](int64_t* head_strides, int64_t* row_stride) {
    *row_stride = head_strides[last];
    head_strides[last] *= a.group;
  };
  fold(a.query.head_strides, &a.query.row_stride);
  fold(a.query.parameter_head_strides, &a.query.parameter_row_stride);
  fold(a.out_head_strides, &a.out_row_stride);
  a.lead_sizes[last] /= a.group;
  a.queries = a.group;
  a.group = 1;
  a.position_step = 0;
  a.mask.row_stride = 0;
}

}  // namespace

void attend(KernelContext& context, Attention a) {
  fold_groups(a);
  int64_t heads = 1;
  for (int d = 0; d < a.lead; ++d) heads *= a.lead_sizes[d];
  if (heads == 0 || a.queries == 0 || a.value_width == 0) return;
  const HotKernels& kernels = hot(context.isa());
  const int64_t threads = context.num_threads() < 1 ? 1 : context.num_threads();
  // Few heads for each thread: heads are split, so that all threads have equal work.
  const int64_t blocks = (a.queries + kQueryBlock - 1) / kQueryBlock;
  const int64_t enough = threads > 1 ? 4 * threads : 1, wanted = (enough + heads - 1) / heads;
  const int64_t pieces = smaller(wanted, blocks), items = heads * pieces, tasks = smaller(items, threads);
  const Workspace sizes(a, kernels);
  float* memory = context.allocate_temp_array<float>(static_cast<size_t>(tasks) * static_cast<size_t>(sizes.total()));
  if (!memory) return;
  context.parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      HeadRunner runner(kernels, a, sizes, memory + task * sizes.total());
      for (int64_t item = items * task / tasks; item < items * (task + 1) / tasks; ++item) {
        const int64_t piece = item % pieces, first = blocks * piece / pieces * kQueryBlock;
        const int64_t last = blocks * (piece + 1) / pieces * kQueryBlock;
        runner.run(item / pieces, first, smaller(last, a.queries));
      }
    }
  });
}

}  // namespace wick
