// Tensors from numbers: full, arange, linspace, eye ..
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

bool resize_to(KernelContext& context, Tensor& out, Span<const int64_t> sizes) {
  return require(context, sizes.size() <= kMaxRank, "the result has more than 16 dimensions") &&
         resize_out(context, out, sizes.data(), static_cast<int>(sizes.size()));
}

/// Writes `value`, converted, to every element.
void fill_with(KernelContext& context, Tensor& out, const EValue& value) {
  uint64_t element[2];
  scalar_to_element(value, out.dtype, element);
  fill_view(context, dtype_size_bytes(out.dtype), view_of(out), element);
}

constexpr DType dtype_of(int64_t) { return DType::i64; }
constexpr DType dtype_of(double) { return DType::f64; }
constexpr DType dtype_of(float) { return DType::f32; }

/// element(i), an int64, double or float, converted, at each position of a rank-1 tensor.
template <typename F>
void generate(KernelContext& context, Tensor& out, int64_t count, const F& element) {
  const View dst = view_of(out);
  const size_t size = dtype_size_bytes(out.dtype);
  context.parallel_for(count, 1 << 14, [&](int64_t begin, int64_t end) {
    decltype(element(int64_t{0})) values[64] = {};
    const DType dtype = dtype_of(values[0]);
    for (int64_t i = begin; i < end; i += 64) {
      const int64_t n = end - i < 64 ? end - i : 64;
      for (int64_t k = 0; k < n; ++k) values[k] = element(i + k);
      convert_elements(dst.data + i * dst.strides[0] * static_cast<int64_t>(size), out.dtype, dst.strides[0], values,
                       dtype, 1, n);
    }
  });
}

}  // namespace

void full_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[2]->tensor;
  if (resize_to(context, out, args[0]->ints())) fill_with(context, out, *args[1]);
}
void full_like_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[3]->tensor;
  if (resize_like(context, out, *args[0]->tensor)) fill_with(context, out, *args[1]);
}
void fill_scalar_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[2]->tensor;
  if (!require_dtype(context, out, args[0]->tensor->dtype, "out has a different dtype than the input")) return;
  if (resize_like(context, out, *args[0]->tensor)) fill_with(context, out, *args[1]);
}
void fill_tensor_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& value = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!require(context, value.rank == 0 && value.numel == 1, "the fill value must be a scalar tensor")) return;
  if (!require_dtype(context, out, args[0]->tensor->dtype, "out has a different dtype than the input")) return;
  uint64_t element[2];
  convert_elements(element, out.dtype, 1, value.data, value.dtype, 1, 1);
  if (resize_like(context, out, *args[0]->tensor))
    fill_view(context, dtype_size_bytes(out.dtype), view_of(out), element);
}
void zeros_out(KernelContext& context, Span<EValue*> args) {
  if (resize_to(context, *args[1]->tensor, args[0]->ints())) fill_with(context, *args[1]->tensor, EValue::of_int(0));
}
void ones_out(KernelContext& context, Span<EValue*> args) {
  if (resize_to(context, *args[1]->tensor, args[0]->ints())) fill_with(context, *args[1]->tensor, EValue::of_int(1));
}
void zeros_like_out(KernelContext& context, Span<EValue*> args) {
  if (resize_like(context, *args[2]->tensor, *args[0]->tensor)) fill_with(context, *args[2]->tensor, EValue::of_int(0));
}
void ones_like_out(KernelContext& context, Span<EValue*> args) {
  if (resize_like(context, *args[2]->tensor, *args[0]->tensor)) fill_with(context, *args[2]->tensor, EValue::of_int(1));
}
void empty_out(KernelContext& context, Span<EValue*> args) { resize_to(context, *args[2]->tensor, args[0]->ints()); }
void empty_like_out(KernelContext& context, Span<EValue*> args) {
  resize_like(context, *args[2]->tensor, *args[0]->tensor);
}

void scalar_tensor_out(KernelContext& context, Span<EValue*> args) {
  if (resize_to(context, *args[1]->tensor, {})) fill_with(context, *args[1]->tensor, *args[0]);
}

namespace {

void arange(KernelContext& context, const EValue& start, const EValue& end, const EValue& step, Tensor& out) {
  const bool whole = start.tag != Tag::real && end.tag != Tag::real && step.tag != Tag::real;
  if (is_integral(out.dtype) && whole) {
    const int64_t first = start.to_int(), last = end.to_int(), by = step.to_int();
    if (!require(context, by != 0 && (by > 0 ? first <= last : first >= last),
                 "arange has a step of 0 or of the wrong sign"))
      return;
    const uint64_t distance = by > 0 ? static_cast<uint64_t>(last) - static_cast<uint64_t>(first)
                                     : static_cast<uint64_t>(first) - static_cast<uint64_t>(last);
    const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : 0 - static_cast<uint64_t>(by);
    const uint64_t count = distance / stride + (distance % stride != 0);
    if (!require(context, count <= INT32_MAX, "arange is too long")) return;
    const int64_t size = static_cast<int64_t>(count);
    if (!resize_out(context, out, &size, 1)) return;
    generate(context, out, size, [&](int64_t i) {
      return static_cast<int64_t>(static_cast<uint64_t>(first) + static_cast<uint64_t>(by) * static_cast<uint64_t>(i));
    });
    return;
  }
  const double first = start.to_double(), last = end.to_double(), by = step.to_double();
  const bool finite = first - first == 0 && last - last == 0;
  if (!require(context, finite && (by > 0 ? first <= last : by < 0 && first >= last),
               "arange has bad bounds or a bad step"))
    return;
  const double ratio = (last - first) / by;
  if (!require(context, ratio < INT32_MAX, "arange is too long")) return;
  int64_t size = static_cast<int64_t>(ratio);
  if (static_cast<double>(size) < ratio) ++size;
  if (!resize_out(context, out, &size, 1)) return;
  if (is_integral(out.dtype)) {
    const int64_t base = start.to_int(), increment = step.to_int();
    generate(context, out, size, [&](int64_t i) {
      return static_cast<int64_t>(static_cast<uint64_t>(base) +
                                  static_cast<uint64_t>(increment) * static_cast<uint64_t>(i));
    });
  } else if (out.dtype == DType::f32) {
    // Eager computes in double and rounds once.
    generate(context, out, size, [&](int64_t i) { return static_cast<float>(first + by * static_cast<double>(i)); });
  } else {
    generate(context, out, size, [&](int64_t i) { return first + by * static_cast<double>(i); });
  }
}

}  // namespace

void arange_out(KernelContext& context, Span<EValue*> args) {
  arange(context, EValue::of_int(0), *args[0], EValue::of_int(1), *args[1]->tensor);
}
void arange_start_out(KernelContext& context, Span<EValue*> args) {
  arange(context, *args[0], *args[1], *args[2], *args[3]->tensor);
}

/// The second half counts down from the end, so that the result is symmetric and hits `end` exactly.
void linspace_out(KernelContext& context, Span<EValue*> args) {
  const int64_t steps = args[2]->integer;
  Tensor& out = *args[3]->tensor;
  if (!resize_out(context, out, &steps, 1) || steps == 0) return;
  const int64_t half = steps / 2;
  const double first = args[0]->to_double(), last = args[1]->to_double();
  if (out.dtype == DType::f64 || is_integral(out.dtype)) {
    const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
    generate(context, out, steps, [&](int64_t i) {
      return steps == 1 || i < half ? first + step * static_cast<double>(i)
                                    : last - step * static_cast<double>(steps - i - 1);
    });
    return;
  }
  const float from = static_cast<float>(first), to = static_cast<float>(last);
  const float step = steps > 1 ? (to - from) / static_cast<float>(steps - 1) : 0;
  generate(context, out, steps, [&](int64_t i) {
    return steps == 1 || i < half ? from + step * static_cast<float>(i) : to - step * static_cast<float>(steps - i - 1);
  });
}

namespace {
void eye(KernelContext& context, int64_t rows, int64_t columns, Tensor& out) {
  const int64_t sizes[2] = {rows, columns};
  if (!resize_out(context, out, sizes, 2)) return;
  fill_with(context, out, EValue::of_int(0));
  View diagonal = view_of(out);
  diagonal.sizes[0] = rows < columns ? rows : columns;
  diagonal.strides[0] += diagonal.strides[1];
  diagonal.erase(1);
  uint64_t one[2];
  scalar_to_element(EValue::of_int(1), out.dtype, one);
  fill_view(context, dtype_size_bytes(out.dtype), diagonal, one);
}
}  // namespace

void eye_out(KernelContext& context, Span<EValue*> args) {
  eye(context, args[0]->integer, args[0]->integer, *args[1]->tensor);
}
void eye_m_out(KernelContext& context, Span<EValue*> args) {
  eye(context, args[0]->integer, args[1]->integer, *args[2]->tensor);
}

}  // namespace kernels
}  // namespace wick
