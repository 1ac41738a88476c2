#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

/// Windows over a plane [rows, columns]; index 0 of each pair is for rows.
struct Windows {
  int64_t size[2], kernel[2], stride[2], padding[2], dilation[2], output[2];
};

Windows random_windows(std::mt19937& rng) {
  Windows w;
  for (int d = 0; d < 2; ++d) {
    do {
      w.size[d] = 1 + static_cast<int64_t>(rng() % (d == 0 ? 6 : 90));
      w.kernel[d] = 1 + static_cast<int64_t>(rng() % 4);
      w.stride[d] = 1 + static_cast<int64_t>(rng() % 3);
      w.padding[d] = static_cast<int64_t>(rng()) % (w.kernel[d] / 2 + 1);
      w.dilation[d] = 1 + static_cast<int64_t>(rng() % 2);
      w.output[d] = (w.size[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1) / w.stride[d] + 1;
    } while (w.size[d] + 2 * w.padding[d] < w.dilation[d] * (w.kernel[d] - 1) + 1);
  }
  return w;
}

/// The position of the first largest element of one window, or of the last NaN.
int64_t winner(const Windows& w, const std::vector<double>& plane, int64_t y, int64_t x) {
  int64_t best = -1;
  for (int64_t a = 0; a < w.kernel[0]; ++a) {
    for (int64_t b = 0; b < w.kernel[1]; ++b) {
      const int64_t row = y * w.stride[0] - w.padding[0] + a * w.dilation[0],
                    column = x * w.stride[1] - w.padding[1] + b * w.dilation[1];
      if (row < 0 || row >= w.size[0] || column < 0 || column >= w.size[1]) continue;
      const int64_t at = row * w.size[1] + column;
      const double value = plane[static_cast<size_t>(at)];
      if (best < 0 || value > plane[static_cast<size_t>(best)] || isnan(value)) best = at;
    }
  }
  return best;
}

TEST(MaxPool, EveryWindowAndLevelFollowsTheDefinition) {
  std::mt19937 rng(5);
  for (int i = 0; i < 150; ++i) {
    const Windows w = random_windows(rng);
    std::vector<double> plane(static_cast<size_t>(w.size[0] * w.size[1])), expected;
    for (double& v : plane) v = rng() % 40 == 0 ? NAN : rng() % 30 == 0 ? -INFINITY : static_cast<double>(rng() % 9);
    std::vector<int64_t> expected_at;
    for (int64_t y = 0; y < w.output[0]; ++y) {
      for (int64_t x = 0; x < w.output[1]; ++x) {
        expected_at.push_back(winner(w, plane, y, x));
        expected.push_back(plane[static_cast<size_t>(expected_at.back())]);
      }
    }
    const std::vector<int32_t> out_sizes = {1, static_cast<int32_t>(w.output[0]), static_cast<int32_t>(w.output[1])};
    TestTensor in = make(DType::f32, {1, static_cast<int32_t>(w.size[0]), static_cast<int32_t>(w.size[1])}, plane),
               out = make_out(DType::f32, out_sizes), at = make_out(DType::i64, out_sizes);
    const auto list = [](const int64_t* v) { return std::vector<int64_t>(v, v + 2); };
    std::vector<uint8_t> temp(4096);
    RandomState random;
    KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, nullptr,
                          std::min(kIsaLevels[i % 3], detect_isa_level()));
    ASSERT_EQ(
        call_detailed("aten::max_pool2d_with_indices.out",
                      {in, list(w.kernel), list(w.stride), list(w.padding), list(w.dilation), false, out, at}, context),
        Error::Ok)
        << context.message();
    EXPECT_TRUE(equals(out, expected)) << "case " << i;
    EXPECT_EQ(ints(at), expected_at) << "case " << i;
  }
}

}  // namespace
}  // namespace wick::test
