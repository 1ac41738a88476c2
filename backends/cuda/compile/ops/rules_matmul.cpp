// Matmuls and linear layers. The schedule decides how they are tiled.
#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ops/rules.h"

namespace wick::cuda {
namespace {

using compiler::Arg;

// Elements of operands are read many times: if they cost more than a conversion, they are computed once.
constexpr size_t kOperandCalls = 2;

// Rows of `left` times columns of `right`. left_at and right_at give the operands' indices.
struct Matmul {
  const Value *left, *right;
  Sizes rows;  // the sizes of the result
  Sym depth;
  std::function<Indices(const Indices& row, ExpressionPtr k)> left_at, right_at;
  std::function<ExpressionPtr(const Indices& row, ExpressionPtr sum)> term = nullptr;
  bool takes_norm = false;  // left_at is all indices of the row but the last, then k, so a norm may be fused
};

void lower_product(Lowering& l, const Node& node, const Matmul& matmul) {
  l.store_if_expensive(matmul.right, kOperandCalls);
  auto normed = matmul.takes_norm ? l.draft_after_norm(matmul.left, matmul.right, matmul.depth, matmul.rows.back())
                                  : std::nullopt;
  if (!normed) l.store_if_expensive(matmul.left, kOperandCalls);
  Draft draft = normed ? std::move(normed->draft) : l.draft(matmul.rows, {matmul.depth});
  const ExpressionPtr a =
      normed ? normed->element : l.element(matmul.left, matmul.left_at(draft.rows, draft.columns[0]));
  const ExpressionPtr b = l.element(matmul.right, matmul.right_at(draft.rows, draft.columns[0]));
  ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, mul(l.pool(), a, b));
  if (matmul.term) sum = matmul.term(draft.rows, sum);
  const Indices at = draft.rows;
  l.finish(std::move(draft), {{node.result(), at, l.pool().rounded(sum, node.result()->dtype())}});
}

// Layers that read one operand, as one layer: the rows of its weights are those of all layers.
void lower_joined(Lowering& l, const JoinedLinears& joined) {
  const Value* const x = joined.members[0]->tensor("input");
  const DType dtype = joined.members[0]->result()->dtype();
  const Sym depth = x->sizes().back();
  compiler::Sizes rows = x->sizes();
  rows.back() = 0;
  for (const Node* member : joined.members) rows.back() = rows.back() + member->tensor("weight")->sizes()[0];
  auto normed = l.draft_after_norm(x, nullptr, depth, rows.back());
  if (!normed) l.store_if_expensive(x, kOperandCalls);
  Draft draft = normed ? std::move(normed->draft) : l.draft(rows, {depth});
  Indices at(draft.rows.begin(), draft.rows.end() - 1);
  at.push_back(draft.columns[0]);
  const ExpressionPtr a = normed ? normed->element : l.element(x, at), line = draft.rows.back();
  const auto weight = l.constant_elements(joined_weights(joined), dtype);
  ExpressionPool& pool = l.pool();
  const ExpressionPtr b = weight(pool.add(pool.multiply(line, pool.index(depth)), draft.columns[0]));
  ExpressionPtr sum = l.reduce(draft, ReductionKind::sum, mul(pool, a, b));
  if (joined.has_bias) sum = add(pool, sum, l.constant_elements(joined_biases(joined), dtype)(line));
  const Indices result = draft.rows;
  l.finish_joined(std::move(draft), joined, result, pool.rounded(sum, dtype));
}

void lower_linear(Lowering& l, const Node& node) {
  if (const JoinedLinears* joined = l.joined()) return lower_joined(l, *joined);
  const Value *x = node.tensor("input"), *w = node.tensor("weight"), *bias = node.optional_tensor("bias");
  Matmul matmul{x, w, node.result()->sizes(), x->sizes().back(), nullptr, nullptr};
  matmul.left_at = [](const Indices& row, ExpressionPtr k) {
    Indices at(row.begin(), row.end() - 1);
    at.push_back(k);
    return at;
  };
  matmul.right_at = [](const Indices& row, ExpressionPtr k) { return Indices{row.back(), k}; };
  matmul.takes_norm = w->rank() == 2;
  if (w->rank() == 1) {  // one output, and no dimension for it
    matmul.left_at = [](const Indices& row, ExpressionPtr k) {
      Indices at = row;
      at.push_back(k);
      return at;
    };
    matmul.right_at = [](const Indices&, ExpressionPtr k) { return Indices{k}; };
  }
  if (bias) {
    matmul.term = [&l, &node, bias](const Indices& row, ExpressionPtr sum) {
      return add(l.pool(), sum, l.element(bias, l.broadcast(*bias, row, node.result()->sizes())));
    };
  }
  lower_product(l, node, matmul);
}

void lower_batches(Lowering& l, const Node& node) {
  const Value *a = node.tensor("self"), *b = node.tensor("mat2");
  Matmul matmul{a, b, node.result()->sizes(), a->sizes().back(), nullptr, nullptr};
  matmul.left_at = [](const Indices& row, ExpressionPtr k) {
    Indices at(row.begin(), row.end() - 1);
    at.push_back(k);
    return at;
  };
  matmul.right_at = [](const Indices& row, ExpressionPtr k) {
    Indices at(row.begin(), row.end() - 2);
    at.push_back(k);
    at.push_back(row.back());
    return at;
  };
  lower_product(l, node, matmul);
}

// beta * self + alpha * (mat1 x mat2). If beta is 0, self is not read.
void lower_addmm(Lowering& l, const Node& node) {
  const Value *self = node.tensor("self"), *a = node.tensor("mat1"), *b = node.tensor("mat2");
  Matmul matmul{a, b, node.result()->sizes(), a->sizes().back(), nullptr, nullptr};
  matmul.left_at = [](const Indices& row, ExpressionPtr k) { return Indices{row[0], k}; };
  matmul.right_at = [](const Indices& row, ExpressionPtr k) { return Indices{k, row[1]}; };
  matmul.term = [&l, &node, self](const Indices& row, ExpressionPtr sum) {
    ExpressionPool& pool = l.pool();
    const Arg &alpha = node.arg("alpha"), &beta = node.arg("beta");
    if (compiler::literal(alpha) != 1.0) sum = mul(pool, l.scalar(alpha, sum->type), sum);
    if (compiler::literal(beta) == 0.0) return sum;
    ExpressionPtr term = pool.cast(l.element(self, l.broadcast(*self, row, node.result()->sizes())), sum->type);
    if (compiler::literal(beta) != 1.0) term = mul(pool, l.scalar(beta, sum->type), term);
    return add(pool, term, sum);
  };
  lower_product(l, node, matmul);
}

constexpr char kDoNotMeet[] = "the sizes of its operands do not agree";
void linear_needs(const Node& node, SizeRequirements& out) {
  const Sizes& weight = node.tensor("weight")->sizes();
  out.push_back(equal(node.tensor("input")->sizes().back(), weight.back(), kDoNotMeet));
  const Value* bias = node.optional_tensor("bias");
  if (bias && bias->rank() == 1) out.push_back(broadcasts(bias->sizes()[0], node.result()->sizes().back()));
}
void product_needs(const Node& node, SizeRequirements& out) {
  if (node.is("aten.addmm.default")) {
    const Sizes &own = node.tensor("self")->sizes(), &wide = node.result()->sizes();
    for (size_t i = 0; i < own.size(); ++i) out.push_back(broadcasts(own[i], wide[wide.size() - own.size() + i]));
  }
  const Value *a = node.tensor(node.is("aten.addmm.default") ? "mat1" : "self"), *b = node.tensor("mat2");
  const size_t rank = a->rank();
  out.push_back(equal(a->sizes()[rank - 1], b->sizes()[rank - 2], kDoNotMeet));
  if (rank == 3) out.push_back(equal(a->sizes()[0], b->sizes()[0], kDoNotMeet));
}

constexpr OpRule kMatmulRows[] = {
    needing(whole(rereading({"aten.linear.default", lower_linear})), linear_needs),
    needing(rereading({"aten.mm.default", lower_batches}), product_needs),
    needing(rereading({"aten.bmm.default", lower_batches}), product_needs),
    needing(rereading({"aten.addmm.default", lower_addmm}), product_needs),
};

}  // namespace

const Span<const OpRule> kMatmulRules{kMatmulRows};

}  // namespace wick::cuda
