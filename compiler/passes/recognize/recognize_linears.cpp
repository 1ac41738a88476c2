#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

bool is_one(const Arg& arg) {
  const auto number = number_of(arg, DType::f64);
  return number && number->is(1);
}

// An mm or addmm with a constant matrix becomes a linear. The bias is one vector for all rows, constant or computed.
Value* linear_of_product(Builder& b, Node& node) {
  const bool adds = node.is("aten.addmm.default");
  if ((!adds && !node.is("aten.mm.default")) || !is_floating(node.result()->dtype())) return nullptr;
  Value *x = node.tensor(adds ? "mat1" : "self"), *weight = node.tensor("mat2");
  Value* bias = adds ? node.tensor("self") : nullptr;
  if (!weight->is_constant() || weight->is_quantized()) return nullptr;
  if (bias && (bias->rank() != 1 || bias->sizes()[0] != weight->sizes()[1] || bias->dtype() != x->dtype() ||
               !is_one(node.arg("beta")) || !is_one(node.arg("alpha"))))
    return nullptr;
  return b.call("aten.linear.default", {x, b.transpose(weight, 0, 1), bias ? Arg(bias) : Arg(None{})});
}

// linear(view(x)) = view(linear(x)) if the view only regroups rows.
Value* linear_of_rows(Builder& b, Node& node) {
  if (!node.is("aten.linear.default")) return nullptr;
  Value* x = node.tensor("input");
  if (!x->producer || !x->producer->is("aten.view.default")) return nullptr;
  Value* rows = moved(*x->producer);
  if (x->rank() < 2 || rows->rank() < 2 || !(rows->sizes().back() == x->sizes().back())) return nullptr;
  // Data movement in front of the view arranges windows or heads, which are whole only behind the view.
  if (rows->producer && moves_data(*rows->producer)) return nullptr;
  Args args = node.args();
  args[0] = rows;
  return b.reshape(b.call("aten.linear.default", std::move(args)), node.result()->sizes());
}

constexpr Rule kLinearRules[] = {linear_of_product, linear_of_rows};

}  // namespace

// Gives linear layers one form. Exporters decompose them to matmuls between views.
//   before: y = addmm(bias, view(x: [2, 3, 4], [6, 4]), w: [4, 5])
//   after:  y = view(linear(x, transpose(w), bias), [6, 5])
// Requires: constant weights; a bias for each column.  Ensures: the weights are constants still.  Keeps: every value.
Result<Changed> recognize_linears(Graph& graph, const PipelineOptions& options) {
  ASSIGN_OR_RETURN(const Changed changed,
                   for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kLinearRules)); }));
  if (changed == Changed::no) return Changed::no;
  // A matrix that several matmuls read is transposed once.
  RETURN_IF_ERROR(common_subexpressions(graph));
  ASSIGN_OR_RETURN(const Changed folded, fold_constants(graph, options.fold, options.release));
  return changed | folded;
}

}  // namespace wick::compiler
