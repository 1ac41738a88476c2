// Attention as a kernel: by tiles of queries, or query by query. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

/// The loops over the rows of an attention kernel: those that keys or values depend on count independent problems, the
/// others are the queries of each, those of several heads if they share their keys.
struct AttentionLoops {
  std::vector<Loop> batch, queries;
  DType factors = DType::f32;  // bf16 or f16 if matrix instructions take queries, keys and values
  bool causal = false;         // query number m sees the keys up to m / per_position
  Sym per_position = 1;
  AttentionFacts facts;
};
AttentionLoops find_attention_loops(const LoopKernel& kernel);

/// The result of a row that sees no key.
const char* empty_row_text(const LoopKernel& kernel);

KernelSource write_attention(LoweredGraph& graph, const LoopKernel& kernel);
KernelSource write_attention_of_query(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule);

}  // namespace wick::cuda
