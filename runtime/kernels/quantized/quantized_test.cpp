// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Quantize, PerTensorRoundsHalfToEven) {
  {
    TestTensor a = make(DType::f32, {2, 5},
                        {0.05000000074505806, -0.15000000596046448, 0.25, 7, -9, 0.3499999940395355, 1000000000,
                         -1000000000, 0.44999998807907104, -0.05000000074505806});
    TestTensor out = make_out(DType::i8, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_tensor.out", {a, 0.1, 3, -128, 127, DType::i8, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 1, 5, 73, -87, 7, 127, -128, 7, 3}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5},
                        {0.05000000074505806, -0.15000000596046448, 0.25, 7, -9, 0.3499999940395355, 1000000000,
                         -1000000000, 0.44999998807907104, -0.05000000074505806});
    TestTensor out = make_out(DType::u8, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_tensor.out", {a, 0.1, 128, 0, 255, DType::u8, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {128, 126, 130, 198, 38, 132, 255, 0, 132, 128}));
  }
  {
    TestTensor a = make(DType::f16, {2, 5},
                        {0.04998779296875, -0.1500244140625, 0.25, 7, -9, 0.35009765625, INFINITY, -INFINITY,
                         0.449951171875, -0.04998779296875});
    TestTensor out = make_out(DType::i16, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_tensor.out", {a, 0.1, 0, -127, 127, DType::i16, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {0, -2, 2, 70, -90, 4, 127, -127, 4, 0}));
  }
  {
    TestTensor a =
        make(DType::f32, {1, 2, 2, 3},
             {0, 0.1428571492433548, 0.2857142984867096, 0.4285714328289032, 0.5714285969734192, 0.7142857313156128,
              0.8571428656578064, 1, 1.1428571939468384, 1.2857142686843872, 1.4285714626312256, 1.5714285373687744},
             {0, 2, 3, 1});
    TestTensor out = make_out(DType::i8, {1, 2, 2, 3});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_tensor.out", {a, 0.1, 3, -128, 127, DType::i8, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 4, 6, 7, 9, 10, 12, 13, 14, 16, 17, 19}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5},
                        {0.05000000074505806, -0.15000000596046448, 0.25, 7, -9, 0.3499999940395355, 1000000000,
                         -1000000000, 0.44999998807907104, -0.05000000074505806});
    TestTensor b = make(DType::f64, {}, {0.1});
    TestTensor c = make(DType::i64, {}, {3});
    TestTensor out = make_out(DType::i8, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_tensor.Tensor_out", {a, b, c, -128, 127, DType::i8, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {3, 1, 5, 73, -87, 7, 127, -128, 7, 3}));
  }
}

TEST(Dequantize, PerTensorFollowsEager) {
  {
    TestTensor a = make(DType::i8, {2, 5}, {-128, 127, 0, 5, -7, 1, 2, 3, 4, 100});
    TestTensor out = make_out(DType::f32, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::dequantize_per_tensor.out", {a, 0.1, 3, -128, 127, DType::i8, nullptr, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {-13.100000381469727, 12.40000057220459, -0.30000001192092896, 0.20000000298023224, -1,
                             -0.20000000298023224, -0.10000000149011612, 0, 0.10000000149011612, 9.699999809265137}));
  }
  {
    TestTensor a = make(DType::i8, {2, 5}, {-128, 127, 0, 5, -7, 1, 2, 3, 4, 100});
    TestTensor b = make(DType::f32, {}, {0.10000000149011612});
    TestTensor c = make(DType::i64, {}, {3});
    TestTensor out = make_out(DType::f32, {2, 5});
    ASSERT_EQ(
        call("quantized_decomposed::dequantize_per_tensor.Tensor_out", {a, b, c, -128, 127, DType::i8, nullptr, out}),
        Error::Ok);
    EXPECT_TRUE(equals(out, {-13.100000381469727, 12.40000057220459, -0.30000001192092896, 0.20000000298023224, -1,
                             -0.20000000298023224, -0.10000000149011612, 0, 0.10000000149011612, 9.699999809265137}));
  }
}

TEST(PerChannel, OneScaleIsThatOfEachChannel) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int axis : {0, 1, 2, -1}) {
      const int size = axis == 0 ? 2 : axis == 1 ? 3 : 4;
      TestTensor x = make(DType::f32, {2, 3, 4}, {0.05, -0.15, 0.25, 7, -9, 0.35, 1e9, -1e9, 0.45, -0.05, 1,  2,
                                                  3,    4,     5,    6, 7,  8,    9,   10,   11,   12,    13, 14});
      TestTensor q[2] = {make_out(DType::i8, {2, 3, 4}), make_out(DType::i8, {2, 3, 4})};
      TestTensor d[2] = {make_out(DType::f32, {2, 3, 4}), make_out(DType::f32, {2, 3, 4})};
      for (const int i : {0, 1}) {
        const int count = i == 0 ? 1 : size;
        TestTensor scales = make(dtype, {count}, std::vector<double>(static_cast<size_t>(count), 0.3));
        TestTensor zeros = make(DType::i64, {count}, std::vector<double>(static_cast<size_t>(count), -7));
        ASSERT_EQ(call("quantized_decomposed::quantize_per_channel.out",
                       {x, scales, zeros, axis, -128, 127, DType::i8, q[i]}),
                  Error::Ok);
        ASSERT_EQ(call("quantized_decomposed::dequantize_per_channel.out",
                       {q[i], scales, zeros, axis, -128, 127, DType::i8, nullptr, d[i]}),
                  Error::Ok);
      }
      EXPECT_EQ(values(q[0]), values(q[1]));
      EXPECT_EQ(values(d[0]), values(d[1]));
    }
  }
}

TEST(PerChannel, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 5},
                        {0.05000000074505806, -0.15000000596046448, 0.25, 7, -9, 0.3499999940395355, 1000000000,
                         -1000000000, 0.44999998807907104, -0.05000000074505806});
    TestTensor b = make(DType::f32, {2}, {0.10000000149011612, 0.30000001192092896});
    TestTensor c = make(DType::i64, {2}, {3, -2});
    TestTensor out = make_out(DType::i8, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_channel.out", {a, b, c, 0, -128, 127, DType::i8, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {3, 1, 5, 73, -87, -1, 127, -128, -1, -2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 5},
                        {0.05000000074505806, -0.15000000596046448, 0.25, 7, -9, 0.3499999940395355, 1000000000,
                         -1000000000, 0.44999998807907104, -0.05000000074505806});
    TestTensor b = make(DType::f64, {5}, {0.1, 0.2, 0.3, 0.4, 0.5});
    TestTensor c = make(DType::i64, {5}, {0, 1, 2, 3, 4});
    TestTensor out = make_out(DType::i8, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_channel.out", {a, b, c, 1, -128, 127, DType::i8, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {1, 0, 3, 21, -14, 3, 127, -128, 4, 4}));
  }
  {
    TestTensor a = make(DType::i8, {2, 5}, {-128, 127, 0, 5, -7, 1, 2, 3, 4, 100});
    TestTensor b = make(DType::f32, {2}, {0.10000000149011612, 0.30000001192092896});
    TestTensor c = make(DType::i64, {2}, {3, -2});
    TestTensor out = make_out(DType::f32, {2, 5});
    ASSERT_EQ(
        call("quantized_decomposed::dequantize_per_channel.out", {a, b, c, 0, -128, 127, DType::i8, nullptr, out}),
        Error::Ok);
    EXPECT_TRUE(equals(out, {-13.100000381469727, 12.40000057220459, -0.30000001192092896, 0.20000000298023224, -1,
                             0.9000000357627869, 1.2000000476837158, 1.5, 1.8000000715255737, 30.600000381469727}));
  }
  {
    TestTensor a = make(DType::i8, {2, 5}, {-128, 127, 0, 5, -7, 1, 2, 3, 4, 100});
    TestTensor b = make(DType::f64, {5}, {0.1, 0.2, 0.3, 0.4, 0.5});
    TestTensor c = make(DType::i64, {5}, {0, 1, 2, 3, 4});
    TestTensor out = make_out(DType::f32, {2, 5});
    ASSERT_EQ(
        call("quantized_decomposed::dequantize_per_channel.out", {a, b, c, 1, -128, 127, DType::i8, nullptr, out}),
        Error::Ok);
    EXPECT_TRUE(equals(out, {-12.800000190734863, 25.200000762939453, -0.6000000238418579, 0.800000011920929, -5.5,
                             0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 48}));
  }
  {
    TestTensor a = make(DType::i8, {2, 5}, {-128, 127, 0, 5, -7, 1, 2, 3, 4, 100});
    TestTensor b = make(DType::f32, {2}, {0.10000000149011612, 0.30000001192092896});
    TestTensor out = make_out(DType::f32, {2, 5});
    ASSERT_EQ(call("quantized_decomposed::dequantize_per_channel.out",
                   {a, b, nullptr, 0, -128, 127, DType::i8, nullptr, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {-12.800000190734863, 12.699999809265137, 0, 0.5, -0.699999988079071, 0.30000001192092896,
                             0.6000000238418579, 0.9000000357627869, 1.2000000476837158, 30.000001907348633}));
  }
  {
    TestTensor a = make(DType::i8, {2, 3, 2, 2},
                        {-10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
    TestTensor b = make(DType::f32, {3}, {0.5, 0.25, 0.10000000149011612});
    TestTensor c = make(DType::i64, {3}, {0, 1, -1});
    TestTensor out = make_out(DType::f32, {2, 3, 2, 2});
    ASSERT_EQ(call_split("quantized_decomposed::dequantize_per_channel.out",
                         {a, b, c, 1, -128, 127, DType::i8, nullptr, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {-5,
                             -4.5,
                             -4,
                             -3.5,
                             -1.75,
                             -1.5,
                             -1.25,
                             -1,
                             -0.10000000149011612,
                             0,
                             0.10000000149011612,
                             0.20000000298023224,
                             1,
                             1.5,
                             2,
                             2.5,
                             1.25,
                             1.5,
                             1.75,
                             2,
                             1.100000023841858,
                             1.2000000476837158,
                             1.3000000715255737,
                             1.399999976158142}));
  }
}

TEST(PerToken, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 2, 3},
                        {0.10000000149011612, -0.20000000298023224, 3.299999952316284, 2, 4, 8, -1, -2, -0.5, 0, 0, 0});
    TestTensor out0 = make_out(DType::f64, {2, 2, 1});
    TestTensor out1 = make_out(DType::i64, {2, 2, 1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams_per_token_asymmetric.out", {a, DType::i8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.013725490309298038, 0.0313725508749485, 0.007843137718737125, 1.1920928955078125e-07}));
    EXPECT_TRUE(equals(out1, {-113, -128, 127, 127}));
  }
  {
    TestTensor a = make(DType::f32, {2, 2, 3},
                        {0.10000000149011612, -0.20000000298023224, 3.299999952316284, 2, 4, 8, -1, -2, -0.5, 0, 0, 0});
    TestTensor b = make(DType::f64, {2, 2, 1},
                        {0.013725490309298038, 0.0313725508749485, 0.007843137718737125, 1.1920928955078125e-07});
    TestTensor c = make(DType::i64, {2, 2, 1}, {-113, -128, 127, 127});
    TestTensor out = make_out(DType::i8, {2, 2, 3});
    ASSERT_EQ(call("quantized_decomposed::quantize_per_token.out", {a, b, c, -128, 127, DType::i8, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-106, -128, 127, -64, -1, 127, 0, -128, 63, 127, 127, 127}));
  }
  {
    TestTensor a = make(DType::i8, {2, 2, 3}, {-106, -128, 127, -64, -1, 127, 0, -128, 63, 127, 127, 127});
    TestTensor b = make(DType::f64, {2, 2, 1},
                        {0.013725490309298038, 0.0313725508749485, 0.007843137718737125, 1.1920928955078125e-07});
    TestTensor c = make(DType::i64, {2, 2, 1}, {-113, -128, 127, 127});
    TestTensor out = make_out(DType::f32, {2, 2, 3});
    ASSERT_EQ(call("quantized_decomposed::dequantize_per_token.out", {a, b, c, -128, 127, DType::i8, DType::f32, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {0.09607843309640884, -0.20588235557079315, 3.2941176891326904, 2.007843255996704,
                             3.98431396484375, 8, -0.9960784912109375, -2, -0.501960813999176, 0, 0, 0}));
  }
}

TEST(ChooseQparams, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 2, 3},
                        {0.10000000149011612, -0.20000000298023224, 3.299999952316284, 2, 4, 8, -1, -2, -0.5, 0, 0, 0});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, -128, 127, 1e-05, DType::i8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.03921568766236305}));
    EXPECT_TRUE(equals(out1, {-77}));
  }
  {
    TestTensor a = make(DType::f32, {2, 2, 3},
                        {0.10000000149011612, -0.20000000298023224, 3.299999952316284, 2, 4, 8, -1, -2, -0.5, 0, 0, 0});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, 0, 255, 1e-05, DType::u8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.03921568766236305}));
    EXPECT_TRUE(equals(out1, {51}));
  }
  {
    TestTensor a = make(DType::f32, {2, 2, 3},
                        {1.100000023841858, 1.2000000476837158, 4.300000190734863, 3, 5, 9, 2, 3, 1.5, 1, 1, 1});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, -128, 127, 1e-05, DType::i8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.03529411926865578}));
    EXPECT_TRUE(equals(out1, {-128}));
  }
  {
    TestTensor a = make(DType::f32, {2, 2, 3},
                        {1.100000023841858, 1.2000000476837158, 4.300000190734863, 3, 5, 9, 2, 3, 1.5, 1, 1, 1});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, 0, 255, 1e-05, DType::u8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.03529411926865578}));
    EXPECT_TRUE(equals(out1, {0}));
  }
  {
    TestTensor a = make(
        DType::f32, {2, 2, 3},
        {-0.10000000149011612, -0.20000000298023224, -3.299999952316284, -2, -4, -8, -1, -2, -0.5, -0.0, -0.0, -0.0});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, -128, 127, 1e-05, DType::i8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.0313725508749485}));
    EXPECT_TRUE(equals(out1, {127}));
  }
  {
    TestTensor a = make(
        DType::f32, {2, 2, 3},
        {-0.10000000149011612, -0.20000000298023224, -3.299999952316284, -2, -4, -8, -1, -2, -0.5, -0.0, -0.0, -0.0});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, 0, 255, 1e-05, DType::u8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {0.0313725508749485}));
    EXPECT_TRUE(equals(out1, {255}));
  }
  {
    TestTensor a = make(DType::f32, {2}, {0, 0});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, -128, 127, 1e-05, DType::i8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {9.999999747378752e-06}));
    EXPECT_TRUE(equals(out1, {-128}));
  }
  {
    TestTensor a = make(DType::f32, {2}, {0, 0});
    TestTensor out0 = make_out(DType::f64, {1});
    TestTensor out1 = make_out(DType::i64, {1});
    ASSERT_EQ(call("quantized_decomposed::choose_qparams.Tensor_out", {a, 0, 255, 1e-05, DType::u8, out0, out1}),
              Error::Ok);
    EXPECT_TRUE(equals(out0, {9.999999747378752e-06}));
    EXPECT_TRUE(equals(out1, {0}));
  }
}

TEST(QuantizedAdd, IsDequantizeAddQuantize) {
  TestTensor a = make(DType::u8, {4}, {0, 10, 200, 255});
  TestTensor b = make(DType::u8, {4}, {3, 100, 200, 255});
  TestTensor out = make_out(DType::u8, {4});
  ASSERT_EQ(call("quantized_decomposed::add.out", {a, 0.5, 10, 0, 255, b, 0.25, 3, 0, 255, 0.75, 20, 0, 255, out}),
            Error::Ok);
  EXPECT_TRUE(equals(out, {13, 52, 212, 255}));
}

TEST(QuantizedEmbedding, FollowsEager) {
  {
    TestTensor a = make(DType::i8, {3, 8}, {-127, -90, -53,  -16, 21,  58, 95, -123, -86, -49,  -12, 25,
                                            62,   99,  -119, -82, -45, -8, 29, 66,   103, -115, -78, -41});
    TestTensor b = make(DType::f32, {3}, {0.10000000149011612, 0.20000000298023224, 0.30000001192092896});
    TestTensor c = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_byte.out", {a, b, nullptr, -128, 127, c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-13.500000953674316,
                             -2.4000000953674316,
                             8.700000762939453,
                             19.80000114440918,
                             30.900001525878906,
                             -34.5,
                             -23.400001525878906,
                             -12.300000190734863,
                             -12.699999809265137,
                             -9,
                             -5.300000190734863,
                             -1.600000023841858,
                             2.1000001430511475,
                             5.800000190734863,
                             9.5,
                             -12.300000190734863,
                             -17.200000762939453,
                             -9.800000190734863,
                             -2.4000000953674316,
                             5,
                             12.40000057220459,
                             19.80000114440918,
                             -23.80000114440918,
                             -16.399999618530273,
                             -13.500000953674316,
                             -2.4000000953674316,
                             8.700000762939453,
                             19.80000114440918,
                             30.900001525878906,
                             -34.5,
                             -23.400001525878906,
                             -12.300000190734863}));
  }
  {
    TestTensor a = make(DType::i8, {3, 8}, {-127, -90, -53,  -16, 21,  58, 95, -123, -86, -49,  -12, 25,
                                            62,   99,  -119, -82, -45, -8, 29, 66,   103, -115, -78, -41});
    TestTensor b = make(
        DType::f32, {3, 2},
        {0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 0.5, 0.6000000238418579});
    TestTensor c = make(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
    TestTensor d = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_byte.out", {a, b, c, -128, 127, d, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-25,
                             -6.5,
                             12,
                             30.5,
                             58.20000076293945,
                             -72.60000610351562,
                             -50.400001525878906,
                             -28.200000762939453,
                             -12.800000190734863,
                             -9.100000381469727,
                             -5.400000095367432,
                             -1.7000000476837158,
                             3.799999952316284,
                             11.199999809265137,
                             18.600000381469727,
                             -25,
                             -26.700000762939453,
                             -15.600000381469727,
                             -4.5,
                             6.600000381469727,
                             23.200000762939453,
                             38,
                             -49.20000076293945,
                             -34.400001525878906,
                             -25,
                             -6.5,
                             12,
                             30.5,
                             58.20000076293945,
                             -72.60000610351562,
                             -50.400001525878906,
                             -28.200000762939453}));
  }
  {
    TestTensor a = make(DType::i8, {3, 8}, {-127, -90, -53,  -16, 21,  58, 95, -123, -86, -49,  -12, 25,
                                            62,   99,  -119, -82, -45, -8, 29, 66,   103, -115, -78, -41});
    TestTensor b =
        make(DType::f16, {3, 2}, {0.0999755859375, 0.199951171875, 0.300048828125, 0.39990234375, 0.5, 0.60009765625});
    TestTensor c = make(DType::f16, {3, 2}, {1, 2, 3, 4, 5, 6});
    TestTensor d = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f16, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_byte.out", {a, b, c, -128, 127, d, out}), Error::Ok);
    EXPECT_TRUE(equals(
        out, {-25,        -6.5,        12,         30.5,        58.21875,    -72.625,    -50.40625, -28.203125,
              -12.796875, -9.1015625,  -5.3984375, -1.69921875, 3.798828125, 11.1953125, 18.59375,  -25,
              -26.703125, -15.6015625, -4.5,       6.6015625,   23.1875,     38,         -49.1875,  -34.40625,
              -25,        -6.5,        12,         30.5,        58.21875,    -72.625,    -50.40625, -28.203125}));
  }
  {
    TestTensor a = make(DType::i8, {3, 8}, {-127, -90, -53,  -16, 21,  58, 95, -123, -86, -49,  -12, 25,
                                            62,   99,  -119, -82, -45, -8, 29, 66,   103, -115, -78, -41});
    TestTensor b =
        make(DType::f16, {3, 2}, {0.0999755859375, 0.199951171875, 0.300048828125, 0.39990234375, 0.5, 0.60009765625});
    TestTensor c = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_byte.dtype_out", {a, b, nullptr, -128, 127, c, DType::f32, out}),
              Error::Ok);
    EXPECT_TRUE(
        equals(out, {-22.5,       -4,         14.5,       33,           61.8125,    -69,      -46.8125,  -24.609375,
                     -12.6953125, -9,         -5.296875,  -1.599609375, 4.19921875, 11.59375, 19,        -24.59375,
                     -25.796875,  -14.703125, -3.6015625, 7.5,          24.796875,  39.59375, -47.59375, -32.78125,
                     -22.5,       -4,         14.5,       33,           61.8125,    -69,      -46.8125,  -24.609375}));
  }
  {
    TestTensor a = make(DType::u8, {3, 4}, {5, 175, 73, 227, 141, 39, 193, 107, 5, 175, 73, 227});
    TestTensor b = make(
        DType::f32, {3, 2},
        {0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 0.5, 0.6000000238418579});
    TestTensor c = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_4bit.out", {a, b, nullptr, -8, 7, c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-4,
                             -1.5,
                             1,
                             3.5,
                             -2.4000000953674316,
                             0.6000000238418579,
                             3.6000001430511475,
                             -3,
                             -0.800000011920929,
                             -0.30000001192092896,
                             0.20000000298023224,
                             0.699999988079071,
                             -0.800000011920929,
                             0.20000000298023224,
                             1.2000000476837158,
                             -1,
                             0,
                             1.5,
                             -1.8000000715255737,
                             -0.30000001192092896,
                             1.600000023841858,
                             -2.799999952316284,
                             -0.800000011920929,
                             1.2000000476837158,
                             -4,
                             -1.5,
                             1,
                             3.5,
                             -2.4000000953674316,
                             0.6000000238418579,
                             3.6000001430511475,
                             -3}));
  }
  {
    TestTensor a = make(DType::u8, {3, 4}, {5, 175, 73, 227, 141, 39, 193, 107, 5, 175, 73, 227});
    TestTensor b =
        make(DType::f16, {3, 2}, {0.0999755859375, 0.199951171875, 0.300048828125, 0.39990234375, 0.5, 0.60009765625});
    TestTensor c = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f16, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_4bit.dtype_out", {a, b, nullptr, -8, 7, c, DType::f16, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {-4,
                             -1.5,
                             1,
                             3.5,
                             -2.400390625,
                             0.60009765625,
                             3.6015625,
                             -3,
                             -0.7998046875,
                             -0.2998046875,
                             0.199951171875,
                             0.69970703125,
                             -0.7998046875,
                             0.199951171875,
                             1.19921875,
                             -1,
                             0,
                             1.5,
                             -1.80078125,
                             -0.300048828125,
                             1.599609375,
                             -2.798828125,
                             -0.7998046875,
                             1.19921875,
                             -4,
                             -1.5,
                             1,
                             3.5,
                             -2.400390625,
                             0.60009765625,
                             3.6015625,
                             -3}));
  }
  {
    TestTensor a = make(DType::u8, {3, 2}, {108, 108, 108, 108, 108, 108});
    TestTensor b = make(
        DType::f32, {3, 2},
        {0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 0.5, 0.6000000238418579});
    TestTensor c = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_2bit.out", {a, b, nullptr, -2, 1, c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {-1,
                             0.5,
                             0,
                             -0.5,
                             -1.2000000476837158,
                             0.6000000238418579,
                             0,
                             -0.6000000238418579,
                             -0.20000000298023224,
                             0.10000000149011612,
                             0,
                             -0.10000000149011612,
                             -0.4000000059604645,
                             0.20000000298023224,
                             0,
                             -0.20000000298023224,
                             -0.6000000238418579,
                             0.30000001192092896,
                             0,
                             -0.30000001192092896,
                             -0.800000011920929,
                             0.4000000059604645,
                             0,
                             -0.4000000059604645,
                             -1,
                             0.5,
                             0,
                             -0.5,
                             -1.2000000476837158,
                             0.6000000238418579,
                             0,
                             -0.6000000238418579}));
  }
  {
    TestTensor a = make(DType::u8, {3, 2}, {108, 108, 108, 108, 108, 108});
    TestTensor b = make(DType::f32, {3}, {0.10000000149011612, 0.20000000298023224, 0.30000001192092896});
    TestTensor c = make(DType::i64, {2, 2}, {2, 0, 1, 2});
    TestTensor out = make_out(DType::f32, {2, 2, 8});
    ASSERT_EQ(call("quantized_decomposed::embedding_2bit.dtype_out", {a, b, nullptr, -2, 1, c, DType::f32, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, {-0.6000000238418579,  0.30000001192092896, 0, -0.30000001192092896,
                             -0.6000000238418579,  0.30000001192092896, 0, -0.30000001192092896,
                             -0.20000000298023224, 0.10000000149011612, 0, -0.10000000149011612,
                             -0.20000000298023224, 0.10000000149011612, 0, -0.10000000149011612,
                             -0.4000000059604645,  0.20000000298023224, 0, -0.20000000298023224,
                             -0.4000000059604645,  0.20000000298023224, 0, -0.20000000298023224,
                             -0.6000000238418579,  0.30000001192092896, 0, -0.30000001192092896,
                             -0.6000000238418579,  0.30000001192092896, 0, -0.30000001192092896}));
  }
}

TEST(MixedMatmul, MultipliesDequantizedWeights) {
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25});
    TestTensor b = make(DType::i8, {3, 4}, {-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6});
    TestTensor c = make(DType::f32, {3}, {0.5, 0.25, 0.10000000149011612});
    TestTensor out = make_out(DType::f32, {2, 4});
    ASSERT_EQ(call("quantized_decomposed::mixed_mm.out", {a, b, c, nullptr, out}), Error::Ok);
    EXPECT_TRUE(near(out,
                     {0.08750000596046448, 0.20000000298023224, 0.3125, 0.42500001192092896, -1.75, -1, -0.25, 0.5},
                     1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75});
    TestTensor b = make(DType::i8, {3, 4}, {-15, -12, -9, -6, -3, 0, 3, 6, 9, 12, 15, 18});
    TestTensor c = make(DType::f32, {3}, {0.5, 0.25, 0.10000000149011612});
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("quantized_decomposed::mixed_linear.out", {a, b, c, nullptr, nullptr, out}), Error::Ok);
    EXPECT_TRUE(near(out, {15, 0, -3.000000238418579, -6, 1.5, 2.4000000953674316}, 1e-6, 1e-6));
  }
  {
    TestTensor a = make(DType::f32, {2, 4}, {-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75});
    TestTensor b = make(DType::i8, {3, 4}, {-15, -12, -9, -6, -3, 0, 3, 6, 9, 12, 15, 18});
    TestTensor c = make(
        DType::f32, {3, 2},
        {0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 0.5, 0.6000000238418579});
    TestTensor out = make_out(DType::f32, {2, 3});
    ASSERT_EQ(call("quantized_decomposed::mixed_linear.out", {a, b, c, nullptr, DType::f32, out}), Error::Ok);
    EXPECT_TRUE(near(out,
                     {3.6000001430511475, -0.30000001192092896, -16.200000762939453, -2.1000001430511475,
                      2.4000000953674316, 14.100000381469727},
                     1e-6, 1e-6));
  }
}

}  // namespace
}  // namespace wick::test
