#include <algorithm>

#include "backends/cortex_m/kernels/int16_test_support.h"
#include "backends/cortex_m/kernels/resize2d/resize2d_test_support.h"

namespace wick::cortex_m::resize2d_int16_test {
namespace {

constexpr char kName[] = "wick_cortex_m::resize2d_int16.out";
constexpr int64_t kOne = 1 << 20;

struct Case {
  int32_t batch = 1, channels = 1, h = 1, w = 1;
  std::vector<int64_t> x = {}, rows = {0, 0}, columns = {0, 0};  // rows: {first, weight} of each
  OutputParameters to = {1 << 30, -15, 0, -32768, 32767};

  Outcome run(std::vector<int64_t>* found, DType from = DType::i16) const {
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const TestTensor input = make_ints_in(from, {batch, channels, h, w}, x, last),
                     r = make_ints(DType::i32, {static_cast<int32_t>(rows.size())}, rows),
                     c = make_ints(DType::i32, {static_cast<int32_t>(columns.size())}, columns);
    const std::vector<int32_t> sizes = {batch, channels, static_cast<int32_t>(rows.size() / 2),
                                        static_cast<int32_t>(columns.size() / 2)};
    TestTensor out =
        make_ints_in(DType::i16, sizes, std::vector<int64_t>(static_cast<size_t>(product(sizes)), 0), last);
    const Outcome outcome = cortex_m::run(
        kName, {input, r, c, int64_t{to.multiplier}, int64_t{to.shift}, int64_t{to.min}, int64_t{to.max}, out});
    *found = ints(out);
    return outcome;
  }
  int64_t pixel(int64_t n, int64_t ch, int64_t i, int64_t j) const {
    i = std::min<int64_t>(i, h - 1), j = std::min<int64_t>(j, w - 1);
    return x[static_cast<size_t>(((n * channels + ch) * h + i) * w + j)];
  }
  int64_t expected(int64_t n, int64_t ch, size_t i, size_t j) const {
    const int64_t row = rows[i], below = rows[i + 1], column = columns[j], right = columns[j + 1];
    const int64_t top = (kOne - right) * pixel(n, ch, row, column) + right * pixel(n, ch, row, column + 1);
    const int64_t bottom = (kOne - right) * pixel(n, ch, row + 1, column) + right * pixel(n, ch, row + 1, column + 1);
    const int64_t sum = (kOne - below) * top + below * bottom, rounded = floor_divide(sum + (1 << 23), 1 << 24);
    return std::clamp<int64_t>(exact_requantize(rounded, to.multiplier, to.shift), to.min, to.max);
  }
};

TEST(CortexMResize2dInt16, IsItsEquation) {
  Random random(81);
  for (int trial = 0; trial < 2000; ++trial) {
    Case c;
    c.batch = static_cast<int32_t>(random.in(1, 2));
    c.channels = static_cast<int32_t>(random.in(1, 9));
    c.h = static_cast<int32_t>(random.in(1, 6));
    c.w = static_cast<int32_t>(random.in(1, 6));
    c.x = random_int16(random, int64_t{c.batch} * c.channels * c.h * c.w);
    c.rows = random_taps(random, c.h, kOne);
    c.columns = random_taps(random, c.w, kOne);
    if (random.one_in(2)) {
      c.to.multiplier = static_cast<int32_t>(random.in(1 << 30, INT32_MAX));
      c.to.shift = static_cast<int32_t>(random.one_in(8) ? random.in(-31, 30) : random.in(-17, -14));
      c.to.min = static_cast<int32_t>(random.in(-32768, 0));
    }
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    size_t at = 0;
    for (int32_t n = 0; n < c.batch; ++n) {
      for (int32_t ch = 0; ch < c.channels; ++ch) {
        for (size_t i = 0; i < c.rows.size(); i += 2) {
          for (size_t j = 0; j < c.columns.size(); j += 2, ++at)
            ASSERT_EQ(found[at], c.expected(n, ch, i, j)) << trial << ", " << at;
        }
      }
    }
  }
}

TEST(CortexMResize2dInt16, ChecksItsArguments) {
  const Case good{.h = 2, .w = 2, .x = {1, 2, 3, 4}, .rows = {0, kOne, 1, 0}, .columns = {0, 7}};
  std::vector<int64_t> found;
  EXPECT_EQ(good.run(&found).message, "");
  EXPECT_NE(good.run(&found, DType::i8).error, Error::Ok);
  for (const std::vector<int64_t>& rows : taps_outside(kOne)) {
    Case c = good;
    c.rows = rows;
    EXPECT_EQ(c.run(&found).message, "a tap lies outside of the input");
    c = good;
    c.columns = rows;
    EXPECT_EQ(c.run(&found).message, "a tap lies outside of the input");
  }
  for (const OutputParameters& bad : {OutputParameters{INT32_MIN, -15, 0, -1, 1}, OutputParameters{1, -32, 0, -1, 1},
                                      OutputParameters{1, 0, 0, 2, 1}, OutputParameters{1, 0, 0, -1, 32768}}) {
    Case c = good;
    c.to = bad;
    EXPECT_NE(c.run(&found).error, Error::Ok);
  }
}

}  // namespace
}  // namespace wick::cortex_m::resize2d_int16_test
