#include "wick/cortex_m_backend.h"

namespace wick {
namespace cortex_m {
#define KERNEL(name, signature, function) void function(KernelContext&, Span<EValue*>);
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
}  // namespace cortex_m

namespace {
constexpr Kernel kRows[] = {
#define KERNEL(name, signature, function) {name, signature, cortex_m::function},
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
};
}  // namespace

KernelTable cortex_m_kernels() { return KernelTable(kRows); }

}  // namespace wick
