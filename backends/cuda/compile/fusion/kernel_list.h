// The kernels of a graph while they are fused: which kernel reads and writes which buffer. C++20.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

/// The buffers that a kernel reads and writes.
struct KernelUses {
  std::set<uint32_t> reads, writes;

  void add(const KernelUses& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

/// Includes its prologues and the kernels beside it.
KernelUses uses_of(const LoopKernel& kernel);

/// Whether the order of the two matters.
bool conflict(const KernelUses& a, const KernelUses& b);
bool share(const std::set<uint32_t>& a, const std::set<uint32_t>& b);

/// Kernels keep their numbers while the list changes: a removed kernel leaves a gap.
class KernelList {
 public:
  explicit KernelList(LoweredGraph& graph);
  /// Closes the gaps. The list must not be used afterwards.
  void finish();

  LoweredGraph& graph() { return graph_; }
  size_t size() const { return uses_.size(); }
  bool has(size_t index) const { return present_[index]; }
  const LoopKernel& operator[](size_t index) const { return graph_.kernels[index]; }
  const KernelUses& uses(size_t index) const { return uses_[index]; }
  const std::set<size_t>& readers(uint32_t buffer) { return readers_[buffer]; }
  /// The only kernel that writes a buffer. SIZE_MAX if there is not exactly one, or if something other than kernels
  /// uses the buffer: it is an output, a state, or read by a condition or loop.
  size_t only_writer(uint32_t buffer);
  /// The only kernel that writes a buffer of any kind; SIZE_MAX if there is not exactly one.
  size_t only_kernel_that_writes(uint32_t buffer);

  /// Whether a part of a condition or loop begins or ends between kernels `from` and `to`.
  bool is_divided(size_t from, size_t to) const;
  /// Whether kernel `from` may run right before `to`, a later kernel.
  bool may_move(size_t from, size_t to) const;
  /// Whether kernel `from` may run right after `to`, an earlier kernel.
  bool may_move_back(size_t from, size_t to) const;
  /// Whether kernel `from` would read the same values if it ran as a part of `to`, a later kernel.
  bool may_repeat(size_t from, size_t to) const;

  /// Puts a kernel at a number, in the place of the one there or in a gap.
  void replace(size_t index, LoopKernel kernel);
  void remove(size_t index);
  /// Says that no kernel uses the buffer any more.
  void drop(uint32_t buffer) { graph_.buffers[buffer].elements = 0; }

 private:
  void enter(size_t index);
  void leave(size_t index);

  LoweredGraph& graph_;
  std::vector<KernelUses> uses_;
  std::vector<bool> present_;
  std::map<uint32_t, std::set<size_t>> readers_, writers_;
  std::set<size_t> marks_;  // kernels before which a part of a condition or loop begins or ends
  std::set<uint32_t> read_by_marks_;
};

/// Whether a kernel is reductions with one store per row, by a schedule in which threads take rows (no tiles).
bool is_row_sum(LoweredGraph& graph, const LoopKernel& kernel);
/// Whether a kernel is reductions, by a schedule in which threads take rows.
bool takes_rows(LoweredGraph& graph, const LoopKernel& kernel);
/// Whether a kernel is a map: it has only rows.
bool is_map(const LoopKernel& kernel);
/// Bytes of shared memory that a line takes in each block that computes it (add_prologues()).
int64_t line_bytes(const LoopKernel& line);
/// Adds the nodes that `from` computes to those of `to`, before them.
void add_nodes_of(const LoopKernel& from, LoopKernel& to);

}  // namespace wick::cuda
