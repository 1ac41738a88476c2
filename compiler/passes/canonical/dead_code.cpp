#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {

// Erases nodes whose results nobody reads.
//   before: y = exp(x); z = neg(x); return z          after: z = neg(x); return z
// Ensures: each node has an effect or a result that is read. Unread results of such a node stay.
// Keeps: inputs, states and updates; nodes with an effect, and control flow around them; and numbers and sizes read
// from data if an expression names their symbol.
Result<Changed> dead_code(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    std::vector<Node*> all = g.node_list();
    return erase_unread(g, all);
  });
}

}  // namespace wick::compiler
