// The kernels give the bytes of CMSIS-NN, whose outputs for seeded cases cmsis_nn_vectors.inc holds as hashes.
#include <algorithm>
#include <set>
#include <string>

#include "backends/cortex_m/kernels/int4_test_support.h"
#include "backends/cortex_m/kernels/oracle_test_support.h"
#include "tests/cortex_m/recurrent_cases.h"
#include "tests/cortex_m/vector_cases.h"

namespace wick::vectors {
namespace {

using cortex_m::runs;
using test::Arg;
using test::make_out;
using test::TestTensor;

struct Vector {
  Kind kind;
  uint64_t seed, hash;
};

constexpr Vector kVectors[] = {
#define VECTOR(kind, seed, hash) {Kind::kind, seed, hash},
#include "tests/cortex_m/cmsis_nn_vectors.inc"
#undef VECTOR
};

/// Elements in the order of memory; rank 4 is NCHW in channels-last memory.
template <typename T>
TestTensor tensor(DType dtype, std::vector<int32_t> sizes, const std::vector<T>& elements, bool channels_last) {
  TestTensor t =
      make_out(dtype, std::move(sizes), channels_last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{});
  EXPECT_GE(elements.size(), t.tensor.numel);
  memcpy(t.tensor.data, elements.data(), t.tensor.nbytes());
  return t;
}

struct ShapeVector {
  Kind kind;
  const char* name;
  Shape shape;
  uint64_t hash;
};

constexpr ShapeVector kShapeVectors[] = {
#define SHAPE(kind, name, numbers, hash) {Kind::kind, name, Shape numbers, hash},
#include "tests/cortex_m/cmsis_nn_shapes.inc"
#undef SHAPE
};

constexpr size_t kTestsOfCmsisNn = 251;

class KernelRun {
 public:
  explicit KernelRun(const VectorCase& c) : c_(c) {}

  std::vector<int8_t> of(Kind kind) {
    switch (kind) {
      case Kind::convolution:
        return window("cortex_m::quantized_conv2d.out",
                      {c_.outputs, c_.kernel[0], c_.kernel[1], c_.channels / c_.groups}, kind);
      case Kind::depthwise:
        return window("cortex_m::quantized_depthwise_conv2d.out", {1, c_.kernel[0], c_.kernel[1], c_.outputs}, kind);
      case Kind::transposed:
        if (!has_stated_size(c_, 0) || !has_stated_size(c_, 1)) return transposed_as_convolution();
        return window("cortex_m::quantized_transpose_conv2d.out", {c_.outputs, c_.kernel[0], c_.kernel[1], c_.channels},
                      kind);
      case Kind::linear: return linear();
      case Kind::matmul: return matmul();
      case Kind::add:
      case Kind::mul: return elementwise(kind);
      case Kind::softmax: return softmax();
      case Kind::elementwise_minimum:
      case Kind::elementwise_maximum: return extremum(kind);
      case Kind::pad: return pad();
      case Kind::transpose: return transpose();
      case Kind::convolution_int4: return convolution_int4();
      case Kind::depthwise_int4: return depthwise_int4();
      case Kind::linear_int4: return linear_int4();
      default: return pool(kind);
    }
  }

 private:
  const VectorCase& c_;
  const TestTensor scratch_ = make_out(DType::u8, {1 << 18}), filter_scratch_ = make_out(DType::u8, {1 << 18});

  static std::vector<int64_t> pair(const int32_t values[2]) { return {values[0], values[1]}; }
  TestTensor image() const { return tensor(DType::i8, {c_.batch, c_.channels, c_.height, c_.width}, c_.x, true); }
  TestTensor row(const std::vector<int32_t>& values) const { return tensor(DType::i32, {c_.outputs}, values, false); }
  std::vector<int8_t> call(const char* name, std::vector<Arg> args, TestTensor& out) const {
    args.emplace_back(out);
    EXPECT_TRUE(runs(name, std::move(args)));
    const std::vector<uint8_t> bytes = out.bytes();
    return {bytes.begin(), bytes.end()};
  }

  std::vector<int8_t> window(const char* name, const std::vector<int32_t>& sizes, Kind kind) const {
    const TestTensor x = image(), w = tensor(DType::i8, sizes, c_.w, false), bias = row(c_.bias);
    const TestTensor multipliers = row(c_.multipliers), shifts = row(c_.shifts);
    const int32_t ends[] = {end_padding(c_, 0), end_padding(c_, 1)};
    std::vector<Arg> args{x, w, bias, pair(c_.stride), pair(c_.padding)};
    if (kind != Kind::transposed && (ends[0] != c_.padding[0] || ends[1] != c_.padding[1])) {
      name = kind == Kind::depthwise ? "wick_cortex_m::depthwise_conv2d.out" : "wick_cortex_m::conv2d.out";
      args.back() = std::vector<int64_t>{c_.padding[0], c_.padding[1], ends[0], ends[1]};
    }
    if (kind == Kind::transposed) args.emplace_back(std::vector<int>{0, 0});
    args.emplace_back(pair(c_.dilation));
    if (kind == Kind::depthwise) args.emplace_back(c_.outputs / c_.channels);
    for (const Arg& arg :
         std::vector<Arg>{c_.input_offset, c_.output_offset, multipliers, shifts, c_.min, c_.max, scratch_})
      args.push_back(arg);
    if (kind == Kind::transposed) args.emplace_back(filter_scratch_);
    TestTensor out = make_out(DType::i8, {c_.batch, c_.outputs, c_.out_height, c_.out_width}, {0, 2, 3, 1});
    return call(name, std::move(args), out);
  }
  /// Rows of `count` weights of four bits, as the compiler packs them.
  TestTensor packed(const std::vector<int32_t>& sizes, int32_t count) const {
    cortex_m::Random random(1);
    return cortex_m::make_ints(DType::u8, sizes, cortex_m::packed_int4(random, {c_.w.begin(), c_.w.end()}, count));
  }
  static int32_t row_bytes(int32_t count) { return (count + 7) / 8 * 4; }
  std::vector<int64_t> paddings() const {
    return {c_.padding[0], c_.padding[1], end_padding(c_, 0), end_padding(c_, 1)};
  }
  std::vector<int8_t> convolution_int4() const {
    const int32_t terms = c_.kernel[0] * c_.kernel[1] * c_.channels;
    const TestTensor x = image(), w = packed({c_.outputs, row_bytes(terms)}, terms), bias = row(c_.bias);
    const TestTensor multipliers = row(c_.multipliers), shifts = row(c_.shifts);
    TestTensor out = make_out(DType::i8, {c_.batch, c_.outputs, c_.out_height, c_.out_width}, {0, 2, 3, 1});
    return call("wick_cortex_m::conv2d_int4.out",
                {x, w, bias, nullptr, pair(c_.kernel), c_.groups, pair(c_.stride), paddings(), pair(c_.dilation),
                 c_.input_offset, c_.output_offset, multipliers, shifts, c_.min, c_.max, scratch_},
                out);
  }
  std::vector<int8_t> depthwise_int4() const {
    const TestTensor x = image(), bias = row(c_.bias), multipliers = row(c_.multipliers), shifts = row(c_.shifts);
    const TestTensor w = packed({1, c_.kernel[0], c_.kernel[1], row_bytes(c_.outputs)}, c_.outputs);
    TestTensor out = make_out(DType::i8, {c_.batch, c_.outputs, c_.out_height, c_.out_width}, {0, 2, 3, 1});
    return call("wick_cortex_m::depthwise_conv2d_int4.out",
                {x, w, bias, pair(c_.stride), paddings(), pair(c_.dilation), c_.outputs / c_.channels, c_.input_offset,
                 c_.output_offset, multipliers, shifts, c_.min, c_.max, scratch_},
                out);
  }
  std::vector<int8_t> linear_int4() const {
    const int32_t rows = c_.batch * c_.height;
    const TestTensor x = tensor(DType::i8, {rows, c_.channels}, c_.x, false), bias = row(c_.bias);
    const TestTensor w = packed({c_.outputs, row_bytes(c_.channels)}, c_.channels);
    const TestTensor multiplier = tensor(DType::i32, {1}, c_.multipliers, false),
                     shift = tensor(DType::i32, {1}, c_.shifts, false);
    TestTensor out = make_out(DType::i8, {rows, c_.outputs});
    return call(
        "wick_cortex_m::linear_int4.out",
        {x, w, bias, nullptr, c_.input_offset, c_.filter_offset, c_.output_offset, multiplier, shift, c_.min, c_.max},
        out);
  }
  /// Sizes that stock's operator cannot state: a convolution over the input with zeros between and around its elements.
  std::vector<int8_t> transposed_as_convolution() const {
    const int32_t rows = c_.out_height + c_.kernel[0] - 1, columns = c_.out_width + c_.kernel[1] - 1;
    std::vector<int8_t> spread(static_cast<size_t>(c_.batch * rows * columns * c_.channels),
                               static_cast<int8_t>(-c_.input_offset));
    for (int32_t n = 0; n < c_.batch; ++n) {
      for (int32_t i = 0; i < c_.height * c_.width; ++i) {
        const int32_t y = i / c_.width * c_.stride[0] + c_.kernel[0] - 1 - c_.padding[0];
        const int32_t x = i % c_.width * c_.stride[1] + c_.kernel[1] - 1 - c_.padding[1];
        if (y < 0 || y >= rows || x < 0 || x >= columns) continue;
        std::copy_n(c_.x.begin() + (n * c_.height * c_.width + i) * c_.channels, c_.channels,
                    spread.begin() + ((n * rows + y) * columns + x) * c_.channels);
      }
    }
    VectorCase as_convolution = c_;
    as_convolution.height = rows, as_convolution.width = columns, as_convolution.x = std::move(spread);
    const int32_t taps = c_.kernel[0] * c_.kernel[1];
    for (int32_t i = 0; i < c_.outputs * taps; ++i)
      std::copy_n(c_.w.begin() + (i / taps * taps + taps - 1 - i % taps) * c_.channels, c_.channels,
                  as_convolution.w.begin() + i * c_.channels);
    for (int axis = 0; axis < 2; ++axis) as_convolution.stride[axis] = 1, as_convolution.padding[axis] = 0;
    return KernelRun(as_convolution).of(Kind::convolution);
  }
  std::vector<int8_t> extremum(Kind kind) const {
    std::vector<int32_t> a(c_.numbers, c_.numbers + 4), b(c_.numbers + 4, c_.numbers + 8), sizes;
    for (size_t d = 0; d < 4; ++d) sizes.push_back(std::max(a[d], b[d]));
    const TestTensor x = tensor(DType::i8, a, c_.x, false), w = tensor(DType::i8, b, c_.w, false);
    TestTensor out = make_out(DType::i8, sizes);
    return call(kind == Kind::elementwise_minimum ? "cortex_m::minimum.out" : "cortex_m::maximum.out", {x, w}, out);
  }
  std::vector<int8_t> pad() const {
    const std::vector<int32_t> sizes(c_.numbers, c_.numbers + 4);
    const std::vector<int64_t> before(c_.numbers + 4, c_.numbers + 8), after(c_.numbers + 8, c_.numbers + 12);
    return padded(tensor(DType::i8, sizes, c_.x, false), sizes, before, after, c_.numbers[12], false).second;
  }
  /// The tensor, and its bytes. Pads are in the order of memory.
  std::pair<TestTensor, std::vector<int8_t>> padded(const TestTensor& x, std::vector<int32_t> sizes,
                                                    const std::vector<int64_t>& before,
                                                    const std::vector<int64_t>& after, int32_t value,
                                                    bool channels_last) const {
    const std::vector<uint8_t> order =
        channels_last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 1, 2, 3};
    for (size_t d = 0; d < 4; ++d) sizes[order[d]] += static_cast<int32_t>(before[d] + after[d]);
    TestTensor out = make_out(DType::i8, sizes, channels_last ? order : std::vector<uint8_t>{});
    const std::vector<int8_t> bytes = call("cortex_m::pad.out", {x, before, after, value}, out);
    return {std::move(out), bytes};
  }
  std::vector<int8_t> transpose() const {
    const int32_t* end = std::find(c_.numbers, c_.numbers + 4, 0);
    const std::vector<int32_t> sizes(c_.numbers, end);
    const std::vector<int64_t> order(c_.numbers + 4, c_.numbers + 4 + (end - c_.numbers));
    std::vector<int32_t> to;
    for (const int64_t d : order) to.push_back(sizes[static_cast<size_t>(d)]);
    TestTensor out = make_out(DType::i8, to);
    return call("cortex_m::transpose.out", {tensor(DType::i8, sizes, c_.x, false), order}, out);
  }
  std::vector<int8_t> linear() const {
    const int32_t rows = c_.batch * c_.height;
    const TestTensor x = tensor(DType::i8, {rows, c_.channels}, c_.x, false), bias = row(c_.bias);
    const TestTensor w = tensor(DType::i8, {c_.outputs, c_.channels}, c_.w, false);
    TestTensor out = make_out(DType::i8, {rows, c_.outputs});
    return call("cortex_m::quantized_linear.out",
                {x, w, bias, nullptr, c_.input_offset, c_.filter_offset, c_.output_offset,
                 std::vector<int>{c_.multipliers[0]}, std::vector<int>{c_.shifts[0]}, c_.max, c_.min},
                out);
  }
  std::vector<int8_t> matmul() const {
    const TestTensor x = tensor(DType::i8, {c_.batch, c_.height, c_.channels}, c_.x, false);
    const TestTensor w = tensor(DType::i8, {c_.batch, c_.outputs, c_.channels}, c_.w, false);
    TestTensor out = make_out(DType::i8, {c_.batch, c_.height, c_.outputs});
    return call("cortex_m::quantized_batch_matmul.out",
                {x, c_.input_offset, w, c_.filter_offset, c_.output_offset, c_.multipliers[0], c_.shifts[0], scratch_},
                out);
  }
  std::vector<int8_t> elementwise(Kind kind) const {
    const std::vector<int32_t> sizes{c_.batch, c_.channels, c_.height, c_.width};
    const TestTensor x = image(), w = tensor(DType::i8, sizes, c_.w, true);
    TestTensor out = make_out(DType::i8, sizes, {0, 2, 3, 1});
    // Offsets are negated zero points, and 128 stands for -128.
    if (kind == Kind::mul)
      return call("cortex_m::quantized_mul.out",
                  {x, -c_.input_offset, w, -c_.filter_offset, c_.output_offset, c_.multipliers[0], c_.shifts[0]}, out);
    return call("cortex_m::quantized_add.out",
                {x, -c_.input_offset, c_.multipliers[0], c_.shifts[0], w, -c_.filter_offset, c_.multipliers[1],
                 c_.shifts[1], c_.output_offset, c_.multipliers[2], c_.shifts[2], c_.min, c_.max},
                out);
  }
  std::vector<int8_t> softmax() const {
    const std::vector<int32_t> sizes{c_.batch * c_.height * c_.width, c_.channels};
    const TestTensor x = tensor(DType::i8, sizes, c_.x, false);
    TestTensor out = make_out(DType::i8, sizes);
    return call("cortex_m::softmax.out", {x, 1, 0, -128, c_.multipliers[0], c_.shifts[0], diff_min(c_)}, out);
  }
  std::vector<int8_t> pool(Kind kind) const {
    const TestTensor x = image();
    TestTensor out = make_out(DType::i8, {c_.batch, c_.outputs, c_.out_height, c_.out_width}, {0, 2, 3, 1});
    std::vector<Arg> args{x, pair(c_.kernel), pair(c_.stride), pair(c_.padding)};
    if (kind == Kind::average) {
      const bool is_ceil = positions(c_, 0) != c_.out_height || positions(c_, 1) != c_.out_width;
      for (const Arg& arg : std::vector<Arg>{is_ceil, 0, 1, 0, scratch_}) args.push_back(arg);
      return call("cortex_m::quantized_avg_pool2d.out", std::move(args), out);
    }
    // What the window takes beyond stock's padding is padded before, as the compiler does with ceil mode.
    const TestTensor more =
        padded(x, {c_.batch, c_.channels, c_.height, c_.width}, {0, 0, 0, 0},
               {0, end_padding(c_, 0) - c_.padding[0], end_padding(c_, 1) - c_.padding[1], 0}, -128, true)
            .first;
    if (end_padding(c_, 0) > c_.padding[0] || end_padding(c_, 1) > c_.padding[1]) args[0] = more;
    for (const Arg& arg : std::vector<Arg>{pair(c_.dilation), false, 0, 0, c_.min, c_.max}) args.push_back(arg);
    return call("cortex_m::quantized_max_pool2d.out", std::move(args), out);
  }
};

TEST(CortexMVectors, KernelsGiveTheBytesOfCmsisNn) {
  EXPECT_GE(std::size(kVectors), 1300u);
  for (const Vector& vector : kVectors) {
    const VectorCase c = make_case(vector.kind, vector.seed);
    EXPECT_EQ(hash(KernelRun(c).of(vector.kind)), vector.hash)
        << "kind " << static_cast<int>(vector.kind) << " seed " << vector.seed;
  }
}

TEST(CortexMVectors, KernelsGiveTheBytesOfCmsisNnForTheShapesOfItsTests) {
  std::set<std::string> names;
  for (const LstmShape& shape : kLstmShapes) names.insert(shape.name);  // recurrent_vectors_test.cpp has these
  for (const SvdfShape& shape : kSvdfShapes) names.insert(shape.name);
  for (const ShapeVector& vector : kShapeVectors) names.insert(vector.name);
  EXPECT_EQ(names.size(), kTestsOfCmsisNn);
  for (size_t i = 0; i < std::size(kShapeVectors); ++i) {
    const ShapeVector& vector = kShapeVectors[i];
    const VectorCase c = make_case(vector.kind, vector.shape, i);
    EXPECT_EQ(hash(KernelRun(c).of(vector.kind)), vector.hash) << vector.name;
  }
}

}  // namespace
}  // namespace wick::vectors
