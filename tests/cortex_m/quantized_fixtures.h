// The programs of tests/fixtures/cortex_m_quantized, with their inputs and what the quantized graph answers in eager.
// C++20.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "wick/module.h"

namespace wick::cortex_m {

struct QuantizedProgram {
  std::vector<uint8_t> pt2;
  std::vector<HostValue> inputs, eager;
  /// Programs whose counterpart by stock's flow is tests/fixtures/cortex_m/NAME.mve.pte.
  bool has_stock = false;
};

std::vector<std::string> quantized_program_names();
bool has_stock_program(const std::string& name);
/// Nothing, and a failure of the test, if the file is broken.
std::optional<QuantizedProgram> quantized_program(const std::string& name);
/// Planned memory of the program that stock's flow wrote for an instruction set. Nothing if there is none.
std::optional<uint64_t> stock_memory_bytes(const std::string& name, const std::string& isa);
/// What the program by stock's flow for MVE gives on Wick's runtime.
std::vector<HostValue> run_stock_program(const std::string& name, const std::vector<HostValue>& inputs);

}  // namespace wick::cortex_m
