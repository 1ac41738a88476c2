// Why the backend does not take a node. C++20.
#pragma once
#include <string>
#include <utility>

#include "compiler/partition/target.h"

namespace wick::cortex_m {

/// A reason: `found` says what was found and what is wanted, `help` what the user can do about it. Either both have
/// text, or both are empty and nothing is refused.
struct Refusal {
  std::string found, help;
  bool empty() const { return found.empty(); }
};

inline compiler::Verdict refused(Refusal refusal) {
  return compiler::Verdict::no(std::move(refusal.found), std::move(refusal.help));
}

inline compiler::Verdict verdict_of(Refusal refusal) {
  return refusal.empty() ? compiler::Verdict::yes() : refused(std::move(refusal));
}

// Help texts that several rules use.
inline constexpr char kQuantizeIt[] =
    "annotate it in the quantizer, per tensor with int8 or int16: a quantize and a dequantize node behind the operator "
    "that makes it";
inline constexpr char kNearerScale[] =
    "give its result a scale nearer to that of what it reads: calibrate both on inputs like the device's";
inline constexpr char kConstantWeights[] =
    "make it a parameter, or compute it of constants alone: the compiler then does that";
inline constexpr char kScalesOfOutputs[] = "quantize the weights per tensor, or per channel along their outputs";
inline constexpr char kSmallerSums[] = "split the layer along its inputs, and add the quantized parts";
inline constexpr char kFixedBatch[] = "export with a fixed batch";
inline constexpr char kFollowCause[] = "do what is said at that node";
inline constexpr char kProfileAuto[] = "compile with --profile auto, where an operator of Wick does it";

}  // namespace wick::cortex_m
