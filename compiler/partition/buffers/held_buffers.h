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
  std::string backend;  // target whose delegates hold it; "" = it lies in memory of the program
  std::string reason;   // why it is not held, if the backend can hold buffers
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

/// A buffer is held if the target can hold it, all nodes that read it lie in delegates, and its new value is computed
/// in a delegate or is a constant or an input of the graph. The last delegate that reads the buffer or computes its new
/// value changes it. A buffer that no delegate reads or computes belongs to the delegate that runs last or, if there is
/// none, to unit `new_unit`, which has no nodes. `places` gets a row for each state that is used.
std::vector<HeldBuffer> find_held_buffers(const Graph& graph, const Target& target, const TargetContext& context,
                                          const UnitsOfNodes& units, uint32_t new_unit,
                                          std::vector<BufferPlace>& places);

}  // namespace wick::compiler
