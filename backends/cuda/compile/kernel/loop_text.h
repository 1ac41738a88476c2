// Loop kernels as text in the vocabulary of kernels. C++20.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/compile/kernel/schedule.h"
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// What a kernel is called with.
struct KernelParameter {
  enum class Kind : uint8_t { buffer, size, status, counters, check } kind = Kind::buffer;
  uint32_t buffer = 0;  // check: its number, passed as i64
  bool writes = false;
  std::string size;  // the symbol, passed as i64
};

/// A kernel as text. Kernels that do the same have the same text but for their name.
struct KernelSource {
  std::string label;  // what it does, for names: "linear_relu"
  std::string parameters_text, body;
  Schedule schedule;  // its threads are all in x
  Sym counters = 0;   // u32 numbers that are 0 when the kernel begins and when it ends
  uint32_t dynamic_shared_bytes = 0;
  bool has_barriers = false;
  std::vector<KernelParameter> parameters;
  std::array<Sym, 3> grid = {Sym(1), Sym(1), Sym(1)};
};

/// How often they run, together.
Sym extent_of(const std::vector<Loop>& loops);
/// The same at most.
int64_t max_extent(const std::vector<Loop>& loops);
/// Merges neighbouring loops that every offset walks through as one.
void merge_loops(LoweredGraph& graph, LoopKernel& kernel);

/// The kernel as text, by the schedule that suits it.
KernelSource write_kernel(LoweredGraph& graph, const LoopKernel& kernel);
/// One text for a kernel and those beside it: blocks choose by their number.
KernelSource write_beside(LoweredGraph& graph, const LoopKernel& kernel);
/// A map that stores along one loop and loads along another, if it is one and is large.
std::optional<KernelSource> write_turned(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_unrolled(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);
KernelSource write_strands(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);
KernelSource write_loops(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);

/// Whether neighbours along a loop are neighbours in memory.
bool steps_by_one(ExpressionPtr offset, const Loop& loop);
/// Whether an element, through conversions, lies beside the one of the next loop value in memory.
bool walks_along(ExpressionPtr element, const Loop& loop);
/// How an expression grows with a loop variable. Throws Failure(limit).
Sym step_of(const Sym& sym, const Sym& variable);

/// An integer expression in C, with the names that its symbols have in the kernel.
std::string index_text(const Sym& sym, const std::map<std::string, std::string, std::less<>>& names);

}  // namespace wick::cuda
