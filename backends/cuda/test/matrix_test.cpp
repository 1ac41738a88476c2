// Matrix instructions on the host, and a GEMM made of them.
#include <cmath>
#include <random>

#include "backends/cuda/test/matrix_test_support.h"
#include "backends/cuda/test/twin_test_support.h"
#include "common/float16.h"

namespace wick::cuda::matrix_test {
namespace {

constexpr TwinLibrary::Three kOneBlock = {1, 1, 1}, kWarp = {32, 1, 1};

class Matrix : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<KernelText> kernels = {kLoadMatrix, kGemm, kWarpgroup};
    for (const KernelText& kernel : kMatrixKernels) kernels.push_back(kernel);
    twin_ = new TwinLibrary(kernels);
  }
  static void TearDownTestSuite() {
    delete twin_;
    twin_ = nullptr;
  }

  static TwinLibrary* twin_;
  TwinLibrary& twin = *twin_;
};
TwinLibrary* Matrix::twin_ = nullptr;

template <typename Element, typename Sum, typename Value>
void expect_product(const TwinLibrary& twin, const char* kernel, int k, const Value& value) {
  std::mt19937 random(1);
  std::vector<Element> a(16 * k), b(8 * k);
  for (Element& x : a) x = value(random);
  for (Element& x : b) x = value(random);
  std::vector<Sum> first;
  for (uint32_t order = 0; order < 3; ++order) {
    twin.set_order(order, 5);
    std::vector<Sum> c(128);
    ASSERT_EQ(twin.launch(kernel, kOneBlock, kWarp, 0, a.data(), b.data(), c.data()), "");
    if (order == 0) first = c;
    EXPECT_EQ(c, first);
  }
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      double wanted = 1;
      for (int i = 0; i < k; ++i) {
        wanted += static_cast<double>(static_cast<float>(a[row * k + i])) * static_cast<float>(b[column * k + i]);
      }
      EXPECT_EQ(static_cast<double>(first[row * 8 + column]), static_cast<double>(static_cast<Sum>(wanted)));
    }
  }
}

float uniform(std::mt19937& random) { return static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256; }

TEST_F(Matrix, EachInstructionMultipliesTheFragmentsAsDocumented) {
  expect_product<BFloat16, float>(twin, "m16n8k16_bf16", 16, [](auto& random) { return BFloat16(uniform(random)); });
  expect_product<Half, float>(twin, "m16n8k16_f16", 16, [](auto& random) { return Half(uniform(random)); });
  // Numbers that are exact in TF32.
  expect_product<float, float>(twin, "m16n8k8_tf32", 8, [](auto& random) {
    return static_cast<float>(static_cast<int>(random() % 1024) - 512);
  });
  expect_product<int8_t, int32_t>(twin, "m16n8k32_s8", 32, [](auto& random) { return static_cast<int8_t>(random()); });
}

TEST_F(Matrix, LdmatrixGivesTheFragmentsAndTheirTransposes) {
  std::vector<uint16_t> in(4 * 64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i);
  std::vector<uint32_t> out(4 * 32 * 4);
  ASSERT_EQ(twin.launch("load_matrix", kOneBlock, kWarp, 0, in.data(), out.data()), "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t plain = 64 * i + 8 * g + 2 * t, transposed = 64 * i + 8 * (2 * t) + g;
      const uint32_t wanted[] = {plain | (plain + 1) << 16, transposed | (transposed + 8) << 16};
      for (uint32_t mode = 0; mode < 2; ++mode) {
        EXPECT_EQ(out[(mode * 32 + lane) * 4 + i], wanted[mode]);
        if (i < 2) {
          EXPECT_EQ(out[((mode + 2) * 32 + lane) * 4 + i], wanted[mode]);
        }
      }
    }
  }
}

TEST_F(Matrix, RoundingToTf32IsToNearestAwayFromZero) {
  const std::vector<float> x = {1.0f, 1.0f + 0x1p-11f, 1.0f + 0x1p-12f, -1.0f - 0x1p-11f, 0x1p-149f, INFINITY};
  std::vector<uint32_t> out(x.size());
  ASSERT_EQ(twin.launch("round_tf32", kOneBlock, {1, 1, 1}, 0, x.data(), out.data(), static_cast<int>(x.size())), "");
  const std::vector<float> wanted = {1.0f, 1.0f + 0x1p-10f, 1.0f, -1.0f - 0x1p-10f, 0, INFINITY};
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(float_from_bits(out[i]), wanted[i]) << i;
}

TEST_F(Matrix, AGemmOfBf16GivesTheSameBitsInEveryOrder) {
  constexpr int kM = 100, kN = 72, kK = 96;  // edges in m and n
  std::mt19937 random(7);
  std::vector<BFloat16> a(kM * kK), b(kN * kK);
  for (BFloat16& x : a) x = BFloat16(uniform(random));
  for (BFloat16& x : b) x = BFloat16(uniform(random));
  std::vector<float> first;
  twin.check_writes(true);
  for (uint32_t order = 0; order < 3; ++order) {
    twin.set_order(order, 11);
    std::vector<float> c(kM * kN, NAN);
    ASSERT_EQ(twin.launch("gemm", {2, 2, 1}, {128, 1, 1}, 0, a.data(), b.data(), c.data(), kM, kN, kK), "");
    if (order == 0) first = c;
    EXPECT_EQ(c, first);
    twin.check_writes(false);
  }
  double error = 0, norm = 0;
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      double wanted = 0;
      for (int k = 0; k < kK; ++k) wanted += static_cast<double>(a[m * kK + k]) * static_cast<double>(b[n * kK + k]);
      error += std::pow(first[m * kN + n] - wanted, 2);
      norm += wanted * wanted;
    }
  }
  EXPECT_LT(std::sqrt(error / norm), 2e-7);
}

TEST_F(Matrix, AWarpgroupMultipliesSwizzledTilesAndItsFaultsAreReported) {
  std::mt19937 random(9);
  std::vector<BFloat16> a(64 * 64), b(64 * 64);
  for (BFloat16& x : a) x = BFloat16(uniform(random));
  for (BFloat16& x : b) x = BFloat16(uniform(random));
  const auto launch = [&](std::vector<float>& c, int fault) {
    return twin.launch("warpgroup", kOneBlock, {128, 1, 1}, 16384, a.data(), b.data(), c.data(), fault);
  };
  for (uint32_t order = 0; order < 3; ++order) {
    twin.set_order(order, 3);
    std::vector<float> c(64 * 64);
    ASSERT_EQ(launch(c, 0), "");
    for (int i = 0; i < 64 * 64; ++i) {
      double wanted = 0;
      for (int k = 0; k < 64; ++k)
        wanted += static_cast<double>(a[i / 64 * 64 + k]) * static_cast<double>(b[i % 64 * 64 + k]);
      ASSERT_NEAR(static_cast<double>(c[i]), wanted, 1e-4) << i;
    }
    EXPECT_NE(launch(c, 1).find("reads a factor that is not aligned or lies outside shared memory"), std::string::npos);
    EXPECT_NE(launch(c, 2).find("reads factors that change before it is waited for"), std::string::npos);
    EXPECT_EQ(launch(c, 3), "");
    EXPECT_TRUE(std::isnan(c[0]));
    EXPECT_NE(launch(c, 4).find("lies outside shared memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace wick::cuda::matrix_test
