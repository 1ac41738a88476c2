#include "backends/cuda/compile/constant_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "common/float16.h"
#include "compiler/ir/constant_data.h"

namespace wick::cuda {

using compiler::ConstantData;
using compiler::Value;

namespace {

constexpr size_t kChunk = size_t{1} << 16;  // elements that are read at once
constexpr size_t kLeastPacked = 64;         // elements

template <typename T>
T element_of(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double real_of(const uint8_t* bytes, DType dtype) {
  switch (dtype) {
    case DType::u8: return element_of<uint8_t>(bytes);
    case DType::i8: return element_of<int8_t>(bytes);
    case DType::i16: return element_of<int16_t>(bytes);
    case DType::i32: return element_of<int32_t>(bytes);
    case DType::i64: return static_cast<double>(element_of<int64_t>(bytes));
    case DType::f16: return static_cast<double>(Half::to_float(element_of<uint16_t>(bytes)));
    case DType::bf16: return static_cast<double>(std::bit_cast<float>(uint32_t{element_of<uint16_t>(bytes)} << 16));
    case DType::f32: return static_cast<double>(element_of<float>(bytes));
    case DType::f64: return element_of<double>(bytes);
    default: return std::nan("");
  }
}

// Byte i holds the four lowest bits of element 2i - `least`, and above them those of element 2i + 1 - `least`.
class PackedNibbles final : public compiler::ComputedRows {
 public:
  PackedNibbles(ConstantData elements, int64_t least)
      : ComputedRows((elements.size_bytes() + 1) / 2, 1, elements.depth() + 1),
        elements_(std::move(elements)),
        least_(static_cast<uint8_t>(least)) {}

  void compute(size_t first, size_t count, uint8_t* out) const override {
    std::vector<uint8_t> read(std::min(2 * count, kChunk));
    for (size_t done = 0; done < count; done += kChunk / 2) {
      const size_t bytes = std::min(count - done, kChunk / 2), begin = 2 * (first + done);
      const size_t elements = std::min(2 * bytes, elements_.size_bytes() - begin);
      elements_.read(begin, elements, read.data());
      for (size_t i = 0; i < bytes; ++i) {
        const unsigned low = bits(read[2 * i]), high = 2 * i + 1 < elements ? bits(read[2 * i + 1]) : 0;
        out[done + i] = static_cast<uint8_t>(low | high << 4);
      }
    }
  }

 private:
  unsigned bits(uint8_t element) const { return static_cast<uint8_t>(element - least_) & 15u; }

  const ConstantData elements_;
  const uint8_t least_;
};

}  // namespace

std::optional<NumberRange> range_of_constant(const Value& value) {
  if (!value.is_constant() || value.data.empty()) return std::nullopt;
  const size_t size = dtype_size_bytes(value.dtype());
  std::vector<uint8_t> read;
  NumberRange out = {INFINITY, -INFINITY};
  for (size_t at = 0; at < value.data.size_bytes(); at += read.size()) {
    read.resize(std::min(value.data.size_bytes() - at, kChunk * size));
    value.data.read(at, read.size(), read.data());
    for (size_t i = 0; i + size <= read.size(); i += size) {
      const double element = real_of(&read[i], value.dtype());
      if (std::isnan(element)) return std::nullopt;
      out.least = std::min(out.least, element);
      out.largest = std::max(out.largest, element);
      out.whole = out.whole && std::floor(element) == element;
    }
  }
  return out;
}

std::optional<PackedConstant> pack_4_bits(const Value& value) {
  if ((value.dtype() != DType::i8 && value.dtype() != DType::u8) || value.data.size_bytes() < kLeastPacked)
    return std::nullopt;
  const std::optional<NumberRange> range = range_of_constant(value);
  const int64_t least = range && range->least >= 0 ? 0 : -8;
  if (!range || range->least < static_cast<double>(least) || range->largest > static_cast<double>(least + 15))
    return std::nullopt;
  return PackedConstant{ConstantData(std::make_shared<const PackedNibbles>(value.data, least), {}), least};
}

}  // namespace wick::cuda
