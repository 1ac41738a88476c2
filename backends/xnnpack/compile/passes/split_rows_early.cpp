#include <algorithm>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Changed;
using compiler::Gemm;
using compiler::Graph;
using compiler::Ints;
using compiler::kPointwise;
using compiler::kReduction;
using compiler::Node;
using compiler::Result;
using compiler::RuleFn;
using compiler::Sizes;
using compiler::Sym;
using compiler::TargetFacts;
using compiler::Value;
using compiler::wrap_dim;

namespace {

constexpr int kMaxDepthOfRows = 32;

size_t count_unknown(const Sizes& sizes) {
  return static_cast<size_t>(
      std::count_if(sizes.begin(), sizes.end(), [](const Sym& size) { return !size.is_const(); }));
}

Sizes without_first(const Sizes& sizes) { return {sizes.begin() + 1, sizes.end()}; }
Sizes joined_sizes(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Nodes between numbers and positions stay outside of delegates, where a view costs nothing.
bool is_outside(const Node& node) {
  const auto is_other = [](const Value* value) { return !value->type.is_tensor() || !is_floating(value->dtype()); };
  const auto operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), is_other) ||
         std::any_of(node.results().begin(), node.results().end(), is_other);
}

// Splits the first dimension of values into several, from a view back to where the rows come from.
class RowSplitter {
 public:
  explicit RowSplitter(Builder& b) : b_(b) {}

  // Whether all that the rows of `value` come from can be split, at most `depth` nodes before it.
  bool can(const Value* value, const Sizes& lead, int depth = kMaxDepthOfRows) const {
    const Node* node = value->producer;
    if (!node) return !value->is_constant();
    if (is_outside(*node) || is_split(*node, lead)) return true;
    if (depth == 0 || value->num_uses() != 1 || node->results().size() != 1) return false;
    if (node->is("aten.view.default")) {
      const auto further = lead_of(*node, lead);
      return further && can(node->tensor("self"), *further, depth - 1);
    }
    if (!splits(*node)) return false;
    const auto operands = node->operands();
    return std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
      return has_rows(*operand, *value) ? can(operand, lead, depth - 1) : lines_up(*operand, *value);
    });
  }

  Value* split(Value* value, const Sizes& lead) {
    Node* node = value->producer;
    if (!node || is_outside(*node)) return b_.reshape(value, joined_sizes(lead, without_first(value->sizes())));
    if (is_split(*node, lead)) return node->tensor("self");
    if (node->is("aten.view.default")) {
      const Sizes further = *lead_of(*node, lead);
      return b_.reshape(split(node->tensor("self"), further), joined_sizes(lead, without_first(value->sizes())));
    }
    Args args = node->args();
    for (size_t i = 0; i < args.size(); ++i) {
      Value* operand = node->tensor_or_null(i);
      if (operand && has_rows(*operand, *value)) args[i] = split(operand, lead);
    }
    const int64_t more = static_cast<int64_t>(lead.size()) - 1;
    if (node->op->has(kReduction) || is_softmax(*node)) {
      Arg& along = args[static_cast<size_t>(node->op->parsed->find("dim"))];
      Ints dims;
      for (const int64_t dim : dims_of(*node)) dims.push_back(dim + more);
      along = along.is<Ints>() ? Arg(dims) : Arg(dims[0]);
    }
    Value* out = b_.call(node->op->name(), std::move(args));
    add_origins(*out->producer, *node);
    return out;
  }

 private:
  // The operators that treat rows alike.
  static bool splits(const Node& node) {
    if (node.op->has(kPointwise)) return true;
    if (const Gemm& gemm = node.op->facts.gemm)
      return gemm.rank == 2 && gemm.turns && node.tensor_or_null(gemm.right)->is_constant();
    const std::vector<int64_t> dims =
        node.op->has(kReduction) || is_softmax(node) ? dims_of(node) : std::vector<int64_t>();
    return !dims.empty() && std::find(dims.begin(), dims.end(), 0) == dims.end();
  }

  // The dimensions that a softmax, or a reduction with a list of them, works along.
  static std::vector<int64_t> dims_of(const Node& node) {
    const int place = node.op->parsed->find("dim");
    std::vector<int64_t> dims;
    if (is_softmax(node))
      dims.push_back(node.static_integer("dim"));
    else if (place >= 0 && node.arg(static_cast<size_t>(place)).is<Ints>())
      dims = node.static_ints("dim");
    for (int64_t& dim : dims) dim = wrap_dim(dim, node.tensor_or_null(0)->rank());
    return dims;
  }

  // A view that merges what would be split again.
  static bool is_split(const Node& node, const Sizes& lead) {
    return node.is("aten.view.default") &&
           node.tensor("self")->sizes() == joined_sizes(lead, without_first(node.result()->sizes()));
  }

  static bool has_rows(const Value& operand, const Value& result) {
    return operand.rank() > 0 && (operand.rank() == result.rank() || result.producer->op->has(kReduction)) &&
           operand.sizes()[0] == result.sizes()[0] && !operand.sizes()[0].is(1);
  }
  // Broadcasts over the first dimensions, whatever their number; or a weight.
  static bool lines_up(const Value& operand, const Value& result) {
    return operand.is_constant() || operand.rank() < result.rank() ||
           (operand.rank() == result.rank() && operand.sizes()[0].is(1));
  }

  static Sizes without_last_ones(Sizes sizes) {
    while (sizes.size() > 1 && sizes.back().is(1)) sizes.pop_back();
    return sizes;
  }

  // How the first dimension of a view's operand is split, if the first one of its result becomes `lead`.
  static std::optional<Sizes> lead_of(const Node& view, const Sizes& lead) {
    if (view.tensor("self")->rank() == 0) return std::nullopt;
    const Sizes from = without_last_ones(view.tensor("self")->sizes()),
                to = without_last_ones(joined_sizes(lead, without_first(view.result()->sizes())));
    if (from.size() > to.size()) return std::nullopt;
    const auto cut = to.end() - static_cast<ptrdiff_t>(from.size() - 1);
    if (!std::equal(cut, to.end(), from.begin() + 1)) return std::nullopt;
    const Sizes further(to.begin(), cut);
    return numel(further) == from[0] ? std::optional(further) : std::nullopt;
  }

  Builder& b_;
};

}  // namespace

// Splits rows of several sizes known only at run time where they come from outside of a delegate, not behind operators
// that treat rows alike: a view there would be a graph break.
//   before: x = index(..); y = view(relu(x: [s0 s1, 8]), [s0, s1, 8])        after: y = relu(view(x, [s0, s1, 8]))
// Works through pointwise operators, linear, softmax, reductions and views. Changes nothing unless all operands come
// from nodes that read or give integers or booleans, from inputs, or from rows that a view has merged. Requires:
// canonical forms.  Keeps: every element.
Result<Changed> split_rows_early(Graph& graph, const TargetFacts& facts) {
  const auto early = [&facts](Builder& b, Node& node) -> Value* {
    if (!node.is("aten.view.default") || count_unknown(node.result()->sizes()) <= facts.max_unknown_view_sizes)
      return nullptr;
    Value* x = node.tensor("self");
    const Sizes &from = x->sizes(), &to = node.result()->sizes();
    if (!is_floating(x->dtype()) || from.empty() || from.size() >= to.size() || !x->producer ||
        is_outside(*x->producer) || x->producer->is("aten.view.default"))
      return nullptr;
    const Sizes lead(to.begin(), to.end() - static_cast<ptrdiff_t>(from.size() - 1));
    if (joined_sizes(lead, without_first(from)) != to || numel(lead) != from[0]) return nullptr;
    RowSplitter splitter(b);
    return splitter.can(x, lead) ? splitter.split(x, lead) : nullptr;
  };
  return for_each_graph(graph, [&](Graph& g) { return rewrite_nodes(g, std::vector<RuleFn>{early}); });
}

}  // namespace wick::xnnpack
