#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {

// Erases nodes that nobody reads.
//   before: y = exp(x); z = neg(x); return z          after: z = neg(x); return z
// Ensures: each node has an effect, or a result that is read. Results of such a node that nobody reads stay.
// Keeps: inputs, states and updates; nodes with an effect, and control flow around one; numbers and sizes read from
// data whose symbol an expression names.
Result<Changed> dead_code(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    std::vector<Node*> all;
    for (const auto& node : g.nodes()) all.push_back(node.get());
    return erase_unread(g, all);
  });
}

}  // namespace wick::compiler
