// The driver's graph of a plan, for one set of sizes. C++17.
#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/runtime/work.h"

namespace wick::cuda {

/// An executable graph of nodes that follow each other, none of them a condition or loop. It is made once; later calls
/// only change the addresses of arguments that have moved. Needs the device's context to be current.
class Graph {
 public:
  explicit Graph(Device& device) : device_(device) {}
  ~Graph();
  Graph(const Graph&) = delete;

  /// Makes the graph of nodes `begin` up to `end` of the current work: each waits for those of them that the plan says.
  Failure build(const Plan& plan, WorkList& work, size_t begin, size_t end);
  /// Begins the graph, with the arguments that `work` has now; all else must be as it was built.
  Failure start(WorkList& work, DriverStream* stream);

 private:
  DriverStatus add(const PlanNode& node, size_t index, WorkList& work);
  DriverStatus set(size_t index, WorkList& work);
  void note_arguments(const Plan& plan);
  bool take_addresses(const WorkList& work);

  Device& device_;
  DriverGraph* graph_ = nullptr;
  DriverGraphExec* exec_ = nullptr;
  size_t begin_ = 0;
  std::vector<DriverGraphNode*> nodes_;  // of the plan, from begin_ on
  std::vector<DriverGraphNode*> after_;  // of the node that is being added
  struct Moving {
    uint32_t buffer;
    DevicePtr address;
  };
  std::vector<Moving> arguments_;  // of the delegate, that nodes touch; where they lie, as the graph has it
};

/// Graphs by sizes, one for each segment of the plan. The least recently used of them makes way for a new one.
class GraphCache {
 public:
  static constexpr size_t kMaxGraphs = 8;
  struct Entry {
    std::vector<int64_t> symbols;
    std::vector<std::unique_ptr<Graph>> graphs;
    bool was_used = false;
    uint64_t last_use = 0;
  };
  /// The entry for these symbols, new if they are.
  Entry& find(const std::vector<int64_t>& symbols);
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
  uint64_t num_uses_ = 0;
};

}  // namespace wick::cuda
