#include "backends/xnnpack/compile/target.h"

#include <algorithm>
#include <unordered_set>

#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/ops/op_rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Verdict;

namespace {

// A matrix product over batches decomposes to one over a single batch dimension, which the passes know; with several
// sizes known only at run time the views around that one could not be taken.
Verdict keep(const Node& node, const TargetOptions& options) {
  if (node.is("aten._safe_softmax.default")) return Verdict::no("");  // additive_masks handles its guard
  if (node.is("aten.matmul.default")) {
    size_t unknown = num_symbolic(dims_of(*node.result()));
    for (const compiler::Value* operand : node.operands()) unknown = std::max(unknown, num_symbolic(dims_of(*operand)));
    if (unknown < 2) return Verdict::no("");
  }
  return may_fold(node, options) || supports(node, options).taken ? Verdict::yes() : Verdict::no("");
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

// A view of several sizes known only at run time is a copy in a delegate, and free outside.
bool is_costly_view(const Node& node) {
  return node.is("aten.view.default") && num_symbolic(dims_of(*node.result())) > 1;
}

// The costly views at the border: nobody else of the partition gives what they read, or reads what they give.
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

bool costs_more(const Node& node) {
  const OpRule& rule = *find_rule(node);
  return rule.costs_more && node.result()->dtype() == DType::f32 && !node.result()->is_quantized() &&
         rule.costs_more(node);
}

// A call of a delegate costs more than a few views, which outside are often free, and saves nothing if the library is
// slower than the portable kernels at all that it computes.
Verdict profitable(const std::vector<const Node*>& nodes, const TargetOptions&) {
  std::vector<const Node*> views = border_views(nodes);
  if (!views.empty()) return {false, "a view at the border of a delegate, which is free outside", std::move(views)};
  bool computes = false;
  for (const Node* node : nodes) {
    if (moves_only(*node)) continue;
    computes = true;
    if (!costs_more(*node)) return Verdict::yes();
  }
  if (computes) return Verdict::no("the partition holds only what the library computes slower than portable kernels");
  return Verdict::no("the partition only moves or converts elements: calling it would cost more than it saves");
}

constexpr compiler::TargetOption kOptions[] = {kGroupScales};

}  // namespace

const compiler::Target kTarget = {
    .name = "xnnpack",
    .id = kBackendId,
    .keep = keep,
    .supports = supports,
    .profitable = profitable,
    .lower = lower,
    .passes = {"captured_constants",  "recognize_quantization",
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
    .prepares_constant = prepares_constant,
    .options = kOptions,
    .facts = {.max_rank = kMaxRank, .max_unknown_view_sizes = 1},
    .folds_where_taken = true,
    .light_elements = uint64_t{1} << 14,
    .by_default = true,
    .is_stocks = true,
};

}  // namespace wick::xnnpack
