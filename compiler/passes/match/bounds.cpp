#include "compiler/passes/match/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/analysis/shares.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/reals.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();
constexpr double kLargestProduct = kLargest / 4;  // of a matmul: masks may be added to it
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The largest finite number of a dtype; numbers of f64 need not be finite as f32.
double limit_of(const Value& value) {
  constexpr double kLargestHalf = 65504, kLargestInteger = 0x1p64;
  if (!value.type.is_tensor()) return kInfinity;
  if (!is_floating(value.dtype())) return value.dtype() == DType::boolean ? 1 : kLargestInteger;
  return value.dtype() == DType::f16 ? kLargestHalf : value.dtype() == DType::f64 ? kInfinity : kLargest;
}

// The largest magnitude of a constant, if all elements are finite.
std::optional<double> largest_of(const Value& constant) {
  if (!is_floating(constant.dtype())) return limit_of(constant);
  if (constant.dtype() != DType::f32 && !has_reals(&constant)) return std::nullopt;
  return largest_magnitude(constant.dtype(), constant.data);
}

// The bound of a buffer: any number of its dtype, if its initial elements are finite; else nothing.
std::optional<double> initial_of(const Value& state) {
  const bool starts = state.data.size_bytes() == 0 || largest_of(state);
  return starts ? std::optional<double>(limit_of(state)) : std::nullopt;
}

// Bounds of the operands and literal numbers that a node reads.
struct Reading {
  double largest = 0, sum = 0, product = 1;
  double factor = 1;    // alpha of a sum, at least 1
  size_t infinite = 0;  // tensors that may hold infinities
  size_t tensors = 0;
  bool has_zero = false;  // a literal is 0
  std::optional<double> min, max;

  void count(double bound) {
    largest = std::max(largest, bound);
    sum += bound;
    product *= bound;
  }
};

// Reads the numbers among the arguments. False if one is not finite or not known.
bool read_numbers(const Node& node, Reading& reading) {
  for (const char* name : {"other", "value", "fill_value", "self", "alpha"}) {
    if (node.op->parsed->find(name) < 0 || node.arg(name).is<Value*>() || node.is_none(name)) continue;
    const auto number = number_of(node.arg(name), DType::f64);
    if (!number || !std::isfinite(number->real)) return false;
    reading.has_zero |= number->real == 0;
    if (std::string_view(name) == "alpha")
      reading.factor = std::max(1.0, std::abs(number->real));
    else
      reading.count(std::abs(number->real));
  }
  for (const char* name : {"min", "max", "min_val", "max_val"}) {
    if (node.op->parsed->find(name) < 0 || node.is_none(name)) continue;
    const auto number = number_of(node.arg(name), DType::f64);
    if (!number || std::isnan(number->real)) return false;
    const bool is_min = std::string_view(name).starts_with("min");
    if (number->real == (is_min ? -kInfinity : kInfinity)) continue;  // no bound
    (is_min ? reading.min : reading.max) = number->real;
  }
  return true;
}

// The bound of a sum over dimensions. Nothing if a size of the operand is not known.
std::optional<double> total(const Node& node, double largest) {
  double elements = 1;
  for (const Sym& size : node.operands()[0]->sizes()) {
    if (!size.is_const() || size.value() <= 0) return std::nullopt;
    elements *= static_cast<double>(size.value());
  }
  return largest * elements;
}

// The bound of a result by its operator's growth. Nothing if it may be NaN: infinities of both signs may be added, or
// an infinity multiplied by zero.
std::optional<double> grown(Growth growth, const Node& node, const Reading& read) {
  const bool is_finite = read.infinite == 0;
  switch (growth) {
    case Growth::keeps: return read.largest;
    case Growth::gate: return 6.0;
    case Growth::unit: return 1.0;
    case Growth::one: return is_finite ? std::optional<double>(2.0) : std::nullopt;
    case Growth::little: return is_finite ? std::optional<double>(read.largest + 1) : std::nullopt;
    case Growth::six_times: return 6 * read.largest <= kLargest ? std::optional<double>(read.largest) : std::nullopt;
    case Growth::between: {
      const double limits = std::max(std::abs(read.min.value_or(0)), std::abs(read.max.value_or(0)));
      return read.min && read.max ? limits : std::max(read.largest, limits);
    }
    case Growth::sum: return read.infinite < 2 ? std::optional<double>(read.sum * read.factor) : std::nullopt;
    case Growth::product:
      if (is_finite || (read.tensors == 1 && !read.has_zero)) return read.product;
      return std::nullopt;
    case Growth::power: return kInfinity;
    case Growth::total: return is_finite ? total(node, read.largest) : std::nullopt;
    case Growth::matrices:
    case Growth::unknown: break;
  }
  return kLargestProduct;
}

// Whether the node adds two matmuls. Their sum is one matmul with more terms.
bool is_product_in_parts(const Node& node) {
  if (!node.is("aten.add.Tensor")) return false;
  const auto is_product = [](const Value* value) {
    return value && value->producer && value->producer->is("aten.bmm.default");
  };
  return is_product(node.tensor_or_null(0)) && is_product(node.tensor_or_null(1));
}

// A mask of attention: a constant, or a select between constants.
bool is_mask(const Value* value) {
  constexpr int kMaxDepth = 8;
  const Node* node = value->producer;
  for (int depth = 0; node && depth < kMaxDepth; ++depth) {
    if (node->op->facts.movement == Movement::none) break;
    value = node->operands()[0];
    node = value->producer;
  }
  if (!node || !node->is("aten.where.self")) return value->is_constant();
  const Value *x = node->tensor_or_null(1), *y = node->tensor_or_null(2);
  return x && y && x->is_constant() && y->is_constant();
}

// The magnitude of a divisor that is a finite number other than 0.
std::optional<double> divisor_of(const Node& node) {
  if (!node.is("aten.div.Scalar") || !is_floating(node.operands()[0]->dtype())) return std::nullopt;
  const auto number = number_of(node.arg("other"), DType::f64);
  // A subnormal divisor may count as zero.
  constexpr double kLeast = std::numeric_limits<float>::min();
  if (!number || !std::isfinite(number->real) || std::abs(number->real) < kLeast) return std::nullopt;
  return std::abs(number->real);
}

// The upper bound that a clamp, or a minimum with a constant, sets.
std::optional<double> ceiling_of(const Value& value) {
  const Node* node = value.producer;
  if (node && node->is("aten.clamp.default") && !node->is_none("max")) {
    const auto max = number_of(node->arg("max"), DType::f64);
    return max ? std::optional<double>(max->real) : std::nullopt;
  }
  if (!node || !node->is("aten.minimum.default")) return std::nullopt;
  for (const Value* limit : node->operands()) {
    const auto element = limit->is_constant() ? uniform_element(limit) : std::nullopt;
    if (element && element->floating) return element->real;
  }
  return std::nullopt;
}

// The bound of an exp or expm1 whose operand has a small upper bound.
std::optional<double> small_power(const Node& node) {
  constexpr double kSmall = 64;
  const bool less_one = node.is("aten.expm1.default");
  if (!less_one && !node.is("aten.exp.default")) return std::nullopt;
  const auto ceiling = ceiling_of(*node.operands()[0]);
  if (!ceiling || !(*ceiling <= kSmall)) return std::nullopt;
  return less_one ? std::max(1.0, std::exp(*ceiling)) : std::exp(*ceiling);
}

// The largest number that a dequantize gives, if its parameters are known at compile time.
std::optional<double> largest_dequantized(const Node& node) {
  int64_t low = 0, high = 0;
  if (!converts(node, Conversion::dequantize) || !integer_range(node.operands()[0]->dtype(), &low, &high))
    return std::nullopt;
  const auto stated = stated_quantization(node);
  if (!stated || stated->at_run_time || stated->scales.size() == 0) return std::nullopt;
  const NumberFacts &scales = stated->scales.range(), &zeros = stated->zero_points.range();
  const double distance = std::max(static_cast<double>(high) - zeros.least, zeros.largest - static_cast<double>(low));
  return distance * scales.largest;
}

constexpr int kMaxBufferRounds = 4;  // attempts to bound the new values of buffers

}  // namespace

Bounds::Bounds(const Graph& graph) {
  std::unordered_map<const Value*, std::optional<double>> states;
  for (const Value* state : graph.states()) {
    if (is_floating(state->dtype())) states[state] = initial_of(*state);
  }
  for (int round = 0;; ++round) {
    find(graph, states);
    bool holds = true;
    for (const StateUpdate& update : graph.updates) {
      const auto state = states.find(update.target);
      if (state == states.end() || !state->second) continue;
      std::optional<double> now = of(update.value);
      if (now && *now <= *state->second) continue;
      state->second = round < kMaxBufferRounds ? now : std::nullopt;
      holds = false;
    }
    if (holds) return;
  }
}

void Bounds::find(const Graph& graph, const std::unordered_map<const Value*, std::optional<double>>& states) {
  std::erase_if(bounds_, [](const auto& known) { return !known.first->is_constant(); });
  for (const GraphInput& input : graph.inputs) {
    if (input.value) bounds_.emplace(input.value, limit_of(*input.value));
  }
  bounds_.insert(states.begin(), states.end());
  for (const auto& node : graph.nodes()) {
    if (node->results().empty()) continue;
    auto bound = bound_of(*node);
    if (bound && *bound > limit_of(*node->result())) bound = kInfinity;
    if (bound) bounds_[node->result()] = bound;
  }
}

bool Bounds::is_finite(const Value* value) {
  const auto bound = of(value);
  return bound && *bound <= kLargest;
}

bool Bounds::is_bounded(const Value* value) {
  const auto bound = of(value);
  return bound && *bound < kLargestProduct;
}

// A constant is read once, when it is first asked about.
std::optional<double> Bounds::of(const Value* value) {
  const auto [found, is_new] = bounds_.try_emplace(value);
  if (is_new && value->is_constant() && value->type.is_tensor()) found->second = largest_of(*value);
  return found->second;
}

// Whether the node adds a mask to scores. The mask has the lowest finite number in place of minus infinity, and no
// score makes that sum overflow.
bool Bounds::is_masked_score(const Node& node) {
  if (!node.is("aten.add.Tensor") || node.operands().size() != 2 || node.real("alpha") != 1) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Value *score = node.operands()[side], *mask = node.operands()[1 - side];
    if (!is_mask(mask)) continue;
    const auto bound = of(score), lowest = of(mask);
    if (bound && lowest && *bound <= kLargestProduct && *lowest <= kLargest) return true;
  }
  return false;
}

// Whether the node is a safe softmax of finite scores. A score of -inf from a mask is legal: it gives 0.
bool Bounds::is_safe_softmax(const Node& node) {
  if (!node.is("aten._safe_softmax.default")) return false;
  const Value* scores = node.operands()[0];
  for (const Node* masked = scores->producer; masked; masked = scores->producer) {
    const bool takes = masked->is("aten.add.Tensor") || masked->is("aten.minimum.default");
    if (!takes || masked->operands().size() != 2 || !is_mask(masked->operands()[1])) break;
    scores = masked->operands()[0];
  }
  return is_finite(scores);
}

std::optional<double> Bounds::bound_of(const Node& node) {
  if (is_masked_score(node)) return kLargest;
  if (is_safe_softmax(node)) return 2.0;
  if (is_product_in_parts(node) && of(node.operands()[0]) && of(node.operands()[1])) return kLargestProduct;
  if (is_share_of_sum(node) && of(node.operands()[0])) return 2.0;
  if (const auto largest = largest_dequantized(node)) return largest;
  // If scales and zero points are chosen from the numbers, no number becomes twice as large.
  if (const auto chain = quantization_chain(node); chain && chain->dequantize == &node) {
    const auto bound = of(chain->x);
    return bound && *bound <= kLargestProduct ? std::optional<double>(2 * *bound) : std::nullopt;
  }
  if (const auto power = small_power(node); power && of(node.operands()[0])) return power;
  if (const auto divisor = divisor_of(node)) {
    // A value straight from an input may be infinite or NaN, so it has no bound: a select would lose the other side.
    const auto bound = of(node.operands()[0]);
    return bound && *bound <= kLargestProduct ? std::optional<double>(*bound / *divisor) : std::nullopt;
  }
  const Growth growth = node.op->facts.growth;
  if (growth == Growth::unknown) return std::nullopt;
  Reading reading;
  for (const Value* operand : node.operands()) {
    // An infinite weight would make every result NaN, so weights count as finite.
    if (growth == Growth::matrices && operand->is_constant()) continue;
    const bool whole = operand->type.is_tensor() && !is_floating(operand->dtype());
    const auto bound = whole ? limit_of(*operand) : of(operand);
    if (!bound) return std::nullopt;
    ++reading.tensors;
    if (*bound > kLargest) ++reading.infinite;
    reading.count(*bound);
  }
  if (node.is(Binary::sub) && node.operands().size() == 2 && node.operands()[0] == node.operands()[1]) return 0.0;
  if (node.is("aten.scatter_add.default") || (node.is("aten.index_put.default") && node.boolean("accumulate")))
    return reading.infinite == 0 ? std::optional<double>(kLargestProduct) : std::nullopt;
  return read_numbers(node, reading) ? grown(growth, node, reading) : std::nullopt;
}

}  // namespace wick::compiler
