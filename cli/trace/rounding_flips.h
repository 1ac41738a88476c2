// How roundings of quantized values that could go either way affect a program's results.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/trace/node_trace.h"

namespace wick::cli {

/// Two correct programs may round different values the other way. The allowed difference between them is this factor
/// times the deviation that all such roundings together cause.
constexpr double kFlippedBothWays = 2;

/// The largest difference between finite elements of two arrays of the same type; 0 for different types.
double largest_difference(const NamedArray& a, const NamedArray& b);

/// Whether the program quantizes anything at run time.
bool quantizes(const MethodMeta& method);

/// A tracer for one run of the program that `plain` recorded. It rounds every value the other way that a correct
/// program could have rounded so, and records how far each result then is from the recorded one. That applies to an
/// element whose x / scale lies so near the middle between two values that a different order of additions, or a bias
/// rounded to the accumulator's scale, could flip it: within 1/128 of a step for scales fixed at compile time, and
/// 1/1024 for scales chosen per row. For one scale chosen at run time for a whole tensor it always applies, because
/// backends choose scales per row.
class RoundingFlipper {
 public:
  explicit RoundingFlipper(const NodeRecorder& plain) : plain_(plain), tracer_{ignore, flip, this} {}
  RoundingFlipper(const RoundingFlipper&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method) { method_ = method; }

  uint64_t num_quantized() const { return num_quantized_; }  // tensors that were quantized
  /// Largest difference of result `index` with this key; 0 for unknown ones.
  double deviation(const NodeKey& key, size_t index) const;

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void flip(void* state, const InstructionInfo& instruction, Error error);

  const NodeRecorder& plain_;
  Tracer tracer_;
  std::optional<MethodMeta> method_;
  uint64_t num_quantized_ = 0;
  std::map<NodeKey, std::vector<double>> deviations_;
};

}  // namespace wick::cli
