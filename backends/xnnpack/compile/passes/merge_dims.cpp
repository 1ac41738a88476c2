#include <algorithm>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::kPointwise;
using compiler::Node;
using compiler::Result;
using compiler::RuleFn;
using compiler::Sizes;
using compiler::Sym;
using compiler::TargetFacts;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

// Adjacent dimensions [begin, end) that become one in the rewritten node.
struct Run {
  size_t begin, end;
};

Sizes merged(const Sizes& sizes, const std::vector<Run>& runs) {
  Sizes out;
  for (const Run& run : runs) {
    Sym size = 1;
    for (size_t dim = run.begin; dim < run.end; ++dim) size = size * sizes[dim];
    out.push_back(size);
  }
  return out;
}

// --- permute ---

// Runs of the operand's dimensions that stay adjacent, in the order of the result. Dimensions of size 1 belong to no
// run.
std::vector<Run> runs_that_stay(const Sizes& sizes, const std::vector<size_t>& order) {
  std::vector<Run> runs;
  for (const size_t dim : order) {
    if (sizes[dim].is(1)) continue;
    const bool next =
        !runs.empty() && runs.back().end <= dim &&
        std::all_of(sizes.begin() + static_cast<ptrdiff_t>(runs.back().end),
                    sizes.begin() + static_cast<ptrdiff_t>(dim), [](const Sym& size) { return size.is(1); });
    if (next)
      runs.back().end = dim + 1;
    else
      runs.push_back({dim, dim + 1});
  }
  return runs;
}

Value* merge_permute(Builder& b, Node& node, size_t max_rank) {
  if (!node.is("aten.permute.default") || node.result()->rank() <= max_rank) return nullptr;
  Value* x = node.tensor("self");
  std::vector<size_t> order;
  for (const int64_t dim : node.static_ints("dims")) order.push_back(static_cast<size_t>(wrap_dim(dim, x->rank())));
  const std::vector<Run> runs = runs_that_stay(x->sizes(), order);
  if (runs.size() > max_rank) return nullptr;
  std::vector<Run> in_memory = runs;
  std::sort(in_memory.begin(), in_memory.end(), [](const Run& a, const Run& c) { return a.begin < c.begin; });
  std::vector<int64_t> dims;
  for (const Run& run : runs) {
    const auto same = [&](const Run& other) { return other.begin == run.begin; };
    dims.push_back(std::find_if(in_memory.begin(), in_memory.end(), same) - in_memory.begin());
  }
  return b.reshape(b.permute(b.reshape(x, merged(x->sizes(), in_memory)), dims), node.result()->sizes());
}

// --- pointwise operators and expand ---

// The operand's sizes with ones in front up to `rank`.
Sizes aligned(const Value& operand, size_t rank) {
  Sizes sizes(rank - operand.rank(), 1);
  sizes.insert(sizes.end(), operand.sizes().begin(), operand.sizes().end());
  return sizes;
}

// Runs of dimensions in which each operand has either all sizes of the result or ones only.
std::vector<Run> runs_of_broadcast(const Sizes& result, const std::vector<Sizes>& operands) {
  std::vector<Run> runs;
  size_t last = 0;  // the dimension before that is not 1
  for (size_t dim = 0; dim < result.size(); ++dim) {
    if (result[dim].is(1)) continue;
    const bool alike = !runs.empty() && std::all_of(operands.begin(), operands.end(), [&](const Sizes& sizes) {
      return sizes[dim].is(1) == sizes[last].is(1);
    });
    if (alike)
      runs.back().end = dim + 1;
    else
      runs.push_back({dim, dim + 1});
    last = dim;
  }
  return runs;
}

Value* merge_broadcast(Builder& b, Node& node, size_t max_rank) {
  const bool expand = node.is("aten.expand.default");
  if ((!expand && !node.op->has(kPointwise)) || node.results().size() != 1) return nullptr;
  const Sizes& result = node.result()->sizes();
  if (result.size() <= max_rank) return nullptr;
  std::vector<Sizes> operands;
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor() || operand->rank() > result.size()) return nullptr;
    operands.push_back(aligned(*operand, result.size()));
    for (size_t dim = 0; dim < result.size(); ++dim) {
      if (operands.back()[dim] != result[dim] && !operands.back()[dim].is(1)) return nullptr;
    }
  }
  const std::vector<Run> runs = runs_of_broadcast(result, operands);
  if (runs.size() > max_rank) return nullptr;
  Args args = node.args();
  size_t next = 0;
  for (Arg& arg : args) {
    if (arg.is<Value*>()) arg = b.reshape(arg.as<Value*>(), merged(operands[next++], runs));
    if (arg.is<Values>()) return nullptr;
  }
  Value* out = expand ? b.expand(args[0].as<Value*>(), merged(result, runs)) : b.call(node.op->name(), std::move(args));
  return b.reshape(out, result);
}

}  // namespace

// Merges dimensions that a permute or a broadcasting operator treats alike, if a tensor has more than the target takes.
// With a limit of six:
//   before: y = permute(x: [1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 2, 4, 5, 6])
//   after:  y = view(permute(view(x, [2, 3, 4, 210]), [0, 2, 1, 3]), [1, 2, 4, 3, 5, 6, 7])
// Requires: canonical forms.
// Ensures: nodes within the limit do not change. Views with more dimensions remain between the rewritten nodes.
// Keeps: every element.
Result<Changed> merge_dims(Graph& graph, const TargetFacts& facts) {
  const std::vector<RuleFn> rules = {
      [&](Builder& b, Node& node) { return merge_permute(b, node, facts.max_rank); },
      [&](Builder& b, Node& node) { return merge_broadcast(b, node, facts.max_rank); },
  };
  return for_each_graph(graph, [&](Graph& g) { return rewrite_nodes(g, rules); });
}

}  // namespace wick::xnnpack
