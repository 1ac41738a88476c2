// Writes kernels in which columns of a row depend on each other: running reductions and sorted rows. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// All expressions of a line, some of them null.
std::vector<ExpressionPtr*> parts_of(Line& line);

/// A scope for a loop over the columns of a row, in which the result of the kernel's reduction is known.
Scope scope_of_columns(Scope& row, const Loop& column, const char* indent);

KernelSource write_line(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_running(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_sorted(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_merged(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_block_call(LoweredGraph& graph, const LoopKernel& kernel);

}  // namespace wick::cuda
