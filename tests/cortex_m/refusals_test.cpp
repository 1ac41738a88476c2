// What the backend does not take it refuses with what the user can do about it: every operator between quantized
// operands and results, of int8 and of int16, alone and with each border missing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "backends/cortex_m/compile/target.h"
#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"
#include "tests/conformance/case_program.h"

namespace wick::cortex_m {
namespace {

using compiler::Builder;
using compiler::Graph;
using compiler::Value;
using conformance::Case;

constexpr size_t kCasesPerOperator = 1;

struct Elements {
  DType dtype;
  int64_t zero, min, max;
};
constexpr Elements kNarrow = {DType::i8, 3, -128, 127}, kWide = {DType::i16, 0, -32767, 32767};

// Which of operands and results are quantized.
enum class Quantized { all, operands, results };

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

Value* on_grid(Graph& graph, compiler::Node* before, Value* x, const Elements& to, double most) {
  Builder b(graph, before);
  const compiler::Args grid = {x, 2.2 * most / static_cast<double>(to.max - to.min), to.zero, to.min, to.max, to.dtype};
  compiler::Args back = grid;
  back[0] = b.call("quantized_decomposed.quantize_per_tensor", grid);
  return b.call("quantized_decomposed.dequantize_per_tensor", back);
}

// The case's call with the quantize and dequantize nodes of a quantizer around it. Null: it has no f32 numbers.
std::optional<compiler::Function> quantized(const Case& test, const Elements& elements, Quantized which) {
  auto function = conformance::import_case(test, conformance::Operands::inputs);
  if (!function.ok()) return std::nullopt;
  Graph& graph = *function->graph;
  if (!graph.updates.empty() || graph.nodes().empty()) return std::nullopt;
  bool any = false;
  for (size_t i = 0; which != Quantized::results && i < graph.inputs.size(); ++i) {
    Value* x = graph.inputs[i].value;
    if (!is_f32(x)) continue;
    const std::vector<compiler::Node*> readers = x->users();
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
  for (size_t i = 0; which != Quantized::operands && i < graph.outputs.size(); ++i) {
    Value* y = graph.outputs[i].value;
    if (!is_f32(y) || !y->producer) continue;
    double most = 1;
    for (const conformance::Expected& expected : test.expect) {
      for (const conformance::CaseTensor& tensor : expected.tensors)
        if (tensor.value.dtype == DType::f32) most = std::max(most, largest(tensor.value));
    }
    graph.set_output(i, on_grid(graph, nullptr, y, elements, most));
    any = true;
  }
  return any ? std::optional(std::move(*function)) : std::nullopt;
}

TEST(CortexMRefusals, OfEveryOperatorSayWhatTheUserCanDo) {
  auto cases = conformance::read_cases("tests/fixtures/cases", "opdef");
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::map<std::string, size_t> of_operator;
  compiler::add_ops(kTarget.ops);
  compiler::CompileOptions options;
  options.targets = {&kTarget};
  size_t programs = 0, integer = 0;
  std::set<std::string> helpless, reasons;
  constexpr std::pair<Elements, Quantized> kForms[] = {{kNarrow, Quantized::all},
                                                       {kWide, Quantized::all},
                                                       {kNarrow, Quantized::operands},
                                                       {kNarrow, Quantized::results}};
  for (const Case& test : *cases) {
    if (test.error || ++of_operator[test.op] > kCasesPerOperator) continue;
    for (const auto& [elements, which] : kForms) {
      auto function = quantized(test, elements, which);
      if (!function) continue;
      compiler::PartitionReport report;
      const compiler::Status status = compiler::optimize(*function, options, &report);
      ASSERT_TRUE(status.ok()) << test.op << ": " << compiler::render(status.diag());
      ++programs;
      integer += report.num_outside() == 0;
      for (const compiler::NodePlace& place : report.nodes) {
        if (!place.backend.empty()) continue;
        reasons.insert(place.reason);
        if (place.help.empty()) helpless.insert(fmt::format("{} in {}: {}", place.op, test.op, place.reason));
      }
    }
  }
  EXPECT_TRUE(helpless.empty()) << helpless.size() << ":\n" << fmt::format("{}", fmt::join(helpless, "\n"));
  EXPECT_GT(programs, 2000u);
  EXPECT_GT(integer, 500u);
  EXPECT_GT(reasons.size(), 20u);
}

}  // namespace
}  // namespace wick::cortex_m
