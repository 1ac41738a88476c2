#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/variants.h"

namespace wick::cortex_m {
namespace {
constexpr Kernel kReferenceRows[] = {
#define KERNEL(name, signature, function, ...) {name, signature, reference::function},
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
};
}  // namespace

KernelTable reference_kernels() { return KernelTable(kReferenceRows); }

}  // namespace wick::cortex_m
