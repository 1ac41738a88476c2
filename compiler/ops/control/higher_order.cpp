// Operators with sub-graphs, the call of a delegate, and arithmetic on numbers that only exist at run time.
#include "compiler/ops/families.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

const Type& output_type(const Graph& graph, size_t index) {
  const GraphOutput& output = graph.outputs[index];
  if (output.kind != GraphOutput::Kind::value || !output.value->type.is_tensor())
    reject("a branch or loop body returns something that is not a tensor");
  return output.value->type;
}

void require_graphs(const Node& node, size_t count, size_t outputs_of_last) {
  if (node.graphs.size() != count) reject(fmt::format("{} needs {} sub-graphs", node.op->name(), count));
  if (node.graphs.back()->outputs.size() != outputs_of_last) {
    reject(fmt::format("the body of {} returns {} values, not {}", node.op->name(), node.graphs.back()->outputs.size(),
                       outputs_of_last));
  }
}

void require_same_kind(const Type& a, const Type& b) {
  if (a.tensor.dtype != b.tensor.dtype || a.tensor.rank() != b.tensor.rank()) {
    reject(fmt::format("a branch or loop body returns {} where {} is wanted", to_text(b), to_text(a)));
  }
}

// A size on which the branches agree is known; any other one keeps the file's symbol.
void infer_cond(Node& node) {
  require_graphs(node, 2, node.results().size());
  if (node.graphs[0]->outputs.size() != node.results().size())
    reject("the branches of cond return different numbers of values");
  for (size_t i = 0; i < node.results().size(); ++i) {
    const Type &a = output_type(*node.graphs[0], i), &b = output_type(*node.graphs[1], i);
    require_same_kind(a, b);
    Type& type = node.result(i)->type;
    const bool preset = type.is_tensor() && type.tensor.rank() == a.tensor.rank();
    Sizes sizes = a.tensor.sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == b.tensor.sizes[d]) continue;
      if (!preset) reject("the branches of cond return different sizes");
      sizes[d] = type.tensor.sizes[d];
    }
    set_result(node, i, a.tensor.dtype, std::move(sizes));
  }
}

void infer_while_loop(Node& node) {
  const Values carried = node.tensors("carried_inputs");
  require_graphs(node, 2, carried.size());
  if (carried.size() != node.results().size())
    reject("while_loop returns a different number of values than it carries");
  for (size_t i = 0; i < carried.size(); ++i) {
    require_same_kind(carried[i]->type, output_type(*node.graphs[1], i));
    set_result(node, i, carried[i]->dtype(), carried[i]->sizes());
  }
}

void infer_stacked(Node& node, const Values& init, const Values& xs) {
  require(!xs.empty(), "a scan over nothing");
  require_graphs(node, 1, node.results().size());
  for (const Value* x : xs) require(x && x->rank() > 0, "a scan over a scalar");
  require(node.results().size() >= init.size(), "a scan returns fewer values than it carries");
  for (size_t i = 0; i < node.results().size(); ++i) {
    const Type& body = output_type(*node.graphs[0], i);
    if (i < init.size()) {
      require_same_kind(init[i]->type, body);
      set_result(node, i, init[i]->dtype(), init[i]->sizes());
      continue;
    }
    Sizes sizes = body.tensor.sizes;
    sizes.insert(sizes.begin(), xs[0]->sizes()[0]);
    set_result(node, i, body.tensor.dtype, std::move(sizes));
  }
}

void infer_scan_loop(Node& node) { infer_stacked(node, node.tensors("init"), node.tensors("xs")); }
void infer_map(Node& node) { infer_stacked(node, {}, node.tensors("xs")); }

// The partitioner sets the types of the results: those of the nodes that the delegate replaces.
void infer_call_delegate(Node& node) {
  for (const Value* result : node.results()) {
    if (!result->type.is_tensor()) reject("a delegate returns tensors");
  }
}

void infer_number(Node& node) {
  if (node.results().size() != 1) reject("arithmetic on numbers has one result");
  if (node.result()->type.is_tensor()) node.result()->type = Type::real();
}

}  // namespace

#define NUMBER(name, args) \
  {"executorch_prim::" name ".Scalar(" args ") -> Scalar", infer_number, nullptr, "executorch_prim::" name ".Scalar"}
#define BINARY_NUMBER(name) NUMBER(name, "Scalar a, Scalar b")
#define UNARY_NUMBER(name) NUMBER(name, "Scalar a")
const OpDef kHigherOrderRows[] = {
    {"higher_order::cond(Tensor pred, Tensor[] operands) -> Tensor[]", infer_cond, nullptr, nullptr,
     kElements | kNoKernel},
    {"higher_order::while_loop(Tensor[] carried_inputs, Tensor[] additional_inputs) -> Tensor[]", infer_while_loop,
     nullptr, nullptr, kElements | kNoKernel},
    {"higher_order::scan(Tensor[] init, Tensor[] xs, Tensor[] additional_inputs) -> Tensor[]", infer_scan_loop, nullptr,
     nullptr, kElements | kNoKernel},
    {"higher_order::map_impl(Tensor[] xs, Tensor[] additional_inputs) -> Tensor[]", infer_map, nullptr, nullptr,
     kElements | kNoKernel},
    {"wick::call_delegate(Tensor[] inputs, int delegate) -> Tensor[]", infer_call_delegate, nullptr, nullptr,
     kElements | kNoKernel},
    {"wick::call_delegate.stateful(Tensor[] inputs, int delegate) -> Tensor[]", infer_call_delegate, nullptr, nullptr,
     kElements | kNoKernel | kEffect},
    BINARY_NUMBER("add"),
    BINARY_NUMBER("sub"),
    BINARY_NUMBER("mul"),
    BINARY_NUMBER("floordiv"),
    BINARY_NUMBER("truediv"),
    BINARY_NUMBER("eq"),
    BINARY_NUMBER("lt"),
    BINARY_NUMBER("le"),
    BINARY_NUMBER("gt"),
    BINARY_NUMBER("ge"),
    BINARY_NUMBER("sym_max"),
    BINARY_NUMBER("sym_min"),
    UNARY_NUMBER("sym_float"),
    UNARY_NUMBER("neg"),
    UNARY_NUMBER("ceil"),
    UNARY_NUMBER("round"),
    UNARY_NUMBER("trunc"),
    UNARY_NUMBER("sym_not"),
    NUMBER("sym_ite", "Scalar b, Scalar t, Scalar f"),
};
const size_t kHigherOrderCount = std::size(kHigherOrderRows);

}  // namespace wick::compiler
