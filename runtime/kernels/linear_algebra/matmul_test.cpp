#include <random>

#include "runtime/kernels/kernel_test_support.h"
#include "runtime/kernels/linear_algebra/tiled_product.h"

namespace wick::test::matmul_test {
namespace {

std::vector<double> random_values(std::mt19937& rng, size_t count) {
  std::vector<double> v(count);
  for (double& e : v) e = (static_cast<double>(rng() % 2001) - 1000) / 1000;
  return v;
}

size_t volume(int a, int b, int c) { return static_cast<size_t>(a) * static_cast<size_t>(b) * static_cast<size_t>(c); }

std::vector<double> reference(const std::vector<double>& a, const std::vector<double>& b, int batch, int rows,
                              int columns, int depth) {
  const auto m = static_cast<size_t>(rows), n = static_cast<size_t>(columns), k = static_cast<size_t>(depth);
  std::vector<double> c(volume(batch, rows, columns));
  for (size_t x = 0; x < static_cast<size_t>(batch); ++x)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t l = 0; l < k; ++l) c[(x * m + i) * n + j] += a[(x * m + i) * k + l] * b[(x * k + l) * n + j];
  return c;
}

TEST(MatrixProduct, EverySizeLayoutAndLevelFollowsTheDefinition) {
  std::mt19937 rng(1);
  std::vector<uint8_t> temp(4u << 20);
  for (int i = 0; i < 300; ++i) {
    const int large = i % 10 == 0 ? 300 : 40;
    const int batch = 1 + static_cast<int>(rng() % 3), m = static_cast<int>(rng() % 4 ? rng() % large : rng() % 4) + 1;
    const int n = static_cast<int>(rng() % 4 ? rng() % large : rng() % 4) + 1,
              k = static_cast<int>(rng() % (large + 20));
    const auto a = random_values(rng, volume(batch, m, k)), b = random_values(rng, volume(batch, k, n));
    const auto order = [&] { return rng() % 2 ? std::vector<uint8_t>{0, 1, 2} : std::vector<uint8_t>{0, 2, 1}; };
    TestTensor x = make(DType::f32, {batch, m, k}, a, order()), y = make(DType::f32, {batch, k, n}, b, order());
    TestTensor out = make_out(DType::f32, {batch, m, n}, order());
    SplitParallelism split;
    const IsaLevel levels[] = {IsaLevel::baseline, IsaLevel::avx2, IsaLevel::avx512};
    KernelContext context(Span<uint8_t>(temp.data(), temp.size()), nullptr, i % 2 ? &split : nullptr,
                          std::min(levels[i % 3], detect_isa_level()));
    ASSERT_EQ(call_detailed("aten::bmm.out", {x, y, out}, context), Error::Ok) << context.message();
    ASSERT_TRUE(near(out, reference(a, b, batch, m, n, k), 1e-5, 2e-5))
        << batch << " x " << m << " x " << n << " x " << k;
  }
}

TEST(MatrixProduct, BaselineGivesTheSameBitsForAnySplit) {
  std::mt19937 rng(2);
  TestTensor x = make(DType::f32, {70, 600}, random_values(rng, 70 * 600)),
             y = make(DType::f32, {600, 90}, random_values(rng, 600 * 90));
  TestTensor whole = make_out(DType::f32, {70, 90}), split = make_out(DType::f32, {70, 90});
  ASSERT_EQ(call("aten::mm.out", {x, y, whole}), Error::Ok);
  ASSERT_EQ(call_split("aten::mm.out", {x, y, split}), Error::Ok);
  EXPECT_EQ(whole.bytes(), split.bytes());
}

TEST(MatrixProduct, BetaZeroIgnoresSelf) {
  TestTensor self = make(DType::f32, {2}, {NAN, INFINITY}), a = make(DType::f32, {2, 2}, {1, 2, 3, 4}),
             out = make_out(DType::f32, {2, 2});
  ASSERT_EQ(call("aten::addmm.out", {self, a, a, 0, 1, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {7, 10, 15, 22}));
  ASSERT_EQ(call("aten::addmm.out", {self, a, a, 2.0, 0.5, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {NAN, INFINITY, NAN, INFINITY}));
}

TEST(MatrixProduct, SelfBroadcastsAndScales) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i8}) {
    TestTensor a = make(dtype, {2, 3}, {1, 2, 3, 4, 5, 6}), b = make(dtype, {3, 2}, {1, 0, 2, 1, 0, 1}),
               out = make_out(dtype, {2, 2});
    ASSERT_EQ(call("aten::addmm.out", {make(dtype, {2, 1}, {1, 10}), a, b, 3, 2, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {13, 13, 58, 52})) << dtype_name(dtype);
    ASSERT_EQ(call("aten::addmm.out", {make(dtype, {}, {1}), a, b, 1, 1, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {6, 6, 15, 12})) << dtype_name(dtype);
  }
}

TEST(MatrixProduct, IntegersWrap) {
  TestTensor a = make(DType::i8, {1, 2}, {100, 100}), b = make(DType::i8, {2, 1}, {2, 1}),
             out = make_out(DType::i8, {1, 1});
  ASSERT_EQ(call("aten::mm.out", {a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {44}));
}

// Tiles of every size and remainder, with and without temp memory for them.
TEST(MatrixProduct, OtherTypesFollowTheDefinitionForEverySizeAndLevel) {
  const int32_t sizes[][3] = {{1, 5, 3}, {2, 1, 4}, {3, 7, 1}, {4, 8, 16}, {5, 17, 33}, {9, 3, 65}, {8, 64, 32}};
  for (const DType dtype : {DType::f64, DType::i64, DType::i32, DType::i8, DType::u8})
    for (const IsaLevel isa : kIsaLevels) {
      if (isa > detect_isa_level()) continue;
      for (const auto& [m, k, n] : sizes)
        for (const size_t room : {size_t{0}, size_t{1} << 16})
          for (const bool turned : {false, true}) {
            const size_t batch = 2, rows = static_cast<size_t>(m), depth = static_cast<size_t>(k),
                         columns = static_cast<size_t>(n);
            std::vector<double> x(batch * rows * depth), y(batch * depth * columns), wanted(batch * rows * columns);
            for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7 % 5);
            for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i * 5 % 3);
            for (size_t i = 0; i < wanted.size(); ++i) {
              const size_t row = i / columns, column = i % columns, index = row / rows;
              for (size_t j = 0; j < depth; ++j)
                wanted[i] += x[row * depth + j] * y[(index * depth + j) * columns + column];
              if (dtype == DType::i8) wanted[i] = static_cast<int8_t>(static_cast<int64_t>(wanted[i]));
              if (dtype == DType::u8) wanted[i] = static_cast<uint8_t>(static_cast<int64_t>(wanted[i]));
            }
            const std::vector<uint8_t> order = turned ? std::vector<uint8_t>{0, 2, 1} : std::vector<uint8_t>{};
            TestTensor a = make(dtype, {2, m, k}, x, order), b = make(dtype, {2, k, n}, y, order);
            TestTensor out = make_out(dtype, {2, m, n});
            std::vector<uint8_t> memory(room);
            KernelContext context({memory.data(), memory.size()}, nullptr, nullptr, isa);
            ASSERT_EQ(call_detailed("aten::bmm.out", {a, b, out}, context), Error::Ok);
            EXPECT_TRUE(equals(out, wanted)) << m << " " << k << " " << n;
          }
    }
}

// The same bits with no memory, and with memory for a row of tiles, for fewer tasks than threads and for everything.
TEST(MatrixProduct, OtherTypesGiveTheSameBitsForAnyThreadsAndMemory) {
  std::mt19937 rng(5);
  const int32_t sizes[][4] = {{1, 9, 700, 35}, {3, 2, 41, 3}, {40, 5, 6, 7}, {1, 130, 300, 2}, {2, 4, 1, 90}};
  for (const DType dtype : {DType::f64, DType::c64, DType::c128, DType::i64, DType::i32, DType::i8})
    for (const IsaLevel isa : {IsaLevel::baseline, detect_isa_level()})
      for (const auto& [batch, m, k, n] : sizes) {
        const auto operand = [&](int32_t rows, int32_t columns) {
          const size_t count = volume(batch, rows, columns);
          auto re = random_values(rng, count), im = random_values(rng, count);
          if (!is_complex(dtype)) {
            for (double& number : re) number = is_floating(dtype) ? number : trunc(number * 100);
            return make(dtype, {batch, rows, columns}, re);
          }
          std::vector<std::complex<double>> numbers;
          for (size_t i = 0; i < count; ++i) numbers.emplace_back(re[i], im[i]);
          return make_complex(dtype, {batch, rows, columns}, numbers);
        };
        TestTensor a = operand(m, k), b = operand(k, n);
        std::vector<uint8_t> wanted;
        SplitParallelism split;
        std::vector<uint8_t> memory(4 << 20);
        for (size_t room = memory.size(); room > 256; room = room * 3 / 5)
          for (Parallelism* threads : {static_cast<Parallelism*>(nullptr), static_cast<Parallelism*>(&split)}) {
            TestTensor out = make_out(dtype, {batch, m, n});
            KernelContext context({memory.data(), room}, nullptr, threads, isa);
            ASSERT_EQ(call_detailed("aten::bmm.out", {a, b, out}, context), Error::Ok) << context.message();
            if (wanted.empty()) wanted = out.bytes();
            ASSERT_EQ(out.bytes(), wanted)
                << dtype_name(dtype) << " " << batch << " of " << m << " " << k << " " << n << ", room " << room;
            if (room == memory.size()) continue;
            KernelContext exact({memory.data(), context.temp_peak_bytes()}, nullptr, threads, isa);
            ASSERT_EQ(call_detailed("aten::bmm.out", {a, b, out}, exact), Error::Ok);
            EXPECT_EQ(exact.temp_peak_bytes(), context.temp_peak_bytes());
          }
      }
}

// A round has a tile for each task, whichever is large: rows, columns or batch.
TEST(MatrixProduct, TasksOfOtherTypesSplitWhatThereIs) {
  constexpr int64_t kThreads = 4, kWidth = 8, kDepth = 256, kMuch = 1 << 20;
  const int64_t shapes[][3] = {{1, 400, 1}, {1, 1, 400}, {400, 1, 1}, {30, 3, 5}};  // batch, tiles, panels
  for (const auto& [batch, tiles, panels] : shapes) {
    const TiledRounds large = plan_tiled_rounds(kThreads, batch, tiles, panels, kDepth, kWidth, kMuch);
    EXPECT_EQ(large.tasks, kThreads);
    EXPECT_GE(large.indices * large.tiles * panels, kThreads);
    EXPECT_EQ(plan_tiled_rounds(kThreads, batch, tiles, panels, 1, kWidth, kMuch).tasks, 1);
    const int64_t least = kWidth + kProductRows;  // lines of a panel and a tile
    EXPECT_EQ(plan_tiled_rounds(kThreads, batch, tiles, panels, kDepth, kWidth, least).tasks, 1);
    EXPECT_EQ(plan_tiled_rounds(kThreads, batch, tiles, panels, kDepth, kWidth, least).tiles, 1);
    EXPECT_EQ(plan_tiled_rounds(kThreads, batch, tiles, panels, kDepth, kWidth, least - 1).tiles, 0);
  }
}

TEST(MatrixProduct, ComplexNumbersMultiply) {
  TestTensor a = make_complex(DType::c64, {1, 2}, {{1, 2}, {0, 1}}),
             b = make_complex(DType::c64, {2, 1}, {{3, -1}, {2, 2}});
  TestTensor out = make_out(DType::c64, {1, 1});
  ASSERT_EQ(call("aten::mm.out", {a, b, out}), Error::Ok);
  EXPECT_EQ(complex_values(out)[0], std::complex<double>(3, 7));
}

TEST(MatrixProduct, ComplexNumbersFollowTheDefinitionForEverySizeAndLevel) {
  const int32_t sizes[][3] = {{1, 3, 2}, {2, 1, 1}, {4, 8, 4}, {5, 7, 9}, {3, 20, 17}};
  for (const DType dtype : {DType::c64, DType::c128})
    for (const IsaLevel isa : kIsaLevels) {
      if (isa > detect_isa_level()) continue;
      for (const auto& [m, k, n] : sizes)
        for (const size_t room : {size_t{0}, size_t{1} << 16}) {
          const size_t rows = static_cast<size_t>(m), depth = static_cast<size_t>(k), columns = static_cast<size_t>(n);
          std::vector<std::complex<double>> x, y, wanted(rows * columns);
          for (size_t i = 0; i < rows * depth; ++i)
            x.emplace_back(static_cast<double>(i % 5), static_cast<double>(i % 3) - 1);
          for (size_t i = 0; i < depth * columns; ++i)
            y.emplace_back(static_cast<double>(i % 4) - 2, static_cast<double>(i % 7));
          for (size_t i = 0; i < wanted.size(); ++i)
            for (size_t j = 0; j < depth; ++j) wanted[i] += x[i / columns * depth + j] * y[j * columns + i % columns];
          TestTensor a = make_complex(dtype, {m, k}, x), b = make_complex(dtype, {k, n}, y),
                     out = make_out(dtype, {m, n});
          std::vector<uint8_t> memory(room);
          KernelContext context({memory.data(), memory.size()}, nullptr, nullptr, isa);
          ASSERT_EQ(call_detailed("aten::mm.out", {a, b, out}, context), Error::Ok);
          EXPECT_EQ(complex_values(out), wanted) << m << " " << k << " " << n;
        }
    }
}

// 2^24 + 1 is no float: sums in float would lose the ones.
TEST(MatrixProduct, ComplexNumbersAreSummedInDoubleInEveryForm) {
  const std::complex<double> large(1 << 24, -(1 << 24));
  for (const int32_t m : {1, 2})
    for (const double alpha : {1.0, 2.0})
      for (const double beta : {0.0, 1.0}) {
        const size_t rows = static_cast<size_t>(m);
        std::vector<std::complex<double>> x;
        for (size_t r = 0; r < rows; ++r) x.insert(x.end(), {large, 1, 1, -large});
        TestTensor a = make_complex(DType::c64, {m, 4}, x), b = make_complex(DType::c64, {4, 1}, {1, 1, 1, 1});
        TestTensor self = make_complex(DType::c64, {1}, {{3, 4}}), out = make_out(DType::c64, {m, 1});
        ASSERT_EQ(call("aten::addmm.out", {self, a, b, beta, alpha, out}), Error::Ok);
        const std::complex<double> wanted = alpha * 2.0 + beta * std::complex<double>(3, 4);
        EXPECT_EQ(complex_values(out), std::vector<std::complex<double>>(rows, wanted)) << m << alpha << beta;
      }
}

TEST(MatrixProduct, EmptyInnerDimensionGivesBetaSelf) {
  TestTensor a = make(DType::f32, {2, 0}, {}), b = make(DType::f32, {0, 3}, {}), out = make_out(DType::f32, {2, 3});
  ASSERT_EQ(call("aten::addmm.out", {make(DType::f32, {3}, {1, 2, 3}), a, b, 2, 1, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {2, 4, 6, 2, 4, 6}));
  ASSERT_EQ(call("aten::mm.out", {a, b, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 0, 0, 0, 0, 0}));
}

TEST(MatrixProduct, MisfitsAreRefused) {
  TestTensor a = make(DType::f32, {2, 3}, {1}), b = make(DType::f32, {2, 3}, {1}), out = make_out(DType::f32, {2, 3});
  EXPECT_EQ(call("aten::mm.out", {a, b, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::bmm.out", {a, b, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::mm.out", {a, make(DType::f64, {3, 3}, {1}), out}), Error::InvalidType);
  EXPECT_EQ(call("aten::addmm.out", {make(DType::f32, {4}, {1}), a, make(DType::f32, {3, 3}, {1}), 1, 1, out}),
            Error::InvalidArgument);
}

TEST(Linear, LeadingDimensionsStay) {
  std::mt19937 rng(3);
  for (int rows : {1, 2, 5, 64}) {
    const auto x = random_values(rng, volume(2, rows, 50)), w = random_values(rng, 70 * 50), b = random_values(rng, 70);
    std::vector<double> transposed(70 * 50);
    for (size_t i = 0; i < 70; ++i)
      for (size_t j = 0; j < 50; ++j) transposed[j * 70 + i] = w[i * 50 + j];
    std::vector<double> expected = reference(x, transposed, 1, 2 * rows, 70, 50);
    TestTensor out = make_out(DType::f32, {2, rows, 70});
    TestTensor in = make(DType::f32, {2, rows, 50}, x), weight = make(DType::f32, {70, 50}, w);
    ASSERT_EQ(call("aten::linear.out", {in, weight, nullptr, out}), Error::Ok);
    EXPECT_TRUE(near(out, expected, 1e-5, 1e-5));
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += b[i % 70];
    ASSERT_EQ(call("aten::linear.out", {in, weight, make(DType::f32, {70}, b), out}), Error::Ok);
    EXPECT_TRUE(near(out, expected, 1e-5, 1e-5));
  }
}

// A program may name one value twice. Its sizes would change while the kernel runs.
TEST(Linear, AnOutputThatIsAnOperandIsRefused) {
  const TestTensor wide = make(DType::f32, {2, 8}, std::vector<double>(16, 1)), weight = make(DType::f32, {8, 2}, {1});
  TestTensor t = make_dynamic(DType::f32, {2, 8});
  const int32_t few[] = {2, 2};
  ASSERT_EQ(resize(t.tensor, {few, 2}), Error::Ok);
  EXPECT_EQ(call("aten::mm.out", {t, wide, t}), Error::InvalidProgram);
  EXPECT_EQ(call("aten::linear.out", {t, weight, nullptr, t}), Error::InvalidProgram);
  EXPECT_EQ(t.tensor.sizes[1], 2);
  EXPECT_TRUE(t.guards_intact());
}

}  // namespace
}  // namespace wick::test::matmul_test
