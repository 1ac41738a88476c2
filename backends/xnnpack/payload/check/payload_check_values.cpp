// Types, quantization and sizes of values.
#include <math.h>

#include "backends/xnnpack/payload/payload_check.h"
#include "common/checked.h"

namespace wick::xnnpack {
namespace {

struct TypeRow {
  const char* name;
  uint8_t bits;  // of an element; 0: values of this type are not taken
  Quantization::Kind kind;
  bool constant;  // is every value of this type a constant?
};

// Indexed by DataType.
constexpr TypeRow kTypes[] = {
    {"invalid", 0, Quantization::Kind::none, false},      {"fp32", 32, Quantization::Kind::none, false},
    {"fp16", 16, Quantization::Kind::none, false},        {"qint8", 8, Quantization::Kind::per_tensor, false},
    {"quint8", 8, Quantization::Kind::per_tensor, false}, {"qint32", 32, Quantization::Kind::per_tensor, true},
    {"qcint8", 8, Quantization::Kind::per_channel, true}, {"qcint32", 32, Quantization::Kind::per_channel, true},
    {"qcint4", 4, Quantization::Kind::per_channel, true}, {"qdint8", 8, Quantization::Kind::per_token, false},
    {"qbint4", 4, Quantization::Kind::per_group, true},   {"qpint8", 0, Quantization::Kind::none, false},
    {"int32", 32, Quantization::Kind::none, false},       {"pfp32", 0, Quantization::Kind::none, false},
    {"bf16", 16, Quantization::Kind::none, false},
};
constexpr size_t kNumTypes = sizeof(kTypes) / sizeof(kTypes[0]);

const TypeRow& row_of(DataType type) {
  return kTypes[static_cast<size_t>(type) < kNumTypes ? static_cast<size_t>(type) : 0];
}

bool zero_point_fits(DataType type, int32_t zero_point) {
  if (type == DataType::qint8) return zero_point >= -128 && zero_point <= 127;
  if (type == DataType::quint8) return zero_point >= 0 && zero_point <= 255;
  return zero_point == 0;
}

class ValueCheck {
 public:
  ValueCheck(const Payload& payload, size_t index, ErrorText* text)
      : payload_(payload), value_(payload.values[index]), index_(index), text_(text) {}

  Error run() {
    const TypeRow& row = row_of(value_.type);
    if (row.bits == 0) return fail("of a type (", row.name, ") that is not taken");
    for (uint32_t dim : value_.dims) {
      if (dim == 0) return fail("without elements");
    }
    if (count_of(value_.dims) >= kMaxElements) return fail("of 2^31 elements or more");
    if (row.constant && value_.constant == 0) return fail("of type ", row.name, " but no constant");
    const bool moving = value_.type == DataType::qdint8;
    if (moving && (value_.constant != 0 || value_.external_id != kNoValue)) {
      return fail("quantized at run time, yet not inside the payload");
    }
    if (value_.quantization.kind != row.kind) return fail("quantized in a different way than its type ", row.name);
    const Error error = constant();
    return error == Error::Ok ? quantization() : error;
  }

 private:
  template <typename... Parts>
  Error fail(Parts... parts) {
    if (text_) text_->append("value ", static_cast<uint64_t>(index_), " is ");
    return refuse(text_, parts...);
  }
  Error constant();
  Error quantization();
  Error channels();

  const Payload& payload_;
  const PayloadValue& value_;
  size_t index_;
  ErrorText* text_;
};

// The reader of a named constant compares its real size with size_of.
Error ValueCheck::constant() {
  if (value_.constant == 0) return Error::Ok;
  const PayloadConstant& constant = payload_.constants[value_.constant];
  uint64_t needed = 0;
  if (!size_of(value_, &needed)) return fail("too large");
  const bool stated = constant.key.empty() || constant.size_bytes != 0;
  if (!stated || constant.size_bytes >= needed) return Error::Ok;
  return fail("a constant of ", constant.size_bytes, " bytes and needs ", needed);
}

Error ValueCheck::quantization() {
  const Quantization& q = value_.quantization;
  switch (q.kind) {
    case Quantization::Kind::none: return Error::Ok;
    case Quantization::Kind::per_tensor:
      if (!is_scale(q.scale)) return fail("quantized with a scale that is not a positive normal number");
      if (!zero_point_fits(value_.type, q.zero_point)) return fail("quantized with zero point ", q.zero_point);
      return Error::Ok;
    case Quantization::Kind::per_token:
      if (q.num_nonbatch_dims >= 1 && q.num_nonbatch_dims <= value_.dims.size()) return Error::Ok;
      return fail("quantized at run time over ", q.num_nonbatch_dims, " dims of ",
                  static_cast<uint64_t>(value_.dims.size()));
    case Quantization::Kind::per_channel:
    case Quantization::Kind::per_group: return channels();
  }
  return Error::Ok;
}

Error ValueCheck::channels() {
  const Quantization& q = value_.quantization;
  const bool grouped = q.kind == Quantization::Kind::per_group;
  if (q.channel_dim < 0 || static_cast<size_t>(q.channel_dim) >= value_.dims.size()) {
    return fail("quantized along dim ", q.channel_dim, " of ", static_cast<uint64_t>(value_.dims.size()));
  }
  uint64_t count = value_.dims[static_cast<size_t>(q.channel_dim)];
  if (grouped) {
    if (value_.dims.size() != 2 || q.channel_dim != 0) return fail("quantized in groups, but no matrix along dim 0");
    if (q.group_size == 0 || q.group_size % 32 != 0 || value_.dims[1] % q.group_size != 0) {
      return fail("quantized in groups of ", q.group_size, ", no multiple of 32 that divides ", value_.dims[1]);
    }
    count *= value_.dims[1] / q.group_size;
  }
  if (q.scale_constant == 0) {
    if (q.inline_scales.size() != count)
      return fail("quantized with a different number of scales than it has channels");
    for (float scale : q.inline_scales) {
      if (!is_scale(scale)) return fail("quantized with a scale that is not a positive normal number");
    }
    return Error::Ok;
  }
  const PayloadConstant& scales = payload_.constants[q.scale_constant];
  const uint64_t needed = count * 2;  // of channels, more if the products are fp32: PayloadConstants::find
  const bool stated = scales.key.empty() || scales.size_bytes != 0;
  if (!stated || scales.size_bytes >= needed) return Error::Ok;
  return fail("quantized with ", scales.size_bytes, " bytes of scales and needs ", needed);
}

}  // namespace

const char* name_of(DataType type) { return row_of(type).name; }

bool is_scale(float scale) { return isnormal(scale) && scale > 0; }

bool equal_quantization(const Quantization& a, const Quantization& b) {
  if (a.kind != b.kind) return false;
  return a.kind == Quantization::Kind::none || (a.scale == b.scale && a.zero_point == b.zero_point);
}

uint64_t count_of(const Dims& dims) {
  uint64_t count = 1;
  for (uint32_t dim : dims) {
    if (!checked_mul<uint64_t>(count, dim, &count) || count >= kMaxElements) return kMaxElements;
  }
  return count;
}

bool size_of(const PayloadValue& value, uint64_t* size_bytes) {
  const uint64_t bits = row_of(value.type).bits;
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < value.dims.size(); ++i) {
    if (!checked_mul<uint64_t>(rows, value.dims[i], &rows)) return false;
  }
  const uint64_t columns = value.dims.empty() ? 1 : value.dims.back();
  return checked_mul<uint64_t>(rows, (columns * bits + 7) / 8, size_bytes);
}

Error check_values(const Payload& payload, ErrorText* text) {
  for (size_t i = 0; i < payload.values.size(); ++i) {
    const Error error = ValueCheck(payload, i, text).run();
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

}  // namespace wick::xnnpack
