// The strides of images whose channels are innermost, and the loops that store them.
#include <algorithm>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/layout/channels_last.h"
#include "backends/cuda/compile/lowering.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cuda {

void Lowering::set_stored_by_layout(const Value* value, uint32_t buffer) {
  set_stored(value, buffer);
  if (out_.buffers[buffer].kind != KernelBuffer::Kind::arena || channels_last_.count(value) == 0) return;
  channels_last_buffers_.insert(buffer);
  const std::vector<int64_t> order = channels_last_order(value->rank());
  Sym stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    tensors_[value].strides[dim] = stride;
    stride = stride * value->sizes()[dim];
  }
}

ExpressionPtr Lowering::place_of(const Value* value, const Indices& at) { return offset_of(tensor(value), at); }

bool Lowering::has_channels_last(const Value* value) {
  const Tensor& held = tensor(value);
  return channels_last_.count(value) > 0 && (held.stage != Stage::stored || held.strides[1].is(1));
}

void Lowering::bring_channels_last(const Value* value) {
  const Tensor& held = tensor(value);
  if (channels_last_.count(value) == 0 || has_channels_last(value) || states_.count(held.buffer) > 0) return;
  Draft copy = loops_over(value->sizes(), {});
  const ExpressionPtr read = element(value, copy.rows);
  KernelBuffer buffer;
  buffer.dtype = value->dtype();
  buffer.elements = numel(value->sizes());
  out_.buffers.push_back(std::move(buffer));
  const auto number = static_cast<uint32_t>(out_.buffers.size() - 1);
  set_stored_by_layout(value, number);
  copy.kernel.row_stores.push_back({number, value->dtype(), place_of(value, copy.rows), read, nullptr});
  copy.kernel.nodes.push_back(node_);
  copy.kernel.why = of_node("reads its channels side by side");
  emit(std::move(copy.kernel));
}

Element Lowering::permuted_constant(const Value* value, const std::vector<int64_t>& order) {
  const auto element = constant_elements(
      compiler::layout::permuted_elements(value->data, dtype_size_bytes(value->dtype()), value->sizes(), order),
      value->dtype());
  Sizes sizes;
  for (const int64_t dim : order) sizes.push_back(value->sizes()[static_cast<size_t>(dim)]);
  return [this, element, sizes, order](const Indices& at) {
    Indices moved;
    for (const int64_t dim : order) moved.push_back(at[static_cast<size_t>(dim)]);
    return element(join(moved, sizes));
  };
}

// Moves the loop along which a store steps by one to the end, so that neighbouring threads store adjacent elements. In
// kernels with positions, columns keep their order, which positions count.
void Lowering::order_loops(LoopKernel& kernel) const {
  if (kernel.attention || kernel.line || kernel.call || kernel.in_order) return;
  const auto put_last = [&](std::vector<Loop>& loops, const std::vector<Store>& stores) {
    if (stores.empty() || channels_last_buffers_.count(stores[0].buffer) == 0) return;
    const auto innermost = std::find_if(loops.begin(), loops.end(),
                                        [&](const Loop& loop) { return steps_by_one(stores[0].offset, loop); });
    if (innermost != loops.end()) std::rotate(innermost, innermost + 1, loops.end());
  };
  put_last(kernel.rows, kernel.row_stores);
  const bool counts = std::any_of(kernel.reductions.begin(), kernel.reductions.end(),
                                  [](const Reduction& reduction) { return is_positioned(reduction.kind); });
  if (!counts) put_last(kernel.columns, kernel.column_stores);
}

}  // namespace wick::cuda
