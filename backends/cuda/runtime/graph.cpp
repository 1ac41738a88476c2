#include "backends/cuda/runtime/graph.h"

#include <algorithm>

namespace wick::cuda {
namespace {

constexpr DevicePtr kStale = UINT64_MAX;  // no address

}  // namespace

Graph::~Graph() {
  if (exec_) (void)device_.driver().graph_exec_destroy(exec_);
  if (graph_) (void)device_.driver().graph_destroy(graph_);
}

DriverStatus Graph::add(const PlanNode& node, size_t index, WorkList& work) {
  const Driver& driver = device_.driver();
  after_.clear();
  for (const uint32_t earlier : node.after) {
    if (earlier >= begin_) after_.push_back(nodes_[earlier - begin_]);
  }
  DriverGraphNode** out = &nodes_[index - begin_];
  // An empty node keeps the dependencies of the others.
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

Failure Graph::build(const Plan& plan, WorkList& work, size_t begin, size_t end) {
  begin_ = begin;
  nodes_.resize(end - begin);
  DriverStatus status = device_.driver().graph_create(&graph_, 0);
  for (size_t i = begin; status == kSuccess && i < end; ++i) {
    status = add(plan.nodes[i], i, work);
    if (status != kSuccess) return device_.failure(status, "adding " + work.text_of(i) + ", to a graph");
  }
  if (status == kSuccess) status = device_.driver().graph_instantiate(&exec_, graph_, 0);
  note_arguments(plan);
  (void)take_addresses(work);
  return device_.check(status, "making a graph");
}

DriverStatus Graph::set(size_t index, WorkList& work) {
  const Driver& driver = device_.driver();
  if (work[index].kind == NodeKind::copy) {
    const MemcpyParams params = work.copy_params(index);
    return driver.graph_set_copy(exec_, nodes_[index - begin_], &params, device_.context());
  }
  if (work[index].kind == NodeKind::fill) {
    const MemsetParams params = work.fill_params(index);
    return driver.graph_set_fill(exec_, nodes_[index - begin_], &params, device_.context());
  }
  const KernelNodeParams params = work.kernel_params(index);
  return driver.graph_set_kernel(exec_, nodes_[index - begin_], &params);
}

void Graph::note_arguments(const Plan& plan) {
  for (size_t i = begin_; i < begin_ + nodes_.size(); ++i) {
    for (const Argument& each : plan.nodes[i].arguments) {
      if (each.kind != ParameterKind::pointer) continue;
      const Space space = plan.buffers[each.index].space;
      if (space == Space::input || space == Space::output) arguments_.push_back({each.index, 0});
    }
  }
  std::sort(arguments_.begin(), arguments_.end(), [](const auto& a, const auto& b) { return a.buffer < b.buffer; });
  const auto same = [](const auto& a, const auto& b) { return a.buffer == b.buffer; };
  arguments_.erase(std::unique(arguments_.begin(), arguments_.end(), same), arguments_.end());
}

// Stores the addresses of the delegate's arguments. Returns whether one has changed.
bool Graph::take_addresses(const WorkList& work) {
  bool changed = false;
  for (Moving& each : arguments_) {
    changed = changed || each.address != work.address(each.buffer);
    each.address = work.address(each.buffer);
  }
  return changed;
}

Failure Graph::start(WorkList& work, DriverStream* stream) {
  if (take_addresses(work)) {
    for (size_t i = begin_; i < begin_ + nodes_.size(); ++i) {
      if (!work[i].touches_arguments || work[i].is_empty) continue;
      const DriverStatus status = set(i, work);
      if (status == kSuccess) continue;
      for (Moving& each : arguments_) each.address = kStale;  // some nodes still have old addresses
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
  oldest->graphs.clear();
  oldest->was_used = false;
  oldest->last_use = ++num_uses_;
  return *oldest;
}

}  // namespace wick::cuda
