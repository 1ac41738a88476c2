// What depends on one element only: a table of 256 elements, or bounds.
//   table[q + 128] = clamp(round((f((q - zero) * scale)) / scale of the result) + zero of the result), halves away
// f is computed by the portable kernels, as eager does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/analysis/evaluate.h"
#include "compiler/ir/decompose.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/support/failure.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Graph;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr size_t kElements = 256, kMaxRankOfMinimum = 4;

bool is_number(const Value& value) {
  return value.is_constant() && is_static(value.sizes()) && numel(value.sizes()).value() == 1;
}

// The only operand that is not a number, however often the node reads it; null if there are others.
Value* variable(const Node& node) {
  Value* found = nullptr;
  for (Value* operand : node.operands()) {
    if (is_number(*operand)) continue;
    if (found && found != operand) return nullptr;
    found = operand;
  }
  return found;
}

// The node on the numbers that all elements of `x` stand for.
class OnAllElements {
 public:
  OnAllElements(const Node& node, const Value& x) : x_(x) {
    const Affine q = affine(x);
    std::vector<float> values;
    for (int32_t element = -128; element <= 127; ++element)
      values.push_back(static_cast<float>(element - q.zero) * static_cast<float>(q.scale));
    input_ = graph_.add_constant({DType::f32, {int64_t{kElements}}, {}}, compiler::layout::own(std::move(values)), "x");
    Builder b(graph_, nullptr);
    compiler::Args args;
    for (const compiler::Arg& arg : node.args())
      args.push_back(arg.is<Value*>() ? compiler::Arg(copy(*arg.as<Value*>())) : arg);
    compiler::GraphOutput output;
    output.value = b.call(node.op->name(), std::move(args));
    graph_.add_output(std::move(output));
  }

  std::vector<double> results() {
    const auto has_kernel = [](const Node& node) { return compiler::can_evaluate(node); };
    compiler::throw_if_error(compiler::decompose(graph_, has_kernel));
    compiler::HostValues values;
    compiler::throw_if_error(compiler::evaluate_graph(graph_, values));
    const auto& result = std::get<compiler::HostTensor>(values.at(graph_.outputs[0].value));
    const auto bytes = result.data.bytes();
    std::vector<float> floats(bytes.size() / sizeof(float));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(floats.data()));
    return std::vector<double>(floats.begin(), floats.end());
  }

 private:
  Value* copy(const Value& operand) {
    if (&operand == &x_) return input_;
    if (!operand.is_quantized()) return graph_.add_constant(operand.tensor(), operand.data, operand.name);
    const std::vector<double> real = numbers(operand);
    return graph_.add_constant({DType::f32, operand.sizes(), {}},
                               compiler::layout::own(std::vector<float>(real.begin(), real.end())), operand.name);
  }

  const Value& x_;
  Graph graph_;
  Value* input_ = nullptr;
};

std::vector<int8_t> table_of(const std::vector<double>& results, const Affine& q) {
  std::vector<int8_t> table;
  for (const double number : results) {
    const double steps = std::clamp(std::round(number / q.scale), -0x1p30, 0x1p30);
    const double element = std::isnan(number) ? q.zero : steps + q.zero;
    table.push_back(static_cast<int8_t>(std::clamp<double>(element, q.min, q.max)));
  }
  return table;
}

// A node that only clamps, to the elements of its result.
bool only_clamps(const Node& node, const Value& x) {
  return clamp_bounds(node) && same_numbers(affine(x), affine(*node.result())) && x.rank() <= kMaxRankOfMinimum;
}

Verdict supports_table(const Node& node, const Configuration&) {
  const Value* x = variable(node);
  if (!x) return Verdict::no("it reads more than one tensor");
  for (const std::string& reason : {refuse_int8(*x, "its input"), refuse_int8(*node.result(), "its result")}) {
    if (!reason.empty()) return Verdict::no(reason);
  }
  if (!(x->sizes() == node.result()->sizes())) return Verdict::no("its result has other sizes than its input");
  if (OnAllElements(node, *x).results().size() != kElements) return Verdict::no("it is not element-wise");
  return Verdict::yes();
}

std::vector<Value*> rewrite_table(Builder& b, Node& node, const Configuration&) {
  Value* x = variable(node);
  Affine q = affine(*node.result());
  if (only_clamps(node, *x)) {
    const auto bounds = clamp_bounds(node);
    q.min = quantize(bounds->low, q);
    q.max = quantize(bounds->high, q);
    return {clamped(b, x, affine(*x), q)};
  }
  return {b.call("cortex_m.quantized_activation",
                 {x, constant(b, {int64_t{kElements}}, table_of(OnAllElements(node, *x).results(), q), "lut")})};
}

}  // namespace

const OpRule kTableRule = {"", supports_table, rewrite_table, true};

bool is_tabulated(const Node& node) { return node.op->has(compiler::kPointwise) && variable(node) != nullptr; }

Value* requantized(Builder& b, Value* x, const Affine& from, const Affine& to) {
  std::vector<int8_t> table;
  for (int32_t element = -128; element <= 127; ++element) {
    const double number = static_cast<double>(element - from.zero) * from.scale;
    table.push_back(static_cast<int8_t>(quantize(number, to)));
  }
  return b.call("cortex_m.quantized_activation", {x, constant(b, {int64_t{kElements}}, std::move(table), "lut")});
}

Value* clamped(Builder& b, Value* x, const Affine& from, const Affine& to) {
  if (from.min >= to.min && from.max <= to.max) return x;
  if (x->rank() > kMaxRankOfMinimum) return requantized(b, x, from, {from.scale, from.zero, to.min, to.max});
  if (from.min < to.min)
    x = b.call("cortex_m.maximum", {x, constant(b, {1}, std::vector<int8_t>{static_cast<int8_t>(to.min)}, "low")});
  if (from.max > to.max)
    x = b.call("cortex_m.minimum", {x, constant(b, {1}, std::vector<int8_t>{static_cast<int8_t>(to.max)}, "high")});
  return x;
}

}  // namespace wick::cortex_m
