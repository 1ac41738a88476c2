#include "compiler/import/weights/constants.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <numeric>

#include "compiler/support/failure.h"
#include "compiler/support/limits.h"

namespace wick::compiler {
namespace {

uint64_t element_count(const std::vector<int64_t>& sizes) {
  uint64_t count = 1;
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(size), &count))
      fail(Code::limit, "a stored tensor is too large");
  }
  return count;
}

bool is_dense(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

Span<const uint8_t> slice_bytes(const pt2::Payload& payload, uint64_t count) {
  const size_t item = dtype_size_bytes(payload.dtype);
  if (count == 0) return {};
  return payload.bytes.subspan(static_cast<size_t>(payload.storage_offset) * item, static_cast<size_t>(count) * item);
}

Sizes to_sizes(const std::vector<int64_t>& sizes) { return Sizes(sizes); }

}  // namespace

ConstantData dense_data(const pt2::Payload& payload, uint64_t& copied_bytes) {
  const uint64_t count = element_count(payload.sizes);
  const size_t item = dtype_size_bytes(payload.dtype);
  if (count == 0 || is_dense(payload.sizes, payload.strides)) return {slice_bytes(payload, count), nullptr};
  uint64_t total;
  if (__builtin_mul_overflow(count, item, &total) || __builtin_add_overflow(copied_bytes, total, &copied_bytes) ||
      copied_bytes > limits().expanded_bytes) {
    fail(over_limit(&Limits::expanded_bytes, "the stored tensors with gaps or overlaps unpack to too many bytes"));
  }
  auto owned = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(total));
  std::vector<int64_t> index(payload.sizes.size(), 0);
  const uint8_t* base = payload.bytes.data();
  uint8_t* out = owned->data();
  for (uint64_t i = 0; i < count; ++i, out += item) {
    int64_t at = payload.storage_offset;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * payload.strides[d];
    memcpy(out, base + static_cast<size_t>(at) * item, item);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < payload.sizes[d]) break;
      index[d] = 0;
    }
  }
  return {Span<const uint8_t>(owned->data(), owned->size()), owned};
}

Value* constant_from_payload(const pt2::Payload& payload, std::string_view name, std::string_view fqn, Builder& builder,
                             uint64_t& copied_bytes) {
  const size_t rank = payload.sizes.size();
  if (element_count(payload.sizes) == 0 || is_dense(payload.sizes, payload.strides)) {
    return builder.graph().add_constant(TensorType{payload.dtype, to_sizes(payload.sizes), {}},
                                        dense_data(payload, copied_bytes), std::string(name), std::string(fqn));
  }
  // Expanded dimensions are stored once.
  pt2::Payload stored = payload;
  bool expanded = false;
  for (size_t i = 0; i < rank; ++i) {
    if (stored.strides[i] == 0 && stored.sizes[i] > 1) {
      stored.sizes[i] = 1;
      expanded = true;
    }
  }
  // Outermost to innermost; a stable order keeps equal strides (size 1) in place.
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return stored.strides[static_cast<size_t>(a)] > stored.strides[static_cast<size_t>(b)];
  });
  pt2::Payload sorted = stored;
  for (size_t i = 0; i < rank; ++i) {
    sorted.sizes[i] = stored.sizes[static_cast<size_t>(order[i])];
    sorted.strides[i] = stored.strides[static_cast<size_t>(order[i])];
  }
  const bool permuted = is_dense(sorted.sizes, sorted.strides);
  const pt2::Payload& kept = permuted ? sorted : stored;
  Value* value = builder.graph().add_constant(TensorType{payload.dtype, to_sizes(kept.sizes), {}},
                                              dense_data(kept, copied_bytes), std::string(name), std::string(fqn));
  if (permuted) {
    std::vector<int64_t> inverse(rank);
    for (size_t i = 0; i < rank; ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    value = builder.permute(value, inverse);
  }
  return expanded ? builder.expand(value, to_sizes(payload.sizes)) : value;
}

}  // namespace wick::compiler
