// The driver's graph for a plan and one set of sizes. C++17.
#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/runtime/work.h"

namespace wick::cuda {

/// An executable graph of consecutive nodes without conditions and loops. It is built once. Later calls only change the
/// addresses of arguments that have moved. Requires: the device's context is current.
class Graph {
 public:
  explicit Graph(Device& device) : device_(device) {}
  ~Graph();
  Graph(const Graph&) = delete;

  /// Builds the graph of nodes `begin` up to `end` of the current work, with the dependencies of the plan between them.
  Failure build(const Plan& plan, WorkList& work, size_t begin, size_t end);
  /// Starts the graph with the current addresses of arguments in `work`. Everything else must be as it was built.
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
  std::vector<DriverGraphNode*> nodes_;  // for the plan's nodes from begin_ on
  std::vector<DriverGraphNode*> after_;  // dependencies of the node that is being added
  struct Moving {
    uint32_t buffer;
    DevicePtr address;
  };
  std::vector<Moving> arguments_;  // arguments of the delegate that nodes access, with their addresses in the graph
};

/// Graphs by sizes, one for each segment of the plan. A new entry replaces the least recently used one.
class GraphCache {
 public:
  static constexpr size_t kMaxGraphs = 8;
  struct Entry {
    std::vector<int64_t> symbols;
    std::vector<std::unique_ptr<Graph>> graphs;
    bool was_used = false;
    uint64_t last_use = 0;
  };
  /// The entry for these symbols; a new one if there is none.
  Entry& find(const std::vector<int64_t>& symbols);
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
  uint64_t num_uses_ = 0;
};

}  // namespace wick::cuda
