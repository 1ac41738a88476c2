// Kernels whose columns depend on each other: running reductions and sorted rows. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// The expressions of a line, null ones among them.
std::vector<ExpressionPtr*> parts_of(Line& line);

/// A loop over the columns of a row, which has what the kernel's reduction gives.
Scope scope_of_columns(Scope& row, const Loop& column, const char* indent);

KernelSource write_line(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_running(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_sorted(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_merged(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_block_call(LoweredGraph& graph, const LoopKernel& kernel);

}  // namespace wick::cuda
