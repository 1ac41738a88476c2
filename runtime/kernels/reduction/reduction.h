// Reductions over any set of dimensions, any dim order. A kernel gives a State: what one output element remembers while
// the elements it reduces go by in chunks. C++17, freestanding.
#pragma once
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/elementwise_convert.h"

namespace wick {
namespace kernels {

using Args = Span<EValue*>;

/// The dimensions to reduce, as a mask, from an int list, int or None. None and an empty list mean all.
/// False, with the context failed (InvalidArgument), if one is out of range or named twice.
bool reduced_dims(KernelContext& context, const EValue& dims, int rank, uint32_t* mask);

/// The input as rows of kept and reduced elements.
struct ReductionPlan {
  static constexpr int kColumns = 16;

  const uint8_t* data;
  size_t element_bytes;
  int64_t outputs = 1;  // kept elements
  int64_t reduced = 1;  // elements per output
  int kept_rank = 0;    // the last kept dimension is the one closest in memory
  int64_t kept_sizes[kMaxRank];
  int64_t kept_strides[kMaxRank];
  int kept_dims[kMaxRank];  // of the input
  int reduced_rank = 0;
  int64_t reduced_sizes[kMaxRank];
  int64_t reduced_strides[kMaxRank];
  int out_dims[kMaxRank];  // out dimension of an input dimension, or -1

  int64_t columns() const { return kept_rank == 0 ? 1 : kept_sizes[kept_rank - 1]; }
  int64_t blocks_per_row() const { return (columns() + kColumns - 1) / kColumns; }
  /// Work items: kColumns neighbours of the last kept dimension each.
  int64_t blocks() const { return outputs == 0 ? 0 : outputs / columns() * blocks_per_row(); }
  /// Input offset of a kept element (its number in plan order), and its place in `out`.
  int64_t input_offset(int64_t output) const;
  int64_t out_offset(int64_t output, const Tensor& out) const;
  /// Loads reduced elements [begin, begin + count) of the output at `offset`.
  void load(LoadFn load, size_t lane_bytes, int64_t offset, int64_t begin, int64_t count, void* to) const;
};

/// Resizes out (and out2 if not null) to the reduced shape and fills the plan. With `ordered`, reduced elements go by
/// in logical order; without it, in memory order. False with the context failed otherwise.
bool plan_reduction(KernelContext& context, const Tensor& in, uint32_t mask, bool keepdim, bool ordered, Tensor& out,
                    Tensor* out2, ReductionPlan* plan);

/// For each output: a copy of `init` takes all its elements by fold(const T* chunk, int64_t count), then
/// finish(output number, state). T is a lane's type. Fails with InvalidType if the input has no conversion to T.
template <typename T, typename State, typename Finish>
void reduce(KernelContext& context, const ReductionPlan& plan, DType dtype, const State& init, Finish finish) {
  const LoadFn load = load_function(dtype, LaneOf<T>::value);
  if (!load) return context.fail(Error::InvalidType, "input dtype is not supported here");
  const int64_t work = plan.reduced < 1 ? 1 : plan.reduced * ReductionPlan::kColumns;
  context.parallel_for(plan.blocks(), work > 32768 ? 1 : 32768 / work + 1, [&](int64_t begin, int64_t end) {
    T buffer[kChunk];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block / plan.blocks_per_row(),
                    first = block % plan.blocks_per_row() * ReductionPlan::kColumns;
      const int64_t left = plan.columns() - first;
      const int64_t columns = left < ReductionPlan::kColumns ? left : ReductionPlan::kColumns;
      State states[ReductionPlan::kColumns];
      int64_t offsets[ReductionPlan::kColumns];
      for (int64_t c = 0; c < columns; ++c) {
        states[c] = init;
        offsets[c] = plan.input_offset(row * plan.columns() + first + c);
      }
      for (int64_t r = 0; r < plan.reduced; r += kChunk) {
        const int64_t n = plan.reduced - r < kChunk ? plan.reduced - r : kChunk;
        for (int64_t c = 0; c < columns; ++c) {
          plan.load(load, sizeof(T), offsets[c], r, n, buffer);
          states[c].fold(buffer, n);
        }
      }
      for (int64_t c = 0; c < columns; ++c) finish(row * plan.columns() + first + c, states[c]);
    }
  });
}

/// Stores one value of a lane's type at its place in out.
template <typename T>
struct Writer {
  const ReductionPlan* plan;
  Tensor* out;
  StoreFn store;
  Writer(KernelContext& context, const ReductionPlan& p, Tensor& o)
      : plan(&p), out(&o), store(store_function(LaneOf<T>::value, o.dtype)) {
    if (!store) context.fail(Error::InvalidType, "the result type cannot be cast to the out tensor's dtype");
  }
  void operator()(int64_t output, const T& value) const {
    const int64_t at = plan->out_offset(output, *out) * static_cast<int64_t>(dtype_size_bytes(out->dtype));
    store(&value, out->as<uint8_t>() + at, 1);
  }
};

}  // namespace kernels
}  // namespace wick
