#include <algorithm>

#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {
namespace {

// A line that leaves room for as many blocks as a multiprocessor takes, and what its elements may cost.
constexpr int64_t kMostBytesOfLines = 16 * 1024;
constexpr size_t kMostCallsOfPrologue = 40, kMostLoadsOfPrologue = 4;
// Kernels that compute a line again, together, instead of waiting for it; and lines of one kernel.
constexpr size_t kMostReaders = 3, kMostLines = 2;
// Blocks of kernels whose threads take whole rows; others walk over the rows.
constexpr int64_t kMostRowsOfThreads = kMultiprocessors * 16 * 128, kColumnsOfWarps = 16;

bool is_cheap(const LoopKernel& kernel) {
  size_t calls = 0, loads = 0;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    calls += e->kind == ExpressionKind::call && e->type != ScalarType::index;
    loads += e->kind == ExpressionKind::load;
  });
  return calls <= kMostCallsOfPrologue && loads <= kMostLoadsOfPrologue;
}

// A reduced and mapped line: no rows, one store of each column, side by side.
bool is_line(const LoopKernel& kernel) {
  if (kernel.attention || kernel.line || kernel.in_order || !kernel.rows.empty() || kernel.columns.size() != 1 ||
      kernel.reductions.empty() || !kernel.row_stores.empty() || kernel.column_stores.size() != 1 ||
      !kernel.row_parts.empty() || !kernel.prologues.empty() || !kernel.columns[0].extent.is_const())
    return false;
  const Store& store = kernel.column_stores[0];
  if (store.guard || store.offset->kind != ExpressionKind::index ||
      !(store.offset->index == kernel.columns[0].variable))
    return false;
  return line_bytes(kernel) <= kMostBytesOfLines && is_cheap(kernel);
}

// Whether threads take rows, so few that computing the line again costs less than a launch.
bool takes_line(LoweredGraph& graph, const LoopKernel& kernel) {
  if (kernel.prologues.size() >= kMostLines || !takes_rows(graph, kernel)) return false;
  return max_extent(kernel.columns) > kColumnsOfWarps || max_extent(kernel.rows) <= kMostRowsOfThreads;
}

void add_prologue(KernelList& kernels, size_t index) {
  const uint32_t buffer = kernels[index].column_stores[0].buffer;
  const std::set<size_t> readers = kernels.readers(buffer);
  if (kernels.only_writer(buffer) != index || readers.empty() || readers.size() > kMostReaders) return;
  const bool all = std::all_of(readers.begin(), readers.end(), [&](size_t reader) {
    return kernels.may_repeat(index, reader) && takes_line(kernels.graph(), kernels[reader]);
  });
  if (!all) return;
  const auto line = std::make_shared<const LoopKernel>(kernels[index]);
  for (const size_t reader : readers) {
    LoopKernel kernel = kernels[reader];
    kernel.prologues.push_back(line);
    add_nodes_of(*line, kernel);
    kernels.replace(reader, std::move(kernel));
  }
  kernels.remove(index);
  kernels.drop(buffer);
}

}  // namespace

void add_prologues(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels.has(i) && is_line(kernels[i])) add_prologue(kernels, i);
  }
}

}  // namespace wick::cuda
