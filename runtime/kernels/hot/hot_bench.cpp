// Speed of the loops of runtime/kernels/hot at the best instruction set of this machine: items are elements, or
// multiply-adds for products.
#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/platform/cpu.h"

namespace wick {
namespace {

const HotKernels& kernels() { return hot(detect_isa_level()); }

constexpr int64_t kCount = 4096;
std::vector<float> numbers(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.25f + static_cast<float>(i % 97) * 0.03125f;
  return x;
}

void map(benchmark::State& state, HotKernels::Map HotKernels::* function) {
  const std::vector<float> in = numbers(kCount);
  std::vector<float> out = in;
  for (auto _ : state) {
    (kernels().*function)(in.data(), out.data(), kCount);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}
BENCHMARK_CAPTURE(map, exp, &HotKernels::exp);
BENCHMARK_CAPTURE(map, log, &HotKernels::log);
BENCHMARK_CAPTURE(map, sin, &HotKernels::sin);
BENCHMARK_CAPTURE(map, tanh, &HotKernels::tanh);
BENCHMARK_CAPTURE(map, erf, &HotKernels::erf);
BENCHMARK_CAPTURE(map, gelu, &HotKernels::gelu);
BENCHMARK_CAPTURE(map, softplus, &HotKernels::softplus);
BENCHMARK_CAPTURE(map, atan, &HotKernels::atan);

void power(benchmark::State& state) {
  const std::vector<float> x = numbers(kCount), y = numbers(kCount);
  std::vector<float> out = x;
  for (auto _ : state) {
    kernels().pow(x.data(), y.data(), out.data(), kCount);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}
BENCHMARK(power);

void softmax(benchmark::State& state) {
  const std::vector<float> in = numbers(kCount);
  std::vector<float> out = in;
  for (auto _ : state) {
    kernels().softmax_row(in.data(), out.data(), kCount);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}
BENCHMARK(softmax);

void gemm(benchmark::State& state) {
  constexpr int64_t kSize = 192;
  const std::vector<float> a = numbers(kSize * kSize), b = numbers(kSize * kSize);
  std::vector<float> packed(static_cast<size_t>(kSize * (kSize + 64))), c(static_cast<size_t>(kSize * kSize));
  kernels().pack_strided(b.data(), kSize, 1, kSize, kSize, packed.data());
  GemmBlock block = {};
  block.a = a.data();
  block.b = packed.data();
  block.c = c.data();
  block.a_row_stride = block.c_row_stride = kSize;
  block.c_column_stride = 1;
  block.m = block.n = block.k = kSize;
  block.finish = true;
  block.alpha = 1.0f;
  block.lower = -__builtin_inff();
  block.upper = __builtin_inff();
  for (auto _ : state) {
    kernels().gemm_block(block);
    benchmark::DoNotOptimize(c.data());
  }
  state.SetItemsProcessed(state.iterations() * kSize * kSize * kSize);
}
BENCHMARK(gemm);

}  // namespace
}  // namespace wick

BENCHMARK_MAIN();
