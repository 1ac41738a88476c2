// The driver's graph of a plan, for one set of sizes. C++17.
#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/runtime/work.h"

namespace wick::cuda {

/// An executable graph. It is made once; later calls only change the addresses of arguments that have moved. Needs the
/// device's context to be current.
class Graph {
 public:
  explicit Graph(Device& device) : device_(device) {}
  ~Graph();
  Graph(const Graph&) = delete;

  /// Makes the graph of the current work: each node waits for those that the plan says.
  Failure build(const Plan& plan, WorkList& work);
  /// Begins the graph, with the arguments that `work` has now; all else must be as it was built.
  Failure start(const Plan& plan, WorkList& work, DriverStream* stream);

 private:
  DriverStatus add(const PlanNode& node, size_t index, WorkList& work);
  DriverStatus set(size_t index, WorkList& work);
  bool take_addresses(const Plan& plan, const WorkList& work);

  Device& device_;
  DriverGraph* graph_ = nullptr;
  DriverGraphExec* exec_ = nullptr;
  std::vector<DriverGraphNode*> nodes_;
  std::vector<DriverGraphNode*> after_;  // of the node that is being added
  std::vector<DevicePtr> addresses_;     // of the delegate's arguments, as the graph has them
};

/// Graphs by sizes. The least recently used of them makes way for a new one.
class GraphCache {
 public:
  static constexpr size_t kMaxGraphs = 8;
  struct Entry {
    std::vector<int64_t> symbols;
    std::unique_ptr<Graph> graph;
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
