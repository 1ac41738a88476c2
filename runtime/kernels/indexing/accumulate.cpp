#include "runtime/kernels/indexing/accumulate.h"

namespace wick {
namespace kernels {

void accumulate_view(KernelContext& context, DType dtype, const View& dst, const View& src) {
  const int64_t count = dst.numel();
  auto add = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, to = 0, from = 0;
      for (int d = dst.rank - 1; d >= 0; --d) {
        const int64_t at = rest % dst.sizes[d];
        rest /= dst.sizes[d];
        to += at * dst.strides[d];
        from += at * src.strides[d];
      }
      T& sum = reinterpret_cast<T*>(dst.data)[to];
      sum = add_elements<T>(sum, reinterpret_cast<const T*>(src.data)[from]);
    }
  };
  if (!dispatch_real(dtype, add) && !dispatch_complex(dtype, add)) {
    context.fail(Error::InvalidType, "this dtype cannot be accumulated");
  }
}

}  // namespace kernels
}  // namespace wick
