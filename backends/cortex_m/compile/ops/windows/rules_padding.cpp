// Padding with a constant, that is with its element. The kernel takes pads in memory order.
#include <algorithm>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_padding {
namespace {

// {before, after} for each dimension. The node lists the last dimension first.
std::vector<std::pair<int64_t, int64_t>> read_pads(const Node& node) {
  const std::vector<int64_t> list = node.static_ints("pad");
  std::vector<std::pair<int64_t, int64_t>> pads(node.tensor("self")->rank(), {0, 0});
  for (size_t i = 0; i + 1 < list.size(); i += 2) pads[pads.size() - 1 - i / 2] = {list[i], list[i + 1]};
  return pads;
}

Verdict supports_pad(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  const size_t rank = node.tensor("self")->rank();
  if (rank == 0 || rank > 4) return refused({"wanted rank 1 to 4", "view it with at most 4 dimensions"});
  if (!compiler::literal(node.arg("value"))) return refused({"a value that is computed", "pad with a constant"});
  const auto pads = read_pads(node);
  const bool has_open_batch = !node.tensor("self")->sizes()[0].is_const();
  if (has_open_batch && pads[0] != std::pair<int64_t, int64_t>(0, 0))
    return refused({"it pads its first size, which is known only at run time", kFixedBatch});
  for (const auto& [before, after] : pads) {
    if (before < 0 || after < 0) return refused({"pads that cut", "slice in a node of its own"});
  }
  return Verdict::yes();
}

// Whether a convolution reads the rows [N, C, W]. It sees them as images of height 1; padded as such, they keep their
// layout.
bool pads_rows(const Node& node) {
  const std::vector<Node*>& users = node.result()->users();
  return node.result()->rank() == 3 &&
         std::any_of(users.begin(), users.end(), [](const Node* user) { return user->is("aten.convolution.default"); });
}

std::vector<Value*> rewrite_pad(Builder& b, Node& node, const Configuration&) {
  const Affine to = affine(*node.result());
  const Affine from = affine(*node.tensor("self"));
  Value* x = same_numbers(from, to) ? clamped(b, node.tensor("self"), from, to)
                                    : requantized(b, node.tensor("self"), from, to);
  auto pads = read_pads(node);
  const bool rows = pads_rows(node);
  if (rows) {
    x = b.unsqueeze(x, 2);
    pads.insert(pads.begin() + 2, {0, 0});
  }
  Ints before(4, 0), after(4, 0);
  for (size_t d = 0; d < pads.size(); ++d) {
    static constexpr size_t kInMemory[] = {0, 3, 1, 2};  // of N, C, H, W
    const size_t at = pads.size() == 4 ? kInMemory[d] : 4 - pads.size() + d;
    before[at] = pads[d].first;
    after[at] = pads[d].second;
  }
  const int64_t element = quantize(*compiler::literal(node.arg("value")), to);
  Value* y = b.call("cortex_m.pad", {x, before, after, element});
  return {rows ? b.squeeze(y, 2) : y};
}

constexpr OpRule kRules[] = {
    {"aten.constant_pad_nd.default", supports_pad, rewrite_pad, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_padding

const RuleFamily kPaddingRules = {rules_padding::kRules, std::size(rules_padding::kRules)};

}  // namespace wick::cortex_m
