#include "backends/xnnpack/runtime/payload_constants.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/float16.h"

namespace wick::xnnpack {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMaxBeyond = 64;

size_t element_bytes(DataType type) {
  switch (type) {
    case DataType::fp16:
    case DataType::bf16: return 2;
    case DataType::fp32:
    case DataType::qint32:
    case DataType::qcint32:
    case DataType::int32: return 4;
    default: return 1;
  }
}

template <typename... Parts>
Error fail(const BackendInit& context, Parts... parts) {
  if (context.text()) context.text()->append(parts...);
  return Error::DelegateInvalidCompatibility;
}

}  // namespace

bool can_read_beyond(const void* data, size_t size_bytes, size_t extra_bytes) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + size_bytes;
  if (end % kPageBytes != 0 && end % kPageBytes <= kPageBytes - extra_bytes) return true;
  // The bytes lie on another page. Asks the kernel whether that page is mapped; if asking is forbidden, the answer is
  // no.
  char bytes[kMaxBeyond];
  if (extra_bytes > sizeof bytes) return false;
  const iovec local = {bytes, extra_bytes};
  const iovec remote = {reinterpret_cast<void*>(end), extra_bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(extra_bytes);
}

Span<uint8_t> PayloadConstants::own(size_t size_bytes) {
  owned_.emplace_back(size_bytes + read_beyond_bytes_);
  return {owned_.back().data(), size_bytes};
}

Span<const uint8_t> PayloadConstants::safe_to_read(Span<const uint8_t> bytes, size_t alignment) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0 &&
      can_read_beyond(bytes.data(), bytes.size(), read_beyond_bytes_)) {
    return bytes;
  }
  const Span<uint8_t> copy = own(bytes.size());
  if (!bytes.empty()) memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

Error PayloadConstants::resolve(const BackendInit& context, uint32_t index, Span<const uint8_t>* bytes) {
  Source& source = sources_[index];
  if (!source.resolved) {
    const PayloadConstant& said = payload_.constants[index];
    if (said.key.empty()) {
      if (said.offset > payload_.region.size() || said.size_bytes > payload_.region.size() - said.offset) {
        return fail(context, "a constant lies outside the payload");
      }
      source.bytes = payload_.region.subspan(static_cast<size_t>(said.offset), static_cast<size_t>(said.size_bytes));
    } else {
      const Result<Span<const uint8_t>> found = context.named_data(said.key.c_str());
      if (!found.ok()) {
        return fail(context, "the data named ", said.key.c_str(), " is neither in the program nor in a .ptd file");
      }
      source.bytes = *found;
    }
    source.resolved = true;
  }
  *bytes = source.bytes;
  return Error::Ok;
}

// Element by element: the constant may be misaligned.
Span<const uint8_t> PayloadConstants::widened(Span<const uint8_t> halves, DataType type) {
  const Span<uint8_t> wide = own(halves.size() * 2);
  for (size_t i = 0; i < halves.size() / 2; ++i) {
    uint16_t bits;
    memcpy(&bits, halves.data() + 2 * i, sizeof bits);
    const float element = type == DataType::bf16 ? float_from_bits(uint32_t{bits} << 16) : Half::to_float(bits);
    memcpy(wide.data() + 4 * i, &element, sizeof element);
  }
  return wide;
}

DataType PayloadConstants::narrow_scales_type(uint32_t value) const {
  DataType type = DataType::invalid;
  for (const PayloadNode& node : payload_.nodes) {
    if (node.inputs[1] != value) continue;
    const DataType product = payload_.values[node.output].type;
    if (product != DataType::bf16 && product != DataType::fp16) return DataType::invalid;
    if (type != DataType::invalid && type != product) return DataType::invalid;
    type = product;
  }
  return type;
}

Error PayloadConstants::find_data(const BackendInit& context, uint32_t value, Span<const uint8_t>* bytes) {
  const PayloadValue& v = payload_.values[value];
  const Error error = resolve(context, v.constant, bytes);
  if (error != Error::Ok) return error;
  uint64_t size = 0;
  if (!size_of(v, &size) || size != bytes->size()) {
    return fail(context, "value ", value, ": its constant has ", static_cast<uint64_t>(bytes->size()), " bytes, not ",
                size);
  }
  if (v.type == DataType::bf16) {
    *bytes = widened(*bytes, v.type);
  } else {
    *bytes = safe_to_read(*bytes, element_bytes(v.type));
  }
  return Error::Ok;
}

Span<const uint8_t> PayloadConstants::inline_scales(const Quantization& quantization, size_t element) {
  const std::vector<float>& scales = quantization.inline_scales;
  const Span<uint8_t> copy = own(scales.size() * element);
  for (size_t i = 0; i < scales.size(); ++i) {
    float scale = scales[i];
    if (element == 2) {
      // Old files hold the scales of groups as fp32. Half a unit of bf16 is added, then the bits are cut off.
      scale *= 1.00389105f;
      memcpy(copy.data() + 2 * i, reinterpret_cast<const uint8_t*>(&scale) + 2, 2);
    } else {
      memcpy(copy.data() + 4 * i, &scale, 4);
    }
  }
  return copy;
}

Error PayloadConstants::find_scales(const BackendInit& context, uint32_t value, uint64_t count, size_t element,
                                    Span<const uint8_t>* bytes) {
  const Quantization& q = payload_.values[value].quantization;
  if (q.scale_constant == 0) {
    if (q.inline_scales.size() != count)
      return fail(context, "value ", value, ": the number of its scales does not fit");
    *bytes = inline_scales(q, element);
    return Error::Ok;
  }
  const Error error = resolve(context, q.scale_constant, bytes);
  if (error != Error::Ok) return error;
  if (element == sizeof(float) && bytes->size() == count * sizeof(uint16_t)) {
    const DataType type = narrow_scales_type(value);
    if (type == DataType::invalid) {
      return fail(context, "value ", value, ": its scales have 16 bits, and its products are neither all bf16 nor all ",
                  "fp16, which would say what the scales are");
    }
    *bytes = widened(*bytes, type);
    return Error::Ok;
  }
  if (bytes->size() != count * element) {
    return fail(context, "value ", value, ": its scales have ", static_cast<uint64_t>(bytes->size()), " bytes, not ",
                count * element);
  }
  *bytes = safe_to_read(*bytes, element);
  return Error::Ok;
}

Error PayloadConstants::find(const BackendInit& context, uint32_t value, const std::vector<uint32_t>& dims,
                             Bytes* bytes) {
  const Error error = find_data(context, value, &bytes->data);
  if (error != Error::Ok) return error;
  const Quantization& q = payload_.values[value].quantization;
  switch (q.kind) {
    case Quantization::Kind::per_channel:
      if (q.channel_dim < 0 || static_cast<size_t>(q.channel_dim) >= dims.size()) {
        return fail(context, "value ", value, ": its channel dimension is out of range");
      }
      return find_scales(context, value, dims[static_cast<size_t>(q.channel_dim)], sizeof(float), &bytes->scales);
    case Quantization::Kind::per_group: {
      uint64_t elements = 1;
      for (const uint32_t dim : dims) elements *= dim;
      if (q.group_size == 0 || q.channel_dim < 0) return fail(context, "value ", value, ": its groups are not valid");
      return find_scales(context, value, elements / q.group_size, sizeof(uint16_t), &bytes->scales);
    }
    default: return Error::Ok;
  }
}

size_t PayloadConstants::size_bytes() const {
  size_t sum = 0;
  for (const Source& source : sources_) sum += source.bytes.size();
  return sum;
}

}  // namespace wick::xnnpack
