#include <algorithm>

#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {
namespace {

// Limits of a line. Its bytes leave room for as many blocks as a multiprocessor runs; its elements must be cheap.
constexpr int64_t kMostBytesOfLines = 16 * 1024;
constexpr size_t kMostCallsOfPrologue = 40, kMostLoadsOfPrologue = 4;
// The most kernels that compute the same line again, and the most lines of one kernel.
constexpr size_t kMostReaders = 3, kMostLines = 2;
// With up to kColumnsOfWarps columns, a thread takes a row, so the number of blocks, each of which computes the line,
// grows with the rows. With more columns, warps loop over the rows, and blocks are limited.
constexpr int64_t kMostRowsOfThreads = kMultiprocessors * 16 * 128, kColumnsOfWarps = 16;

bool is_cheap(const LoopKernel& kernel) {
  size_t calls = 0, loads = 0;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    calls += e->kind == ExpressionKind::call && e->type != ScalarType::index;
    loads += e->kind == ExpressionKind::load;
  });
  return calls <= kMostCallsOfPrologue && loads <= kMostLoadsOfPrologue;
}

// Whether a kernel is a line: it has no rows, and stores each column, one after the other.
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

// Whether threads take the kernel's rows, and its blocks are so few that computing the line in each is profitable.
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
