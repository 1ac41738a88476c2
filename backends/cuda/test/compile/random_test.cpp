// Random numbers inside delegates equal those of the portable kernels, in every call.
#include <algorithm>

#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

class CudaRandom : public CudaLower {
 protected:
  using Calls = std::vector<std::vector<HostValue>>;

  /// The outputs of several calls of one module. Without a device, the portable kernels run.
  Calls calls_of(const std::vector<uint8_t>& program, const std::vector<HostValue>& inputs, const std::string& device,
                 uint64_t seed, size_t count) {
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&cuda_backend()};
    options.device = device;
    options.seed = seed;
    ModuleError error;
    const auto module = wick::Module::load({program.data(), program.size()}, options, &error);
    EXPECT_TRUE(module) << error.message;
    Calls calls(module ? count : 0);
    for (auto& outputs : calls) {
      EXPECT_TRUE(module->forward(inputs, &outputs, &error)) << error.message;
    }
    return calls;
  }
  Calls on_twin(const std::vector<HostValue>& inputs, uint64_t seed, size_t count) {
    return calls_of(program_, inputs, "cuda-twin=" + twin(), seed, count);
  }

  /// The bits must be those of the portable kernels, for every order of threads. The second call and later ones replay
  /// a graph.
  void expect_bits_of_portable(const std::vector<HostValue>& inputs) {
    CompileResult ignored;
    const std::vector<uint8_t> portable = program_of(text_, "portable", {}, &ignored);
    for (const uint64_t seed : {uint64_t{0}, uint64_t{0x123456789abcdef0}}) {
      const Calls want = calls_of(portable, inputs, "", seed, 4), got = on_twin(inputs, seed, 4);
      ASSERT_EQ(got.size(), want.size());
      for (size_t call = 0; call < want.size(); ++call) {
        ASSERT_EQ(got[call].size(), want[call].size());
        for (size_t i = 0; i < want[call].size(); ++i)
          EXPECT_EQ(got[call][i].tensor.bytes, want[call][i].tensor.bytes) << "call " << call << ", output " << i;
      }
      if (!want.empty()) {
        EXPECT_NE(want[0][0].tensor.bytes, want[1][0].tensor.bytes);
      }
    }
    expect_same_bits_in_every_order(inputs, on_twin(inputs, 0, 1)[0]);
  }
};

TEST_F(CudaRandom, UniformAndNormalNumbersOfEveryTypeAreThoseOfThePortableKernels) {
  compile(R"(graph f() {
  %a: f32[5, 7] = aten.rand([5, 7], f32)
  %b: f16[9] = aten.rand([9], f16)
  %c: bf16[2, 3] = aten.rand([2, 3], bf16)
  %d: f64[3] = aten.rand([3], f64)
  %e: f32[130] = aten.randn([130], f32)
  %g: f16[6] = aten.randn([6], f16)
  %h: bf16[5] = aten.randn([5], bf16)
  %i: f64[7] = aten.randn([7], f64)
  return %a, %b, %c, %d, %e, %g, %h, %i
})");
  ASSERT_NE(plan_.random_blocks, kNone);
  // The blocks that each node takes, in order: a block is four numbers, or two uniform numbers of f64.
  EXPECT_EQ(formula_text(plan_, plan_.random_blocks), std::to_string(9 + 3 + 2 + 2 + 33 + 2 + 2 + 2));
  expect_bits_of_portable({});
}

TEST_F(CudaRandom, DropoutIsPartOfTheKernelBehindIt) {
  compile(R"(graph f(%x: f32[16, 24], %w: f32[24, 24], %b: f32[24], %r: f32[16, 24]) {
  %y: f32[16, 24] = aten.linear(%x, %w, %b)
  %d: f32[16, 24] = aten.dropout(%y, 0.25, true)
  %s: f32[16, 24] = aten.add.Tensor(%d, %r)
  return %s
})");
  EXPECT_EQ(launches(), 1u);
  // Multiples of 1 / 64: each sum is exact.
  expect_bits_of_portable({numbers(DType::f32, {16, 24}, 1), numbers(DType::f32, {24, 24}, 2),
                           numbers(DType::f32, {24}, 3), numbers(DType::f32, {16, 24}, 4)});
}

TEST_F(CudaRandom, TheMaskOfADropoutIsWhatItHasDropped) {
  compile(R"(graph f(%x: f16[3, 50]) {
  %e: f16[3, 50] = aten.neg(%x)
  %y: f16[3, 50], %m: bool[3, 50] = aten.native_dropout(%e, 0.5, true)
  %z: f16[3, 50] = aten.mul.Tensor(%y, %y)
  return %y, %m, %z
})");
  expect_bits_of_portable({numbers(DType::f16, {3, 50}, 1)});
}

TEST_F(CudaRandom, DistributionsAreWhatTheCompilerMakesOfUniformAndNormalNumbers) {
  compile(R"(graph f(%p: f32[40]) {
  %a: i64[40] = aten.randint.low(-3, 9, [40])
  %b: f32[40] = aten.bernoulli(%p)
  %c: i64[12] = aten.randperm(12)
  %d: f32[40] = aten.uniform(%p, -1.0, 3.0)
  %e: f32[40] = aten.rand_like(%p)
  return %a, %b, %c, %d, %e
})");
  HostTensor p = numbers(DType::f32, {40}, 1);
  for (size_t i = 0; i < 40; ++i) {
    const float value = static_cast<float>(std::fabs(element(p, i)));
    std::memcpy(&p.bytes[4 * i], &value, 4);
  }
  expect_bits_of_portable({p});
}

HostTensor scaled(HostTensor x, float factor) {
  for (size_t i = 0; i < x.bytes.size() / 4; ++i) {
    const float value = static_cast<float>(std::fabs(element(x, i))) * factor;
    std::memcpy(&x.bytes[4 * i], &value, 4);
  }
  return x;
}

TEST_F(CudaRandom, NumbersWithAParameterForEachElementAreThoseOfThePortableKernels) {
  compile(R"(graph f(%rate: f32[9, 7], %count: f32[9, 7], %chance: f32[7]) {
  %a: f32[9, 7] = aten.poisson(%rate)
  %b: f32[9, 7] = aten.binomial(%count, %chance)
  %h: f16[9, 7] = aten._to_copy(%rate, f16)
  %c: f16[9, 7] = aten._standard_gamma(%h)
  %d: f32[9, 7] = aten.rand([9, 7], f32)
  return %a, %b, %c, %d
})");
  const HostTensor chance = scaled(numbers(DType::f32, {7}, 3), 1);
  // Small and large parameters: the distributions have an algorithm for each.
  expect_bits_of_portable(
      {scaled(numbers(DType::f32, {9, 7}, 1), 30), scaled(numbers(DType::f32, {9, 7}, 2), 90), chance});
  HostTensor negative = numbers(DType::f32, {9, 7}, 1);
  expect_error({negative, scaled(negative, 1), chance}, "aten.poisson.default: a rate is negative or not finite");
  expect_error({scaled(negative, 1), negative, chance}, "aten.binomial.default: a count is negative or not finite");
}

// All readers of a drawn tensor see the same numbers, whether they compute them again or not.
TEST_F(CudaRandom, AllReadersOfADrawReadTheSameNumbers) {
  compile(R"(graph f(%x: f32[8, 32]) {
  %r: f32[8, 32] = aten.rand([8, 32], f32)
  %t: f32[32, 8] = aten.t(%r)
  %m: f32[8, 8] = aten.mm(%x, %t)
  %s: f32[8] = aten.sum.dim_IntList(%r, [1])
  %a: f32[8, 32] = aten.sub.Tensor(%r, %r)
  return %m, %s, %a, %r
})");
  std::vector<float> zeros(256, 0.0f);
  const auto calls = on_twin({numbers(DType::f32, {8, 32}, 1)}, 5, 3);
  for (const auto& outputs : calls) {
    const HostTensor &sums = outputs[1].tensor, &differences = outputs[2].tensor, &drawn = outputs[3].tensor;
    EXPECT_EQ(std::memcmp(differences.bytes.data(), zeros.data(), differences.bytes.size()), 0);
    for (size_t row = 0; row < 8; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 32; ++i) sum += element(drawn, row * 32 + i);
      EXPECT_NEAR(element(sums, row), sum, 1e-4);
    }
  }
}

// Two delegates of a method, with a node between them that stays outside, draw one after the other.
TEST_F(CudaRandom, DelegatesOfAMethodDrawFromOneStream) {
  const std::string text = R"(graph f(%x: f32[4, 6]) {
  range N: 0..24
  %a: f32[4, 6] = aten.rand([4, 6], f32)
  %s: f32[4, 6] = aten.add.Tensor(%a, %x)
  %n: i64[N, 2] = aten.nonzero(%s)
  %z: i64[N, 2] = aten.neg(%n)
  %b: f32[4, 6] = aten.randn([4, 6], f32)
  %t: f32[4, 6] = aten.mul.Tensor(%b, %s)
  return %z, %t
})";
  CompileResult compiled, ignored;
  const auto program = program_of(text, "cuda", {{"gpu", "none"}, {"twin", twin()}}, &compiled);
  const std::vector<HostValue> inputs = {numbers(DType::f32, {4, 6}, 1)};
  const Calls want = calls_of(program_of(text, "portable", {}, &ignored), inputs, "", 3, 3),
              got = calls_of(program, inputs, "cuda-twin=" + twin(), 3, 3);
  ASSERT_EQ(got.size(), want.size());
  for (size_t call = 0; call < want.size(); ++call) {
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(got[call][i].tensor.bytes, want[call][i].tensor.bytes);
  }
}

TEST_F(CudaRandom, SizesOfRunTimeTakeAsManyBlocksAsThePortableKernels) {
  compile(R"(graph f(%x: f32[s0, 3]) {
  range s0: 1..40
  %r: f32[s0, 3] = aten.rand_like(%x)
  %y: f32[s0, 3] = aten.add.Tensor(%x, %r)
  %n: f32[s0, 3] = aten.randn_like(%x)
  %z: f32[s0, 3] = aten.mul.Tensor(%y, %n)
  return %z
})");
  for (const int32_t size : {1, 40, 7}) expect_bits_of_portable({numbers(DType::f32, {size, 3}, 1)});
}

// The largest difference between the numbers' empirical distribution and `distribution`, times the square root of their
// count (Kolmogorov-Smirnov). One sample of a thousand exceeds 1.95. The seed is fixed.
template <typename F>
double distance(const HostTensor& numbers, const F& distribution) {
  const size_t count = numbers.bytes.size() / dtype_size_bytes(numbers.dtype);
  std::vector<double> sorted;
  for (size_t i = 0; i < count; ++i) sorted.push_back(element(numbers, i));
  std::sort(sorted.begin(), sorted.end());
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double expected = distribution(sorted[i]), n = static_cast<double>(count);
    largest = std::max({largest, std::fabs(expected - static_cast<double>(i) / n),
                        std::fabs(expected - static_cast<double>(i + 1) / n)});
  }
  return largest * std::sqrt(static_cast<double>(count));
}

void expect_moments(const HostTensor& numbers, double mean, double variance) {
  const double count = static_cast<double>(numbers.bytes.size() / dtype_size_bytes(numbers.dtype));
  double sum = 0, squares = 0;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) sum += element(numbers, i);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) squares += std::pow(element(numbers, i) - sum / count, 2);
  EXPECT_NEAR(sum / count, mean, 4 * std::sqrt(variance / count));
  EXPECT_NEAR(squares / count, variance, 0.05 * variance);
}

TEST_F(CudaRandom, NumbersHaveTheirDistributions) {
  compile(R"(graph f(%x: f32[20000]) {
  %u: f32[20000] = aten.rand([20000], f32)
  %n: f32[20000] = aten.randn([20000], f32)
  %e: f32[20000] = aten.exponential(%x, 2.0)
  %d: f32[20000] = aten.dropout(%x, 0.3, true)
  return %u, %n, %e, %d
})");
  HostTensor ones = numbers(DType::f32, {20000}, 1);
  const float one = 1;
  for (size_t i = 0; i < 20000; ++i) std::memcpy(&ones.bytes[4 * i], &one, 4);
  for (const auto& outputs : on_twin({ones}, 2024, 2)) {
    EXPECT_LT(distance(outputs[0].tensor, [](double x) { return x; }), 1.95);
    EXPECT_LT(distance(outputs[1].tensor, [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }), 1.95);
    EXPECT_LT(distance(outputs[2].tensor, [](double x) { return 1 - std::exp(-2 * x); }), 1.95);
    expect_moments(outputs[0].tensor, 0.5, 1.0 / 12);
    expect_moments(outputs[1].tensor, 0, 1);
    expect_moments(outputs[2].tensor, 0.5, 0.25);
    expect_moments(outputs[3].tensor, 1, 0.3 / 0.7);
  }
}

}  // namespace
}  // namespace wick::cuda
