// Operators that create tensors from numbers.
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

void lower_full(Lowering& l, const Node& node) {
  const DType dtype = node.result()->dtype();
  const char* name = node.is("aten.scalar_tensor.default") ? "s" : "fill_value";
  const ExpressionPtr value = l.pool().rounded(l.scalar(node.arg(name), scalar_type(dtype)), dtype);
  l.define(node.result(), [value](const Indices&) { return value; });
}

// start + i * step, computed as eager does: in the result's type.
void lower_arange(Lowering& l, const Node& node) {
  const DType dtype = node.result()->dtype();
  const ScalarType type = scalar_type(dtype);
  const ScalarType wide = is_real(type) ? ScalarType::f64 : ScalarType::i64;
  const ExpressionPtr start = l.scalar(node.arg("start"), wide), step = l.scalar(node.arg("step"), wide);
  l.define(node.result(), [&l, dtype, type, wide, start, step](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ExpressionPtr scaled = mul(pool, pool.cast(at[0], wide), step);
    return pool.rounded(pool.cast(add(pool, start, scaled), type), dtype);
  });
}

// Keeps the elements above or below a diagonal; the rest is 0.
void lower_triangle(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const DType dtype = node.result()->dtype();
  const Sym diagonal = node.integer("diagonal");
  const bool lower = node.is("aten.tril.default");
  l.define(node.result(), [&l, x, dtype, diagonal, lower](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ExpressionPtr row = pool.add(at[at.size() - 2], pool.index(diagonal)), column = at.back();
    // tril keeps column <= row + diagonal, triu column >= row + diagonal.
    const ExpressionPtr outside = lower ? pool.less(row, column) : pool.less(column, row);
    return pool.select(outside, pool.constant(0, 0, scalar_type(dtype)), l.element(x, at));
  });
}

constexpr OpRule kCreationRows[] = {
    {"aten.full.default", lower_full},          {"aten.full_like.default", lower_full},
    {"aten.scalar_tensor.default", lower_full}, {"aten.arange.start_step", lower_arange},
    {"aten.tril.default", lower_triangle},      {"aten.triu.default", lower_triangle},
};

}  // namespace

const Span<const OpRule> kCreationRules{kCreationRows};

}  // namespace wick::cuda
