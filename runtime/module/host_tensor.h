// Row-major host tensors to and from tensors in any dim order.
#pragma once
#include "wick/module.h"

namespace wick {

/// A tensor over the bytes of a HostTensor, or over a copy of them in another dim order. Not movable: the tensor points
/// inside.
class InputView {
 public:
  InputView(const HostTensor& host, Span<const uint8_t> dim_order);
  InputView(const InputView&) = delete;
  InputView& operator=(const InputView&) = delete;
  /// False if sizes and bytes do not fit each other, or the rank is not that of `dim_order`.
  bool ok() const { return ok_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  bool ok_ = false;
  Tensor tensor_;
  int32_t sizes_[kMaxRank];
  int32_t strides_[kMaxRank];
  std::vector<uint8_t> copy_;
};

/// The value of a host value that is no tensor; a string is borrowed. False for tensors and lists.
bool to_value(const HostValue& host, EValue* value);

/// The elements of `tensor` row-major. Requires: data or no elements.
HostTensor to_host(const Tensor& tensor);

}  // namespace wick
