// Measures how rounding flips of quantized values affect a program's results.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/trace/node_trace.h"
#include "compiler/analysis/rounding_limits.h"

namespace wick::cli {

/// Two correct programs may flip different roundings. The allowed difference between them is this factor times the
/// deviation that flips cause.
constexpr double kFlippedBothWays = 2;
/// All flips at once may cancel out, so each further run flips a random half of them, the same in each comparison.
constexpr uint64_t kFlippedRuns = 8;
/// Runs with large flips (all, then a random half), to see which elements flips reach. One run may miss some, because a
/// clamp can hide what was moved.
constexpr uint64_t kFarRuns = 2;

/// The largest difference between finite elements of two arrays of the same type; 0 for different types.
double largest_difference(const NamedArray& a, const NamedArray& b);

/// The largest difference of each element of a result from the plain run, over the runs with flips.
class TurnedElements {
 public:
  void add(const NamedArray& turned, const NamedArray& plain);
  /// Adds a run after RoundingFlipper::move_far(): only elements that differ in such a run depend on flips.
  void add_reached(const NamedArray& moved, const NamedArray& plain);
  /// How far two correct programs may be apart, element by element: twice its largest difference, plus twice the root
  /// mean square of all elements' differences, because a few runs may miss a flip that moves one of them; at most twice
  /// the largest of all. 0 for elements that no flip reaches.
  std::vector<double> allowed() const;
  /// The largest difference found of each element; empty: the results cannot be compared.
  const std::vector<double>& most() const { return most_; }

 private:
  std::vector<double> most_;
  std::vector<bool> reached_;  // empty: unknown
};

/// Whether the program quantizes anything at run time, by one operator or, as torchao does, by several.
bool quantizes(const MethodMeta& method);
/// Whether it rounds to integers in other ways than quantizing a tensor to a scale that the file states.
bool quantizes_otherwise(const MethodMeta& method);
/// Whether any of its tensors has elements of int16.
bool has_int16(const MethodMeta& method);
/// Names of its operators.
std::set<std::string> operators_of(const MethodMeta& method);
/// Whether an operator that is not among `known` reads or writes int16: a backend's operator, which may interpolate in
/// tables.
bool has_int16_beyond(const std::set<std::string>& known, const MethodMeta& method);

/// Seeded bits (splitmix64).
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed = 0) : state_(seed) {}
  bool next();

 private:
  uint64_t state_;
};

/// A tracer for runs of the program that `plain` recorded. It flips the roundings that a correct program may flip: all
/// in the first run, and a random half in each later one. It records the largest difference of each result from the
/// recorded one. A rounding is flipped if x / scale lies so near the middle between two values that a different order
/// of additions, or a bias rounded to the accumulator's scale, could flip it: within 1/128 of a step for scales fixed
/// at compile time (1/4 if a program may have 16-bit numbers where the model has floats, and for elements of int16 that
/// it may interpolate in a table), and within 1/1024 for scales chosen per row. With one scale chosen at run time for a
/// whole tensor every rounding is flipped, because backends choose scales per row.
class RoundingFlipper {
 public:
  explicit RoundingFlipper(const NodeRecorder& plain) : plain_(plain), tracer_{ignore, flip, this} {}
  RoundingFlipper(const RoundingFlipper&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// The program may keep floats between quantized values as numbers of 16 bits.
  void allow_int16() { fixed_margin_ = int16_margin_ = kInt16Margin; }
  /// Elements of int16 may be interpolated in tables.
  void allow_tables() { int16_margin_ = kInt16Margin; }
  /// From the next run on, moves flipped elements by a third of the range and records nothing: the elements that differ
  /// are those that flips reach.
  void move_far() {
    far_ = true;
    num_runs_ = 0;
  }
  /// Must be called before each run.
  void watch(const MethodMeta& method);

  uint64_t num_quantized() const { return num_quantized_; }  // tensors that were quantized
  /// Largest difference of result `index` with this key; 0 for unknown ones.
  double deviation(const NodeKey& key, size_t index) const;

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void flip(void* state, const InstructionInfo& instruction, Error error);

  static constexpr double kFixedMargin = compiler::kFloatError, kInt16Margin = compiler::kLineError;

  const NodeRecorder& plain_;
  double fixed_margin_ = kFixedMargin, int16_margin_ = kFixedMargin;  // for all elements but int16; for int16
  bool far_ = false;
  Tracer tracer_;
  std::optional<MethodMeta> method_;
  std::vector<std::vector<bool>> roundings_;  // by chain and instruction: it rounds numbers that become integers
  uint64_t num_quantized_ = 0, num_runs_ = 0;
  RandomBits bits_;
  std::map<NodeKey, size_t> counts_;  // results of this run
  std::map<NodeKey, std::vector<double>> deviations_;
};

}  // namespace wick::cli
