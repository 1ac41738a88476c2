#include "tests/cortex_m/quantized_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "compiler/ir/builder.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Graph;
using compiler::Value;

namespace {

// The largest finite number of a tensor, or 1.
double largest(const HostTensor& tensor) {
  double most = 0;
  for (size_t i = 0; i + sizeof(float) <= tensor.bytes.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, &tensor.bytes[i], sizeof value);
    if (std::isfinite(value)) most = std::max(most, std::fabs(static_cast<double>(value)));
  }
  return most > 1e-6 && most < 1e30 ? most : 1;
}

bool is_f32(const Value* value) { return value && value->type.is_tensor() && value->dtype() == DType::f32; }

Value* on_grid(Graph& graph, compiler::Node* before, Value* x, const ElementGrid& to, double most) {
  Builder b(graph, before);
  const compiler::Args grid = {x, 2.2 * most / static_cast<double>(to.max - to.min), to.zero, to.min, to.max, to.dtype};
  compiler::Args back = grid;
  back[0] = b.call("quantized_decomposed.quantize_per_tensor", grid);
  return b.call("quantized_decomposed.dequantize_per_tensor", back);
}

}  // namespace

std::optional<compiler::Function> quantized_call(const conformance::Case& test, const Borders& borders) {
  auto function = conformance::import_case(test, conformance::Operands::inputs);
  if (!function.ok()) return std::nullopt;
  Graph& graph = *function->graph;
  if (!graph.updates.empty() || graph.nodes().empty()) return std::nullopt;
  bool any = false;
  for (size_t i = 0; borders.first && i < graph.inputs.size(); ++i) {
    Value* x = graph.inputs[i].value;
    if (!is_f32(x)) continue;
    const std::vector<compiler::Node*> readers = x->users();
    const ElementGrid& elements = any ? *borders.others : *borders.first;
    Value* on = on_grid(graph, graph.nodes().front().get(), x, elements, largest(test.tensors[i].second.value));
    for (compiler::Node* reader : std::set<compiler::Node*>(readers.begin(), readers.end())) {
      for (size_t a = 0; a < reader->args().size(); ++a) {
        if (reader->arg(a).is<Value*>() && reader->arg(a).as<Value*>() == x) graph.set_arg(reader, a, on);
        if (!reader->arg(a).is<compiler::Values>()) continue;
        compiler::Values list = reader->arg(a).as<compiler::Values>();
        std::replace(list.begin(), list.end(), x, on);
        graph.set_arg(reader, a, list);
      }
    }
    any = true;
  }
  for (size_t i = 0; borders.results && i < graph.outputs.size(); ++i) {
    Value* y = graph.outputs[i].value;
    if (!is_f32(y) || !y->producer) continue;
    double most = 1;
    for (const conformance::Expected& expected : test.expect) {
      for (const conformance::CaseTensor& tensor : expected.tensors)
        if (tensor.value.dtype == DType::f32) most = std::max(most, largest(tensor.value));
    }
    graph.set_output(i, on_grid(graph, nullptr, y, *borders.results, most));
    any = true;
  }
  return any ? std::optional(std::move(*function)) : std::nullopt;
}

}  // namespace wick::cortex_m
