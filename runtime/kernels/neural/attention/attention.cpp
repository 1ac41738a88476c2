// softmax(q k^T * scale + mask) v for each batch and head. A row whose keys are all masked, or that has none, gives 0.
// If the query has no columns, all scores are 0.
// A mask is added to the scores (bool: -inf where false), so that a score of NaN or +inf remains visible. is_causal
// instead drops the scores of later keys, whatever they are. The value of a key of weight 0 still counts as 0 * value,
// which is NaN if the value is not finite. But under is_causal, blocks of keys that a block of rows cannot see are
// skipped, as in eager, whose blocks have other sizes.   Source: wick::sdpa, Wick's own operator; meaning of
// aten::scaled_dot_product_attention with dropout 0.
#include "common/math/math.h"
#include "runtime/kernels/neural/attention/attention_blocks.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace kernels {
namespace {

bool read_mask(KernelContext& context, const Tensor& mask, const Tensor& query, Attention& a) {
  const int rank = query.rank;
  const bool dtype = mask.dtype == DType::boolean || mask.dtype == DType::f32;
  if (!require(context, dtype && mask.rank <= rank, Error::InvalidArgument,
               "attention: mask must be bool or f32 and broadcast to the scores"))
    return false;
  a.mask.data = mask.numel != 0 ? mask.data : nullptr;
  a.mask.dtype = mask.dtype;
  for (int d = 0; d < mask.rank; ++d) {
    const int to = rank - mask.rank + d;
    const int64_t size = to == rank - 1 ? a.keys : query.sizes[to];
    if (!require(context, mask.sizes[d] == size || mask.sizes[d] == 1, Error::InvalidArgument,
                 "attention: mask does not broadcast to the scores"))
      return false;
    const int64_t stride = mask.sizes[d] == 1 ? 0 : mask.strides[d];
    (to == rank - 1 ? a.mask.column_stride : to == rank - 2 ? a.mask.row_stride : a.mask.head_strides[to]) = stride;
  }
  return true;
}

void read_matrices(const Tensor& tensor, HeadMatrices& out) {
  out.data = tensor.data;
  out.dtype = tensor.dtype;
  for (int d = 0; d + 2 < tensor.rank; ++d) out.head_strides[d] = tensor.strides[d];
  out.row_stride = tensor.strides[tensor.rank - 2];
}

bool read_shapes(KernelContext& context, const Tensor& q, const Tensor& k, const Tensor& v, bool grouped,
                 Attention& a) {
  const char* const message =
      "attention: wanted query [.., l, e], key [.., s, e], value [.., s, f] with equal leading sizes";
  const int rank = q.rank;
  if (!require(context,
               rank >= 2 && k.rank == rank && v.rank == rank && q.sizes[rank - 1] == k.sizes[rank - 1] &&
                   k.sizes[rank - 2] == v.sizes[rank - 2],
               Error::InvalidArgument, message))
    return false;
  a.lead = rank - 2;
  for (int d = 0; d + 2 < rank; ++d) {
    if (grouped && d == rank - 3 && k.sizes[d] > 0 && q.sizes[d] % k.sizes[d] == 0) a.group = q.sizes[d] / k.sizes[d];
    const bool fits = q.sizes[d] == k.sizes[d] * (d == rank - 3 ? a.group : 1) && k.sizes[d] == v.sizes[d];
    if (!require(context, fits, Error::InvalidArgument, message)) return false;
    a.lead_sizes[d] = q.sizes[d];
  }
  a.queries = q.sizes[rank - 2];
  a.keys = k.sizes[rank - 2];
  a.width = q.sizes[rank - 1];
  a.value_width = v.sizes[rank - 1];
  return true;
}

}  // namespace

void sdpa(KernelContext& context, Span<EValue*> args) {
  const Tensor &q = *args[0]->tensor, &k = *args[1]->tensor, &v = *args[2]->tensor;
  Tensor& out = *args[8]->tensor;
  Attention a;
  if (!require(context, args[4]->real == 0, Error::NotSupported, "attention: dropout must be 0") ||
      !read_shapes(context, q, k, v, args[7]->boolean, a) ||
      (!args[3]->is_none() && !read_mask(context, *args[3]->tensor, q, a)))
    return;
  const bool types = q.dtype == DType::f32 && k.dtype == DType::f32 && v.dtype == DType::f32 && out.dtype == DType::f32;
  if (!require(context, types, Error::InvalidType, "attention: wanted f32")) return;
  int32_t sizes[kMaxRank];
  for (int d = 0; d < q.rank; ++d) sizes[d] = q.sizes[d];
  sizes[q.rank - 1] = static_cast<int32_t>(a.value_width);
  if (!resize_or_fail(context, out, sizes, q.rank, "attention: out has a different shape") || out.numel == 0) return;
  const bool row_major = is_contiguous(q) && is_contiguous(k) && is_contiguous(v) && is_contiguous(out);
  if (!require(context, row_major, Error::NotSupported, "attention: query, key, value and out must be row-major"))
    return;
  read_matrices(q, a.query);
  read_matrices(k, a.key);
  read_matrices(v, a.value);
  HeadMatrices results;
  read_matrices(out, results);
  a.out = out.data;
  for (int d = 0; d < a.lead; ++d) a.out_head_strides[d] = results.head_strides[d];
  a.out_row_stride = results.row_stride;
  a.causal = args[5]->boolean;
  a.scale = a.width == 0         ? 1.0f  // empty sums need no scale
            : args[6]->is_none() ? 1.0f / math::sqrt(static_cast<float>(a.width))
                                 : static_cast<float>(args[6]->real);
  attend(context, a);
}

}  // namespace kernels
}  // namespace wick
