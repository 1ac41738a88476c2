#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::batch_norm_test {
namespace {

// Planes of about sixteen elements, which are summed in parallel; one image and several; any order in memory.
TEST(BatchNorm, NormalizesByTheStatisticsOfABatch) {
  constexpr size_t kChannels = 3;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16})
    for (const size_t images : {1, 2, 5})
      for (const size_t plane : {1, 3, 15, 16, 17, 50})
        for (const auto& order : {std::vector<uint8_t>{0, 1, 2}, std::vector<uint8_t>{0, 2, 1}}) {
          if (images * plane == 1) continue;
          std::vector<double> x(images * kChannels * plane), wanted(x.size());
          for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 37 % 29) / 4 - 3;
          for (size_t c = 0; c < kChannels; ++c) {
            double sum = 0, squares = 0;
            const double count = static_cast<double>(images * plane);
            const auto each = [&](auto fn) {
              for (size_t n = 0; n < images; ++n)
                for (size_t i = 0; i < plane; ++i) fn((n * kChannels + c) * plane + i);
            };
            each([&](size_t i) { sum += x[i]; });
            each([&](size_t i) { squares += (x[i] - sum / count) * (x[i] - sum / count); });
            each([&](size_t i) { wanted[i] = (x[i] - sum / count) / sqrt(squares / count + 1e-3); });
          }
          const std::vector<int32_t> sizes = {static_cast<int32_t>(images), kChannels, static_cast<int32_t>(plane)};
          TestTensor in = make(dtype, sizes, x, order), out = make_out(dtype, sizes, order);
          TestTensor mean = make_out(dtype, {kChannels}), deviation = make_out(dtype, {kChannels});
          ASSERT_EQ(call("aten::_native_batch_norm_legit.no_stats_out",
                         {in, nullptr, nullptr, true, 0.1, 1e-3, out, mean, deviation}),
                    Error::Ok);
          const double error = dtype == DType::f16 ? 4e-3 : dtype == DType::f32 ? 2e-6 : 1e-13;
          EXPECT_TRUE(near(out, wanted, error, error)) << images << " images of " << plane;
        }
}

}  // namespace
}  // namespace wick::test::batch_norm_test
