// The bytes of a payload's constants, ready to be read by kernels. C++17.
#pragma once
#include <list>
#include <vector>

#include "backends/xnnpack/payload/payload.h"
#include "wick/backend.h"

namespace wick::xnnpack {

/// May `extra_bytes`, at most 64, be read beyond the end of this memory?
bool can_read_beyond(const void* data, size_t size_bytes, size_t extra_bytes);

/// Constants stay where they are, in the payload or among the program's named data, unless they are misaligned, end
/// where reading on is not safe, or are widened (bf16 and half scales to fp32): then they are copied. Lives as long as
/// its bytes are used; payload and program outlive it.
class PayloadConstants {
 public:
  /// The elements of a value, and its scales: f32 per channel, bf16 per group.
  struct Bytes {
    Span<const uint8_t> data, scales;
  };

  PayloadConstants(const Payload& payload, size_t read_beyond_bytes)
      : payload_(payload), read_beyond_bytes_(read_beyond_bytes), sources_(payload.constants.size()) {}

  /// Starts with the constants of `found`, which outlives this object. The first constants of `payload` are those of
  /// its payload.
  PayloadConstants(const Payload& payload, const PayloadConstants& found)
      : payload_(payload), read_beyond_bytes_(found.read_beyond_bytes_), sources_(found.sources_) {
    sources_.resize(payload.constants.size());
  }
  /// Sets the bytes of a constant, which outlive this object.
  void provide(uint32_t constant, Span<const uint8_t> bytes) { sources_[constant] = {bytes, true}; }

  /// Errors: DelegateInvalidCompatibility, with text: named data is missing, sizes do not fit, the channel dimension is
  /// out of range. Requires: `value` is a constant with these dims.
  Error find(const BackendInit& context, uint32_t value, const std::vector<uint32_t>& dims, Bytes* bytes);
  /// Bytes of all constants that were found.
  size_t size_bytes() const;

 private:
  struct Source {
    Span<const uint8_t> bytes;
    bool resolved = false;
  };
  Error resolve(const BackendInit& context, uint32_t index, Span<const uint8_t>* bytes);
  Error find_data(const BackendInit& context, uint32_t value, Span<const uint8_t>* bytes);
  Error find_scales(const BackendInit& context, uint32_t value, uint64_t count, size_t element_bytes,
                    Span<const uint8_t>* bytes);
  /// The type of 16-bit scales of a filter's channels: that of all products with the filter; invalid if they differ.
  DataType narrow_scales_type(uint32_t value) const;
  Span<const uint8_t> widened(Span<const uint8_t> halves, DataType type);
  Span<const uint8_t> inline_scales(const Quantization& quantization, size_t element_bytes);
  Span<const uint8_t> safe_to_read(Span<const uint8_t> bytes, size_t alignment);
  Span<uint8_t> own(size_t size_bytes);

  const Payload& payload_;
  size_t read_beyond_bytes_;
  std::vector<Source> sources_;  // by constant
  std::list<std::vector<uint8_t>> owned_;
};

}  // namespace wick::xnnpack
