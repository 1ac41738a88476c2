// Text of quantized graphs for tests of the compile half. C++20, hosted.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cortex_m/kernels/oracle_test_support.h"
#include "compiler/testing/pipeline.h"

namespace wick::cortex_m {

/// "0.5, 3, -128, 127": scale, zero point, range.
inline std::string parameters(double scale, int zero, int min = -128, int max = 127) {
  return fmt::format("{:#}, {}, {}, {}", scale, zero, min, max);
}

inline std::string quantize_line(const char* to, const char* from, const std::string& q, const char* dtype = "i8") {
  return fmt::format("  %{} = quantized_decomposed.quantize_per_tensor(%{}, {}, {})\n", to, from, q, dtype);
}
inline std::string dequantize_line(const char* to, const char* from, const std::string& q, const char* dtype = "i8") {
  return fmt::format("  %{} = quantized_decomposed.dequantize_per_tensor(%{}, {}, {})\n", to, from, q, dtype);
}
/// Quantizes %x to the elements %e, and dequantizes these to %d.
inline std::string fake_quantized(const char* d, const char* x, const char* e, const std::string& q) {
  return quantize_line(e, x, q) + dequantize_line(d, e, q);
}

/// A dtype of elements, and their parameters in these tests.
struct Elements {
  const char* dtype;
  int zero, min, max;
};
inline constexpr Elements kNarrow = {"i8", 5, -128, 127}, kUnsigned = {"u8", 120, 0, 255},
                          kWide = {"i16", 0, -32767, 32767};

/// Parameters for numbers up to `largest` in magnitude.
inline std::string scaled(const Elements& e, double largest) {
  return parameters(2.1 * largest / (e.max - e.min), e.zero, e.min, e.max);
}
/// Quantizes %`from` to the elements %`to`q, and dequantizes these to %`to`.
inline std::string on_grid(const std::string& to, const std::string& from, const Elements& e, double largest) {
  const std::string q = scaled(e, largest);
  return quantize_line((to + "q").c_str(), from.c_str(), q, e.dtype) +
         dequantize_line(to.c_str(), (to + "q").c_str(), q, e.dtype);
}

template <typename T>
std::string constant_line(const char* name, const char* type, const std::vector<T>& elements) {
  return fmt::format("  const %{}: {} = [{}]\n", name, type, fmt::join(elements, ", "));
}

inline std::string backend_for(const char* cpu, const char* more = "") {
  return fmt::format("cortex-m:cpu={}{}", cpu, more);
}

/// f32 elements as an input.
inline HostValue float_input(std::vector<int32_t> sizes, const std::vector<float>& elements) {
  HostTensor tensor{DType::f32, std::move(sizes), std::vector<uint8_t>(elements.size() * 4)};
  memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

/// One quantization step of each output.
inline testing::Tolerance one_step() {
  return {.absolute = 1e-7, .relative = 1e-6, .of_largest = 0, .quantization_steps = 1.001};
}

}  // namespace wick::cortex_m
