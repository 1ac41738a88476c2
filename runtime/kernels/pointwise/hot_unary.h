// The fast paths of a function of floats: loops built per instruction set, over dense f32 tensors at once or over the
// chunks of the elementwise engine. C++17, freestanding.
#pragma once
#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {

/// Runs `function` over `in` if both tensors are f32 and can have one layout; resizes `out`. False, with nothing done,
/// if the general path is needed.
bool hot_unary(KernelContext& context, const Tensor& in, Tensor& out,
               void (*function)(const float* in, float* out, int64_t count));

template <typename Rows>
void run_rows(const void* state, const void* const* inputs, void* out, int64_t count) {
  (*static_cast<const Rows*>(state))(static_cast<const float*>(inputs[0]), static_cast<float*>(out), count);
}

/// As float_unary(); in the f32 lane rows(in, out, count) computes a chunk, `out` may be `in`.
template <unsigned kLanes, typename Rows, typename F>
void float_unary_rows(KernelContext& context, const Operand& a, Tensor& out, const Rows& rows, const F& f) {
  const DType from = a.tensor->dtype, common = to_floating(from);
  Lane lane, unused;
  if (!lane_of_dtype(common, &lane) || lane != Lane::f32 || !lane_of_dtype(from, &unused) ||
      !can_cast(common, out.dtype)) {
    return float_unary<kLanes>(context, a, out, f);
  }
  run_elementwise(context, {&a, &lane, 1, &out, lane, run_rows<Rows>, &rows, nullptr});
}

/// float_unary_rows() with `map` as the rows.
template <unsigned kLanes, typename F>
void float_unary_map(KernelContext& context, const Operand& a, Tensor& out, HotKernels::Map map, const F& f) {
  if (hot_unary(context, *a.tensor, out, map)) return;
  float_unary_rows<kLanes>(
      context, a, out, [map](const float* in, float* to, int64_t count) { map(in, to, count); }, f);
}

/// The chunk function of a Map2; its state points at the Map2.
inline void run_map2(const void* state, const void* const* inputs, void* out, int64_t count) {
  (*static_cast<const HotKernels::Map2*>(state))(static_cast<const float*>(inputs[0]),
                                                 static_cast<const float*>(inputs[1]), static_cast<float*>(out), count);
}

}  // namespace kernels
}  // namespace wick
