#include "runtime/module/host_tensor.h"

#include <string.h>

namespace wick {
namespace {

/// Calls fn(row-major position, element offset in `tensor`) for all elements.
template <typename F>
void for_each_element(const Tensor& tensor, F fn) {
  int32_t index[kMaxRank] = {};
  size_t offset = 0;
  for (size_t position = 0; position < tensor.numel; ++position) {
    fn(position, offset);
    for (size_t dim = tensor.rank; dim-- > 0;) {
      offset += static_cast<size_t>(tensor.strides[dim]);
      if (++index[dim] < tensor.sizes[dim]) break;
      offset -= static_cast<size_t>(tensor.strides[dim]) * static_cast<size_t>(index[dim]);
      index[dim] = 0;
    }
  }
}

}  // namespace

InputView::InputView(const HostTensor& host, Span<const uint8_t> dim_order) {
  const size_t rank = host.sizes.size();
  const size_t element_bytes = dtype_size_bytes(host.dtype);
  if (rank > kMaxRank || rank != dim_order.size() || element_bytes == 0) return;
  tensor_.dtype = host.dtype;
  tensor_.rank = static_cast<uint8_t>(rank);
  tensor_.sizes = sizes_;
  tensor_.strides = strides_;
  tensor_.dim_order = dim_order.data();
  for (size_t i = 0; i < rank; ++i) sizes_[i] = host.sizes[i];
  if (compute_layout(tensor_) != Error::Ok || tensor_.nbytes() != host.bytes.size()) return;
  ok_ = true;
  tensor_.capacity_bytes = host.bytes.size();
  if (is_contiguous(tensor_)) {
    tensor_.data = const_cast<uint8_t*>(host.bytes.data());
    return;
  }
  copy_.resize(host.bytes.size());
  tensor_.data = copy_.data();
  for_each_element(tensor_, [&](size_t position, size_t offset) {
    memcpy(copy_.data() + offset * element_bytes, host.bytes.data() + position * element_bytes, element_bytes);
  });
}

bool to_value(const HostValue& host, EValue* value) {
  value->tag = host.tag;
  switch (host.tag) {
    case Tag::none: return true;
    case Tag::integer: value->integer = host.integer; return true;
    case Tag::real: value->real = host.real; return true;
    case Tag::boolean: value->boolean = host.boolean; return true;
    case Tag::string:
      value->string.data = host.string.c_str();
      value->string.size = host.string.size();
      return true;
    default: return false;
  }
}

HostTensor to_host(const Tensor& tensor) {
  HostTensor host;
  host.dtype = tensor.dtype;
  host.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  host.bytes.resize(tensor.nbytes());
  if (host.bytes.empty()) return host;
  if (is_contiguous(tensor)) {
    memcpy(host.bytes.data(), tensor.data, host.bytes.size());
    return host;
  }
  const size_t element_bytes = dtype_size_bytes(tensor.dtype);
  for_each_element(tensor, [&](size_t position, size_t offset) {
    memcpy(host.bytes.data() + position * element_bytes, tensor.as<uint8_t>() + offset * element_bytes, element_bytes);
  });
  return host;
}

}  // namespace wick
