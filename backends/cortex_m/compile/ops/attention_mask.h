// Attention masks as the kernel takes them: int32 words in units of scores, or bytes. C++20.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backends/cortex_m/compile/refusal.h"
#include "compiler/ir/builder.h"

namespace wick::cortex_m {

/// The scores of one attention, [batch, queries, keys]: the real number that a score of 1 stands for (`unit`), and the
/// largest magnitude of a score (`most`).
struct AttentionScores {
  int64_t batch = 1, queries = 1, keys = 1;
  double unit = 1, most = 1;
};

/// A mask, which is added to scores, as the kernel takes it (kernels/attention/reference.cpp).
struct AttentionMaskElements {
  int64_t batch = 1, rows = 1;      // of [batch, rows, keys]; 1 if the mask is the same for all
  int64_t bits = 0;                 // words count units of 2^-bits of a score
  std::vector<int32_t> words = {};  // empty: none
  std::vector<uint8_t> seen = {};   // instead of words, if every number is 0 or -inf: 1 for keys that are seen
  bool computed = false;            // a boolean mask that is no constant
};

/// Reads the node's mask, if it has one. Returns why the kernel cannot take it, or "".
Refusal read_attention_mask(const compiler::Node& node, const AttentionScores& scores, AttentionMaskElements* mask);

/// The mask as an operand of the kernel, or null if there is none. Requires: read_attention_mask takes it.
compiler::Value* attention_mask(compiler::Builder& builder, const compiler::Node& node, const AttentionScores& scores,
                                const AttentionMaskElements& mask);

}  // namespace wick::cortex_m
