// For tests: runs graphs with the portable kernels and compares what they compute.
#pragma once
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/float16.h"
#include "compiler/analysis/evaluate.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler {

inline Function parse(const std::string& text) {
  auto function = parse_graph(text);
  if (function.ok()) return std::move(*function);
  ADD_FAILURE() << render(function.diag()) << text;
  return {"", std::make_unique<Graph>(), "", "", {}};
}

class TestNumbers {
 public:
  explicit TestNumbers(bool finite = false) : finite_(finite) {}
  uint32_t next() { return state_ = state_ * 1664525u + 1013904223u; }
  // Small numbers, and now and then a value that breaks careless rewrites.
  float real() {
    static constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f};
    const uint32_t choice = next() >> 16;
    if (choice % 4 == 0 && !finite_) return kSpecial[choice / 4 % 6];
    return static_cast<float>(static_cast<int32_t>(next() >> 8) - (1 << 23)) / 1048576.0f;
  }

 private:
  uint32_t state_ = 1;
  bool finite_;
};

inline void append(std::vector<uint8_t>& out, const void* data, size_t size) {
  out.insert(out.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
}

inline HostTensor random_tensor(const TensorType& type, const SymValues& symbols, TestNumbers& numbers) {
  TensorType concrete = type;
  int64_t count = 1;
  for (Sym& size : concrete.sizes) {
    size = evaluate(size, symbols).value();
    count *= size.value();
  }
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i) {
    const float real = numbers.real();
    const uint16_t half = Half(real).bits;
    const int64_t integer = static_cast<int64_t>(numbers.next() >> 28) -
                            (type.dtype == DType::u8 ? 0 : 8);  // little-endian: a narrow dtype takes the first bytes
    const uint8_t truth = numbers.next() >> 31;
    if (type.dtype == DType::f32)
      append(bytes, &real, 4);
    else if (type.dtype == DType::f16)
      append(bytes, &half, 2);
    else if (type.dtype == DType::boolean)
      append(bytes, &truth, 1);
    else
      append(bytes, &integer, dtype_size_bytes(type.dtype));
  }
  return host_tensor(std::move(concrete), std::move(bytes));
}

// The results for a graph's inputs, which depend only on the text of the graph.
struct Outcome {
  Status status;
  std::vector<HostTensor> outputs;
};

inline Outcome evaluate_outputs(const Graph& graph, bool finite = false) {
  TestNumbers numbers(finite);
  SymValues symbols;
  for (const auto& [name, range] : graph.ranges) symbols[name] = std::max<int64_t>(range.min, 3);
  HostValues values;
  for (const GraphInput& input : graph.inputs) {
    if (input.value && input.value->type.is_tensor())
      values.emplace(input.value, random_tensor(input.value->tensor(), symbols, numbers));
  }
  Outcome out;
  out.status = evaluate_graph(graph, values);
  if (!out.status.ok()) return out;
  for (const GraphOutput& output : graph.outputs) {
    if (output.value && output.value->type.is_tensor())
      out.outputs.push_back(std::get<HostTensor>(values.at(output.value)));
  }
  return out;
}

inline float element(const HostTensor& tensor, size_t index) {
  if (tensor.type.dtype == DType::f16) {
    uint16_t bits = 0;
    memcpy(&bits, tensor.data.bytes().data() + 2 * index, 2);
    return Half::to_float(bits);
  }
  float value = 0;
  memcpy(&value, tensor.data.bytes().data() + 4 * index, 4);
  return value;
}

// Compares bit for bit; any NaN equals any other. With a tolerance, f16 may differ by a few of its roundings.
inline void expect_same(const HostTensor& before, const HostTensor& after, double tolerance) {
  ASSERT_EQ(before.type.dtype, after.type.dtype);
  ASSERT_EQ(before.type.sizes, after.type.sizes);
  const auto &a = before.data.bytes(), &b = after.data.bytes();
  ASSERT_EQ(a.size(), b.size());
  const bool half = before.type.dtype == DType::f16 && tolerance > 0;
  if (before.type.dtype != DType::f32 && !half) {
    EXPECT_TRUE(a.empty() || memcmp(a.data(), b.data(), a.size()) == 0);
    return;
  }
  if (half) tolerance = std::max(tolerance, 0x1p-8);
  for (size_t i = 0; i < a.size() / dtype_size_bytes(before.type.dtype); ++i) {
    const float x = element(before, i), y = element(after, i);
    if (std::isnan(x) || std::isnan(y))
      EXPECT_EQ(std::isnan(x), std::isnan(y)) << "element " << i;
    else if (tolerance > 0 && std::isfinite(x))
      EXPECT_NEAR(x, y, tolerance * (1 + std::abs(x))) << "element " << i;
    else
      EXPECT_EQ(bits_from_float(x), bits_from_float(y)) << "element " << i << ": " << x << " and " << y;
  }
}

}  // namespace wick::compiler
