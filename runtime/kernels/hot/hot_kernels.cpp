#include "runtime/kernels/hot/hot_kernels.h"

namespace wick {
namespace hot_baseline {
extern const HotKernels kKernels;
}
#ifdef WICK_HOT_X86
namespace hot_avx2 {
extern const HotKernels kKernels;
}
namespace hot_avx512 {
extern const HotKernels kKernels;
}
#endif

const HotKernels& hot(IsaLevel level) {
#ifdef WICK_HOT_X86
  if (level == IsaLevel::avx512) return hot_avx512::kKernels;
  if (level == IsaLevel::avx2) return hot_avx2::kKernels;
#endif
  (void)level;
  return hot_baseline::kKernels;
}

}  // namespace wick
