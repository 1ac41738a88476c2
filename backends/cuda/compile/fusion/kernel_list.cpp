#include "backends/cuda/compile/fusion/kernel_list.h"

#include <algorithm>

#include "backends/cuda/compile/kernel/contraction.h"
#include "backends/cuda/compile/kernel/matvec.h"

namespace wick::cuda {

KernelUses uses_of(const LoopKernel& kernel) {
  KernelUses uses;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    if (e->kind == ExpressionKind::load) uses.reads.insert(e->buffer);
  });
  if (kernel.line && kernel.line->kind == Line::Kind::merged)
    uses.reads.insert({kernel.line->values, kernel.line->positions});
  if (kernel.call) {
    for (const BlockCall::Place& place : kernel.call->places) {
      uses.reads.insert(place.buffer);
      if (place.writes) uses.writes.insert(place.buffer);
    }
  }
  const auto add = [&](const std::vector<Store>& stores) {
    for (const Store& store : stores) uses.writes.insert(store.buffer);
  };
  add(kernel.row_stores);
  add(kernel.column_stores);
  for (const RowPart& part : kernel.row_parts) add(part.stores);
  for (const auto& prologue : kernel.prologues) {
    uses.reads.erase(prologue->column_stores[0].buffer);
    const KernelUses own = uses_of(*prologue);
    uses.reads.insert(own.reads.begin(), own.reads.end());
  }
  for (const auto& other : kernel.beside) uses.add(uses_of(*other));
  return uses;
}

bool share(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint32_t buffer) { return b.count(buffer) > 0; });
}

bool conflict(const KernelUses& a, const KernelUses& b) {
  return share(a.writes, b.reads) || share(a.reads, b.writes) || share(a.writes, b.writes);
}

KernelList::KernelList(LoweredGraph& graph)
    : graph_(graph), uses_(graph.kernels.size()), present_(graph.kernels.size(), true) {
  for (size_t i = 0; i < size(); ++i) enter(i);
  for (const ControlMark& mark : graph.marks) {
    marks_.insert(mark.at);
    read_by_marks_.insert(mark.kept.begin(), mark.kept.end());
    if (mark.kind == ControlMark::Kind::choose || mark.kind == ControlMark::Kind::body)
      read_by_marks_.insert(mark.condition);
  }
}

void KernelList::finish() {
  std::vector<size_t> before = {0};  // kernels that stay
  for (size_t i = 0; i < size(); ++i) {
    before.push_back(before.back() + (present_[i] ? 1 : 0));
    if (present_[i] && before[i] != i) graph_.kernels[before[i]] = std::move(graph_.kernels[i]);
  }
  for (ControlMark& mark : graph_.marks) mark.at = before[mark.at];
  graph_.kernels.resize(before.back());
}

void KernelList::enter(size_t index) {
  uses_[index] = uses_of(graph_.kernels[index]);
  for (const uint32_t buffer : uses_[index].reads) readers_[buffer].insert(index);
  for (const uint32_t buffer : uses_[index].writes) writers_[buffer].insert(index);
}

void KernelList::leave(size_t index) {
  for (const uint32_t buffer : uses_[index].reads) readers_[buffer].erase(index);
  for (const uint32_t buffer : uses_[index].writes) writers_[buffer].erase(index);
}

void KernelList::replace(size_t index, LoopKernel kernel) {
  leave(index);
  graph_.kernels[index] = std::move(kernel);
  present_[index] = true;
  enter(index);
}

void KernelList::remove(size_t index) {
  leave(index);
  uses_[index] = {};
  present_[index] = false;
}

size_t KernelList::only_writer(uint32_t buffer) {
  const bool is_internal =
      graph_.buffers[buffer].kind == KernelBuffer::Kind::arena && read_by_marks_.count(buffer) == 0;
  return is_internal ? only_kernel_that_writes(buffer) : SIZE_MAX;
}

size_t KernelList::only_kernel_that_writes(uint32_t buffer) {
  const std::set<size_t>& writers = writers_[buffer];
  return writers.size() == 1 ? *writers.begin() : SIZE_MAX;
}

bool KernelList::is_divided(size_t from, size_t to) const {
  const auto next = marks_.upper_bound(from);
  return next != marks_.end() && *next <= to;
}

bool KernelList::may_move(size_t from, size_t to) const {
  if (from >= to || is_divided(from, to)) return false;
  for (size_t i = from + 1; i < to; ++i) {
    if (present_[i] && conflict(uses_[from], uses_[i])) return false;
  }
  return true;
}

bool KernelList::may_move_back(size_t from, size_t to) const {
  if (from <= to || is_divided(to, from)) return false;
  for (size_t i = to + 1; i < from; ++i) {
    if (present_[i] && conflict(uses_[from], uses_[i])) return false;
  }
  return true;
}

bool KernelList::may_repeat(size_t from, size_t to) const {
  if (from >= to || is_divided(from, to)) return false;
  for (size_t i = from + 1; i <= to; ++i) {
    if (share(uses_[from].reads, uses_[i].writes)) return false;
  }
  return true;
}

bool takes_rows(LoweredGraph& graph, const LoopKernel& kernel) {
  if (kernel.attention || kernel.line || kernel.in_order || kernel.reductions.empty() || kernel.columns.empty())
    return false;
  if (const auto matvec = find_matvec(graph, kernel)) return matvec->m.empty();
  return !find_contraction(kernel);
}

bool is_row_sum(LoweredGraph& graph, const LoopKernel& kernel) {
  return kernel.column_stores.empty() && kernel.row_stores.size() == 1 && !kernel.row_stores[0].guard &&
         kernel.row_parts.empty() && kernel.prologues.empty() && takes_rows(graph, kernel);
}

bool is_map(const LoopKernel& kernel) {
  return !kernel.attention && !kernel.line && kernel.reductions.empty() && kernel.columns.empty() &&
         !kernel.row_stores.empty();
}

int64_t line_bytes(const LoopKernel& line) {
  return line.columns[0].extent.value() * static_cast<int64_t>(dtype_size_bytes(line.column_stores[0].dtype));
}

void add_nodes_of(const LoopKernel& from, LoopKernel& to) {
  for (auto list : {&LoopKernel::nodes, &LoopKernel::inlined}) {
    std::vector<const compiler::Node*> all = from.*list;
    for (const compiler::Node* node : to.*list) {
      if (std::find(all.begin(), all.end(), node) == all.end()) all.push_back(node);
    }
    to.*list = std::move(all);
  }
}

}  // namespace wick::cuda
