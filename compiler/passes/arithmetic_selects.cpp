#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "compiler/passes/constant_element.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/weights.h"

namespace wick::compiler {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

// How large results are, for numbers of at most the largest of the operands.
enum class Growth : uint8_t {
  keeps,      // no larger
  one,        // at most 2
  little,     // at most 1 larger
  six_times,  // an intermediate product with 6
  sum,        // that of the operands
  product,
  total,     // of all elements of operand 0
  matrices,  // finite unless a product of matrices overflows, which it does for any reader
};
struct Row {
  std::string_view op;
  Growth growth;
};
constexpr Row kRows[] = {
    {"aten._adaptive_avg_pool2d.default", Growth::total},
    {"aten._softmax.default", Growth::one},
    {"aten._to_copy.default", Growth::keeps},
    {"aten.abs.default", Growth::keeps},
    {"aten.add.Scalar", Growth::sum},
    {"aten.add.Tensor", Growth::sum},
    {"aten.addmm.default", Growth::matrices},
    {"aten.amax.default", Growth::keeps},
    {"aten.amin.default", Growth::keeps},
    {"aten.atan.default", Growth::one},
    {"aten.avg_pool2d.default", Growth::total},
    {"aten.bmm.default", Growth::matrices},
    {"aten.cat.default", Growth::keeps},
    {"aten.ceil.default", Growth::little},
    {"aten.clamp.default", Growth::keeps},
    {"aten.constant_pad_nd.default", Growth::keeps},
    {"aten.convolution.default", Growth::matrices},
    {"aten.cos.default", Growth::one},
    {"aten.embedding.default", Growth::keeps},
    {"aten.erf.default", Growth::one},
    {"aten.expand.default", Growth::keeps},
    {"aten.floor.default", Growth::little},
    {"aten.gelu.default", Growth::little},
    {"aten.hardsigmoid.default", Growth::one},
    {"aten.hardswish.default", Growth::six_times},
    {"aten.hardtanh.default", Growth::keeps},
    {"aten.linear.default", Growth::matrices},
    {"aten.log_sigmoid.default", Growth::little},
    {"aten.masked_fill.Scalar", Growth::keeps},
    {"aten.matmul.default", Growth::matrices},
    {"aten.max_pool2d_with_indices.default", Growth::keeps},
    {"aten.maximum.default", Growth::keeps},
    {"aten.mean.dim", Growth::total},
    {"aten.minimum.default", Growth::keeps},
    {"aten.mm.default", Growth::matrices},
    {"aten.mul.Scalar", Growth::product},
    {"aten.mul.Tensor", Growth::product},
    {"aten.neg.default", Growth::keeps},
    {"aten.permute.default", Growth::keeps},
    {"aten.relu.default", Growth::keeps},
    {"aten.relu6.default", Growth::keeps},
    {"aten.roll.default", Growth::keeps},
    {"aten.round.default", Growth::little},
    {"aten.rsub.Scalar", Growth::sum},
    {"aten.select.int", Growth::keeps},
    {"aten.sigmoid.default", Growth::one},
    {"aten.sign.default", Growth::one},
    {"aten.silu.default", Growth::little},
    {"aten.sin.default", Growth::one},
    {"aten.slice.Tensor", Growth::keeps},
    {"aten.softplus.default", Growth::little},
    {"aten.sub.Scalar", Growth::sum},
    {"aten.sub.Tensor", Growth::sum},
    {"aten.sum.dim_IntList", Growth::total},
    {"aten.tanh.default", Growth::one},
    {"aten.trunc.default", Growth::little},
    {"aten.view.default", Growth::keeps},
    {"aten.where.self", Growth::keeps},
};

// The largest number of a constant, if all are finite.
std::optional<double> largest_of(const Value& constant) {
  if (!is_floating(constant.dtype())) return std::min(kLargest, 0x1p64);
  if (constant.dtype() != DType::f32 && !has_reals(&constant)) return std::nullopt;
  return largest_magnitude(constant.dtype(), constant.data);
}

// Bounds of the values that are finite, and no NaN, for all finite inputs.
class Bounds {
 public:
  explicit Bounds(const Graph& graph) {
    for (const GraphInput& input : graph.inputs) bounds_.emplace(input.value, kLargest);
    for (const auto& node : graph.nodes()) {
      if (node->results().empty()) continue;
      const auto bound = bound_of(*node);
      if (bound && *bound <= kLargest) bounds_[node->result()] = bound;
    }
  }

  bool has(const Value* value) { return of(value).has_value(); }

 private:
  // Constants are looked at once, when somebody asks.
  std::optional<double> of(const Value* value) {
    const auto [found, is_new] = bounds_.try_emplace(value);
    if (is_new && value->is_constant() && value->type.is_tensor()) found->second = largest_of(*value);
    return found->second;
  }

  std::optional<double> bound_of(const Node& node) {
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return node.is(r.op); });
    if (row == std::end(kRows)) return std::nullopt;
    double largest = 0, sum = 0, product = 1;
    const auto count = [&](double bound) {
      largest = std::max(largest, bound);
      sum += bound;
      product *= bound;
    };
    const auto operands = node.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value* operand = operands[i];
      if (operand->type.is_tensor() && operand->dtype() == DType::boolean) continue;
      // An infinite weight would make NaN of all that reads it.
      if (row->growth == Growth::matrices && operand->is_constant()) continue;
      const auto bound = of(operand);
      if (!bound) return std::nullopt;
      count(*bound);
    }
    double factor = 1;  // of a summand
    for (const char* name : {"other", "value", "self", "alpha"}) {
      if (node.op->parsed->find(name) < 0 || node.arg(name).is<Value*>() || node.is_none(name)) continue;
      const auto number = number_of(node.arg(name), DType::f64);
      if (!number || !std::isfinite(number->real)) return std::nullopt;
      if (std::string_view(name) == "alpha")
        factor = std::max(1.0, std::abs(number->real));
      else
        count(std::abs(number->real));
    }
    for (const char* name : {"min", "max", "min_val", "max_val"}) {
      if (node.op->parsed->find(name) < 0 || node.is_none(name)) continue;
      const auto number = number_of(node.arg(name), DType::f64);
      if (!number || std::isnan(number->real)) return std::nullopt;
      if (std::isfinite(number->real)) largest = std::max(largest, std::abs(number->real));
    }
    return grown(row->growth, node, largest, sum * factor, product);
  }

  static std::optional<double> grown(Growth growth, const Node& node, double largest, double sum, double product) {
    switch (growth) {
      case Growth::keeps: return largest;
      case Growth::one: return 2.0;
      case Growth::little: return largest + 1;
      case Growth::six_times: return 6 * largest <= kLargest ? std::optional<double>(largest) : std::nullopt;
      case Growth::sum: return sum;
      case Growth::product: return product;
      case Growth::matrices: return kLargest;
      case Growth::total: break;
    }
    double elements = 1;
    for (const Sym& size : node.operands()[0]->sizes()) {
      if (!size.is_const() || size.value() <= 0) return std::nullopt;
      elements *= static_cast<double>(size.value());
    }
    return largest * elements;
  }

  std::unordered_map<const Value*, std::optional<double>> bounds_;  // looked up only
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
    bounds_.emplace(graph_);
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
  static std::optional<double> finite_number(const Arg& arg) {
    const auto element = number_of(arg, DType::f32);
    return element && std::isfinite(element->real) ? std::optional<double>(element->real) : std::nullopt;
  }

  // --- conditions as 0 and 1 ---

  bool can_compare(const Node& node) {
    const Value* x = tensor_at(node, 0);
    if (!x || x->dtype() != DType::f32 || !bounds_->has(x)) return false;
    if (const Value* y = tensor_at(node, 1)) return y->dtype() == DType::f32 && bounds_->has(y);
    const auto bound = finite_number(node.arg(1));
    return bound && (*bound == 0 || std::abs(*bound) >= kLeastBound);
  }

  // Is the condition made of comparisons of finite f32 tensors and constants alone?
  bool is_arithmetic(const Value* condition, int depth = 0) {
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
      const auto bytes = condition->data.bytes();
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

  bool fits(const Arg& branch) {
    if (finite_number(branch)) return true;
    return branch.is<Value*>() && branch.as<Value*>()->dtype() == DType::f32 && bounds_->has(branch.as<Value*>());
  }

  Value* select(Builder& b, const Node& node) {
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
  std::optional<Bounds> bounds_;
};

}  // namespace

// Choices between floats by comparisons of floats, for backends without booleans: a condition becomes 0 or 1.
//   before: y = where(x > c, a, b)
//   after:  s = clamp((x - c) * 2^126, 0, 1); y = a * s + b * (1 - s)
// Also conditions that are constants, and masked_fill. Requires: canonicalize has run. Only f32, where a or b is no
// number (those count, and a NaN would be all of the count), and where x, a and b are finite for all finite inputs and
// finite products of matrices: infinity and NaN are what many choices guard against. Keeps: finite values, but for
// comparisons of tensors that are less than 2^-126 apart. Differs where an input is inf or NaN.
Result<Changed> arithmetic_selects(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) { return &g == &graph ? Selector(g).run() : Changed::no; });
}

}  // namespace wick::compiler
