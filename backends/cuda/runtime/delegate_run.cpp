// Runs the nodes of a plan: sequences of nodes without conditions as graphs, and the conditions and loops between them,
// for which the host reads a byte in device memory.
#include "backends/cuda/runtime/delegate.h"

namespace wick::cuda {
namespace {

const char* kind_of(const Plan& plan, const PlanNode& node) {
  switch (node.kind) {
    case NodeKind::copy: return "copy";
    case NodeKind::fill: return "fill";
    default: return plan.kernels[node.kernel].name.c_str();
  }
}

}  // namespace

size_t Delegate::end_of_segment(size_t begin, size_t end) const {
  size_t i = begin;
  while (i < end && !is_control(plan_.nodes[i].kind) && segments_[i] == segments_[begin]) ++i;
  return i;
}

Failure Delegate::run_each(size_t begin, size_t end, DriverStream* stream) {
  const Driver& driver = device_->driver();
  for (size_t i = begin; i < end; ++i) {
    DriverStatus status = work_->start(driver, i, stream);
    if (status == kSuccess && waits_for_each_) status = driver.stream_wait(stream);
    if (status != kSuccess) return device_->failure(status, what() + ", " + work_->text_of(i));
  }
  return {};
}

Failure Delegate::run_timed(size_t begin, size_t end, DriverStream* stream) {
  const Driver& driver = device_->driver();
  DriverStatus status = driver.event_record(events_[begin], stream);
  for (size_t i = begin; status == kSuccess && i < end; ++i) {
    status = work_->start(driver, i, stream);
    if (status != kSuccess) return device_->failure(status, what() + ", " + work_->text_of(i));
    status = driver.event_record(events_[i + 1], stream);
  }
  if (status != kSuccess) return device_->check(status, "measuring time");
  status = driver.event_wait(events_[end]);
  return status == kSuccess ? report_times(begin, end) : device_->failure(status, what());
}

// Reports nodes in a loop in each round.
Failure Delegate::report_times(size_t begin, size_t end) {
  const Driver& driver = device_->driver();
  float start = 0, duration = 0;
  for (size_t i = begin; i < end; ++i) {
    DriverStatus status = driver.event_elapsed(&start, events_[begin], events_[i]);
    if (status == kSuccess) status = driver.event_elapsed(&duration, events_[i], events_[i + 1]);
    if (status != kSuccess) return device_->failure(status, "measuring time");
    const PlanNode& node = plan_.nodes[i];
    const char* name = node.kind == NodeKind::launch ? "CUDA kernel" : "CUDA driver";
    tracer_->delegate_event(tracer_->state,
                            {kind_of(plan_, node), name, node.debug_handle,
                             reported_ns_ + static_cast<uint64_t>(start * 1e6), static_cast<uint64_t>(duration * 1e6)});
  }
  reported_ns_ += static_cast<uint64_t>((start + duration) * 1e6);
  return {};
}

Failure Delegate::build_graphs(GraphCache::Entry* entry) {
  for (size_t begin = 0; begin < plan_.nodes.size();) {
    const size_t end = end_of_segment(begin, plan_.nodes.size());
    if (end == begin) {
      ++begin;
      continue;
    }
    auto graph = std::make_unique<Graph>(*device_);
    Failure failure = graph->build(plan_, *work_, begin, end);
    if (failure) {
      entry->graphs.clear();
      return failure;
    }
    entry->graphs.push_back(std::move(graph));
    begin = end;
  }
  return {};
}

Failure Delegate::run_segment(size_t begin, size_t end, GraphCache::Entry* entry, DriverStream* stream) {
  if (tracer_) return run_timed(begin, end, stream);
  if (!entry) return run_each(begin, end, stream);
  return entry->graphs[segments_[begin]]->start(*work_, stream);
}

// Failed checks end the call here: a loop that goes on with wrong elements may never end.
Failure Delegate::read_condition(size_t index, DriverStream* stream, bool* condition) {
  uint8_t byte = 0;
  const Driver& driver = device_->driver();
  Failure failure =
      device_->check(driver.copy_to_host(&byte, work_->condition(index), 1, stream), "reading a condition");
  if (failure) return failure;
  if (plan_.status_buffer != kNone) {
    failure = read_checks(stream);
  } else if (const DriverStatus status = driver.stream_wait(stream); status != kSuccess) {
    failure = device_->failure(status, what());
  }
  *condition = byte != 0;
  return failure;
}

Failure Delegate::run_part_of(size_t index, bool is_second, GraphCache::Entry* entry, DriverStream* stream) {
  const PlanNode& node = plan_.nodes[index];
  Failure failure = check_requirements(static_cast<uint32_t>(index), is_second);
  if (failure) return failure;
  return is_second ? run_part(node.first_end, node.second_end, entry, stream)
                   : run_part(index + 1, node.first_end, entry, stream);
}

Failure Delegate::run_loop(size_t index, GraphCache::Entry* entry, DriverStream* stream) {
  const PlanNode& node = plan_.nodes[index];
  Failure failure;
  if (node.kind == NodeKind::repeat) {
    const uint64_t rounds = (*work_)[index].size_bytes;
    for (uint64_t i = 0; !failure && i < rounds; ++i) failure = run_part_of(index, false, entry, stream);
    return failure;
  }
  for (bool again = true; again;) {
    failure = run_part_of(index, false, entry, stream);
    if (!failure) failure = read_condition(index, stream, &again);
    if (!failure && again) failure = run_part_of(index, true, entry, stream);
    if (failure) return failure;
  }
  return {};
}

Failure Delegate::run_part(size_t begin, size_t end, GraphCache::Entry* entry, DriverStream* stream) {
  Failure failure;
  for (size_t i = begin; !failure && i < end;) {
    const PlanNode& node = plan_.nodes[i];
    if (!is_control(node.kind)) {
      const size_t next = end_of_segment(i, end);
      failure = run_segment(i, next, entry, stream);
      i = next;
      continue;
    }
    if (node.kind == NodeKind::choose) {
      bool first = false;
      failure = read_condition(i, stream, &first);
      if (!failure) failure = run_part_of(i, !first, entry, stream);
    } else {
      failure = run_loop(i, entry, stream);
    }
    i = node.second_end;
  }
  return failure;
}

Failure Delegate::run(DriverStream* stream) {
  reported_ns_ = 0;
  const size_t count = plan_.nodes.size();
  if (tracer_ || waits_for_each_ || count == 0) return run_part(0, count, nullptr, stream);
  GraphCache::Entry& entry = graphs_.find(symbols_);
  const bool is_first_use = entry.graphs.empty() && !entry.was_used && !symbols_.empty();
  entry.was_used = true;
  // A graph is not profitable for sizes that occur once.
  if (is_first_use) return run_part(0, count, nullptr, stream);
  if (entry.graphs.empty()) {
    Failure failure = build_graphs(&entry);
    if (failure) return failure;
  }
  return run_part(0, count, &entry, stream);
}

}  // namespace wick::cuda
