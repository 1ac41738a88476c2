#include "backends/xnnpack/compile/target.h"

#include <algorithm>
#include <unordered_set>

#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/ops/op_rules.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/quantized.h"
#include "compiler/layout/dim_order.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Verdict;

namespace {

// A matmul decomposes to one over a single batch dimension, which the passes know. With several sizes known only at run
// time, the views around that one could not be taken, so the matmul stays.
Verdict keep(const Node& node, const TargetContext& context) {
  if (node.is("aten._safe_softmax.default")) return Verdict::no("");  // additive_masks handles its guard
  if (node.is("aten.matmul.default")) {
    size_t unknown = num_symbolic(dims_of(*node.result()));
    for (const compiler::Value* operand : node.operands()) unknown = std::max(unknown, num_symbolic(dims_of(*operand)));
    if (unknown < 2) return Verdict::no("");
  }
  return may_fold(node, context) || supports(node, context).taken ? Verdict::yes() : Verdict::no("");
}

bool moves_only(const Node& node) {
  const LayoutRule::Kind kind = find_rule(node)->layout(node).kind;
  return kind == LayoutRule::Kind::permute || kind == LayoutRule::Kind::view || kind == LayoutRule::Kind::select ||
         find_rule(node)->converts || node.is("aten.slice.Tensor") || node.is("aten.expand.default") ||
         node.op->has(compiler::kMoves);
}

bool prepares_constant(const Node& node) {
  return node.is("wick.convert.default") && quantized_constant(*node.operands()[0]);
}

// A view of several sizes known only at run time is a copy in a delegate, but free outside.
bool is_costly_view(const Node& node) {
  return node.is("aten.view.default") && num_symbolic(dims_of(*node.result())) > 1;
}

// The costly views at the border of a partition: no node inside computes their operand, or none reads their result.
std::vector<const Node*> border_views(const std::vector<const Node*>& nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  const auto is_inside = [&](const Node* node) { return inside.count(node) != 0; };
  std::vector<const Node*> out;
  for (const Node* node : nodes) {
    if (!is_costly_view(*node)) continue;
    const auto& users = node->result()->users();
    const bool first = !is_inside(node->operands()[0]->producer);
    if (first || std::none_of(users.begin(), users.end(), is_inside)) out.push_back(node);
  }
  return out;
}

bool is_plain_f32(const compiler::Value& value) { return value.dtype() == DType::f32 && !value.is_quantized(); }

bool costs_more(const Node& node) {
  const OpRule& rule = *find_rule(node);
  return rule.costs_more && is_plain_f32(*node.result()) && rule.costs_more(node);
}

bool costs_same(const Node& node) { return find_rule(node)->costs_same && is_plain_f32(*node.result()); }

// A call of a delegate costs as much as the work on this many elements.
constexpr int64_t kElementsOfCall = int64_t{1} << 14;
// Caches hold a value of this many elements between the operator that writes it and the one that reads it.
constexpr int64_t kCachedElements = int64_t{1} << 18;

bool works_on_many(const Node& node) {
  const auto operands = node.operands();
  return compiler::layout::elements(node.result()->sizes()) > kElementsOfCall ||
         std::any_of(operands.begin(), operands.end(), [](const compiler::Value* operand) {
           return operand->type.is_tensor() && compiler::layout::elements(operand->sizes()) > kElementsOfCall;
         });
}

// A call of a delegate costs more than a few views, which are often free outside. It saves nothing if the library is
// slower than the portable kernels at everything that it computes. If the library is slower at some nodes and as fast
// at the others, the slower nodes count once they have more elements than a call costs. If it is as fast at all of
// them, large values between them count: outside a delegate they share memory with the results.
Verdict profitable(const std::vector<const Node*>& nodes, const TargetContext&) {
  std::vector<const Node*> views = border_views(nodes);
  if (!views.empty()) return {false, "a view at the border of a delegate, which is free outside", std::move(views)};
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  bool computes = false, all_cost_more = true, slower = false, spills = false;
  for (const Node* node : nodes) {
    const auto& users = node->result()->users();
    const bool is_between =
        std::any_of(users.begin(), users.end(), [&](const Node* user) { return inside.count(user) != 0; });
    spills = spills || (is_between && compiler::layout::elements(node->result()->sizes()) > kCachedElements);
    if (moves_only(*node)) continue;
    computes = true;
    const bool more = costs_more(*node);
    if (!more && !costs_same(*node)) return Verdict::yes();
    all_cost_more = all_cost_more && more;
    slower = slower || (more && works_on_many(*node));
  }
  if (!computes)
    return Verdict::no("the partition only moves or converts elements: calling it would cost more than it saves");
  if (all_cost_more)
    return Verdict::no("the partition holds only what the library computes slower than portable kernels");
  if (slower)
    return Verdict::no(
        "the library computes some nodes of the partition slower than portable kernels, and none faster");
  if (spills)
    return Verdict::no(
        "the library computes no node of the partition faster than portable kernels, and would need more memory for "
        "the large values between them");
  return Verdict::yes();
}

constexpr compiler::TargetOption kOptions[] = {kGroupScales};

}  // namespace

const compiler::Target kTarget = {
    .name = "xnnpack",
    .by_default = true,
    .partition = {.keep = keep,
                  .supports = supports,
                  .profitable = profitable,
                  .prepares_constant = prepares_constant,
                  .light_elements = kElementsOfCall,
                  .folds_where_taken = true},
    .passes = {.names = {"captured_constants",  "recognize_quantization",
                         "mask_groups",         "respell",
                         "complex_as_pairs",    "gather_by_slices",
                         "cancel_permutations", "merge_dims",
                         "recognize_linears",   "recognize_norms",
                         "additive_masks",      "invert_exponentials",
                         "defer_row_writes",    "scatter_by_slices",
                         "split_linears",       "fold_scale",
                         "fold_norm_affine",    "center_residual",
                         "gather_by_products",  "scatter_by_products",
                         "arithmetic_selects",  "band_by_slices",
                         "quantize_by_rows",    "interleave_by_products",
                         "split_rows_early",    "avoid_views",
                         "narrow_early",        "merge_parts",
                         "block_attention",     "signed_elements",
                         "fold_quantization"},
               .own = own_passes(),
               .facts = {.max_rank = kMaxRank, .max_unknown_view_sizes = 1}},
    .delegate = {.id = kBackendId, .lower = lower, .is_stocks = true},
    .options = {.list = kOptions},
};

}  // namespace wick::xnnpack
