#include <algorithm>

#include "backends/cortex_m/kernels/resize2d/resize2d_test_support.h"

namespace wick::cortex_m::resize2d_test {
namespace {

constexpr char kName[] = "wick_cortex_m::resize2d.out";
constexpr int64_t kOne = 2048;

struct Case {
  int32_t batch = 1, channels = 1, h = 1, w = 1;
  std::vector<int64_t> x = {}, rows = {0, 0}, columns = {0, 0};  // rows: {first, weight} of each
  int64_t zero = 0;
  OutputParameters to = {1 << 30, -21, 0, -128, 127};
  int32_t out_channels = 0;

  std::vector<int32_t> out_sizes() const {
    return {batch, out_channels > 0 ? out_channels : channels, static_cast<int32_t>(rows.size() / 2),
            static_cast<int32_t>(columns.size() / 2)};
  }
  Outcome run(std::vector<int64_t>* found, DType taps = DType::i32) const {
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const TestTensor input = make_ints_in(DType::i8, {batch, channels, h, w}, x, last),
                     r = make_ints(taps, {static_cast<int32_t>(rows.size())}, rows),
                     c = make_ints(taps, {static_cast<int32_t>(columns.size())}, columns);
    const std::vector<int32_t> sizes = out_sizes();
    TestTensor out = make_ints_in(DType::i8, sizes, std::vector<int64_t>(static_cast<size_t>(product(sizes)), 0), last);
    const Outcome outcome = cortex_m::run(kName, {input, r, c, zero, int64_t{to.multiplier}, int64_t{to.shift},
                                                  int64_t{to.offset}, int64_t{to.min}, int64_t{to.max}, out});
    *found = ints(out);
    return outcome;
  }
};

TEST(CortexMResize2d, IsItsEquation) {
  Random random(41);
  for (int trial = 0; trial < 2000; ++trial) {
    Case c;
    c.batch = static_cast<int32_t>(random.in(1, 2));
    c.channels = static_cast<int32_t>(random.in(1, 21));
    c.h = static_cast<int32_t>(random.in(1, 6));
    c.w = static_cast<int32_t>(random.in(1, 6));
    c.x = random_int8(random, int64_t{c.batch} * c.channels * c.h * c.w);
    c.rows = random_taps(random, c.h, kOne);
    c.columns = random_taps(random, c.w, kOne);
    c.zero = random.in(-128, 127);
    if (random.one_in(2)) {
      c.to = random_output(random, 1);
      c.to.multiplier = static_cast<int32_t>(random.in(1 << 30, INT32_MAX));
      c.to.shift = static_cast<int32_t>(random.in(-24, -19));
    } else {
      c.to.offset = static_cast<int32_t>(c.zero);  // numbers as they are
    }
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    const auto pixel = [&](int64_t n, int64_t ch, int64_t i, int64_t j) {
      i = std::min<int64_t>(i, c.h - 1), j = std::min<int64_t>(j, c.w - 1);
      return c.x[static_cast<size_t>(((n * c.channels + ch) * c.h + i) * c.w + j)] - c.zero;
    };
    size_t at = 0;
    for (int32_t n = 0; n < c.batch; ++n) {
      for (int32_t ch = 0; ch < c.channels; ++ch) {
        for (size_t i = 0; i < c.rows.size(); i += 2) {
          for (size_t j = 0; j < c.columns.size(); j += 2, ++at) {
            const int64_t y = c.rows[i], wy = c.rows[i + 1], x = c.columns[j], wx = c.columns[j + 1];
            const int64_t top = (kOne - wx) * pixel(n, ch, y, x) + wx * pixel(n, ch, y, x + 1);
            const int64_t bottom = (kOne - wx) * pixel(n, ch, y + 1, x) + wx * pixel(n, ch, y + 1, x + 1);
            ASSERT_EQ(found[at], c.to((kOne - wy) * top + wy * bottom)) << trial << ", " << at;
          }
        }
      }
    }
  }
}

TEST(CortexMResize2d, ChecksItsArguments) {
  const Case good{.h = 2, .w = 2, .x = {1, 2, 3, 4}, .rows = {0, 2048, 1, 0}, .columns = {0, 7}};
  std::vector<int64_t> found;
  EXPECT_EQ(good.run(&found).message, "");
  for (const std::vector<int64_t>& rows : taps_outside(kOne)) {
    Case c = good;
    c.rows = rows;
    EXPECT_EQ(c.run(&found).message, "a tap lies outside of the input");
    c = good;
    c.columns = rows;
    EXPECT_EQ(c.run(&found).message, "a tap lies outside of the input");
  }
  Case c = good;
  c.out_channels = 2;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  EXPECT_NE(good.run(&found, DType::i64).error, Error::Ok);
  c = good;
  c.zero = 128;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.to.min = 5, c.to.max = 4;
  EXPECT_NE(c.run(&found).error, Error::Ok);
}

}  // namespace
}  // namespace wick::cortex_m::resize2d_test
