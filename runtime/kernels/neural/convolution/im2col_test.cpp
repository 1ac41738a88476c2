#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::im2col_test {
namespace {

struct Window {
  int64_t kernel, dilation, padding, stride;
};

TEST(Im2col, AndBackFollowTheDefinition) {
  const Window windows[] = {{1, 1, 0, 1}, {3, 1, 1, 1}, {2, 1, 0, 2}, {3, 2, 2, 1},
                            {2, 3, 0, 3}, {2, 1, 3, 2}, {5, 1, 4, 4}};
  constexpr int64_t kChannels = 2, kHeight = 5, kWidth = 7;
  for (const Window& w : windows) {
    const auto outputs = [&](int64_t size) {
      return (size + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) / w.stride + 1;
    };
    const int64_t rows = outputs(kHeight), columns = outputs(kWidth), taps = w.kernel * w.kernel;
    std::vector<double> image, wanted, back(kChannels * kHeight * kWidth);
    for (size_t i = 0; i < back.size(); ++i) image.push_back(static_cast<double>(i + 1));
    for (int64_t row = 0; row < kChannels * taps; ++row)
      for (int64_t position = 0; position < rows * columns; ++position) {
        const int64_t tap = row % taps;
        const int64_t y = position / columns * w.stride - w.padding + tap / w.kernel * w.dilation;
        const int64_t x = position % columns * w.stride - w.padding + tap % w.kernel * w.dilation;
        const bool inside = y >= 0 && y < kHeight && x >= 0 && x < kWidth;
        const size_t at = static_cast<size_t>((row / taps * kHeight + y) * kWidth + x);
        wanted.push_back(inside ? image[at] : 0);
        if (inside) back[at] += image[at];
      }
    const auto pair = [](int64_t value) { return int_list({value, value}); };
    for (const auto& order : {std::vector<uint8_t>{0, 1, 2, 3}, std::vector<uint8_t>{0, 2, 3, 1}}) {
      TestTensor in = make(DType::f32, {1, kChannels, kHeight, kWidth}, image, order);
      TestTensor out =
          make_out(DType::f32, {1, static_cast<int32_t>(kChannels * taps), static_cast<int32_t>(rows * columns)});
      ASSERT_EQ(call("aten::im2col.out", {in, pair(w.kernel), pair(w.dilation), pair(w.padding), pair(w.stride), out}),
                Error::Ok);
      EXPECT_TRUE(equals(out, wanted)) << w.kernel << w.dilation << w.padding << w.stride;
      TestTensor sums = make_out(DType::f32, in.sizes, order);
      ASSERT_EQ(call("aten::col2im.out", {out, int_list({kHeight, kWidth}), pair(w.kernel), pair(w.dilation),
                                          pair(w.padding), pair(w.stride), sums}),
                Error::Ok);
      EXPECT_TRUE(equals(sums, back)) << w.kernel << w.dilation << w.padding << w.stride;
    }
  }
}

}  // namespace
}  // namespace wick::test::im2col_test
