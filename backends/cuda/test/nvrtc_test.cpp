// Compiles kernels to device code. Tests that need NVRTC are skipped without it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "backends/cuda/nvrtc/compile.h"
#include "backends/cuda/nvrtc/library.h"
#include "backends/cuda/test/matrix_test_support.h"
#include "backends/cuda/test/vocabulary_test_support.h"

namespace wick::cuda {
namespace {

const KernelText kTwice = {"twice", R"(
WICK_KERNEL(twice, 256)(const f32* __restrict__ x, f32* __restrict__ y, i32 count) {
  const i32 i = block_x() * 256 + thread_x();
  if (i < count) y[i] = x[i] * 2;
}
)"};

#define SKIP_WITHOUT_NVRTC() \
  if (auto library = nvrtc(); !library.ok()) GTEST_SKIP() << compiler::render(library.diag())

std::vector<DeviceCode> compiled(const std::vector<KernelText>& kernels, Span<const Architecture> architectures) {
  auto codes = compile_device_code({kernels.data(), kernels.size()}, architectures);
  EXPECT_TRUE(codes.ok()) << (codes.ok() ? "" : compiler::render(codes.diag()));
  return codes.ok() ? *codes : std::vector<DeviceCode>();
}

TEST(Nvrtc, GivesCubinsOfTheirArchitecturesAndPtx) {
  SKIP_WITHOUT_NVRTC();
  const std::vector<DeviceCode> codes = compiled({kTwice}, default_architectures());
  ASSERT_EQ(codes.size(), 5u);
  for (const DeviceCode& code : codes) {
    const std::string bytes(code.bytes.begin(), code.bytes.end());
    if (code.architecture.is_ptx) {
      EXPECT_TRUE(code.resources.empty());
      EXPECT_NE(bytes.find(".target sm_90"), std::string::npos);
      EXPECT_EQ(bytes.back(), '\0');
      continue;
    }
    // An ELF file for machine 190; the architecture is in its flags.
    EXPECT_EQ(bytes.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(code.bytes[18], 190);
    EXPECT_EQ(code.bytes[49], code.architecture.number);
    ASSERT_EQ(code.resources.size(), 1u);
    EXPECT_EQ(code.resources[0].name, "twice");
    EXPECT_GT(code.resources[0].registers, 0u);
    EXPECT_EQ(code.resources[0].spill_bytes, 0u);
  }
}

TEST(Nvrtc, GivesCodeForOneCapabilityAlone) {
  SKIP_WITHOUT_NVRTC();
  const KernelText kernel = {"together", R"(
WICK_KERNEL(together, 128)(f32* x) {
  asm volatile("wgmma.fence.sync.aligned;");
  x[thread_x()] = 1;
}
)"};
  constexpr Architecture kExact = {90, false, true}, kPlain = {90};
  EXPECT_EQ(architecture_name(kExact), "sm_90a");
  const std::vector<DeviceCode> codes = compiled({kernel}, {&kExact, 1});
  ASSERT_EQ(codes.size(), 1u);
  EXPECT_EQ(codes[0].bytes[49], 90);
  EXPECT_FALSE(compile_device_code({&kernel, 1}, {&kPlain, 1}).ok());
}

TEST(Nvrtc, GivesTheSameBytesInEveryFolder) {
  SKIP_WITHOUT_NVRTC();
  const std::vector<DeviceCode> codes = compiled({kTwice}, default_architectures());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::temp_directory_path());
  const std::vector<DeviceCode> elsewhere = compiled({kTwice}, default_architectures());
  std::filesystem::current_path(before);
  ASSERT_EQ(codes.size(), elsewhere.size());
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i].bytes, elsewhere[i].bytes);
}

constexpr Architecture kCubins[] = {{80}, {90}, {100}, {120}};

void expect_no_spills(const std::vector<KernelText>& kernels, Span<const Architecture> architectures) {
  for (const DeviceCode& code : compiled(kernels, architectures)) {
    ASSERT_EQ(code.resources.size(), kernels.size());
    for (const KernelResources& kernel : code.resources) {
      EXPECT_EQ(kernel.spill_bytes, 0u) << kernel.name << " for " << architecture_name(code.architecture);
    }
  }
}

TEST(Nvrtc, EachFunctionOfTheVocabularyCompilesForEachTargetWithoutSpills) {
  SKIP_WITHOUT_NVRTC();
  std::vector<KernelText> kernels = function_kernels();
  for (const KernelText& kernel : kVocabularyKernels) kernels.push_back(kernel);
  kernels.push_back(kLoadMatrix);
  for (const KernelText& kernel : kMatrixKernels) kernels.push_back(kernel);
  expect_no_spills(kernels, kCubins);
}

TEST(Nvrtc, SpecialFunctionsCompileWithoutSpills) {
  SKIP_WITHOUT_NVRTC();
  expect_no_spills(special_function_kernels(), {kCubins, 1});  // these kernels are large
}

TEST(Nvrtc, AWarpgroupsInstructionsCompileWithoutSpills) {
  SKIP_WITHOUT_NVRTC();
  constexpr Architecture kExact = {90, false, true};
  expect_no_spills({kWarpgroup}, {&kExact, 1});
}

TEST(Nvrtc, AGemmKeepsItsSumsInRegisters) {
  SKIP_WITHOUT_NVRTC();
  expect_no_spills({kGemm}, kCubins);
  for (const DeviceCode& code : compiled({kGemm}, kCubins)) {
    ASSERT_EQ(code.resources.size(), 1u);
    EXPECT_EQ(code.resources[0].static_shared_bytes, 16384u);
    EXPECT_LE(code.resources[0].registers, 128u);
  }
}

TEST(Nvrtc, AKernelThatSpillsIsCompiledAgainWithAllRegisters) {
  SKIP_WITHOUT_NVRTC();
  // Without a number of blocks, NVRTC 13.0 spills registers for sm_100.
  expect_no_spills({{"gemm", replaced(kGemm.text, "WICK_KERNEL_BLOCKS(gemm, 128, 4)", "WICK_KERNEL(gemm, 128)"), true}},
                   kCubins);
}

TEST(Nvrtc, AHundredKernelsAreOneFile) {
  SKIP_WITHOUT_NVRTC();
  std::vector<KernelText> kernels;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "norm" + std::to_string(i);
    kernels.push_back({name,
                       replaced(replaced(R"(
WICK_KERNEL(NAME, 256)(const bf16* __restrict__ x, bf16* __restrict__ y, i32 columns) {
  WICK_SHARED(f32, sums, 8);
  const bf16* const row = x + static_cast<i64>(block_x()) * columns;
  f32 sum = 0;
  for (i32 i = thread_x(); i < columns; i += 256) sum += to_f32(row[i]) * to_f32(row[i]) + NUMBER;
  for (u32 mask = 16; mask != 0; mask /= 2) sum += shuffle_xor(sum, mask);
  if (lane() == 0) sums[thread_x() / 32] = sum;
  block_barrier();
  f32 total = 0;
  for (i32 i = 0; i < 8; ++i) total += sums[i];
  const f32 scale = rsqrt(total / static_cast<f32>(columns) + 1e-6f);
  for (i32 i = thread_x(); i < columns; i += 256) {
    y[static_cast<i64>(block_x()) * columns + i] = to_bf16(gelu_tanh(to_f32(row[i]) * scale));
  }
}
)",
                                         "NAME", name),
                                "NUMBER", std::to_string(i)),
                       true});
  }
  const Architecture target = {90};
  // CPU time of all threads of this process, whatever else runs on the machine
  const std::clock_t begin = std::clock();
  const auto codes = compiled(kernels, {&target, 1});
  ASSERT_EQ(codes.size(), 1u);
  EXPECT_EQ(codes[0].resources.size(), 100u);
  std::printf("%.1f s of the processor\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
}

TEST(Nvrtc, ARefusalNamesTheLineOfTheKernel) {
  SKIP_WITHOUT_NVRTC();
  const KernelText kernels[] = {kTwice, {"wrong", "WICK_KERNEL(wrong, 1)(f32* x) {\n  *x = undeclared_name;\n}"}};
  const Architecture target = {80};
  auto codes = compile_device_code(kernels, {&target, 1});
  ASSERT_FALSE(codes.ok());
  EXPECT_EQ(compiler::render(codes.diag()),
            "error[internal]: NVRTC refuses the text of the kernels for sm_80\n"
            "  found  wrong.cu(2): error: identifier \"undeclared_name\" is undefined\n"
            "  note   line 2 of kernel wrong:   *x = undeclared_name;\n");
}

TEST(Nvrtc, ATargetItDoesNotKnowIsRefusedWithTheListOfThoseItKnows) {
  SKIP_WITHOUT_NVRTC();
  const Architecture target = {35};
  auto codes = compile_device_code({&kTwice, 1}, {&target, 1});
  ASSERT_FALSE(codes.ok());
  EXPECT_EQ(codes.diag().code, compiler::Code::usage);
  EXPECT_NE(codes.diag().message.find("has no target sm_35"), std::string::npos);
  EXPECT_NE(codes.diag().wanted.find("80, "), std::string::npos);
}

TEST(NvrtcLibrary, AMissingOneIsReportedWithTheWaysToGetIt) {
  auto library = open_nvrtc({"/no/such/libnvrtc.so.13"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(compiler::exit_code(library.diag().code), 3);
  EXPECT_EQ(compiler::render(library.diag()),
            "error[missing-tool]: the compiler of CUDA kernels, NVRTC, cannot be found\n"
            "  wanted libnvrtc of CUDA 13 or later, for example in: /no/such/libnvrtc.so.13\n"
            "  help   run `make setup-cuda`, which fetches NVRTC into your cache folder, or install NVIDIA's CUDA "
            "toolkit; WICK_NVRTC=/path/libnvrtc.so.13 names one elsewhere\n");
}

TEST(NvrtcLibrary, AFileThatIsNoLibraryIsNamed) {
  const std::string path = ::testing::TempDir() + "wick_no_nvrtc.so";
  std::ofstream(path) << "text";
  auto library = open_nvrtc({path});
  std::filesystem::remove(path);
  ASSERT_FALSE(library.ok());
  ASSERT_EQ(library.diag().notes.size(), 1u);
  EXPECT_NE(library.diag().notes[0].find(path), std::string::npos);
}

TEST(NvrtcLibrary, TheVariableNamesTheOnlyCandidate) {
  const char* const before = std::getenv("WICK_NVRTC");
  const std::string kept = before ? before : "";
  setenv("WICK_NVRTC", "/chosen/libnvrtc.so", 1);
  EXPECT_EQ(nvrtc_candidates(), std::vector<std::string>{"/chosen/libnvrtc.so"});
  before ? setenv("WICK_NVRTC", kept.c_str(), 1) : unsetenv("WICK_NVRTC");
}

TEST(NvrtcLog, ResourcesAreReadByKernel) {
  const std::vector<KernelResources> table = read_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Function properties for second\n"
      "ptxas         .     16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem\n"
      "ptxas info    : Compile time = 18.168 ms\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers, 380 bytes cmem[0]\n");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].name, "first");
  EXPECT_EQ(table[0].registers, 8u);
  EXPECT_EQ(table[0].static_shared_bytes, 0u);
  EXPECT_EQ(table[1].name, "second");
  EXPECT_EQ(table[1].registers, 168u);
  EXPECT_EQ(table[1].spill_bytes, 56u);
  EXPECT_EQ(table[1].stack_bytes, 16u);
  EXPECT_EQ(table[1].static_shared_bytes, 4096u);
}

TEST(NvrtcLog, TheTableHasALineForEachKernelAndCubin) {
  DeviceCode codes[3];
  codes[0] = {{80}, {}, {{"a", 8, 0, 16, 1024}, {"b", 255, 64, 0, 0}}};
  codes[1] = {{120}, {}, {{"a", 10, 0, 0, 1024}}};
  codes[2] = {{90, true}, {}, {}};
  EXPECT_EQ(resource_table(codes),
            "sm_80   a: 8 registers, 1024 shared, 16 stack, 0 spilled\n"
            "sm_80   b: 255 registers, 0 shared, 0 stack, 64 spilled\n"
            "sm_120  a: 10 registers, 1024 shared, 0 stack, 0 spilled\n");
}

}  // namespace
}  // namespace wick::cuda
