#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::convolution_test {
namespace {

/// A convolution over three spatial dimensions with logical (row-major) operands.
struct Case {
  int dims = 2;
  int64_t batch = 1, groups = 1, in_channels = 1, out_channels = 1;  // channels of one group
  bool transposed = false, bias = false;
  int64_t input[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {}, dilation[3] = {1, 1, 1};
  int64_t extra[3] = {};
  int64_t output[3] = {};

  bool shape_output() {
    for (int d = 0; d < 3; ++d) {
      const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
      const int64_t room = input[d] + 2 * padding[d] - reach;
      output[d] = transposed ? (input[d] - 1) * stride[d] - 2 * padding[d] + reach + extra[d] : room / stride[d] + 1;
      if (output[d] < 1 || (!transposed && room < 0)) return false;
    }
    return true;
  }
  std::vector<int32_t> sizes(int64_t first, int64_t second, const int64_t* spatial) const {
    std::vector<int32_t> result = {static_cast<int32_t>(first), static_cast<int32_t>(second)};
    for (int d = 3 - dims; d < 3; ++d) result.push_back(static_cast<int32_t>(spatial[d]));
    return result;
  }
  std::vector<int64_t> list(const int64_t* values) const { return {values + 3 - dims, values + 3}; }
};

/// The definition, output by output (ordinary) or input by input (transposed), in double.
std::vector<double> reference(const Case& c, const std::vector<double>& x, const std::vector<double>& w,
                              const std::vector<double>& b) {
  const int64_t channels = c.groups * c.out_channels, taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  const int64_t in_size = c.input[0] * c.input[1] * c.input[2], out_size = c.output[0] * c.output[1] * c.output[2];
  std::vector<double> y(static_cast<size_t>(c.batch * channels * out_size));
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < channels; ++o)
      for (int64_t i = 0; i < c.in_channels; ++i)
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t g = o / c.out_channels, ic = g * c.in_channels + i;
          const double weight = c.transposed
                                    ? w[static_cast<size_t>((ic * c.out_channels + o % c.out_channels) * taps + t)]
                                    : w[static_cast<size_t>((o * c.in_channels + i) * taps + t)];
          const int64_t tap[3] = {t / c.kernel[2] / c.kernel[1], t / c.kernel[2] % c.kernel[1], t % c.kernel[2]};
          const int64_t* from_sizes = c.transposed ? c.input : c.output;
          const int64_t* to_sizes = c.transposed ? c.output : c.input;
          for (int64_t p = 0; p < (c.transposed ? in_size : out_size); ++p) {
            const int64_t at[3] = {p / from_sizes[2] / from_sizes[1], p / from_sizes[2] % from_sizes[1],
                                   p % from_sizes[2]};
            int64_t q = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const int64_t other = at[d] * c.stride[d] - c.padding[d] + tap[d] * c.dilation[d];
              inside = inside && other >= 0 && other < to_sizes[d];
              q = q * to_sizes[d] + other;
            }
            if (!inside) continue;
            const int64_t in_at = c.transposed ? p : q, out_at = c.transposed ? q : p;
            y[static_cast<size_t>((n * channels + o) * out_size + out_at)] +=
                weight * x[static_cast<size_t>((n * c.groups * c.in_channels + ic) * in_size + in_at)];
          }
        }
  for (size_t e = 0; c.bias && e < y.size(); ++e)
    y[e] += b[e / static_cast<size_t>(out_size) % static_cast<size_t>(channels)];
  return y;
}

std::vector<double> random_values(std::mt19937& rng, size_t count, bool whole) {
  std::vector<double> v(count);
  for (double& e : v)
    e = whole ? static_cast<double>(static_cast<int>(rng() % 7) - 3)
              : (static_cast<double>(rng() % 2001) - 1000) / 1000;
  return v;
}

std::vector<uint8_t> channels_last(int dims) {
  return dims == 1   ? std::vector<uint8_t>{0, 2, 1}
         : dims == 2 ? std::vector<uint8_t>{0, 2, 3, 1}
                     : std::vector<uint8_t>{0, 2, 3, 4, 1};
}

size_t numel(const std::vector<int32_t>& sizes) {
  size_t n = 1;
  for (int32_t s : sizes) n *= static_cast<size_t>(s);
  return n;
}

void run(std::mt19937& rng, const Case& c, DType dtype, bool in_last, bool weight_last, bool out_last, IsaLevel isa) {
  const int64_t channels = c.groups * c.out_channels;
  const auto x_sizes = c.sizes(c.batch, c.groups * c.in_channels, c.input),
             y_sizes = c.sizes(c.batch, channels, c.output);
  const auto w_sizes = c.transposed ? c.sizes(c.groups * c.in_channels, c.out_channels, c.kernel)
                                    : c.sizes(channels, c.in_channels, c.kernel);
  const bool whole = dtype != DType::f32 && dtype != DType::f64;
  const auto x = random_values(rng, numel(x_sizes), whole), w = random_values(rng, numel(w_sizes), whole);
  const auto b = random_values(rng, static_cast<size_t>(channels), whole);
  const std::vector<uint8_t> last = channels_last(c.dims);
  TestTensor in = make(dtype, x_sizes, x, in_last ? last : std::vector<uint8_t>{});
  TestTensor weight = make(dtype, w_sizes, w, weight_last ? last : std::vector<uint8_t>{});
  TestTensor bias = make(dtype, {static_cast<int32_t>(channels)}, b);
  TestTensor out = make_out(dtype, y_sizes, out_last ? last : std::vector<uint8_t>{});
  std::vector<uint8_t> temp(rng() % 2 ? 4u << 20 : 16u << 20);  // without and with room for rearranged copies
  RandomState random;
  SplitParallelism split;
  KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, rng() % 2 ? &split : nullptr, isa);
  std::vector<Arg> args = {in,
                           weight,
                           c.bias ? Arg(bias) : Arg(nullptr),
                           c.list(c.stride),
                           c.list(c.padding),
                           c.list(c.dilation),
                           c.transposed,
                           c.list(c.extra),
                           c.groups,
                           out};
  ASSERT_EQ(call_detailed("aten::convolution.out", args, context), Error::Ok) << context.message();
  EXPECT_TRUE(near(out, reference(c, x, w, b), 1e-5, dtype == DType::f32 ? 2e-5 : 1e-9));
}

Case random_case(std::mt19937& rng, bool depthwise, bool transposed) {
  Case c;
  do {
    c = Case();
    c.dims = 1 + static_cast<int>(rng() % 3);
    c.transposed = transposed;
    c.bias = rng() % 2;
    c.batch = 1 + rng() % 2;
    c.groups = depthwise ? 1 + rng() % 9 : 1 + rng() % 3;
    c.in_channels = depthwise ? 1 : 1 + rng() % 20;
    c.out_channels = depthwise ? 1 + rng() % 2 : 1 + rng() % 30;
    for (int d = 3 - c.dims; d < 3; ++d) {
      c.input[d] = 1 + rng() % (c.dims == 3 && !(depthwise && d == 2) ? 7 : 45);
      c.kernel[d] = 1 + rng() % 4;
      c.stride[d] = 1 + rng() % 3;
      c.padding[d] = rng() % 3;
      c.dilation[d] = 1 + rng() % 2;
      if (transposed) c.extra[d] = rng() % std::max(c.stride[d], c.dilation[d]);
    }
  } while (!c.shape_output());
  return c;
}

TEST(Convolution, EveryGeometryFollowsTheDefinition) {
  std::mt19937 rng(1);
  for (int i = 0; i < 240; ++i) {
    const Case c = random_case(rng, i % 3 == 0, i % 4 == 1);
    const IsaLevel isa = std::min(kIsaLevels[rng() % 3], detect_isa_level());
    run(rng, c, DType::f32, rng() % 3 == 0, rng() % 3 == 0, rng() % 3 == 0, isa);
    if (HasFailure()) FAIL() << "case " << i;
  }
}

TEST(Convolution, EveryDtypeFollowsTheDefinition) {
  std::mt19937 rng(2);
  for (int i = 0; i < 60; ++i) {
    Case c = random_case(rng, i % 3 == 0, i % 4 == 1);
    c.in_channels = std::min<int64_t>(c.in_channels, 3);
    const DType dtypes[] = {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i8, DType::u8, DType::i64};
    const DType dtype = dtypes[i % 7];
    if (dtype == DType::u8 || dtype == DType::i8 || dtype == DType::bf16) {
      c.kernel[0] = c.kernel[1] = 1;  // keeps sums inside the type
      if (!c.shape_output() || dtype == DType::u8) continue;
      c.in_channels = 1;
    }
    run(rng, c, dtype, rng() % 3 == 0, rng() % 3 == 0, rng() % 3 == 0, detect_isa_level());
    if (HasFailure()) FAIL() << "case " << i << " " << dtype_name(dtype);
  }
}

TEST(Convolution, SmallTempMemoryGivesTheSameBits) {
  std::mt19937 rng(3);
  const auto x = random_values(rng, 40 * 13 * 13, false), w = random_values(rng, 20 * 40 * 9, false);
  TestTensor in = make(DType::f32, {1, 40, 13, 13}, x), weight = make(DType::f32, {20, 40, 3, 3}, w);
  std::vector<std::vector<uint8_t>> results;
  for (size_t bytes : {size_t{4} << 20, size_t{60000}, size_t{3000}}) {
    TestTensor out = make_out(DType::f32, {1, 20, 13, 13});
    std::vector<uint8_t> temp(bytes);
    SplitParallelism split;
    KernelContext context(Span<uint8_t>(temp.data(), temp.size()), nullptr, bytes == 60000 ? &split : nullptr);
    ASSERT_EQ(call_detailed("aten::convolution.out",
                            {in, weight, nullptr, int_list({1, 1}), int_list({1, 1}), int_list({1, 1}), false,
                             int_list({0, 0}), 1, out},
                            context),
              Error::Ok);
    results.push_back(out.bytes());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

// The padding of an ordinary convolution is zeros, which an infinite weight turns into NaN. A transposed one has none.
TEST(Convolution, InfiniteWeightsCountWhereTheyMeetAnElement) {
  const auto convolve = [](const std::vector<double>& x, const std::vector<double>& w, bool transposed, int64_t stride,
                           int64_t padding, const std::vector<double>& wanted) {
    TestTensor input = make(DType::f64, {1, 1, static_cast<int32_t>(x.size())}, x);
    TestTensor weight = make(DType::f64, {1, 1, static_cast<int32_t>(w.size())}, w);
    TestTensor out = make_out(DType::f64, {1, 1, static_cast<int32_t>(wanted.size())});
    ASSERT_EQ(call("aten::convolution.out", {input, weight, nullptr, int_list({stride}), int_list({padding}),
                                             int_list({1}), transposed, int_list({0}), 1, out}),
              Error::Ok);
    EXPECT_TRUE(equals(out, wanted));
  };
  convolve({1, 1}, {1, INFINITY}, true, 2, 0, {1, INFINITY, 1, INFINITY});
  convolve({1, 0}, {1, INFINITY}, true, 2, 0, {1, INFINITY, 0, NAN});
  convolve({1, 2}, {NAN, 1, 3}, true, 1, 1, {NAN, 5});
  convolve({1, 2}, {1, 1, INFINITY}, true, 1, 1, {3, INFINITY});
  convolve({1, 2}, {INFINITY, 1, 1}, true, 2, 0, {INFINITY, 1, INFINITY, 2, 2});
  convolve({1, 2, 3}, {INFINITY, 1, 1}, false, 1, 1, {NAN, INFINITY, INFINITY});
}

TEST(Convolution, ImpossibleArgumentsAreRefused) {
  TestTensor in = make(DType::f32, {1, 2, 5, 5}, {1}), weight = make(DType::f32, {4, 2, 3, 3}, {1}),
             out = make_out(DType::f32, {1, 4, 3, 3});
  const auto one = int_list({1, 1}), zero = int_list({0, 0});
  const auto attempt = [&](const Arg& stride, const Arg& padding, const Arg& dilation, int64_t groups) {
    return call("aten::convolution.out", {in, weight, nullptr, stride, padding, dilation, false, zero, groups, out});
  };
  EXPECT_EQ(attempt(one, zero, one, 1), Error::Ok);
  EXPECT_EQ(attempt(zero, zero, one, 1), Error::InvalidArgument);
  EXPECT_EQ(attempt(one, int_list({-1, 0}), one, 1), Error::InvalidArgument);
  EXPECT_EQ(attempt(one, zero, zero, 1), Error::InvalidArgument);
  EXPECT_EQ(attempt(one, zero, int_list({3, 3}), 1), Error::InvalidArgument);
  EXPECT_EQ(attempt(one, zero, one, 0), Error::InvalidArgument);
  EXPECT_EQ(attempt(one, zero, one, 2), Error::InvalidArgument);
  EXPECT_EQ(attempt(int_list({1, 1, 1}), zero, one, 1), Error::InvalidArgument);
  EXPECT_EQ(attempt(int_list({INT64_MAX, 1}), zero, one, 1), Error::InvalidArgument);
}

}  // namespace
}  // namespace wick::test::convolution_test
