// The bytes of constants: copies, permutations, ownership. C++20.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/layout/dim_order.h"

namespace wick::compiler::layout {

/// Copies the elements of a row-major tensor of sizes `dims` so that dimension perm[i] becomes dimension i.
template <typename T>
void permute_elements(const T* from, const Sizes& dims, const std::vector<int64_t>& perm, T* to) {
  const size_t rank = dims.size(), count = static_cast<size_t>(elements(dims));
  std::vector<int64_t> strides(rank, 1), sizes(rank), steps(rank), at(rank, 0);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * dims[i].value();
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = dims[static_cast<size_t>(perm[i])].value();
    steps[i] = strides[static_cast<size_t>(perm[i])];
  }
  if (count == 0) return;
  const int64_t inner = rank ? sizes[rank - 1] : 1, step = rank ? steps[rank - 1] : 1;
  int64_t base = 0;
  for (size_t out = 0; out < count; out += static_cast<size_t>(inner)) {
    for (int64_t i = 0; i < inner; ++i) to[out + static_cast<size_t>(i)] = from[base + i * step];
    for (size_t i = rank > 0 ? rank - 1 : 0; i-- > 0;) {
      base += steps[i];
      if (++at[i] < sizes[i]) break;
      base -= steps[i] * sizes[i];
      at[i] = 0;
    }
  }
}
template <typename T>
std::vector<T> permute_elements(const T* from, const Sizes& dims, const std::vector<int64_t>& perm) {
  std::vector<T> to(static_cast<size_t>(elements(dims)));
  permute_elements(from, dims, perm, to.data());
  return to;
}

/// The elements of `data`, of `element_bytes` (1, 2, 4, 8 or 16) each, permuted in this way. They are computed when
/// they are read if the first dimension stays first.
ConstantData permuted_elements(const ConstantData& data, size_t element_bytes, const Sizes& dims,
                               const std::vector<int64_t>& perm);

/// Computes rows [first, first + count) of a constant from the same rows of another one.
using ComputeRows = std::function<void(const uint8_t* from, size_t first, size_t count, uint8_t* to)>;
/// A constant of `count` rows of `row_bytes` each. They are computed from as many rows of `source` when they are read.
ConstantData rows_from(ConstantData source, size_t count, size_t row_bytes, ComputeRows compute);

/// Bytes that live as long as they are referred to.
template <typename T>
ConstantData own(std::vector<T> elements) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
  const auto* bytes = reinterpret_cast<const uint8_t*>(owner->data());
  return {{bytes, owner->size() * sizeof(T)}, owner};
}

/// The elements of a constant, in the order of its bytes.
template <typename T>
std::vector<T> elements_of(const Value& value) {
  std::vector<T> elements(value.data.size_bytes() / sizeof(T));
  value.data.read(0, elements.size() * sizeof(T), reinterpret_cast<uint8_t*>(elements.data()));
  return elements;
}

/// The dim order of the bytes of a constant.
inline DimOrder stored_order(const Value& value) {
  return value.tensor().dim_order.empty() ? plain_order(value.rank()) : value.tensor().dim_order;
}

}  // namespace wick::compiler::layout
