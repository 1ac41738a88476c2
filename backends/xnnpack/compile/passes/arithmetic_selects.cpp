#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

#include "backends/xnnpack/compile/passes/match/guarded_chain.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/reals.h"
#include "compiler/passes/match/bounds.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Binary;
using compiler::Bounds;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::None;
using compiler::Reals64;
using compiler::Result;
using compiler::rounded;
using compiler::Sym;
using compiler::TensorType;
using compiler::Value;
using compiler::ValueRange;
using compiler::ValueRanges;
using compiler::ZeroSigns;

namespace {

constexpr double kLargestSingle = std::numeric_limits<float>::max();

struct Comparison {
  enum class Kind : uint8_t { greater, less, differs } kind;
  bool negated;  // or the opposite of that
};

std::optional<Comparison> comparison_of(const Node& node) {
  using Kind = Comparison::Kind;
  switch (node.op->facts.binary) {
    case Binary::eq: return Comparison{Kind::differs, true};
    case Binary::ne: return Comparison{Kind::differs, false};
    case Binary::gt: return Comparison{Kind::greater, false};
    case Binary::le: return Comparison{Kind::greater, true};
    case Binary::lt: return Comparison{Kind::less, false};
    case Binary::ge: return Comparison{Kind::less, true};
    default: return std::nullopt;
  }
}

constexpr int kMaxDepthOfSelect = 8;
// Differences of smaller numbers may be subnormal, which backends may treat as zero.
constexpr double kLeastBound = 0x1p-100;
constexpr int64_t kMaxMaskElements = 1 << 20;

bool is_multiplication(const Node& node) { return node.is("aten.mul.Tensor"); }
bool is_not(const Node& node) { return node.is("aten.logical_not.default") || node.is("aten.bitwise_not.default"); }

bool is_boolean(const Value* value) { return value && value->type.is_tensor() && value->dtype() == DType::boolean; }
bool is_whole(const Value* value) {
  return value && value->type.is_tensor() && (is_boolean(value) || is_integral(value->dtype()));
}
bool is_f32(const Value* value) { return value->type.is_tensor() && value->dtype() == DType::f32; }

std::optional<double> finite_number(const Arg& arg) {
  const auto element = number_of(arg, DType::f32);
  return element && std::isfinite(element->real) ? std::optional<double>(element->real) : std::nullopt;
}

// Whether the condition, which compares `x` with a number, selects a zero.
bool lets_zero_through(const Value* condition, const Value* x, bool where_true) {
  const Node* node = condition->producer;
  const auto row = node ? comparison_of(*node) : std::nullopt;
  if (!row || node->tensor_or_null(0) != x || node->tensor_or_null(1)) return true;
  const auto bound = finite_number(node->arg(1));
  if (!bound) return true;
  const bool holds = row->kind == Comparison::Kind::greater ? 0 > *bound
                     : row->kind == Comparison::Kind::less  ? 0 < *bound
                                                            : *bound != 0;
  return (holds != row->negated) == where_true;
}

Value* opposite(Builder& b, Value* x) { return b.call("aten.rsub.Scalar", {x, 1.0}); }

// Conditions as 0 and 1.
class Conditions {
 public:
  Conditions(const Graph& graph, Bounds& bounds) : graph_(graph), bounds_(bounds) {}

  // The ranges of the graph as it was at the first call.
  const ValueRanges& ranges() {
    if (!ranges_) ranges_.emplace(graph_);
    return *ranges_;
  }

  // Whether the condition consists of comparisons of f32 tensors without NaN, of constants, and of values that are
  // known before anything is computed in floats.
  bool is_arithmetic(const Value* condition, int depth = 0) {
    if (!is_boolean(condition)) return false;
    if (condition->is_constant()) return condition->tensor().dim_order.empty();
    if (is_early(condition)) return true;
    const Node* node = condition->producer;
    if (!node || depth > kMaxDepthOfSelect) return false;
    if (comparison_of(*node)) return can_compare(*node);
    if (!node->is(Binary::conjunction) && !node->is(Binary::disjunction) && !is_not(*node)) return false;
    const auto operands = node->operands();
    return std::all_of(operands.begin(), operands.end(),
                       [&](const Value* operand) { return is_arithmetic(operand, depth + 1); });
  }

  // Whether the value is computed only from integers, which no delegate computes, and from booleans.
  bool is_early(const Value* value) {
    if (value->is_constant()) return true;
    if (!value->type.is_tensor() || is_floating(value->dtype())) return false;
    if (!value->producer || !is_boolean(value)) return true;
    const auto [known, is_new] = early_.try_emplace(value, false);
    if (!is_new) return known->second;
    const auto operands = value->producer->operands();
    const bool early = value->producer->graphs.empty() &&
                       std::all_of(operands.begin(), operands.end(), [&](const Value* x) { return is_early(x); });
    return early_[value] = early;
  }

  Value* as_number(Builder& b, Value* condition) {
    if (condition->is_constant()) {
      TensorType type = condition->tensor();
      type.dtype = DType::f32;
      const auto bytes = condition->data.bytes();
      return b.constant(type, *rounded(Reals64(bytes.begin(), bytes.end()), DType::f32), condition->name);
    }
    if (is_early(condition)) return b.cast(condition, DType::f32);
    const Node& node = *condition->producer;
    if (const auto row = comparison_of(node)) return compared(b, node, *row);
    Value* x = as_number(b, node.tensor_or_null(0));
    if (is_not(node)) return opposite(b, x);
    Value* y = as_number(b, node.tensor_or_null(1));
    return node.is(Binary::conjunction) ? b.call("aten.mul.Tensor", {x, y}) : b.call("aten.maximum", {x, y});
  }

  // A finite f32 number. An infinity becomes the largest number with its sign.
  Value* finite(Builder& b, Value* x) {
    return bounds_.is_bounded(x) ? x : b.call("aten.clamp", {x, -kLargestSingle, kLargestSingle});
  }

 private:
  bool can_compare(const Node& node) {
    const Value* x = node.tensor_or_null(0);
    if (ranges().small_numbers().tells(node, ranges())) return false;
    // x == x and 0 x == 0 test for NaN.
    if (!x || !is_f32(x) || !bounds_.is_number(x) || bounds_.is_zero(x)) return false;
    if (const Value* y = node.tensor_or_null(1)) return x != y && is_f32(y) && bounds_.is_number(y);
    const auto bound = finite_number(node.arg(1));
    return bound && (*bound == 0 || std::abs(*bound) >= kLeastBound);
  }

  Value* difference(Builder& b, const Node& node, bool reversed) {
    Value* x = node.tensor_or_null(0);
    if (Value* y = node.tensor_or_null(1)) {
      const bool both = !bounds_.is_bounded(x) && !bounds_.is_bounded(y);
      if (both) x = finite(b, x), y = finite(b, y);
      return reversed ? b.call("aten.sub.Tensor", {y, x}) : b.call("aten.sub.Tensor", {x, y});
    }
    const double bound = *finite_number(node.arg(1));
    if (reversed) return bound == 0 ? b.call("aten.neg", {x}) : b.call("aten.rsub.Scalar", {x, bound});
    return bound == 0 ? x : b.call("aten.sub.Scalar", {x, bound});
  }

  Value* compared(Builder& b, const Node& node, const Comparison& row) {
    Value* from = difference(b, node, row.kind == Comparison::Kind::less);
    if (row.kind == Comparison::Kind::differs) from = b.call("aten.abs", {from});
    // The least normal number times 2^126 is 1.
    Value* step = b.call("aten.clamp", {b.call("aten.mul.Scalar", {from, 0x1p126}), 0.0, 1.0});
    return row.negated ? opposite(b, step) : step;
  }

  const Graph& graph_;
  Bounds& bounds_;
  std::optional<ValueRanges> ranges_;
  std::unordered_map<const Value*, bool> early_;  // never iterated
};

class Selector {
 public:
  explicit Selector(Graph& graph) : graph_(graph) {}

  Changed run() {
    std::vector<std::pair<Node*, Handler>> found;
    for (const auto& node : graph_.nodes()) {
      if (const Handler handle = handler(*node)) found.emplace_back(node.get(), handle);
    }
    if (found.empty()) return Changed::no;
    bounds_.emplace(graph_);
    signs_.emplace(graph_);
    conditions_.emplace(graph_, *bounds_);
    std::vector<Node*> left;
    for (const auto& [node, handle] : found) {
      Builder b(graph_, node);
      Value* made = (this->*handle)(b, *node);
      if (!made) continue;
      bounds_->inherit(made, node->result());
      graph_.replace(node->result(), made);
      left.push_back(node);
    }
    erase_unread(graph_, left);
    return left.empty() ? Changed::no : Changed::yes;
  }

 private:
  using Handler = Value* (Selector::*)(Builder&, const Node&);

  static Handler handler(const Node& node) {
    if (node.results().size() != 1 || !is_f32(node.result())) return nullptr;
    if (node.is("aten.where.self") || node.is("aten.masked_fill.Scalar")) return &Selector::select;
    const auto operands = node.operands();
    if (node.is("aten._to_copy.default") && is_boolean(operands[0])) return &Selector::factor;
    if ((is_multiplication(node) || is_add_or_sub(node)) && std::any_of(operands.begin(), operands.end(), is_whole))
      return &Selector::promoted;
    if (node.is("aten.tril.default") || node.is("aten.triu.default")) return &Selector::triangle;
    return nullptr;
  }

  const ValueRanges& ranges() { return conditions_->ranges(); }

  // --- conditional selects ---

  bool can_choose(const Arg& branch) {
    if (finite_number(branch)) return true;
    const Value* x = branch.is<Value*>() ? branch.as<Value*>() : nullptr;
    return x && is_f32(x) && (bounds_->is_number(x) || guarded_chain(x, *bounds_));
  }

  // Whether an overflow of `x` has to stay infinite where `out` selects it, because a reader of `out` might turn the
  // largest number into something else.
  bool stays_infinite(const Value* x, const Value* out) {
    return !bounds_->is_finite(x) && ranges().hides_infinity(out);
  }

  // The number `x` where s is 1, and 0 where s is 0. Infinity times 0 would be NaN, so an `x` that may be infinite is
  // clamped to a limit that is infinite where s is 1, and 0 where s is 0.
  Value* kept(Builder& b, Value* x, Value* s, bool infinite) {
    if (!infinite) return b.call("aten.mul.Tensor", {conditions_->finite(b, x), s});
    Value* limit = b.call("aten.square", {b.call("aten.mul.Scalar", {s, 0x1p100})});
    const ValueRange range = ranges().of(x);
    if (range.min < 0) x = b.call("aten.maximum", {x, b.call("aten.neg", {limit})});
    return range.max > 0 ? b.call("aten.minimum", {x, limit}) : x;
  }

  // x s + safe (1 - s). Readers that distinguish -0 get x s - safe (s - 1): -0 plus 0 is 0, -0 minus 0 is -0.
  Value* guarded(Builder& b, Value* x, Value* s, double safe) {
    Value* near = kept(b, x, s, !bounds_->is_finite(x));
    if (safe == 0) return near;
    const bool signs = signs_->matter(x);
    Value* other = signs ? b.call("aten.sub.Scalar", {s, 1.0}) : opposite(b, s);
    if (safe != 1) other = b.call("aten.mul.Scalar", {other, safe});
    return b.call(signs ? "aten.sub.Tensor" : "aten.add.Tensor", {near, other});
  }

  // `x` where s is 1, and 0 where s is 0: a part of what `out` selects.
  Value* weighed(Builder& b, const Arg& x, Value* s, const Value* out) {
    if (const auto number = finite_number(x)) return *number == 1 ? s : b.call("aten.mul.Scalar", {s, *number});
    Value* value = x.as<Value*>();
    if (bounds_->is_number(value)) return kept(b, value, s, stays_infinite(value, out));
    const GuardedChain chain = *guarded_chain(value, *bounds_);
    const auto leaf = [&](Value* from) { return guarded(b, from, s, chain.safe); };
    return b.call("aten.mul.Tensor", {rebuilt(b, chain, leaf), s});
  }

  Value* weighed_sum(Builder& b, const Arg& yes, const Arg& no, Value* s, const Value* out) {
    if (finite_number(no) == 0.0) return weighed(b, yes, s, out);
    Value* second = weighed(b, no, opposite(b, s), out);
    return finite_number(yes) == 0.0 ? second : b.call("aten.add.Tensor", {weighed(b, yes, s, out), second});
  }

  // where(x > c, x, c) and similar.
  static Value* clamped(Builder& b, const Node& node, const Arg& yes, const Arg& no) {
    const Node* condition = node.arg(size_t{0}).as<Value*>()->producer;
    const auto row = condition ? comparison_of(*condition) : std::nullopt;
    if (!row || row->kind == Comparison::Kind::differs || condition->tensor_or_null(1)) return nullptr;
    const auto bound = finite_number(condition->arg(1));
    const bool above = (row->kind == Comparison::Kind::greater) != row->negated;
    for (const bool kept : {true, false}) {
      const Arg &x = kept ? yes : no, &other = kept ? no : yes;
      if (!x.is<Value*>() || x.as<Value*>() != condition->tensor_or_null(0) || finite_number(other) != bound) continue;
      if (above == kept) return b.call("aten.clamp", {x, *bound});
      return b.call("aten.clamp", {x, None{}, *bound});
    }
    return nullptr;
  }

  // Selects between values that are known early are best computed early.
  bool is_late(const Arg& branch) { return branch.is<Value*>() && branch.as<Value*>()->producer; }
  bool needs_cast(const Value* condition) { return !condition->is_constant() && conditions_->is_early(condition); }

  // The sign of an infinity, 0 for other branches.
  static int infinity(const Arg& branch) {
    const auto number = number_of(branch, DType::f32);
    if (!number || !std::isinf(number->real)) return 0;
    return number->real > 0 ? 1 : -1;
  }

  // `x` where s is 1, an infinity where s is 0: log(s) is 0 or -inf.
  Value* or_infinity(Builder& b, Value* x, Value* s, int sign, const Value* out) {
    const bool clamps = bounds_->is_number(x) && !stays_infinite(x, out);
    Value* near = clamps ? conditions_->finite(b, x) : weighed(b, x, s, out);
    Value* far = b.call("aten.log", {s});
    return sign < 0 ? b.call("aten.add.Tensor", {near, far}) : b.call("aten.sub.Tensor", {near, far});
  }

  Value* select(Builder& b, const Arg& yes, const Arg& no, Value* s, const Value* out) {
    if (const int sign = infinity(no)) return or_infinity(b, yes.as<Value*>(), s, sign, out);
    if (const int sign = infinity(yes)) return or_infinity(b, no.as<Value*>(), opposite(b, s), sign, out);
    return weighed_sum(b, yes, no, s, out);
  }

  bool is_choice(const Arg& yes, const Arg& no) {
    const auto fits = [&](const Arg& x, const Arg& other) {
      return can_choose(x) && (can_choose(other) || (infinity(other) != 0 && !finite_number(x)));
    };
    return fits(yes, no) || fits(no, yes);
  }

  // Leaves predicates that are summed: one NaN would poison the total.
  static bool multiplies(const Value& number) {
    const auto& users = number.users();
    return number.num_uses() == users.size() &&
           std::all_of(users.begin(), users.end(), [](const Node* user) { return is_multiplication(*user); });
  }

  // Whether a -0, which would come out as 0, may be selected, and a reader would notice.
  bool loses_sign(const Node& node, const Value* condition, const Arg& yes, const Arg& no) {
    if (!signs_->matter(node.result())) return false;
    for (const bool chosen : {true, false}) {
      const Arg& branch = chosen ? yes : no;
      if (const auto number = finite_number(branch)) {
        if (*number == 0 && std::signbit(*number)) return true;
        continue;
      }
      const Value* x = branch.is<Value*>() ? branch.as<Value*>() : nullptr;
      if (x && lets_zero_through(condition, x, chosen) && may_be_negative_zero(x, ranges())) return true;
    }
    return false;
  }

  Value* select(Builder& b, const Node& node) {
    const bool where = node.is("aten.where.self");
    const Arg& yes = node.arg(where ? 1 : 2);
    const Arg& no = node.arg(where ? 2 : 0);
    Value* condition = node.arg(where ? 0 : 1).as<Value*>();
    if (!conditions_->is_arithmetic(condition) || !is_choice(yes, no)) return nullptr;
    if (finite_number(yes) && finite_number(no) && !multiplies(*node.result())) return nullptr;
    if (needs_cast(condition) && !is_late(yes) && !is_late(no)) return nullptr;
    if (loses_sign(node, condition, yes, no) || ranges().small_numbers().matter(node.result())) return nullptr;
    Value* out = where ? clamped(b, node, yes, no) : nullptr;
    if (!out) {
      out = select(b, yes, no, conditions_->as_number(b, condition), node.result());
      // The value that is not selected can leave its sign on the zero: -1 times 0 is -0.
      const bool zero = finite_number(yes) == 0.0 || finite_number(no) == 0.0;
      if (zero && signs_->matter(node.result())) out = b.call("aten.add.Scalar", {out, 0.0});
    }
    return out->sizes() == node.result()->sizes() ? out : b.expand(out, node.result()->sizes());
  }

  // --- factors ---

  // A condition that becomes a factor.
  Value* factor(Builder& b, const Node& node) {
    Value* condition = node.tensor_or_null(0);
    if (conditions_->is_early(condition) || !conditions_->is_arithmetic(condition)) return nullptr;
    return multiplies(*node.result()) ? conditions_->as_number(b, condition) : nullptr;
  }

  // x * condition, x + integers: eager converts them to floats too.
  Value* promoted(Builder& b, const Node& node) {
    const bool first = is_whole(node.tensor_or_null(0));
    Value *x = node.tensor_or_null(first ? 1 : 0), *whole = node.tensor_or_null(first ? 0 : 1);
    if (!x || !is_f32(x) || !is_whole(whole)) return nullptr;
    if (is_boolean(whole) ? !conditions_->is_arithmetic(whole) : !conditions_->is_early(whole)) return nullptr;
    if (needs_cast(whole) && !x->producer) return nullptr;
    Args args = node.args();
    args[first ? 0 : 1] = is_boolean(whole) ? conditions_->as_number(b, whole) : b.cast(whole, DType::f32);
    return b.call(node.op->name(), std::move(args));
  }

  Value* triangle(Builder& b, const Node& node) {
    Value* x = node.tensor_or_null(0);
    const size_t rank = x->rank();
    const Sym diagonal = node.integer("diagonal");
    if (rank < 2 || !diagonal.is_const() || !can_choose(x) || signs_->matter(node.result())) return nullptr;
    const Sym &rows = x->sizes()[rank - 2], &columns = x->sizes()[rank - 1];
    int64_t count = 0;
    if (!rows.is_const() || !columns.is_const() || __builtin_mul_overflow(rows.value(), columns.value(), &count) ||
        count > kMaxMaskElements)
      return nullptr;
    Reals64 mask;
    for (int64_t i = 0; i < rows.value(); ++i) {
      for (int64_t j = 0; j < columns.value(); ++j) {
        const bool kept = node.is("aten.tril.default") ? j - i <= diagonal.value() : j - i >= diagonal.value();
        mask.push_back(kept ? 1 : 0);
      }
    }
    const TensorType type{DType::f32, {rows, columns}, {}};
    return weighed(b, x, b.constant(type, *rounded(mask, DType::f32), "triangle"), node.result());
  }

  Graph& graph_;
  std::optional<Bounds> bounds_;
  std::optional<Conditions> conditions_;
  std::optional<ZeroSigns> signs_;  // of the graph before the rewrite
};

}  // namespace

// Replaces conditional selects between floats by arithmetic, for backends without booleans. A condition becomes 0 or 1.
//   before: y = where(x > c, a, b)
//   after:  s = clamp((x - c) * 2^126, 0, 1); y = a * s + b * (1 - s)
// Also handles masked_fill, tril and triu; conditions and integers that are multiplied, added or converted to floats;
// and conditions that are constants or made of integers, which only get a cast.
// Applies only to f32, and only if the compared values are finite for all finite inputs (Bounds). The selected values
// must be finite too. Where they may be infinite they are clamped to the largest number, or, if a reader of the result
// may tell infinities from numbers, to limits that are infinite or 0:
//   after:  l = (s * 2^100)^2; y = min(max(a, -l), l)                  instead of a * s
// A branch such as log(x) or a / x gets a harmless x where it is not selected:
//   before: y = where(x > 0, log(x), 0)              after: y = log(x * s + (1 - s)) * s
// Leaves alone selects that may give -0 if a reader distinguishes -0 from 0, and small numbers (SmallNumbers) if a
// reader distinguishes those from 0.
// Requires: canonicalize has run.
// Keeps: finite values, except for comparisons of tensors that are less than 2^-126 apart. Differs where an input is
// NaN, and where an infinity is selected that no reader hides: the largest number replaces it.
Result<Changed> arithmetic_selects(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) { return &g == &graph ? Selector(g).run() : Changed::no; });
}

}  // namespace wick::xnnpack
