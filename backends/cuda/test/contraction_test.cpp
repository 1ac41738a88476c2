// Contractions in tiles: how factors reach shared memory, splits of k, layouts without bank conflicts, and the choice
// of tiles.
#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/schedule.h"
#include "backends/cuda/test/compile/tile_layout_test_support.h"
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::contraction_test {
namespace {

using Contraction = CudaLower;

// Shared memory serves 8 lanes with 16 bytes each at once if they access 8 different groups of 4 banks.
template <uint32_t kChunks>
void expect_no_conflicts() {
  std::vector<bool> taken(wick_text::tile_chunks(64, kChunks));
  for (uint32_t row = 0; row < 64; ++row) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      const uint32_t place = wick_text::chunk_place<kChunks>(row, chunk);
      ASSERT_LT(place, taken.size());
      EXPECT_FALSE(taken[place]);
      taken[place] = true;
    }
  }
  for (uint32_t row = 0; row < 64; row += 8) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      uint32_t groups = 0;
      for (uint32_t r = 0; r < 8; ++r) groups |= 1u << wick_text::chunk_place<kChunks>(row + r, chunk) % 8;
      EXPECT_EQ(groups, 0xffu) << kChunks << " chunks, row " << row << ", chunk " << chunk;
    }
  }
}

template <uint32_t... kChunks>
void expect_no_conflicts_of(std::integer_sequence<uint32_t, kChunks...>) {
  (expect_no_conflicts<kChunks + 1>(), ...);
}

TEST(TileLayout, EightRowsLieInDifferentBanks) {
  expect_no_conflicts_of(std::make_integer_sequence<uint32_t, 64>());
  EXPECT_EQ(wick_text::row_chunks(8), 8u);  // rows that the XOR permutes need no padding
  EXPECT_EQ(wick_text::row_chunks(10), 11u);
}

TEST(TileLayout, EightNeighboursLieInDifferentBanks) {
  for (uint32_t first = 0; first < 256; first += 8) {
    uint32_t two = 0, four = 0, eight = 0;
    for (uint32_t c = first; c < first + 8; ++c) {
      two |= 1u << wick_text::chunk_place<2>(c / 2, c % 2) % 8;
      four |= 1u << wick_text::chunk_place<4>(c / 4, c % 4) % 8;
      eight |= 1u << wick_text::chunk_place<8>(c / 8, c % 8) % 8;
    }
    EXPECT_EQ(two & four & eight, 0xffu) << first;
  }
}

// Single elements: those of 8 lines in four steps are in 32 different banks, and no two chunks share a place.
TEST(TileLayout, FourStepsOfEightLinesLieInDifferentBanks) {
  std::set<uint32_t> places;
  for (uint32_t step = 0; step < 64; ++step) {
    for (uint32_t chunk = 0; chunk < 16; ++chunk) places.insert(wick_text::spread_chunk_place<16>(step, chunk));
  }
  EXPECT_EQ(places.size(), 64u * 16);
  EXPECT_EQ(*places.rbegin(), 64u * 16 - 1);
  for (uint32_t step = 0; step < 64; step += 4) {
    for (uint32_t line = 0; line < 64; line += 8) {
      uint32_t banks = 0;
      for (uint32_t l = line; l < line + 8; ++l) {
        for (uint32_t s = step; s < step + 4; ++s)
          banks |= 1u << (wick_text::spread_chunk_place<16>(s, l / 4) * 4 + l % 4) % 32;
      }
      EXPECT_EQ(banks, 0xffffffffu) << "step " << step << ", line " << line;
    }
  }
}

TEST(TileLayout, TheLinesOfAllThreadsAreAllLinesOnce) {
  for (const bool along_k : {false, true}) {
    std::vector<int> count(64);
    for (uint32_t own = 0; own < 8; ++own) {
      for (uint32_t i = 0; i < 8; ++i)
        ++count[along_k ? wick_text::line_of_thread<8, true>(own, i) : wick_text::line_of_thread<8, false>(own, i)];
    }
    EXPECT_EQ(count, std::vector<int>(64, 1));
  }
}

Schedule tiles(int64_t m, int64_t n, int64_t k, bool by_matrices = true, bool copies = true) {
  ContractionFacts facts;
  facts.m = m;
  facts.n = n;
  facts.k = k;
  facts.by_matrices = by_matrices;
  facts.copies = copies;
  return choose_tiles(facts);
}

TEST(TileChoice, FillsTheDeviceWithSmallTilesAndLargeProductsWithLargeOnes) {
  // One wave of small tiles, because larger ones would leave multiprocessors idle.
  EXPECT_LE(tiles(197, 576, 192).tile.m * tiles(197, 576, 192).tile.n, 32u * 32u);
  for (const bool by_matrices : {false, true}) {
    const Schedule large = tiles(4096, 4096, 4096, by_matrices);
    EXPECT_EQ(large.tile.m, 128u);
    EXPECT_EQ(large.tile.n, by_matrices ? 256u : 128u);
    EXPECT_EQ(large.splits, 1u);
    EXPECT_EQ(large.threads, 256u);
  }
}

TEST(TileChoice, SplitsLongSumsOfFewTilesAndNoOthers) {
  EXPECT_GT(tiles(49, 512, 4608).splits, 1u);
  EXPECT_EQ(tiles(49, 512, 128).splits, 1u);
  EXPECT_EQ(tiles(2048, 2048, 4608).splits, 1u);
}

TEST(TileChoice, SharedMemoryOfEveryTileFitsOnEveryDevice) {
  for (const bool by_matrices : {false, true}) {
    for (int64_t m = 16; m <= 4096; m *= 2) {
      for (int64_t n = 16; n <= 4096; n *= 2) {
        const Schedule s = tiles(m, n, 512, by_matrices);
        EXPECT_LE(s.stages * (s.tile.m + s.tile.n) * s.tile.k * (by_matrices ? 2 : 4),
                  by_matrices ? kMostSharedBytes : kPlainSharedBytes);
        EXPECT_EQ(s.threads, 32 * s.warps_m * s.warps_n);
        EXPECT_GE(s.stages, 2u);
      }
    }
  }
}

TEST(TileChoice, TilesOfTf32FitTooAndGiveEachWarpSixteenLines) {
  for (const bool copies : {false, true}) {
    for (int64_t m = 16; m <= 16384; m *= 2) {
      for (int64_t n = 16; n <= 16384; n *= 2) {
        ContractionFacts facts;
        facts.m = m;
        facts.n = n;
        facts.k = 512;
        facts.by_tf32 = true;
        facts.copies = copies;
        const Schedule s = choose_tiles(facts);
        ASSERT_EQ(s.kind, ScheduleKind::tf32_tiles);
        ASSERT_EQ(arithmetic_of(s), Arithmetic::matrix_tf32);
        ASSERT_LE(bytes_of_tiles(s), 48u << 10);
        ASSERT_EQ(bytes_of_tiles(s), s.stages * (s.tile.m + s.tile.n) * s.tile.k * 4);
        ASSERT_LE(bytes_of_results(s), bytes_of_tiles(s)) << m << " x " << n;
        ASSERT_EQ(s.threads, 32 * s.warps_m * s.warps_n);
        ASSERT_TRUE(s.tile.m / s.warps_m % 16 == 0 && s.tile.n / s.warps_n % 16 == 0);
        ASSERT_TRUE(s.tile.m % 32 == 0 && s.tile.n % 32 == 0 && s.tile.k % 16 == 0 && s.stages >= 2);
        ASSERT_TRUE(copies || (s.tile.m + s.tile.n) * s.tile.k / s.threads <= 24);
      }
    }
  }
}

// They pass through the memory of the tiles, at least one part of each warp's lines at a time.
TEST(TileChoice, ResultsFitWhereTheTilesWere) {
  for (const bool by_matrices : {false, true}) {
    for (const bool copies : {false, true}) {
      for (int64_t m = 2; m <= 16384; m *= 2) {
        for (int64_t n = 16; n <= 16384; n *= 2) {
          for (const int64_t k : {16, 80, 512}) {
            const Schedule s = tiles(m, n, k, by_matrices, copies);
            ASSERT_LE(bytes_of_results(s), bytes_of_tiles(s)) << m << " x " << n << " x " << k;
          }
        }
      }
    }
  }
}

// Normed lines of a factor stay in shared memory as a whole, beside tiles of the other factor.
TEST(TileChoice, NormedLinesStayInSharedMemoryIfTheyFit) {
  Schedule schedule;
  schedule.kind = ScheduleKind::matrix_tiles;
  schedule.threads = 128;
  schedule.tile = {64, 64, 64};
  schedule.stages = 3;
  EXPECT_EQ(panel_steps(schedule, true, 512), 512u);
  EXPECT_EQ(panel_steps(schedule, true, 1024), 0u);  // too many bytes
  schedule.tile = {16, 64, 64};
  EXPECT_EQ(panel_steps(schedule, true, 1024), 1024u);
  EXPECT_EQ(panel_steps(schedule, false, 1024), 0u);
  EXPECT_EQ(panel_steps(schedule, true, 1025), 0u);  // too long
  schedule.threads = 256;
  EXPECT_EQ(panel_steps(schedule, true, 1024), 0u);  // more threads than its lines need
  schedule.threads = 128;
  schedule.kind = ScheduleKind::tf32_tiles;
  EXPECT_EQ(panel_steps(schedule, true, 512), 0u);
}

TEST(TileChoice, AThreadHoldsFewComputedElements) {
  for (const bool by_matrices : {false, true}) {
    uint32_t most = 0;
    for (int64_t m = 16; m <= 4096; m *= 2) {
      for (int64_t n = 16; n <= 16384; n *= 2) {
        const Schedule s = tiles(m, n, 512, by_matrices, false);
        most = std::max(most, (s.tile.m + s.tile.n) * s.tile.k / s.threads);
        EXPECT_GE(s.tile.k, 16u);
      }
    }
    EXPECT_EQ(most, by_matrices ? 32u : 24u);
  }
}

// Factors along k and along their lines, that asynchronous copies can and cannot bring, with partial tiles in m, n and
// k.
std::string products(const char* dtype) {
  return fmt::format(
      R"(graph f(%a: {0}[3, 67, 40], %b: {0}[3, 40, 56], %c: {0}[3, 19, 45], %d: {0}[3, 40, 67], %w: {0}[50, 40]) {{
  %y0: {0}[3, 67, 56] = aten.bmm(%a, %b)
  %t: {0}[3, 56, 40] = aten.permute(%b, [0, 2, 1])
  %y1: {0}[3, 56, 67] = aten.bmm(%t, %d)
  %e: {0}[3, 45, 19] = aten.permute(%c, [0, 2, 1])
  %y2: {0}[3, 45, 45] = aten.bmm(%e, %c)
  %y3: {0}[3, 67, 50] = aten.linear(%a, %w)
  return %y0, %y1, %y2, %y3
}})",
      dtype);
}

TEST_F(Contraction, EveryLayoutOfFactorsGivesTheProduct) {
  for (const auto& [name, dtype, error] :
       {std::tuple("f32", DType::f32, 1e-6), {"bf16", DType::bf16, 1.0 / 128}, {"f16", DType::f16, 1.0 / 1024}}) {
    compile(products(name));
    EXPECT_EQ(launches(), 4u);
    expect_like_portable({numbers(dtype, {3, 67, 40}, 1), numbers(dtype, {3, 40, 56}, 2),
                          numbers(dtype, {3, 19, 45}, 3), numbers(dtype, {3, 40, 67}, 4), numbers(dtype, {50, 40}, 5)},
                         error);
  }
}

TEST_F(Contraction, LongSumsAreSplitAndAddedInOrder) {
  compile(R"(graph f(%x: f32[40, 1030], %w: f32[50, 1030], %y: bf16[40, 2048], %v: bf16[64, 2048]) {
  %a: f32[40, 50] = aten.linear(%x, %w)
  %r: f32[40, 50] = aten.relu(%a)
  %b: bf16[40, 64] = aten.linear(%y, %v)
  return %r, %b
})");
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(plan_.nodes.size(), 2u) << "counts of blocks are not cleared by nodes";
  expect_like_portable({numbers(DType::f32, {40, 1030}, 1), numbers(DType::f32, {50, 1030}, 2),
                        numbers(DType::bf16, {40, 2048}, 3), numbers(DType::bf16, {64, 2048}, 4)},
                       1.0 / 128);
}

// Results of large tiles pass through shared memory in several parts. The last tile is partial.
TEST_F(Contraction, LargeTilesStoreTheirResultsInParts) {
  compile(R"(graph f(%a: bf16[132, 128, 16], %b: bf16[132, 16, 126], %c: bf16[132, 128, 126]) {
  %y: bf16[132, 128, 126] = aten.bmm(%a, %b)
  %z: bf16[132, 128, 126] = aten.add.Tensor(%y, %c)
  return %z
})");
  EXPECT_EQ(launches(), 1u);
  EXPECT_NE(kernel_text(0).find("WICK_NO_UNROLL\n  for (u32 part"), std::string::npos) << kernel_text(0);
  expect_like_portable({numbers(DType::bf16, {132, 128, 16}, 1), numbers(DType::bf16, {132, 16, 126}, 2),
                        numbers(DType::bf16, {132, 128, 126}, 3)},
                       1.0 / 128);
}

// Rows past the last one have no index: none is read or checked.
TEST_F(Contraction, RowsThatAnIndexNamesAreReadUpToTheLastOne) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    compile(fmt::format(R"(graph f(%t: {0}[9, 256], %i: i64[75], %w: {0}[64, 256]) {{
  %a: {0}[75, 256] = aten.embedding(%t, %i)
  %b: {0}[75, 64] = aten.linear(%a, %w, none)
  return %b
}})",
                        dtype == DType::f32 ? "f32" : "bf16"));
    EXPECT_EQ(launches(), 1u);
    const std::string& text = kernel_text(0);
    const size_t inside = text.find("m < 75"), index = text.find("checked_index(");
    ASSERT_NE(index, std::string::npos);
    EXPECT_LT(inside, index) << text;
    EXPECT_NE(text.find(dtype == DType::f32 ? "load_vector<f32, 4>(" : "load_vector<bf16, 8>("), std::string::npos);
    std::vector<int64_t> rows(75);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i * 4 % 9);
    expect_like_portable({numbers(dtype, {9, 256}, 1), integers(rows, {75}), numbers(dtype, {64, 256}, 2)},
                         dtype == DType::f32 ? 1e-5 : 1.0 / 128);
  }
}

// In the weights, channels and taps are contiguous; in the image they are not.
TEST_F(Contraction, WeightsOfAConvolutionAreCopied) {
  for (const auto& [name, dtype, error] : {std::tuple("f32", DType::f32, 1e-6), {"bf16", DType::bf16, 1.0 / 128}}) {
    compile(fmt::format(R"(graph f(%x: {0}[2, 8, 9, 9], %w: {0}[24, 8, 3, 3]) {{
  %y: {0}[2, 24, 9, 9] = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  return %y
}})",
                        name));
    EXPECT_NE(kernel_text(0).find("cp_async16(tile_at"), std::string::npos) << kernel_text(0);
    // f32 elements of the image are copied, too.
    EXPECT_EQ(kernel_text(0).find("held_") == std::string::npos, dtype == DType::f32) << kernel_text(0);
    expect_like_portable({numbers(dtype, {2, 8, 9, 9}, 1), numbers(dtype, {24, 8, 3, 3}, 2)}, error);
  }
}

std::string normed(const char* dtype, int columns, int outputs, int rows = 20) {
  return fmt::format(R"(graph f(%x: {0}[3, {3}, {1}], %g: {0}[{1}], %h: {0}[{1}], %w: {0}[{2}, {1}], %b: {0}[{2}]) {{
  %n: {0}[3, {3}, {1}], %m: {0}[3, {3}, 1], %r: {0}[3, {3}, 1] = aten.native_layer_norm(%x, [{1}], %g, %h, 1e-05)
  %y: {0}[3, {3}, {2}] = aten.linear(%n, %w, %b)
  %e: {0}[3, {3}, {2}] = aten.gelu(%y)
  return %e
}})",
                     dtype, columns, outputs, rows);
}

TEST_F(Contraction, ANormBeforeALinearIsComputedInItsTiles) {
  for (const auto& [name, dtype, error] : {std::tuple("f32", DType::f32, 1e-5), {"bf16", DType::bf16, 1.0 / 64}}) {
    compile(normed(name, 70, 50));
    EXPECT_EQ(launches(), 1u);
    expect_like_portable({numbers(dtype, {3, 20, 70}, 1), numbers(dtype, {70}, 2), numbers(dtype, {70}, 3),
                          numbers(dtype, {50, 70}, 4), numbers(dtype, {50}, 5)},
                         error);
  }
}

TEST_F(Contraction, ANormOfFewRowsTooWhereMatrixInstructionsTakeThem) {
  compile(normed("f32", 70, 50, 2));
  EXPECT_EQ(launches(), 2u);
  compile(normed("bf16", 70, 50, 2));
  EXPECT_EQ(launches(), 1u);
  const DType dtype = DType::bf16;
  expect_like_portable({numbers(dtype, {3, 2, 70}, 1), numbers(dtype, {70}, 2), numbers(dtype, {70}, 3),
                        numbers(dtype, {50, 70}, 4), numbers(dtype, {50}, 5)},
                       1.0 / 64);
}

TEST_F(Contraction, ANormOfShortRowsOrBeforeFewOutputsStaysAKernel) {
  compile(normed("f32", 31, 50));
  EXPECT_EQ(launches(), 2u);
  compile(normed("f32", 70, 15));
  EXPECT_EQ(launches(), 2u);
}

class Tf32 : public CudaLower {
 protected:
  void compile_with(const std::string& text, const char* allow_tf32) {
    text_ = text;
    ++twins_;
    program_ = program_of(text, "cuda", {{"gpu", "none"}, {"twin", twin()}, {"allow-tf32", allow_tf32}}, &result_);
    ASSERT_FALSE(program_.empty());
    ASSERT_EQ(result_.methods[0].delegates, 1u);
    const auto& payload = result_.method_plans[0].delegates[0]->payload;
    ASSERT_EQ(read_plan({payload.data(), payload.size()}, &plan_, nullptr), Error::Ok);
  }
};

float at(const HostTensor& tensor, size_t index) {
  float value;
  std::memcpy(&value, &tensor.bytes[4 * index], 4);
  return value;
}

// Numbers with magnitude 1 to 2 whose mantissa uses all bits. Some are halfway between two TF32 numbers.
HostTensor uneven(const std::vector<int32_t>& sizes, uint64_t seed) {
  HostTensor out = numbers(DType::f32, sizes, seed);
  for (size_t i = 0; i < out.bytes.size() / 4; ++i) {
    const uint32_t word = philox4x32(seed, i).words[1];
    const uint32_t bits = 0x3f800000u | (word & 0x807fffffu);
    const uint32_t kept = word % 7 == 0 ? (bits & 0xffffe000u) | 0x1000u : bits;
    std::memcpy(&out.bytes[4 * i], &kept, 4);
  }
  return out;
}

// Rounds to 10 bits of mantissa, halves away from zero.
float rounded(float x) { return float_from_bits((bits_from_float(x) + 0x1000u) & 0xffffe000u); }

// Emulates the twin's matrix instructions: eight exact products at a time, each sum of them rounded to f32.
template <typename Left, typename Right>
float sum_of_rounded(size_t depth, const Left& left, const Right& right) {
  float sum = 0;
  for (size_t first = 0; first < depth; first += 8) {
    double eight = 0;
    for (size_t k = first; k < std::min(depth, first + 8); ++k)
      eight += static_cast<double>(rounded(left(k))) * static_cast<double>(rounded(right(k)));
    sum = static_cast<float>(eight + static_cast<double>(sum));
  }
  return sum;
}

TEST_F(Tf32, EveryLayoutOfFactorsGivesTheProductOfRoundedFactorsBitByBit) {
  compile_with(products("f32"), "on");
  ASSERT_EQ(launches(), 4u);
  for (const Kernel& kernel : plan_.kernels) {
    EXPECT_TRUE(kernel.schedule.starts_with("TF32 tiles ")) << kernel.schedule;
    EXPECT_EQ(kernel.arithmetic, Arithmetic::matrix_tf32);
  }
  const HostTensor a = uneven({3, 67, 40}, 1), b = uneven({3, 40, 56}, 2), c = uneven({3, 19, 45}, 3),
                   d = uneven({3, 40, 67}, 4), w = uneven({50, 40}, 5);
  // Each factor has an error of at most 2^-11.
  expect_like_portable({a, b, c, d, w}, 0x1p-10);
  const auto got = outputs_of(program_, {a, b, c, d, w}, "cuda-twin=" + twin());
  ASSERT_EQ(got.size(), 4u);
  size_t differ = 0, from_f32 = 0;
  for (size_t i = 0; i < 3; ++i) {
    const auto expect = [&](size_t result, size_t m, size_t n, size_t columns, float wanted) {
      differ += at(got[result].tensor, (i * (result == 2 ? 45 : result == 1 ? 56 : 67) + m) * columns + n) != wanted;
    };
    for (size_t m = 0; m < 67; ++m) {
      for (size_t n = 0; n < 56; ++n) {
        const auto left = [&](size_t k) { return at(a, (i * 67 + m) * 40 + k); };
        const auto right = [&](size_t k) { return at(b, (i * 40 + k) * 56 + n); };
        expect(0, m, n, 56, sum_of_rounded(40, left, right));
        double exact = 0;
        for (size_t k = 0; k < 40; ++k) exact += static_cast<double>(left(k)) * static_cast<double>(right(k));
        from_f32 += static_cast<float>(exact) != at(got[0].tensor, (i * 67 + m) * 56 + n);
        expect(1, n, m, 67, sum_of_rounded(40, right, [&](size_t k) { return at(d, (i * 40 + k) * 67 + m); }));
      }
      for (size_t n = 0; n < 50; ++n)
        expect(3, m, n, 50,
               sum_of_rounded(
                   40, [&](size_t k) { return at(a, (i * 67 + m) * 40 + k); },
                   [&](size_t k) { return at(w, n * 40 + k); }));
    }
    for (size_t m = 0; m < 45; ++m) {
      for (size_t n = 0; n < 45; ++n)
        expect(2, m, n, 45,
               sum_of_rounded(
                   19, [&](size_t k) { return at(c, (i * 19 + k) * 45 + m); },
                   [&](size_t k) { return at(c, (i * 19 + k) * 45 + n); }));
    }
  }
  EXPECT_EQ(differ, 0u);
  EXPECT_GT(from_f32, 3u * 67 * 56 / 2);  // the factors were rounded
}

// A convolution with an epilogue, a norm computed in the tiles of a linear layer, and a long sum in splits.
TEST_F(Tf32, KernelsTakeInWhatFollowsAndSplitLongSums) {
  compile_with(R"(graph f(%x: f32[2, 8, 9, 9], %w: f32[24, 8, 3, 3], %l: f32[40, 1030], %v: f32[50, 1030]) {
  %c: f32[2, 24, 9, 9] = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %r: f32[2, 24, 9, 9] = aten.relu(%c)
  %y: f32[40, 50] = aten.linear(%l, %v)
  return %r, %y
})",
               "on");
  EXPECT_EQ(launches(), 2u);
  ASSERT_EQ(plan_.kernels.size(), 2u);
  for (const Kernel& kernel : plan_.kernels) EXPECT_EQ(kernel.arithmetic, Arithmetic::matrix_tf32) << kernel.schedule;
  EXPECT_NE(plan_.kernels[1].schedule.find("splits"), std::string::npos) << plan_.kernels[1].schedule;
  // Multiples of 1/64 are TF32 numbers, so only sums are rounded.
  expect_like_portable({numbers(DType::f32, {2, 8, 9, 9}, 1), numbers(DType::f32, {24, 8, 3, 3}, 2),
                        numbers(DType::f32, {40, 1030}, 3), numbers(DType::f32, {50, 1030}, 4)},
                       1e-6);
  compile_with(normed("f32", 70, 50), "on");
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(plan_.kernels[0].arithmetic, Arithmetic::matrix_tf32);
  expect_like_portable({uneven({3, 20, 70}, 1), uneven({70}, 2), uneven({70}, 3), uneven({50, 70}, 4), uneven({50}, 5)},
                       0x1p-10);
}

TEST_F(Tf32, OnlyTilesOfF32ChangeAndOnlyIfAllowed) {
  compile(products("f32"));
  const std::vector<uint8_t> before = program_;
  for (const Kernel& kernel : plan_.kernels) EXPECT_EQ(kernel.arithmetic, Arithmetic::f32);
  EXPECT_EQ(kernel_text(0).find("tf32"), std::string::npos);
  compile_with(products("f32"), "off");
  EXPECT_EQ(program_, before);
  compile_with(products("f32"), "on");
  EXPECT_NE(program_, before);
  compile(products("bf16"));
  const std::vector<uint8_t> halves = program_;
  compile_with(products("bf16"), "on");
  EXPECT_EQ(program_, halves);
}

// The results of a tile need more shared memory than so few steps of its factors.
TEST_F(Contraction, ResultsOfNormedLinesOfFewStepsFit) {
  compile(R"(graph f(%x: bf16[16384, 32], %g: bf16[32], %h: bf16[32], %w: bf16[32, 32]) {
  %n: bf16[16384, 32], %m: bf16[16384, 1], %r: bf16[16384, 1] = aten.native_layer_norm(%x, [32], %g, %h, 1e-05)
  %y: bf16[16384, 32] = aten.linear(%n, %w)
  return %y
})");
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::bf16, {16384, 32}, 1), numbers(DType::bf16, {32}, 2),
                        numbers(DType::bf16, {32}, 3), numbers(DType::bf16, {32, 32}, 4)},
                       1.0 / 64);
}

}  // namespace
}  // namespace wick::cuda::contraction_test
