#include "backends/xnnpack/target.h"

#include "backends/xnnpack/lower.h"
#include "backends/xnnpack/op_rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Verdict;

namespace {

bool keep(const Node& node, const TargetOptions& options) { return supports(node, options).taken; }

bool moves_only(const Node& node) {
  const LayoutRule::Kind kind = find_rule(node)->layout(node).kind;
  return kind == LayoutRule::Kind::permute || kind == LayoutRule::Kind::view || kind == LayoutRule::Kind::select ||
         node.is("aten.slice.Tensor") || node.is("aten.expand.default");
}

// A call of a delegate costs more than a few views, which outside are often free.
Verdict worthwhile(const std::vector<const Node*>& nodes, const TargetOptions&) {
  for (const Node* node : nodes) {
    if (!moves_only(*node)) return Verdict::yes();
  }
  return Verdict::no("only moves elements: the call would cost more than it saves");
}

}  // namespace

const compiler::Target kTarget = {
    "xnnpack",
    kBackendId,
    keep,
    supports,
    worthwhile,
    lower,
    {"recognize_norms", "additive_masks", "split_linears", "fold_scale", "fold_norm_affine", "center_residual",
     "narrow_early"},
};

}  // namespace wick::xnnpack
