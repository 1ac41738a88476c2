// Lowers views of buffers: to other strides, or to copies if an option asks for them.
#include "backends/cuda/compile/lowering.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

bool Lowering::stored_as_view(const Value* result, const Value* of, const IndexMap& to_operand) {
  const Tensor& viewed = tensor(of);
  // If the map is affine, the strides are the steps of the offset for unit steps of the indices.
  const Indices at = indices_of(result->sizes());
  ExpressionPtr offset = pool().index(viewed.offset);
  const Indices from = to_operand(at);
  for (size_t i = 0; i < from.size(); ++i)
    offset = pool().add(offset, pool().multiply(from[i], pool().index(viewed.strides[i])));
  if (offset->kind != ExpressionKind::index) return false;
  std::map<std::string, Sym, std::less<>> zeros;
  for (const ExpressionPtr index : at) {
    if (!index->index.is_const()) zeros[std::string(index->index.symbol_name())] = 0;
  }
  const Sym start = substitute(offset->index, zeros);
  Sym affine = start;
  Sizes strides;
  for (const ExpressionPtr index : at) {
    strides.push_back(0);
    if (index->index.is_const()) continue;
    auto unit = zeros;
    unit[std::string(index->index.symbol_name())] = 1;
    strides.back() = substitute(offset->index, unit) - start;
    affine = affine + index->index * strides.back();
  }
  if (!(affine == offset->index)) return false;
  const uint32_t buffer = viewed.buffer;
  Tensor& made = tensors_[result];
  made.stage = Stage::stored;
  made.buffer = buffer;
  made.offset = start;
  made.strides = std::move(strides);
  return true;
}

void Lowering::define_view(const Value* result, const Value* of, IndexMap to_operand, IndexMap to_result) {
  if (writes_.reshaped.count(result)) {
    const Home home = home_of(of);
    set_stored(result, home.buffer);
    tensors_[result].offset = home.offset;
    out_.views.push_back(node_);
    return;
  }
  if (tensor(of).stage == Stage::stored) {
    bool is_view = false;
    // A stride that would be too large an expression makes no view.
    const compiler::Status status = compiler::catch_failure([&] { is_view = stored_as_view(result, of, to_operand); });
    if (status.ok() && is_view) {
      note_view(result, of, to_operand, to_result);
      if (options_.materializes_views)
        materialize(result);
      else
        out_.views.push_back(node_);
      return;
    }
  }
  note_view(result, of, to_operand, to_result);
  define(
      result, [this, of, to_operand](const Indices& at) { return element(of, to_operand(at)); }, std::move(to_result));
}

void Lowering::materialize(const Value* view) {
  Tensor& made = tensor(view);
  Sizes sizes = view->sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (made.strides[i].is(0)) sizes[i] = 1;  // one element for all
  }
  Draft copy = loops_over(sizes, {});
  ExpressionPtr offset = pool().index(made.offset);
  for (size_t i = 0; i < sizes.size(); ++i)
    offset = pool().add(offset, pool().multiply(copy.rows[i], pool().index(made.strides[i])));
  const ExpressionPtr read = pool().load(made.buffer, view->dtype(), offset);
  KernelBuffer buffer;
  buffer.dtype = view->dtype();
  buffer.elements = out_.buffers[made.buffer].elements;
  out_.buffers.push_back(std::move(buffer));
  made.buffer = static_cast<uint32_t>(out_.buffers.size() - 1);
  copy.kernel.row_stores.push_back({made.buffer, view->dtype(), offset, read, nullptr});
  copy.kernel.nodes.push_back(node_);
  copy.kernel.why = "views are materialized";
  emit(std::move(copy.kernel));
}

}  // namespace wick::cuda
