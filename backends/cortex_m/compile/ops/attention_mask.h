// What masks of attention are for the kernel: words in units of scores, or bytes. C++20.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backends/cortex_m/compile/refusal.h"
#include "compiler/ir/builder.h"

namespace wick::cortex_m {

/// Scores of one attention: [batch, queries, keys]; the number that a score of 1 stands for; the largest score, either
/// way.
struct AttentionScores {
  int64_t batch = 1, queries = 1, keys = 1;
  double unit = 1, most = 1;
};

/// What is added to scores, as the kernel takes it (kernels/attention/reference.cpp).
struct AttentionMaskElements {
  int64_t batch = 1, rows = 1;      // of [batch, rows, keys]; 1 where all have the same
  int64_t bits = 0;                 // words count units of 2^-bits of a score
  std::vector<int32_t> words = {};  // empty: none
  std::vector<uint8_t> seen = {};   // in their place, if nothing is added to the score of a key that is seen
  bool computed = false;            // a boolean mask that is no constant
};

/// Reads the node's mask, which may be none. Returns why it is not taken, or "".
Refusal read_attention_mask(const compiler::Node& node, const AttentionScores& scores, AttentionMaskElements* mask);

/// The mask as an operand of the kernel, or null. Requires: it is taken.
compiler::Value* attention_mask(compiler::Builder& builder, const compiler::Node& node, const AttentionScores& scores,
                                const AttentionMaskElements& mask);

}  // namespace wick::cortex_m
