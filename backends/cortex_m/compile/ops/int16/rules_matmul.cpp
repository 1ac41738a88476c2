// Matmuls of two computed matrices, softmax and log_softmax on int16.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace int16_rules_matmul {
namespace {

constexpr int64_t kMostInner = 1 << 17, kLongestRow = 1 << 20;
constexpr int kMaxWideShift = 14, kExponentBits = 26, kQuotientBits = 30, kNumberBits = 20, kLargestNumberShift = 14;

double largest_element(const Value& value) {
  const Affine q = affine(value);
  return std::max(std::abs(static_cast<double>(q.min)), std::abs(static_cast<double>(q.max)));
}

std::optional<Requantization> product_factor(const Node& node) {
  const double factor =
      affine(*node.operands()[0]).scale * affine(*node.operands()[1]).scale / affine(*node.result()).scale;
  const Value *x = node.operands()[0], *w = node.operands()[1];
  const double largest =
      static_cast<double>(x->sizes().back().value()) * largest_element(*x) * largest_element(*w);  // sum
  const auto found = requantization(factor);
  // The kernel rounds twice the result before it clamps it; that must fit 32 bits.
  const bool fits = found && found->shift <= kMaxWideShift && 2 * largest * factor < 0x1p31;
  return fits ? found : std::nullopt;
}

Verdict supports_product(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int16(node);
  if (!reason.empty()) return refused(reason);
  if (node.operands()[0]->sizes().back().value() > kMostInner)
    return refused({"sums of more than 131072 products", "split the inner dimension and add the parts"});
  return product_factor(node)
             ? Verdict::yes()
             : refused({"the scale of its result is too far from those of its operands", kNearerScale});
}

// The kernel reads the right operand transposed.
std::vector<Value*> rewrite_product(Builder& b, Node& node, const Configuration&) {
  Value *x = node.operands()[0], *w = node.operands()[1];
  const bool stacked = x->rank() == 3;
  const Affine to = affine(*node.result());
  const Requantization factor = *product_factor(node);
  Value* right = b.transpose(stacked ? w : b.unsqueeze(w, 0), 1, 2);
  Value* y =
      b.call("wick_cortex_m.batch_matmul_int16", {stacked ? x : b.unsqueeze(x, 0), right, int64_t{factor.multiplier},
                                                  int64_t{factor.shift}, int64_t{to.min}, int64_t{to.max}});
  return {stacked ? y : b.squeeze(y, 0)};
}

// The factor of differences of input elements, and that of the result.
struct Softmax {
  Requantization input, output;
};

std::optional<Softmax> read_softmax(const Node& node) {
  const auto input = requantization(std::ldexp(affine(*node.tensor("self")).scale, kExponentBits));
  const auto output = requantization(std::ldexp(1 / affine(*node.result()).scale, -kQuotientBits));
  if (!input || !output || output->shift > 0) return {};
  return Softmax{*input, *output};
}

// The kernel computes with 20 fractional bits. Each number is off by less than two units of 2^-20, which is less than
// half a step of the result.
std::optional<Softmax> read_log_softmax(const Node& node) {
  const auto input = requantization(std::ldexp(affine(*node.tensor("self")).scale, kNumberBits));
  const auto output = requantization(std::ldexp(1 / affine(*node.result()).scale, -kNumberBits));
  if (!input || input->shift > kLargestNumberShift || !output || output->shift > -2) return {};
  return Softmax{*input, *output};
}

template <std::optional<Softmax> (*read)(const Node& node)>
Verdict supports_rows(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int16(node);
  if (!reason.empty()) return refused(reason);
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return refused({"a number", "give it a dimension: x.reshape(1)"});
  const size_t dim = static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), x->rank()));
  if (!x->sizes()[dim].is_const()) return refused({"its rows have a size that is known only at run time", kFixedBatch});
  if (x->sizes()[dim].value() > kLongestRow) return refused({"rows of more than 2^20 elements", "reduce shorter rows"});
  return read(node) ? Verdict::yes()
                    : refused({"a scale that is too large or too small",
                               "calibrate it on inputs like the device's: its range is unusual"});
}

std::vector<Value*> rewrite_rows(Builder& b, Node& node, const char* op, const Softmax& softmax) {
  Value* x = node.tensor("self");
  const auto last = static_cast<int64_t>(x->rank()) - 1;
  const int64_t dim = compiler::wrap_dim(node.static_integer("dim"), x->rank());
  const Affine to = affine(*node.result());
  Value* y = b.call(
      op, {dim == last ? x : b.transpose(x, dim, last), int64_t{softmax.input.multiplier}, int64_t{softmax.input.shift},
           int64_t{softmax.output.multiplier}, int64_t{softmax.output.shift}, int64_t{to.min}, int64_t{to.max}});
  return {dim == last ? y : b.transpose(y, dim, last)};
}

std::vector<Value*> rewrite_softmax(Builder& b, Node& node, const Configuration&) {
  return rewrite_rows(b, node, "wick_cortex_m.softmax_int16", *read_softmax(node));
}
std::vector<Value*> rewrite_log_softmax(Builder& b, Node& node, const Configuration&) {
  return rewrite_rows(b, node, "wick_cortex_m.log_softmax_int16", *read_log_softmax(node));
}

constexpr OpRule kRules[] = {
    {"aten._log_softmax.default", supports_rows<read_log_softmax>, rewrite_log_softmax, true, false, OpenSizes::batch},
    {"aten._safe_softmax.default", supports_rows<read_softmax>, rewrite_softmax, true, false,
     OpenSizes::batch},  // elements are finite
    {"aten._softmax.default", supports_rows<read_softmax>, rewrite_softmax, true, false, OpenSizes::batch},
    {"aten.bmm.default", supports_product, rewrite_product, true},
    {"aten.mm.default", supports_product, rewrite_product, true},
};

}  // namespace
}  // namespace int16_rules_matmul

const RuleFamily kInt16MatmulRules = {int16_rules_matmul::kRules, std::size(int16_rules_matmul::kRules)};

}  // namespace wick::cortex_m
