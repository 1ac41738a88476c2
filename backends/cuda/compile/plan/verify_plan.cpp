#include "backends/cuda/compile/plan/verify_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "backends/cuda/compile/control/plan_control.h"
#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

namespace {

// Which buffer owns each byte of the arena now: ranges of bytes, keyed by their first byte.
class Contents {
 public:
  explicit Contents(const Plan& plan) : plan_(&plan) { ranges_[0] = kNone; }

  void write(uint32_t buffer) {
    const Buffer& written = plan_->buffers[buffer];
    if (written.space != Space::arena || written.size_bytes == 0) return;
    split_at(written.offset);
    split_at(written.offset + written.size_bytes);
    const auto first = ranges_.find(written.offset);
    ranges_.erase(std::next(first), ranges_.find(written.offset + written.size_bytes));
    first->second = buffer;
  }
  // "" if the bytes are those of the buffer, else what is there instead.
  std::string read(uint32_t buffer) const {
    const Buffer& read = plan_->buffers[buffer];
    if (read.space != Space::arena || read.size_bytes == 0) return "";
    for (auto at = std::prev(ranges_.upper_bound(read.offset));
         at != ranges_.end() && at->first < read.offset + read.size_bytes; ++at) {
      if (at->second == buffer) continue;
      return at->second == kNone ? "nothing has been written there" : fmt::format("buffer {} lies there", at->second);
    }
    return "";
  }
  // Keeps the ranges in which both have the same buffer.
  void keep_common(const Contents& other) {
    for (const auto& [begin, buffer] : other.ranges_) split_at(begin);
    for (auto& [begin, buffer] : ranges_) {
      if (std::prev(other.ranges_.upper_bound(begin))->second != buffer) buffer = kNone;
    }
  }

 private:
  void split_at(uint64_t byte) {
    const auto behind = ranges_.lower_bound(byte);
    if (behind == ranges_.end() || behind->first != byte) ranges_.emplace_hint(behind, byte, std::prev(behind)->second);
  }

  const Plan* plan_;
  std::map<uint64_t, uint32_t> ranges_;
};

// Runs the nodes in order. Two rounds of a loop are enough: what the second one reads was there before the first one,
// or is written by it.
class Walk {
 public:
  explicit Walk(const Plan& plan) : plan_(plan), contents_(plan) {
    if (plan.random_buffer != kNone) contents_.write(plan.random_buffer);
  }

  std::string run() {
    nodes(0, plan_.nodes.size());
    return flaw_;
  }

 private:
  void nodes(size_t begin, size_t end) {
    for (size_t i = begin; i < end && flaw_.empty();
         i = is_control(plan_.nodes[i].kind) ? plan_.nodes[i].second_end : i + 1)
      node(i);
  }

  void node(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    switch (node.kind) {
      case NodeKind::choose: {
        touch(index);
        const Contents before = contents_;
        nodes(index + 1, node.first_end);
        Contents first = std::move(contents_);
        contents_ = before;
        nodes(node.first_end, node.second_end);
        contents_.keep_common(first);
        break;
      }
      case NodeKind::loop:
        nodes(index + 1, node.first_end);
        for (int round = 0; round < 2; ++round) {
          touch(index);
          nodes(node.first_end, node.second_end);
          nodes(index + 1, node.first_end);
        }
        touch(index);
        break;
      case NodeKind::repeat:
        for (int round = 0; round < 2; ++round) nodes(index + 1, node.first_end);
        break;
      default: touch(index);
    }
  }

  void touch(size_t index) {
    for (const bool writes : {false, true}) {
      for (const Argument& argument : plan_.nodes[index].arguments) {
        if (argument.kind != ParameterKind::pointer || argument.writes != writes) continue;
        const std::string wrong = writes ? "" : contents_.read(argument.index);
        if (!wrong.empty() && flaw_.empty())
          flaw_ = fmt::format("node {} reads buffer {}, but {}", index, argument.index, wrong);
        if (writes) contents_.write(argument.index);
      }
    }
  }

  const Plan& plan_;
  Contents contents_;
  std::string flaw_;
};

// Checks which nodes of a part wait for each other.
class Order {
 public:
  Order(const Plan& plan, const std::set<uint32_t>& in_parts)
      : plan_(plan), in_parts_(in_parts), parts_(parts_of(plan.nodes)), words_((plan.nodes.size() + 63) / 64) {}

  std::string run() {
    const size_t count = plan_.nodes.size();
    touched_.resize(count);
    for (size_t i = count; i-- > 0;) add_touched(i);
    std::vector<std::vector<uint64_t>> before(count,
                                              std::vector<uint64_t>(words_));  // a bit for each node that is done
    for (size_t j = 0; j < count; ++j) {
      for (const uint32_t i : plan_.nodes[j].after) {
        for (size_t word = 0; word <= i / 64; ++word) before[j][word] |= before[i][word];
        before[j][i / 64] |= uint64_t{1} << (i % 64);
      }
      for (size_t i = 0; i < j; ++i) {
        if ((before[j][i / 64] >> (i % 64) & 1) != 0 || parts_[i] != parts_[j]) continue;
        if (conflict(touched_[i], touched_[j]))
          return fmt::format("nodes {} and {} touch the same memory, and neither waits for the other", i, j);
      }
    }
    return "";
  }

 private:
  struct Touched {
    uint32_t buffer;
    bool writes, is_launch;
  };

  void add_touched(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (const Argument& argument : node.arguments) {
      if (argument.kind == ParameterKind::pointer && plan_.buffers[argument.index].space != Space::constant)
        touched_[index].push_back({argument.index, argument.writes, node.kind == NodeKind::launch});
    }
    for (size_t k = index + 1; k < node.second_end; ++k)
      touched_[index].insert(touched_[index].end(), touched_[k].begin(), touched_[k].end());
  }

  bool conflict(const std::vector<Touched>& a, const std::vector<Touched>& b) const {
    return std::any_of(a.begin(), a.end(), [&](const Touched& x) {
      return std::any_of(b.begin(), b.end(), [&](const Touched& y) {
        if (!x.writes && !y.writes) return false;
        const bool apart = x.buffer == y.buffer && x.is_launch && y.is_launch && in_parts_.count(x.buffer) > 0;
        return !(apart && x.writes && y.writes) && overlap(x.buffer, y.buffer);
      });
    });
  }
  bool overlap(uint32_t a, uint32_t b) const {
    const Buffer &x = plan_.buffers[a], &y = plan_.buffers[b];
    if (x.space != y.space) return false;
    if (x.space != Space::arena) return x.space == Space::state ? a == b : x.index == y.index;
    return x.offset < y.offset + y.size_bytes && y.offset < x.offset + x.size_bytes;
  }

  const Plan& plan_;
  const std::set<uint32_t>& in_parts_;
  const std::vector<uint32_t> parts_;
  const size_t words_;
  std::vector<std::vector<Touched>> touched_;
};

using Nodes = std::set<const compiler::Node*>;

void add_nodes(const LoopKernel& kernel, Nodes& nodes) {
  nodes.insert(kernel.nodes.begin(), kernel.nodes.end());
  nodes.insert(kernel.inlined.begin(), kernel.inlined.end());
  for (const auto* list : {&kernel.prologues, &kernel.beside}) {
    for (const auto& other : *list) add_nodes(*other, nodes);
  }
}

// Adds the nodes that outputs and new values of buffers are computed from.
void add_needed(const compiler::Graph& graph, Nodes& needed) {
  std::vector<const compiler::Value*> open;
  for (const compiler::GraphOutput& output : graph.outputs) open.push_back(output.value);
  for (const compiler::StateUpdate& update : graph.updates) open.push_back(update.value);
  while (!open.empty()) {
    const compiler::Node* node = open.back()->producer;
    open.pop_back();
    if (!node || !needed.insert(node).second) continue;
    for (const compiler::Value* operand : node->operands()) open.push_back(operand);
    for (const auto& inner : node->graphs) add_needed(*inner, needed);
  }
}

// The number of elements that the kernels between two marks store in a buffer that is written in parts.
struct StoredElements {
  Sym unguarded = 0;
  bool has_guarded = false;
};
using StoredParts = std::map<uint32_t, StoredElements>;

void add_stored(const LoweredGraph& lowered, const std::vector<Store>& stores, const Sym& times, StoredParts& parts) {
  for (const Store& store : stores) {
    if (!lowered.buffers[store.buffer].in_parts) continue;
    StoredElements& stored = parts[store.buffer];
    if (store.guard)
      stored.has_guarded = true;
    else
      stored.unguarded = stored.unguarded + times;
  }
}

void add_stored(const LoweredGraph& lowered, const LoopKernel& kernel, StoredParts& parts) {
  const Sym rows = extent_of(kernel.rows);
  add_stored(lowered, kernel.row_stores, rows, parts);
  add_stored(lowered, kernel.column_stores, rows * extent_of(kernel.columns), parts);
  for (const RowPart& part : kernel.row_parts) add_stored(lowered, part.stores, extent_of(part.loops), parts);
  for (const auto& other : kernel.beside) add_stored(lowered, *other, parts);
}

}  // namespace

std::string find_memory_flaw(const Plan& plan, const std::set<uint32_t>& in_parts) {
  std::string flaw = Walk(plan).run();
  return flaw.empty() ? Order(plan, in_parts).run() : flaw;
}

std::string find_missing_node(const LoweredGraph& lowered, const compiler::Graph& graph) {
  Nodes known(lowered.views.begin(), lowered.views.end()), needed;
  for (const LoopKernel& kernel : lowered.kernels) add_nodes(kernel, known);
  for (const ControlMark& mark : lowered.marks) known.insert(mark.node);
  add_needed(graph, needed);
  std::string missing;
  for (const compiler::Node* node : needed) {
    if (known.count(node) > 0 || node->results().empty() || !node->results()[0]->type.is_tensor()) continue;
    const std::string name(node->op->name());
    if (missing.empty() || name < missing) missing = name;  // the same one for any order of addresses
  }
  return missing;
}

std::string find_missing_part(const LoweredGraph& lowered) {
  std::set<uint32_t> left;  // buffers written in parts, without a store so far
  for (uint32_t i = 0; i < lowered.buffers.size(); ++i) {
    if (lowered.buffers[i].in_parts && !lowered.buffers[i].elements.is(0)) left.insert(i);
  }
  auto mark = lowered.marks.begin();
  for (size_t i = 0; i < lowered.kernels.size();) {
    while (mark != lowered.marks.end() && mark->at <= i) ++mark;
    const size_t end = mark == lowered.marks.end() ? lowered.kernels.size() : mark->at;
    StoredParts parts;
    for (; i < end; ++i) add_stored(lowered, lowered.kernels[i], parts);
    for (const auto& [buffer, stored] : parts) {
      left.erase(buffer);
      const KernelBuffer& whole = lowered.buffers[buffer];
      const Sym count = stored.has_guarded ? stored.unguarded + whole.guarded : stored.unguarded;
      if (!(count == whole.elements))
        return fmt::format("kernels store {} elements of buffer {}, which has {}", count.text(), buffer,
                           whole.elements.text());
    }
  }
  return left.empty() ? "" : fmt::format("no kernel stores buffer {}", *left.begin());
}

}  // namespace wick::cuda
