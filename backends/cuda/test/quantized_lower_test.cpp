// Quantized tensors: what is stored, the number of kernels, and results on the twin.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::quantized_lower_test {
namespace {

// "[1, -3, ..]": integers from `low` to `high`.
std::string integers(size_t count, int low, int high, uint64_t seed) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    const int value = low + static_cast<int>(philox4x32(seed, i).words[0] % static_cast<uint32_t>(high - low + 1));
    out += fmt::format("{}{}", i == 0 ? "" : ", ", value);
  }
  return "[" + out + "]";
}
// Multiples of 1 / 1024, which all floating dtypes hold exactly.
std::string scales(size_t count, uint64_t seed) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", (1 + philox4x32(seed, i).words[0] % 31) / 1024.0);
  return "[" + out + "]";
}

class CudaQuantized : public CudaLower {
 protected:
  uint64_t constant_bytes() const {
    uint64_t bytes = 0;
    for (const Buffer& buffer : plan_.buffers) bytes += buffer.space == Space::constant ? buffer.size_bytes : 0;
    return bytes;
  }
};

struct Weights {
  const char* dtype;  // of activations and scales
  int rows;           // of activations
  int group;          // elements that share a scale
  bool asymmetric;
  int least, largest;  // range of the elements
};

constexpr int kOutputs = 50, kDepth = 192;

// A linear layer as torchao writes it for weight-only quantization.
std::string linear_text(const Weights& w, int depth = kDepth) {
  const size_t groups = static_cast<size_t>(kOutputs * depth / w.group);
  return fmt::format(R"(graph f(%x: {0}[{1}, {3}], %b: {0}[{2}]) {{
  const %q: i8[{2}, {3}] = {5}
  const %s: {0}[{2}, {4}] = {6}
  const %z: i8[{2}, {4}] = {7}
  %w: {0}[{2}, {3}] = torchao.dequantize_affine(%q, [1, {8}], %s, %z, i8, {9}, {10}, {0})
  %y: {0}[{1}, {2}] = aten.linear(%x, %w, %b)
  %r: {0}[{1}, {2}] = aten.relu(%y)
  return %r
}})",
                     w.dtype, w.rows, kOutputs, depth, depth / w.group,
                     integers(static_cast<size_t>(kOutputs * depth), w.least, w.largest, 1), scales(groups, 2),
                     integers(groups, w.asymmetric ? -5 : 0, w.asymmetric ? 6 : 0, 3), w.group, w.least, w.largest);
}

DType dtype_named(const std::string& name) {
  return name == "f32" ? DType::f32 : name == "f16" ? DType::f16 : DType::bf16;
}

TEST_F(CudaQuantized, WeightsOfALinearStayIntegersOfFourOrEightBits) {
  for (const Weights& w : {Weights{"f32", 1, 192, false, -128, 127}, Weights{"f32", 3, 32, true, -128, 127},
                           Weights{"f32", 40, 64, false, -8, 7}, Weights{"f32", 8, 32, true, -8, 7},
                           Weights{"bf16", 5, 96, true, -8, 7}, Weights{"bf16", 33, 32, false, -8, 7},
                           Weights{"f16", 70, 192, true, -128, 127}, Weights{"f16", 1, 64, true, -8, 7}}) {
    SCOPED_TRACE(fmt::format("{}, {} rows, groups of {}, {} .. {}", w.dtype, w.rows, w.group, w.least, w.largest));
    compile(linear_text(w));
    EXPECT_EQ(launches(), 1u);
    const DType dtype = dtype_named(w.dtype);
    const size_t groups = static_cast<size_t>(kOutputs * kDepth / w.group), weights = kOutputs * kDepth;
    // Zero points that are all 0 are not stored. Those within -8 .. 7 are packed, too.
    const size_t zeros = w.asymmetric ? (groups >= 64 ? groups / 2 : groups) : 0;
    EXPECT_EQ(constant_bytes(), (w.least == -8 ? weights / 2 : weights) + groups * dtype_size_bytes(dtype) + zeros);
    expect_like_portable({numbers(dtype, {w.rows, kDepth}, 4), numbers(dtype, {kOutputs}, 5)},
                         dtype == DType::f32   ? 1e-6
                         : dtype == DType::f16 ? 1.0 / 1024
                                               : 1.0 / 128);
  }
}

// torchao's int8 weights: the integers are converted to the dtype of the activations, and the scale multiplies the sum.
TEST_F(CudaQuantized, WeightsThatAreOnlyConvertedStayIntegers) {
  for (const auto& [rows, dtype] : {std::pair(4, "bf16"), {20, "bf16"}, {4, "f16"}, {20, "f32"}}) {
    compile(fmt::format(R"(graph f(%x: {0}[{1}, 64]) {{
  const %q: i8[48, 64] = {2}
  const %s: {0}[48] = {3}
  %t: i8[64, 48] = aten.permute(%q, [1, 0])
  %w: {0}[64, 48] = aten._to_copy(%t, {0})
  %m: {0}[{1}, 48] = aten.mm(%x, %w)
  %y: {0}[{1}, 48] = aten.mul.Tensor(%m, %s)
  return %y
}})",
                        dtype, rows, integers(48 * 64, -128, 127, 1), scales(48, 2)));
    EXPECT_EQ(launches(), 1u);
    const DType named = dtype_named(dtype);
    EXPECT_EQ(constant_bytes(), 48u * 64 + 48 * dtype_size_bytes(named));
    expect_like_portable({numbers(named, {rows, 64}, 3)}, named == DType::f32   ? 1e-6
                                                          : named == DType::f16 ? 1.0 / 1024
                                                                                : 1.0 / 128);
  }
}

TEST_F(CudaQuantized, WholeZeroPointsOfGroupsMayBeFloats) {
  compile(fmt::format(R"(graph f(%x: f32[4, 64]) {{
  const %q: i8[16, 64] = {}
  const %s: f32[16, 2] = {}
  const %z: f32[16, 2] = {}
  %w: f32[16, 64] = quantized_decomposed.dequantize_per_channel_group(%q, %s, %z, -8, 7, i8, 32, f32)
  %y: f32[4, 16] = aten.linear(%x, %w)
  return %y
}})",
                      integers(16 * 64, -8, 7, 1), scales(32, 2), integers(32, -3, 4, 3)));
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(constant_bytes(), 16u * 32 + 2 * 32 * 4);
  expect_like_portable({numbers(DType::f32, {4, 64}, 3)}, 1e-6);
}

// A warp for each output reads the weights, 16 bytes at a time, once for all rows.
TEST_F(CudaQuantized, UpToEightRowsShareOneReadingOfTheWeights) {
  const auto schedule_of = [&](const Weights& w) {
    const std::string folder = folder_.file(fmt::format("source{}", ++twins_));
    CompileResult ignored;
    program_of(linear_text(w), "cuda", {{"gpu", "none"}, {"emit-source", folder}}, &ignored);
    std::string all;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(file.path());
      if (file.path().extension() == ".cu") all += std::string(std::istreambuf_iterator<char>(in), {});
    }
    return all;
  };
  EXPECT_NE(schedule_of({"f32", 8, 32, true, -8, 7}).find("load_vector<u8, 16>"), std::string::npos);
  EXPECT_NE(schedule_of({"bf16", 1, 32, true, -128, 127}).find("load_vector<i8, 16>"), std::string::npos);
  EXPECT_EQ(schedule_of({"f32", 9, 32, true, -8, 7}).find("load_vector<u8, 16>"), std::string::npos);
}

// 16 outputs for each warp. Weights are rounded to the dtype of the activations, as in eager.
TEST_F(CudaQuantized, MatrixInstructionsTakeWeightsWithoutZeroPoints) {
  for (const auto& [depth, w] : {std::pair(256, Weights{"bf16", 1, 32, false, -8, 7}),
                                 {1024, Weights{"f16", 3, 64, false, -8, 7}},
                                 {128, Weights{"bf16", 8, 128, false, 0, 15}},
                                 {192, Weights{"bf16", 2, 192, false, -128, 127}},
                                 {256, Weights{"f16", 1, 32, false, -128, 127}}}) {
    SCOPED_TRACE(fmt::format("{}, {} rows, groups of {}, {} .. {}", w.dtype, w.rows, w.group, w.least, w.largest));
    compile(linear_text(w, depth));
    EXPECT_EQ(launches(), 1u);
    EXPECT_EQ(plan_.kernels[0].schedule,
              "warps per 16 columns, vectors of " + std::to_string(w.largest > 15 ? 16 : 32));
    const DType dtype = dtype_named(w.dtype);
    expect_like_portable({numbers(dtype, {w.rows, depth}, 4), numbers(dtype, {kOutputs}, 5)},
                         dtype == DType::f16 ? 1.0 / 1024 : 1.0 / 128);
  }
}

// More tiles than warps: blocks loop over them. The norm before them is computed once per block.
TEST_F(CudaQuantized, WarpsWalkOverManyOutputs) {
  compile(R"(graph f(%x: bf16[1, 64], %g: bf16[64], %q: i8[33900, 64], %s: bf16[33900, 1]) {
  %n: bf16[1, 64] = aten.rms_norm(%x, [64], %g, 1e-05)
  %w: bf16[33900, 64] = torchao.dequantize_affine(%q, [1, 64], %s, none, i8, -128, 127, bf16)
  %y: bf16[1, 33900] = aten.linear(%n, %w)
  return %y
})");
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(plan_.kernels[0].schedule, "warps per 16 columns, vectors of 16");
  expect_like_portable({numbers(DType::bf16, {1, 64}, 1), numbers(DType::bf16, {64}, 2),
                        numbers(DType::i8, {33900, 64}, 3), numbers(DType::bf16, {33900, 1}, 4)},
                       1.0 / 128);
}

// A norm, and two matrices of floats whose columns one kernel combines: a block takes 32 columns of each.
TEST_F(CudaQuantized, MatrixInstructionsTakeOneRowOfFloats) {
  for (const auto& [name, dtype, error] :
       {std::tuple("bf16", DType::bf16, 1.0 / 128), {"f16", DType::f16, 1.0 / 1024}}) {
    compile(fmt::format(R"(graph f(%x: {0}[1, 256], %n: {0}[256], %g: {0}[4300, 256], %u: {0}[4300, 256]) {{
  %y: {0}[1, 256] = aten.rms_norm(%x, [256], %n, 1e-05)
  %a: {0}[1, 4300] = aten.linear(%y, %g)
  %b: {0}[1, 4300] = aten.linear(%y, %u)
  %c: {0}[1, 4300] = aten.silu(%a)
  %d: {0}[1, 4300] = aten.mul.Tensor(%c, %b)
  return %d
}})",
                        name));
    EXPECT_EQ(launches(), 1u);
    EXPECT_EQ(plan_.kernels[0].schedule, "warps per 16 columns, vectors of 8");
    expect_like_portable({numbers(dtype, {1, 256}, 1), numbers(dtype, {256}, 2), numbers(dtype, {4300, 256}, 3),
                          numbers(dtype, {4300, 256}, 4)},
                         error);
  }
}

// Lanes load chunks while they multiply others. A row of more than 32 KiB is read from global memory.
TEST_F(CudaQuantized, LongRowsOfFloats) {
  compile(R"(graph f(%x: bf16[1, 4096], %y: bf16[1, 20480], %v: bf16[40, 4096], %w: bf16[16, 20480]) {
  %a: bf16[1, 40] = aten.linear(%x, %v)
  %b: bf16[1, 16] = aten.linear(%y, %w)
  return %a, %b
})");
  EXPECT_EQ(launches(), 2u);
  expect_like_portable({numbers(DType::bf16, {1, 4096}, 1), numbers(DType::bf16, {1, 20480}, 2),
                        numbers(DType::bf16, {40, 4096}, 3), numbers(DType::bf16, {16, 20480}, 4)},
                       1.0 / 128);
}

TEST_F(CudaQuantized, OneElementBeyondFourBitsKeepsABytePerElement) {
  for (const int largest : {7, 8}) {
    compile(fmt::format(R"(graph f(%x: f32[2, 80]) {{
  const %q: i8[1, 80] = [{}, -8, {}]
  %w: f32[1, 80] = quantized_decomposed.dequantize_per_tensor(%q, 0.25, 0, -128, 127, i8)
  %y: f32[2, 80] = aten.mul.Tensor(%x, %w)
  return %y
}})",
                        largest, integers(78, -8, 7, 1).substr(1, integers(78, -8, 7, 1).size() - 2)));
    EXPECT_EQ(constant_bytes(), largest == 7 ? 40u : 80u);
    expect_like_portable({numbers(DType::f32, {2, 80}, 1)}, 0);
  }
}

TEST_F(CudaQuantized, RowsOfAPackedTableAreGathered) {
  compile(fmt::format(R"(graph f(%i: i64[5]) {{
  const %q: i8[12, 64] = {}
  const %s: f32[12, 2] = {}
  %w: f32[12, 64] = torchao.dequantize_affine(%q, [1, 32], %s, none, i8, -8, 7)
  %y: f32[5, 64] = aten.embedding(%w, %i)
  return %y
}})",
                      integers(12 * 64, -8, 7, 1), scales(24, 2)));
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(constant_bytes(), 12u * 32 + 24 * 4);
  HostTensor index;
  index.dtype = DType::i64;
  index.sizes = {5};
  for (const int64_t value : {0, 11, 3, 3, 7}) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    index.bytes.insert(index.bytes.end(), bytes, bytes + 8);
  }
  expect_like_portable({index}, 0);
}

TEST_F(CudaQuantized, ScalesAndZeroPointsOfBlocksAreOneKernelAndThoseOfThePortableKernels) {
  for (const auto& [dtype, mapping, blocks, sizes, keeps] : {std::tuple("f32", "ASYMMETRIC", "[1, 96]", "[5]", false),
                                                             {"f32", "SYMMETRIC", "[1, 32]", "[5, 3]", false},
                                                             {"bf16", "ASYMMETRIC", "[1, 96]", "[5, 1]", true},
                                                             {"f16", "SYMMETRIC", "[5, 96]", "[1, 1]", true}}) {
    compile(fmt::format(R"(graph f(%x: {0}[5, 96]) {{
  %s: {0}{3}, %z: i8{3} = torchao.choose_qparams_affine(%x, "{1}", {2}, i8, -128, 127, none, none, i8, {4})
  %y: f32{3} = aten._to_copy(%z, f32)
  %t: f32{3} = aten.add.Tensor(%y, 1000.0)
  return %s, %t
}})",
                        dtype, mapping, blocks, sizes, keeps));
    EXPECT_EQ(launches(), 2u);  // the zero point is converted to a float
    expect_like_portable({numbers(dtype_named(dtype), {5, 96}, 6)}, 0);
  }
}

// The padding is the real number 0, whatever integer stands for it.
TEST_F(CudaQuantized, PaddingOfAConvolutionIsZeroNotTheZeroPoint) {
  compile(fmt::format(R"(graph f(%x: f32[2, 8, 6, 6], %b: f32[16]) {{
  const %q: i8[16, 8, 3, 3] = {}
  const %s: f32[16] = {}
  const %z: i64[16] = {}
  %e: i8[2, 8, 6, 6] = quantized_decomposed.quantize_per_tensor(%x, 0.0078125, -37, -128, 127, i8)
  %d: f32[2, 8, 6, 6] = quantized_decomposed.dequantize_per_tensor(%e, 0.0078125, -37, -128, 127, i8)
  %w: f32[16, 8, 3, 3] = quantized_decomposed.dequantize_per_channel(%q, %s, %z, 0, -127, 127, i8)
  %c: f32[2, 16, 6, 6] = aten.convolution(%d, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %r: f32[2, 16, 6, 6] = aten.relu(%c)
  %o: i8[2, 16, 6, 6] = quantized_decomposed.quantize_per_tensor(%r, 0.0625, -128, -128, 127, i8)
  %y: f32[2, 16, 6, 6] = quantized_decomposed.dequantize_per_tensor(%o, 0.0625, -128, -128, 127, i8)
  return %y
}})",
                      integers(16 * 72, -127, 127, 1), scales(16, 2), integers(16, 0, 0, 3)));
  EXPECT_EQ(launches(), 2u);  // one quantizes the image; one is convolution, relu, quantize, dequantize
  EXPECT_EQ(constant_bytes(), 16u * 72 + 16 * 4);
  expect_like_portable({numbers(DType::f32, {2, 8, 6, 6}, 1), numbers(DType::f32, {16}, 2)}, 0);
}

TEST_F(CudaQuantized, PaddingOfAConvolutionIsZeroNotTheFunctionOfZero) {
  compile(R"(graph f(%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3]) {
  %e: f32[1, 2, 5, 5] = aten.cos(%x)
  %y: f32[1, 3, 5, 5] = aten.convolution(%e, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {1, 2, 5, 5}, 1), numbers(DType::f32, {3, 2, 3, 3}, 2)}, 1e-6);
}

void set_element(HostTensor& tensor, size_t index, float value) {
  std::memcpy(&tensor.bytes[4 * index], &value, sizeof value);
}

TEST_F(CudaQuantized, ValuesWithoutARangeFailTheCall) {
  compile(R"(graph f(%x: f32[4]) {
  %s: f64[1], %z: i64[1] = quantized_decomposed.choose_qparams.tensor(%x, -128, 127, 1.1920928955078125e-07, i8)
  %q: i8[4] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8)
  %y: f32[4] = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, -128, 127, i8)
  return %y
})");
  HostTensor x = numbers(DType::f32, {4}, 1);
  expect_like_portable({x}, 0);
  set_element(x, 2, std::numeric_limits<float>::quiet_NaN());
  expect_error({x}, "quantized_decomposed.choose_qparams.tensor: the values are not all finite");
}

TEST_F(CudaQuantized, AScaleThatIsNotPositiveFailsTheCall) {
  compile(R"(graph f(%x: f32[4], %s: f32[1]) {
  %z: i64[1] = aten.full([1], 3, i64)
  %q: i8[4] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8)
  %y: f32[4] = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8)
  return %y
})");
  HostTensor scale = numbers(DType::f32, {1}, 1);
  set_element(scale, 0, 0.03125f);
  const HostTensor x = numbers(DType::f32, {4}, 2);
  expect_like_portable({x, scale}, 0);
  for (const float bad : {0.0f, -1.0f, std::numeric_limits<float>::infinity()}) {
    set_element(scale, 0, bad);
    expect_error({x, scale}, "the scale is not positive and finite");
  }
}

}  // namespace
}  // namespace wick::cuda::quantized_lower_test
