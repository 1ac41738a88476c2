#include "backends/xnnpack/compile/passes/match/constant_indices.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"

namespace wick::xnnpack {

using compiler::catch_failure;
using compiler::Sizes;
using compiler::Status;
using compiler::Sym;
using compiler::Value;
using compiler::Values;

namespace {

constexpr int64_t kMaxIndices = 1 << 20;

// Which element of a tensor of sizes `own` meets element `at` of the sizes it broadcasts to.
size_t broadcast_place(const Sizes& to, const Sizes& own, size_t at) {
  size_t place = 0, step = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto size = static_cast<size_t>(to[to.size() - 1 - i].value());
    if (i < own.size() && !own[own.size() - 1 - i].is(1)) {
      place += at % size * step;
      step *= size;
    }
    at /= size;
  }
  return place;
}

std::optional<Sizes> common_sizes(const Values& indices, const std::vector<size_t>& dims) {
  Sizes sizes;
  const Status status = catch_failure([&] {
    for (const size_t dim : dims) sizes = broadcast(sizes, indices[dim]->sizes());
  });
  return status.ok() ? std::optional(sizes) : std::nullopt;
}

}  // namespace

std::vector<Piece> pieces_of(const std::vector<int64_t>& indices) {
  std::vector<Piece> pieces;
  for (const int64_t index : indices) {
    if (!pieces.empty()) {
      Piece& last = pieces.back();
      const int64_t step = index - (last.start + (last.count - 1) * last.step);
      if (last.count == 1 && step > 0) last.step = step;
      if (step > 0 && step == last.step) {
        ++last.count;
        continue;
      }
    }
    pieces.push_back({index, 1, 1});
  }
  return pieces;
}

std::optional<int64_t> known_size(const Value& x, size_t dim) {
  const Sym& size = x.sizes()[dim];
  return size.is_const() && size.value() > 0 ? std::optional<int64_t>(size.value()) : std::nullopt;
}

std::optional<std::vector<int64_t>> constant_indices(const Value& index, int64_t size) {
  if (!index.is_constant() || !index.tensor().dim_order.empty()) return std::nullopt;
  if (index.dtype() != DType::i64 && index.dtype() != DType::i32) return std::nullopt;
  const size_t step = dtype_size_bytes(index.dtype());
  std::vector<int64_t> indices(index.data.size_bytes() / step);
  for (size_t i = 0; i < indices.size(); ++i) {
    int32_t narrow = 0;
    const uint8_t* from = index.data.bytes().data() + i * step;
    if (step == sizeof narrow) {
      std::memcpy(&narrow, from, sizeof narrow);
      indices[i] = narrow;
    } else {
      std::memcpy(&indices[i], from, sizeof indices[i]);
    }
    if (indices[i] < -size || indices[i] >= size) return std::nullopt;  // for the kernel to refuse
    if (indices[i] < 0) indices[i] += size;
  }
  return indices;
}

std::vector<size_t> indexed_dims(const Values& indices) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i]) dims.push_back(i);
  }
  if (!dims.empty() && dims.back() - dims.front() + 1 != dims.size()) dims.clear();
  return dims;
}

bool spans_grid(const Values& indices) {
  size_t least = SIZE_MAX;  // of the dimensions so far
  for (const Value* index : indices) {
    if (!index) continue;
    const Sizes& sizes = index->sizes();
    size_t most = 0, first = SIZE_MAX;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[sizes.size() - 1 - i].is(1)) continue;
      first = std::min(first, i);
      most = i;
    }
    if (first == SIZE_MAX) continue;
    if (most >= least) return false;
    least = first;
  }
  return true;
}

std::optional<std::vector<int64_t>> flat_indices(const Value& x, const Values& indices,
                                                 const std::vector<size_t>& dims) {
  const auto shape = common_sizes(indices, dims);
  if (!shape || !is_static(*shape)) return std::nullopt;
  const Sym count = numel(*shape);
  if (count.value() > kMaxIndices) return std::nullopt;
  std::vector<int64_t> flat(static_cast<size_t>(count.value()), 0);
  for (const size_t dim : dims) {
    const auto size = known_size(x, dim);
    const auto known = size ? constant_indices(*indices[dim], *size) : std::nullopt;
    if (!known) return std::nullopt;
    for (size_t i = 0; i < flat.size(); ++i)
      flat[i] = flat[i] * *size + (*known)[broadcast_place(*shape, indices[dim]->sizes(), i)];
  }
  return flat;
}

Sizes merged_dims(const Sizes& sizes, const std::vector<size_t>& dims) {
  Sizes out(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(dims.front()));
  const auto behind = sizes.begin() + static_cast<ptrdiff_t>(dims.back()) + 1;
  out.push_back(numel(Sizes(sizes.begin() + static_cast<ptrdiff_t>(dims.front()), behind)));
  out.insert(out.end(), behind, sizes.end());
  return out;
}

}  // namespace wick::xnnpack
