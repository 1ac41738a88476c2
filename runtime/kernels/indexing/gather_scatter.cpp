// gather, scatter and scatter_reduce: one index per element along one dimension.
#include <string.h>

#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// Scalars count as one dimension of size 1.
View at_least_1d(View view) {
  if (view.rank == 0) view.insert(0, 1, 1);
  return view;
}

/// Walks an index tensor in logical order and calls body(target offset, other offset) for each element. In the target,
/// the index replaces the element's position in `dim`; in `other`, the position stays.
struct IndexWalk {
  View index;
  DType index_dtype;
  int dim;

  /// False (context failed) if the index, target and other shapes do not fit.
  bool init(KernelContext& context, const Tensor& index_tensor, int64_t asked_dim, const View& target,
            const View* other) {
    index = at_least_1d(view_of(index_tensor));
    index_dtype = index_tensor.dtype;
    if (!is_index_dtype(index_dtype)) {
      context.fail(Error::InvalidType, "the index tensor is neither i64 nor i32");
      return false;
    }
    if (!wrap_dim(context, asked_dim, target.rank, &dim)) return false;
    if (index_tensor.numel == 0) return true;
    if (!require(context, index.rank == target.rank && (!other || other->rank == index.rank),
                 "index and tensors differ in rank"))
      return false;
    for (int d = 0; d < index.rank; ++d) {
      const bool fits =
          (d == dim || index.sizes[d] <= target.sizes[d]) && (!other || index.sizes[d] <= other->sizes[d]);
      if (!require(context, fits, "the index is larger than a tensor it addresses")) return false;
    }
    return true;
  }

  /// In logical order. False (context failed) at the first index that is out of range.
  template <typename Body>
  bool run(KernelContext& context, const View& target, const View& other, const Body& body) const {
    return index_dtype == DType::i64 ? run_as<int64_t>(context, target, other, body)
                                     : run_as<int32_t>(context, target, other, body);
  }

 private:
  template <typename Index, typename Body>
  bool run_as(KernelContext& context, const View& target, const View& other, const Body& body) const {
    const int last = index.rank - 1;
    const int64_t length = index.sizes[last], rows = index.numel() / length, limit = target.sizes[dim];
    const int64_t step = index.strides[last], other_step = other.strides[last], scale = target.strides[dim];
    const int64_t target_step = last == dim ? 0 : target.strides[last];
    int64_t position[kMaxViewRank] = {};
    int64_t at = 0, to = 0, from = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const Index* values = reinterpret_cast<const Index*>(index.data) + at;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t value = static_cast<int64_t>(values[i * step]);
        if (!require(context, value >= 0 && value < limit, "index is out of range")) return false;
        body(to + i * target_step + value * scale, from + i * other_step);
      }
      for (int d = last - 1; d >= 0; --d) {
        const int64_t target_stride = d == dim ? 0 : target.strides[d];
        at += index.strides[d];
        to += target_stride;
        from += other.strides[d];
        if (++position[d] < index.sizes[d]) break;
        position[d] = 0;
        at -= index.sizes[d] * index.strides[d];
        to -= index.sizes[d] * target_stride;
        from -= index.sizes[d] * other.strides[d];
      }
    }
    return true;
  }
};

}  // namespace

void gather_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& index = *args[2]->tensor;
  Tensor& out = *args[4]->tensor;
  const View src = at_least_1d(view_of(self));
  const DType dtype = self.dtype;
  IndexWalk walk;
  if (!require_dtype(context, out, dtype, "out has a different dtype than self")) return;
  if (!walk.init(context, index, args[1]->integer, src, nullptr)) return;
  if (!resize_like(context, out, index) || out.numel == 0) return;
  const View dst = at_least_1d(view_of(out));
  if (!require(context, dst.rank == walk.index.rank && dst.numel() == walk.index.numel(), "out is the index tensor"))
    return;
  dispatch_size(dtype, [&](auto unit) {
    using T = decltype(unit);
    walk.run(context, src, dst, [&](int64_t from, int64_t to) {
      reinterpret_cast<T*>(dst.data)[to] = reinterpret_cast<const T*>(src.data)[from];
    });
  });
}

namespace {

enum class Reduction { replace, sum, product, mean, largest, smallest, unknown };

Reduction reduction_named(const EValue& text) {
  static constexpr struct {
    const char* name;
    Reduction reduction;
  } kNames[] = {{"sum", Reduction::sum},          {"add", Reduction::sum},   {"prod", Reduction::product},
                {"multiply", Reduction::product}, {"mean", Reduction::mean}, {"amax", Reduction::largest},
                {"amin", Reduction::smallest}};
  for (const auto& row : kNames) {
    if (strlen(row.name) == text.string.size && memcmp(row.name, text.string.data, text.string.size) == 0)
      return row.reduction;
  }
  return Reduction::unknown;
}

template <typename T>
T combine(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::replace: return b;
    case Reduction::product: return multiply_elements<T>(a, b);
    case Reduction::largest: return larger_element<T>(a, b);
    case Reduction::smallest: return smaller_element<T>(a, b);
    default: return add_elements<T>(a, b);
  }
}

/// sum / count; integers round down.
template <typename T>
T divide(T sum, int64_t count) {
  if constexpr (std::is_same<T, BoolElement>::value) {
    return sum;
  } else if constexpr (std::is_integral<T>::value) {
    if (static_cast<T>(-1) > T(0)) return static_cast<T>(static_cast<uint64_t>(sum) / static_cast<uint64_t>(count));
    const int64_t value = static_cast<int64_t>(sum);
    const int64_t quotient = value / count;
    return static_cast<T>(quotient - (value % count < 0));
  } else if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(sum) / static_cast<float>(count));
  } else {
    return sum / static_cast<T>(count);
  }
}

/// The work of scatters after out = self. `src` has the index's shape or more; a scalar source has strides 0.
template <typename T>
void scatter_into(KernelContext& context, const IndexWalk& walk, const View& dst, const View& src, Reduction reduction,
                  bool include_self) {
  T* data = reinterpret_cast<T*>(dst.data);
  const T* values = reinterpret_cast<const T*>(src.data);
  int32_t* hits = nullptr;  // per position of dst's memory; only where it matters
  if (!include_self || reduction == Reduction::mean) {
    const int64_t numel = dst.numel();
    hits = context.allocate_temp_array<int32_t>(static_cast<size_t>(numel));
    if (!hits) return;
    for (int64_t i = 0; i < numel; ++i) hits[i] = 0;
  }
  walk.run(context, dst, src, [&](int64_t to, int64_t from) {
    const bool first = hits && hits[to]++ == 0 && !include_self;
    data[to] = first ? values[from] : combine<T>(reduction, data[to], values[from]);
  });
  if (reduction != Reduction::mean || !context.ok()) return;
  for (int64_t i = 0; i < dst.numel(); ++i) {
    if (hits[i] > 0) data[i] = divide<T>(data[i], static_cast<int64_t>(hits[i]) + (include_self ? 1 : 0));
  }
}

void scatter(KernelContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src,
             const EValue* value, Reduction reduction, bool include_self, Tensor& out) {
  const DType dtype = self.dtype;
  const View before = view_of(self);
  uint64_t element[2];
  View source = at_least_1d(view_of(index));
  if (!require(context, reduction != Reduction::unknown, "reduce is not sum, prod, mean, amax or amin")) return;
  if (src) {
    if (!require_dtype(context, *src, dtype, "src has a different dtype than self")) return;
    source = at_least_1d(view_of(*src));
  } else if (value) {
    scalar_to_element(*value, dtype, element);
    source.data = reinterpret_cast<uint8_t*>(element);
    for (int d = 0; d < source.rank; ++d) source.strides[d] = 0;
  }
  IndexWalk walk;
  if (!walk.init(context, index, dim, at_least_1d(before), &source)) return;
  store_view(context, before, dtype, out);
  if (!context.ok() || out.numel == 0 || index.numel == 0) return;
  const View dst = at_least_1d(view_of(out));
  if (!walk.init(context, index, dim, dst, src ? &source : nullptr)) return;
  auto run = [&](auto zero) { scatter_into<decltype(zero)>(context, walk, dst, source, reduction, include_self); };
  if (reduction == Reduction::replace) {
    dispatch_size(dtype, [&](auto unit) {
      using T = decltype(unit);
      walk.run(context, dst, source, [&](int64_t to, int64_t from) {
        reinterpret_cast<T*>(dst.data)[to] = reinterpret_cast<const T*>(source.data)[from];
      });
    });
  } else if (!dispatch_real(dtype, run)) {
    context.fail(Error::InvalidType, "this dtype cannot be reduced");
  }
}

}  // namespace

void scatter_src_out(KernelContext& context, Span<EValue*> args) {
  scatter(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, args[3]->tensor, nullptr, Reduction::replace,
          true, *args[4]->tensor);
}
void scatter_value_out(KernelContext& context, Span<EValue*> args) {
  scatter(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, nullptr, args[3], Reduction::replace, true,
          *args[4]->tensor);
}
void scatter_reduce_src_out(KernelContext& context, Span<EValue*> args) {
  scatter(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, args[3]->tensor, nullptr,
          reduction_named(*args[4]), true, *args[5]->tensor);
}
void scatter_reduce_value_out(KernelContext& context, Span<EValue*> args) {
  scatter(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, nullptr, args[3], reduction_named(*args[4]),
          true, *args[5]->tensor);
}
void scatter_add_out(KernelContext& context, Span<EValue*> args) {
  scatter(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, args[3]->tensor, nullptr, Reduction::sum, true,
          *args[4]->tensor);
}
void scatter_reduce_two_out(KernelContext& context, Span<EValue*> args) {
  scatter(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, args[3]->tensor, nullptr,
          reduction_named(*args[4]), args[5]->boolean, *args[6]->tensor);
}

}  // namespace kernels
}  // namespace wick
