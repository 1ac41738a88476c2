// Expected values are those of eager PyTorch.
#include <gtest/gtest.h>
#include <math.h>

#include "runtime/kernels/movement/convert.h"

namespace wick::kernels {
namespace {

TEST(Float8, RoundsLikeEager) {
  const float values[] = {0.0f,       -0.0f,    1.0f,     1.06f,     1.0625f, 1.1875f,  0.3f, 448,   464,
                          465,        480,      -57344,   61439,     61440,   240,      248,  1e-3f, 0x1p-10f,
                          0x1.8p-10f, 0x1p-17f, 0x1p-17f, -0x1p-10f, 1e9f,    INFINITY, NAN};
  struct {
    DType dtype;
    uint8_t bits[25];
  } const kExpected[] = {
      {DType::f8e5m2,
       {0, 128, 60, 60, 60, 61, 53, 95, 95, 95, 96, 251, 123, 124, 92, 92, 20, 20, 22, 0, 0, 148, 124, 124, 127}},
      {DType::f8e4m3fn,
       {0, 128, 56, 56, 56, 58, 42, 126, 126, 126, 126, 254, 126, 126, 119, 120, 1, 0, 1, 0, 0, 128, 126, 126, 127}},
      {DType::f8e5m2fnuz,
       {0, 0, 64, 64, 64, 65, 57, 99, 99, 99, 100, 255, 127, 128, 96, 96, 24, 24, 26, 1, 1, 152, 128, 128, 128}},
      {DType::f8e4m3fnuz,
       {0, 0, 64, 64, 64, 66, 50, 128, 128, 128, 128, 128, 128, 128, 127, 128, 1, 1, 2, 0, 0, 129, 128, 128, 128}},
  };
  for (const auto& row : kExpected) {
    for (int i = 0; i < 25; ++i) {
      EXPECT_EQ(f8_from_float(values[i], row.dtype), row.bits[i]) << dtype_name(row.dtype) << " of " << values[i];
    }
  }
}

TEST(Float8, EveryNumberComesBack) {
  for (DType dtype : {DType::f8e5m2, DType::f8e4m3fn, DType::f8e5m2fnuz, DType::f8e4m3fnuz, DType::f8e8m0fnu}) {
    for (int bits = 0; bits < 256; ++bits) {
      const float value = float_from_f8(static_cast<uint8_t>(bits), dtype);
      if (isnan(value)) continue;
      EXPECT_EQ(f8_from_float(value, dtype), bits) << dtype_name(dtype);
    }
  }
}

}  // namespace
}  // namespace wick::kernels
