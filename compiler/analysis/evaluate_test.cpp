#include "compiler/analysis/evaluate.h"

#include <gtest/gtest.h>
#include <string.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

Function parse(std::string_view text) {
  auto function = parse_graph(text);
  if (!function.ok()) {
    ADD_FAILURE() << render(function.diag());
    return {"empty", std::make_unique<Graph>(), "", "", {}};
  }
  return std::move(*function);
}

template <typename T>
std::vector<T> elements(const HostValue& value) {
  const auto& tensor = std::get<HostTensor>(value);
  std::vector<T> out(tensor.data.size_bytes() / sizeof(T));
  memcpy(out.data(), tensor.data.bytes().data(), out.size() * sizeof(T));
  return out;
}

template <typename T>
HostTensor tensor_of(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  memcpy(bytes.data(), values.data(), bytes.size());
  return host_tensor(TensorType{dtype, Sizes(sizes), {}}, std::move(bytes));
}

TEST(EvaluateGraph, RunsKernelsInOrder) {
  const Function f = parse(R"(graph f(%x: f32[2, 2]) {
    const %c: f32[2] = [10.0, 20.0]
    %p = aten.permute(%x, [1, 0])
    %s = aten.add.Tensor(%p, %c)
    return %s
  })");
  HostValues values;
  values.emplace(f.graph->inputs[0].value, tensor_of<float>(DType::f32, {2, 2}, {1, 2, 3, 4}));
  const Status status = evaluate_graph(*f.graph, values);
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(elements<float>(values.at(f.graph->outputs[0].value)), (std::vector<float>{11, 23, 12, 24}));
}

TEST(EvaluateGraph, RefusesOperatorsOnQuantizedValues) {
  const Function f = parse(R"(graph f(%x: i8[2]q(scale=0.5, zero=3)) {
    %y: f32[2] = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 3, -128, 127, i8)
    %v: i8[2]q(scale=0.25, zero=0) = aten.view(%x, [2])
    return %y, %v
  })");
  EXPECT_TRUE(can_evaluate(*f.graph->nodes().front())) << "reads elements";
  EXPECT_FALSE(can_evaluate(*f.graph->nodes().back())) << "a kernel would keep the elements";
}

TEST(EvaluateGraph, TakesNumbersInPlaceOfTensors) {
  const Function f = parse(R"(graph f(%x: f32[2], %i: i32[2]) {
    %s = aten.add.Tensor(%x, 0.1)
    %d = aten.div.Tensor(%i, 2)
    %m = aten.mul.Tensor(%i, -3)
    return %s, %d, %m
  })");
  HostValues values;
  values.emplace(f.graph->inputs[0].value, tensor_of<float>(DType::f32, {2}, {1, 2}));
  values.emplace(f.graph->inputs[1].value, tensor_of<int32_t>(DType::i32, {2}, {5, -4}));
  const Status status = evaluate_graph(*f.graph, values);
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(elements<float>(values.at(f.graph->outputs[0].value)), (std::vector<float>{1.1f, 2.1f}));
  EXPECT_EQ(elements<float>(values.at(f.graph->outputs[1].value)), (std::vector<float>{2.5f, -2}));
  EXPECT_EQ(elements<int32_t>(values.at(f.graph->outputs[2].value)), (std::vector<int32_t>{-15, 12}));
}

TEST(EvaluateGraph, ReadsSymbolsOffTheInputs) {
  const Function f = parse(R"(graph f(%x: f32[s0, 2]) {
    range s0: 1..8
    %v = aten.view(%x, [2*s0])
    %n = aten.neg(%v)
    return %n
  })");
  HostValues values;
  values.emplace(f.graph->inputs[0].value, tensor_of<float>(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  const Status status = evaluate_graph(*f.graph, values);
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(elements<float>(values.at(f.graph->outputs[0].value)), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
}

TEST(EvaluateNode, ViewsShareTheBytesOfTheirOperand) {
  const Function f = parse(R"(graph f() {
    const %c: f32[4, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    %s = aten.slice.Tensor(%c, 0, 1, 3)
    %v = aten.view(%s, [4])
    return %v
  })");
  HostValues values;
  ASSERT_TRUE(evaluate_graph(*f.graph, values).ok());
  const HostValue& out = values.at(f.graph->outputs[0].value);
  EXPECT_EQ(elements<float>(out), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(std::get<HostTensor>(out).data.bytes().data(), f.graph->constants()[0]->data.bytes().data() + 8);
}

TEST(EvaluateNode, ReportsWhatTheKernelRefuses) {
  const Function f = parse(R"(graph f() {
    const %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
    const %i: i64[1] = [7]
    %e = aten.embedding(%w, %i)
    return %e
  })");
  HostValues values;
  const Status status = evaluate_graph(*f.graph, values);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diag().code, Code::execution);
}

TEST(EvaluateNode, RefusesRandomNumbersWithoutState) {
  const Function f = parse(R"(graph f(%x: f32[4]) {
    %d, %m = aten.native_dropout(%x, 0.5, true)
    return %d
  })");
  EXPECT_FALSE(can_evaluate(*f.graph->nodes().front()));
}

TEST(EvaluateNode, RefusesResultsBeyondTheLimit) {
  const Function f = parse(R"(graph f() {
    %a = aten.full([1000, 1000, 500], 1.0, f32)
    return %a
  })");
  EvaluateOptions options;
  options.max_result_bytes = 1 << 20;
  const auto result = evaluate_node(*f.graph->nodes().front(), [](const Value&) { return nullptr; }, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.diag().code, Code::limit);
}

}  // namespace
}  // namespace wick::compiler
