#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/int16/number_bounds.h"
#include "backends/cortex_m/compile/ops/int16/rounding.h"
#include "backends/cortex_m/compile/ops/int16/shown_rounding.h"
#include "backends/cortex_m/compile/ops/int16/unannotated_int16.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/passes/split_weights.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ir/builder.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Arg;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::PipelineOptions;
using compiler::Result;
using compiler::TensorType;
using compiler::Value;
using compiler::Values;

namespace {

constexpr double kLargestInt16 = 32767;  // element of int16
constexpr int kFinerSteps = 128;         // int16 steps in one of int8: 255 * 128 fit 16 bits
constexpr double kGrains = 256;          // the least number of differences that count, up to the bound
constexpr double kMostSlack = 128;  // for values behind two loose bounds: leaves 256 steps for the usual magnitudes

bool is_float(const Value& value) {
  return value.type.is_tensor() && !value.is_quantized() && value.dtype() == DType::f32;
}

void make_int16(TensorType* type, double scale) { *type = as_int16(std::move(*type), scale); }

// --- which numbers become int16 ---

struct Between {
  TensorType before;
  std::vector<Value*> stands_for;
  bool is_loose = false;
  double grain = 0;  // smallest difference that counts
  double slack = 1;  // bound divided by the largest magnitude to expect (Bound)
  Rounding rounding;
};
// The values that may become int16: by value, and in an order that depends only on the graph.
struct Candidates {
  std::unordered_map<const Value*, Between> of;  // looked up only
  std::vector<Value*> order;

  RoundingOf rounding() const {
    return [this](const Value& value) {
      const auto found = of.find(&value);
      return found == of.end() ? nullptr : &found->second.rounding;
    };
  }
};

bool is_read_inside(const Value& value) { return value.num_uses() > 0 && value.users().size() == value.num_uses(); }

Values read_results(const Node& node) {
  Values read = node.results();
  std::erase_if(read, [](const Value* result) { return result->num_uses() == 0; });
  return read;
}

// Whether all tensor operands have elements, are constant, or are indices, and at least one has elements.
bool reads_elements(const Node& node) {
  bool any = false;
  for (const Value* operand : node.operands()) {
    const bool elements = !operand->is_constant() && has_elements(*operand);
    const bool is_index = operand->type.is_tensor() && !operand->is_quantized() && operand->dtype() != DType::f32;
    if (!elements && !is_index && !operand->is_constant()) return false;
    any = any || elements;
  }
  return any;
}

bool has_known_sizes(const Node& node) {
  const OpRule* rule = find_rule(node);
  const bool any_batch = rule && rule->open != OpenSizes::none;
  const auto known = [&](const Value* value) {
    return any_batch ? is_known_but_batch(*value) : value->type.is_tensor() && is_static(value->sizes());
  };
  const std::vector<Value*> operands = node.operands();
  return std::all_of(operands.begin(), operands.end(), known) &&
         std::all_of(node.results().begin(), node.results().end(), known);
}

// The smallest difference that counts in a result, or in a term of a sum. A node that adds or selects numbers inherits
// it from its operands.
double grain_of(const Node& node, const Bound& bound, const Candidates& candidates) {
  double grain = bound.largest / kGrains;
  if (!bound.keeps_steps) return grain;
  for (const Value* operand : node.operands()) {
    if (operand->is_constant() || !has_elements(*operand)) continue;
    const auto found = candidates.of.find(operand);
    const Affine q = affine(*operand);
    grain = std::min(grain, found != candidates.of.end()    ? found->second.grain
                            : operand->dtype() == DType::i8 ? q.scale
                                                            : q.scale * (q.max - q.min) / kGrains);
  }
  return grain;
}

// The slack of a result: that of the node's own bound times what it inherits from its operands.
double slack_of(const Node& node, const Bound& bound, const Candidates& candidates) {
  const bool multiplies = node.is(compiler::Binary::mul) || node.op->facts.gemm;
  double slack = 1;
  for (const Value* operand : node.operands()) {
    const auto found = candidates.of.find(operand);
    if (found == candidates.of.end()) continue;
    slack = multiplies ? slack * found->second.slack : std::max(slack, found->second.slack);
  }
  return slack * bound.slack;
}

void consider_result(const Node& node, Value* result, Candidates& candidates) {
  if (!is_float(*result) || !is_read_inside(*result)) return;
  const auto bound = bound_of(node, *result);
  if (!bound) return;
  bool behind_loose = false;
  for (Value* operand : node.operands()) {
    const auto found = candidates.of.find(operand);
    behind_loose = behind_loose || (found != candidates.of.end() && found->second.is_loose);
  }
  const double grain = grain_of(node, *bound, candidates), step = int16_scale(node, bound->largest);
  const double slack = slack_of(node, *bound, candidates);
  if ((behind_loose && slack > kMostSlack) || compiler::kSignificantInt16Steps * step > grain) return;
  const double error = error_of(node, candidates.rounding());
  Between between = {result->tensor(), result->stands_for, bound->is_loose || behind_loose, grain, slack, {}};
  make_int16(&result->type.tensor, step);
  const double own = error_of_elements(*result);
  between.rounding = {own, error + own};
  candidates.of.emplace(result, std::move(between));
  candidates.order.push_back(result);
}

void consider(const Node& node, Candidates& candidates) {
  if (!has_known_sizes(node) || node.is("wick.convert.default") || !reads_elements(node)) return;
  for (Value* result : read_results(node)) consider_result(node, result, candidates);
}

// The smallest difference that counts in any result of a node. 0: a result has no elements.
double result_grain(const Node& node, const Candidates& candidates) {
  double grain = kUnknown;
  for (const Value* result : read_results(node)) {
    if (!has_elements(*result)) return 0;
    const auto found = candidates.of.find(result);
    grain = std::min(grain, found != candidates.of.end() ? found->second.grain : steps_that_count(*result));
  }
  return std::isfinite(grain) ? grain : 0;
}

// Whether a reader can take its operands as int16: it computes on elements alone, and its results are elements,
// candidates or integers.
bool reads_well(const Node& user, const Candidates& candidates) {
  const std::vector<Value*> operands = user.operands();
  const auto is_open = [](const Value* operand) { return is_float(*operand) && !operand->is_constant(); };
  if (std::any_of(operands.begin(), operands.end(), is_open) || !has_known_sizes(user)) return false;
  const auto is_known = [&](Value* result) {
    return result->num_uses() == 0 || candidates.of.count(result) > 0 || has_elements(*result) ||
           (!result->is_quantized() && is_integral(result->dtype()));
  };
  return std::all_of(user.results().begin(), user.results().end(), is_known);
}

void give_up(Value* value, Candidates& candidates) {
  const Between& between = candidates.of.at(value);
  value->type.tensor = between.before;
  candidates.of.erase(value);
}

// Why nodes stay in floats: the nodes whose operands' rounding shows, and by value the node that keeps it in floats.
struct Causes {
  std::vector<ShownRounding> shown;
  std::unordered_map<const Value*, const Node*> of;  // looked up only
  std::unordered_set<const Node*> open;              // looked up only: nodes that stay for another reason
};

// Gives up values whose rounding shows in the results of their readers. A reader without an integer form has that as
// its reason instead.
void restore_coarse_floats(const std::vector<Node*>& nodes, Candidates& candidates, Causes& causes) {
  std::unordered_set<const Value*> coarse;  // looked up only
  for (const Node* node : nodes) {
    if (!reads_well(*node, candidates)) causes.open.insert(node);
    std::optional<ShownRounding> shown = shown_rounding(*node, candidates.rounding());
    if (!shown) continue;
    const bool has_form = find_rule(*node) && find_rule(*shown->reader);
    if (!has_form) causes.open.insert(node);
    for (const Value* operand : node->operands()) {
      if (candidates.of.count(operand) == 0) continue;
      coarse.insert(operand);
      if (has_form) causes.of.try_emplace(operand, shown->reader);
    }
    if (has_form) causes.shown.push_back(std::move(*shown));
  }
  const auto is_coarse = [&](const Value* value) { return coarse.count(value) > 0; };
  for (Value* value : candidates.order) {
    if (is_coarse(value)) give_up(value, candidates);
  }
  std::erase_if(candidates.order, is_coarse);
}

// The cause of any operand or result of the node; null: none has one.
const Node* cause_beside(const Node& node, const Causes& causes) {
  std::vector<Value*> values = node.operands();
  values.insert(values.end(), node.results().begin(), node.results().end());
  for (const Value* value : values) {
    const auto found = causes.of.find(value);
    if (found != causes.of.end()) return found->second;
  }
  return nullptr;
}

void keep_closed(Candidates& candidates, Causes& causes) {
  for (bool again = true; again;) {
    again = false;
    for (Value* value : std::vector<Value*>(candidates.order)) {
      std::vector<Node*> beside = value->users();
      beside.push_back(value->producer);
      std::erase_if(beside, [&](const Node* node) { return reads_well(*node, candidates); });
      if (beside.empty()) continue;
      for (const Node* node : beside) {
        if (const Node* cause = cause_beside(*node, causes)) causes.of.try_emplace(value, cause);
      }
      give_up(value, candidates);
      std::erase(candidates.order, value);
      again = true;
    }
  }
}

void report_causes(const std::vector<Node*>& nodes, const Causes& causes, const PipelineOptions& options) {
  if (!options.stays) return;
  std::unordered_set<const Node*> told;  // looked up only
  for (const ShownRounding& shown : causes.shown) {
    if (told.insert(shown.reader).second) options.stays(*shown.reader, shown.reason.found, shown.reason.help, nullptr);
  }
  for (const Node* node : nodes) {
    const bool has_own_reason = told.count(node) > 0 || causes.open.count(node) > 0;
    const Node* cause = has_own_reason ? nullptr : cause_beside(*node, causes);
    if (cause) options.stays(*node, "", kFollowCause, cause);
  }
}

// --- nodes that depend on one another ---

struct Group {
  std::vector<Node*> nodes;  // in the graph's order
  std::vector<Value*> values;
};

bool reads_float_constant(const Node& node) {
  const std::vector<Value*> operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), [](const Value* operand) {
    return operand->is_constant() && is_float(*operand) && !is_number(*operand);
  });
}

// Whether the node has int8 and int16 tensors, while its rule takes only one of them.
bool mixes_elements(const Node& node) {
  const OpRule* rule = find_rule(node);
  if (!rule || rule->takes_mixes) return false;
  std::vector<Value*> values = node.operands();
  values.insert(values.end(), node.results().begin(), node.results().end());
  const auto is_narrow = [](const Value* value) { return is_int8(*value); };
  const auto is_wide = [](const Value* value) { return is_int16(*value); };
  return std::any_of(values.begin(), values.end(), is_narrow) && std::any_of(values.begin(), values.end(), is_wide);
}

// Whether the node can be rewritten without others: it computes on elements beside a constant in floats, or mixes int8
// and int16.
bool stands_alone(const Node& node) {
  const bool beside_constant = reads_float_constant(node) && node.results().size() == 1;
  return (beside_constant || mixes_elements(node)) && has_elements(*node.result()) && reads_elements(node) &&
         has_known_sizes(node);
}

std::vector<Group> groups_of(const std::vector<Node*>& nodes, const Candidates& candidates) {
  std::unordered_map<const Node*, size_t> group_of;  // looked up only
  std::vector<Group> groups;
  for (Node* node : nodes) {
    const std::vector<Value*> operands = node->operands(), results = read_results(*node);
    const auto is_candidate = [&](const Value* value) { return candidates.of.count(value) > 0; };
    const bool joins = std::any_of(results.begin(), results.end(), is_candidate) ||
                       std::any_of(operands.begin(), operands.end(), is_candidate);
    if (!joins && !stands_alone(*node)) continue;
    const size_t own = groups.size();
    groups.push_back({{node}, {}});
    group_of[node] = own;
    if (!joins) continue;
    std::copy_if(results.begin(), results.end(), std::back_inserter(groups[own].values), is_candidate);
    for (Value* operand : operands) {
      if (!is_candidate(operand)) continue;
      Group& other = groups[group_of.at(operand->producer)];
      if (other.nodes.empty() || &other == &groups[own]) continue;
      for (Node* each : other.nodes) group_of[each] = own;
      groups[own].nodes.insert(groups[own].nodes.end(), other.nodes.begin(), other.nodes.end());
      groups[own].values.insert(groups[own].values.end(), other.values.begin(), other.values.end());
      other = {};
    }
  }
  std::unordered_map<const Node*, size_t> position;
  for (const Node* node : nodes) position.emplace(node, position.size());
  for (Group& group : groups)
    std::sort(group.nodes.begin(), group.nodes.end(),
              [&](const Node* a, const Node* b) { return position.at(a) < position.at(b); });
  std::erase_if(groups, [](const Group& group) { return group.nodes.empty(); });
  return groups;
}

// --- the nodes on int16 ---

// Changes nodes until the backend takes all of them; undo() restores the graph.
class Widening {
 public:
  Widening(Graph& graph, const PipelineOptions& options, const Candidates& candidates)
      : graph_(graph), options_(options), candidates_(candidates) {}

  bool widen(const std::vector<Node*>& nodes) {
    for (Node* node : nodes) {
      if (options_.takes(*node)) continue;
      grain_ = result_grain(*node, candidates_);
      // An int8 result would get a table with fewer entries.
      const int results = is_tabulated(*node) ? kFinerSteps : 1;
      widen_operands(*node, false);
      for (Value* result : read_results(*node)) widen_result(*node, result, results);
      if (!options_.takes(*node)) widen_operands(*node, true);
      if (!options_.takes(*node) && !split_weights_of(*node)) return false;
    }
    if (!std::all_of(made_.begin(), made_.end(), [&](const Node* node) { return options_.takes(*node); })) return false;
    for (Node* node : replaced_) graph_.erase(node);
    return true;
  }

  void undo() {
    for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) (*step)();
  }

 private:
  Value* convert(Value* x, const TensorType& type, Node* before, const Node& origin) {
    Node* node = graph_.add_node(compiler::op("wick.convert.default"), {x}, 1, before, x->name);
    node->origin = origin.origin;
    node->result()->type = compiler::Type::of(type.dtype, type.sizes);
    node->result()->type.tensor = type;
    undo_.push_back([this, node] { graph_.erase(node); });
    made_.push_back(node);
    return node->result();
  }

  // The operand as int16; null: it stays as it is.
  Value* widened(Value* x, bool constants, Node& reader) {
    if (!x || is_number(*x)) return nullptr;
    if (!x->is_constant() && is_int8(*x)) {
      // Sums of products of coarser elements need fewer bits.
      const bool weighs = reader.op->facts.gemm || reader.is("aten.convolution.default");
      const int finer = weighs ? 1 : kFinerSteps;
      Value*& wide = wide_[{x, finer}];
      if (wide) return wide;
      return wide = convert(x, as_int16(x->tensor(), spread(affine(*x), finer)), &reader, reader);
    }
    return constants && x->is_constant() && x->tensor().real_dtype() == DType::f32 ? wide_constant(*x, reader)
                                                                                   : nullptr;
  }

  // The constant as int16. Null: its rounding would show in the reader's result, or it is not finite.
  Value* wide_constant(const Value& x, const Node& reader) {
    const std::vector<double> all = numbers(x);
    const bool finite = std::all_of(all.begin(), all.end(), [](double number) { return std::isfinite(number); });
    if (all.empty() || !finite) return nullptr;
    double largest = 0;
    for (const double number : all) largest = std::max(largest, std::abs(number));
    TensorType type = x.tensor();
    type.dim_order.clear();
    if (is_int8(x))
      type = as_int16(std::move(type), spread(affine(x), kFinerSteps));
    else
      make_int16(&type, largest > 0 ? largest / kLargestInt16 : 1);
    const double scale = type.quantization->scales[0];
    if (!is_int8(x) && 2 * compiler::kSignificantInt16Steps * error_of_rounding(reader, x, scale) > grain_)
      return nullptr;
    std::vector<int16_t> elements;
    elements.reserve(all.size());
    for (const double number : all) elements.push_back(static_cast<int16_t>(round_half_even(number / scale)));
    return graph_.add_constant(std::move(type), compiler::layout::own(std::move(elements)), graph_.unique_name(x.name));
  }

  // Splits a layer whose weights are in floats into two layers.
  bool split_weights_of(Node& node) {
    if (!has_float_weights(node)) return false;
    const std::vector<Node*> parts = split_layer(graph_, node, grain_, options_);
    if (parts.empty()) return false;
    Value *y = node.result(), *sum = parts.back()->result();
    graph_.replace_unchecked(y, sum);
    replaced_.push_back(&node);
    undo_.push_back([this, y, sum, parts] {
      graph_.replace_unchecked(sum, y);
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) graph_.erase(*part);
    });
    return true;
  }

  // Widens operands to int16, with `constants` also constants. Weights keep eight bits.
  void widen_operands(Node& node, bool constants) {
    for (size_t i = 0; i < node.args().size(); ++i) {
      const Arg before = node.arg(i);
      Arg after = before;
      if (before.is<Value*>()) {
        if (Value* wide = widened(before.as<Value*>(), constants, node)) after = wide;
      } else if (before.is<Values>()) {
        Values values = before.as<Values>();
        for (Value*& value : values) {
          if (Value* wide = widened(value, constants, node)) value = wide;
        }
        after = std::move(values);
      }
      if (after == before) continue;
      graph_.set_arg(&node, i, after);
      undo_.push_back([this, &node, i, before] { graph_.set_arg(&node, i, before); });
    }
  }

  // Gives the node an int16 result and converts it to int8 right behind the node: other groups may have put readers
  // there. If both have equally many steps (finer = 1), they differ only by the zero point, so that the node itself
  // rounds; otherwise the conversion rounds, too.
  void widen_result(Node& node, Value* y, int finer) {
    if (!is_int8(*y)) return;
    const TensorType type = y->tensor();
    const std::vector<Value*> stands_for = y->stands_for;
    Value* narrow = convert(y, type, &node, node);
    graph_.move(&node, narrow->producer);
    graph_.replace_unchecked(y, narrow);
    graph_.set_arg(narrow->producer, 0, y);
    y->type.tensor = as_int16(std::move(y->type.tensor), spread(affine(*narrow), finer));
    y->forget();
    undo_.push_back([this, y, type, stands_for, narrow] {
      graph_.replace_unchecked(narrow, y);
      y->type.tensor = type;
      y->stands_for = stands_for;
    });
  }

  Graph& graph_;
  const PipelineOptions& options_;
  const Candidates& candidates_;
  double grain_ = 0;                                     // of the result of the node that is being widened
  std::map<std::pair<const Value*, int>, Value*> wide_;  // looked up only; by value and by how many steps one becomes
  std::vector<Node*> made_, replaced_;
  std::vector<std::function<void()>> undo_;
};

// Whether int16 results of the group can be accurate: numbers far below a loose bound have too few steps for them.
bool is_fine_enough(const Group& group, const Candidates& candidates) {
  const auto is_loose = [&](Value* value) { return candidates.of.at(value).is_loose; };
  const auto is_wide = [&](const Node* node) {
    const Values results = read_results(*node);
    return std::any_of(results.begin(), results.end(), [&](const Value* result) {
      return candidates.of.count(result) == 0 && result->dtype() == DType::i16;
    });
  };
  return std::none_of(group.values.begin(), group.values.end(), is_loose) ||
         std::none_of(group.nodes.begin(), group.nodes.end(), is_wide);
}

bool widen_groups(Graph& graph, const PipelineOptions& options) {
  const std::vector<Node*> nodes = graph.node_list();
  Candidates candidates;
  for (const Node* node : nodes) consider(*node, candidates);
  Causes causes;
  restore_coarse_floats(nodes, candidates, causes);
  keep_closed(candidates, causes);
  report_causes(nodes, causes, options);
  bool changed = false;
  for (const Group& group : groups_of(nodes, candidates)) {
    const bool done = group.values.empty() && options.takes(*group.nodes[0]);
    Widening widening(graph, options, candidates);
    if (!done && is_fine_enough(group, candidates) && widening.widen(group.nodes)) {
      changed = true;
      for (Value* value : group.values) value->forget();
      continue;
    }
    widening.undo();
    for (Value* value : group.values) give_up(value, candidates);
  }
  return changed;
}

}  // namespace

// Values between quantized ones that no quantizer annotated become int16, provided all nodes that compute with them
// have a form on int16.
//   before: s = sigmoid(x: i8 q); y: i8 q(s, p) = mean(s)
//   after:  w: i16 q = wick.convert(x); s: i16 q = sigmoid(w); m: i16 q = mean(s); y: i8 q(s, p) = wick.convert(m)
// The scale is the smallest one with which no number saturates for any input: it covers the largest number that the
// operator can compute. Layers, products and norms usually compute far smaller ones; such operators may follow one
// another only while 8 bits are left for the usual numbers. Values to which far larger ones are added stay in floats.
// Constants in floats beside elements become int16, too, and so does int8 beside int16. Requires: quantization is in
// types. Ensures: the range of each value covers what its operator can compute. Keeps: every number, apart from
// rounding to 16 bits of the largest one.
Result<Changed> quantize_between(Graph& graph, const PipelineOptions& options) {
  if (!options.takes) return Changed::no;
  const compiler::SymScope scope(graph.ranges);  // for sizes that rules leave open
  return compiler::for_each_graph(graph, [&](Graph& g) { return Changed(widen_groups(g, options)); });
}

}  // namespace wick::cortex_m
