// Predicts the time of a kernel: a roofline with a lower bound. C++20.
#pragma once
#include <cstdint>
#include <string_view>

#include "backends/cuda/payload/plan.h"
#include "wick/span.h"

namespace wick::cuda {

/// Rates from a chip's data sheet. Those of matrix instructions are without sparsity.
struct Chip {
  const char* name;   // on the command line
  const char* title;  // of the product
  uint32_t architecture = 0;
  double f32_flops = 0, f64_flops = 0, matrix_f16_flops = 0;  // per second
  double bytes_per_second = 0;                                // of the memory
};

/// One row per chip; the first is the default.
Span<const Chip> chips();
/// Null if there is none of this name.
const Chip* find_chip(std::string_view name);

/// The time between the end of a kernel in a graph and the beginning of the next one.
inline constexpr double kLaunchGapUs = 1.3;

struct PredictedTime {
  double us = 0;
  const char* bound = "";  // the largest of the terms: "arithmetic", "memory", "latency"
};
/// max(FLOP / rate, bytes / bandwidth, latency of a small kernel). Rates and bandwidth are those of the data sheet,
/// times the shares that kernels reach.
PredictedTime predict(const Chip& chip, Arithmetic arithmetic, double flops, double bytes);

}  // namespace wick::cuda
