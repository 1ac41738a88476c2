// Padding with reflected or repeated elements, as nearest upsampling: a choice of rows and columns of the image.
#include <algorithm>

#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Builder;
using compiler::Node;
using compiler::Sizes;
using compiler::Value;
using compiler::Verdict;

namespace rules_edge_padding {
namespace {

constexpr int kTapBits = 11;  // of the weights of resize2d, along each of two dimensions

bool reflects(const Node& node) { return node.op->name().starts_with("aten.reflection_pad"); }

std::optional<Requantization> factor_of(const Node& node) {
  return requantization(affine(*node.tensor("self")).scale / affine(*node.result()).scale / (1 << 2 * kTapBits));
}

// Whether portable kernels move the elements, because resize2d cannot.
bool is_moved(const Node& node, const Configuration& configuration) {
  return configuration.stock_only || computes_on_int16(node) || node.static_ints("padding").size() > 4;
}

Verdict supports_edge_padding(const Node& node, const Configuration& configuration) {
  const Value* x = node.tensor("self");
  const bool has_batch = x->rank() == node.static_ints("padding").size() / 2 + 2;
  if (!has_batch && !x->sizes()[0].is_const())
    return refused({"its channels are known only at run time", "export with a fixed number of channels"});
  if (is_moved(node, configuration)) return kMovementRule.supports(node, configuration);
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  return factor_of(node) ? Verdict::yes()
                         : refused({"the scale of its result is too far from that of its input", kNearerScale});
}

// {element, 0} for each position along a dimension of `size` elements.
std::vector<int32_t> taps_of(int64_t size, int64_t before, int64_t after, bool reflected) {
  std::vector<int32_t> taps;
  for (int64_t at = -before; at < size + after; ++at) {
    const int64_t inside = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
    taps.push_back(static_cast<int32_t>(reflected ? inside : std::clamp<int64_t>(at, 0, size - 1)));
    taps.push_back(0);
  }
  return taps;
}

std::vector<Value*> rewrite_edge_padding(Builder& b, Node& node, const Configuration& configuration) {
  if (is_moved(node, configuration)) return kMovementRule.rewrite(b, node, configuration);
  Value* x = node.tensor("self");
  const std::vector<int64_t> pads = node.static_ints("padding");  // the last dimension comes first
  const size_t spatial = pads.size() / 2, batched = spatial + 2;
  Sizes sizes = x->sizes();
  if (sizes.size() < batched) sizes.insert(sizes.begin(), 1);
  if (spatial == 1) sizes.insert(sizes.begin() + 2, 1);
  x = b.reshape(x, sizes);
  Args args = {x};
  for (size_t axis = 0; axis < 2; ++axis) {
    const size_t at = 2 * (1 - axis);
    const bool padded = at < pads.size();
    std::vector<int32_t> taps =
        taps_of(sizes[2 + axis].value(), padded ? pads[at] : 0, padded ? pads[at + 1] : 0, reflects(node));
    const auto count = static_cast<int64_t>(taps.size());
    args.push_back(constant(b, {count}, std::move(taps), axis == 0 ? "rows" : "columns"));
  }
  const Affine from = affine(*node.tensor("self")), to = affine(*node.result());
  const Requantization factor = *factor_of(node);
  for (const int64_t number : {int64_t{from.zero}, int64_t{factor.multiplier}, int64_t{factor.shift}, int64_t{to.zero},
                               int64_t{to.min}, int64_t{to.max}})
    args.push_back(number);
  return {b.reshape(b.call("wick_cortex_m.resize2d", std::move(args)), node.result()->sizes())};
}

constexpr OpRule kRules[] = {
    {"aten.reflection_pad1d.default", supports_edge_padding, rewrite_edge_padding, true, false, OpenSizes::batch},
    {"aten.reflection_pad2d.default", supports_edge_padding, rewrite_edge_padding, true, false, OpenSizes::batch},
    {"aten.reflection_pad3d.default", supports_edge_padding, rewrite_edge_padding, true, false, OpenSizes::batch},
    {"aten.replication_pad1d.default", supports_edge_padding, rewrite_edge_padding, true, false, OpenSizes::batch},
    {"aten.replication_pad2d.default", supports_edge_padding, rewrite_edge_padding, true, false, OpenSizes::batch},
    {"aten.replication_pad3d.default", supports_edge_padding, rewrite_edge_padding, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_edge_padding

const RuleFamily kEdgePaddingRules = {rules_edge_padding::kRules, std::size(rules_edge_padding::kRules)};

}  // namespace wick::cortex_m
