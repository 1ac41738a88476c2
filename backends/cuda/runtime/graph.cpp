#include "backends/cuda/runtime/graph.h"

#include <algorithm>

namespace wick::cuda {

Graph::~Graph() {
  if (exec_) (void)device_.driver().graph_exec_destroy(exec_);
  if (graph_) (void)device_.driver().graph_destroy(graph_);
}

DriverStatus Graph::add(const PlanNode& node, size_t index, WorkList& work) {
  const Driver& driver = device_.driver();
  after_.clear();
  for (const uint32_t earlier : node.after) after_.push_back(nodes_[earlier]);
  DriverGraphNode** out = &nodes_[index];
  // Keeps its place among the others, which may wait for it.
  if (work[index].is_empty) return driver.graph_add_empty(out, graph_, after_.data(), after_.size());
  if (node.kind == NodeKind::copy) {
    const MemcpyParams params = work.copy_params(index);
    return driver.graph_add_copy(out, graph_, after_.data(), after_.size(), &params, device_.context());
  }
  if (node.kind == NodeKind::fill) {
    const MemsetParams params = work.fill_params(index);
    return driver.graph_add_fill(out, graph_, after_.data(), after_.size(), &params, device_.context());
  }
  const KernelNodeParams params = work.kernel_params(index);
  return driver.graph_add_kernel(out, graph_, after_.data(), after_.size(), &params);
}

Failure Graph::build(const Plan& plan, WorkList& work) {
  nodes_.resize(plan.nodes.size());
  DriverStatus status = device_.driver().graph_create(&graph_, 0);
  for (size_t i = 0; status == kSuccess && i < plan.nodes.size(); ++i) {
    status = add(plan.nodes[i], i, work);
    if (status != kSuccess) return device_.failure(status, "adding " + work.text_of(i) + ", to a graph");
  }
  if (status == kSuccess) status = device_.driver().graph_instantiate(&exec_, graph_, 0);
  (void)take_addresses(plan, work);
  return device_.check(status, "making a graph");
}

DriverStatus Graph::set(size_t index, WorkList& work) {
  const Driver& driver = device_.driver();
  if (work[index].kind == NodeKind::copy) {
    const MemcpyParams params = work.copy_params(index);
    return driver.graph_set_copy(exec_, nodes_[index], &params, device_.context());
  }
  if (work[index].kind == NodeKind::fill) {
    const MemsetParams params = work.fill_params(index);
    return driver.graph_set_fill(exec_, nodes_[index], &params, device_.context());
  }
  const KernelNodeParams params = work.kernel_params(index);
  return driver.graph_set_kernel(exec_, nodes_[index], &params);
}

// Whether an argument of the delegate has moved.
bool Graph::take_addresses(const Plan& plan, const WorkList& work) {
  addresses_.resize(plan.buffers.size());
  bool changed = false;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].space != Space::input && plan.buffers[i].space != Space::output) continue;
    changed = changed || addresses_[i] != work.address(i);
    addresses_[i] = work.address(i);
  }
  return changed;
}

Failure Graph::start(const Plan& plan, WorkList& work, DriverStream* stream) {
  if (take_addresses(plan, work)) {
    for (size_t i = 0; i < work.size(); ++i) {
      if (!work[i].touches_arguments || work[i].is_empty) continue;
      const DriverStatus status = set(i, work);
      if (status == kSuccess) continue;
      addresses_.clear();  // some nodes have the old ones
      return device_.failure(status, "changing " + work.text_of(i) + ", of a graph");
    }
  }
  return device_.check(device_.driver().graph_launch(exec_, stream), "starting a graph");
}

GraphCache::Entry& GraphCache::find(const std::vector<int64_t>& symbols) {
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    if (entry.symbols == symbols) {
      entry.last_use = ++num_uses_;
      return entry;
    }
    if (!oldest || entry.last_use < oldest->last_use) oldest = &entry;
  }
  if (!oldest || entries_.size() < kMaxGraphs) {
    entries_.reserve(kMaxGraphs);
    oldest = &entries_.emplace_back();
  }
  oldest->symbols = symbols;
  oldest->graph.reset();
  oldest->was_used = false;
  oldest->last_use = ++num_uses_;
  return *oldest;
}

}  // namespace wick::cuda
