// Finds elements that are adjacent in memory, so that one instruction moves several. C++20.
#pragma once
#include <optional>

#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// The values of an integer expression while a loop variable takes the values n * count .. n * count + count - 1, for
/// any n: `first` for the first of them, `step` more for each next one.
struct Run {
  Sym first;  // in terms of a fresh symbol that stands for n
  int64_t step = 0;
};
/// Nothing if the differences are not constant. Adds the range of the fresh symbol to `graph`.
std::optional<Run> run_of(LoweredGraph& graph, const Sym& sym, const Loop& loop, uint32_t count);

/// Whether an index is a multiple of the divisor. May return false for one that is.
bool is_multiple(int64_t divisor, const Sym& sym);
bool is_multiple(int64_t divisor, ExpressionPtr index);

/// Whether aligned groups of `count` iterations of the innermost loop divide it evenly, so that no group extends into
/// the next iteration of an outer loop or beyond the end.
bool groups_fit(const std::vector<Loop>& loops, uint32_t count);

/// How a load reads memory over a group of `count` neighbours along a loop.
enum class Access : uint8_t {
  one,        // all read the same element
  vector,     // they read `count` adjacent elements, the first at a multiple of `count`
  scattered,  // anything else
};
/// Relies on buffers that begin at multiples of 16 bytes.
Access access_of(LoweredGraph& graph, ExpressionPtr load, const Loop& loop, uint32_t count);
/// Whether a store over a group is one vector store, and its guard is the same for the whole group.
bool stores_vector(LoweredGraph& graph, const Store& store, const Loop& loop, uint32_t count);

/// The most elements, 1 to `most`, at most 16, that a thread may take at once along the innermost of `loops`: each of
/// `stores`, which run once per iteration of that loop, must be a vector store, and each load a vector or the same
/// element for all. 1 for kernels that read what they write.
uint32_t vector_of(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                   const std::vector<Store>& stores, uint32_t most);
/// The same, at most 16, without regard to the loads in `apart`.
uint32_t vector_of_others(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                          const std::vector<Store>& stores, const std::vector<ExpressionPtr>& apart);
bool reads_what_it_writes(const LoopKernel& kernel);
/// The same for code after the kernel's reductions: only loads of the stores matter.
uint32_t vector_of_stores(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                          const std::vector<Store>& stores, uint32_t most);
/// The same for the loads of these expressions alone.
uint32_t vector_of_loads(LoweredGraph& graph, std::vector<ExpressionPtr> roots, const std::vector<Loop>& loops,
                         uint32_t most);

}  // namespace wick::cuda
