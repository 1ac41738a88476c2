#include "compiler/analysis/small_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compiler/analysis/shares.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/literal.h"

namespace wick::compiler {
namespace {

constexpr double kLeastNormal = std::numeric_limits<float>::min();

bool holds_small(const ValueRange& range) { return range.min < kLeastNormal && range.max > -kLeastNormal; }

bool is_single(const Value& value) { return value.type.is_tensor() && value.dtype() == DType::f32; }

// Whether the dtype has at least the exponent range of f32.
bool has_exponents_of_single(const Value& value) {
  if (!value.type.is_tensor()) return false;
  return value.dtype() == DType::f32 || value.dtype() == DType::f64 || value.dtype() == DType::bf16;
}

constexpr double kNegligible = std::numeric_limits<float>::epsilon();

// 1 if the range has positive numbers, and -1 if it has negative ones.
std::vector<double> signs_of(const ValueRange& range) {
  std::vector<double> signs;
  if (range.max > 0) signs.push_back(1);
  if (range.min < 0) signs.push_back(-1);
  return signs;
}

// Sample values of the argument beside operand `index` of a node with a curve: the literal, or 1 and -1 for a tensor by
// the signs in its range. {0} if there is no other argument; empty if it is unknown.
std::vector<double> beside(const Node& node, size_t index, const ValueRanges& ranges) {
  const auto operands = node.operands();
  if (operands.size() == 2) return signs_of(ranges.of(operands[1 - index]));
  if (node.args().size() < 2) return {0};
  const auto number = literal(node.arg(1));
  return number ? std::vector<double>{*number} : std::vector<double>{};
}

// The curve at 0 (`there`) and at a small number (`near`).
struct NearZero {
  double there, near;

  bool jumps() const { return !(std::abs(near - there) <= kNegligible); }
  bool keeps_zero() const { return there == 0 && near != 0 && std::abs(near) <= kNegligible; }
};

std::vector<NearZero> near_zero(const Node& node, size_t index, const ValueRanges& ranges) {
  const CurveFn curve = node.op->facts.curve;
  std::vector<NearZero> all;
  if (!curve) return all;
  for (const double other : beside(node, index, ranges)) {
    const auto value_at = [&](double x) { return index == 0 ? curve(x, other) : curve(other, x); };
    for (const double sign : signs_of(ranges.of(node.operands()[index]))) {
      all.push_back({value_at(0), value_at(sign * kLeastNormal)});
    }
  }
  return all;
}

// Whether f(x) for a small x differs from f(0) by a number of ordinary size.
bool jumps_at_zero(const Node& node, size_t index, const ValueRanges& ranges) {
  const auto all = near_zero(node, index, ranges);
  return std::any_of(all.begin(), all.end(), [](const NearZero& x) { return x.jumps(); });
}

// Whether f(x) is small for a small x.
bool keeps_zero(const Node& node, const ValueRanges& ranges) {
  if (node.op->has(kMoves | kView | kSelectsElements | kKeepsZero)) return true;
  if (node.operands().size() != 1) return false;
  const auto all = near_zero(node, 0, ranges);
  return std::any_of(all.begin(), all.end(), [](const NearZero& x) { return x.keeps_zero(); });
}

// Whether a comparison or threshold may give different results for 0 and for a small number in operand `index`.
bool compares_near_zero(const Node& node, size_t index, const ValueRanges& ranges) {
  const auto operands = node.operands();
  if (operands.size() > 1) return operands[0] != operands[1] && holds_small(ranges.of(operands[1 - index]));
  const auto bound = literal(node.arg(1));
  if (!bound || std::abs(*bound) >= kLeastNormal) return !bound;
  // With x >= 0 and bound 0, only `x >= 0` and `x < 0` give the same for 0 and for a positive number.
  if (*bound != 0 || ranges.of(operands[0]).min < 0) return true;
  return !node.is(Binary::ge) && !node.is(Binary::lt);
}

// Whether the node finds the largest element. That one counts as never vanishing, as in a row that adds up to 1.
bool is_of_largest(const Node& node) { return node.is("aten.argmax.default") || node.is("aten.max.dim"); }

// Whether somebody reads integers or conditions that the node gives. An unread index result (of a max pool) reveals
// nothing about the operand.
bool gives_no_floats(const Node& node) {
  const auto& results = node.results();
  return std::any_of(results.begin(), results.end(), [](const Value* result) {
    if (result->num_uses() == 0 || !result->type.is_tensor() || result->tensor().quantization) return false;
    return !is_floating(result->dtype()) && !is_complex(result->dtype());
  });
}

// Whether `value` comes from an operator like exp and may be so large that its reciprocal vanishes.
bool is_large_power(const Value* value, const ValueRanges& ranges) {
  return value->producer && value->producer->op->has(kMayUnderflow) && ranges.of(value).max * kLeastNormal > 1;
}

// The range of those elements of `value` where `condition` is `truth`. Nullopt unless `condition` compares some x with
// a literal and `value` is computed from x by pointwise operators of one operand.
std::optional<ValueRange> range_where(const Value* condition, bool truth, const Value* value,
                                      const ValueRanges& ranges) {
  constexpr size_t kMaxChain = 8;
  const Node* comparison = condition->producer;
  if (!comparison || comparison->operands().size() != 1) return std::nullopt;
  const bool greater = comparison->is(Binary::gt) || comparison->is(Binary::ge);
  if (!greater && !comparison->is(Binary::lt) && !comparison->is(Binary::le)) return std::nullopt;
  const auto bound = literal(comparison->arg(1));
  const Value* compared = comparison->operands()[0];
  std::vector<const Node*> chain;
  for (const Value* x = value; x != compared; x = chain.back()->operands()[0]) {
    const Node* node = x->producer;
    if (!node || chain.size() == kMaxChain || node->operands().size() != 1 || !node->op->has(kPointwise))
      return std::nullopt;
    chain.push_back(node);
  }
  if (!bound) return std::nullopt;
  ValueRange range = ranges.of(compared);
  if (greater == truth) {
    range.min = std::max(range.min, *bound);
  } else {
    range.max = std::min(range.max, *bound);
  }
  for (auto node = chain.rbegin(); node != chain.rend(); ++node) range = range_of_results({**node, {range}});
  return range;
}

// Whether a select never takes a small number from operand `index`: where(x > 0, exp(x), y).
bool is_guarded(const Node& node, size_t index, const ValueRanges& ranges) {
  const bool where = node.is("aten.where.self");
  if (!where && !node.is("aten.masked_fill.Scalar")) return false;
  const auto operands = node.operands();
  const auto range = range_where(operands[where ? 0 : 1], where && index == 1, operands[index], ranges);
  return range && !holds_small(*range);
}

// Whether `value` may be negligible in a sum: it may vanish, it holds only small constants, or it is 0 where its
// operand vanishes (trunc).
bool is_negligible(const Value* value, const SmallNumbers& numbers, const ValueRanges& ranges) {
  if (numbers.may_vanish(value)) return true;
  const ValueRange range = ranges.of(value);
  if (range.min > -kLeastNormal && range.max < kLeastNormal) return true;
  const Node* node = value->producer;
  if (!node || node->operands().size() != 1 || !numbers.may_vanish(node->operands()[0])) return false;
  const auto all = near_zero(*node, 0, ranges);
  return std::any_of(all.begin(), all.end(), [](const NearZero& x) { return x.there == 0 && x.near == 0; });
}

// Whether a sum or difference may vanish: a term may vanish, and all others are negligible.
bool adds_small(const Node& node, const SmallNumbers& numbers, const ValueRanges& ranges) {
  const auto operands = node.operands();
  const auto negligible = [&](const Value* x) { return is_negligible(x, numbers, ranges); };
  if (std::none_of(operands.begin(), operands.end(), [&](const Value* x) { return numbers.may_vanish(x); }))
    return false;
  if (operands.size() > 1) return std::all_of(operands.begin(), operands.end(), negligible);
  const auto number = literal(node.arg(1));
  return number && std::abs(*number) < kLeastNormal;
}

// Whether `sum_k a[i, k] * b[k, j] + term` may vanish: the term is negligible, and either one factor may vanish for all
// k, or both factors may vanish, so that each product may have one small factor.
bool multiplies_small(const Node& node, const SmallNumbers& numbers, const ValueRanges& ranges) {
  const Gemm& gemm = node.op->facts.gemm;
  const auto* term = gemm.term < 0 ? nullptr : node.tensor_or_null(static_cast<size_t>(gemm.term));
  if (term && !is_negligible(term, numbers, ranges)) return false;
  // `from_last`: the position of dimension k, counted back from the last dimension.
  const auto small = [&](const Value* x, size_t from_last) {
    return numbers.may_vanish(x) && (x->rank() <= from_last || !has_ordinary_element(x, x->rank() - 1 - from_last));
  };
  const Value *left = node.tensor_or_null(gemm.left), *right = node.tensor_or_null(gemm.right);
  // For each k, a number of ordinary size in one factor may meet a small one in the other.
  if (numbers.may_vanish(left) && numbers.may_vanish(right)) return true;
  return small(left, 0) || small(right, gemm.turns ? 0 : 1);
}

// Whether a convolution may vanish: its input or filter may vanish, and its bias is negligible.
bool convolves_small(const Node& node, const SmallNumbers& numbers, const ValueRanges& ranges) {
  const Value* bias = node.tensor_or_null(2);
  if (bias && !is_negligible(bias, numbers, ranges)) return false;
  return numbers.may_vanish(node.tensor_or_null(0)) || numbers.may_vanish(node.tensor_or_null(1));
}

// Whether a sum or mean may vanish: its operand may, and no reduced dimension is sure to have an element of ordinary
// size. Running sums and pools add only some elements of a dimension, so one such element does not help.
bool reduces_small(const Node& node, const SmallNumbers& numbers) {
  const Value* x = node.operands()[0];
  if (!numbers.may_vanish(x)) return false;
  if (!node.op->has(kReduction)) return true;
  const size_t rank = x->rank();
  std::vector<bool> reduced(rank, node.is_none("dim") || node.static_ints("dim").empty());
  if (!node.is_none("dim") && rank != 0) {
    for (const int64_t dim : node.static_ints("dim")) reduced[static_cast<size_t>(wrap_dim(dim, rank))] = true;
  }
  for (size_t dim = 0; dim < rank; ++dim) {
    if (reduced[dim] && has_ordinary_element(x, dim)) return false;
  }
  return true;
}

// Whether a result may vanish because an operand does or because a divisor is large.
bool hands_on(const Node& node, const SmallNumbers& numbers, const ValueRanges& ranges) {
  const auto operands = node.operands();
  const auto vanishes = [&](const Value* operand) { return numbers.may_vanish(operand); };
  switch (node.op->facts.binary) {
    case Binary::add:
    case Binary::sub:
    case Binary::rsub: return adds_small(node, numbers, ranges);
    case Binary::mul: return std::any_of(operands.begin(), operands.end(), vanishes);
    case Binary::div: return vanishes(operands[0]) || (operands.size() > 1 && is_large_power(operands[1], ranges));
    default: break;
  }
  if (node.op->facts.gemm) return multiplies_small(node, numbers, ranges);
  if (node.is("aten.convolution.default")) return convolves_small(node, numbers, ranges);
  if (node.op->facts.growth == Growth::total) return reduces_small(node, numbers);
  if (node.is("aten.reciprocal.default")) return is_large_power(operands[0], ranges);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (vanishes(operands[i]) && keeps_zero(node, ranges) && !is_guarded(node, i, ranges)) return true;
  }
  return false;
}

// Whether the node itself distinguishes 0 from numbers below 2^-126 in operand `index`.
bool distinguishes_subnormals(const Node& node, size_t index, const ValueRanges& ranges) {
  const bool compares = is_comparison(node.op->facts.binary) || node.is("aten.threshold.default");
  if (compares) return compares_near_zero(node, index, ranges);
  if (node.is(Binary::div) && index == 1) return !is_share_of_sum(node);
  if (node.op->has(kDependsOnZeroSign | kDependsOnSubnormals) || (index == 1 && node.op->has(kDependsOnZeroSignOf1)))
    return true;
  if (node.is("aten._to_copy.default")) return node.result()->dtype() == DType::boolean;
  if (!node.graphs.empty()) return true;  // the body may distinguish them
  if (jumps_at_zero(node, index, ranges)) return true;
  return gives_no_floats(node) && !node.op->has(kTestsForNan | kQuantizes) && !is_of_largest(node);
}

}  // namespace

bool SmallNumbers::tells(const Node& node, const ValueRanges& ranges) const {
  const auto operands = node.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (may_vanish(operands[i]) && distinguishes_subnormals(node, i, ranges)) return true;
  }
  return false;
}

SmallNumbers::SmallNumbers(const Graph& graph, const ValueRanges& ranges) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes()) {
    nodes.push_back(node.get());
    const bool makes = node->op->has(kMayUnderflow);
    if (!makes && !hands_on(*node, *this, ranges)) continue;
    for (const Value* result : node->results()) {
      const bool keeps = makes ? is_single(*result) : has_exponents_of_single(*result);
      if (keeps && holds_small(ranges.of(result))) vanish_.insert(result);
    }
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    const auto& results = node.results();
    const bool asked = std::any_of(results.begin(), results.end(), [&](const Value* x) { return matter(x); });
    const auto operands = node.operands();
    // The quotient of two small numbers may be of any size.
    const bool ratio =
        node.is(Binary::div) && operands.size() == 2 && may_vanish(operands[1]) && !is_share_of_sum(node);
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool told = asked || ratio || distinguishes_subnormals(node, i, ranges);
      if (told && may_vanish(operands[i])) matter_.insert(operands[i]);
    }
  }
}

}  // namespace wick::compiler
