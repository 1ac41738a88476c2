// Which elements lie side by side in memory, so that one instruction moves several. C++20.
#pragma once
#include <optional>

#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// How an integer expression grows over the values n * count .. n * count + count - 1 of a loop variable, for any n:
/// the first one, plus `step` for each.
struct Run {
  Sym first;  // in terms of the fresh symbol that stands for n
  int64_t step = 0;
};
/// Nothing if it does not grow evenly. `graph` gets the fresh symbol's range.
std::optional<Run> run_of(LoweredGraph& graph, const Sym& sym, const Loop& loop, uint32_t count);

/// Whether an index is a multiple of the divisor; not all that are ones are found.
bool is_multiple(int64_t divisor, const Sym& sym);
bool is_multiple(int64_t divisor, ExpressionPtr index);

/// Whether `count` neighbours along the innermost of these loops, in groups from 0 on, never reach into another value
/// of an outer loop or beyond the end.
bool groups_fit(const std::vector<Loop>& loops, uint32_t count);

/// What a load is to a group of `count` neighbours along a loop.
enum class Access : uint8_t {
  one,        // all read the same element
  vector,     // they read neighbours, from a multiple of `count` elements on
  scattered,  // anything else
};
/// Buffers begin at multiples of 16 bytes.
Access access_of(LoweredGraph& graph, ExpressionPtr load, const Loop& loop, uint32_t count);
/// Whether the offset of a store makes it a vector, and its guard holds for all of the group or for none.
bool stores_vector(LoweredGraph& graph, const Store& store, const Loop& loop, uint32_t count);

/// The most elements, 1 to 16, that each thread may take at once along the innermost of `loops`, so that all that the
/// kernel stores per value of that loop is a vector, and all that it loads a vector or the same element. At most
/// `most`. 1 for kernels that read what they write.
uint32_t vector_of(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                   const std::vector<Store>& stores, uint32_t most);
/// The same, at most 16, where loads of `apart` are not counted.
uint32_t vector_of_others(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                          const std::vector<Store>& stores, const std::vector<ExpressionPtr>& apart);
bool reads_what_it_writes(const LoopKernel& kernel);
/// The same where the kernel's sums are known: of what stores alone read.
uint32_t vector_of_stores(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                          const std::vector<Store>& stores, uint32_t most);
/// The same of what these expressions read.
uint32_t vector_of_loads(LoweredGraph& graph, std::vector<ExpressionPtr> roots, const std::vector<Loop>& loops,
                         uint32_t most);

}  // namespace wick::cuda
