#include "compiler/passes/match/strided.h"

#include <algorithm>
#include <numeric>

namespace wick::compiler {
namespace {

// The length of the longest prefix of `at` with equal distances.
size_t run_length(const std::vector<int64_t>& at) {
  size_t length = std::min<size_t>(at.size(), 2);
  while (length < at.size() && at[length] - at[length - 1] == at[1] - at[0]) ++length;
  return length;
}

bool repeats(const std::vector<int64_t>& at, size_t length, int64_t distance) {
  for (size_t i = 0; i < at.size(); ++i) {
    if (i % length != 0 && at[i] - at[i - 1] != distance) return false;
  }
  return true;
}

}  // namespace

std::optional<Grid> grid_of(const std::vector<int64_t>& indices) {
  Grid grid;
  std::vector<int64_t> at = indices;  // first positions of the rows found so far
  grid.offset = at.front();
  while (at.size() > 1) {
    const size_t length = run_length(at);
    const int64_t distance = at[1] - at[0];
    if (at.size() % length != 0 || !repeats(at, length, distance)) return std::nullopt;
    grid.sizes.insert(grid.sizes.begin(), static_cast<int64_t>(length));
    grid.strides.insert(grid.strides.begin(), distance);
    std::vector<int64_t> rows;
    for (size_t i = 0; i < at.size(); i += length) rows.push_back(at[i]);
    at = std::move(rows);
  }
  return grid;
}

std::optional<Strided> Strided::plan(int64_t size, const Grid& grid) {
  Strided out;
  out.grid_ = grid;
  out.size_ = size;
  for (size_t i = 0; i < grid.sizes.size(); ++i) {
    if (grid.sizes[i] < 1 || grid.strides[i] < 0) return std::nullopt;
    if (grid.sizes[i] > 1 && grid.strides[i] > 0) out.axes_.push_back({i, grid.sizes[i], grid.strides[i]});
  }
  std::stable_sort(out.axes_.begin(), out.axes_.end(),
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  int64_t offset = grid.offset;
  for (size_t k = 0; k < out.axes_.size(); ++k) {
    Axis& axis = out.axes_[k];
    int64_t reach = 0, rows = 0;  // extent of the axes within a row; of all rows
    for (size_t i = k + 1; i < out.axes_.size(); ++i) {
      int64_t part = 0;
      if (__builtin_mul_overflow(out.axes_[i].size - 1, out.axes_[i].stride, &part) ||
          __builtin_add_overflow(reach, part, &reach))
        return std::nullopt;
    }
    if (__builtin_mul_overflow(axis.size, axis.stride, &rows)) return std::nullopt;
    if (k + 1 == out.axes_.size()) {  // a slice
      if (offset < 0 || rows - axis.stride >= size - offset) return std::nullopt;
      break;
    }
    axis.start = std::min(offset, size - rows);
    if (axis.start < 0) return std::nullopt;
    offset -= axis.start;
    size = axis.stride;
    if (offset >= size - reach) return std::nullopt;
  }
  if (offset < 0 || offset >= size) return std::nullopt;
  out.rest_ = offset;
  return out;
}

size_t Strided::num_copies() const {
  size_t slices = 0;
  bool permutes = false, expands = false;
  int64_t size = size_;
  for (size_t k = 0; k + 1 < axes_.size(); ++k) {
    slices += axes_[k].size * axes_[k].stride != size;
    permutes |= axes_[k].at > axes_[k + 1].at;
    size = axes_[k].stride;
  }
  slices += (axes_.empty() ? 1 : axes_.back().size) != size;
  for (size_t i = 0; i < grid_.sizes.size(); ++i) expands |= grid_.strides[i] == 0 && grid_.sizes[i] > 1;
  return slices + permutes + expands;
}

Value* Strided::build(Builder& b, Value* x, size_t dim) const {
  const auto first = static_cast<int64_t>(dim);
  const Sizes before(x->sizes().begin(), x->sizes().begin() + first);
  const Sizes behind(x->sizes().begin() + first + 1, x->sizes().end());
  const auto with = [&](const std::vector<int64_t>& middle) {
    Sizes sizes = before;
    for (const int64_t size : middle) sizes.push_back(size);
    sizes.insert(sizes.end(), behind.begin(), behind.end());
    return sizes;
  };
  std::vector<int64_t> middle;
  for (size_t k = 0; k + 1 < axes_.size(); ++k) {
    const Axis& axis = axes_[k];
    x = b.slice(x, first + static_cast<int64_t>(k), axis.start, axis.start + axis.size * axis.stride);
    middle.push_back(axis.size);
    std::vector<int64_t> split = middle;
    split.push_back(axis.stride);
    x = b.reshape(x, with(split));
  }
  const int64_t last_dim = first + static_cast<int64_t>(middle.size());
  const Axis last = axes_.empty() ? Axis{0, 1, 1} : axes_.back();
  x = b.slice(x, last_dim, rest_, rest_ + (last.size - 1) * last.stride + 1, last.stride);
  std::vector<int64_t> order(x->rank());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::vector<size_t> sorted(axes_.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::sort(sorted.begin(), sorted.end(), [&](size_t i, size_t j) { return axes_[i].at < axes_[j].at; });
  for (size_t i = 0; i < sorted.size(); ++i) order[dim + i] = first + static_cast<int64_t>(sorted[i]);
  if (!std::is_sorted(order.begin(), order.end())) x = b.permute(x, order);
  std::vector<int64_t> ones = grid_.sizes;
  for (size_t i = 0; i < ones.size(); ++i) {
    if (grid_.strides[i] == 0) ones[i] = 1;
  }
  return b.expand(b.reshape(x, with(ones)), with(grid_.sizes));
}

}  // namespace wick::compiler
