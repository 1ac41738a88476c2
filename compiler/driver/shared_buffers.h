// Which mutable buffers the methods of a program share.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/partition/buffers/held_buffers.h"
#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// Which buffers of the same name, dtype, shape and initial value are shared. Others never are.
struct StateSharing {
  enum class Rule : uint8_t {
    same_model,  // those of methods of one model: methods with a common parameter name, and equal parameters under all
                 // common names
    all,
    none,
  } rule = Rule::same_model;
  std::vector<std::string> names;  // of buffers that are shared whatever the rule
};

/// The sharing that the methods of a program agree on. All methods that share a buffer must see it in the same memory:
/// delegates hold it in each of them or in none.
class SharedBuffers {
 public:
  /// Decides which buffers are shared. If one method changes a buffer, it becomes a state in `functions` also where a
  /// method shares it and only reads it, instead of a constant. If a method has its own buffer of a name, a note of the
  /// function says so. Errors: usage, for a name of `sharing` whose buffers are not shared.
  static Result<SharedBuffers> find(std::vector<Function>& functions, const StateSharing& sharing);

  const BufferRules& rules_of(size_t function) const { return rules_[function]; }
  /// The buffers of a function that it shares, by name.
  const std::vector<SharedState>& shared_by(size_t function) const { return shared_[function]; }
  /// Compares which buffers the partitions of all methods hold. True if some buffer must no longer be held: then all
  /// methods must be partitioned again.
  bool disagree(const std::vector<std::vector<BufferPlace>>& places);

 private:
  std::string memory_of(size_t function, const std::string& buffer) const;

  std::vector<std::string> methods_;
  std::vector<BufferRules> rules_;
  std::vector<std::vector<SharedState>> shared_;
};

}  // namespace wick::compiler
