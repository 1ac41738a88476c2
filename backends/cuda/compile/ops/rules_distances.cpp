// p-norm distances between rows.   Source: aten::_cdist_forward, aten::_pdist_forward.
#include <cmath>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

// The distance of two rows, whose elements are a and b at the draft's columns.
ExpressionPtr distance(Lowering& l, Draft& draft, ExpressionPtr a, ExpressionPtr b, double p) {
  ExpressionPool& pool = l.pool();
  const ScalarType type = a->type;
  const ExpressionPtr gap = pool.call(type, "abs({0})", {sub(pool, a, b)});
  if (std::isinf(p)) return l.reduce(draft, ReductionKind::maximum, gap);
  if (p == 0) {
    const ExpressionPtr differs = pool.call(ScalarType::boolean, "({0} != {1})", {gap, pool.number(0, type)});
    return l.reduce(draft, ReductionKind::sum, pool.cast(differs, type));
  }
  if (p == 1) return l.reduce(draft, ReductionKind::sum, gap);
  if (p == 2)
    return pool.call(type, "sqrt({0})", {l.reduce(draft, ReductionKind::sum, pool.call(type, "({0} * {0})", {gap}))});
  const ExpressionPtr power = pool.call(type, "pow({0}, {1})", {gap, l.scalar(compiler::Arg(p), type)});
  const ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, power);
  return pool.call(type, "pow({0}, {1})", {sum, l.scalar(compiler::Arg(1 / p), type)});
}

void finish_distance(Lowering& l, const Value* y, Draft draft, ExpressionPtr out) {
  const Indices at = draft.rows;
  l.finish(std::move(draft), {{y, at, l.pool().rounded(out, y->dtype())}});
}

// [.., n, features] and [.., m, features] give [.., n, m].
void lower_cdist(Lowering& l, const Node& node) {
  const Value *a = node.tensor("x1"), *b = node.tensor("x2"), *y = node.result();
  l.store_if_expensive(a, 2);
  l.store_if_expensive(b, 2);
  Draft draft = l.draft(y->sizes(), {a->sizes().back()});
  const auto element = [&](const Value* x, ExpressionPtr row) {
    Indices at(draft.rows.begin(), draft.rows.end() - 2);
    at.insert(at.end(), {row, draft.columns[0]});
    Sizes wide(y->sizes().begin(), y->sizes().end() - 2);
    wide.insert(wide.end(), x->sizes().end() - 2, x->sizes().end());
    return l.element(x, l.broadcast(*x, at, wide));
  };
  const ExpressionPtr from = element(a, draft.rows[y->rank() - 2]), to = element(b, draft.rows.back());
  const ExpressionPtr out = distance(l, draft, from, to, node.real("p"));
  finish_distance(l, y, std::move(draft), out);
}

// The distances of the pairs of rows (0, 1), (0, 2) .. (1, 2) ..
void lower_pdist(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("self"), *y = node.result();
  l.store_if_expensive(x, 2);
  Draft draft = l.draft(y->sizes(), {x->sizes()[1]});
  const ExpressionPtr pair = draft.rows[0], count = pool.index(x->sizes()[0]);
  const ExpressionPtr first = pool.call(ScalarType::index, "first_of_pair({0}, {1})", {pair, count});
  const ExpressionPtr second = pool.call(ScalarType::index, "second_of_pair({0}, {1}, {2})", {pair, first, count});
  const ExpressionPtr out = distance(l, draft, l.element(x, {first, draft.columns[0]}),
                                     l.element(x, {second, draft.columns[0]}), node.real("p"));
  finish_distance(l, y, std::move(draft), out);
}

void cdist_needs(const Node& node, SizeRequirements& out) {
  out.push_back(equal(node.tensor("x2")->sizes().back(), node.tensor("x1")->sizes().back(),
                      "points of its operands have different numbers of coordinates"));
  const Sizes& wide = node.result()->sizes();
  const Sizes batch(wide.begin(), wide.end() - 2);
  for (const char* operand : {"x1", "x2"}) {
    const Sizes& own = node.tensor(operand)->sizes();
    add_broadcasts(Sizes(own.begin(), own.end() - 2), batch, out);
  }
}

constexpr OpRule kDistanceRows[] = {
    needing({"aten._cdist_forward.default", lower_cdist}, cdist_needs),
    {"aten._pdist_forward.default", lower_pdist},
};

}  // namespace

const Span<const OpRule> kDistanceRules{kDistanceRows};

}  // namespace wick::cuda
