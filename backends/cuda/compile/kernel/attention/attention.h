// Writes attention kernels: by tiles of queries, or query by query. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// The row loops of an attention kernel. `batch`: the loops that index keys or values; they count independent problems.
/// `queries`: all other row loops, also the loop over heads if heads share their keys.
struct AttentionLoops {
  std::vector<Loop> batch, queries;
  // bf16 or f16 if queries, keys and values have this dtype, so that matrix instructions take them
  DType factors = DType::f32;
  bool causal = false;  // query number m sees the keys up to number m / per_position
  Sym per_position = 1;
  AttentionFacts facts;
};
AttentionLoops find_attention_loops(const LoopKernel& kernel);

/// The text of the result of a row in which all keys are masked.
const char* empty_row_text(const LoopKernel& kernel);

KernelSource write_attention(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_attention_of_query(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);

}  // namespace wick::cuda
