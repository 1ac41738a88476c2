// The kernels that the digits model needs, in place of the table of all portable kernels: nothing else is linked.
#include "wick/portable_kernels.h"

namespace wick {
namespace kernels {
void convolution(KernelContext&, Span<EValue*>);
void linear(KernelContext&, Span<EValue*>);
void addmm(KernelContext&, Span<EValue*>);
void max_pool2d_with_indices(KernelContext&, Span<EValue*>);
void relu_out(KernelContext&, Span<EValue*>);
void view_copy_out(KernelContext&, Span<EValue*>);
void permute_copy_out(KernelContext&, Span<EValue*>);
}  // namespace kernels

namespace {
constexpr Kernel kRows[] = {
    {"aten::convolution.out", "TTtIIIbIio", kernels::convolution},
    {"aten::linear.out", "TTto", kernels::linear},
    {"aten::addmm.out", "TTTsso", kernels::addmm},
    {"aten::max_pool2d_with_indices.out", "TIIIIboo", kernels::max_pool2d_with_indices},
    {"aten::relu.out", "To", kernels::relu_out},
    {"aten::view_copy.out", "TIo", kernels::view_copy_out},
    {"aten::permute_copy.out", "TIo", kernels::permute_copy_out},
};
}  // namespace

KernelTable portable_kernels() { return KernelTable(kRows); }

}  // namespace wick
