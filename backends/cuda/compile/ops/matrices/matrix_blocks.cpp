#include "backends/cuda/compile/ops/matrices/matrix_blocks.h"

#include <utility>

namespace wick::cuda {

using compiler::SymScope;
using compiler::Verdict;

namespace {

template <typename List>
List turned(List list, bool transposed) {
  if (transposed) std::swap(list[list.size() - 2], list[list.size() - 1]);
  return list;
}

}  // namespace

Matrices MatrixBlocks::copy(const Value* x, bool transposed) {
  return filled(turned(x->sizes(), transposed),
                [&](const Indices& at) { return pool_.cast(l_.element(x, turned(at, transposed)), ScalarType::f64); });
}

Matrices MatrixBlocks::identity(const Sizes& sizes) {
  return filled(sizes, [&](const Indices& at) {
    const ExpressionPtr here = pool_.equal(at[at.size() - 2], at[at.size() - 1]);
    return pool_.select(here, pool_.number(1, ScalarType::f64), pool_.number(0, ScalarType::f64));
  });
}

Matrices MatrixBlocks::filled(const Sizes& sizes, const Element& element) {
  Matrices out{l_.scratch(DType::f64, compiler::numel(sizes)), sizes.back()};
  if (sizes.size() > batch_.size() + 1) out.area = sizes[sizes.size() - 2] * sizes.back();
  Draft draft = l_.draft(sizes, {});
  draft.kernel.row_stores.push_back({out.buffer, DType::f64, l_.join(draft.rows, sizes), element(draft.rows), nullptr});
  l_.finish_stores(std::move(draft));
  return out;
}

void MatrixBlocks::give(size_t index, uint32_t buffer, DType held, bool transposed) {
  const Value* y = node_.result(index);
  if (y->num_uses() == 0) return;
  Lowering& l = l_;
  l.define(y, [&l, y, buffer, held, transposed](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ExpressionPtr place =
        transposed ? l.join(turned(at, true), turned(y->sizes(), true)) : l.join(at, y->sizes());
    return pool.cast(pool.load(buffer, held, place), scalar_type(y->dtype()));
  });
}

void MatrixBlocks::give_nothing(size_t index) {
  const Value* y = node_.result(index);
  if (y->num_uses() == 0) return;
  const ExpressionPtr none = pool_.number(0, scalar_type(y->dtype()));
  l_.define(y, [none](const Indices&) { return none; });
}

void MatrixBlocks::run(BlockCall call, const Sym& area, const std::vector<Place>& places) {
  const int64_t most = SymScope::range(area).max;
  call.threads = most <= 32 * 32 ? 32 : most <= 64 * 64 ? 128 : 256;
  Draft draft = l_.draft({matrices_}, {});
  for (const Place& place : places)
    call.places.push_back({place.buffer, pool_.multiply(draft.rows[0], pool_.index(place.size)), place.writes});
  draft.kernel.call = std::move(call);
  l_.finish_stores(std::move(draft));
}

std::vector<ExpressionPtr> MatrixBlocks::indices(const std::vector<Sym>& numbers) {
  std::vector<ExpressionPtr> out;
  for (const Sym& number : numbers) out.push_back(pool_.index(number));
  return out;
}

void MatrixBlocks::require_zero(uint32_t info, const char* message) {
  const uint32_t check = l_.add_check(message), seen = l_.scratch(DType::i32, matrices_);
  Draft draft = l_.draft({matrices_}, {});
  const ExpressionPtr number = pool_.load(info, DType::i32, draft.rows[0]);
  const ExpressionPtr value = pool_.cast(l_.checked_index(number, 1, false, check), ScalarType::i32);
  draft.kernel.row_stores.push_back({seen, DType::i32, draft.rows[0], value, nullptr});
  l_.finish_stores(std::move(draft));
}

bool has_elements(const Value* x) { return SymScope::range(compiler::numel(x->sizes())).max > 0; }

Verdict has_matrices(const Node& node, const compiler::TargetContext&) {
  return has_elements(node.tensor(node.op->parsed->args[0].name)) ? Verdict::yes() : Verdict::no(kEmptyMatrix);
}
Verdict is_square(const Node& node, const compiler::TargetContext&) {
  const Value* a = node.tensor(node.op->parsed->args[0].name);
  return has_elements(a) ? agreed(same(rows_of(a), columns_of(a))) : Verdict::no(kEmptyMatrix);
}

}  // namespace wick::cuda
