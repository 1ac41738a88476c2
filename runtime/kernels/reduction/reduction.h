// Reductions over any set of dimensions, any dim order. A kernel gives a State, which holds the intermediate result of
// one output element and takes its elements in chunks. C++17, freestanding.
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
  static constexpr int kRowColumns = 64;

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

  /// Whether adjacent kept elements are adjacent in memory, and adjacent reduced ones are not.
  bool rows_are_dense() const {
    return kept_rank > 0 && kept_strides[kept_rank - 1] == 1 && columns() > 1 && reduced > 1 && reduced < INT32_MAX &&
           reduced_strides[reduced_rank - 1] != 1;
  }
  int64_t columns() const { return kept_rank == 0 ? 1 : kept_sizes[kept_rank - 1]; }
  int64_t blocks_per_row() const { return (columns() + kColumns - 1) / kColumns; }
  /// Work items: kColumns adjacent elements of the last kept dimension each.
  int64_t blocks() const { return outputs == 0 ? 0 : outputs / columns() * blocks_per_row(); }
  /// The input offset of a kept element (by its number in plan order), and its place in `out`.
  int64_t input_offset(int64_t output) const;
  int64_t out_offset(int64_t output, const Tensor& out) const;
  /// Loads reduced elements [begin, begin + count) of the output at `offset`.
  void load(LoadFn load, size_t lane_bytes, int64_t offset, int64_t begin, int64_t count, void* to) const;
};

/// Resizes out (and out2 if not null) to the reduced shape and fills the plan. With `ordered`, reduced elements come in
/// logical order; without it, in memory order. False, with the context failed, on error.
bool plan_reduction(KernelContext& context, const Tensor& in, uint32_t mask, bool keepdim, bool ordered, Tensor& out,
                    Tensor* out2, ReductionPlan* plan);

/// Walks the reduced elements of a plan in order.
class ReducedCursor {
 public:
  explicit ReducedCursor(const ReductionPlan& plan) : plan_(plan) {}
  int64_t offset() const { return offset_; }
  void next() {
    for (int k = plan_.reduced_rank; k-- > 0;) {
      offset_ += plan_.reduced_strides[k];
      if (++index_[k] < plan_.reduced_sizes[k]) return;
      offset_ -= index_[k] * plan_.reduced_strides[k];
      index_[k] = 0;
    }
  }

 private:
  const ReductionPlan& plan_;
  int64_t offset_ = 0;
  int64_t index_[kMaxRank] = {};
};

/// reduce() for dense rows: State::Columns takes rows of kRowColumns outputs at once and gives the State of each
/// output.
template <typename T, typename State, typename Finish>
void reduce_rows(KernelContext& context, const ReductionPlan& plan, LoadFn load, bool in_place, const State& init,
                 Finish finish) {
  constexpr int64_t kWidth = ReductionPlan::kRowColumns;
  const int64_t per_row = (plan.columns() + kWidth - 1) / kWidth, items = plan.outputs / plan.columns() * per_row;
  const int64_t work = plan.reduced * kWidth;
  context.parallel_for(items, work > 32768 ? 1 : 32768 / work + 1, [&](int64_t begin, int64_t end) {
    T buffer[kWidth] = {};
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item / per_row * plan.columns() + item % per_row * kWidth;
      const int64_t left = plan.columns() - item % per_row * kWidth, columns = left < kWidth ? left : kWidth;
      const int64_t base = plan.input_offset(first);
      typename State::Columns states(init);
      ReducedCursor cursor(plan);
      for (int64_t r = 0; r < plan.reduced; ++r, cursor.next()) {
        const uint8_t* at = plan.data + (base + cursor.offset()) * static_cast<int64_t>(plan.element_bytes);
        if (in_place && columns == kWidth) {
          states.row(reinterpret_cast<const T*>(at));
        } else {
          load(at, 1, buffer, columns);
          states.row(buffer);
        }
      }
      for (int64_t c = 0; c < columns; ++c) finish(first + c, states.column(c));
    }
  });
}

template <typename State, typename = void>
struct HasColumns : std::false_type {};
template <typename State>
struct HasColumns<State, std::void_t<typename State::Columns>> : std::true_type {};

/// Elements that are converted at a time: kChunk, or State::kConverted where the result does not depend on it.
template <typename State, typename = void>
struct ConvertedAtATime {
  static constexpr int64_t count = kChunk;
};
template <typename State>
struct ConvertedAtATime<State, std::void_t<decltype(State::kConverted)>> {
  static constexpr int64_t count = State::kConverted;
};

/// For each output: a copy of `init` takes all its elements by fold(const T* chunk, int64_t count), then
/// finish(output number, state). A State with Columns takes whole rows where they are dense. T is a lane's type. Fails
/// with InvalidType if the input has no conversion to T.
template <typename T, typename State, typename Finish>
void reduce(KernelContext& context, const ReductionPlan& plan, DType dtype, const State& init, Finish finish) {
  const LoadFn load = load_function(dtype, LaneOf<T>::value);
  if (!load) return context.fail(Error::InvalidType, "input dtype is not supported here");
  if constexpr (HasColumns<State>::value) {
    if (plan.rows_are_dense() && State::Columns::takes(init))
      return reduce_rows<T>(context, plan, load, is_lane_dtype(dtype, LaneOf<T>::value), init, finish);
  }
  const int64_t work = plan.reduced < 1 ? 1 : plan.reduced * ReductionPlan::kColumns;
  const bool in_place =
      is_lane_dtype(dtype, LaneOf<T>::value) && plan.reduced_rank == 1 && plan.reduced_strides[0] == 1;
  context.parallel_for(plan.blocks(), work > 32768 ? 1 : 32768 / work + 1, [&](int64_t begin, int64_t end) {
    T buffer[ConvertedAtATime<State>::count];
    const int64_t chunk = in_place ? kChunk : ConvertedAtATime<State>::count;
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
      for (int64_t r = 0; r < plan.reduced; r += chunk) {
        const int64_t n = plan.reduced - r < chunk ? plan.reduced - r : chunk;
        for (int64_t c = 0; c < columns; ++c) {
          if (in_place) {
            states[c].fold(reinterpret_cast<const T*>(plan.data) + offsets[c] + r, n);
          } else {
            plan.load(load, sizeof(T), offsets[c], r, n, buffer);
            states[c].fold(buffer, n);
          }
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
