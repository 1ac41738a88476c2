// The core of all attention kernels: softmax(q k^T * scale + mask) v, head by head, in blocks of keys. C++17,
// freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// Matrices [rows, columns], one for each head, columns contiguous.
struct HeadMatrices {
  const void* data = nullptr;
  DType dtype = DType::f32;  // f32, f16, bf16; i8 with a scale and a zero point for each row
  // In elements; head_strides belong to Attention::lead_sizes.
  int64_t head_strides[kMaxRank] = {}, row_stride = 0;
  const float* scales = nullptr;
  const int8_t* zero_points = nullptr;
  int64_t parameter_head_strides[kMaxRank] = {}, parameter_row_stride = 0;
};

/// Added to the scores (f32), or -inf where false (bool).
struct AttentionMask {
  const void* data = nullptr;  // null: none
  DType dtype = DType::f32;
  int64_t head_strides[kMaxRank] = {}, row_stride = 0, column_stride = 0;
};

/// The caller has checked that every matrix lies within its tensor.
struct Attention {
  HeadMatrices query, key, value;
  AttentionMask mask;
  void* out = nullptr;
  DType out_dtype = DType::f32;  // f32, f16, bf16
  int64_t out_head_strides[kMaxRank] = {}, out_row_stride = 0;
  int lead = 0;  // dimensions that number the heads of the query; the last one comes in groups
  int64_t lead_sizes[kMaxRank] = {};
  int64_t group = 1;  // query heads in a row that share a key head
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;  // query i sees the keys up to first_position + i * position_step
  int64_t first_position = 0, position_step = 1;
  float scale = 1;
  bool empty_rows_are_nan = false;  // rows without a key that has a weight; false: 0
};

/// Runs on all threads of the context; fails it where temp memory does not suffice.
void attend(KernelContext& context, Attention attention);

}  // namespace wick
