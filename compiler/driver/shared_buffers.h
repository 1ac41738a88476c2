// Mutable buffers of one name in several methods are one buffer, if delegates hold them.
#pragma once
#include <string>
#include <vector>

#include "compiler/partition/buffers/held_buffers.h"

namespace wick::compiler {

/// What the methods of a program agree on, for targets that hold buffers. All methods must see a buffer in the same
/// memory: delegates hold it in each of them or in none.
class SharedBuffers {
 public:
  /// A buffer that one method changes is a buffer in the methods that only read it, too, no constant: changes
  /// `functions` so. Where a method declares another dtype, shape or initial value, its buffer is its own; notes of the
  /// function say so.
  explicit SharedBuffers(std::vector<Function>& functions);

  const BufferRules& rules_of(size_t function) const { return rules_[function]; }
  /// Looks at what the partitions of all methods held. True if some of it must not be held: then the partitions are to
  /// be made again.
  bool disagree(const std::vector<std::vector<BufferPlace>>& places);

 private:
  std::vector<std::string> methods_;
  std::vector<BufferRules> rules_;
};

}  // namespace wick::compiler
