#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::fft_test {
namespace {

using Line = std::vector<std::complex<double>>;

Line by_definition(const Line& x, double sign) {
  const size_t n = x.size();
  Line roots(n), out(n);
  for (size_t k = 0; k < n; ++k)
    roots[k] = std::polar(1.0, sign * 2 * M_PI * static_cast<double>(k) / static_cast<double>(n));
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j) out[k] += x[j] * roots[j * k % n];
  return out;
}

// Lengths of one pass of every radix, of several passes, and that no radix divides; numbers of lines that fill lanes or
// not.
TEST(Fourier, FollowsTheDefinitionForEveryLengthAndNumberOfLines) {
  std::vector<size_t> lengths = {48, 60, 64, 74, 81, 121, 125, 128, 206, 256, 400};
  for (size_t n = 1; n <= 41; ++n) lengths.push_back(n);
  for (const IsaLevel isa : {IsaLevel::baseline, detect_isa_level()})
    for (const size_t n : lengths)
      for (const size_t lines : {1, 3, 8, 9}) {
        if (n > 64 && lines != 9) continue;
        std::vector<std::complex<double>> numbers, wanted;
        for (size_t l = 0; l < lines; ++l) {
          Line line;
          for (size_t k = 0; k < n; ++k)
            line.emplace_back(static_cast<double>((k * 37 + l * 11) % 23) - 11,
                              static_cast<double>((k * 17 + l * 5) % 19) - 9);
          numbers.insert(numbers.end(), line.begin(), line.end());
          line = by_definition(line, -1);
          wanted.insert(wanted.end(), line.begin(), line.end());
        }
        const std::vector<int32_t> sizes = {static_cast<int32_t>(lines), static_cast<int32_t>(n)};
        TestTensor x = make_complex(DType::c128, sizes, numbers), out = make_out(DType::c128, sizes);
        TestTensor back = make_out(DType::c128, sizes);
        std::vector<uint8_t> memory(1 << 20);
        for (const bool forward : {true, false}) {
          KernelContext context({memory.data(), memory.size()}, nullptr, nullptr, isa);
          const TestTensor &from = forward ? x : out, &to = forward ? out : back;
          ASSERT_EQ(call_detailed("aten::_fft_c2c.out", {from, int_list({1}), forward ? 0 : 2, forward, to}, context),
                    Error::Ok);
          const auto found = complex_values(to);
          for (size_t i = 0; i < found.size(); ++i)
            ASSERT_LT(std::abs(found[i] - (forward ? wanted : numbers)[i]), 2e-13 * static_cast<double>(n) * 14)
                << "length " << n << " of " << lines << " lines, forward " << forward;
        }
      }
}

TEST(Fourier, RealLinesFollowTheDefinitionThereAndBack) {
  for (const size_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 22, 37, 50, 74, 96, 131, 262})
    for (const bool onesided : {true, false}) {
      constexpr size_t kLines = 9;
      const size_t bins = onesided ? n / 2 + 1 : n;
      std::vector<double> numbers;
      std::vector<std::complex<double>> wanted;
      for (size_t l = 0; l < kLines; ++l) {
        Line line;
        for (size_t k = 0; k < n; ++k) line.emplace_back(static_cast<double>((k * 37 + l * 11) % 23) - 11);
        for (const auto& number : line) numbers.push_back(number.real());
        line = by_definition(line, -1);
        wanted.insert(wanted.end(), line.begin(), line.begin() + static_cast<std::ptrdiff_t>(bins));
      }
      const int32_t length = static_cast<int32_t>(n), half = static_cast<int32_t>(bins);
      TestTensor x = make(DType::f64, {kLines, length}, numbers), out = make_out(DType::c128, {kLines, half});
      ASSERT_EQ(call("aten::_fft_r2c.out", {x, int_list({1}), 0, onesided, out}), Error::Ok);
      const auto found = complex_values(out);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_LT(std::abs(found[i] - wanted[i]), 2e-13 * static_cast<double>(n) * 11) << "length " << n;
      if (!onesided) continue;
      TestTensor back = make_out(DType::f64, {kLines, length});
      ASSERT_EQ(call("aten::_fft_c2r.out", {out, int_list({1}), 2, static_cast<int64_t>(n), back}), Error::Ok);
      EXPECT_TRUE(near(back, numbers, 0, 1e-12)) << "length " << n;
    }
}

TEST(Fourier, ALineDoesNotChangeItsNeighbours) {
  for (const int32_t n : {8, 15, 37}) {
    std::vector<double> x(static_cast<size_t>(3 * n), 1.0);
    x[static_cast<size_t>(n) + 2] = NAN;
    TestTensor in = make(DType::f32, {3, n}, x), out = make_out(DType::c64, {3, n / 2 + 1});
    ASSERT_EQ(call("aten::_fft_r2c.out", {in, int_list({1}), 0, true, out}), Error::Ok);
    const auto found = complex_values(out);
    const size_t bins = static_cast<size_t>(n) / 2 + 1;
    for (size_t k = 0; k < bins; ++k) {
      EXPECT_FALSE(isnan(found[k].real())) << n;
      EXPECT_TRUE(isnan(found[bins + k].real()) || isnan(found[bins + k].imag())) << n;
      EXPECT_FALSE(isnan(found[2 * bins + k].real())) << n;
    }
  }
}

// A factor of 0 keeps a number that is not finite out of a sum.
double part(double factor, double number) { return fabs(factor) < 1e-9 ? 0 : factor * number; }

bool agree(double found, double wanted) {
  return std::isfinite(wanted) ? fabs(found - wanted) < 1e-12 : same_number(found, wanted);
}

TEST(Fourier, InfinitiesInShortRealLinesStayInTheirSums) {
  for (const size_t n : {2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 16})
    for (const double number : {double{INFINITY}, -double{INFINITY}, double{NAN}})
      for (size_t place = 0; place < n; ++place) {
        std::vector<double> x(n, 1);
        x[place] = number;
        TestTensor in = make(DType::f64, {1, static_cast<int32_t>(n)}, x);
        TestTensor out = make_out(DType::c128, {1, static_cast<int32_t>(n / 2 + 1)});
        ASSERT_EQ(call("aten::_fft_r2c.out", {in, int_list({1}), 0, true, out}), Error::Ok);
        const auto found = complex_values(out);
        for (size_t k = 0; k <= n / 2; ++k) {
          double re = 0, im = 0;
          for (size_t j = 0; j < n; ++j) {
            const double angle = -2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
            re += part(cos(angle), x[j]);
            im += part(sin(angle), x[j]);
          }
          EXPECT_TRUE(agree(found[k].real(), re)) << n << " " << place << " " << number << " at " << k;
          EXPECT_TRUE(agree(found[k].imag(), im)) << n << " " << place << " " << number << " at " << k;
        }
      }
}

// These lengths have factors without a butterfly of their own.
TEST(Fourier, TheFirstSumOfALineMultipliesNothing) {
  for (const int32_t n : {7, 11, 14, 26})
    for (int32_t place = 0; place < n; ++place) {
      std::vector<double> x(static_cast<size_t>(n), 1);
      x[static_cast<size_t>(place)] = INFINITY;
      TestTensor in = make(DType::f64, {1, n}, x), out = make_out(DType::c128, {1, n / 2 + 1});
      ASSERT_EQ(call("aten::_fft_r2c.out", {in, int_list({1}), 0, true, out}), Error::Ok);
      EXPECT_EQ(complex_values(out)[0], std::complex<double>(INFINITY, 0)) << n << " " << place;
    }
}

// Lines side by side: with an infinity in either part at each place, and one line without.
TEST(Fourier, InfinitiesInShortComplexLinesStayInTheirSums) {
  for (const size_t n : {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14})
    for (const bool forward : {true, false})
      for (const double number : {double{INFINITY}, -double{INFINITY}, double{NAN}}) {
        const size_t lines = 2 * n + 1;
        std::vector<std::complex<double>> x;
        for (size_t i = 0; i < lines * n; ++i) {
          const std::complex<double> plain(1 + 0.125 * static_cast<double>(i % 7), 0.5);
          const bool is_place = i / n < 2 * n && i % n == i / n / 2;
          const bool is_real = i / n % 2 == 0;
          x.emplace_back(is_place && is_real ? number : plain.real(), is_place && !is_real ? number : plain.imag());
        }
        const std::vector<int32_t> sizes = {static_cast<int32_t>(lines), static_cast<int32_t>(n)};
        TestTensor in = make_complex(DType::c128, sizes, x), out = make_out(DType::c128, sizes);
        ASSERT_EQ(call("aten::_fft_c2c.out", {in, int_list({1}), 0, forward, out}), Error::Ok);
        const auto found = complex_values(out);
        for (size_t i = 0; i < lines * n; ++i) {
          double re = 0, im = 0;
          for (size_t j = 0; j < n; ++j) {
            const double angle =
                (forward ? -2 : 2) * M_PI * static_cast<double>(j * (i % n) % n) / static_cast<double>(n);
            const std::complex<double> each = x[i / n * n + j];
            re += part(cos(angle), each.real()) - part(sin(angle), each.imag());
            im += part(cos(angle), each.imag()) + part(sin(angle), each.real());
          }
          EXPECT_TRUE(agree(found[i].real(), re)) << n << " " << number << " at " << i << ": " << found[i] << re;
          EXPECT_TRUE(agree(found[i].imag(), im)) << n << " " << number << " at " << i << ": " << found[i] << im;
        }
      }
}

TEST(Fourier, InfinitiesInShortSpectraStayInTheirSums) {
  for (const size_t n : {2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 16})
    for (const double number : {double{INFINITY}, double{NAN}})
      for (size_t place = 0; place <= n / 2; ++place) {
        std::vector<std::complex<double>> x(n / 2 + 1);
        x[place] = number;
        std::vector<double> wanted(n);
        for (size_t j = 0; j < n; ++j)
          wanted[j] = part(cos(2 * M_PI * static_cast<double>(j * place % n) / static_cast<double>(n)), number);
        TestTensor in = make_complex(DType::c128, {1, static_cast<int32_t>(n / 2 + 1)}, x);
        TestTensor out = make_out(DType::f64, {1, static_cast<int32_t>(n)});
        ASSERT_EQ(call("aten::_fft_c2r.out", {in, int_list({1}), 2, static_cast<int64_t>(n), out}), Error::Ok);
        const auto found = values(out);
        for (size_t j = 0; j < n; ++j)
          EXPECT_TRUE(agree(found[j], wanted[j])) << n << " " << place << " " << number << " at " << j;
      }
}

// A package has as much memory as was measured, which suffices for the same work.
TEST(Fourier, TakesAsMuchAgainOfTheMemoryThatItTook) {
  std::vector<uint8_t> memory(1 << 20);
  for (const int32_t n : {16, 60, 74}) {
    TestTensor in = make(DType::f32, {9, n}, std::vector<double>(static_cast<size_t>(9 * n), 1.0));
    TestTensor out = make_out(DType::c64, {9, n / 2 + 1});
    size_t room = memory.size();
    for (int turn = 0; turn < 2; ++turn) {
      KernelContext context({memory.data(), room}, nullptr, nullptr);
      ASSERT_EQ(call_detailed("aten::_fft_r2c.out", {in, int_list({1}), 0, true, out}, context), Error::Ok);
      EXPECT_TRUE(turn == 0 || context.temp_peak_bytes() == room) << n;
      room = context.temp_peak_bytes();
    }
  }
}

// With memory for one line at a time only.
TEST(Fourier, NeedsNoMoreMemoryThanOneLineDoes) {
  std::vector<double> x(16 * 64, 1.0);
  TestTensor in = make(DType::f32, {16, 64}, x), out = make_out(DType::c64, {16, 33});
  alignas(64) static uint8_t memory[6 * 64 * sizeof(double) + 1024];
  KernelContext context({memory, sizeof memory}, nullptr, nullptr);
  ASSERT_EQ(call_detailed("aten::_fft_r2c.out", {in, int_list({1}), 0, true, out}, context), Error::Ok);
  EXPECT_EQ(complex_values(out)[33 * 15], std::complex<double>(64, 0));
}

}  // namespace
}  // namespace wick::test::fft_test
