#include <algorithm>
#include <cmath>

#include "compiler/ops/pointwise/binary.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

const Node* producer_of(const Node& node, size_t index) {
  const Value* value = index < node.args().size() ? node.tensor_or_null(index) : nullptr;
  return value ? value->producer : nullptr;
}

// outer(inner(x)) = inner(x): the inner result is a fixed point of the outer function, also if it is NaN.
bool keeps_results_of(const OpDef& outer, const Node& inner) {
  if (outer.has(kWhole)) return inner.op->has(kWhole);
  return outer.has(kIdempotent) && (inner.op == &outer || inner.op->has(kNonNegative));
}

Value* at_fixed_point(Builder&, Node& node) {
  const Node* inner = node.args().empty() ? nullptr : producer_of(node, 0);
  return inner && keeps_results_of(*node.op, *inner) ? node.tensor_or_null(0) : nullptr;
}

// abs(neg(x)) = abs(x)
Value* abs_of_negation(Builder& b, Node& node) {
  const Node* inner = node.is("aten.abs.default") ? producer_of(node, 0) : nullptr;
  return inner && inner->is("aten.neg.default") ? b.call("aten.abs", {inner->arg(0)}) : nullptr;
}

// x + (-y) = x - y and x - (-y) = x + y
Value* sum_with_negation(Builder& b, Node& node) {
  const bool add = node.is("aten.add.Tensor");
  if (!add && !node.is("aten.sub.Tensor")) return nullptr;
  const Node* inner = producer_of(node, 1);
  if (!inner || !inner->is("aten.neg.default") || !node.tensor_or_null(0)) return nullptr;
  if (inner->result()->dtype() != node.result()->dtype())
    return nullptr;  // a narrow integer wraps before it is widened
  Value* out = b.call(add ? "aten.sub.Tensor" : "aten.add.Tensor", {node.arg(0), inner->arg(0), node.arg(2)});
  add_origins(*out->producer, *inner);
  return out;
}

// --- truth values ---

// not(not(b)) = b; not(x == y) = (x != y). Other comparisons have no opposite, because of NaN.
Value* negated_truth(Builder& b, Node& node) {
  const Node* inner = node.is("aten.logical_not.default") ? producer_of(node, 0) : nullptr;
  if (!inner) return nullptr;
  if (inner->is("aten.logical_not.default")) return inner->tensor_or_null(0);  // a bool only: the types must be equal
  const Binary other = opposite(inner->op->facts.binary);
  if (other == Binary::none) return nullptr;
  Value* out = b.call(find_binary(other, inner->tensor_or_null(1) ? "Tensor" : "Scalar")->name(), inner->args());
  add_origins(*out->producer, *inner);
  return out;
}

// b != 0 and b == 1 are b, b == 0 and b != 1 are not(b), for bools.
Value* compared_truth(Builder& b, Node& node) {
  const bool equal = node.is("aten.eq.Scalar");
  if (!equal && !node.is("aten.ne.Scalar")) return nullptr;
  Value* x = node.tensor_or_null(0);
  if (x->dtype() != DType::boolean) return nullptr;
  const auto number = number_of(node.arg(1), DType::boolean);
  if (!number) return nullptr;
  return equal == number->is(1) ? x : b.call("aten.logical_not", {x});
}

// b and true = b, b or false = b, b and false = false, b or true = true
Value* combined_truth(Builder& b, Node& node) {
  const bool both = node.is(Binary::conjunction);
  if (!both && !node.is(Binary::disjunction)) return nullptr;
  for (size_t side : {size_t{0}, size_t{1}}) {
    Value *x = node.tensor_or_null(side), *other = node.tensor_or_null(1 - side);
    if (!x || !other || x->dtype() != DType::boolean || other->dtype() != DType::boolean) continue;
    const auto element = uniform_element(other);
    if (!element) continue;
    return element->is(both ? 1 : 0) ? b.expand(x, node.result()->sizes()) : b.expand(other, node.result()->sizes());
  }
  return nullptr;
}

// --- conditional selects ---

Value* known_choice(Builder& b, Node& node) {
  if (!node.is("aten.where.self")) return nullptr;
  Value *x = node.tensor_or_null(1), *y = node.tensor_or_null(2);
  if (!x || !y) return nullptr;
  const auto condition = uniform_element(node.tensor_or_null(0));
  Value* chosen = x == y ? x : !condition ? nullptr : condition->is(0) ? y : x;
  if (!chosen || chosen->dtype() != node.result()->dtype()) return nullptr;
  return b.expand(chosen, node.result()->sizes());
}

Value* known_fill(Builder& b, Node& node) {
  if (!node.is("aten.masked_fill.Scalar")) return nullptr;
  const auto mask = uniform_element(node.tensor_or_null(1));
  if (!mask) return nullptr;
  if (mask->is(0)) return b.expand(node.tensor_or_null(0), node.result()->sizes());
  if (node.arg(2).is<Value*>()) return nullptr;
  return b.full(node.result()->sizes(), node.arg(2), node.result()->dtype());
}

// --- bounds ---

struct Bounds {
  double low = -INFINITY, high = INFINITY;
  bool has_low = false, has_high = false;
};

// The literal bounds of a clamp, rounded to its floating dtype.
std::optional<Bounds> bounds_of(const Node& node) {
  Bounds out;
  const DType dtype = node.result()->dtype();
  if (!is_floating(dtype) || node.tensor_or_null(0)->dtype() != dtype) return std::nullopt;
  auto read = [&](const Arg& arg, double* bound, bool* has) {
    if (arg.is<None>()) return true;
    const auto number = arg.is<Value*>() ? std::nullopt : number_of(arg, dtype);
    if (!number || std::isnan(number->real)) return false;
    *bound = number->real;
    return *has = true;
  };
  if (!read(node.arg("min"), &out.low, &out.has_low) || !read(node.arg("max"), &out.high, &out.has_high))
    return std::nullopt;
  return out.low <= out.high ? std::optional(out) : std::nullopt;
}

// clamp(clamp(x, a, b), c, d) = clamp(x, clamp(a, c, d), clamp(b, c, d)). Not if the bounds have zeros of both signs.
Value* clamp_of_clamp(Builder& b, Node& node) {
  const Node* inner = node.is("aten.clamp.default") ? producer_of(node, 0) : nullptr;
  if (!inner || !inner->is("aten.clamp.default")) return nullptr;
  const auto outer = bounds_of(node), first = bounds_of(*inner);
  if (!outer || !first) return nullptr;
  const double zeros[] = {outer->low, outer->high, first->low, first->high};
  const auto is_zero = [](double value) { return value == 0; };
  const auto is_negative_zero = [](double value) { return value == 0 && std::signbit(value); };
  const auto count = std::count_if(std::begin(zeros), std::end(zeros), is_zero);
  const auto negative = std::count_if(std::begin(zeros), std::end(zeros), is_negative_zero);
  if (negative != 0 && negative != count) return nullptr;
  auto limit = [&](double value) { return std::min(std::max(value, outer->low), outer->high); };
  const bool has_low = first->has_low || outer->has_low, has_high = first->has_high || outer->has_high;
  const Arg low = has_low ? Arg(limit(first->low)) : Arg(None{}),
            high = has_high ? Arg(limit(first->high)) : Arg(None{});
  Value* out = b.call("aten.clamp", {inner->arg(0), low, high});
  add_origins(*out->producer, *inner);
  return out;
}

// --- reductions of one element ---

// A reduction over dimensions of size 1 becomes a view. Sums and means of floats do not, because they turn -0.0 into
// 0.0.
Value* reduction_of_one(Builder& b, Node& node) {
  if (!node.op->has(kReduction) || node.is("aten.mean.dim")) return nullptr;
  Value* x = node.tensor_or_null(0);
  if (x->dtype() != node.result()->dtype()) return nullptr;
  if (node.is("aten.sum.dim_IntList") && !is_integral(x->dtype())) return nullptr;
  if (node.is("aten.any.dims") && x->dtype() != DType::boolean) return nullptr;
  if (!(numel(x->sizes()) == numel(node.result()->sizes())) || numel(x->sizes()).is(0)) return nullptr;
  // The numbers of elements are equal, so every dimension that disappeared or became 1 had size 1.
  Sizes before = x->sizes(), after = node.result()->sizes();
  std::erase_if(before, [](const Sym& size) { return size.is(1); });
  std::erase_if(after, [](const Sym& size) { return size.is(1); });
  return before == after ? b.reshape(x, node.result()->sizes()) : nullptr;
}

// --- softmax ---

// softmax(x - max(x)) = softmax(x), because softmax subtracts the maximum itself. Only for f32 and f64: narrower floats
// would round the difference.
Value* shifted_softmax(Builder& b, Node& node) {
  if (!node.is("aten._softmax.default") && !node.is("aten._log_softmax.default")) return nullptr;
  const Node* shift = producer_of(node, 0);
  if (!shift || !shift->is("aten.sub.Tensor") || !shift->arg(2).is<Sym>() || !shift->arg(2).as<Sym>().is(1))
    return nullptr;
  Value* x = shift->tensor_or_null(0);
  const Node* largest = producer_of(*shift, 1);
  if (!x || !largest || (!largest->is("aten.max.dim") && !largest->is("aten.amax.default"))) return nullptr;
  if (largest->tensor_or_null(0) != x || !largest->boolean("keepdim")) return nullptr;
  if (largest->result() != shift->tensor_or_null(1)) return nullptr;  // the indices of max.dim
  if (x->type != node.result()->type || (x->dtype() != DType::f32 && x->dtype() != DType::f64)) return nullptr;
  const std::vector<int64_t> dims =
      largest->is("aten.max.dim") ? std::vector<int64_t>{largest->static_integer("dim")} : largest->static_ints("dim");
  const auto wrapped = [&](int64_t dim) { return wrap_dim(dim, x->rank()); };
  if (dims.size() != 1 || wrapped(dims[0]) != wrapped(node.static_integer("dim"))) return nullptr;
  Args args(node.args().begin(), node.args().end());
  args[0] = x;
  return b.call(node.op->name(), std::move(args));
}

constexpr Rule kPointwiseRules[] = {
    at_fixed_point, abs_of_negation, sum_with_negation, negated_truth,    compared_truth,  combined_truth,
    known_choice,   known_fill,      clamp_of_clamp,    reduction_of_one, shifted_softmax,
};

}  // namespace

// Simplifies pointwise operators, conditional selects with a known condition, reductions over dimensions of size 1, and
// softmax(x - max(x)).
//   before: y = where(true, a, b); z = relu(relu(y))          after: z = relu(a)
// Requires: canonicalize has run; computable masks are constants.
// Keeps: every value, including NaN and the sign of zero. Never reorders anything that rounds.
Result<Changed> simplify_pointwise(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kPointwiseRules)); });
}

}  // namespace wick::compiler
