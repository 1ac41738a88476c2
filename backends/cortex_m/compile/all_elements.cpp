#include "backends/cortex_m/compile/all_elements.h"

#include <algorithm>

#include "backends/cortex_m/compile/quantized.h"
#include "compiler/analysis/evaluate.h"
#include "compiler/ir/decompose.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/support/failure.h"

namespace wick::cortex_m {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Values;

namespace {

// The numbers of x rounded to those that elements of `q` stand for.
Value* fake_quantized(Builder& b, Value* x, const Affine& q, DType dtype) {
  Args args = {x, q.scale, int64_t{q.zero}, int64_t{q.min}, int64_t{q.max}, dtype};
  args[0] = b.call("quantized_decomposed.quantize_per_tensor", args);
  return b.call("quantized_decomposed.dequantize_per_tensor", args);
}

}  // namespace

bool is_number(const Value& value) {
  return value.is_constant() && is_static(value.sizes()) && numel(value.sizes()).value() == 1;
}

OnAllElements::OnAllElements(const Value& root) {
  const Affine q = affine(root);
  std::vector<float> numbers;
  const int32_t last = root.dtype() == DType::i16 ? INT16_MAX : INT8_MAX;
  for (int32_t element = -last - 1; element <= last; ++element)
    numbers.push_back(static_cast<float>(element - q.zero) * static_cast<float>(q.scale));
  values_[&root] =
      graph_.add_constant({DType::f32, {int64_t{2} * (last + 1)}, {}}, compiler::layout::own(std::move(numbers)), "x");
}

void OnAllElements::add(const Node& node) {
  Builder b(graph_, nullptr);
  Args args;
  for (const Arg& arg : node.args()) {
    if (arg.is<Value*>()) {
      args.push_back(numbers_of(*arg.as<Value*>()));
    } else if (arg.is<Values>()) {
      Values values = arg.as<Values>();
      for (Value*& value : values) value = value ? numbers_of(*value) : nullptr;
      args.push_back(std::move(values));
    } else {
      args.push_back(arg);
    }
  }
  // wick.convert changes how numbers are stored, not their values.
  last_ = node.is("wick.convert.default") ? args[0].as<Value*>() : b.call(node.op->name(), std::move(args));
  const Value& result = *node.result();
  values_[&result] = result.is_quantized() ? fake_quantized(b, last_, affine(result), result.dtype()) : last_;
}

std::vector<double> OnAllElements::results() {
  compiler::GraphOutput output;
  output.value = last_;
  graph_.add_output(std::move(output));
  const auto has_kernel = [](const Node& node) { return compiler::can_evaluate(node); };
  compiler::throw_if_error(compiler::decompose(graph_, has_kernel));
  compiler::HostValues values;
  compiler::throw_if_error(compiler::evaluate_graph(graph_, values));
  const auto& result = std::get<compiler::HostTensor>(values.at(graph_.outputs[0].value));
  const auto bytes = result.data.bytes();
  if (result.type.dtype == DType::boolean) return std::vector<double>(bytes.begin(), bytes.end());
  if (result.type.dtype != DType::f32) return {};
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(floats.data()));
  return std::vector<double>(floats.begin(), floats.end());
}

Value* OnAllElements::numbers_of(const Value& operand) {
  const auto found = values_.find(&operand);
  if (found != values_.end()) return found->second;
  if (!operand.is_quantized()) return graph_.add_constant(operand.tensor(), operand.data, operand.name);
  const std::vector<double> real = numbers(operand);
  return graph_.add_constant({DType::f32, operand.sizes(), {}},
                             compiler::layout::own(std::vector<float>(real.begin(), real.end())), operand.name);
}

}  // namespace wick::cortex_m
