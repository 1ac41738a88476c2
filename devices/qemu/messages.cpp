#include "devices/qemu/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runtime/module/host_tensor.h"

namespace wick::device {
namespace {

constexpr uint32_t kMaxListed = 1024;  // limit of the tensors of an instruction

bool write_tensor(const HostTensor& host, Span<const uint8_t> dim_order, RequestWriter& writer) {
  const InputView view(host, dim_order);
  if (!view.ok()) return false;
  const Tensor& tensor = view.tensor();
  writer.u32(static_cast<uint32_t>(tensor.dtype));
  writer.u32(tensor.rank);
  writer.add(tensor.sizes, tensor.rank * sizeof(int32_t));
  writer.add(tensor.dim_order, tensor.rank);
  writer.u32(static_cast<uint32_t>(tensor.nbytes()));
  writer.add(tensor.data, tensor.nbytes());
  return true;
}

}  // namespace

void RequestWriter::add(const void* data, size_t size_bytes) {
  const uint8_t* begin = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), begin, begin + size_bytes);
}

std::vector<uint8_t> RequestWriter::take(Request kind) {
  RequestWriter header;
  header.u32(static_cast<uint32_t>(kind));
  header.u64(bytes_.size());
  bytes_.insert(bytes_.begin(), header.bytes_.begin(), header.bytes_.end());
  return std::exchange(bytes_, {});
}

void RequestWriter::string(std::string_view text) {
  u32(static_cast<uint32_t>(text.size()));
  add(text.data(), text.size());
}

bool write_value(const HostValue& value, Span<const uint8_t> dim_order, RequestWriter& writer) {
  writer.u32(static_cast<uint32_t>(value.tag));
  switch (value.tag) {
    case Tag::none: return true;
    case Tag::tensor: return write_tensor(value.tensor, dim_order, writer);
    case Tag::integer: writer.u64(static_cast<uint64_t>(value.integer)); return true;
    case Tag::boolean: writer.u64(value.boolean ? 1 : 0); return true;
    case Tag::real: writer.f64(value.real); return true;
    case Tag::string: writer.string(value.string); return value.string.size() < kMaxTextBytes;
    default: return false;
  }
}

void ReplyReader::read(void* out, size_t size_bytes) {
  if (ok_) ok_ = process_.receive(out, size_bytes);
  if (!ok_) memset(out, 0, size_bytes);
}

std::string ReplyReader::string() {
  constexpr uint32_t kMaxBytes = 1 << 20;
  const uint32_t size_bytes = u32();
  if (size_bytes > kMaxBytes) ok_ = false;
  std::string text(ok_ ? size_bytes : 0, '\0');
  if (!text.empty()) read(text.data(), text.size());
  return text;
}

std::vector<int32_t> ReplyReader::sizes(uint32_t* dtype) {
  *dtype = u32();
  const uint32_t rank = u32();
  if (rank > kMaxRank || dtype_size_bytes(static_cast<DType>(*dtype)) == 0) ok_ = false;
  std::vector<int32_t> result(ok_ ? rank : 0);
  if (!result.empty()) read(result.data(), result.size() * sizeof(int32_t));
  return result;
}

HostTensor ReplyReader::tensor() {
  uint32_t dtype = 0;
  std::vector<int32_t> dims = sizes(&dtype), strides(dims.size());
  std::vector<uint8_t> dim_order(dims.size());
  if (!dims.empty()) read(dim_order.data(), dim_order.size());
  const uint32_t size_bytes = u32();
  Tensor tensor;
  tensor.dtype = static_cast<DType>(dtype);
  tensor.rank = static_cast<uint8_t>(dims.size());
  tensor.sizes = dims.data();
  tensor.strides = strides.data();
  tensor.dim_order = dim_order.data();
  if (!ok_ || compute_layout(tensor) != Error::Ok || tensor.nbytes() != size_bytes) {
    ok_ = false;
    return {};
  }
  std::vector<uint8_t> bytes(size_bytes);
  if (size_bytes != 0) read(bytes.data(), size_bytes);
  tensor.data = bytes.data();
  return to_host(tensor);
}

HostValue ReplyReader::value() {
  const Tag tag = static_cast<Tag>(u32());
  switch (tag) {
    case Tag::none: return {};
    case Tag::tensor: return tensor();
    case Tag::integer: return HostValue::of_int(field<int64_t>());
    case Tag::boolean: return HostValue::of_bool(field<int64_t>() != 0);
    case Tag::real: return HostValue::of_real(field<double>());
    case Tag::string: {
      HostValue value;
      value.tag = tag;
      value.string = string();
      return value;
    }
    default: ok_ = false; return {};
  }
}

Refusal ReplyReader::refusal() {
  Refusal refusal;
  refusal.kind = static_cast<ErrorKind>(u32());
  refusal.code = static_cast<Error>(u32());
  refusal.message = string();
  refusal.in_instruction = u32() != 0;
  refusal.chain = u32();
  refusal.instruction = u32();
  const uint32_t count = u32();
  if (count > kMaxListed) ok_ = false;
  for (uint32_t i = 0; ok_ && i < count; ++i) {
    uint32_t dtype = 0;
    const std::vector<int32_t> dims = sizes(&dtype);
    refusal.tensors.push_back(fmt::format("{}[{}]", dtype_name(static_cast<DType>(dtype)), fmt::join(dims, ", ")));
  }
  return refusal;
}

}  // namespace wick::device
