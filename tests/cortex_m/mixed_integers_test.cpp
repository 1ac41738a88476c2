// An operator that is computed in integers between int8 values, and between int16 values, is so between values of both:
// every operator, each mix of operands and results.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "backends/cortex_m/compile/target.h"
#include "compiler/testing/pipeline.h"
#include "tests/cortex_m/quantized_call.h"

namespace wick::cortex_m {
namespace {

using conformance::Case;
using testing::Pipeline;

constexpr size_t kCasesPerOperator = 1;
constexpr Borders kSame[] = {{&kInt8, &kInt8, &kInt8}, {&kInt16, &kInt16, &kInt16}};
constexpr Borders kMixes[] = {{&kInt8, &kInt8, &kInt16}, {&kInt16, &kInt16, &kInt8}, {&kInt8, &kInt16, &kInt8},
                              {&kInt16, &kInt8, &kInt8}, {&kInt8, &kInt16, &kInt16}, {&kInt16, &kInt8, &kInt16}};

// Operators that stay in floats in some mixes, and why.
const std::map<std::string, const char*> kFloats = {
    {"aten.angle.default", "it asks whether an int16 value is NaN"},
    {"aten.cross.default", "rounded to int16, its products would put their difference more than 3 steps off"}};

std::string name_of(const Borders& borders) {
  const auto bits = [](const ElementGrid* elements) { return elements->dtype == DType::i8 ? 8 : 16; };
  return fmt::format("int{} and int{} to int{}", bits(borders.first), bits(borders.others), bits(borders.results));
}

Pipeline pipeline_of(const Case& test, const Borders& borders) {
  Pipeline p([&test, borders]() -> compiler::Result<compiler::Function> {
    auto function = quantized_call(test, borders);
    if (!function) return compiler::Diag(compiler::Code::usage, "no f32 numbers");
    return std::move(*function);
  });
  p.backend("cortex-m");
  return p;
}

HostTensor changed(const HostTensor& tensor, float (*change)(float)) {
  HostTensor out = tensor;
  for (size_t i = 0; tensor.dtype == DType::f32 && i < out.bytes.size(); i += sizeof(float)) {
    float x;
    std::memcpy(&x, &out.bytes[i], sizeof x);
    x = change(std::isfinite(x) ? x : 1);
    std::memcpy(&out.bytes[i], &x, sizeof x);
  }
  return out;
}

bool is_finite(const HostValue& value) {
  const HostTensor* tensor = value.tag == Tag::tensor ? &value.tensor : nullptr;
  if (!tensor || tensor->dtype != DType::f32) return true;
  for (size_t i = 0; i < tensor->bytes.size(); i += sizeof(float)) {
    float x;
    std::memcpy(&x, &tensor->bytes[i], sizeof x);
    if (!std::isfinite(x)) return false;
  }
  return true;
}

std::vector<HostValue> inputs_of(const Case& test) {
  std::vector<HostValue> inputs;
  for (const auto& [name, tensor] : test.tensors) inputs.emplace_back(tensor.value);
  return inputs;
}

// No integer stands for NaN: the call with numbers for which it has finite results, and these. Nothing: there are none.
std::optional<Case> with_finite_numbers(const Case& test) {
  constexpr float (*kChanges[])(float) = {[](float x) { return x; },
                                          [](float x) { return std::clamp(x, -0.875f, 0.875f); },
                                          [](float x) { return 1.5f + std::min(std::fabs(x), 4.0f); }};
  for (const auto change : kChanges) {
    Case out = test;
    for (auto& [name, tensor] : out.tensors) tensor.value = changed(tensor.value, change);
    Pipeline p([&out] { return conformance::import_case(out, conformance::Operands::inputs); });
    const auto module = p.load();
    std::vector<HostValue> results;
    ModuleError error;
    if (!module || !module->forward(inputs_of(out), &results, &error)) return std::nullopt;
    if (!std::all_of(results.begin(), results.end(), is_finite)) continue;
    size_t next = 0;
    for (conformance::Expected& expected : out.expect) {
      for (conformance::CaseTensor& tensor : expected.tensors) tensor.value = results[next++].tensor;
    }
    return out;
  }
  return std::nullopt;
}

size_t count_f32(const Case& test) {
  return static_cast<size_t>(std::count_if(test.tensors.begin(), test.tensors.end(),
                                           [](const auto& tensor) { return tensor.second.value.dtype == DType::f32; }));
}

bool is_integer(const Case& test, const Borders& borders) {
  if (!quantized_call(test, borders)) return false;
  Pipeline p = pipeline_of(test, borders);
  return p.at(testing::Stage::lower).failures().empty() && p.outside().empty();
}

TEST(CortexMMixedIntegers, AreComputedInIntegers) {
  const char* filter = std::getenv("WICK_CASES");  // NOLINT(concurrency-mt-unsafe)
  const auto cases = conformance::read_cases("tests/fixtures/cases", "opdef");
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::map<std::string, size_t> of_operator;
  compiler::add_ops(kTarget.kernels.ops);
  size_t operators = 0, programs = 0;
  for (const Case& recorded : *cases) {
    if (recorded.error || (filter && recorded.op.find(filter) == std::string::npos)) continue;
    if (++of_operator[recorded.op] > kCasesPerOperator) continue;
    const std::optional<Case> finite = with_finite_numbers(recorded);
    if (!finite) continue;
    const Case& test = *finite;
    if (!is_integer(test, kSame[0]) || !is_integer(test, kSame[1])) continue;
    ++operators;
    for (const Borders& borders : kMixes) {
      if (borders.first != borders.others && count_f32(test) < 2) continue;
      Pipeline p = pipeline_of(test, borders);
      if (kFloats.count(test.op) == 0) p.at(testing::Stage::lower).check_outside({});
      p.run_and_compare({.absolute = 1e-6, .relative = 1e-6, .of_largest = 0, .quantization_steps = 1.001},
                        inputs_of(test));
      EXPECT_EQ(p.failures(), "") << test.op << test.arguments << ", " << name_of(borders);
      ++programs;
    }
  }
  std::printf("%zu operators, %zu programs\n", operators, programs);
  if (!filter && !conformance::is_part_wanted()) {
    EXPECT_GT(operators, 100u);
  }
}

}  // namespace
}  // namespace wick::cortex_m
