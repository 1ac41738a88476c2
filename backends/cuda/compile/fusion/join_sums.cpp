#include <algorithm>

#include "backends/cuda/compile/expression/substitution.h"
#include "backends/cuda/compile/fusion/fuse_kernels.h"
#include "backends/cuda/compile/kernel/matvec.h"

namespace wick::cuda {
namespace {

// The most sums of one kernel: what a thread has loaded for all of them must fit into registers.
constexpr size_t kMostSums = 4;

bool equal_extents(const std::vector<Loop>& a, const std::vector<Loop>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Loop& x, const Loop& y) { return x.extent == y.extent; });
}

// Maps the loop variables of the first kernel to those of the second one.
Substitution::Variables loops_as(const LoopKernel& first, const LoopKernel& second) {
  Substitution::Variables out;
  const auto add = [&](const std::vector<Loop>& from, const std::vector<Loop>& to) {
    for (size_t i = 0; i < from.size(); ++i) out[std::string(from[i].variable.symbol_name())] = to[i].variable;
  };
  add(first.rows, second.rows);
  add(first.columns, second.columns);
  return out;
}

// Whether each row of the kernel reads only its own element of a buffer, at `offset`, and only after its reductions.
bool reads_own_row(const LoopKernel& kernel, uint32_t buffer, ExpressionPtr offset) {
  const auto count = [&](std::vector<ExpressionPtr> roots, bool own) {
    size_t loads = 0;
    for_each(std::move(roots), [&](ExpressionPtr e) {
      if (e->kind != ExpressionKind::load || e->buffer != buffer) return;
      loads += !own || (e->args.size() == 1 && e->args[0] == offset);
    });
    return loads;
  };
  const ExpressionPtr value = kernel.row_stores[0].value;
  return count({value}, true) > 0 && count({value}, true) == count(expressions_of(kernel), false);
}

bool join(KernelList& kernels, uint32_t buffer, size_t reader) {
  const size_t writer = kernels.only_writer(buffer);
  if (writer == SIZE_MAX || kernels.readers(buffer).size() != 1) return false;
  if (!kernels.may_move(writer, reader) || !kernels.may_repeat(writer, reader)) return false;
  const LoopKernel &first = kernels[writer], &second = kernels[reader];
  if (!is_row_sum(kernels.graph(), first) || !equal_extents(first.rows, second.rows) ||
      !equal_extents(first.columns, second.columns) || first.reductions.size() + second.reductions.size() > kMostSums)
    return false;
  ExpressionPool& pool = kernels.graph().pool;
  Substitution as_second(pool, loops_as(first, second));
  const Store store = as_second.of(first.row_stores[0]);
  if (!reads_own_row(second, buffer, store.offset)) return false;
  const ExpressionPtr value = as_loaded(pool, store);
  const auto shift = static_cast<uint32_t>(first.reductions.size());
  Substitution behind_first(pool, {}, [&](ExpressionPtr e) -> ExpressionPtr {
    if (e->kind == ExpressionKind::load) return e->buffer == buffer ? value : nullptr;
    return pool.reduced(e->buffer + shift, e->type, e->number != 0);
  });
  LoopKernel joined = second;
  joined.reductions.clear();
  for (const Reduction& reduction : first.reductions) joined.reductions.push_back(as_second.of(reduction));
  for (const Reduction& reduction : second.reductions) joined.reductions.push_back(behind_first.of(reduction));
  joined.row_stores[0] = behind_first.of(second.row_stores[0]);
  // If one of the kernels has a schedule for packed integers, the fused kernel must have it too.
  const bool unpacks = find_matvec(kernels.graph(), first).has_value() || find_matvec(kernels.graph(), second);
  if (unpacks && !find_matvec(kernels.graph(), joined)) return false;
  add_nodes_of(first, joined);
  kernels.replace(reader, std::move(joined));
  kernels.remove(writer);
  kernels.drop(buffer);
  return true;
}

}  // namespace

void join_sums(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!is_row_sum(kernels.graph(), kernels[i])) continue;
    const std::set<uint32_t> reads = kernels.uses(i).reads;
    for (const uint32_t buffer : reads) join(kernels, buffer, i);
  }
}

}  // namespace wick::cuda
