#include "runtime/kernels/portable_table.h"

namespace wick {
namespace kernels {
#define KERNEL(name, signature, function) void function(KernelContext&, Span<EValue*>);
#include "runtime/kernels/kernel_list.inc"
#undef KERNEL
}  // namespace kernels

namespace {
constexpr Kernel kRows[] = {
#define KERNEL(name, signature, function) {name, signature, kernels::function},
#include "runtime/kernels/kernel_list.inc"
#undef KERNEL
};
}  // namespace

KernelTable portable_kernels() { return KernelTable(kRows); }

}  // namespace wick
