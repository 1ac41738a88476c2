#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::pad_test {
namespace {

// Padding on both sides, on one and on none, and cutting, for contiguous rows and any order in memory.
TEST(Pad, BordersFollowTheDefinition) {
  constexpr int64_t kRows = 4, kColumns = 6;
  std::vector<double> x(2 * kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const std::vector<int64_t> pads[] = {{1, 1, 1, 1},   {0, 0, 0, 0},  {3, 0, 0, 2},    {0, 5, 3, 0},
                                       {-2, 1, 1, -1}, {4, -3, 0, 0}, {-1, -4, -2, -1}};
  for (const bool reflect : {true, false})
    for (const auto& pad : pads)
      for (const auto& order : {std::vector<uint8_t>{0, 1, 2}, std::vector<uint8_t>{1, 2, 0}})
        for (const DType dtype : {DType::f32, DType::u8}) {
          const int64_t rows = kRows + pad[2] + pad[3], columns = kColumns + pad[0] + pad[1];
          const auto source = [&](int64_t i, int64_t size) {
            if (!reflect) return std::clamp<int64_t>(i, 0, size - 1);
            return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
          };
          std::vector<double> wanted;
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t y = 0; y < rows; ++y)
              for (int64_t column = 0; column < columns; ++column)
                wanted.push_back(static_cast<double>((c * kRows + source(y - pad[2], kRows)) * kColumns +
                                                     source(column - pad[0], kColumns)));
          TestTensor in = make(dtype, {2, kRows, kColumns}, x, order);
          TestTensor out = make_out(dtype, {2, static_cast<int32_t>(rows), static_cast<int32_t>(columns)}, order);
          ASSERT_EQ(call(reflect ? "aten::reflection_pad2d.out" : "aten::replication_pad2d.out", {in, pad, out}),
                    Error::Ok);
          EXPECT_TRUE(equals(out, wanted))
              << "reflect " << reflect << " pad " << pad[0] << " " << pad[1] << " " << pad[2] << " " << pad[3];
        }
}

}  // namespace
}  // namespace wick::test::pad_test
