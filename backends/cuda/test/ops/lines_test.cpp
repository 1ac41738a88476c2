// Sorted rows and scans of all lengths: by a thread, by a block, and by several blocks.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

class CudaLines : public CudaLower {
 protected:
  void compile_one(const std::string& signature, const std::string& results, const std::string& call) {
    std::string names;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == '%') names += (names.empty() ? "" : ", ") + results.substr(i, results.find(':', i) - i);
    }
    compile(fmt::format("graph f({}) {{\n  {} = {}\n  return {}\n}}", signature, results, call, names));
  }

  // Numbers with many equal ones, NaN and infinities.
  static HostTensor special(DType dtype, const std::vector<int32_t>& sizes, uint64_t seed) {
    HostTensor out = numbers(dtype, sizes, seed);
    const size_t bytes = dtype_size_bytes(dtype);
    const float values[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f};
    for (size_t i = 0; i * bytes < out.bytes.size(); i += 7) {
      const float value = values[i % 5];
      const uint16_t half = dtype == DType::f16 ? Half::from_float(value) : BFloat16::from_float(value);
      std::memcpy(&out.bytes[i * bytes], dtype == DType::f32 ? static_cast<const void*>(&value) : &half, bytes);
    }
    return out;
  }

  static HostTensor integers(const std::vector<int32_t>& sizes, uint64_t seed) {
    HostTensor out;
    out.dtype = DType::i64;
    out.sizes.assign(sizes.begin(), sizes.end());
    size_t count = 1;
    for (const int32_t size : sizes) count *= static_cast<size_t>(size);
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<int64_t>(philox4x32(seed, i).words[0] % 1000) - 500;
      uint8_t bytes[8];
      std::memcpy(bytes, &value, 8);
      out.bytes.insert(out.bytes.end(), bytes, bytes + 8);
    }
    return out;
  }
};

// --- sorting ---

TEST_F(CudaLines, ABlockSortsARowOfUpTo1024Elements) {
  for (const int length : {33, 64, 200, 1024}) {
    compile_one(fmt::format("%x: f32[3, {}]", length), fmt::format("%v: f32[3, {0}], %i: i64[3, {0}]", length),
                "aten.sort(%x)");
    EXPECT_EQ(launches(), 1u);
    expect_bits_of_portable({special(DType::f32, {3, length}, 1)});
  }
}

TEST_F(CudaLines, ShortRowsCompareTheirElements) {
  compile_one("%x: f32[40, 32]", "%v: f32[40, 32], %i: i64[40, 32]", "aten.sort(%x, -1, true)");
  EXPECT_EQ(launches(), 1u);
  expect_bits_of_portable({special(DType::f32, {40, 32}, 1)});
}

// 1025 elements are 2 tiles, 5000 are 5.
TEST_F(CudaLines, LongerRowsAreTilesThatAreMergedTwoByTwo) {
  compile_one("%x: f32[2, 1025]", "%v: f32[2, 1025], %i: i64[2, 1025]", "aten.sort(%x)");
  EXPECT_EQ(launches(), 2u);
  expect_bits_of_portable({special(DType::f32, {2, 1025}, 1)});
  compile_one("%x: bf16[2, 5000]", "%v: bf16[2, 5000], %i: i64[2, 5000]", "aten.sort(%x, 1, true)");
  EXPECT_EQ(launches(), 4u);
  expect_bits_of_portable({special(DType::bf16, {2, 5000}, 2)});
}

TEST_F(CudaLines, SortsIntegersAlongAnyDimension) {
  compile_one("%x: i64[2, 2100, 3]", "%v: i64[2, 2100, 3], %i: i64[2, 2100, 3]", "aten.sort(%x, 1)");
  expect_bits_of_portable({integers({2, 2100, 3}, 3)});
}

TEST_F(CudaLines, TheElementsOfAFunctionAreSortedWhereTheyAreComputed) {
  compile(R"(graph f(%x: f32[4, 500], %y: f32[4, 500]) {
  %s: f32[4, 500] = aten.add.Tensor(%x, %y)
  %e: f32[4, 500] = aten.neg(%s)
  %v: f32[4, 500], %i: i64[4, 500] = aten.sort(%e)
  return %v, %i
})");
  EXPECT_EQ(launches(), 1u);
  expect_bits_of_portable({numbers(DType::f32, {4, 500}, 1), numbers(DType::f32, {4, 500}, 2)});
}

// The first elements of rows, and the elements at their positions. The positions of equal elements are eager's choice
// on a CPU, and may differ. Adding 0 turns -0, which equals 0, into 0.
std::string first_elements(const char* dtype, int rows, int length, int count, bool largest) {
  return fmt::format(R"(graph f(%x: {0}[{1}, {2}]) {{
  %v: {0}[{1}, {3}], %i: i64[{1}, {3}] = aten.topk(%x, {3}, -1, {4})
  %y: {0}[{1}, {3}] = aten.gather(%x, 1, %i)
  %a: {0}[{1}, {3}] = aten.add.Scalar(%v, 0.0)
  %b: {0}[{1}, {3}] = aten.add.Scalar(%y, 0.0)
  return %a, %b
}})",
                     dtype, rows, length, count, largest);
}

// 40 tiles keep 200 elements: one more tile sorts them.
TEST_F(CudaLines, FewFirstElementsAreSelectedTileByTile) {
  compile_one("%x: f32[1, 40000]", "%v: f32[1, 5], %i: i64[1, 5]", "aten.topk(%x, 5)");
  EXPECT_EQ(launches(), 2u);
  compile(first_elements("f32", 1, 40000, 5, true));
  expect_bits_of_portable({numbers(DType::f32, {1, 40000}, 1)});
  expect_bits_of_portable({special(DType::f32, {1, 40000}, 1)});
}

TEST_F(CudaLines, ManyFirstElementsAreMerged) {
  compile_one("%x: f16[2, 5000]", "%v: f16[2, 300], %i: i64[2, 300]", "aten.topk(%x, 300, -1, false)");
  EXPECT_EQ(launches(), 4u);
  compile(first_elements("f16", 2, 5000, 300, false));
  expect_bits_of_portable({numbers(DType::f16, {2, 5000}, 1)});
  expect_bits_of_portable({special(DType::f16, {2, 5000}, 1)});
  compile(first_elements("f32", 1, 3000, 2000, true));
  expect_bits_of_portable({numbers(DType::f32, {1, 3000}, 1)});
  expect_bits_of_portable({special(DType::f32, {1, 3000}, 1)});
}

TEST_F(CudaLines, LengthsOfRunTimeAreSorted) {
  compile(R"(graph f(%x: f32[2, s0]) {
  range s0: 1..6000
  %v: f32[2, s0], %i: i64[2, s0] = aten.sort(%x)
  return %v, %i
})");
  for (const int length : {1, 31, 1024, 1025, 3000, 6000})
    expect_bits_of_portable({special(DType::f32, {2, length}, 1)});
}

// Among equal elements, kthvalue gives the position of the first, mode of the last. The portable kernels give those
// that eager gives on a CPU.
TEST_F(CudaLines, OrderStatisticsAreThoseOfSortedRows) {
  for (const int length : {50, 1500}) {
    compile(fmt::format(R"(graph f(%x: f32[2, {}]) {{
  %k: f32[2], %a: i64[2] = aten.kthvalue(%x, 7)
  %l: f32[2], %b: i64[2] = aten.kthvalue(%x, 1)
  %r: i64[2, 1] = aten.unsqueeze(%a, 1)
  %s: f32[2, 1] = aten.gather(%x, 1, %r)
  %t: i64[2, 1] = aten.unsqueeze(%b, 1)
  %u: f32[2, 1] = aten.gather(%x, 1, %t)
  %m: f32[2], %c: i64[2] = aten.median.dim(%x, 1)
  %n: f32[2, 1], %d: i64[2, 1] = aten.nanmedian.dim(%x, 1, true)
  %o: f32[2], %e: i64[2] = aten.mode(%x)
  %v: i64[2, 1] = aten.unsqueeze(%e, 1)
  %g: f32[2, 1] = aten.gather(%x, 1, %v)
  %w: f32[2, 1] = aten.add.Scalar(%g, 0.0)
  %z: f32[2] = aten.add.Scalar(%o, 0.0)
  %p: f32[] = aten.median(%x)
  %q: f32[] = aten.nanmedian(%x)
  return %k, %s, %l, %u, %m, %c, %n, %d, %z, %w, %p, %q
}})",
                        length));
    expect_bits_of_portable({numbers(DType::f32, {2, length}, 1)});
    expect_bits_of_portable({special(DType::f32, {2, length}, 2)});
  }
}

// --- scans ---

TEST_F(CudaLines, RunningSumsOfAnyLengthAreExactForIntegers) {
  // Lines for a thread, for a block, and few long lines that several blocks share.
  for (const auto& [sizes, kernels] :
       {std::pair(std::vector{5, 32}, 1u), {{3, 1000}, 1u}, {{2, 16384}, 1u}, {{2, 16385}, 3u}, {{1, 60000}, 3u}}) {
    const std::string shape = fmt::format("{}, {}", sizes[0], sizes[1]);
    compile_one("%x: i64[" + shape + "]", "%y: i64[" + shape + "]", "aten.cumsum(%x, 1)");
    EXPECT_EQ(launches(), kernels);
    expect_bits_of_portable({integers(sizes, 1)});
  }
}

TEST_F(CudaLines, RunningSumsOfHalvesAreRoundedOnce) {
  for (const auto& [name, dtype, error] :
       {std::tuple("bf16", DType::bf16, 1.0 / 256), {"f16", DType::f16, 1.0 / 2048}, {"f32", DType::f32, 1e-6}}) {
    compile_one(fmt::format("%x: {}[2, 20000]", name), fmt::format("%y: {}[2, 20000]", name), "aten.cumsum(%x, 1)");
    expect_like_portable({numbers(dtype, {2, 20000}, 1)}, error);
    compile_one(fmt::format("%x: {}[7, 300]", name), fmt::format("%y: {}[7, 300]", name), "aten.cumsum(%x, 1)");
    expect_like_portable({numbers(dtype, {7, 300}, 1)}, error);
  }
}

TEST_F(CudaLines, WhatReadsARunningSumIsPartOfItsKernel) {
  compile(R"(graph f(%x: f32[4, 500], %y: f32[4, 500]) {
  %s: f32[4, 500] = aten.cumsum(%x, 1)
  %e: f32[4, 500] = aten.mul.Tensor(%s, %y)
  return %e
})");
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {4, 500}, 1), numbers(DType::f32, {4, 500}, 2)}, 1e-6);
}

TEST_F(CudaLines, RunningExtremesKeepTheLastOfEqualOnes) {
  for (const int length : {20, 700, 40000}) {
    compile(fmt::format(R"(graph f(%x: f32[2, {0}]) {{
  %v: f32[2, {0}], %i: i64[2, {0}] = aten.cummax(%x, 1)
  %w: f32[2, {0}], %j: i64[2, {0}] = aten.cummin(%x, 1)
  return %v, %i, %w, %j
}})",
                        length));
    expect_bits_of_portable({numbers(DType::f32, {2, length}, 1)});
    expect_bits_of_portable({special(DType::f32, {2, length}, 1)});
  }
}

TEST_F(CudaLines, RunningSumsOfExponentialsStayInRange) {
  for (const int length : {20, 700, 20000}) {
    compile_one(fmt::format("%x: f32[2, {}]", length), fmt::format("%y: f32[2, {}]", length),
                "aten.logcumsumexp(%x, 1)");
    expect_like_portable({numbers(DType::f32, {2, length}, 1)}, 1e-6);
  }
}

TEST_F(CudaLines, ANumberIsALineOfItself) {
  compile(R"(graph f(%x: f32[], %y: i32[], %z: f32[1]) {
  %v: f32[], %i: i64[] = aten.cummax(%x, 0)
  %w: f32[], %j: i64[] = aten.cummin(%x, -1)
  %p: f32[] = aten.cumprod(%x, 0)
  %l: f32[] = aten.logcumsumexp(%x, 0)
  %s: i64[] = aten.cumsum(%y, 0)
  %h: bf16[] = aten.cumsum(%x, 0, bf16)
  %q: f32[1], %k: i64[1] = aten.cummax(%z, 0)
  return %v, %i, %w, %j, %p, %l, %s, %h, %q, %k
})");
  HostTensor seven;
  seven.dtype = DType::i32;
  seven.bytes = {7, 0, 0, 0};
  expect_bits_of_portable({numbers(DType::f32, {}, 1), seven, numbers(DType::f32, {1}, 2)});
}

TEST_F(CudaLines, LengthsOfRunTimeAreSummed) {
  compile(R"(graph f(%x: i64[2, s0]) {
  range s0: 1..50000
  %y: i64[2, s0] = aten.cumsum(%x, 1)
  return %y
})");
  EXPECT_EQ(launches(), 3u);
  for (const int length : {1, 4096, 4097, 50000}) expect_bits_of_portable({integers({2, length}, 1)});
}

}  // namespace
}  // namespace wick::cuda
