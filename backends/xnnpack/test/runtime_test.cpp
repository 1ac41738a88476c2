// Each node type on the library, against plain loops; and what a delegate refuses.
#include <cmath>
#include <functional>

#include "backends/xnnpack/test/runtime_test_support.h"
#include "wick/xnnpack_backend.h"

namespace wick::xnnpack {
namespace {

TEST(XnnpackRuntime, UnaryNodes) {
  struct Case {
    NodeType type;
    std::function<float(float)> expected;
    float tolerance;
    bool positive = false;
    float value = 0;
  };
  const Case cases[] = {
      {NodeType::sigmoid, [](float x) { return 1 / (1 + std::exp(-x)); }, 1e-6f},
      {NodeType::floor, [](float x) { return std::floor(x); }, 0},
      {NodeType::ceiling, [](float x) { return std::ceil(x); }, 0},
      {NodeType::square_root, [](float x) { return std::sqrt(x); }, 1e-6f, true},
      {NodeType::reciprocal_square_root, [](float x) { return 1 / std::sqrt(x); }, 1e-6f, true},
      {NodeType::hardswish, [](float x) { return x * std::fmin(std::fmax(x + 3, 0.f), 6.f) / 6; }, 1e-6f},
      {NodeType::negate, [](float x) { return -x; }, 0},
      {NodeType::square, [](float x) { return x * x; }, 0},
      {NodeType::abs, [](float x) { return std::fabs(x); }, 0},
      {NodeType::log, [](float x) { return std::log(x); }, 1e-6f, true},
      {NodeType::exp, [](float x) { return std::exp(x); }, 1e-5f},
      {NodeType::tanh, [](float x) { return std::tanh(x); }, 1e-6f},
      {NodeType::gelu, [](float x) { return x * 0.5f * (1 + std::erf(x / std::sqrt(2.f))); }, 1e-6f},
      {NodeType::sin, [](float x) { return std::sin(x); }, 1e-6f},
      {NodeType::cos, [](float x) { return std::cos(x); }, 1e-6f},
      {NodeType::elu, [](float x) { return x > 0 ? x : 1.5f * (std::exp(x) - 1); }, 1e-6f, false, 1.5f},
      {NodeType::leaky_relu, [](float x) { return x > 0 ? x : 0.25f * x; }, 0, false, 0.25f},
      {NodeType::copy, [](float x) { return x; }, 0},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(name_of(test.type));
    Floats x = some_floats(3 * 19);
    if (test.positive) {
      for (float& element : x) element = std::fabs(element) + 0.25f;
    }
    TestDelegate delegate;
    const uint32_t in = delegate.input({3, 19}), out = delegate.output({3, 19});
    delegate.node(test.type, {in}, out).value = test.value;
    Floats expected = x;
    for (float& element : expected) element = test.expected(element);
    expect_near(run(delegate, {x}), expected, test.tolerance);
  }
}

TEST(XnnpackRuntime, ConvertToHalfPrecisionAndBack) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({4}), half = delegate.value(DataType::fp16, {4}), out = delegate.output({4});
  delegate.node(NodeType::convert, {in}, half);
  delegate.node(NodeType::convert, {half}, out);
  EXPECT_EQ(run(delegate, {{1, -0.5f, 2049, 0.1f}}), (Floats{1, -0.5f, 2048, Half(0.1f)}));
}

TEST(XnnpackRuntime, Clamp) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({5}), out = delegate.output({5});
  PayloadNode& node = delegate.node(NodeType::clamp, {in}, out);
  node.output_min = -1;
  node.output_max = 0.5f;
  EXPECT_EQ(run(delegate, {{-3, -1, 0.25f, 0.5f, 7}}), (Floats{-1, -1, 0.25f, 0.5f, 0.5f}));
}

TEST(XnnpackRuntime, BinaryNodesBroadcastAndClamp) {
  struct Case {
    NodeType type;
    std::function<float(float, float)> expected;
  };
  const Case cases[] = {
      {NodeType::add, [](float a, float b) { return a + b; }},
      {NodeType::subtract, [](float a, float b) { return a - b; }},
      {NodeType::multiply, [](float a, float b) { return a * b; }},
      {NodeType::div, [](float a, float b) { return a / b; }},
      {NodeType::minimum, [](float a, float b) { return std::fmin(a, b); }},
      {NodeType::maximum, [](float a, float b) { return std::fmax(a, b); }},
  };
  const Floats a = some_floats(24), b = {2, -0.5f, 4};
  for (const Case& test : cases) {
    for (const bool clamps : {false, true}) {
      SCOPED_TRACE(name_of(test.type));
      TestDelegate delegate;
      const uint32_t x = delegate.input({2, 3, 4}), y = delegate.constant<float>({3, 1}, b);
      const uint32_t out = delegate.output({2, 3, 4});
      PayloadNode& node = delegate.node(test.type, {x, y}, out);
      if (clamps) node.output_min = 0;
      Floats expected(24);
      for (size_t i = 0; i < 24; ++i) {
        expected[i] = test.expected(a[i], b[i / 4 % 3]);
        if (clamps) expected[i] = std::fmax(expected[i], 0.f);
      }
      expect_near(run(delegate, {a}), expected, 1e-6f);
    }
  }
}

TEST(XnnpackRuntime, PreluAndSoftmax) {
  TestDelegate delegate;
  const uint32_t x = delegate.input({1, 2, 2, 3}), slope = delegate.constant<float>({3}, {0.5f, 2, -1});
  const uint32_t hidden = delegate.value(DataType::fp32, {1, 2, 2, 3}), out = delegate.output({1, 2, 2, 3});
  delegate.node(NodeType::prelu, {x, slope}, hidden);
  delegate.node(NodeType::softmax, {hidden}, out);
  const Floats in = some_floats(12), slopes = {0.5f, 2, -1};
  Floats expected(12);
  for (size_t row = 0; row < 4; ++row) {
    float sum = 0;
    for (size_t c = 0; c < 3; ++c) {
      const float value = in[3 * row + c];
      expected[3 * row + c] = std::exp(value < 0 ? value * slopes[c] : value);
      sum += expected[3 * row + c];
    }
    for (size_t c = 0; c < 3; ++c) expected[3 * row + c] /= sum;
  }
  expect_near(run(delegate, {in}), expected, 1e-6f);
}

// rows x [oc, ic] + bias
Floats linear(const Floats& x, const Floats& filter, const Floats& bias, size_t oc, size_t ic,
              bool transposed = false) {
  Floats out;
  for (size_t row = 0; row < x.size() / ic; ++row) {
    for (size_t o = 0; o < oc; ++o) {
      float sum = bias.empty() ? 0 : bias[o];
      for (size_t i = 0; i < ic; ++i) sum += x[row * ic + i] * filter[transposed ? i * oc + o : o * ic + i];
      out.push_back(sum);
    }
  }
  return out;
}

TEST(XnnpackRuntime, FullyConnected) {
  const Floats x = some_floats(2 * 3 * 7), filter = some_floats(5 * 7, 2), bias = some_floats(5, 3);
  for (const bool transposed : {false, true}) {
    for (const bool has_bias : {false, true}) {
      TestDelegate delegate;
      const uint32_t in = delegate.input({2, 3, 7});
      const uint32_t weights = delegate.constant(transposed ? Shape{7, 5} : Shape{5, 7}, filter);
      const uint32_t biases = has_bias ? delegate.constant({5}, bias) : kNoValue;
      const uint32_t out = delegate.output({2, 3, 5});
      PayloadNode& node = delegate.node(NodeType::fully_connected, {in, weights, biases}, out);
      if (transposed) node.flags = kTransposeWeights;
      expect_near(run(delegate, {x}), linear(x, filter, has_bias ? bias : Floats(), 5, 7, transposed), 1e-4f);
    }
  }
}

TEST(XnnpackRuntime, FullyConnectedWithComputedFilter) {
  const Floats x = some_floats(3 * 7), filter = some_floats(5 * 7, 2);
  TestDelegate delegate;
  const uint32_t in = delegate.input({3, 7}), weights = delegate.input({5, 7}), out = delegate.output({3, 5});
  delegate.node(NodeType::fully_connected, {in, weights, kNoValue}, out);
  expect_near(run(delegate, {x, filter}), linear(x, filter, {}, 5, 7), 1e-4f);
}

TEST(XnnpackRuntime, BatchMatrixMultiply) {
  const Floats a = some_floats(2 * 3 * 5), b = some_floats(2 * 5 * 4, 2);
  for (const bool transposed : {false, true}) {
    for (const bool is_constant : {false, true}) {
      TestDelegate delegate;
      const Shape shape = transposed ? Shape{2, 4, 5} : Shape{2, 5, 4};
      const uint32_t x = delegate.input({2, 3, 5});
      const uint32_t y = is_constant ? delegate.constant(shape, b) : delegate.input(shape);
      const uint32_t out = delegate.output({2, 3, 4});
      delegate.node(NodeType::batch_matrix_multiply, {x, y}, out).flags = transposed ? kTransposeWeights : 0u;
      Floats expected;
      for (size_t batch = 0; batch < 2; ++batch) {
        for (size_t m = 0; m < 3; ++m) {
          for (size_t n = 0; n < 4; ++n) {
            float sum = 0;
            for (size_t k = 0; k < 5; ++k) {
              sum += a[(batch * 3 + m) * 5 + k] * b[batch * 20 + (transposed ? n * 5 + k : k * 4 + n)];
            }
            expected.push_back(sum);
          }
        }
      }
      expect_near(run(delegate, is_constant ? std::vector<Floats>{a} : std::vector<Floats>{a, b}), expected, 1e-4f);
    }
  }
}

/// Sizes of a convolution over [1, h, w, groups * ic] to groups * oc channels.
struct Convolution {
  size_t h, w, ic, oc, groups, kernel, stride, pad, dilation;
  size_t out(size_t size) const { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
};

// filter [groups * oc, kernel, kernel, ic]
Floats convolve(const Convolution& c, const Floats& x, const Floats& filter, const Floats& bias) {
  Floats result;
  const size_t channels_in = c.groups * c.ic, channels_out = c.groups * c.oc;
  for (size_t oy = 0; oy < c.out(c.h); ++oy) {
    for (size_t ox = 0; ox < c.out(c.w); ++ox) {
      for (size_t o = 0; o < channels_out; ++o) {
        float sum = bias[o];
        for (size_t ky = 0; ky < c.kernel; ++ky) {
          for (size_t kx = 0; kx < c.kernel; ++kx) {
            const size_t y = oy * c.stride + ky * c.dilation, xx = ox * c.stride + kx * c.dilation;
            if (y < c.pad || y - c.pad >= c.h || xx < c.pad || xx - c.pad >= c.w) continue;
            for (size_t i = 0; i < c.ic; ++i) {
              sum += x[((y - c.pad) * c.w + xx - c.pad) * channels_in + o / c.oc * c.ic + i] *
                     filter[((o * c.kernel + ky) * c.kernel + kx) * c.ic + i];
            }
          }
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

void set_window(PayloadNode& node, const Convolution& c) {
  const auto u = [](size_t n) { return static_cast<uint32_t>(n); };
  node.window.pad_top = node.window.pad_right = node.window.pad_bottom = node.window.pad_left = u(c.pad);
  for (int i = 0; i < 2; ++i) {
    node.window.kernel[i] = u(c.kernel);
    node.window.stride[i] = u(c.stride);
    node.window.dilation[i] = u(c.dilation);
  }
  node.groups = u(c.groups);
  node.group_input_channels = u(c.ic);
  node.group_output_channels = u(c.oc);
}

TEST(XnnpackRuntime, ConvolutionsWithClamp) {
  for (const Convolution& c : {Convolution{6, 7, 3, 4, 1, 3, 1, 1, 1}, Convolution{9, 8, 2, 3, 2, 3, 2, 0, 2},
                               Convolution{4, 4, 5, 6, 1, 1, 1, 0, 1}}) {
    const auto u = [](size_t n) { return static_cast<uint32_t>(n); };
    const Floats x = some_floats(c.h * c.w * c.groups * c.ic);
    const Floats filter = some_floats(c.groups * c.oc * c.kernel * c.kernel * c.ic, 2),
                 bias = some_floats(c.groups * c.oc, 3);
    TestDelegate delegate;
    const uint32_t in = delegate.input({1, u(c.h), u(c.w), u(c.groups * c.ic)});
    const uint32_t weights = delegate.constant({u(c.groups * c.oc), u(c.kernel), u(c.kernel), u(c.ic)}, filter);
    const uint32_t biases = delegate.constant({u(c.groups * c.oc)}, bias);
    const uint32_t out = delegate.output({1, u(c.out(c.h)), u(c.out(c.w)), u(c.groups * c.oc)});
    PayloadNode& node = delegate.node(NodeType::conv_2d, {in, weights, biases}, out);
    set_window(node, c);
    node.output_min = 0;
    Floats expected = convolve(c, x, filter, bias);
    for (float& element : expected) element = std::fmax(element, 0.f);
    expect_near(run(delegate, {x}), expected, 1e-4f);
  }
}

TEST(XnnpackRuntime, DepthwiseConvolution) {
  const Convolution c = {6, 5, 1, 1, 4, 3, 1, 1, 1};
  const Floats x = some_floats(6 * 5 * 4), filter = some_floats(4 * 9, 2), bias = some_floats(4, 3);
  Floats by_kernel(filter.size());  // [1, 3, 3, channels]
  for (size_t o = 0; o < 4; ++o) {
    for (size_t k = 0; k < 9; ++k) by_kernel[k * 4 + o] = filter[o * 9 + k];
  }
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 6, 5, 4}), weights = delegate.constant({1, 3, 3, 4}, by_kernel);
  const uint32_t biases = delegate.constant({4}, bias), out = delegate.output({1, 6, 5, 4});
  set_window(delegate.node(NodeType::depthwise_conv_2d, {in, weights, biases}, out), c);
  expect_near(run(delegate, {x}), convolve(c, x, filter, bias), 1e-4f);
}

TEST(XnnpackRuntime, TransposedConvolution) {
  // Stride 2, kernel 2: each input pixel makes its own 2 x 2 block.
  const Floats x = some_floats(2 * 3 * 2), filter = some_floats(3 * 2 * 2 * 2, 2);
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 2, 3, 2}), weights = delegate.constant({3, 2, 2, 2}, filter);
  const uint32_t biases = delegate.constant<float>({3}, {1, 2, 3}), out = delegate.output({1, 4, 6, 3});
  set_window(delegate.node(NodeType::conv_transpose_2d, {in, weights, biases}, out), {2, 3, 2, 3, 1, 2, 2, 0, 1});
  Floats expected;
  for (size_t y = 0; y < 4; ++y) {
    for (size_t xx = 0; xx < 6; ++xx) {
      for (size_t o = 0; o < 3; ++o) {
        float sum = static_cast<float>(o + 1);
        for (size_t i = 0; i < 2; ++i) {
          sum += x[(y / 2 * 3 + xx / 2) * 2 + i] * filter[((o * 2 + y % 2) * 2 + xx % 2) * 2 + i];
        }
        expected.push_back(sum);
      }
    }
  }
  expect_near(run(delegate, {x}), expected, 1e-5f);
}

TEST(XnnpackRuntime, PoolingOfWindows) {
  const Floats x = some_floats(4 * 6 * 2);
  for (const NodeType type : {NodeType::max_pooling_2d, NodeType::avg_pooling_2d}) {
    TestDelegate delegate;
    const uint32_t in = delegate.input({1, 4, 6, 2}), out = delegate.output({1, 2, 3, 2});
    set_window(delegate.node(type, {in}, out), {4, 6, 2, 2, 1, 2, 2, 0, 1});
    Floats expected;
    for (size_t y = 0; y < 2; ++y) {
      for (size_t xx = 0; xx < 3; ++xx) {
        for (size_t c = 0; c < 2; ++c) {
          float largest = -INFINITY, sum = 0;
          for (size_t k = 0; k < 4; ++k) {
            const float element = x[((2 * y + k / 2) * 6 + 2 * xx + k % 2) * 2 + c];
            largest = std::fmax(largest, element);
            sum += element;
          }
          expected.push_back(type == NodeType::max_pooling_2d ? largest : sum / 4);
        }
      }
    }
    expect_near(run(delegate, {x}), expected, 1e-6f);
  }
}

TEST(XnnpackRuntime, GlobalAveragePoolingWithAndWithoutItsDims) {
  const Floats x = some_floats(2 * 3 * 4 * 2);
  for (const bool keeps : {false, true}) {
    TestDelegate delegate;
    const uint32_t in = delegate.input({2, 3, 4, 2}), out = delegate.output(keeps ? Shape{2, 1, 1, 2} : Shape{2, 2});
    delegate.node(NodeType::global_avg_pooling_2d, {in}, out).flags = keeps ? kKeepDims : 0u;
    Floats expected;
    for (size_t n = 0; n < 2; ++n) {
      for (size_t c = 0; c < 2; ++c) {
        float sum = 0;
        for (size_t i = 0; i < 12; ++i) sum += x[(n * 12 + i) * 2 + c];
        expected.push_back(sum / 12);
      }
    }
    expect_near(run(delegate, {x}), expected, 1e-6f);
  }
}

TEST(XnnpackRuntime, ArgMaxPoolingWidensItsIndices) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 2, 4, 1}), out = delegate.output({1, 1, 2, 1});
  const uint32_t index = delegate.output({1, 1, 2, 1}, DataType::int32);
  PayloadNode& node = delegate.node(NodeType::arg_max_pooling_2d, {in}, out);
  set_window(node, {2, 4, 1, 1, 1, 2, 2, 0, 1});
  node.output_index = index;
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  ASSERT_EQ(test.execute({bytes_of<float>({1, 9, 3, 4, 5, 6, 8, 7})}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.output<float>(0), (Floats{9, 8}));
  // The library counts within a window from top to bottom, then from left to right.
  EXPECT_EQ(test.output<int64_t>(1), (std::vector<int64_t>{2, 1}));
}

TEST(XnnpackRuntime, MovingNodes) {
  const Floats x = some_floats(2 * 3 * 4);
  {
    TestDelegate delegate;
    const uint32_t in = delegate.input({2, 3, 4}), turned = delegate.value(DataType::fp32, {4, 2, 3});
    const uint32_t out = delegate.output({8, 3});
    delegate.node(NodeType::static_transpose, {in}, turned).first = {2, 0, 1};
    delegate.node(NodeType::static_reshape, {turned}, out).first = {0, 3};
    Floats expected;
    for (size_t c = 0; c < 4; ++c) {
      for (size_t a = 0; a < 2; ++a) {
        for (size_t b = 0; b < 3; ++b) expected.push_back(x[(a * 3 + b) * 4 + c]);
      }
    }
    EXPECT_EQ(run(delegate, {x}), expected);
  }
  {
    TestDelegate delegate;
    const uint32_t in = delegate.input({2, 3, 4}), part = delegate.value(DataType::fp32, {2, 2, 3});
    const uint32_t out = delegate.output({3, 2, 4});
    PayloadNode& slice = delegate.node(NodeType::static_slice, {in}, part);
    slice.first = {0, 1, 1};
    slice.second = {2, 2, 3};
    PayloadNode& pad = delegate.node(NodeType::static_constant_pad, {part}, out);
    pad.first = {1, 0, 0};
    pad.second = {0, 0, 1};
    pad.value = 5;
    Floats expected(8, 5.f);
    for (size_t a = 0; a < 2; ++a) {
      for (size_t b = 1; b < 3; ++b) {
        for (size_t c = 1; c < 4; ++c) expected.push_back(x[(a * 3 + b) * 4 + c]);
        expected.push_back(5);
      }
    }
    EXPECT_EQ(run(delegate, {x}), expected);
  }
}

TEST(XnnpackRuntime, ResizeBilinear) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 2, 2, 1}), out = delegate.output({1, 3, 3, 1});
  PayloadNode& node = delegate.node(NodeType::static_resize_bilinear_2d, {in}, out);
  node.first = {3, 3};
  node.flags = kAlignCorners;
  expect_near(run(delegate, {{0, 2, 4, 6}}), {0, 1, 2, 2, 3, 4, 4, 5, 6}, 1e-6f);
}

TEST(XnnpackRuntime, Concatenations) {
  const NodeType types[] = {NodeType::concatenate_2, NodeType::concatenate_3, NodeType::concatenate_4,
                            NodeType::concatenate_5};
  for (uint32_t n = 2; n <= 5; ++n) {
    TestDelegate delegate;
    Shape inputs;
    std::vector<Floats> data;
    for (uint32_t i = 0; i < n; ++i) {
      inputs.push_back(delegate.input({2, i + 1}));
      data.push_back(some_floats(2 * (i + 1), i));
    }
    const uint32_t out = delegate.output({2, n * (n + 1) / 2});
    delegate.node(types[n - 2], inputs, out).axis = 1;
    Floats expected;
    for (uint32_t row = 0; row < 2; ++row) {
      for (uint32_t i = 0; i < n; ++i) {
        expected.insert(expected.end(), data[i].begin() + row * (i + 1), data[i].begin() + (row + 1) * (i + 1));
      }
    }
    EXPECT_EQ(run(delegate, data), expected);
  }
}

// The library's own removal of such copies is not sound.
TEST(XnnpackRuntime, CopiesBetweenNodesAreLeftOut) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({4}), a = delegate.value(DataType::fp32, {4}),
                 b = delegate.value(DataType::fp32, {4});
  const uint32_t c = delegate.value(DataType::fp32, {4}), out = delegate.output({4}), second = delegate.output({4});
  delegate.node(NodeType::copy, {in}, a);
  delegate.node(NodeType::negate, {a}, b);
  delegate.node(NodeType::copy, {b}, c);
  delegate.node(NodeType::copy, {c}, out);
  delegate.node(NodeType::copy, {c}, second);
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  ASSERT_EQ(test.execute({bytes_of<float>({1, 2, -3, 4})}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.output<float>(0), (Floats{-1, -2, 3, -4}));
  EXPECT_EQ(test.output<float>(1), (Floats{-1, -2, 3, -4}));
}

TEST(XnnpackRuntime, NodesThatNothingReadsAreLeftOut) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({4}), unread = delegate.value(DataType::fp32, {4}), out = delegate.output({4});
  delegate.node(NodeType::square, {in}, unread);
  delegate.node(NodeType::abs, {in}, out);
  EXPECT_EQ(run(delegate, {{1, -2, 3, -4}}), (Floats{1, 2, 3, 4}));
}

std::vector<Half> to_half(const Floats& floats) { return {floats.begin(), floats.end()}; }

TEST(XnnpackRuntime, HalfPrecision) {
  // 80 output channels: more than one register tile.
  const Floats x = some_floats(3 * 16), filter = some_floats(80 * 16, 2), bias = some_floats(80, 3);
  TestDelegate delegate;
  const uint32_t in = delegate.input({3, 16}, DataType::fp16);
  const uint32_t weights = delegate.constant({80, 16}, to_half(filter), DataType::fp16);
  const uint32_t biases = delegate.constant({80}, to_half(bias), DataType::fp16);
  const uint32_t product = delegate.value(DataType::fp16, {3, 80}), out = delegate.output({3, 80}, DataType::fp16);
  delegate.node(NodeType::fully_connected, {in, weights, biases}, product);
  PayloadNode& clamp = delegate.node(NodeType::clamp, {product}, out);
  clamp.output_min = -4;
  clamp.output_max = 4;
  TestRun test(delegate);
  if (!xnnpack_has_all_kernels()) {
    EXPECT_EQ(test.load(), Error::DelegateInvalidCompatibility);
    EXPECT_NE(std::string(test.harness().text).find("AVX2, FMA and F16C"), std::string::npos) << test.harness().text;
    return;
  }
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  ASSERT_EQ(test.execute({bytes_of(to_half(x))}), Error::Ok) << test.harness().last_error();
  Floats expected = linear(x, filter, bias, 80, 16);
  for (float& element : expected) element = std::fmin(std::fmax(element, -4.f), 4.f);
  const std::vector<Half> found = test.output<Half>();
  expect_near({found.begin(), found.end()}, expected, 0.03f);
}

TEST(XnnpackRuntime, DynamicInt8FullyConnected) {
  const Floats x = some_floats(3 * 32), scales = {0.5f, 0.25f, 0.125f, 1};
  std::vector<int8_t> filter(4 * 32);
  for (size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  TestDelegate delegate;
  Quantization per_token, per_channel;
  per_token.kind = Quantization::Kind::per_token;
  per_token.num_nonbatch_dims = 1;
  per_channel.kind = Quantization::Kind::per_channel;
  per_channel.scale_constant = delegate.named_constant(bytes_of(scales));
  const uint32_t in = delegate.input({3, 32}), rows = delegate.value(DataType::qdint8, {3, 32}, per_token);
  const uint32_t weights = delegate.constant({4, 32}, filter, DataType::qcint8, per_channel);
  const uint32_t biases = delegate.constant<float>({4}, {1, 2, 3, 4}), out = delegate.output({3, 4});
  delegate.node(NodeType::convert, {in}, rows);
  delegate.node(NodeType::fully_connected, {rows, weights, biases}, out);
  Floats real(filter.size());
  for (size_t i = 0; i < real.size(); ++i) real[i] = static_cast<float>(filter[i]) * scales[i / 32];
  // An input is off by half a step of 4 / 255; 32 products of up to 127 * scale add up.
  expect_near(run(delegate, {x}), linear(x, real, {1, 2, 3, 4}, 4, 32), 12.f);
}

// Models in bf16 and fp16: rows are quantized at run time, and scales of channels have the model's type.
TEST(XnnpackRuntime, ScalesOf16BitsAreOfTheTypeOfTheProducts) {
  const Floats x = some_floats(3 * 32), scales = {0.5f, 0.25f, 1.5f, 0.0625f}, bias = {1, 2, 3, 4};
  const auto halves = [](const Floats& floats, DataType type) {
    std::vector<uint16_t> bits;
    for (const float f : floats)  // exact in both types
      bits.push_back(type == DataType::bf16 ? static_cast<uint16_t>(bits_from_float(f) >> 16) : Half::from_float(f));
    return bits;
  };
  std::vector<int8_t> bytes(4 * 32);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  const std::vector<uint8_t> nibbles(4 * 16, 0xb6);  // -2 and 3
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    if (type == DataType::fp16 && !xnnpack_has_all_kernels()) continue;
    for (const bool has_nibbles : {false, true}) {
      Floats real(4 * 32);
      for (size_t i = 0; i < real.size(); ++i)
        real[i] = (has_nibbles ? (i % 2 == 0 ? -2.f : 3.f) : static_cast<float>(bytes[i])) * scales[i / 32];
      const auto delegate_with = [&](const std::vector<uint8_t>& scale_bytes, DataType product) {
        TestDelegate delegate;
        Quantization per_token, per_channel;
        per_token.kind = Quantization::Kind::per_token;
        per_token.num_nonbatch_dims = 1;
        per_channel.kind = Quantization::Kind::per_channel;
        per_channel.scale_constant = delegate.named_constant(scale_bytes);
        const uint32_t in = delegate.input({3, 32}, type), rows = delegate.value(DataType::qdint8, {3, 32}, per_token);
        const uint32_t weights = has_nibbles ? delegate.constant({4, 32}, nibbles, DataType::qcint4, per_channel)
                                             : delegate.constant({4, 32}, bytes, DataType::qcint8, per_channel);
        const uint32_t biases = delegate.constant<float>({4}, bias), out = delegate.output({3, 4}, product);
        delegate.node(NodeType::convert, {in}, rows);
        delegate.node(NodeType::fully_connected, {rows, weights, biases}, out);
        return delegate;
      };
      const Floats expected = linear(x, real, bias, 4, 32);
      for (const bool wide : {false, true}) {
        const auto scale_bytes = wide ? bytes_of(scales) : bytes_of(halves(scales, type));
        TestRun test(delegate_with(scale_bytes, type));
        ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
        ASSERT_EQ(test.execute({bytes_of(halves(x, type))}), Error::Ok) << test.harness().last_error();
        const std::vector<uint16_t> found = test.output<uint16_t>();
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          const float f = type == DataType::bf16 ? float_from_bits(uint32_t{found[i]} << 16) : Half::to_float(found[i]);
          // An input is off by half a step of 4 / 255.
          EXPECT_NEAR(f, expected[i], (has_nibbles ? 1.f : 24.f) * scales[i % 4] + std::fabs(expected[i]) / 256);
        }
      }
      // Products in fp32 do not say what the scales are. Then sizes that fit neither type.
      const std::vector<uint8_t> narrow = bytes_of(halves(scales, type));
      TestRun mixed(delegate_with(narrow, DataType::fp32));
      EXPECT_EQ(mixed.load(), Error::DelegateInvalidCompatibility);
      EXPECT_NE(mixed.harness().text.find("its scales have 16 bits"), std::string::npos) << mixed.harness().text;
      for (const size_t size : {size_t{7}, size_t{9}, size_t{6}}) {
        std::vector<uint8_t> wrong = narrow;
        wrong.resize(size);
        TestRun test(delegate_with(wrong, type));
        EXPECT_EQ(test.load(), Error::DelegateInvalidCompatibility);
        EXPECT_NE(test.harness().text.find(" scales"), std::string::npos) << test.harness().text;
      }
    }
  }
}

TEST(XnnpackRuntime, StaticInt8Convolution) {
  Quantization activation, weight, result, product;
  activation.kind = weight.kind = result.kind = product.kind = Quantization::Kind::per_tensor;
  activation.scale = 0.5f;
  activation.zero_point = 3;
  weight.scale = 0.25f;
  product.scale = 0.125f;
  result.scale = 1;
  result.zero_point = -5;
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 1, 2, 3}, DataType::qint8, activation);
  const uint32_t weights = delegate.constant<int8_t>({2, 1, 1, 3}, {4, -8, 12, 1, 2, 3}, DataType::qint8, weight);
  const uint32_t biases = delegate.constant<int32_t>({2}, {16, -8}, DataType::qint32, product);
  const uint32_t out = delegate.output({1, 1, 2, 2}, DataType::qint8, result);
  set_window(delegate.node(NodeType::conv_2d, {in, weights, biases}, out), {1, 2, 3, 2, 1, 1, 1, 0, 1});
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  ASSERT_EQ(test.execute({bytes_of<int8_t>({3, 7, 11, 13, -5, 3})}), Error::Ok) << test.harness().last_error();
  // Pixel 1 is (0, 2, 4): 2 * -2 + 4 * 3 + 2 = 10, 2 * 0.5 + 4 * 0.75 - 1 = 3; pixel 2 is (5, -4, 0): 15, -1.75.
  EXPECT_EQ(test.output<int8_t>(), (std::vector<int8_t>{5, -2, 10, -7}));
}

Quantization by_rows() {
  Quantization per_token;
  per_token.kind = Quantization::Kind::per_token;
  per_token.num_nonbatch_dims = 1;
  return per_token;
}

Quantization by_groups_of_32() {
  Quantization per_group;
  per_group.kind = Quantization::Kind::per_group;
  per_group.group_size = 32;
  return per_group;
}

TEST(XnnpackRuntime, GroupsOfInt4Weights) {
  // Value + 8, even column low: all weights of row 0 are 1, of row 1 -2; scales per 32 columns, as bf16.
  std::vector<uint8_t> filter(2 * 32, 0x99);
  for (size_t i = 32; i < 64; ++i) filter[i] = 0x66;
  TestDelegate delegate;
  const Quantization per_token = by_rows();
  Quantization per_group = by_groups_of_32();
  per_group.scale_constant = delegate.named_constant(bytes_of<uint16_t>({0x3f80, 0x4000, 0x3f80, 0x3f00}));  // 1 2 1 .5
  const uint32_t in = delegate.input({1, 64}), rows = delegate.value(DataType::qdint8, {1, 64}, per_token);
  const uint32_t weights = delegate.constant({2, 64}, filter, DataType::qbint4, per_group);
  const uint32_t out = delegate.output({1, 2});
  delegate.node(NodeType::convert, {in}, rows);
  delegate.node(NodeType::fully_connected, {rows, weights, kNoValue}, out);
#ifdef WICK_SYSTEM_XNNPACK
  if (!xnnpack_has_all_kernels()) {
    TestRun refused(delegate);
    EXPECT_EQ(refused.load(), Error::DelegateInvalidCompatibility);
    EXPECT_NE(std::string(refused.harness().text).find("AVX2, FMA and F16C"), std::string::npos);
    return;
  }
#endif
  expect_near(run(delegate, {Floats(64, 1.f)}), {96, -96}, 1);
}

// A row for each positive normal bf16 number: the table's scales, which are read as fp32, are the same ones again.
TEST(XnnpackRuntime, Bf16ScalesOfTheTableAreThoseOfAConstant) {
#ifdef WICK_SYSTEM_XNNPACK
  if (!xnnpack_has_all_kernels()) GTEST_SKIP() << "the library lacks kernels for groups of weights";
#endif
  std::vector<uint16_t> scales;
  for (uint16_t bits = 0x0080; bits < 0x7f80; ++bits) scales.push_back(bits);
  const auto rows = static_cast<uint32_t>(scales.size());
  const auto outputs = [&](bool in_table) {
    TestDelegate delegate;
    const Quantization per_token = by_rows();
    Quantization per_group = by_groups_of_32();
    if (in_table) {
      for (const uint16_t bits : scales) per_group.inline_scales.push_back(float_from_bits(uint32_t{bits} << 16));
    } else {
      per_group.scale_constant = delegate.named_constant(bytes_of(scales));
    }
    const uint32_t in = delegate.input({1, 32}), quantized = delegate.value(DataType::qdint8, {1, 32}, per_token);
    const std::vector<uint8_t> filter(rows * 16, 0x99);
    const uint32_t weights = delegate.constant({rows, 32}, filter, DataType::qbint4, per_group);
    const uint32_t out = delegate.output({1, rows});
    delegate.node(NodeType::convert, {in}, quantized);
    delegate.node(NodeType::fully_connected, {quantized, weights, kNoValue}, out);
    return run(delegate, {Floats(32, 0.5f)});
  };
  const Floats of_constant = outputs(false), of_table = outputs(true);
  ASSERT_EQ(of_constant.size(), rows);
  EXPECT_EQ(of_table, of_constant);
}

TEST(XnnpackRuntime, ConstantsThatLieOutsideAreNamed) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({4}), other = delegate.constant<float>({4}, {1, 2, 3, 4}),
                 out = delegate.output({4});
  delegate.node(NodeType::add, {in, other}, out);
  TestDelegate missing = delegate;
  missing.named.clear();
  TestRun without(missing);
  EXPECT_EQ(without.load(), Error::DelegateInvalidCompatibility);
  EXPECT_NE(without.harness().text.find("data1"), std::string::npos) << without.harness().text;
  for (const size_t size : {15u, 17u, 0u}) {
    TestDelegate wrong = delegate;
    wrong.named[0].second.resize(size);
    TestRun test(wrong);
    EXPECT_EQ(test.load(), Error::DelegateInvalidCompatibility);
    EXPECT_NE(test.harness().text.find("value 1"), std::string::npos) << test.harness().text;
  }
}

TEST(XnnpackRuntime, ScalesOfWrongSizeAreRefused) {
  TestDelegate delegate;
  Quantization per_token, per_channel;
  per_token.kind = Quantization::Kind::per_token;
  per_token.num_nonbatch_dims = 1;
  per_channel.kind = Quantization::Kind::per_channel;
  per_channel.scale_constant = delegate.named_constant(bytes_of<float>({1, 1, 1}));
  const uint32_t in = delegate.input({1, 32}), rows = delegate.value(DataType::qdint8, {1, 32}, per_token);
  const uint32_t weights = delegate.constant({4, 32}, std::vector<int8_t>(128), DataType::qcint8, per_channel);
  const uint32_t out = delegate.output({1, 4});
  delegate.node(NodeType::convert, {in}, rows);
  delegate.node(NodeType::fully_connected, {rows, weights, kNoValue}, out);
  TestRun test(delegate);
  EXPECT_EQ(test.load(), Error::DelegateInvalidCompatibility);
  EXPECT_NE(test.harness().text.find("scales"), std::string::npos) << test.harness().text;
}

TEST(XnnpackRuntime, ArgumentsOfAnotherDtypeAreRefused) {
  TestDelegate delegate;
  const uint32_t in = delegate.input({4}), out = delegate.output({4});
  delegate.node(NodeType::abs, {in}, out);
  TestRun test(delegate, {DType::i32, DType::f32});
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  EXPECT_EQ(test.execute({bytes_of<int32_t>({1, 2, 3, 4})}), Error::InvalidType);
  EXPECT_NE(test.harness().last_error().find("dtype"), std::string::npos) << test.harness().last_error();
}

TEST(XnnpackRuntime, OtherShapesWithinTheBounds) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const Floats filter = some_floats(5 * 7, 2);
  const uint32_t in = delegate.input({6, 7}), weights = delegate.constant({5, 7}, filter),
                 out = delegate.output({6, 5});
  delegate.node(NodeType::fully_connected, {in, weights, kNoValue}, out);
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  for (const int32_t rows : {6, 2, 2, 5, 1}) {
    HostTensor32 x({rows, 7}, some_floats(static_cast<size_t>(rows) * 7));
    ASSERT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
    ASSERT_EQ(test.harness().method().execute(), Error::Ok) << test.harness().last_error();
    EXPECT_EQ(test.harness().method().output(0).tensor->sizes[0], rows);
    expect_near(test.output<float>(), linear(x.data, filter, {}, 5, 7), 1e-4f);
  }
}

TEST(XnnpackRuntime, InputsInAnotherDimOrderAreTakenAsTheyLie) {
  // The payload sees [1, 2, 2, 3]; the program's tensor is [1, 3, 2, 2] with its channels last.
  TestDelegate delegate;
  const uint32_t in = delegate.input({1, 2, 2, 3}), out = delegate.output({1, 2, 2, 3});
  delegate.node(NodeType::negate, {in}, out);
  schema::TestProgram program;
  program.arena_sizes = {0, 128};
  int32_t ids[2];
  for (int i = 0; i < 2; ++i) {
    schema::TestTensor tensor{.sizes = {1, 3, 2, 2}, .dim_order = {0, 2, 3, 1}, .memory_id = 1};
    tensor.memory_offset = static_cast<uint64_t>(i) * 64;
    ids[i] = program.tensor(tensor);
  }
  program.inputs = {ids[0]};
  program.outputs = {ids[1]};
  program.delegate_call(program.delegate(kBackendId, write_payload(delegate.payload)), {ids[0], ids[1]});
  MethodHarness harness(program);
  harness.backends = {&xnnpack_backend()};
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  Floats x = some_floats(12);
  memcpy(harness.method().input_in_place(0)->data, x.data(), 48);
  ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
  for (float& element : x) element = -element;
  EXPECT_EQ(harness.output(0), x);
}

TEST(XnnpackRuntime, OutputsThatOverlapInputsAreWrittenAtTheEnd) {
  // y = x W, once more with each place of y relative to x.
  constexpr int32_t kCount = 32;
  const Floats x = some_floats(kCount), filter = some_floats(16 * 16, 2), expected = linear(x, filter, {}, 16, 16);
  for (const uint64_t offset : {0, 16, 64, 112, 128, 256}) {
    TestDelegate delegate;
    const uint32_t in = delegate.input({2, 16}), out = delegate.output({2, 16});
    const uint32_t hidden = delegate.value(DataType::fp32, {2, 16});
    delegate.node(NodeType::fully_connected, {in, delegate.constant({16, 16}, filter), kNoValue}, hidden);
    delegate.node(NodeType::copy, {hidden}, out);
    schema::TestProgram program;
    for (const auto& [key, bytes] : delegate.named) program.add_named_data(key.c_str(), {bytes.begin(), bytes.end()});
    program.arena_sizes = {0, 512};
    program.inputs = {program.tensor({.sizes = {2, 16}, .memory_id = 1, .memory_offset = 64})};
    program.outputs = {program.tensor({.sizes = {2, 16}, .memory_id = 1, .memory_offset = offset})};
    program.delegate_call(program.delegate(kBackendId, write_payload(delegate.payload)),
                          {program.inputs[0], program.outputs[0]});
    MethodHarness harness(program);
    harness.backends = {&xnnpack_backend()};
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    for (int round = 0; round < 2; ++round) {
      memcpy(harness.method().input_in_place(0)->data, x.data(), x.size() * sizeof(float));
      ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
      expect_near(harness.output(0), expected, 1e-4f);
    }
  }
}

// bf16 linear: values and weights in bf16, computed in fp32, rounded once at the end.
TEST(XnnpackRuntime, Bf16FullyConnectedIsComputedInFp32) {
  const auto halves = [](const Floats& floats) {
    std::vector<uint16_t> bits;
    for (const float f : floats) {
      uint32_t word;
      memcpy(&word, &f, sizeof word);
      bits.push_back(static_cast<uint16_t>(word >> 16));  // exact for these numbers
    }
    return bits;
  };
  const Floats x = some_floats(3 * 7), filter = some_floats(5 * 7, 2), bias = some_floats(5, 3);
  for (const bool has_bias : {false, true}) {
    TestDelegate delegate;
    const uint32_t in = delegate.input({3, 7}, DataType::bf16);
    const uint32_t w = delegate.constant({5, 7}, halves(filter), DataType::bf16);
    const uint32_t b = has_bias ? delegate.constant({5}, halves(bias), DataType::bf16) : kNoValue;
    delegate.node(NodeType::fully_connected, {in, w, b}, delegate.output({3, 5}, DataType::bf16));
    TestRun test(delegate);
    ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
    ASSERT_EQ(test.execute({bytes_of(halves(x))}), Error::Ok) << test.harness().last_error();
    const Floats expected = linear(x, filter, has_bias ? bias : Floats(), 5, 7);
    const std::vector<uint16_t> found = test.output<uint16_t>();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const uint32_t word = uint32_t{found[i]} << 16;
      float f;
      memcpy(&f, &word, sizeof f);
      EXPECT_NEAR(f, expected[i], std::fabs(expected[i]) / 256) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace wick::xnnpack
