#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compiler/passes/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/weights.h"

namespace wick::compiler {
namespace {

// Operators that make finite numbers of finite numbers, but for those near the largest. Sorted.
constexpr std::string_view kTame[] = {
    "aten._adaptive_avg_pool2d.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten._softmax.default",
    "aten._to_copy.default",
    "aten.abs.default",
    "aten.add.Scalar",
    "aten.add.Tensor",
    "aten.addmm.default",
    "aten.amax.default",
    "aten.amin.default",
    "aten.atan.default",
    "aten.avg_pool2d.default",
    "aten.bmm.default",
    "aten.cat.default",
    "aten.ceil.default",
    "aten.clamp.default",
    "aten.constant_pad_nd.default",
    "aten.convolution.default",
    "aten.cos.default",
    "aten.elu.default",
    "aten.embedding.default",
    "aten.erf.default",
    "aten.expand.default",
    "aten.floor.default",
    "aten.gelu.default",
    "aten.hardsigmoid.default",
    "aten.hardswish.default",
    "aten.hardtanh.default",
    "aten.leaky_relu.default",
    "aten.linear.default",
    "aten.log_sigmoid.default",
    "aten.masked_fill.Scalar",
    "aten.matmul.default",
    "aten.max_pool2d_with_indices.default",
    "aten.maximum.default",
    "aten.mean.dim",
    "aten.minimum.default",
    "aten.mish.default",
    "aten.mm.default",
    "aten.mul.Scalar",
    "aten.mul.Tensor",
    "aten.native_group_norm.default",
    "aten.native_layer_norm.default",
    "aten.neg.default",
    "aten.permute.default",
    "aten.relu.default",
    "aten.relu6.default",
    "aten.rms_norm.default",
    "aten.roll.default",
    "aten.round.default",
    "aten.rsub.Scalar",
    "aten.select.int",
    "aten.sigmoid.default",
    "aten.sign.default",
    "aten.silu.default",
    "aten.sin.default",
    "aten.slice.Tensor",
    "aten.softplus.default",
    "aten.sub.Scalar",
    "aten.sub.Tensor",
    "aten.sum.dim_IntList",
    "aten.tanh.default",
    "aten.trunc.default",
    "aten.view.default",
    "aten.where.self",
};

struct Comparison {
  std::string_view op;
  bool greater, negated;  // x > y, y > x; or the opposite of that
};
constexpr Comparison kComparisons[] = {
    {"aten.ge.Scalar", false, true},  {"aten.ge.Tensor", false, true},  {"aten.gt.Scalar", true, false},
    {"aten.gt.Tensor", true, false},  {"aten.le.Scalar", true, true},   {"aten.le.Tensor", true, true},
    {"aten.lt.Scalar", false, false}, {"aten.lt.Tensor", false, false},
};

const Comparison* comparison_of(const Node& node) {
  for (const Comparison& row : kComparisons) {
    if (node.is(row.op)) return &row;
  }
  return nullptr;
}

constexpr int kMaxDepth = 8;
// Larger constants are weights, of which an infinite one would make NaN of all that reads it.
constexpr size_t kMaxBytes = 1 << 20;
// Differences from smaller numbers may lie below the least normal number, which backends may take for zero.
constexpr double kLeastBound = 0x1p-100;

bool is_and(const Node& node) { return node.is("aten.logical_and.default") || node.is("aten.bitwise_and.Tensor"); }
bool is_or(const Node& node) { return node.is("aten.logical_or.default") || node.is("aten.bitwise_or.Tensor"); }
bool is_not(const Node& node) { return node.is("aten.logical_not.default") || node.is("aten.bitwise_not.default"); }

class Selector {
 public:
  explicit Selector(Graph& graph) : graph_(graph) {}

  Changed run() {
    std::vector<Node*> selects;
    for (const auto& node : graph_.nodes()) {
      if (node->is("aten.where.self") || node->is("aten.masked_fill.Scalar")) selects.push_back(node.get());
    }
    if (selects.empty()) return Changed::no;
    for (const GraphInput& input : graph_.inputs) tame_.insert(input.value);
    for (const auto& node : graph_.nodes()) {
      if (is_tame(*node)) tame_.insert(node->result());
    }
    std::vector<Node*> left;
    for (Node* node : selects) {
      Builder b(graph_, node);
      Value* made = select(b, *node);
      if (!made) continue;
      graph_.replace(node->result(), made);
      left.push_back(node);
    }
    erase_unread(graph_, left);
    return left.empty() ? Changed::no : Changed::yes;
  }

 private:
  bool is_tame(const Node& node) const {
    if (!std::binary_search(std::begin(kTame), std::end(kTame), node.op->name())) return false;
    if (node.is("aten.masked_fill.Scalar") && !finite_number(node.arg(2))) return false;
    const auto operands = node.operands();
    return std::all_of(operands.begin(), operands.end(), [&](const Value* operand) { return is_tame(operand); });
  }

  bool is_tame(const Value* value) const {
    if (!value->is_constant()) return tame_.count(value) != 0;
    if (!value->type.is_tensor() || !is_floating(value->dtype())) return true;
    if (!has_reals(value)) return false;
    if (value->data.bytes.size() > kMaxBytes) return true;
    const Reals64 numbers = reals_of(*value);
    return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
  }

  static std::optional<double> finite_number(const Arg& arg) {
    const auto element = number_of(arg, DType::f32);
    return element && std::isfinite(element->real) ? std::optional<double>(element->real) : std::nullopt;
  }

  // --- conditions as 0 and 1 ---

  static bool can_compare(const Node& node) {
    const Value* x = tensor_at(node, 0);
    if (!x || x->dtype() != DType::f32) return false;
    if (const Value* y = tensor_at(node, 1)) return y->dtype() == DType::f32;
    const auto bound = finite_number(node.arg(1));
    return bound && (*bound == 0 || std::abs(*bound) >= kLeastBound);
  }

  // Is the condition made of comparisons of f32 tensors and constants alone?
  static bool is_arithmetic(const Value* condition, int depth = 0) {
    if (condition->is_constant()) return condition->tensor().dim_order.empty();
    const Node* node = condition->producer;
    if (!node || depth > kMaxDepth) return false;
    if (comparison_of(*node)) return can_compare(*node);
    if (!is_and(*node) && !is_or(*node) && !is_not(*node)) return false;
    const auto operands = node->operands();
    return std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
      return operand->dtype() == DType::boolean && is_arithmetic(operand, depth + 1);
    });
  }

  static Value* opposite(Builder& b, Value* x) { return b.call("aten.rsub.Scalar", {x, 1.0}); }

  static Value* compared(Builder& b, const Node& node, const Comparison& row) {
    Value* x = tensor_at(node, 0);
    Value* y = tensor_at(node, 1);
    Value* difference = nullptr;
    if (y) {
      difference = row.greater ? b.call("aten.sub.Tensor", {x, y}) : b.call("aten.sub.Tensor", {y, x});
    } else {
      const double bound = *finite_number(node.arg(1));
      if (row.greater) difference = bound == 0 ? x : b.call("aten.sub.Scalar", {x, bound});
      if (!row.greater) difference = bound == 0 ? b.call("aten.neg", {x}) : b.call("aten.rsub.Scalar", {x, bound});
    }
    // The least normal number times 2^126 is 1.
    Value* step = b.call("aten.clamp", {b.call("aten.mul.Scalar", {difference, 0x1p126}), 0.0, 1.0});
    return row.negated ? opposite(b, step) : step;
  }

  static Value* as_number(Builder& b, Value* condition) {
    if (condition->is_constant()) {
      TensorType type = condition->tensor();
      type.dtype = DType::f32;
      const auto bytes = condition->data.bytes;
      return b.constant(type, *rounded(Reals64(bytes.begin(), bytes.end()), DType::f32), condition->name);
    }
    const Node& node = *condition->producer;
    if (const Comparison* row = comparison_of(node)) return compared(b, node, *row);
    Value* x = as_number(b, tensor_at(node, 0));
    if (is_not(node)) return opposite(b, x);
    Value* y = as_number(b, tensor_at(node, 1));
    return is_and(node) ? b.call("aten.mul.Tensor", {x, y}) : b.call("aten.maximum", {x, y});
  }

  // --- choices ---

  static Value* weighed(Builder& b, const Arg& x, Value* s) {
    const auto number = finite_number(x);
    if (!number) return b.call("aten.mul.Tensor", {x.as<Value*>(), s});
    return *number == 1 ? s : b.call("aten.mul.Scalar", {s, *number});
  }

  static Value* weighed_sum(Builder& b, const Arg& yes, const Arg& no, Value* s) {
    if (finite_number(no) == 0.0) return weighed(b, yes, s);
    Value* second = weighed(b, no, opposite(b, s));
    return finite_number(yes) == 0.0 ? second : b.call("aten.add.Tensor", {weighed(b, yes, s), second});
  }

  // where(x > c, x, c) and its like
  static Value* clamped(Builder& b, const Node& node, const Arg& yes, const Arg& no) {
    const Node* condition = node.arg(size_t{0}).as<Value*>()->producer;
    const Comparison* row = condition ? comparison_of(*condition) : nullptr;
    if (!row || tensor_at(*condition, 1)) return nullptr;
    const double bound = *finite_number(condition->arg(1));
    const bool above = row->greater != row->negated;
    for (const bool kept : {true, false}) {
      const Arg &x = kept ? yes : no, &other = kept ? no : yes;
      if (!x.is<Value*>() || x.as<Value*>() != tensor_at(*condition, 0) || finite_number(other) != bound) continue;
      if (above == kept) return b.call("aten.clamp", {x, bound});
      return b.call("aten.clamp", {x, None{}, bound});
    }
    return nullptr;
  }

  bool fits(const Arg& branch) const {
    if (finite_number(branch)) return true;
    return branch.is<Value*>() && branch.as<Value*>()->dtype() == DType::f32 && is_tame(branch.as<Value*>());
  }

  Value* select(Builder& b, const Node& node) const {
    const bool where = node.is("aten.where.self");
    const Arg& yes = node.arg(where ? 1 : 2);
    const Arg& no = node.arg(where ? 2 : 0);
    Value* condition = node.arg(where ? 0 : 1).as<Value*>();
    if (node.result()->dtype() != DType::f32 || condition->dtype() != DType::boolean) return nullptr;
    if (finite_number(yes) && finite_number(no)) return nullptr;
    if (!fits(yes) || !fits(no) || !is_arithmetic(condition)) return nullptr;
    Value* out = where ? clamped(b, node, yes, no) : nullptr;
    if (!out) out = weighed_sum(b, yes, no, as_number(b, condition));
    return out->sizes() == node.result()->sizes() ? out : b.expand(out, node.result()->sizes());
  }

  Graph& graph_;
  std::unordered_set<const Value*> tame_;  // looked up only
};

}  // namespace

// Choices between floats by comparisons of floats, for backends without booleans: a condition becomes 0 or 1.
//   before: y = where(x > c, a, b)
//   after:  s = clamp((x - c) * 2^126, 0, 1); y = a * s + b * (1 - s)
// Also conditions that are constants, and masked_fill. Requires: canonicalize has run. Only f32, where a or b is no
// number (those count, and a NaN would be all of the count), and where no operator in front of a or b makes infinity or
// NaN of ordinary numbers (a quotient, a logarithm ..): those are what many choices guard against. Keeps: finite
// values, but for comparisons of tensors that are less than 2^-126 apart. Differs where x, a or b is inf or NaN.
Result<Changed> arithmetic_selects(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) { return &g == &graph ? Selector(g).run() : Changed::no; });
}

}  // namespace wick::compiler
