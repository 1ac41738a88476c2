// Walks over the elements of tensors of rank 4 at most, in logical order, for any layouts. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

constexpr size_t kMaxMovedRank = 4;

/// Distances in elements for each dimension, aligned right: rank 4 with leading dimensions of size 1.
struct Steps {
  int64_t steps[kMaxMovedRank] = {0, 0, 0, 0};
};
struct Sizes {
  int64_t sizes[kMaxMovedRank] = {1, 1, 1, 1};
};

/// The sizes of a tensor of rank 4 at most.
Sizes sizes_of(const Tensor& tensor);
Steps steps_of(const Tensor& tensor);

/// Calls body(offset a, offset b, offset c) for each index below `sizes`, the last dimension fastest.
template <typename Body>
void for_each_position(const Sizes& sizes, const Steps& a, const Steps& b, const Steps& c, const Body& body) {
  const int64_t* n = sizes.sizes;
  for (int64_t i = 0; i < n[0]; ++i) {
    for (int64_t j = 0; j < n[1]; ++j) {
      for (int64_t k = 0; k < n[2]; ++k) {
        const auto at = [&](const Steps& s) { return i * s.steps[0] + j * s.steps[1] + k * s.steps[2]; };
        const int64_t base_a = at(a), base_b = at(b), base_c = at(c);
        for (int64_t l = 0; l < n[3]; ++l)
          body(base_a + l * a.steps[3], base_b + l * b.steps[3], base_c + l * c.steps[3]);
      }
    }
  }
}

/// Two operands that broadcast to an output as NumPy does, rank 4 at most.
struct Broadcast {
  Sizes sizes;  // of the output
  Steps a, b, to;

  /// Calls body(offset in a, in b, in the output) for each element of the output.
  template <typename Body>
  void for_each(const Body& body) const {
    for_each_position(sizes, a, b, to, body);
  }
};
/// Fails the context unless the output has the sizes of the broadcast operands.
bool read_broadcast(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Broadcast* broadcast);

/// A walk with as few and as long dimensions as the layouts allow; the innermost dimension in the memory of `to` is the
/// first.
struct RunPlan {
  int32_t sizes[kMaxMovedRank] = {1, 1, 1, 1};
  int32_t a[kMaxMovedRank] = {0, 0, 0, 0}, b[kMaxMovedRank] = {0, 0, 0, 0}, to[kMaxMovedRank] = {0, 0, 0, 0};
};
RunPlan plan_runs(const Sizes& sizes, const Steps& a, const Steps& b, const Steps& to);

/// Calls body(offset a, offset b, offset to) for each run of the first dimension, in the order of `to`.
template <typename Body>
void for_each_run(const RunPlan& runs, const Body& body) {
  if (runs.sizes[0] == 0) return;
  for (int32_t i = 0; i < runs.sizes[3]; ++i) {
    for (int32_t j = 0; j < runs.sizes[2]; ++j) {
      for (int32_t k = 0; k < runs.sizes[1]; ++k) {
        const auto at = [&](const int32_t* steps) { return i * steps[3] + j * steps[2] + k * steps[1]; };
        body(at(runs.a), at(runs.b), at(runs.to));
      }
    }
  }
}

}  // namespace wick::cortex_m
