// The kernels of a graph while they become one another: who reads and writes what. C++20.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// The buffers that a kernel touches.
struct KernelUses {
  std::set<uint32_t> reads, writes;

  void add(const KernelUses& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

/// With its prologues and the kernels beside it.
KernelUses uses_of(const LoopKernel& kernel);

/// Whether it counts which of the two runs first.
bool conflict(const KernelUses& a, const KernelUses& b);
bool share(const std::set<uint32_t>& a, const std::set<uint32_t>& b);

/// Numbers of kernels stay while the list changes; those that were removed are skipped.
class KernelList {
 public:
  explicit KernelList(LoweredGraph& graph);
  /// Closes the gaps.
  void finish();

  LoweredGraph& graph() { return graph_; }
  size_t size() const { return uses_.size(); }
  bool has(size_t index) const { return present_[index]; }
  const LoopKernel& operator[](size_t index) const { return graph_.kernels[index]; }
  const KernelUses& uses(size_t index) const { return uses_[index]; }
  const std::set<size_t>& readers(uint32_t buffer) { return readers_[buffer]; }
  /// The only kernel that writes a buffer, which nobody outside of the kernels reads; SIZE_MAX if there is none.
  size_t only_writer(uint32_t buffer);
  /// The same of any buffer: others may read what it holds behind the kernels.
  size_t only_kernel_that_writes(uint32_t buffer);

  /// Whether a condition or loop begins, goes on or ends behind kernel `from`, up to the beginning of kernel `to`.
  bool is_divided(size_t from, size_t to) const;
  /// Whether kernel `from` may run right before kernel `to`, a later one.
  bool may_move(size_t from, size_t to) const;
  /// Whether it may run right behind kernel `to`, an earlier one.
  bool may_move_back(size_t from, size_t to) const;
  /// Whether it would read the same there, and while kernel `to` runs.
  bool may_repeat(size_t from, size_t to) const;

  /// Puts a kernel where there is, or was, another one.
  void replace(size_t index, LoopKernel kernel);
  void remove(size_t index);
  /// Nobody reads or writes the buffer any more.
  void drop(uint32_t buffer) { graph_.buffers[buffer].elements = 0; }

 private:
  void enter(size_t index);
  void leave(size_t index);

  LoweredGraph& graph_;
  std::vector<KernelUses> uses_;
  std::vector<bool> present_;
  std::map<uint32_t, std::set<size_t>> readers_, writers_;
  std::set<size_t> marks_;  // kernels before which there is one
  std::set<uint32_t> read_by_marks_;
};

/// Whether a kernel reduces columns for one store of each row, by threads that take rows: no tiles.
bool is_row_sum(LoweredGraph& graph, const LoopKernel& kernel);
/// Whether threads take rows of a kernel with reductions.
bool takes_rows(LoweredGraph& graph, const LoopKernel& kernel);
/// Whether it is a map: it has rows only.
bool is_map(const LoopKernel& kernel);
/// Of a line that blocks compute for themselves: what it takes of their shared memory.
int64_t line_bytes(const LoopKernel& line);
/// Adds the nodes that `from` computes to those of `to`, before them.
void add_nodes_of(const LoopKernel& from, LoopKernel& to);

}  // namespace wick::cuda
