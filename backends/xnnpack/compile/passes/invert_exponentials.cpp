#include <cmath>
#include <unordered_map>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/shares.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/literal.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::RuleFn;
using compiler::SmallNumbers;
using compiler::Value;
using compiler::ValueRanges;
using compiler::wrap_dim;

namespace {

// The logarithm of the least positive f32: eager's probabilities below it are 0.
constexpr double kLeastLogarithm = -103.27;
// The least f32 for which eager's exp() is not 0, and for which its sigmoid is not.
constexpr double kLeastExponent = -103.972076, kLeastOfSigmoid = -88.7228317;
// Times the distance from these numbers to the next lower f32, it is more than 1.
constexpr double kSteepness = 1e8;

// The factor from the natural logarithm to the node's logarithm; 0 if the node is no logarithm.
double unit_of(const Node& node) {
  if (node.is("aten.log.default")) return 1;
  if (node.is("aten.log2.default")) return 1.4426950408889634074;
  return node.is("aten.log10.default") ? 0.43429448190325182765 : 0;
}

// The node that makes the operand of a logarithm or reciprocal of f32.
Node* exponential_below(const Node& node) {
  if (unit_of(node) == 0 && !node.is("aten.reciprocal.default")) return nullptr;
  const Value* x = node.tensor("self");
  return x->dtype() == DType::f32 ? x->producer : nullptr;
}

// Whether the reader clamps its operand to at least `least` or more, and so does not distinguish smaller numbers.
bool is_limited(const Node& reader, double least) {
  if (!reader.is("aten.clamp.default") || reader.is_none("min")) return false;
  const auto low = literal(reader.arg("min"));
  return low && *low >= least;
}

class Inverter {
 public:
  explicit Inverter(const Graph& graph) : ranges_(graph) {
    for (const auto& node : graph.nodes()) {
      if (!node->is("aten.div.Tensor") || !divides_by_vanished(*node)) continue;
      const bool hidden = hides_either(node->result());
      // In eager infinity divided by infinity is NaN.
      if (hidden && !ranges_.of(node->tensor("self")).is_finite()) continue;
      const Value* other = node->tensor("other");
      quotients_[node.get()] = hidden && ranges_.of(other).min < std::exp(least_exponent(*other->producer));
    }
  }

  Value* logarithm(Builder& b, Node& node) const {
    const double unit = unit_of(node);
    const Node* made = unit != 0 ? exponential_below(node) : nullptr;
    if (!made || !is_exponential(*made)) return nullptr;
    // exp() may also overflow, which no lower bound hides.
    const bool limited = !made->is("aten.exp.default") && readers_are_limited(node, kLeastLogarithm * unit);
    if (ranges_.hides_infinity(node.result()) && !limited) return nullptr;
    Value* exponent = exponent_of(b, *made);
    return unit == 1 ? exponent : b.call("aten.mul.Scalar", {exponent, unit});
  }

  static Value* reciprocal(Builder& b, Node& node) {
    const Node* made = node.is("aten.reciprocal.default") ? exponential_below(node) : nullptr;
    if (!made || !(made->is("aten.exp.default") || made->is("aten.sigmoid.default"))) return nullptr;
    Value* inverse = b.call("aten.exp", {b.call("aten.neg", {made->arg("self")})});
    return made->is("aten.exp.default") ? inverse : b.call("aten.add.Scalar", {inverse, 1});
  }

  // Exponentials divided by their sum. Exponentials of x minus the largest x (is_share_of_sum) stay: they never all
  // vanish or overflow.
  Value* shares(Builder& b, Node& node) const {
    const Value* other = node.is("aten.div.Tensor") ? node.tensor_or_null(1) : nullptr;
    const Node* sum = other ? other->producer : nullptr;
    if (!sum || !sum->is("aten.sum.dim_IntList") || sum->is_none("dim") || other->num_uses() != 1) return nullptr;
    const Value* powers = node.tensor_or_null(0);
    if (sum->tensor("self") != powers) return nullptr;
    const Node* made = powers->producer;
    if (!made || !made->is("aten.exp.default") || !is_exponential(*made) || is_share_of_sum(node)) return nullptr;
    const auto dims = sum->static_ints("dim");
    const auto last = static_cast<int64_t>(powers->rank()) - 1;
    if (dims.size() != 1 || wrap_dim(dims[0], powers->rank()) != last || !sum->boolean("keepdim")) return nullptr;
    if (other->dtype() != DType::f32 || hides_either(node.result())) return nullptr;
    return b.call("aten._softmax", {made->arg("self"), last, false});
  }

  Value* quotient(Builder& b, Node& node) {
    const auto found = quotients_.find(&node);
    if (found == quotients_.end()) return nullptr;
    const bool may_be_by_zero = found->second;
    quotients_.erase(found);  // a later node may have the same address
    const Node& made = *node.tensor("other")->producer;
    Value* exponent = exponent_of(b, made);
    Value* root = b.call("aten.exp", {b.call("aten.mul.Scalar", {exponent, -0.5})});
    Value* result = b.call("aten.mul.Tensor", {b.call("aten.mul.Tensor", {node.arg("self"), root}), root});
    if (!may_be_by_zero) return result;
    Value* distance = b.call("aten.sub.Scalar", {exponent, least_exponent(made)});
    Value* above = b.call("aten.mul.Scalar", {distance, kSteepness});
    Value* divisor = b.call("aten.add.Scalar", {b.call("aten.clamp", {above, -1.0, 0.0}), 1});  // never -0
    return b.call("aten.div.Tensor", {result, divisor});
  }

 private:
  bool hides_either(const Value* result) const { return ranges_.hides_infinity(result) || ranges_.hides_nan(result); }

  static bool is_exponential(const Node& node) {
    const bool pointwise = node.is("aten.exp.default") || node.is("aten.sigmoid.default");
    return (pointwise || node.is("aten._softmax.default")) && node.tensor("self")->dtype() == DType::f32;
  }

  static double least_exponent(const Node& exponential) {
    return exponential.is("aten.sigmoid.default") ? kLeastOfSigmoid : kLeastExponent;
  }

  // The logarithm of what the node makes, before it is rounded to f32.
  static Value* exponent_of(Builder& b, const Node& exponential) {
    if (exponential.is("aten.exp.default")) return exponential.tensor("self");
    if (exponential.is("aten.sigmoid.default")) return b.call("aten.log_sigmoid", {exponential.arg("self")});
    return b.call("aten._log_softmax", {exponential.arg("self"), exponential.arg("dim"), false});
  }

  // Whether the divisor is an exponential that may vanish (subnormal, so flushed to 0) and the numerator does not:
  // nothing would be left of a numerator of 0. Where exp() is infinite, eager's quotient is 0.
  bool divides_by_vanished(const Node& node) const {
    const Value *above = node.tensor_or_null(0), *below = node.tensor_or_null(1);
    const SmallNumbers& numbers = ranges_.small_numbers();
    return below && numbers.may_vanish(below) && numbers.tells(node, ranges_) && is_exponential(*below->producer) &&
           above && above->dtype() == DType::f32 && !numbers.may_vanish(above) && !numbers.matter(node.result());
  }

  static bool readers_are_limited(const Node& node, double least) {
    for (const Node* reader : node.result()->users()) {
      if (!is_limited(*reader, least)) return false;
    }
    return true;
  }

  ValueRanges ranges_;
  // Quotients to replace. True: the divisor may be 0, and the result has to show that. Never iterated.
  std::unordered_map<const Node*, bool> quotients_;
};

}  // namespace

// Replaces logarithms and reciprocals of exponentials: targets flush exponentials below the least normal number to 0.
//   before: p = softmax(x); l = log(p)        after: l = log_softmax(x)
//   before: p = sigmoid(x); l = log(p)        after: l = log_sigmoid(x)
//   before: e = exp(x); l = log(e)            after: l = x; log2 and log10 are multiples
//   before: e = exp(x); r = 1 / e             after: r = exp(-x); of a sigmoid: exp(-x) + 1
//   before: e = exp(x); q = a / e             after: h = exp(-x / 2); q = a * h * h
//   The same for e = softmax(x) and e = sigmoid(x), with their logarithms in place of x. If a reader hides infinities
//   or NaN, and e may be 0 in eager, q is then divided by a number that is 0 there and 1 elsewhere.
//   before: e = exp(x); p = e / sum(e)        after: p = softmax(x), along the last dimension
// Requires: composites decomposed.  Ensures: f32 values of these forms remain only where a reader hides infinities.
// Keeps: shapes, dtypes, finite values up to rounding. A logarithm or quotient that is infinite because its operand
// overflows or underflows becomes finite where no reader would hide the infinity. Leaves alone divisors that are never
// small, and quotients whose readers distinguish small numbers from 0.
Result<Changed> invert_exponentials(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    Inverter inverter(g);
    const std::vector<RuleFn> rules = {[&](Builder& b, Node& node) { return inverter.logarithm(b, node); },
                                       [](Builder& b, Node& node) { return Inverter::reciprocal(b, node); },
                                       [&](Builder& b, Node& node) { return inverter.quotient(b, node); },
                                       [&](Builder& b, Node& node) { return inverter.shares(b, node); }};
    return rewrite_nodes(g, rules);
  });
}

}  // namespace wick::xnnpack
