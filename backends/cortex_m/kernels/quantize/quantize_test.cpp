#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {
namespace {

constexpr char kQuantize[] = "cortex_m::quantize_per_tensor.out", kDequantize[] = "cortex_m::dequantize_per_tensor.out";

TEST(CortexMQuantize, RoundsHalvesToEvenAndSaturates) {
  const TestTensor x = make(DType::f32, {9}, {-1e30, -64.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1e30, NAN});
  TestTensor q = make_out(DType::i8, {9});
  ASSERT_TRUE(runs(kQuantize, {x, 0.5, 3, -100, 127, DType::i8, q}));
  EXPECT_TRUE(equals(q, {-100, -100, 1, 3, 3, 5, 5, 127, 3}));
  TestTensor wide = make_out(DType::i16, {9});
  ASSERT_TRUE(runs(kQuantize, {x, 0.5, 0, -32767, 32767, DType::i16, wide}));
  EXPECT_TRUE(equals(wide, {-32767, -128, -2, 0, 0, 2, 2, 32767, 0}));
}

TEST(CortexMQuantize, IsItsEquationAndKeepsTheLayout) {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const float scale = static_cast<float>(std::exp2(0.1 * static_cast<double>(random.in(-300, 100))));
    const bool wide = random.one_in(3);
    const int64_t low = wide ? -32768 : -128, high = wide ? 32767 : 127, zero = random.in(low, high);
    const std::vector<uint8_t> order = random.one_in(2) ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
    std::vector<double> values, expected, restored;
    for (int k = 0; k < 24; ++k) {
      const float x = static_cast<float>(random.in(-200, 200)) * scale * 0.75f;
      values.push_back(x);
      const double steps = std::nearbyint(static_cast<double>(x * (1.0f / scale)));
      expected.push_back(std::clamp<double>(steps + zero, low, high));
      restored.push_back(static_cast<float>(expected.back() - zero) * scale);
    }
    const TestTensor x = make(DType::f32, {2, 3, 2, 2}, values, order);
    const DType dtype = wide ? DType::i16 : DType::i8;
    TestTensor q = make_out(dtype, {2, 3, 2, 2}, order), y = make_out(DType::f32, {2, 3, 2, 2}, order);
    ASSERT_TRUE(runs(kQuantize, {x, double{scale}, zero, low, high, dtype, q}));
    ASSERT_TRUE(equals(q, expected)) << scale;
    ASSERT_TRUE(runs(kDequantize, {q, double{scale}, zero, low, high, dtype, y}));
    ASSERT_TRUE(equals(y, restored)) << scale;
  }
}

TEST(CortexMQuantize, ResultsHaveTheSizesOfTheInput) {
  for (const int rows : {1, 2, 3}) {
    const TestTensor x = make(DType::f32, {rows, 2}, {1}), q = make(DType::i8, {rows, 2}, {2});
    TestTensor quantized = make_dynamic(DType::i8, {3, 2}), real = make_dynamic(DType::f32, {3, 2});
    ASSERT_TRUE(runs(kQuantize, {x, 0.5, 0, -128, 127, DType::i8, quantized}));
    EXPECT_TRUE(equals(quantized, std::vector<double>(static_cast<size_t>(2 * rows), 2)));
    EXPECT_EQ(quantized.tensor.sizes[0], rows);
    ASSERT_TRUE(runs(kDequantize, {q, 0.5, 0, -128, 127, DType::i8, real}));
    EXPECT_TRUE(equals(real, std::vector<double>(static_cast<size_t>(2 * rows), 1)));
  }
  const TestTensor x = make(DType::f32, {4, 2}, {1});
  TestTensor q = make_dynamic(DType::i8, {3, 2});
  EXPECT_TRUE(refuses(kQuantize, {x, 0.5, 0, -128, 127, DType::i8, q}, "sizes"));
}

TEST(CortexMQuantize, ChecksItsArguments) {
  const TestTensor x = make(DType::f32, {4}, {1}), f64 = make(DType::f64, {4}, {1}), rest = make(DType::f32, {3}, {1});
  TestTensor q = make_out(DType::i8, {4}), u = make_out(DType::u8, {4});
  ASSERT_TRUE(runs(kQuantize, {x, 0.5, -128, -128, 127, DType::i8, q}));
  ASSERT_TRUE(runs(kQuantize, {x, 0.5, 127, 127, 127, DType::i8, q}));
  for (const double scale : std::vector<double>{0, -1, INFINITY, NAN, 1e39, 1e-50})
    EXPECT_TRUE(refuses(kQuantize, {x, scale, 0, -128, 127, DType::i8, q}, "scale")) << scale;
  for (const int bad : {-129, 128}) {
    EXPECT_TRUE(refuses(kQuantize, {x, 0.5, bad, -128, 127, DType::i8, q}, "zero_point"));
    EXPECT_TRUE(refuses(kQuantize, {x, 0.5, 0, bad, 127, DType::i8, q}, "quant_min"));
    EXPECT_TRUE(refuses(kQuantize, {x, 0.5, 0, -128, bad, DType::i8, q}, "quant_max"));
  }
  EXPECT_TRUE(refuses(kQuantize, {x, 0.5, 0, 1, 0, DType::i8, q}, "greater"));
  EXPECT_TRUE(refuses(kQuantize, {x, 0.5, 0, 0, 127, DType::i16, q}, "dtype"));
  EXPECT_TRUE(refuses(kQuantize, {x, 0.5, 0, 0, 127, DType::u8, u}, "dtype"));
  EXPECT_TRUE(refuses(kQuantize, {f64, 0.5, 0, 0, 127, DType::i8, q}, "not f32"));
  EXPECT_TRUE(refuses(kQuantize, {rest, 0.5, 0, 0, 127, DType::i8, q}, "sizes"));
  TestTensor y = make_out(DType::f32, {4}), wrong = make_out(DType::f64, {4}), few = make_out(DType::f32, {2, 2});
  EXPECT_TRUE(refuses(kDequantize, {q, 0.5, 0, 0, 127, DType::i8, wrong}, "not f32"));
  EXPECT_TRUE(refuses(kDequantize, {q, 0.5, 0, 0, 127, DType::i16, y}, "dtype"));
  EXPECT_TRUE(refuses(kDequantize, {q, 0.5, 0, 0, 127, DType::i8, few}, "sizes"));
}

}  // namespace
}  // namespace wick::cortex_m
