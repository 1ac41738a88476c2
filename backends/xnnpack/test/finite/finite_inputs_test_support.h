// Programs of two tensors and a mask, on portable kernels and with XNNPACK, and what counts as the same number.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/testing/pipeline.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing::finite_inputs {

using Floats = std::vector<float>;
constexpr size_t kRows = 4, kColumns = 6, kElements = kRows * kColumns;
constexpr char kType[] = "f32[4, 6]";

inline HostValue tensor(const Floats& elements) {
  std::vector<uint8_t> bytes(elements.size() * sizeof(float));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return HostTensor{DType::f32, {static_cast<int32_t>(kRows), static_cast<int32_t>(kColumns)}, std::move(bytes)};
}
inline HostValue mask_tensor(const std::vector<uint8_t>& elements) {
  return HostTensor{DType::boolean, {static_cast<int32_t>(kRows), static_cast<int32_t>(kColumns)}, elements};
}

inline Floats floats_of(const HostValue& value) {
  Floats out(value.tensor.bytes.size() / sizeof(float));
  std::memcpy(out.data(), value.tensor.bytes.data(), value.tensor.bytes.size());
  return out;
}

struct Inputs {
  Floats x, y;
  std::vector<uint8_t> mask;
  std::vector<HostValue> values() const { return {tensor(x), tensor(y), mask_tensor(mask)}; }
};

inline std::string graph(const std::string& body, const std::string& outputs) {
  return fmt::format("graph forward(%x: {0}, %y: {0}, %m: bool[4, 6]) {{\n{1} return {2}\n}}", kType, body, outputs);
}

// A program on one backend.
class Program {
 public:
  Program(const std::string& text, bool on_xnnpack) : pipeline_(Pipeline::from_text(text)) {
    if (on_xnnpack) pipeline_.backend("xnnpack");
    module_ = pipeline_.load();
    EXPECT_EQ(pipeline_.failures(), "") << text;
  }
  std::vector<Floats> run(const Inputs& inputs) {
    std::vector<Floats> out;
    std::vector<HostValue> outputs;
    ModuleError error;
    if (module_ && module_->forward(inputs.values(), &outputs, &error)) {
      for (const HostValue& output : outputs) out.push_back(floats_of(output));
    } else {
      ADD_FAILURE() << error.message;
    }
    return out;
  }
  size_t delegates() { return pipeline_.delegates(); }

 private:
  Pipeline pipeline_;
  std::unique_ptr<Module> module_;
};

inline bool is_near(double got, double want, double scale) {
  return std::abs(got - want) <= 2e-3 * std::abs(want) + 1e-5 * scale + 1e-6;
}

inline double largest_finite(const Floats& elements) {
  double largest = 0;
  for (const float x : elements) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(static_cast<double>(x)));
  }
  return largest;
}

}  // namespace wick::testing::finite_inputs
