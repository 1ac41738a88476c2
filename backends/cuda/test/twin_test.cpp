// Kernels on the host: launches, waits, reports.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "backends/cuda/test/twin_test_support.h"
#include "backends/cuda/test/vocabulary_test_support.h"
#include "compiler/support/diag.h"

namespace wick::cuda::twin_test {
namespace {

constexpr TwinLibrary::Three kOneBlock = {1, 1, 1};

/// The kernels of all tests in one library, because building a library takes most of the time.
class Twin : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite() {
    delete library_;
    library_ = nullptr;
  }
  void SetUp() override {
    twin.set_order(0);
    twin.check_writes(false);
  }

  static TwinLibrary* library_;
  TwinLibrary& twin = *library_;
};
TwinLibrary* Twin::library_ = nullptr;

// y[row] = x[row] / sqrt(mean(x[row]^2) + 1e-6) * weight, a block of 128 threads for each row.
const KernelText kRmsNorm = {"rmsnorm", R"(
WICK_KERNEL(rmsnorm, 128)(const f32* __restrict__ x, const f32* __restrict__ weight, f32* __restrict__ y, i32 columns) {
  WICK_SHARED(f32, sums, 4);
  const f32* const row = x + static_cast<i64>(block_x()) * columns;
  f32 sum = 0;
  for (i32 i = thread_x(); i < columns; i += 128) sum += row[i] * row[i];
  for (u32 mask = 16; mask != 0; mask /= 2) sum += shuffle_xor(sum, mask);
  if (lane() == 0) sums[thread_x() / 32] = sum;
  block_barrier();
  const f32 total = ((sums[0] + sums[1]) + sums[2]) + sums[3];
  const f32 scale = rsqrt(total / static_cast<f32>(columns) + 1e-6f);
  for (i32 i = thread_x(); i < columns; i += 128) y[static_cast<i64>(block_x()) * columns + i] = row[i] * scale * weight[i];
}
)",
                             true};

// Thread 0 sums the elements that all threads wrote. Without the barrier, it runs too early in one of the orders.
KernelText sum_of_all(bool with_barrier) {
  const std::string text = R"(
WICK_KERNEL(NAME, 64)(i32* out) {
  WICK_SHARED(i32, values, 64);
  values[thread_x()] = thread_x();
  warp_barrier();
  BARRIER;
  i32 sum = 0;
  if (thread_x() == 0) {
    for (i32 i = 0; i < 64; ++i) sum = wrap_add(sum, values[i]);
    *out = sum;
  }
  warp_barrier();
}
)";
  const std::string name = with_barrier ? "sum_with_barrier" : "sum_without";
  return {name, replaced(replaced(text, "BARRIER", with_barrier ? "block_barrier()" : ""), "NAME", name), true};
}

void Twin::SetUpTestSuite() {
  library_ =
      new TwinLibrary({kRmsNorm,
                       sum_of_all(true),
                       sum_of_all(false),
                       {"numbers", R"(
WICK_KERNEL(numbers, 24)(i32* out) {
  const i32 block = (block_z() * grid_y() + block_y()) * grid_x() + block_x();
  const i32 thread = (thread_z() * threads_y() + thread_y()) * threads_x() + thread_x();
  out[block * 24 + thread] = 10000 * block_z() + 1000 * block_y() + 100 * block_x() + 16 * thread_z() + 4 * thread_y() + thread_x();
}
)"},
                       {"block", R"(WICK_KERNEL(block, 64)(i32* out) {
  if (thread_x() < 33) block_barrier();
})",
                        true},
                       {"lines", R"(WICK_KERNEL(lines, 64)(i32* out) {
  if (thread_x() < 32) {
    block_barrier();
  } else {
    block_barrier();
  }
})",
                        true},
                       {"warp", R"(WICK_KERNEL(warp, 64)(i32* out) {
  if (lane() != 5) *out = shuffle_xor(*out, 1);
})",
                        true},
                       {"operation", R"(WICK_KERNEL(operation, 32)(i32* out) {
  lane() == 7 ? static_cast<void>(ballot(true)) : static_cast<void>(shuffle(3, 1));
})",
                        true},
                       {"undeclared", "WICK_KERNEL(undeclared, 32)(i32* out) { block_barrier(); }", false},
                       {"part_of_a_warp", "WICK_KERNEL(part_of_a_warp, 48)(i32* out) { warp_barrier(); }", true},
                       {"misaligned",
                        "WICK_KERNEL(misaligned, 1)(const f32* x, f32* y) {\n"
                        "  store_vector(y, load_vector<f32, 4>(x + 1));\n}",
                        false},
                       {"outside",
                        "WICK_KERNEL(outside, 32)(f32* y) { WICK_SHARED(f32, values, 8); values[thread_x() / 3] = "
                        "1; y[0] = values[0]; }",
                        false},
                       {"conflict",
                        "WICK_KERNEL(conflict, 64)(f32* y) { WICK_SHARED(f32, values, 8); values[thread_x() % 32 / "
                        "4] = thread_x(); block_barrier(); y[0] = values[0]; }",
                        true},
                       {"fresh", R"(
WICK_KERNEL(fresh, 32)(f32* out) {
  WICK_SHARED(f32, fixed, 32);
  WICK_DYNAMIC_SHARED(f32, chosen);
  out[block_x() * 32 + thread_x()] = fixed[thread_x()] + chosen[thread_x()];
  fixed[thread_x()] = 1;
  chosen[thread_x()] = 1;
}
)"},
                       {"copies", R"(
WICK_KERNEL(copies, 1)(const f32* in, f32* out) {
  WICK_SHARED(f32, a, 4);
  WICK_SHARED(f32, b, 4);
  a[0] = b[0] = 9;
  cp_async16(a, in);
  cp_async_commit();
  cp_async16(b, in + 4, 8);
  cp_async_commit();
  out[0] = a[0];
  out[1] = b[0];
  cp_async_wait<1>();
  out[2] = a[0];
  out[3] = b[0];
  cp_async_wait<0>();
  for (i32 i = 0; i < 4; ++i) out[4 + i] = b[i];
}
)",
                        true}});
}

TEST_F(Twin, AnRmsNormGivesTheSameBitsInEveryOrder) {
  constexpr int kRows = 5, kColumns = 300;
  std::vector<float> x(kRows * kColumns), weight(kColumns), first;
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 0.37f) * 3;
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = 0.5f + static_cast<float>(i) / 300;
  twin.check_writes(true);
  for (uint32_t order = 0; order < 3; ++order) {
    twin.set_order(order, 17);
    std::vector<float> y(x.size(), -1);
    ASSERT_EQ(twin.launch("rmsnorm", {kRows, 1, 1}, {128, 1, 1}, 0, x.data(), weight.data(), y.data(), kColumns), "");
    if (order == 0) first = y;
    EXPECT_EQ(y, first);
  }
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int i = 0; i < kColumns; ++i) sum += std::pow(static_cast<double>(x[row * kColumns + i]), 2);
    for (int i = 0; i < kColumns; ++i) {
      const double wanted = x[row * kColumns + i] / std::sqrt(sum / kColumns + 1e-6) * weight[i];
      EXPECT_NEAR(first[row * kColumns + i], wanted, 1e-6 * std::abs(wanted) + 1e-7);
    }
  }
}

TEST_F(Twin, ThreadsAndBlocksAreCountedXFirst) {
  for (uint32_t order = 0; order < 3; ++order) {
    twin.set_order(order, 3);
    std::vector<int32_t> out(24 * 24, -1);
    ASSERT_EQ(twin.launch("numbers", {2, 3, 4}, {4, 3, 2}, 0, out.data()), "");
    size_t i = 0;
    for (int block = 0; block < 24; ++block) {
      for (int thread = 0; thread < 24; ++thread) {
        const int z = block / 6, y = block / 2 % 3, x = block % 2;
        EXPECT_EQ(out[i++], 10000 * z + 1000 * y + 100 * x + 16 * (thread / 12) + 4 * (thread / 4 % 3) + thread % 4);
      }
    }
  }
}

TEST_F(Twin, AMissingBarrierChangesTheResultWithTheOrder) {
  for (const bool with_barrier : {true, false}) {
    int32_t results[2] = {-1, -1};
    for (uint32_t order = 0; order < 2; ++order) {
      twin.set_order(order);
      ASSERT_EQ(
          twin.launch(with_barrier ? "sum_with_barrier" : "sum_without", kOneBlock, {64, 1, 1}, 0, &results[order]),
          "");
    }
    EXPECT_EQ(results[1], 64 * 63 / 2);
    EXPECT_EQ(results[0] == results[1], with_barrier);
  }
}

TEST_F(Twin, DivergenceIsReportedWithBothThreadsAndLines) {
  int32_t out = 0;
  const auto launch = [&](const char* name, uint32_t threads) {
    return twin.launch(name, kOneBlock, {threads, 1, 1}, 0, &out);
  };
  EXPECT_EQ(launch("block", 64),
            "kernel block, block (0, 0, 0): threads of a block diverge: thread (0, 0, 0) waits at block_barrier, line "
            "2, thread (33, 0, 0) has returned");
  EXPECT_EQ(launch("lines", 64),
            "kernel lines, block (0, 0, 0): threads of a block diverge: thread (0, 0, 0) waits at block_barrier, line "
            "3, thread (32, 0, 0) waits at block_barrier, line 5");
  EXPECT_EQ(launch("warp", 64),
            "kernel warp, block (0, 0, 0): threads of a warp diverge: thread (0, 0, 0) waits at shuffle_xor, line 2, "
            "thread (5, 0, 0) has returned");
  EXPECT_EQ(launch("operation", 32),
            "kernel operation, block (0, 0, 0): threads of a warp diverge: thread (0, 0, 0) waits at shuffle, line 2, "
            "thread (7, 0, 0) waits at ballot, line 2");
}

TEST_F(Twin, WhatADeviceWouldNotForgiveIsReported) {
  alignas(16) float x[8] = {}, y[8] = {};
  EXPECT_EQ(twin.launch("undeclared", kOneBlock, {32, 1, 1}, 0, &x[0]),
            "kernel undeclared, block (0, 0, 0): thread (0, 0, 0) waits at block_barrier, line 1, but the kernel is "
            "said to have no barriers");
  EXPECT_EQ(twin.launch("part_of_a_warp", kOneBlock, {48, 1, 1}, 0, &x[0]),
            "kernel part_of_a_warp, block (0, 0, 0): warp_barrier in a block of 48 threads, no multiple of 32");
  EXPECT_EQ(twin.launch("misaligned", kOneBlock, {1, 1, 1}, 0, &x[0], &y[0]),
            "kernel misaligned, block (0, 0, 0): thread (0, 0, 0) accesses 16 bytes at an address that is no multiple "
            "of it, line 2");
  if (!TwinLibrary::kSanitized) {
    EXPECT_EQ(twin.launch("outside", kOneBlock, {32, 1, 1}, 0, &y[0]),
              "kernel outside, block (0, 0, 0): a write outside a shared array of 32 bytes");
  }
  EXPECT_EQ(twin.launch("conflict", kOneBlock, {64, 1, 1}, 0, &y[0]), "");
  twin.check_writes(true);
  EXPECT_EQ(twin.launch("conflict", kOneBlock, {64, 1, 1}, 0, &y[0]).substr(0, 95),
            "kernel conflict, block (0, 0, 0): thread (0, 0, 0) and thread (1, 0, 0) write the same shared m");
  EXPECT_EQ(twin.launch("nothing", kOneBlock, {64, 1, 1}, 0, &y[0]), "no kernel of that name");
  EXPECT_EQ(twin.launch("outside", kOneBlock, {2000, 1, 1}, 0, &y[0]),
            "kernel outside, block (0, 0, 0): no launch of 1 x 1 x 1 blocks of 2000 x 1 x 1 threads");
}

TEST_F(Twin, SharedMemoryStartsAsNaNInEachBlock) {
  std::vector<float> out(64, 0);
  ASSERT_EQ(twin.launch("fresh", {2, 1, 1}, {32, 1, 1}, 128, out.data()), "");
  for (const float value : out) EXPECT_TRUE(std::isnan(value));
}

TEST_F(Twin, AsynchronousCopiesLandWhenTheirGroupIsWaitedFor) {
  alignas(16) const float in[] = {1, 2, 3, 4, 5, 6, 7, 8};
  float out[8] = {};
  ASSERT_EQ(twin.launch("copies", kOneBlock, {1, 1, 1}, 0, &in[0], &out[0]), "");
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]) && std::isnan(out[3]));
  EXPECT_EQ(out[2], 1);
  EXPECT_EQ(std::vector<float>(out + 4, out + 8), (std::vector<float>{5, 6, 0, 0}));
}

TEST_F(Twin, ALibraryOfNoKernelsIsOne) {
  const TwinLibrary none({});
  EXPECT_EQ(none.launch("x", kOneBlock, {1, 1, 1}, 0, 0), "no kernel of that name");
}

TEST_F(Twin, BuildingSaysWhatTheCompilerRefuses) {
  const KernelText wrong = {"wrong", "WICK_KERNEL(wrong, 1)(f32* x) {\n  *x = undeclared_name;\n}"};
  compiler::Status status = build_twin({&wrong, 1}, ::testing::TempDir() + "wick_twin_wrong.so");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diag().code, compiler::Code::internal);
  EXPECT_NE(status.diag().found.find("wrong.cu:2"), std::string::npos) << status.diag().found;
  EXPECT_NE(status.diag().found.find("undeclared_name"), std::string::npos) << status.diag().found;
}

TEST_F(Twin, WithoutACompilerItSaysHowToGetOne) {
  setenv("WICK_CXX", "/no/such/compiler", 1);
  compiler::Status status = build_twin({}, ::testing::TempDir() + "wick_twin_none.so");
  unsetenv("WICK_CXX");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(compiler::exit_code(status.diag().code), 3);
  EXPECT_EQ(compiler::render(status.diag()),
            "error[missing-tool]: no host C++ compiler for the twin of the CUDA kernels\n"
            "  found  none of /no/such/compiler        wanted  a C++17 compiler: clang or g++\n"
            "  help   install clang or g++, or name a compiler with WICK_CXX=/path/compiler\n");
}

TEST_F(Twin, KernelsAreWrittenAsFilesBesideTheirVocabulary) {
  const std::string folder = ::testing::TempDir() + "wick_emit_source_" + std::to_string(getpid());
  std::vector<compiler::FileWriter> files;
  ASSERT_TRUE(emit_source({&kRmsNorm, 1}, folder, files).ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/rmsnorm.cu"));
  ASSERT_TRUE(compiler::finish_all(files).ok());
  const auto read = [&](const char* name) {
    std::ifstream stream(folder + "/" + name);
    return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  };
  EXPECT_EQ(read("rmsnorm.cu"),
            "#include \"vocabulary.h\"\n\nnamespace wick_text {\n" + kRmsNorm.text + "\n}  // namespace wick_text\n");
  EXPECT_EQ(read("vocabulary.h"), "// By wick compile --emit-source.\n#pragma once\n" + device_vocabulary());
  std::vector<compiler::FileWriter> again;
  EXPECT_TRUE(emit_source({&kRmsNorm, 1}, folder, again).ok()) << "its own file";
  for (const char* name : {"/rmsnorm.cu", "/vocabulary.h"}) {
    std::ofstream(folder + name) << "int words;\n";
    again.clear();
    const compiler::Status refused = emit_source({&kRmsNorm, 1}, folder, again);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.diag().code, compiler::Code::usage);
    EXPECT_NE(refused.diag().message.find(name), std::string::npos) << refused.diag().message;
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(emit_source({&kRmsNorm, 1}, "/proc/no/such/folder", files).diag().code, compiler::Code::file_io);
}

}  // namespace
}  // namespace wick::cuda::twin_test
