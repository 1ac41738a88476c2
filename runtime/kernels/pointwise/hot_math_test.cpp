// The loops of runtime/kernels/hot at each instruction set against the double functions of common/math.
#include <gtest/gtest.h>
#include <math.h>

#include <algorithm>
#include <random>

#include "common/float16.h"
#include "common/math/math.h"
#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/platform/cpu.h"

namespace wick {
namespace {

std::vector<IsaLevel> levels() {
  std::vector<IsaLevel> all;
  for (const IsaLevel level : {IsaLevel::baseline, IsaLevel::avx2, IsaLevel::avx512}) {
    if (level <= detect_isa_level()) all.push_back(level);
  }
  return all;
}

/// Distance in units in the last place of the wanted value; 1e30 if one is NaN, infinite or a zero of the other sign.
double ulps(float actual, double wanted) {
  const float rounded = static_cast<float>(wanted);
  if (::isnan(actual) || ::isnan(rounded)) return ::isnan(actual) == ::isnan(rounded) ? 0 : 1e30;
  if (::isinf(actual) || ::isinf(rounded)) return actual == rounded ? 0 : 1e30;
  if (rounded == 0 && actual == 0) return std::signbit(actual) == std::signbit(rounded) ? 0 : 1e30;
  int exponent;
  ::frexp(rounded == 0 ? 1e-45 : static_cast<double>(rounded), &exponent);
  return fabs(static_cast<double>(actual) - wanted) / ldexp(1, std::max(exponent - 24, -149));
}

/// Floats of all signs and magnitudes, about 200 000, and the edges.
const std::vector<float>& samples() {
  static const std::vector<float> all = [] {
    std::vector<float> x;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 20011) {
      x.push_back(float_from_bits(bits));
      x.push_back(float_from_bits(bits | 0x80000000u));
    }
    for (uint32_t bits : {0u, 1u, 0x007fffffu, 0x00800000u, 0x3f800000u, 0x3f7fffffu, 0x3f800001u, 0x7f7fffffu,
                          0x7f800000u, 0x7fc00000u}) {
      x.push_back(float_from_bits(bits));
      x.push_back(float_from_bits(bits | 0x80000000u));
    }
    for (int i = -4000; i < 4000; ++i) x.push_back(static_cast<float>(i) * 0.0078125f);  // near multiples and one
    for (int i = 1; i < 4000; ++i) x.push_back(static_cast<float>(i * 1.5707963267948966));
    for (float power = 1; power < 1e38f; power *= 10) x.push_back(power);
    return x;
  }();
  return all;
}

void expect_close(const char* name, HotKernels::Map HotKernels::* function, double (*truth)(double), double limit) {
  const std::vector<float>& x = samples();
  for (IsaLevel level : levels()) {
    std::vector<float> y(x.size());
    for (size_t begin = 0; begin < x.size(); begin += 1003) {  // with every size of remainder
      (hot(level).*function)(x.data() + begin, y.data() + begin,
                             static_cast<int64_t>(std::min<size_t>(1003, x.size() - begin)));
    }
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], truth(static_cast<double>(x[i])));
      if (error > worst) worst = error, at = i;
    }
    EXPECT_LE(worst, limit) << name << "(" << x[at] << ") = " << y[at] << ", wanted "
                            << truth(static_cast<double>(x[at])) << " at level " << static_cast<int>(level);
  }
}

TEST(HotMath, FunctionsComputedInDoubleAreRoundedOnce) {
  expect_close("log", &HotKernels::log, math::log, 0.51);
  expect_close("log2", &HotKernels::log2, math::log2, 0.51);
  expect_close("log10", &HotKernels::log10, math::log10, 0.51);
  expect_close("log1p", &HotKernels::log1p, math::log1p, 0.51);
  expect_close("expm1", &HotKernels::expm1, math::expm1, 0.51);
  expect_close("sin", &HotKernels::sin, math::sin, 0.51);
  expect_close("cos", &HotKernels::cos, math::cos, 0.51);
  expect_close("tan", &HotKernels::tan, math::tan, 0.51);
  expect_close("asin", &HotKernels::asin, math::asin, 0.51);
  expect_close("acos", &HotKernels::acos, math::acos, 0.51);
  expect_close("atan", &HotKernels::atan, math::atan, 0.51);
  expect_close("sinh", &HotKernels::sinh, math::sinh, 0.51);
  expect_close("cosh", &HotKernels::cosh, math::cosh, 0.51);
  expect_close("asinh", &HotKernels::asinh, math::asinh, 0.51);
  expect_close("acosh", &HotKernels::acosh, math::acosh, 0.51);
  expect_close("atanh", &HotKernels::atanh, math::atanh, 0.51);
}

double softplus(double x) { return x > 200 ? x : math::log1p(math::exp(x)); }

TEST(HotMath, ActivationsFollowTheirFormulas) {
  expect_close("exp", &HotKernels::exp, math::exp, 1.5);
  expect_close("softplus", &HotKernels::softplus, softplus, 0.51);
  expect_close("erf", &HotKernels::erf, math::erf, 3);
  expect_close("tanh", &HotKernels::tanh, math::tanh, 3);
  for (IsaLevel level : levels()) {
    const float x[] = {-INFINITY, -200, -20, -1, -0.0f, 0, 1, 20, 200, INFINITY, NAN};
    float mish[11], silu[11], log_sigmoid[11], gelu[11];
    hot(level).mish(x, mish, 11);
    hot(level).silu(x, silu, 11);
    hot(level).log_sigmoid(x, log_sigmoid, 11);
    hot(level).gelu_tanh(x, gelu, 11);
    for (int i = 1; i < 9; ++i) {
      const double v = static_cast<double>(x[i]);
      EXPECT_NEAR(mish[i], v * math::tanh(softplus(v)), 2e-6 * (1 + fabs(v)));
      EXPECT_NEAR(silu[i], v / (1 + math::exp(-v)), 2e-6 * (1 + fabs(v)));
      EXPECT_NEAR(log_sigmoid[i], -softplus(-v), 2e-6 * (1 + fabs(v)));
      EXPECT_NEAR(gelu[i], 0.5 * v * (1 + math::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))),
                  2e-6 * (1 + fabs(v)));
    }
    EXPECT_EQ(log_sigmoid[0], -INFINITY);
    EXPECT_EQ(mish[9], INFINITY);
    EXPECT_EQ(silu[9], INFINITY);
    for (const float* y : {mish, silu, log_sigmoid, gelu}) EXPECT_TRUE(::isnan(y[10]));
  }
}

void expect_close2(const char* name, HotKernels::Map2 HotKernels::* function, double (*truth)(double, double)) {
  std::vector<float> a, b;
  const float edges[] = {0.0f,   1.0f, 2.0f,  3.0f,        0.5f, 1e-30f,   1e30f,      16777216.0f,
                         1e-45f, 1.5f, 7.25f, 33554432.0f, 9.0f, INFINITY, float(NAN), 16777215.0f};
  for (float x : edges) {
    for (float y : edges) {
      for (int signs = 0; signs < 4; ++signs) {
        a.push_back(signs & 1 ? -x : x);
        b.push_back(signs & 2 ? -y : y);
      }
    }
  }
  std::mt19937 rng(7);
  for (int i = 0; i < 100000; ++i) {
    a.push_back(float_from_bits(static_cast<uint32_t>(rng()) & 0x7fffffffu));
    b.push_back(static_cast<float>(static_cast<int32_t>(rng())) * (i % 2 ? 1e-8f : 1e-10f));
    a.push_back(1 + static_cast<float>(static_cast<int32_t>(rng())) * 1e-10f);
    b.push_back(static_cast<float>(static_cast<int32_t>(rng())) * 1e-7f);
  }
  for (IsaLevel level : levels()) {
    std::vector<float> out(a.size());
    (hot(level).*function)(a.data(), b.data(), out.data(), static_cast<int64_t>(a.size()));
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double error = ulps(out[i], truth(static_cast<double>(a[i]), static_cast<double>(b[i])));
      if (error > worst) worst = error, at = i;
    }
    EXPECT_LE(worst, 0.51) << name << "(" << a[at] << ", " << b[at] << ") = " << out[at] << ", wanted "
                           << truth(static_cast<double>(a[at]), static_cast<double>(b[at])) << " at level "
                           << static_cast<int>(level);
  }
}

TEST(HotMath, PowersAndAnglesOfTwoOperandsAreRoundedOnce) {
  expect_close2("pow", &HotKernels::pow, math::pow);
  expect_close2("atan2", &HotKernels::atan2, math::atan2);
}

TEST(HotMath, WorksInPlace) {
  for (IsaLevel level : levels()) {
    float x[37], y[37], z[37];
    for (int i = 0; i < 37; ++i) x[i] = z[i] = 0.25f * static_cast<float>(i + 1);
    hot(level).log(x, y, 37);
    hot(level).log(z, z, 37);
    EXPECT_TRUE(std::equal(y, y + 37, z));
    hot(level).pow(x, y, y, 37);
    hot(level).pow(x, z, x, 37);
    EXPECT_TRUE(std::equal(y, y + 37, x));
  }
}

}  // namespace
}  // namespace wick
