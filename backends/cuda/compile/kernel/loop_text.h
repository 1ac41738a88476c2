// Writes loop kernels as text in the vocabulary of kernels. C++20.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/compile/kernel/schedule.h"
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// One parameter of a kernel.
struct KernelParameter {
  enum class Kind : uint8_t { buffer, size, status, counters, check } kind = Kind::buffer;
  uint32_t buffer = 0;  // check: its number, passed as i64
  bool writes = false;
  std::string size;  // the symbol, passed as i64
};

/// A kernel as text. Kernels that do the same have the same text, except for their name.
struct KernelSource {
  std::string label;  // made of its operators, for names: "linear_relu"
  std::string parameters_text, body;
  Schedule schedule;  // all threads of a block are along x
  Sym counters = 0;   // u32 numbers that are 0 when the kernel begins and when it ends
  uint32_t dynamic_shared_bytes = 0;
  bool has_barriers = false;
  std::vector<KernelParameter> parameters;
  std::array<Sym, 3> grid = {Sym(1), Sym(1), Sym(1)};
};

/// The number of iterations of nested loops: the product of their extents.
Sym extent_of(const std::vector<Loop>& loops);
/// Its upper bound.
int64_t max_extent(const std::vector<Loop>& loops);
/// Merges neighbouring loops if every index of the kernel treats them as one loop.
void merge_loops(LoweredGraph& graph, LoopKernel& kernel);

/// Chooses a schedule for the kernel and writes it.
KernelSource write_kernel(LoweredGraph& graph, const LoopKernel& kernel);
/// One text for a kernel and those beside it. Each block chooses its kernel by the block's number.
KernelSource write_beside(LoweredGraph& graph, const LoopKernel& kernel);
/// A map that stores along one loop and loads along another (a transpose), by squares. Nothing if it is none, or small.
std::optional<KernelSource> write_turned(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_unrolled(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);
KernelSource write_strands(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);
KernelSource write_loops(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);

/// Whether neighbours along a loop are adjacent in memory.
bool steps_by_one(ExpressionPtr offset, const Loop& loop);
/// Whether an element is computed from a load that steps by one along the loop.
bool is_contiguous_along(ExpressionPtr element, const Loop& loop);
/// The difference between the expression at variable + 1 and at variable. Throws Failure(limit).
Sym step_of(const Sym& sym, const Sym& variable);

/// An integer expression in C, with the names that its symbols have in the kernel.
std::string index_text(const Sym& sym, const std::map<std::string, std::string, std::less<>>& names);

}  // namespace wick::cuda
