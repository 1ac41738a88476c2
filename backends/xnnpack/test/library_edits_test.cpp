// How Wick's build of the library differs from the library as it comes (cmake/xnnpack/edits.cmake).
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/test/runtime_test_support.h"
#include "runtime/platform/thread_pool.h"

namespace wick::xnnpack {
namespace {

enum class Kind { linear, convolution, linear_by_rows, int8_convolution };

constexpr uint32_t kHeight = 5, kWidth = 4, kKernel = 3;
/// Few enough for the halves of 1300 channels to have less than 1 MiB of weights, too many for the whole.
uint32_t input_channels(Kind kind) {
  switch (kind) {
    case Kind::linear: return 256;
    case Kind::convolution: return 32;
    case Kind::linear_by_rows: return 1024;
    case Kind::int8_convolution: return 128;
  }
  return 0;
}

bool is_linear(Kind kind) { return kind == Kind::linear || kind == Kind::linear_by_rows; }

template <typename T>
std::vector<T> some_items(size_t count) {
  const Floats floats = some_floats(count, 5);
  std::vector<T> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = static_cast<T>(floats[i] * (sizeof(T) == 1 ? 60.f : 1.f));
  return items;
}

/// Constants of channels `first` and `count` more of a layer.
template <typename T>
uint32_t part(TestDelegate& delegate, Shape dims, uint32_t first, DataType type = DataType::fp32,
              Quantization quantization = {}) {
  const size_t each = count_of(dims) / dims[0];
  const std::vector<T> all = some_items<T>((first + dims[0]) * each);
  const auto begin = all.begin() + static_cast<ptrdiff_t>(first * each);
  return delegate.constant<T>(dims, {begin, all.end()}, type, quantization);
}

void add_linear(TestDelegate& delegate, Kind kind, uint32_t rows, uint32_t first, uint32_t count) {
  const uint32_t ic = input_channels(kind), in = delegate.input({rows, ic}), out = delegate.output({rows, count});
  if (kind == Kind::linear) {
    const uint32_t weights = part<float>(delegate, {count, ic}, first), bias = part<float>(delegate, {count}, first);
    delegate.node(NodeType::fully_connected, {in, weights, bias}, out);
    return;
  }
  Quantization per_token, per_channel;
  per_token.kind = Quantization::Kind::per_token;
  per_token.num_nonbatch_dims = 1;
  per_channel.kind = Quantization::Kind::per_channel;
  per_channel.scale_constant = delegate.named_constant(bytes_of(Floats(count, 0.25f)));
  const uint32_t integers = delegate.value(DataType::qdint8, {rows, ic}, per_token);
  const uint32_t weights = part<int8_t>(delegate, {count, ic}, first, DataType::qcint8, per_channel);
  delegate.node(NodeType::convert, {in}, integers);
  delegate.node(NodeType::fully_connected, {integers, weights, kNoValue}, out);
}

void add_convolution(TestDelegate& delegate, Kind kind, uint32_t images, uint32_t first, uint32_t count) {
  const uint32_t ic = input_channels(kind);
  const Shape from = {images, kHeight, kWidth, ic}, to = {images, kHeight, kWidth, count},
              filter = {count, kKernel, kKernel, ic};
  const uint32_t in = delegate.input(from);
  uint32_t x = in, y = 0, weights = 0;
  const uint32_t out = delegate.output(to);
  if (kind == Kind::convolution) {
    y = out;
    weights = part<float>(delegate, filter, first);
  } else {
    Quantization activation, weight, result;
    activation.kind = weight.kind = result.kind = Quantization::Kind::per_tensor;
    activation.scale = 0.02f;
    activation.zero_point = 3;
    weight.scale = 0.01f;
    result.scale = 0.25f;
    x = delegate.value(DataType::qint8, from, activation);
    y = delegate.value(DataType::qint8, to, result);
    weights = part<int8_t>(delegate, filter, first, DataType::qint8, weight);
    delegate.node(NodeType::convert, {in}, x);
  }
  PayloadNode& node = delegate.node(NodeType::conv_2d, {x, weights, kNoValue}, y);
  node.window.kernel[0] = node.window.kernel[1] = kKernel;
  node.window.stride[0] = node.window.stride[1] = node.window.dilation[0] = node.window.dilation[1] = 1;
  node.window.pad_top = node.window.pad_left = node.window.pad_bottom = node.window.pad_right = 1;
  node.groups = 1;
  node.group_input_channels = ic;
  node.group_output_channels = count;
  if (y != out) delegate.node(NodeType::convert, {y}, out);
}

/// Results of channels `first` and `count` more for each batch, one load with sizes of at most the largest.
std::vector<Floats> results(Kind kind, uint32_t first, uint32_t count, const std::vector<uint32_t>& batches,
                            int num_threads) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t most = *std::max_element(batches.begin(), batches.end()), ic = input_channels(kind);
  (is_linear(kind) ? add_linear : add_convolution)(delegate, kind, most, first, count);
  TestRun test(delegate);
  ThreadPool pool(num_threads);
  test.harness().options.parallelism = &pool;
  EXPECT_EQ(test.load(), Error::Ok) << test.harness().text;
  if (::testing::Test::HasFailure()) return {};
  std::vector<Floats> all;
  for (const uint32_t batch : batches) {
    const int32_t size = static_cast<int32_t>(batch), channels = static_cast<int32_t>(ic);
    const std::vector<int32_t> sizes =
        is_linear(kind) ? std::vector<int32_t>{size, channels} : std::vector<int32_t>{size, kHeight, kWidth, channels};
    HostTensor32 x(sizes, some_floats(batch * (is_linear(kind) ? ic : ic * kHeight * kWidth)));
    EXPECT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
    EXPECT_EQ(test.harness().method().execute(), Error::Ok) << test.harness().last_error();
    all.push_back(test.output<float>());
  }
  return all;
}

/// Rows of `a` and `b` side by side.
Floats beside(const Floats& a, size_t a_columns, const Floats& b, size_t b_columns) {
  Floats joined;
  for (size_t row = 0; row * a_columns < a.size(); ++row) {
    const auto left = a.begin() + static_cast<ptrdiff_t>(row * a_columns),
               right = b.begin() + static_cast<ptrdiff_t>(row * b_columns);
    joined.insert(joined.end(), left, left + static_cast<ptrdiff_t>(a_columns));
    joined.insert(joined.end(), right, right + static_cast<ptrdiff_t>(b_columns));
  }
  return joined;
}

/// Layers with weights beyond 1 MiB take the columns of the result outermost; their halves, whose weights are smaller,
/// do not.
TEST(LibraryEdits, LargeWeightsGiveWhatTheirHalvesGive) {
  for (const Kind kind : {Kind::linear, Kind::convolution, Kind::linear_by_rows, Kind::int8_convolution}) {
    const std::vector<uint32_t> batches =
        is_linear(kind) ? std::vector<uint32_t>{37, 1, 8, 2, 37} : std::vector<uint32_t>{2, 1, 3};
    for (const uint32_t channels :
         {1300u, 1013u, kind == Kind::linear ? 1020u : 907u, kind == Kind::linear ? 1021u : 908u}) {
      const uint32_t half = channels / 2;
      const std::vector<Floats> left = results(kind, 0, half, batches, 1),
                                right = results(kind, half, channels - half, batches, 1);
      for (const int num_threads : {1, 2, 3}) {
        SCOPED_TRACE(::testing::Message() << "kind " << static_cast<int>(kind) << ", " << channels << " channels, "
                                          << num_threads << " threads");
        const std::vector<Floats> whole = results(kind, 0, channels, batches, num_threads);
        ASSERT_FALSE(HasFailure());
        for (size_t i = 0; i < batches.size(); ++i) {
          EXPECT_TRUE(whole[i] == beside(left[i], half, right[i], channels - half)) << "batch " << batches[i];
        }
      }
    }
  }
}

size_t heap_bytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

TEST(LibraryEdits, RowsOfMinusInfinityGiveZerosWhereTheyShould) {
  constexpr float kLow = -std::numeric_limits<float>::infinity();
  constexpr uint32_t kColumns = 37;
  for (const bool zero_rows : {false, true}) {
    TestDelegate delegate;
    const uint32_t in = delegate.input({3, kColumns}), out = delegate.output({3, kColumns});
    delegate.node(NodeType::softmax, {in}, out).flags = zero_rows ? kZeroRows : 0u;
    Floats scores(3 * kColumns, kLow);
    scores[2 * kColumns - 1] = 2;
    std::fill(scores.begin() + 2 * kColumns, scores.end(), 0.5f);
    TestRun test(delegate);
    ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
    ASSERT_EQ(test.execute({bytes_of(scores)}), Error::Ok) << test.harness().last_error();
    const Floats got = test.output<float>();
    ASSERT_EQ(got.size(), scores.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const float want = i < 2 * kColumns ? (i + 1 == 2 * kColumns ? 1.f : 0.f) : 1.f / kColumns;
      if (i < kColumns && !zero_rows)
        EXPECT_TRUE(std::isnan(got[i])) << "element " << i;
      else
        EXPECT_NEAR(got[i], want, 1e-6) << "element " << i;
    }
  }
}

TEST(LibraryEdits, TwoValuesAliveTakeTheRoomOfTwo) {
  constexpr uint32_t kRows = 4096, kColumns = 64, kLayers = 8;
  constexpr size_t kValueBytes = size_t{kRows} * kColumns * 4;
  TestDelegate delegate;
  uint32_t at = delegate.input({kRows, kColumns});
  const uint32_t weights = delegate.constant({kColumns, kColumns}, some_floats(kColumns * kColumns));
  for (uint32_t i = 0; i < kLayers; ++i) {
    const Shape dims = {kRows, kColumns};
    const uint32_t next = i + 1 == kLayers ? delegate.output(dims) : delegate.value(DataType::fp32, dims);
    delegate.node(NodeType::fully_connected, {at, weights, kNoValue}, next);
    at = next;
  }
  MethodHarness harness(delegate.program());
  harness.backends = {&xnnpack_backend()};
  const size_t before = heap_bytes();
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  const size_t taken = heap_bytes() - before;
  // Two of the seven values inside, the method's arena with input and output, and room for copies of these.
  if (taken < 4 * kValueBytes) GTEST_SKIP() << "this build's allocator does not tell what it holds";
  EXPECT_LT(taken, 7 * kValueBytes);
}

}  // namespace
}  // namespace wick::xnnpack
