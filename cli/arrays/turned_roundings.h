// What roundings of quantized values that could go either way do to a program's results.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/program/node_trace.h"

namespace wick::cli {

/// Two correct programs may turn different roundings: what is allowed between them, of the deviation that all turned
/// together cause.
constexpr double kTurnedBothWays = 2;

/// Between finite elements of arrays of one type; 0 for others.
double largest_difference(const NamedArray& a, const NamedArray& b);

/// Does the program quantize anything while it runs?
bool quantizes(const MethodMeta& method);

/// A tracer for one run of the program that `plain` recorded: turns every rounding that a correct program could have
/// turned, and notes how far each result then is from the recorded one.
/// An element is turned to the other neighbour where x / scale lies so near the middle between two that sums in another
/// order, or a bias rounded to the accumulator's scale, could: within 1/128 of a step for scales fixed at compile
/// time, 1/1024 for scales chosen by rows; anywhere for one scale chosen for a whole tensor, since backends choose by
/// rows.
class RoundingTurner {
 public:
  explicit RoundingTurner(const NodeRecorder& plain) : plain_(plain), tracer_{ignore, turn, this} {}
  RoundingTurner(const RoundingTurner&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method) { method_ = method; }

  uint64_t num_quantized() const { return num_quantized_; }  // tensors that were quantized
  /// Largest difference of result `index` with this key; 0 for unknown ones.
  double deviation(const NodeKey& key, size_t index) const;

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void turn(void* state, const InstructionInfo& instruction, Error error);

  const NodeRecorder& plain_;
  Tracer tracer_;
  std::optional<MethodMeta> method_;
  uint64_t num_quantized_ = 0;
  std::map<NodeKey, std::vector<double>> deviations_;
};

}  // namespace wick::cli
