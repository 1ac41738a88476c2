#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::grid_sampler_test {
namespace {

// Every output element is the same alone and beside any number of others.
TEST(GridSampler, SamplesEachPositionOnItsOwn) {
  constexpr int32_t kChannels = 3, kHeight = 5, kWidth = 6, kMost = 37;
  std::vector<double> image, places;
  for (int i = 0; i < 2 * kChannels * kHeight * kWidth; ++i) image.push_back(i % 13 == 5 ? INFINITY : i * 7 % 31 - 15);
  for (int i = 0; i < 2 * kMost * 2; ++i) places.push_back(i % 17 == 3 ? NAN : (i * 29 % 101 - 50) / 40.0);
  for (const IsaLevel isa : {IsaLevel::baseline, detect_isa_level()})
    for (const int64_t mode : {0, 1, 2})
      for (const int64_t padding : {0, 1, 2})
        for (const int32_t width : {1, 15, 16, 17, kMost}) {
          TestTensor input = make(DType::f32, {2, kChannels, kHeight, kWidth}, image);
          std::vector<double> whole;
          for (int64_t n = 0; n < 2; ++n)
            whole.insert(whole.end(), places.begin() + n * kMost * 2, places.begin() + n * kMost * 2 + width * 2);
          TestTensor grid = make(DType::f32, {2, 1, width, 2}, whole),
                     out = make_out(DType::f32, {2, kChannels, 1, width});
          std::vector<uint8_t> memory(1 << 16);
          KernelContext context({memory.data(), memory.size()}, nullptr, nullptr, isa);
          ASSERT_EQ(call_detailed("aten::grid_sampler_2d.out", {input, grid, mode, padding, false, out}, context),
                    Error::Ok);
          const auto found = values(out);
          for (int32_t x = 0; x < width; ++x) {
            std::vector<double> one;
            for (int64_t n = 0; n < 2; ++n)
              for (int64_t d = 0; d < 2; ++d) one.push_back(places[static_cast<size_t>((n * kMost + x) * 2 + d)]);
            TestTensor at = make(DType::f32, {2, 1, 1, 2}, one), alone = make_out(DType::f32, {2, kChannels, 1, 1});
            KernelContext again({memory.data(), memory.size()}, nullptr, nullptr, isa);
            ASSERT_EQ(call_detailed("aten::grid_sampler_2d.out", {input, at, mode, padding, false, alone}, again),
                      Error::Ok);
            const auto wanted = values(alone);
            for (size_t c = 0; c < wanted.size(); ++c)
              EXPECT_TRUE(same_number(found[c * static_cast<size_t>(width) + static_cast<size_t>(x)], wanted[c]))
                  << "mode " << mode << " padding " << padding << " width " << width << " x " << x;
          }
        }
}

// Elements outside count as 0, even if the element that is read in their place is not finite.
TEST(GridSampler, PositionsOutsideReadNothing) {
  TestTensor input = make(DType::f32, {1, 1, 2, 2}, {NAN, INFINITY, 3, 4}), out = make_out(DType::f32, {1, 1, 1, 3});
  TestTensor grid = make(DType::f32, {1, 1, 3, 2}, {-9, -9, 0.5, 1.5, 0.5, 0.5});
  ASSERT_EQ(call("aten::grid_sampler_2d.out", {input, grid, 0, 0, false, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 0, 4}));
}

}  // namespace
}  // namespace wick::test::grid_sampler_test
