// The vocabulary of kernels on the host: its functions have eager's meaning.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cuda/test/twin_test_support.h"
#include "backends/cuda/test/vocabulary_test_support.h"
#include "common/float16.h"
#include "common/math/special.h"
#include "common/random.h"

namespace wick::cuda::vocabulary_test {
namespace {

constexpr TwinLibrary::Three kOneBlock = {1, 1, 1};

class Vocabulary : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<KernelText> kernels = function_kernels();
    if (!TwinLibrary::kSanitized) {  // they are large, and common/math tests them with sanitizers
      for (const KernelText& kernel : special_function_kernels()) kernels.push_back(kernel);
    }
    for (const KernelText& kernel : kVocabularyKernels) kernels.push_back(kernel);
    twin_ = new TwinLibrary(kernels);
  }
  static void TearDownTestSuite() {
    delete twin_;
    twin_ = nullptr;
  }

  template <typename... P>
  static void run(const std::string& kernel, size_t count, P... parameters) {
    const uint32_t blocks = static_cast<uint32_t>((count + 127) / 128);
    ASSERT_EQ(twin_->launch(kernel.c_str(), {blocks, 1, 1}, {128, 1, 1}, 0, parameters...), "");
  }

  static TwinLibrary* twin_;
};
TwinLibrary* Vocabulary::twin_ = nullptr;

/// Whether `half` is the 16-bit number nearest to x, the even one of two. `value` converts it; for finite numbers only.
template <typename Value>
bool is_nearest_even(float x, uint16_t bits, const Value& value) {
  const double error = std::abs(value(bits) - static_cast<double>(x));
  for (const int step : {-1, 1}) {
    const uint16_t other = static_cast<uint16_t>(bits + step);
    if ((other & 0x7fff) == 0x7fff || (other ^ bits) & 0x8000) continue;
    const double its_error = std::abs(value(other) - static_cast<double>(x));
    if (its_error < error || (its_error == error && bits % 2 != 0)) return false;
  }
  return true;
}

TEST_F(Vocabulary, SixteenBitFloatsConvertExactlyAndRoundToNearestEven) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> half(bits.size()), brain(bits.size());
  run("widen_halves", bits.size(), bits.data(), half.data(), brain.data(), 65536);
  std::vector<float> x;
  for (size_t i = 0; i < bits.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31), mantissa = static_cast<int>(i & 1023);
    const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    const double wanted = i & 0x8000 ? -size : size;
    if (exponent < 31) {
      EXPECT_EQ(half[i], wanted);
    }
    if (exponent == 31) {
      EXPECT_TRUE(mantissa ? std::isnan(half[i]) : half[i] == (i & 0x8000 ? -INFINITY : INFINITY));
    }
    EXPECT_EQ(bits_from_float(brain[i]), static_cast<uint32_t>(i) << 16);
    // Around each 16-bit number, and around the middle between neighbours.
    for (const uint32_t low : {0x0u, 0x1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      x.push_back(float_from_bits(static_cast<uint32_t>(i) << 16 | low));
    }
  }
  std::vector<uint16_t> to_half(x.size()), to_brain(x.size());
  std::vector<uint32_t> pairs(x.size());
  run("narrow_halves", x.size(), x.data(), to_half.data(), to_brain.data(), pairs.data(), static_cast<int>(x.size()));
  const auto half_value = [&](uint16_t h) {  // infinity stands for the next power of two, 65536
    return (h & 0x7fff) == 0x7c00 ? std::copysign(65536.0, h & 0x8000 ? -1 : 1) : static_cast<double>(half[h]);
  };
  const auto brain_value = [&](uint16_t b) {
    return (b & 0x7fff) == 0x7f80 ? std::copysign(0x1p128, b & 0x8000 ? -1 : 1) : static_cast<double>(brain[b]);
  };
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(pairs[i], to_half[i] | static_cast<uint32_t>(to_half[i]) << 16);
    if (std::isnan(x[i])) {
      EXPECT_TRUE((to_half[i] & 0x7fff) > 0x7c00 && (to_brain[i] & 0x7fff) > 0x7f80) << bits_from_float(x[i]);
    } else if (std::isinf(x[i]) || std::abs(x[i]) > 65536) {
      EXPECT_EQ(to_half[i] & 0x7fff, 0x7c00);
      if (std::isinf(x[i])) {
        EXPECT_EQ(to_brain[i] & 0x7fff, 0x7f80);
      }
    } else {
      ASSERT_TRUE(is_nearest_even(x[i], to_half[i], half_value)) << x[i] << " " << to_half[i];
    }
    if (std::isfinite(x[i])) {
      ASSERT_TRUE(is_nearest_even(x[i], to_brain[i], brain_value)) << x[i] << " " << to_brain[i];
    }
  }
}

struct UnaryCase {
  const char* name;
  double (*truth)(double);
  double low, high;
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
const UnaryCase kUnaryCases[] = {
    {"exp", std::exp, -80, 80},
    {"exp2", std::exp2, -100, 100},
    {"expm1", std::expm1, -30, 80},
    {"log", std::log, 1e-30, 50},
    {"log2", std::log2, 1e-30, 50},
    {"log10", std::log10, 1e-30, 50},
    {"log1p", std::log1p, -0.99, 50},
    {"sin", std::sin, -20, 20},
    {"cos", std::cos, -20, 20},
    {"tan", std::tan, -1.5, 1.5},
    {"asin", std::asin, -1, 1},
    {"acos", std::acos, -1, 1},
    {"atan", std::atan, -50, 50},
    {"sinh", std::sinh, -20, 20},
    {"cosh", std::cosh, -20, 20},
    {"tanh", std::tanh, -20, 20},
    {"asinh", std::asinh, -50, 50},
    {"acosh", std::acosh, 1, 50},
    {"atanh", std::atanh, -0.99, 0.99},
    {"erf", std::erf, -5, 5},
    {"erfc", std::erfc, -5, 5},
    {"lgamma", std::lgamma, 2.5, 50},
    {"sqrt", std::sqrt, 0, 50},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.01, 50},
    {"reciprocal", [](double x) { return 1 / x; }, 0.01, 50},
    {"floor", std::floor, -9, 9},
    {"ceil", std::ceil, -9, 9},
    {"trunc", std::trunc, -9, 9},
    {"round", std::nearbyint, -9, 9},
    {"abs", std::abs, -9, 9},
    {"sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }, -9, 9},
    {"sigmoid", sigmoid, -20, 20},
    {"silu", [](double x) { return x * sigmoid(x); }, -20, 20},
    {"gelu", [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }, -2, 9},
    {"gelu_tanh", [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
     -2, 9},
    {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -9, 20},
    {"log_sigmoid", [](double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }, -20, 20},
};

TEST_F(Vocabulary, FunctionsOfOneNumberAreThoseOfTheirNames) {
  for (const char* name : kUnaryFunctions) {
    const auto found = std::find_if(std::begin(kUnaryCases), std::end(kUnaryCases),
                                    [&](const UnaryCase& c) { return std::string(c.name) == name; });
    ASSERT_NE(found, std::end(kUnaryCases)) << name;
    constexpr int kCount = 500;
    std::vector<double> x(kCount), y(kCount);
    std::vector<float> x32(kCount), y32(kCount);
    for (int i = 0; i < kCount; ++i) {
      x[i] = found->low + (found->high - found->low) * i / (kCount - 1);
      x32[i] = static_cast<float>(x[i]);
      if (x32[i] < found->low || x32[i] > found->high) x32[i] = static_cast<float>((found->low + found->high) / 2);
    }
    run(std::string(name) + "_f64", kCount, x.data(), y.data(), kCount);
    run(std::string(name) + "_f32", kCount, x32.data(), y32.data(), kCount);
    for (int i = 0; i < kCount; ++i) {
      const double wanted = found->truth(x[i]), wanted32 = found->truth(static_cast<double>(x32[i]));
      EXPECT_NEAR(y[i], wanted, 1e-14 * std::abs(wanted) + 1e-15) << name << "(" << x[i] << ")";
      EXPECT_NEAR(y32[i], wanted32, 1e-6 * std::abs(wanted32) + 1e-7) << name << "(" << x32[i] << ")";
    }
  }
}

TEST_F(Vocabulary, SpecialFunctionsAreTheRuntimesOwn) {
  if (TwinLibrary::kSanitized) GTEST_SKIP() << "not built with sanitizers";
  const std::vector<double> x = {-3.5, -0.7, 0, 0.3, 0.9, 2.5, 30};
  const std::pair<const char*, double (*)(double)> kCases[] = {{"erfinv", math::erfinv},
                                                               {"ndtri", math::ndtri},
                                                               {"erfcx", math::erfcx},
                                                               {"i1e", math::scaled_bessel_i1},
                                                               {"modified_bessel_k0", math::bessel_k0},
                                                               {"bessel_y1", math::bessel_y1},
                                                               {"airy_ai", math::airy_ai}};
  for (const auto& [name, truth] : kCases) {
    std::vector<double> y(x.size());
    run(std::string(name) + "_f64", x.size(), x.data(), y.data(), static_cast<int>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const double wanted = truth(x[i]);
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(y[i]) : y[i] == wanted) << name << "(" << x[i] << ")";
    }
  }
}

constexpr float kNaN = NAN, kInf = INFINITY;
struct BinaryCase {
  const char* name;
  float a, b, wanted;
};
const BinaryCase kBinaryCases[] = {
    {"pow", 2, 10, 1024},
    {"pow", -2, 3, -8},
    {"atan2", 0, -1, 3.14159265f},
    {"hypot", 3e30f, 4e30f, 5e30f},
    {"hypot", kInf, kNaN, kInf},
    {"fmod", -7, 3, -1},
    {"remainder", -7, 3, 2},
    {"remainder", 7, -3, -2},
    {"copysign", 3, -0.0f, -3},
    {"maximum", kNaN, 1, kNaN},
    {"maximum", 1, kNaN, kNaN},
    {"maximum", 2, 1, 2},
    {"minimum", 1, kNaN, kNaN},
    {"minimum", 2, 1, 1},
    {"fmax", kNaN, 1, 1},
    {"fmax", 1, kNaN, 1},
    {"fmin", kNaN, 1, 1},
    {"fmin", 2, 1, 1},
    {"nextafter", 1, 2, 1 + 0x1p-23f},
    {"nextafter", 0, -1, -0x1p-149f},
    {"divide_floor", -7, 2, -4},
    {"divide_floor", 1, 0, kInf},
    {"divide_trunc", -7, 2, -3},
};

TEST_F(Vocabulary, FunctionsOfTwoNumbersHaveEagersEdges) {
  for (const BinaryCase& c : kBinaryCases) {
    float out = 0;
    run(std::string(c.name) + "_f32", 1, &c.a, &c.b, &out, 1);
    if (std::isnan(c.wanted)) {
      EXPECT_TRUE(std::isnan(out)) << c.name << "(" << c.a << ", " << c.b << ")";
    } else {
      EXPECT_EQ(out, c.wanted) << c.name << "(" << c.a << ", " << c.b << ")";
    }
  }
}

using Wide = __int128;
template <typename T>
Wide truth_of(const std::string& name, Wide a, Wide b) {
  const Wide width = 8 * sizeof(T);
  const Wide quotient = b == 0 ? 0 : a / b, rest = b == 0 ? 0 : a % b;
  const bool below = rest != 0 && (a < 0) != (b < 0);
  if (name == "wrap_add") return a + b;
  if (name == "wrap_sub") return a - b;
  if (name == "wrap_mul") return a * b;
  if (name == "divide_trunc") return quotient;
  if (name == "divide_floor") return quotient - below;
  if (name == "fmod") return rest;
  if (name == "remainder") return below ? rest + b : rest;
  if (name == "shift_left") return b < 0 || b >= width ? 0 : a * (Wide{1} << b);
  if (name == "shift_right") return b < 0 || b >= width ? (a < 0 ? -1 : 0) : a >> b;
  if (name == "smaller") return a < b ? a : b;
  if (name == "larger") return a > b ? a : b;
  EXPECT_EQ(name, "integer_pow");
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  T result = 1;
  for (Wide i = 0; i < b; ++i) result = static_cast<T>(static_cast<Wide>(result) * a);
  return result;
}

template <typename T>
void check_integers(TwinLibrary& twin, const std::string& type) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           2,
                           3,
                           7,
                           8,
                           31,
                           32,
                           63,
                           64,
                           100,
                           Limits::max(),
                           Limits::min(),
                           static_cast<T>(Limits::min() + 1),
                           static_cast<T>(-1),
                           static_cast<T>(-2),
                           static_cast<T>(-7)};
  for (const char* name : kIntegerFunctions) {
    std::vector<T> a, b;
    for (const T x : values) {
      for (const T y : values) {
        if (std::string(name) == "integer_pow" && y > 100) continue;
        a.push_back(x);
        b.push_back(y);
      }
    }
    std::vector<T> out(a.size());
    const uint32_t blocks = static_cast<uint32_t>((a.size() + 127) / 128);
    ASSERT_EQ(twin.launch((std::string(name) + "_" + type).c_str(), {blocks, 1, 1}, {128, 1, 1}, 0, a.data(), b.data(),
                          out.data(), static_cast<int>(a.size())),
              "");
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(out[i], static_cast<T>(truth_of<T>(name, a[i], b[i])))
          << name << "(" << +a[i] << ", " << +b[i] << ") of " << type;
    }
  }
}

TEST_F(Vocabulary, IntegerFunctionsAreDefinedForAllOperands) {
  check_integers<int8_t>(*twin_, "i8");
  check_integers<uint8_t>(*twin_, "u8");
  check_integers<int32_t>(*twin_, "i32");
  check_integers<int64_t>(*twin_, "i64");
}

TEST_F(Vocabulary, LanesExchangeValues) {
  for (uint32_t order = 0; order < 3; ++order) {
    twin_->set_order(order, 2);
    std::vector<int32_t> out(64 * 7, -1);
    ASSERT_EQ(twin_->launch("exchange_lanes", kOneBlock, {64, 1, 1}, 0, out.data()), "");
    for (int thread = 0; thread < 64; ++thread) {
      const int lane = thread % 32, warp = thread - lane;
      const std::vector<int32_t> wanted = {warp + (lane ^ 5), lane + 3 < 32 ? thread + 3 : thread,
                                           lane >= 3 ? thread - 3 : thread, warp + 9};
      const std::vector<int32_t> found(out.begin() + thread * 7, out.begin() + thread * 7 + 7);
      EXPECT_EQ(std::vector<int32_t>(found.begin(), found.begin() + 4), wanted);
      uint32_t mask = 0;
      for (int i = 0; i < 32; ++i) mask |= static_cast<uint32_t>((warp + i) % 3 == 2) << i;
      EXPECT_EQ(static_cast<uint32_t>(found[4]), mask);
      EXPECT_EQ(found[5], 1);
      EXPECT_EQ(found[6], 0);
    }
  }
  twin_->set_order(0);
}

TEST_F(Vocabulary, AtomicsVectorsBoolsFlagsAndRandomWords) {
  alignas(16) int32_t in[4] = {5, -6, 7, 8};
  alignas(16) int32_t copied[4] = {};
  alignas(16) uint32_t words[4] = {};
  int64_t counters[4] = {0, 0, 0, 0};
  uint32_t status[2] = {0, 0};
  uint8_t bools[4] = {0, 1, 2, 0x80};
  ASSERT_EQ(twin_->launch("assorted", kOneBlock, {64, 1, 1}, 0, &in[0], &copied[0], &counters[0], &status[0], &words[0],
                          &bools[0]),
            "");
  EXPECT_EQ(std::vector<int32_t>(copied, copied + 4), (std::vector<int32_t>{5, -6, 7, 8}));
  EXPECT_EQ(counters[0], 64 * 63 / 2);
  EXPECT_EQ(counters[1], -63);
  EXPECT_EQ(counters[2], 63);
  EXPECT_EQ(counters[3], 64);
  EXPECT_EQ(status[0], 0u);
  EXPECT_EQ(status[1], 1u << 5);
  const RandomBlock block = philox4x32(0x123456789abcdefu, 0x8000000000000003u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(words[i], block.words[i]);
  EXPECT_EQ(std::vector<uint8_t>(bools, bools + 4), (std::vector<uint8_t>{1, 0, 0, 0}));  // the negation of each
}

TEST_F(Vocabulary, FloatsBecomeIntegersTowardZeroAndTheSmallestWhereTheyDoNotFit) {
  const std::vector<double> x = {0.9, -0.9, -3.7, 9.2e18, 9.3e18, -9.3e18, INFINITY, NAN};
  std::vector<int64_t> out(x.size());
  run("to_integers", x.size(), x.data(), out.data(), static_cast<int>(x.size()));
  EXPECT_EQ(out, (std::vector<int64_t>{0, 0, -3, 9200000000000000000, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}));
}

}  // namespace
}  // namespace wick::cuda::vocabulary_test
