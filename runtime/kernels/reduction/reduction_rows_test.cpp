// Reductions and scans over inner, middle and outer dimensions against plain loops.
#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

constexpr int kSizes[3] = {75, 3, 70};

size_t position(int a, int b, int c) {
  return (static_cast<size_t>(a) * 3 + static_cast<size_t>(b)) * 70 + static_cast<size_t>(c);
}

/// The elements along `dim` for every other index, in order.
std::vector<std::vector<double>> lines(const std::vector<double>& x, int dim) {
  std::vector<std::vector<double>> all;
  for (int a = 0; a < (dim == 0 ? 1 : kSizes[0]); ++a)
    for (int b = 0; b < (dim == 1 ? 1 : kSizes[1]); ++b)
      for (int c = 0; c < (dim == 2 ? 1 : kSizes[2]); ++c) {
        std::vector<double> line;
        for (int i = 0; i < kSizes[dim]; ++i)
          line.push_back(x[position(dim == 0 ? i : a, dim == 1 ? i : b, dim == 2 ? i : c)]);
        all.push_back(line);
      }
  return all;
}

std::vector<int32_t> without(int dim) {
  std::vector<int32_t> sizes;
  for (int d = 0; d < 3; ++d)
    if (d != dim) sizes.push_back(kSizes[d]);
  return sizes;
}

std::vector<double> random_numbers(std::mt19937& rng, bool whole) {
  std::vector<double> x(75 * 3 * 70);
  for (double& v : x) v = whole ? static_cast<int>(rng() % 19) - 9 : (static_cast<int>(rng() % 2001) - 1000) / 512.0;
  return x;
}

using Fold = double (*)(const std::vector<double>&);
void expect_reduced(const char* name, const TestTensor& in, const std::vector<double>& x, DType out_dtype, Fold fold,
                    std::vector<Arg> (*arguments)(const TestTensor&, int, TestTensor&), double tolerance) {
  for (int dim = 0; dim < 3; ++dim) {
    std::vector<double> wanted;
    for (const auto& line : lines(x, dim)) wanted.push_back(fold(line));
    TestTensor out = make_out(out_dtype, without(dim));
    ASSERT_EQ(call(name, arguments(in, dim, out)), Error::Ok);
    EXPECT_TRUE(near(out, wanted, tolerance, tolerance)) << name << " dim " << dim;
    TestTensor split = make_out(out_dtype, without(dim));
    ASSERT_EQ(call_split(name, arguments(in, dim, split)), Error::Ok);
    EXPECT_EQ(out.bytes(), split.bytes()) << name << " dim " << dim;
  }
}

double sum_of(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}
bool better(double x, double best) { return x > best || (x != x && best == best); }
double index_of_max(const std::vector<double>& x) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i)
    if (better(x[i], x[best])) best = i;
  return static_cast<double>(best);
}
double max_of(const std::vector<double>& x) { return x[static_cast<size_t>(index_of_max(x))]; }
double variance_of(const std::vector<double>& x) {
  const double mean = sum_of(x) / static_cast<double>(x.size());
  double squares = 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(x.size() - 1);
}
double norm_of(const std::vector<double>& x) {
  double squares = 0;
  for (double v : x) squares += v * v;
  return sqrt(squares);
}
double any_of(const std::vector<double>& x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return v != 0; });
}
double all_of(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return v != 0; });
}
double product_of(const std::vector<double>& x) {
  double product = 1;
  for (double v : x) product *= v;
  return product;
}

std::vector<Arg> list_arguments(const TestTensor& in, int dim, TestTensor& out) {
  return {in, int_list({dim}), false, nullptr, out};
}
std::vector<Arg> extreme_arguments(const TestTensor& in, int dim, TestTensor& out) {
  return {in, int_list({dim}), false, out};
}
std::vector<Arg> one_dim_arguments(const TestTensor& in, int dim, TestTensor& out) { return {in, dim, false, out}; }
std::vector<Arg> product_arguments(const TestTensor& in, int dim, TestTensor& out) {
  return {in, dim, false, nullptr, out};
}
std::vector<Arg> variance_arguments(const TestTensor& in, int dim, TestTensor& out) {
  return {in, int_list({dim}), nullptr, false, out};
}
std::vector<Arg> norm_arguments(const TestTensor& in, int dim, TestTensor& out) {
  return {in, 2, int_list({dim}), false, nullptr, out};
}

TEST(ReductionOverAnyDimension, MatchesPlainLoopsInEveryDtype) {
  std::mt19937 rng(5);
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i8}) {
    const bool floating = is_floating(dtype);
    const std::vector<double> x = random_numbers(rng, true);
    const TestTensor in = make(dtype, {75, 3, 70}, x);
    const double tolerance = dtype == DType::bf16 ? 1e-2 : dtype == DType::f16 ? 2e-3 : 1e-5;
    expect_reduced("aten::sum.IntList_out", in, x, floating ? dtype : DType::i64, sum_of, list_arguments, tolerance);
    expect_reduced("aten::amax.out", in, x, dtype, max_of, extreme_arguments, 0);
    expect_reduced("aten::argmax.out", in, x, DType::i64, index_of_max, one_dim_arguments, 0);
    expect_reduced("aten::any.out", in, x, DType::boolean, any_of, one_dim_arguments, 0);
    expect_reduced("aten::all.out", in, x, DType::boolean, all_of, one_dim_arguments, 0);
    if (!floating) continue;
    expect_reduced("aten::var.correction_out", in, x, dtype, variance_of, variance_arguments, tolerance);
    expect_reduced("aten::linalg_vector_norm.out", in, x, dtype, norm_of, norm_arguments, tolerance);
  }
}

TEST(ReductionOverAnyDimension, FindsTheFirstNan) {
  std::mt19937 rng(6);
  std::vector<double> x = random_numbers(rng, false);
  for (size_t i = 0; i < x.size(); i += 97) x[i] = NAN;
  for (DType dtype : {DType::f32, DType::f64}) {
    const TestTensor in = make(dtype, {75, 3, 70}, x);
    expect_reduced("aten::amax.out", in, x, dtype, max_of, extreme_arguments, 0);
    expect_reduced("aten::argmax.out", in, x, DType::i64, index_of_max, one_dim_arguments, 0);
  }
}

TEST(ReductionOverAnyDimension, MultipliesSigns) {
  std::mt19937 rng(8);
  std::vector<double> x(75 * 3 * 70);
  for (double& v : x) v = rng() % 2 ? 1 : -1;
  for (DType dtype : {DType::f32, DType::f64, DType::i64}) {
    const TestTensor in = make(dtype, {75, 3, 70}, x);
    expect_reduced("aten::prod.int_out", in, x, dtype, product_of, product_arguments, 0);
  }
}

TEST(ScanAlongAnyDimension, MatchesPlainLoopsInAnyLayout) {
  std::mt19937 rng(9);
  const std::vector<double> x = random_numbers(rng, false);
  const std::vector<std::vector<uint8_t>> orders = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
  for (DType dtype : {DType::f32, DType::f16, DType::f64}) {
    for (int dim = 0; dim < 3; ++dim) {
      std::vector<double> wanted = x;
      for (int a = 0; a < 75; ++a)
        for (int b = 0; b < 3; ++b)
          for (int c = 0; c < 70; ++c) {
            const int before[3] = {a - (dim == 0), b - (dim == 1), c - (dim == 2)};
            if (before[dim] >= 0) wanted[position(a, b, c)] += wanted[position(before[0], before[1], before[2])];
          }
      for (const auto& in_order : orders) {
        for (const auto& out_order : orders) {
          const TestTensor in = make(dtype, {75, 3, 70}, x, in_order);
          TestTensor out = make_out(dtype, {75, 3, 70}, out_order);
          ASSERT_EQ(call_split("aten::cumsum.out", {in, dim, nullptr, out}), Error::Ok);
          EXPECT_TRUE(near(out, wanted, dtype == DType::f16 ? 1e-3 : 1e-6, dtype == DType::f16 ? 1e-3 : 1e-5)) << dim;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wick::test
