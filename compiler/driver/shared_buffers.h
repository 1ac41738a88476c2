// Which mutable buffers the methods of a program share.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/partition/buffers/held_buffers.h"
#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// Which buffers of one name, dtype, shape and initial value are one. Others never are.
struct StateSharing {
  enum class Rule : uint8_t {
    same_model,  // those of methods of one model: they have a parameter's name in common, and equal parameters under
                 // all such names
    all,
    none,
  } rule = Rule::same_model;
  std::vector<std::string> names;  // of buffers that are shared whatever the rule
};

/// The sharing that the methods of a program agree on. All methods that share a buffer must see it in the same memory:
/// delegates hold it in each of them or in none.
class SharedBuffers {
 public:
  /// A buffer that one method changes is a buffer in the methods that share it and only read it, too, no constant:
  /// changes `functions` so. Where a method has its own buffer of a name, notes of the function say so. Errors: usage,
  /// for a name of `sharing` whose buffers are not shared.
  static Result<SharedBuffers> find(std::vector<Function>& functions, const StateSharing& sharing);

  const BufferRules& rules_of(size_t function) const { return rules_[function]; }
  /// The buffers of a function that it shares, by name.
  const std::vector<SharedState>& shared_by(size_t function) const { return shared_[function]; }
  /// Looks at what the partitions of all methods held. True if some of it must not be held: then the partitions are to
  /// be made again.
  bool disagree(const std::vector<std::vector<BufferPlace>>& places);

 private:
  std::string memory_of(size_t function, const std::string& buffer) const;

  std::vector<std::string> methods_;
  std::vector<BufferRules> rules_;
  std::vector<std::vector<SharedState>> shared_;
};

}  // namespace wick::compiler
