// The kernels give the bytes of CMSIS-NN, whose outputs for seeded cases cmsis_nn_vectors.inc holds as hashes.
#include "backends/cortex_m/kernels/oracle_test_support.h"
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
        return window("cortex_m::quantized_transpose_conv2d.out", {c_.outputs, c_.kernel[0], c_.kernel[1], c_.channels},
                      kind);
      case Kind::linear: return linear();
      case Kind::matmul: return matmul();
      case Kind::add:
      case Kind::mul: return elementwise(kind);
      case Kind::softmax: return softmax();
      default: return pool(kind);
    }
  }

 private:
  const VectorCase& c_;
  const TestTensor scratch_ = make_out(DType::u8, {1 << 18});

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
    if (kind == Kind::transposed) args.emplace_back(scratch_);
    TestTensor out = make_out(DType::i8, {c_.batch, c_.outputs, c_.out_height, c_.out_width}, {0, 2, 3, 1});
    return call(name, std::move(args), out);
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
    for (const Arg& arg : std::vector<Arg>{pair(c_.dilation), false, 0, 0, c_.min, c_.max}) args.push_back(arg);
    return call("cortex_m::quantized_max_pool2d.out", std::move(args), out);
  }
};

TEST(CortexMVectors, KernelsGiveTheBytesOfCmsisNn) {
  EXPECT_GE(std::size(kVectors), 1000u);
  for (const Vector& vector : kVectors) {
    const VectorCase c = make_case(vector.kind, vector.seed);
    EXPECT_EQ(hash(KernelRun(c).of(vector.kind)), vector.hash)
        << "kind " << static_cast<int>(vector.kind) << " seed " << vector.seed;
  }
}

TEST(CortexMVectors, KernelsGiveTheBytesOfCmsisNnForTheShapesOfItsTests) {
  EXPECT_GE(std::size(kShapeVectors), 190u);
  for (size_t i = 0; i < std::size(kShapeVectors); ++i) {
    const ShapeVector& vector = kShapeVectors[i];
    const VectorCase c = make_case(vector.kind, vector.shape, i);
    EXPECT_EQ(hash(KernelRun(c).of(vector.kind)), vector.hash) << vector.name;
  }
}

}  // namespace
}  // namespace wick::vectors
