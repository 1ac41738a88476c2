#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/literal.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// The logarithm of the least number above 0: what eager keeps of a probability.
constexpr double kLeastLogarithm = -103.27;

// The node that makes the operand of a logarithm or reciprocal of f32.
Node* exponential_below(const Node& node) {
  if (!node.is("aten.log.default") && !node.is("aten.reciprocal.default")) return nullptr;
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
    const Node* made = node.is("aten.log.default") ? exponential_below(node) : nullptr;
    if (!made) return nullptr;
    if (made->is("aten.exp.default")) {
      return ranges_.hides_infinity(node.result()) ? nullptr : made->tensor("self");
    }
    if (!made->is("aten._softmax.default") && !made->is("aten.sigmoid.default")) return nullptr;
    if (ranges_.hides_infinity(node.result()) && !readers_are_limited(node)) return nullptr;
    if (made->is("aten.sigmoid.default")) return b.call("aten.log_sigmoid", {made->arg("self")});
    if (made->tensor("self")->dtype() != DType::f32) return nullptr;
    return b.call("aten._log_softmax", {made->arg("self"), made->arg("dim"), false});
  }

  static Value* reciprocal(Builder& b, Node& node) {
    const Node* made = node.is("aten.reciprocal.default") ? exponential_below(node) : nullptr;
    if (!made || !(made->is("aten.exp.default") || made->is("aten.sigmoid.default"))) return nullptr;
    Value* inverse = b.call("aten.exp", {b.call("aten.neg", {made->arg("self")})});
    return made->is("aten.exp.default") ? inverse : b.call("aten.add.Scalar", {inverse, 1});
  }

 private:
  static bool readers_are_limited(const Node& node) {
    for (const Node* reader : node.result()->users()) {
      if (!is_limited(*reader, kLeastLogarithm)) return false;
    }
    return true;
  }

  ValueRanges ranges_;
};

}  // namespace

// Logarithms and reciprocals of powers of e, which targets make 0 where they are below the least normal number.
//   before: p = softmax(x); l = log(p)        after: l = log_softmax(x)
//   before: p = sigmoid(x); l = log(p)        after: l = log_sigmoid(x)
//   before: e = exp(x); l = log(e)            after: l = x
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
