#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::batch_matmul_test {
namespace {

constexpr char kName[] = "cortex_m::quantized_batch_matmul.out";

TEST(CortexMBatchMatmul, IsItsEquation) {
  Random random(11);
  const TestTensor scratch = make(DType::u8, {0}, {});
  for (int i = 0; i < 2000; ++i) {
    const int32_t batch = static_cast<int32_t>(random.in(0, 3)), rows = static_cast<int32_t>(random.in(1, 5));
    const int32_t columns = static_cast<int32_t>(random.in(1, 6)), inner = static_cast<int32_t>(random.in(0, 30));
    const std::vector<int64_t> x = random_int8(random, int64_t{batch} * rows * inner),
                               w = random_int8(random, int64_t{batch} * columns * inner);
    const int64_t x_offset = random.in(-127, 128), w_offset = random.in(-127, 128);
    OutputParameters p = random_output(random, inner);
    p.min = -128;
    p.max = 127;
    std::vector<double> expected;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t m = 0; m < rows; ++m) {
        for (int64_t n = 0; n < columns; ++n) {
          int64_t sum = 0;
          for (int64_t k = 0; k < inner; ++k)
            sum += (x[(b * rows + m) * inner + k] + x_offset) * (w[(b * columns + n) * inner + k] + w_offset);
          expected.push_back(p(sum));
        }
      }
    }
    TestTensor out = make_out(DType::i8, {batch, rows, columns});
    ASSERT_TRUE(runs(kName, {make_ints(DType::i8, {batch, rows, inner}, x), x_offset,
                             make_ints(DType::i8, {batch, columns, inner}, w), w_offset, p.offset, p.multiplier,
                             p.shift, scratch, out}));
    ASSERT_TRUE(equals(out, expected)) << i;
  }
}

TEST(CortexMBatchMatmul, ChecksItsArguments) {
  const TestTensor x = make(DType::i8, {2, 3, 4}, {1}), w = make(DType::i8, {2, 5, 4}, {1}),
                   scratch = make(DType::u8, {0}, {});
  TestTensor out = make_out(DType::i8, {2, 3, 5}), turned = make_out(DType::i8, {2, 5, 3}),
             flat = make_out(DType::i8, {6, 5});
  for (const int fits : {-127, 128}) EXPECT_TRUE(runs(kName, {x, fits, w, fits, 0, 1, 0, scratch, out}));
  for (const int bad : {-128, 129}) {
    EXPECT_TRUE(refuses(kName, {x, bad, w, 0, 0, 1, 0, scratch, out}, "offset"));
    EXPECT_TRUE(refuses(kName, {x, 0, w, bad, 0, 1, 0, scratch, out}, "offset"));
  }
  for (const int bad : {-129, 128}) EXPECT_TRUE(refuses(kName, {x, 0, w, 0, bad, 1, 0, scratch, out}, "zero point"));
  EXPECT_TRUE(refuses(kName, {x, 0, w, 0, 0, 1, 31, scratch, out}, "shift"));
  EXPECT_TRUE(refuses(kName, {x, 0, w, 0, 0, 1, 0, scratch, turned}, "wanted operands"));
  EXPECT_TRUE(refuses(kName, {x, 0, x, 0, 0, 1, 0, scratch, out}, "wanted operands"));
  EXPECT_TRUE(refuses(kName, {make(DType::i8, {1, 3, 4}, {1}), 0, w, 0, 0, 1, 0, scratch, out}, "wanted operands"));
  EXPECT_TRUE(refuses(kName, {x, 0, make(DType::i8, {2, 5, 3}, {1}), 0, 0, 1, 0, scratch, out}, "wanted operands"));
  EXPECT_TRUE(
      refuses(kName, {x, 0, make(DType::i8, {2, 5, 4}, {1}, {0, 2, 1}), 0, 0, 1, 0, scratch, out}, "contiguous"));
  EXPECT_TRUE(refuses(kName, {x, 0, w, 0, 0, 1, 0, scratch, flat}, "3 dimensions"));
  EXPECT_TRUE(refuses(kName, {make(DType::u8, {2, 3, 4}, {1}), 0, w, 0, 0, 1, 0, scratch, out}, "not int8"));
}

}  // namespace
}  // namespace wick::cortex_m::batch_matmul_test
