#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Changed;
using compiler::Graph;
using compiler::Ints;
using compiler::Node;
using compiler::Result;
using compiler::Value;

namespace {

// The padding with zeros that feeds a convolution; null if there is none.
const Node* padding_of(const Node& convolution) {
  const Value* x = convolution.tensor("input");
  const Node* pad = x->producer;
  if (!pad || !pad->is("aten.constant_pad_nd.default") || compiler::literal(pad->arg("value")) != 0.0) return nullptr;
  const Value* from = pad->tensor("self");
  if (!has_elements(*x) || !has_elements(*from)) return nullptr;
  return x->dtype() == from->dtype() && same_numbers(affine(*x), affine(*from)) ? pad : nullptr;
}

// The convolution's padding that replaces both its own and that of `pad`; empty if there is none. Kernels pad both ends
// of a dimension alike, so the end may get more padding only where no window reaches it.
Ints whole_padding(const Node& convolution, const Node& pad) {
  const Value *x = pad.tensor("self"), *weight = convolution.tensor("weight"), *y = convolution.result();
  const size_t spatial = x->rank() - 2;
  const std::vector<int64_t> pads = pad.static_ints("pad"), stride = convolution.static_ints("stride");
  const std::vector<int64_t> own = convolution.static_ints("padding"), dilation = convolution.static_ints("dilation");
  const auto along = [](const std::vector<int64_t>& list, size_t axis) {
    return list.size() == 1 ? list[0] : list[axis];
  };
  if (pads.size() > 2 * spatial) return {};
  Ints padding;
  for (size_t axis = 0; axis < spatial; ++axis) {
    const size_t at = 2 * (spatial - 1 - axis);  // the last dimension comes first
    const int64_t before = at < pads.size() ? pads[at] : 0, after = at < pads.size() ? pads[at + 1] : 0;
    if (before < 0 || after < 0) return {};
    const int64_t both = along(own, axis) + before;
    const int64_t span = along(dilation, axis) * (weight->sizes()[2 + axis].value() - 1) + 1;
    const int64_t positions = (x->sizes()[2 + axis].value() + 2 * both - span) / along(stride, axis) + 1;
    if (positions != y->sizes()[2 + axis].value()) return {};
    padding.push_back(both);
  }
  return padding;
}

bool absorb(Graph& graph, Node& node) {
  if (!node.is("aten.convolution.default") || node.boolean("transposed")) return false;
  const Node* pad = padding_of(node);
  if (!pad || !is_known_but_batch(*pad->tensor("self"))) return false;
  const Ints padding = whole_padding(node, *pad);
  if (padding.empty()) return false;
  compiler::Args args = node.args();
  args[0] = pad->tensor("self");
  args[static_cast<size_t>(node.op->parsed->find("padding"))] = padding;
  graph.rewrite(&node, *node.op, std::move(args));
  return true;
}

}  // namespace

// A convolution takes over the zero padding of its input.
//   before: p = constant_pad_nd(x, [1, 1, 1, 1], 0); y = convolution(p, w, padding = 0)
//   after:  y = convolution(x, w, padding = 1)
// Requires: quantization is in types. Keeps: every element, because windows begin at the same positions, and padding is
// 0 either way. Padding at one end only stays, unless no window reaches the other end.
Result<Changed> absorb_padding(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = absorb(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
