// Records the results of every instruction of one run, and finds the first one where another run deviates.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/arrays/array_compare.h"
#include "cli/program/program_session.h"
#include "wick/method.h"

namespace wick::cli {

/// The key by which results of two programs are matched: source line, module, type and operator ("" = any: an output of
/// a delegate). Results with the same key are distinguished by value, because passes may reorder them.
using NodeKey = std::tuple<std::string, std::string, std::string, std::string>;

struct Deviation {
  std::string op, source, module;
  uint32_t instruction = 0;
  Difference difference;
  bool by_value = false;  // nearest of all values that the model quantizes to this type; the node's own may be missing
};

struct OutputRow {
  std::string name;
  Difference difference;
};

struct Comparison {
  std::vector<OutputRow> outputs;
  uint64_t nodes_compared = 0;
  std::optional<Deviation> deviation;
  bool passes_to_blame = false;  // the program agrees with the model compiled with all passes, but not without them
  bool exact = false;            // a deviation of an instruction counts as well
  bool ok() const { return !(exact && deviation) && outputs_ok(); }
  bool outputs_ok() const {
    for (const OutputRow& row : outputs) {
      if (!row.difference.ok()) return false;
    }
    return true;
  }
};

/// Keeps what each kernel writes, up to `max_bytes`.
class NodeRecorder {
 public:
  explicit NodeRecorder(uint64_t max_bytes) : max_bytes_(max_bytes), tracer_{ignore, record, this} {}
  NodeRecorder(const NodeRecorder&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method) { method_ = method; }
  bool is_complete() const { return complete_; }
  /// Result number `index` with this key, or null.
  const NamedArray* result(const NodeKey& key, size_t index) const;

 private:
  friend class NodeComparer;
  static void ignore(void*, const InstructionInfo&) {}
  static void record(void* state, const InstructionInfo& instruction, Error error);

  uint64_t max_bytes_, bytes_ = 0;
  bool complete_ = true;
  std::optional<MethodMeta> method_;
  Tracer tracer_;
  std::map<NodeKey, std::vector<NamedArray>> results_;
  std::map<NodeKey, size_t> counts_;  // all results, including those that are not kept
};

/// Calls fn(key, array) for each tensor that a kernel wrote.
void for_each_result(const MethodMeta& method, const InstructionInfo& instruction,
                     const std::function<void(const NodeKey&, NamedArray)>& fn);
/// Its elements, row-major, without a name.
NamedArray to_array(const Tensor& tensor);

class RoundingFlipper;

/// Compares each result of a run, including those of delegates, with the results that a recorder kept for the same key.
/// A kernel that computes elements from elements has no such result if the recorded program quantizes and dequantizes
/// instead. Its elements are compared, in steps, with all values of the same type that were quantized there.
class NodeComparer {
 public:
  /// `flipper`, if not null, ran the program that `wanted` recorded.
  NodeComparer(const NodeRecorder& wanted, const RoundingFlipper* flipper, const Tolerance& tolerance)
      : wanted_(wanted), flipper_(flipper), tolerance_(tolerance), tracer_{ignore, compare, this} {}
  NodeComparer(const NodeComparer&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  void watch(const MethodMeta& method);

  uint64_t num_compared() const { return num_compared_; }
  /// Must be called after the run. A result of a kernel deviates only if both runs have as many results with its key:
  /// otherwise one of the programs has a node that the other lacks, and it is unknown which. `by_value`: include
  /// deviations that were found by value.
  std::optional<Deviation> first_deviation(bool by_value = true) const;

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void compare(void* state, const InstructionInfo& instruction, Error error);
  void compare_result(const InstructionInfo& instruction, const NodeKey& key, const NamedArray& array);
  std::optional<Difference> nearest_of_key(const NodeKey& key, const NamedArray& array) const;
  std::optional<Difference> nearest_quantized(const std::string& type, const NamedArray& array) const;
  size_t count_wanted(const NodeKey& key) const;

  const NodeRecorder& wanted_;
  const RoundingFlipper* flipper_;
  Tolerance tolerance_;
  std::optional<MethodMeta> method_;
  std::vector<DelegateFacts> delegates_;
  Tracer tracer_;
  uint64_t num_compared_ = 0;
  std::map<NodeKey, size_t> counts_;
  std::vector<std::pair<NodeKey, Deviation>> deviations_;  // the first of each key, in order
  std::set<NodeKey> deviating_;
};

}  // namespace wick::cli
