#include <algorithm>

#include "backends/cuda/compile/fusion/fuse_kernels.h"

namespace wick::cuda {
namespace {

constexpr size_t kMostStoresOfParts = 4;
constexpr char kPlaced[] = ", and stores it in its place in a larger tensor";

bool stores_to(const std::vector<Store>& stores, uint32_t buffer) {
  return std::any_of(stores.begin(), stores.end(), [&](const Store& store) { return store.buffer == buffer; });
}

size_t num_stores(const LoopKernel& kernel) { return kernel.row_stores.size() + kernel.column_stores.size(); }

// Whether a map reads all of the copy. It can be fused with the copy's kernel, but not with the kernels of several
// parts.
bool is_chained(KernelList& kernels, const JoinedParts& join) {
  if (!join.rest) return false;
  const std::set<size_t>& readers = kernels.readers(join.parts[0].store.buffer);
  return std::any_of(readers.begin(), readers.end(), [&](size_t reader) { return is_map(kernels[reader]); });
}

bool can_place(KernelList& kernels, const JoinedParts& join) {
  if (!kernels.has(join.copy) || is_chained(kernels, join)) return false;
  std::map<size_t, size_t> stores;  // of each kernel
  return std::all_of(join.parts.begin(), join.parts.end(), [&](const JoinedParts::Part& part) {
    const size_t count = stores.try_emplace(part.kernel, num_stores(kernels[part.kernel])).first->second++;
    return count < kMostStoresOfParts && kernels.has(part.kernel) && !kernels.is_divided(part.kernel, join.copy);
  });
}

// Lists the nodes of the copy with the kernels of its parts, which now do its work.
void take_over(KernelList& kernels, const JoinedParts& join, const LoopKernel& copy) {
  for (const JoinedParts::Part& part : join.parts) {
    if (!kernels.has(part.kernel)) continue;
    LoopKernel kernel = kernels[part.kernel];
    for (auto list : {&LoopKernel::nodes, &LoopKernel::inlined}) {
      for (const compiler::Node* node : copy.*list) {
        if (std::find((kernel.*list).begin(), (kernel.*list).end(), node) == (kernel.*list).end())
          (kernel.*list).push_back(node);
      }
    }
    kernels.replace(part.kernel, std::move(kernel));
  }
}

// Adds stores to the kernels of the parts, beside those to the buffers that the copy has read.
void place(KernelList& kernels, const JoinedParts& join) {
  const LoopKernel copy = kernels[join.copy];
  if (join.rest)
    kernels.replace(join.copy, *join.rest);
  else
    kernels.remove(join.copy);
  KernelBuffer& buffer = kernels.graph().buffers[join.parts[0].store.buffer];
  buffer.in_parts = true;
  if (join.rest && join.rest->row_stores[0].guard) buffer.guarded = join.rest_elements;
  take_over(kernels, join, copy);
  for (const JoinedParts::Part& part : join.parts) {
    LoopKernel kernel = kernels[part.kernel];
    const bool per_row = stores_to(kernel.row_stores, part.from);
    (per_row ? kernel.row_stores : kernel.column_stores).push_back(part.store);
    if (kernel.why.find(kPlaced) == std::string::npos) kernel.why += kPlaced;
    kernels.replace(part.kernel, std::move(kernel));
  }
}

bool is_unread(KernelList& kernels, size_t writer, uint32_t buffer) {
  return kernels.only_writer(buffer) == writer && kernels.readers(buffer).empty();
}

// Removes the stores to a buffer that no kernel reads any more.
void drop_unread(KernelList& kernels, const JoinedParts::Part& part) {
  if (!is_unread(kernels, part.kernel, part.from)) return;
  LoopKernel kernel = kernels[part.kernel];
  for (std::vector<Store>* list : {&kernel.row_stores, &kernel.column_stores})
    list->erase(std::remove_if(list->begin(), list->end(), [&](const Store& s) { return s.buffer == part.from; }),
                list->end());
  if (num_stores(kernel) == 0) return;
  kernels.replace(part.kernel, std::move(kernel));
  kernels.drop(part.from);
}

}  // namespace

void place_parts(KernelList& kernels) {
  const std::vector<JoinedParts>& joins = kernels.graph().joins;
  // Outer joins come first: what they copy may itself be a copy.
  for (auto join = joins.rbegin(); join != joins.rend(); ++join) {
    const uint32_t buffer = join->parts[0].store.buffer;
    // A copy with more than one store is itself a part of an outer join, and stays.
    if (kernels.has(join->copy) && num_stores(kernels[join->copy]) > 1) continue;
    if (is_unread(kernels, join->copy, buffer)) {
      const LoopKernel copy = kernels[join->copy];
      kernels.remove(join->copy);
      take_over(kernels, *join, copy);
      kernels.drop(buffer);
    } else if (can_place(kernels, *join)) {
      place(kernels, *join);
    }
  }
  for (const JoinedParts& join : joins) {
    for (const JoinedParts::Part& part : join.parts) drop_unread(kernels, part);
  }
}

}  // namespace wick::cuda
