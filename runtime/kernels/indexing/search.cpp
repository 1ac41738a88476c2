// Positions and counts of values: searchsorted, bucketize, histc, bincount.
#include <string.h>

#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// Row-major copy of a real tensor as double or int64 in temp.
template <typename T>
const T* copy_as(KernelContext& context, const Tensor& tensor, DType dtype) {
  T* copy = context.allocate_temp_array<T>(tensor.numel);
  const View src = view_of(tensor);
  if (copy) convert_view(context, contiguous_view(copy, src.sizes, src.rank), dtype, src, tensor.dtype);
  return copy;
}

/// The number of sequence elements less than `value`, or not greater if `right`. NaN is greater than all others.
template <typename T>
int64_t position_of(const T* sequence, const int64_t* order, int64_t length, T value, bool right) {
  int64_t low = 0, high = length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const T at = sequence[order ? order[middle] : middle];
    const bool stop = right ? at > value : at >= value;
    high = stop ? middle : high;  // no branch: it could not be predicted
    low = stop ? low : middle + 1;
  }
  return low;
}

struct Search {
  const Tensor* boundaries;
  const Tensor* sorter;
  bool int32;
  bool right;
};

/// values: `count` row-major elements. Elements in row r search row r, if the sequence has several rows.
template <typename T>
void search(KernelContext& context, const Search& s, const T* sequence, const T* values, int64_t count, int64_t each,
            Tensor& out) {
  const int64_t length = s.boundaries->sizes[s.boundaries->rank - 1];
  const bool many = s.boundaries->rank > 1;
  const int64_t* order = s.sorter ? copy_as<int64_t>(context, *s.sorter, DType::i64) : nullptr;
  void* target = contiguous_target(context, out);
  if (!target || !context.ok()) return;
  for (int64_t i = 0; order && i < static_cast<int64_t>(s.sorter->numel); ++i) {
    if (!require(context, order[i] >= 0 && order[i] < length, "the sorter has an index out of range")) return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t base = many ? i / each * length : 0;
    const int64_t position = position_of(sequence + base, order ? order + base : nullptr, length, values[i], s.right);
    if (s.int32) {
      static_cast<int32_t*>(target)[i] = static_cast<int32_t>(position);
    } else {
      static_cast<int64_t*>(target)[i] = position;
    }
  }
  store_contiguous(context, out, target);
}

bool check_search(KernelContext& context, const Search& s, const Tensor& out) {
  if (!require_real(context, *s.boundaries, "the sequence must be real")) return false;
  if (!require(context, s.boundaries->rank > 0, "the sequence needs a dimension")) return false;
  if (!require_dtype(context, out, s.int32 ? DType::i32 : DType::i64, "out must be i64, or i32 with out_int32"))
    return false;
  if (!s.sorter) return true;
  bool same = s.sorter->rank == s.boundaries->rank && is_index_dtype(s.sorter->dtype);
  for (int d = 0; same && d < s.sorter->rank; ++d) same = s.sorter->sizes[d] == s.boundaries->sizes[d];
  return require(context, same, "the sorter must be an index for each element of the sequence");
}

void search_tensor(KernelContext& context, const Search& s, const Tensor& values, Tensor& out) {
  if (!check_search(context, s, out) || !require_real(context, values, "the values must be real")) return;
  const View shape = view_of(values);
  bool fits = s.boundaries->rank == 1 || s.boundaries->rank == shape.rank;
  for (int d = 0; fits && s.boundaries->rank > 1 && d + 1 < shape.rank; ++d)
    fits = s.boundaries->sizes[d] == shape.sizes[d];
  if (!require(context, fits, "the values do not have the leading sizes of the sequence")) return;
  const int64_t count = static_cast<int64_t>(values.numel);
  const int64_t each = shape.rank > 0 ? shape.sizes[shape.rank - 1] : 1;
  if (is_floating(values.dtype) || is_floating(s.boundaries->dtype)) {
    const double* sequence = copy_as<double>(context, *s.boundaries, DType::f64);
    const double* wanted = copy_as<double>(context, values, DType::f64);
    if (!sequence || !wanted || !resize_out(context, out, shape.sizes, shape.rank)) return;
    search(context, s, sequence, wanted, count, each, out);
  } else {
    const int64_t* sequence = copy_as<int64_t>(context, *s.boundaries, DType::i64);
    const int64_t* wanted = copy_as<int64_t>(context, values, DType::i64);
    if (!sequence || !wanted || !resize_out(context, out, shape.sizes, shape.rank)) return;
    search(context, s, sequence, wanted, count, each, out);
  }
}

void search_scalar(KernelContext& context, const Search& s, const EValue& value, Tensor& out) {
  if (!check_search(context, s, out) || !require(context, s.boundaries->rank == 1, "a number is searched in a vector"))
    return;
  const double* sequence = copy_as<double>(context, *s.boundaries, DType::f64);
  const double wanted = value.to_double();
  if (!sequence || !resize_out(context, out, nullptr, 0)) return;
  search(context, s, sequence, &wanted, 1, 1, out);
}

bool read_search(KernelContext& context, Span<EValue*> args, Search* s) {
  *s = {args[0]->tensor, args[5]->is_none() ? nullptr : args[5]->tensor, args[2]->boolean, args[3]->boolean};
  if (args[4]->is_none()) return true;
  const bool right = args[4]->string.size == 5 && memcmp(args[4]->string.data, "right", 5) == 0;
  const bool left = args[4]->string.size == 4 && memcmp(args[4]->string.data, "left", 4) == 0;
  if (!require(context, right || left, "side is neither left nor right")) return false;
  if (!require(context, right || !s->right, "side and right disagree")) return false;
  s->right = right;
  return true;
}

}  // namespace

void searchsorted_tensor_out(KernelContext& context, Span<EValue*> args) {
  Search s;
  if (read_search(context, args, &s)) search_tensor(context, s, *args[1]->tensor, *args[6]->tensor);
}
void searchsorted_scalar_out(KernelContext& context, Span<EValue*> args) {
  Search s;
  if (read_search(context, args, &s)) search_scalar(context, s, *args[1], *args[6]->tensor);
}
void bucketize_tensor_out(KernelContext& context, Span<EValue*> args) {
  if (!require(context, args[1]->tensor->rank == 1, "boundaries must be a vector")) return;
  search_tensor(context, {args[1]->tensor, nullptr, args[2]->boolean, args[3]->boolean}, *args[0]->tensor,
                *args[4]->tensor);
}
void bucketize_scalar_out(KernelContext& context, Span<EValue*> args) {
  search_scalar(context, {args[1]->tensor, nullptr, args[2]->boolean, args[3]->boolean}, *args[0], *args[4]->tensor);
}

/// The bin of a value of [low, high], or -1: as in eager, each step is rounded to the dtype.
template <typename T>
int64_t bin_of(double value, double low, double high, int64_t bins) {
  const T x = static_cast<T>(value), least = static_cast<T>(low), most = static_cast<T>(high);
  if (!(x >= least && x <= most)) return -1;
  const T scaled = static_cast<T>(static_cast<T>(x - least) * static_cast<T>(bins));
  const int64_t bin = static_cast<int64_t>(static_cast<T>(scaled / static_cast<T>(most - least)));
  return bin < bins ? bin : bins - 1;
}

/// Counts in equal bins over [min, max], the last one closed. min = max means the range of the values. NaN is not
/// counted.
void histc_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const int64_t bins = args[1]->integer;
  Tensor& out = *args[4]->tensor;
  const int64_t count = static_cast<int64_t>(self.numel);
  double low = args[2]->to_double(), high = args[3]->to_double();
  if (!require_real(context, self, "only real values are counted")) return;
  if (!require(context, bins > 0 && bins <= INT32_MAX && low <= high, "bins must be positive and min at most max"))
    return;
  const double* values = copy_as<double>(context, self, DType::f64);
  double* counts = context.allocate_temp_array<double>(static_cast<size_t>(bins));
  if (!values || !counts) return;
  if (low == high && count > 0) {
    low = high = values[0];
    for (int64_t i = 0; i < count; ++i) {
      if (!require(context, math::is_finite(values[i]), "the range of the values is not finite")) return;
      low = values[i] < low ? values[i] : low;
      high = values[i] > high ? values[i] : high;
    }
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!require(context, math::is_finite(high - low), "the range from min to max is not finite")) return;
  for (int64_t b = 0; b < bins; ++b) counts[b] = 0;
  const auto count_all = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bin = bin_of<T>(values[i], low, high, bins);
      if (bin >= 0) counts[bin] += 1;
    }
  };
  if (!dispatch_floating(self.dtype, count_all)) count_all(0.0);
  if (!resize_out(context, out, &bins, 1)) return;
  convert_view(context, view_of(out), out.dtype, contiguous_view(counts, &bins, 1), DType::f64);
}

void bincount_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor* weights = args[1]->is_none() ? nullptr : args[1]->tensor;
  Tensor& out = *args[3]->tensor;
  const int64_t count = static_cast<int64_t>(self.numel);
  int64_t bins = args[2]->integer;
  if (!require(context, self.rank == 1 && (is_integral(self.dtype) || self.dtype == DType::boolean),
               "bincount takes a vector of integers"))
    return;
  if (!require(context, bins >= 0 && bins <= INT32_MAX, "minlength is negative or too large")) return;
  if (!require(context, !weights || (weights->rank == 1 && static_cast<int64_t>(weights->numel) == count),
               "there is not one weight for each value"))
    return;
  const int64_t* values = copy_as<int64_t>(context, self, DType::i64);
  const double* amounts = weights ? copy_as<double>(context, *weights, DType::f64) : nullptr;
  if (!values || !context.ok()) return;
  for (int64_t i = 0; i < count; ++i) {
    if (!require(context, values[i] >= 0 && values[i] < INT32_MAX, "a value is negative or too large")) return;
    if (values[i] >= bins) bins = values[i] + 1;
  }
  if (!resize_out(context, out, &bins, 1)) return;
  double* sums = context.allocate_temp_array<double>(static_cast<size_t>(bins));
  if (!sums) return;
  for (int64_t b = 0; b < bins; ++b) sums[b] = 0;
  for (int64_t i = 0; i < count; ++i) sums[values[i]] += amounts ? amounts[i] : 1;
  convert_view(context, view_of(out), out.dtype, contiguous_view(sums, &bins, 1), DType::f64);
}

}  // namespace kernels
}  // namespace wick
