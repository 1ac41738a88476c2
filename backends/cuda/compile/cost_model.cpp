#include "backends/cuda/compile/cost_model.h"

#include <algorithm>

namespace wick::cuda {
namespace {

// Sources: NVIDIA's data sheets "H200 Tensor Core GPU" and "H100 Tensor Core GPU" (SXM), "A100 Tensor Core GPU" (SXM,
// 80 GB), "DGX B200" (an eighth of the system), and "NVIDIA RTX Blackwell GPU architecture" (RTX 5090; factors of 16
// bits with sums in f32).
constexpr Chip kChips[] = {
    {"h200", "H200 SXM", 90, 67e12, 33.5e12, 989e12, 4.8e12},
    {"h100", "H100 SXM", 90, 67e12, 33.5e12, 989e12, 3.35e12},
    {"a100", "A100 SXM 80 GB", 80, 19.5e12, 9.7e12, 312e12, 2.039e12},
    {"b200", "B200", 100, 75e12, 37e12, 2250e12, 8e12},
    {"rtx5090", "RTX 5090", 120, 104.8e12, 1.64e12, 209.5e12, 1.792e12},
};

// Measured on an H100 with kernels of this compiler: norms and sums of large tensors, and matmuls in bf16. Assumed for
// other chips, and for rates without matrix instructions.
constexpr double kShareOfBandwidth = 0.85, kShareOfMatrixRate = 0.35, kShareOfRate = 0.8;
// Assumed, as tile_choice.cpp does: no device has run them.
constexpr double kShareOfWarpgroupRate = 0.6;
// The time of a kernel that has little to do and waits for another one, as the kernels of DeiT-Tiny.
constexpr double kLatencyUs = 3.0;

double rate_of(const Chip& chip, Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::f32: return chip.f32_flops;
    case Arithmetic::f64: return chip.f64_flops;
    case Arithmetic::matrix_f16:
    case Arithmetic::matrix_warpgroup: return chip.matrix_f16_flops;
    case Arithmetic::matrix_tf32: return chip.matrix_f16_flops / 2;  // in all of these data sheets
  }
  return chip.f32_flops;
}

double share_of_rate(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::matrix_f16:
    case Arithmetic::matrix_tf32: return kShareOfMatrixRate;
    case Arithmetic::matrix_warpgroup: return kShareOfWarpgroupRate;
    default: return kShareOfRate;
  }
}

}  // namespace

Span<const Chip> chips() { return kChips; }

const Chip* find_chip(std::string_view name) {
  for (const Chip& chip : kChips) {
    if (chip.name == name) return &chip;
  }
  return nullptr;
}

PredictedTime predict(const Chip& chip, Arithmetic arithmetic, double flops, double bytes) {
  const double computing = flops / (rate_of(chip, arithmetic) * share_of_rate(arithmetic)) * 1e6;
  const double moving = bytes / (chip.bytes_per_second * kShareOfBandwidth) * 1e6;
  const double longest = std::max({computing, moving, kLatencyUs});
  return {longest, longest == kLatencyUs ? "latency" : longest == moving ? "memory" : "arithmetic"};
}

}  // namespace wick::cuda
