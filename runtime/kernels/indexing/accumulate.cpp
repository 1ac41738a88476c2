#include "runtime/kernels/indexing/accumulate.h"

namespace wick {
namespace kernels {

void accumulate_view(KernelContext& context, DType dtype, const View& dst, const View& src) {
  const int64_t count = dst.numel();
  const int last = dst.rank - 1;
  const int64_t inner = dst.rank == 0 ? 1 : dst.sizes[last];
  const int64_t to_step = dst.rank == 0 ? 0 : dst.strides[last], from_step = dst.rank == 0 ? 0 : src.strides[last];
  auto add = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; i += inner) {
      int64_t rest = i / inner;
      T* to = reinterpret_cast<T*>(dst.data);
      const T* from = reinterpret_cast<const T*>(src.data);
      for (int d = last - 1; d >= 0; --d) {
        const int64_t at = rest % dst.sizes[d];
        rest /= dst.sizes[d];
        to += at * dst.strides[d];
        from += at * src.strides[d];
      }
      for (int64_t k = 0; k < inner; ++k, to += to_step, from += from_step) *to = add_elements<T>(*to, *from);
    }
  };
  if (!dispatch_real(dtype, add) && !dispatch_complex(dtype, add)) {
    context.fail(Error::InvalidType, "this dtype cannot be accumulated");
  }
}

}  // namespace kernels
}  // namespace wick
