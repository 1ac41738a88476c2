#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/literal.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// The logarithm of the least number above 0: what eager keeps of a probability.
constexpr double kLeastLogarithm = -103.27;

// What a natural logarithm is multiplied by to give this one; 0: no logarithm.
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

// Of what is at least this number, no reader sees more than that.
bool is_limited(const Node& reader, double least) {
  if (!reader.is("aten.clamp.default") || reader.is_none("min")) return false;
  const auto low = literal(reader.arg("min"));
  return low && *low >= least;
}

class Inverter {
 public:
  explicit Inverter(Graph& graph) : ranges_(graph) {}

  Value* logarithm(Builder& b, Node& node) const {
    const double unit = unit_of(node);
    const Node* made = unit != 0 ? exponential_below(node) : nullptr;
    if (!made) return nullptr;
    const auto scaled = [&](Value* x) { return unit == 1 ? x : b.call("aten.mul.Scalar", {x, unit}); };
    if (made->is("aten.exp.default")) {
      return ranges_.hides_infinity(node.result()) ? nullptr : scaled(made->tensor("self"));
    }
    if (!made->is("aten._softmax.default") && !made->is("aten.sigmoid.default")) return nullptr;
    if (ranges_.hides_infinity(node.result()) && !readers_are_limited(node, kLeastLogarithm * unit)) return nullptr;
    if (made->is("aten.sigmoid.default")) return scaled(b.call("aten.log_sigmoid", {made->arg("self")}));
    if (made->tensor("self")->dtype() != DType::f32) return nullptr;
    return scaled(b.call("aten._log_softmax", {made->arg("self"), made->arg("dim"), false}));
  }

  static Value* reciprocal(Builder& b, Node& node) {
    const Node* made = node.is("aten.reciprocal.default") ? exponential_below(node) : nullptr;
    if (!made || !(made->is("aten.exp.default") || made->is("aten.sigmoid.default"))) return nullptr;
    Value* inverse = b.call("aten.exp", {b.call("aten.neg", {made->arg("self")})});
    return made->is("aten.exp.default") ? inverse : b.call("aten.add.Scalar", {inverse, 1});
  }

 private:
  static bool readers_are_limited(const Node& node, double least) {
    for (const Node* reader : node.result()->users()) {
      if (!is_limited(*reader, least)) return false;
    }
    return true;
  }

  ValueRanges ranges_;
};

}  // namespace

// Logarithms and reciprocals of powers of e, which targets make 0 where they are below the least normal number.
//   before: p = softmax(x); l = log(p)        after: l = log_softmax(x)
//   before: p = sigmoid(x); l = log(p)        after: l = log_sigmoid(x)
//   before: e = exp(x); l = log(e)            after: l = x; log2 and log10 are multiples
//   before: e = exp(x); r = 1 / e             after: r = exp(-x); of a sigmoid: exp(-x) + 1
// Requires: composites decomposed.  Ensures: f32 of those forms are left only where a reader hides infinities.
// Keeps: shapes, dtypes, finite values up to rounding. A logarithm that is infinite because its operand over- or
// underflows becomes finite where no reader would hide the infinity.
Result<Changed> invert_exponentials(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    const Inverter inverter(g);
    const std::vector<RuleFn> rules = {[&](Builder& b, Node& node) { return inverter.logarithm(b, node); },
                                       [](Builder& b, Node& node) { return Inverter::reciprocal(b, node); }};
    return rewrite_nodes(g, rules);
  });
}

}  // namespace wick::compiler
