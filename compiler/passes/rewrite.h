// Helpers for passes: they walk a graph while its nodes are replaced.
#pragma once
#include <functional>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler {

inline Changed operator|(Changed a, Changed b) { return a == Changed::yes ? a : b; }

bool is_one_of(const Node& node, std::initializer_list<std::string_view> names);
inline bool is_matmul_or_convolution(const Node& node) {
  return node.op->facts.gemm || node.is("aten.convolution.default");
}

/// f16 or f32.
inline bool is_half_or_single(const Value* x) { return x->dtype() == DType::f32 || x->dtype() == DType::f16; }

/// Adds the origins of `from` to those of `node`.
void add_origins(Node& node, const Node& from);

/// Calls fn(graph) for the graph and each graph nested in its nodes, inner ones first. A Failure becomes the result.
Result<Changed> for_each_graph(Graph& graph, const std::function<Changed(Graph&)>& fn);

/// Returns a value that may replace result 0 of `node`, made by `builder` before it, or null if the rule does not
/// match. Rules must terminate: applied to their own output, they stop matching after finitely many steps.
using Rule = Value* (*)(Builder& builder, Node& node);

using RuleFn = std::function<Value*(Builder& builder, Node& node)>;

/// Tries the rules, in order, on each node with one result, in graph order, and on the nodes that the rules make.
/// Erases replaced nodes and whatever only they have read.
Changed rewrite_nodes(Graph& graph, Span<const Rule> rules);
Changed rewrite_nodes(Graph& graph, const std::vector<RuleFn>& rules);

/// The values that replace the results of `node`, made by `builder` before it; null for results that nobody reads.
/// Empty: the node stays.
using Respelling = std::vector<Value*> (*)(Builder& builder, Node& node);

/// Applies the first respelling that matches to each node, in graph order; not to the nodes that they make. Erases
/// replaced nodes and whatever only they have read.
Changed respell_nodes(Graph& graph, Span<const Respelling> respellings);

/// Erases the candidates that nobody reads, and then what only they have read. The pointers are valid nodes of `graph`.
Changed erase_unread(Graph& graph, const std::vector<Node*>& candidates);

/// Whether the node, or one nested in it, has an effect besides its results.
bool has_effect(const Node& node);

}  // namespace wick::compiler
