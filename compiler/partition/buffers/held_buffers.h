// Which mutable buffers of a graph its delegates keep, and which delegate changes each.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/partition/dependences.h"
#include "compiler/partition/target.h"

namespace wick::compiler {

/// Where a mutable buffer of a graph is kept.
struct BufferPlace {
  std::string name;  // in the model
  uint64_t size_bytes = 0;
  std::string backend;  // whose delegates hold it; "" = it is memory of the program
  std::string reason;   // of the latter, if there are delegates of a backend that could hold it
};

/// A buffer that delegates hold.
struct HeldBuffer {
  Value* state = nullptr;
  std::string name;       // in delegates
  Value* next = nullptr;  // its new value; null: it stays what it is
  uint32_t unit = 0;      // the last delegate that uses it: the one that changes it
};

/// The units of a graph, and which of them become delegates of the target.
struct UnitsOfNodes {
  const NodeIndex& index;
  const std::vector<uint32_t>& unit;   // by node; kNoGroup: none
  const std::vector<uint32_t>& order;  // in which all nodes run
};

/// A buffer is held if the target can hold it, all nodes that read it lie in delegates, and one of these computes its
/// new value, or that is a constant or an input of the graph. It is changed by the last of all that read it or compute
/// its new value. `places` gets a row for each state that is used. A buffer that no delegate has a part in belongs to
/// unit `new_unit`, which has no nodes.
std::vector<HeldBuffer> find_held_buffers(const Graph& graph, const Target& target, const TargetContext& context,
                                          const UnitsOfNodes& units, uint32_t new_unit,
                                          std::vector<BufferPlace>& places);

}  // namespace wick::compiler
