// A library of passes for the tests of `wick test-lower --load`.
#include "compiler/testing/pass_library.h"

namespace {

using wick::compiler::Changed;
using wick::compiler::ExtraPass;
using wick::compiler::Graph;
using wick::compiler::Phase;
using wick::compiler::Result;

Result<Changed> replace(Graph& graph, const char* from, const char* to) {
  Changed changed = Changed::no;
  for (const auto& node : graph.nodes()) {
    if (!node->is(from)) continue;
    graph.rewrite(node.get(), *wick::compiler::find_op(to), {node->operands()[0]});
    changed = Changed::yes;
  }
  return changed;
}

std::vector<ExtraPass> test_passes() {
  return {
      {"relu_to_abs", [](Graph& graph) { return replace(graph, "aten.relu.default", "aten.abs.default"); },
       Phase::target},
      {"abs_to_neg", [](Graph& graph) { return replace(graph, "aten.abs.default", "aten.neg.default"); },
       Phase::target},
  };
}

}  // namespace

WICK_PASS_LIBRARY(test_passes)
