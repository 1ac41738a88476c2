// Embedding tables of 8, 4 and 2 bits with a scale (and zero point) for each row or group of a row.
//   4 bits: the first of two values is in the high half; 8 is added to stored values. 2 bits: the first of four values
//   is in the low bits; 2 is added. Arithmetic rounds to the scales' dtype after each step.
#include "common/float16.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// Value `i` of a packed row.
int32_t unpack(const uint8_t* row, DType dtype, int bits, int64_t i) {
  switch (bits) {
    case 8: return dtype == DType::i8 ? static_cast<int8_t>(row[i]) : row[i];
    case 4: return static_cast<int32_t>(i % 2 == 0 ? row[i / 2] >> 4 : row[i / 2] & 15) - 8;
    default: return static_cast<int32_t>(row[i / 4] >> (2 * (i % 4)) & 3) - 2;
  }
}

float round_to(DType dtype, float value) {
  return dtype == DType::f16    ? static_cast<float>(Half(value))
         : dtype == DType::bf16 ? static_cast<float>(BFloat16(value))
                                : value;
}

struct Table {
  const uint8_t* rows = nullptr;
  DType dtype = DType::i8;
  int bits = 8;
  int64_t num_rows = 0, row_bytes = 0, width = 0;
  const void* scales = nullptr;
  const void* zero_points = nullptr;
  DType scale_dtype = DType::f32;
  int64_t groups = 1;

  bool init(KernelContext& context, const Tensor& weight, const Tensor& scale, const Tensor* zero_point,
            int value_bits) {
    bits = value_bits;
    dtype = weight.dtype;
    if (!require(context, weight.rank == 2 && (dtype == DType::u8 || (dtype == DType::i8 && bits == 8)),
                 "the table must be 2-d u8 (8 bits: or i8)"))
      return false;
    num_rows = weight.sizes[0];
    row_bytes = weight.sizes[1];
    width = row_bytes * (8 / bits);
    scale_dtype = scale.dtype;
    const bool floats = scale_dtype == DType::f32 || scale_dtype == DType::f16 || scale_dtype == DType::bf16;
    if (!require(context, floats && (!zero_point || zero_point->dtype == scale_dtype),
                 "scales and zero points must have one dtype of f32, f16, bf16"))
      return false;
    const bool shaped = (scale.rank == 1 || scale.rank == 2) && scale.sizes[0] == num_rows;
    if (!require(context, shaped, "there is not one row of scales for each row of the table")) return false;
    groups = scale.rank == 2 ? scale.sizes[1] : 1;
    if (!require(context, groups > 0 && width % groups == 0, "the groups do not divide the row")) return false;
    if (!require(context, !zero_point || zero_point->numel == scale.numel,
                 "there is not one zero point for each scale"))
      return false;
    rows = static_cast<const uint8_t*>(contiguous_data(context, weight));
    scales = contiguous_data(context, scale);
    zero_points = zero_point ? contiguous_data(context, *zero_point) : nullptr;
    return context.ok();
  }
  /// Row `r` as floats, `count` of them from `begin`.
  void read(int64_t r, int64_t begin, int64_t count, float* values) const {
    const int64_t group = width / groups;
    const int64_t element = static_cast<int64_t>(dtype_size_bytes(scale_dtype));
    int64_t current = -1;
    float scale = 0, zero_point = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t g = r * groups + (begin + i) / group;
      if (g != current) {
        current = g;
        scale = static_cast<float>(element_to_double(static_cast<const uint8_t*>(scales) + g * element, scale_dtype));
        zero_point = zero_points ? static_cast<float>(element_to_double(
                                       static_cast<const uint8_t*>(zero_points) + g * element, scale_dtype))
                                 : 0;
      }
      const float q = static_cast<float>(unpack(rows + r * row_bytes, dtype, bits, begin + i));
      values[i] = round_to(scale_dtype, round_to(scale_dtype, q - zero_point) * scale);
    }
  }
};

void embed(KernelContext& context, Span<EValue*> args, int bits, const EValue& dtype, Tensor& out) {
  const Tensor& indices = *args[5]->tensor;
  const Tensor& scale = *args[1]->tensor;
  Table table;
  const int64_t lowest = bits == 4 ? -8 : -2, highest = bits == 4 ? 7 : 1;
  const bool range =
      bits == 8 ? args[3]->integer <= args[4]->integer : args[3]->integer == lowest && args[4]->integer == highest;
  if (!require(context, range, "the quantized range is not that of the table")) return;
  const int64_t wanted = dtype.is_none() ? static_cast<int64_t>(scale.dtype) : dtype.integer;
  const bool floats = out.dtype == DType::f32 || out.dtype == DType::f16 || out.dtype == DType::bf16;
  if (!require(context, floats && wanted == static_cast<int64_t>(out.dtype), "out does not have the dtype asked for"))
    return;
  if (!table.init(context, *args[0]->tensor, scale, args[2]->is_none() ? nullptr : args[2]->tensor, bits)) return;
  const DType index_dtype = indices.dtype;
  if (!require(context, is_index_dtype(index_dtype), "the index tensor is neither i64 nor i32")) return;
  const int64_t count = static_cast<int64_t>(indices.numel);
  View shape = view_of(indices);
  const void* rows = contiguous_data(context, indices);
  if (!rows) return;
  shape.insert(shape.rank, table.width, 1);
  if (!resize_out(context, out, shape.sizes, shape.rank) || out.numel == 0) return;
  uint8_t* target = static_cast<uint8_t*>(contiguous_target(context, out));
  if (!target) return;
  const int64_t size = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  constexpr int64_t kChunk = 64;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = load_index(rows, index_dtype, i);
    if (!require(context, row >= 0 && row < table.num_rows, "index is out of range")) return;
    for (int64_t begin = 0; begin < table.width; begin += kChunk) {
      const int64_t n = table.width - begin < kChunk ? table.width - begin : kChunk;
      float values[kChunk];
      table.read(row, begin, n, values);
      convert_elements(target + (i * table.width + begin) * size, out.dtype, 1, values, DType::f32, 1, n);
    }
  }
  store_contiguous(context, out, target);
}

}  // namespace

void embedding_byte_out(KernelContext& context, Span<EValue*> args) {
  embed(context, args, 8, EValue(), *args[6]->tensor);
}
void embedding_byte_dtype_out(KernelContext& context, Span<EValue*> args) {
  embed(context, args, 8, *args[6], *args[7]->tensor);
}
void embedding_4bit_out(KernelContext& context, Span<EValue*> args) {
  embed(context, args, 4, EValue(), *args[6]->tensor);
}
void embedding_4bit_dtype_out(KernelContext& context, Span<EValue*> args) {
  embed(context, args, 4, *args[6], *args[7]->tensor);
}
void embedding_2bit_out(KernelContext& context, Span<EValue*> args) {
  embed(context, args, 2, EValue(), *args[6]->tensor);
}
void embedding_2bit_dtype_out(KernelContext& context, Span<EValue*> args) {
  embed(context, args, 2, *args[6], *args[7]->tensor);
}

}  // namespace kernels
}  // namespace wick
