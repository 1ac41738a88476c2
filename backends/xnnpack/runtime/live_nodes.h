// Which nodes of a payload have to be executed. C++17.
#pragma once
#include <vector>

#include "backends/xnnpack/payload/payload.h"

namespace wick::xnnpack {

/// Leaves out nodes that nothing reads, and copies that are not needed: their two values become one.
class LiveNodes {
 public:
  /// `dims` of every value, as check_payload works them out.
  LiveNodes(const Payload& payload, const std::vector<std::vector<uint32_t>>& dims);
  bool is_live(size_t node) const { return is_live_[node]; }
  /// The value whose memory `value` is.
  uint32_t representative(uint32_t value) const;
  /// Whether a live node reads `value`, which is a representative.
  bool is_read(uint32_t value) const { return is_read_[value]; }
  /// Whether a live node writes `value`, which is a representative.
  bool is_written(uint32_t value) const { return is_written_[value]; }

 private:
  void find_live(const Payload& payload);
  void spare_copies(const Payload& payload, const std::vector<std::vector<uint32_t>>& dims);

  std::vector<bool> is_live_;               // by node
  std::vector<bool> is_read_, is_written_;  // by value
  std::vector<uint32_t> alias_;             // by value
};

}  // namespace wick::xnnpack
