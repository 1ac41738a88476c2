// What the kernels of tests/fixtures/models take of a device, as NVRTC counts: registers, shared memory, spills.
// Skipped without NVRTC.
//   WICK_UPDATE_TABLE=1 cuda_resources_test --gtest_filter=Models/*     writes tests/models/cuda_resources.txt anew
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/compile/report.h"
#include "backends/cuda/nvrtc/compile.h"
#include "backends/cuda/nvrtc/library.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/text/text.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::cuda {
namespace {

namespace fs = std::filesystem;
constexpr char kFolder[] = "tests/fixtures/models", kSuffix[] = ".wfix.gz";
constexpr char kTable[] = "tests/models/cuda_resources.txt";
constexpr char kTitle[] =
    "model | kernels | most registers: sm_80 | sm_90 | sm_100 | sm_120 | most bytes of shared memory | "
    "kernels for sm_90a alone | most registers | most bytes of shared memory";

struct TargetLimits {
  Architecture architecture;
  uint32_t shared_bytes;  // of a block: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
};
constexpr TargetLimits kTargets[] = {{{80}, 163 << 10}, {{90}, 227 << 10}, {{100}, 227 << 10}, {{120}, 99 << 10}};
/// Of programs for it alone: their kernels are not those of the others.
constexpr TargetLimits kExact = {{90, false, true}, 227 << 10};
constexpr uint32_t kMostStaticShared = 48 << 10, kMostRegisters = 255;

struct UsedKernel {
  KernelText text;
  uint32_t dynamic_shared_bytes = 0;
};
/// By name, which holds a hash of the text.
using Kernels = std::map<std::string, UsedKernel>;
/// By kernel, for each of the targets that it was compiled for.
using Resources = std::map<std::string, std::vector<KernelResources>>;

void add_kernels(const compiler::Delegate& delegate, Kernels* kernels) {
  if (delegate.id != kBackendId) return;
  Plan plan;
  ASSERT_EQ(read_plan({delegate.payload.data(), delegate.payload.size()}, &plan, nullptr), Error::Ok);
  const auto& kept = *static_cast<const Kept*>(delegate.kept.get());
  ASSERT_EQ(kept.kernels.size(), plan.kernels.size());
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const auto [known, fresh] =
        kernels->try_emplace(plan.kernels[i].name, UsedKernel{kept.kernels[i], plan.kernels[i].dynamic_shared_bytes});
    EXPECT_EQ(known->second.text.text, kept.kernels[i].text) << "two kernels of one name";
  }
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    const std::string file = entry.path().filename().string();
    if (file.find("_core.") != std::string::npos) continue;  // kernels of the plain model
    if (file.ends_with(kSuffix)) names.push_back(file.substr(0, file.size() - strlen(kSuffix)));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Kernels kernels_of(const std::string& model, const char* backend = "cuda") {
  Kernels kernels;
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets(backend);
  options.for_report = true;
  const auto fixture = testing::expand_fixture(fmt::format("{}/{}{}", kFolder, model, kSuffix));
  EXPECT_TRUE(fixture.ok());
  if (!fixture.ok()) return kernels;
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  const auto compiled = compiler::compile(std::vector<compiler::CompileBytes>{{"forward", model, bytes}}, options);
  EXPECT_TRUE(compiled.ok()) << model;
  if (!compiled.ok()) return kernels;
  for (const auto& delegate : compiled->method_plans[0].delegates) add_kernels(*delegate, &kernels);
  return kernels;
}

void add_kernels_of_graph(const char* text, Kernels* kernels, const char* backend = "cuda") {
  auto function = compiler::parse_graph(text);
  ASSERT_TRUE(function.ok()) << compiler::render(function.diag());
  function->name = "forward";
  std::vector<compiler::Function> functions;
  functions.push_back(std::move(*function));
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets(backend);
  options.for_report = true;
  const auto compiled = compiler::compile(std::move(functions), options);
  ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
  for (const auto& node : compiled->methods[0].outside) ADD_FAILURE() << node.op << ": " << node.reason;
  for (const auto& delegate : compiled->method_plans[0].delegates) add_kernels(*delegate, kernels);
}

/// Compiles the kernels, some at a time, and checks what needs no table. Those that models share are compiled once.
Resources resources_of(const Kernels& kernels, Span<const TargetLimits> targets = kTargets) {
  constexpr size_t kAtATime = 32;
  static std::map<const TargetLimits*, Resources> known;
  Resources& out = known[targets.data()];
  std::vector<Architecture> architectures;
  for (const TargetLimits& target : targets) architectures.push_back(target.architecture);
  for (auto next = kernels.begin(); next != kernels.end();) {
    std::vector<KernelText> texts;
    for (; next != kernels.end() && texts.size() < kAtATime; ++next) {
      if (out.count(next->first) == 0) texts.push_back(next->second.text);
    }
    if (texts.empty()) break;
    const auto codes = compile_device_code({texts.data(), texts.size()}, {architectures.data(), architectures.size()});
    EXPECT_TRUE(codes.ok()) << (codes.ok() ? "" : compiler::render(codes.diag()));
    for (size_t t = 0; codes.ok() && t < targets.size(); ++t) {
      EXPECT_EQ((*codes)[t].resources.size(), texts.size());
      for (const KernelResources& row : (*codes)[t].resources) {
        const std::string what = fmt::format("{} for {}", row.name, architecture_name(targets[t].architecture));
        EXPECT_EQ(row.spill_bytes, 0u) << what;
        EXPECT_LE(row.registers, kMostRegisters) << what;
        EXPECT_GT(row.registers, 0u) << what;
        EXPECT_LE(row.static_shared_bytes, kMostStaticShared) << what;
        EXPECT_LE(row.static_shared_bytes + kernels.at(row.name).dynamic_shared_bytes, targets[t].shared_bytes) << what;
        out[row.name].resize(targets.size());
        out[row.name][t] = row;
      }
    }
  }
  Resources found;
  for (const auto& [name, kernel] : kernels) {
    if (const auto row = out.find(name); row != out.end()) found.insert(*row);
  }
  return found;
}

/// "12 | 64 | 96 | 16384": the kernels, the most registers of a thread for each target, and the most shared memory of a
/// block.
std::string most_of(const Kernels& kernels, const Resources& resources) {
  std::vector<uint32_t> registers(resources.begin()->second.size());
  uint32_t shared = 0;
  for (const auto& [name, kernel] : kernels) {
    for (size_t t = 0; t < registers.size(); ++t) {
      const KernelResources& row = resources.at(name)[t];
      registers[t] = std::max(registers[t], row.registers);
      shared = std::max(shared, row.static_shared_bytes + kernel.dynamic_shared_bytes);
    }
  }
  return fmt::format("{} | {} | {}", kernels.size(), fmt::join(registers, " | "), shared);
}

#define SKIP_WITHOUT_NVRTC() \
  if (const auto library = nvrtc(); !library.ok()) GTEST_SKIP() << compiler::render(library.diag())

TEST(CudaResources, ASampleOfTheModelsKernelsDoesNotSpill) {
  SKIP_WITHOUT_NVRTC();
  constexpr size_t kEvery = 24;
  Kernels sample;
  size_t number = 0;
  for (const std::string& model : models()) {
    for (const auto& kernel : kernels_of(model)) {
      if (number++ % kEvery == 0) sample.insert(kernel);
    }
  }
  EXPECT_GT(sample.size(), 15u);
  fmt::print("{} of {} kernels\n", sample.size(), number);
  (void)resources_of(sample);
}

constexpr char kOperators[] = R"(graph f(%x: f32[4, 5000], %h: f16[4, 5000], %d: f64[4, 5000], %i: i64[4, 5000],
        %s: f32[64, 20], %p: f32[1, 3, 40, 40], %g: f32[1, 9, 9, 2], %w: i64[64, 20], %l: f32[2, 30000], %r: f32[3, 9, 9],
        %t: f32[3, 9, 3], %u: f32[4, 5]) {
  %a0: f32[4, 5000], %a1: i64[4, 5000] = aten.sort(%x)
  %b0: f16[4, 5000], %b1: i64[4, 5000] = aten.sort(%h, -1, true)
  %c0: f64[4, 5000], %c1: i64[4, 5000] = aten.sort(%d)
  %e0: i64[4, 5000], %e1: i64[4, 5000] = aten.sort(%i)
  %f0: f32[64, 20], %f1: i64[64, 20] = aten.sort(%s)
  %g0: f32[4, 50], %g1: i64[4, 50] = aten.topk(%x, 50)
  %h0: f32[4], %h1: i64[4] = aten.median.dim(%x, 1)
  %i0: f32[4], %i1: i64[4] = aten.mode(%x)
  %j0: f32[4, 5000] = aten.cumsum(%x, 1)
  %j1: f32[64, 20] = aten.cumprod(%s, 1)
  %j2: f32[2, 30000] = aten.logcumsumexp(%l, 1)
  %k0: f32[2, 30000], %k1: i64[2, 30000] = aten.cummax(%l, 1)
  %m0: f32[64, 20] = aten.scatter_reduce.two(%s, 1, %w, %s, "mean", false)
  %n0: f32[1, 3, 9, 9] = aten.grid_sampler_2d(%p, %g, 0, 0, false)
  %n1: f32[1, 3, 9, 9] = aten.grid_sampler_2d(%p, %g, 2, 2, true)
  %o0: f32[1, 3, 15, 15] = aten._upsample_bicubic2d_aa(%p, [15, 15], false)
  %q0: f32[64, 64] = aten.cdist(%s, %s, 1.5)
  %q1: f32[2016] = aten.pdist(%s)
  %r0: f32[3, 9, 3], %r1: f32[3, 9, 9], %r2: i32[3, 9], %r3: i32[3] = aten._linalg_solve_ex(%r, %t)
  %r4: f32[3, 9, 9], %r5: i32[3] = aten.linalg_cholesky_ex(%r)
  %r6: f32[3, 9, 3] = aten.linalg_solve_triangular(%r, %t, true)
  %s0: f32[3, 9, 9], %s1: f32[3, 9, 9] = aten.linalg_qr(%r)
  %s2: f32[3, 9], %s3: f32[3, 9, 9] = aten._linalg_eigh(%r)
  %s4: f32[3, 9, 9], %s5: f32[3, 9], %s6: f32[3, 9, 9] = aten._linalg_svd(%r)
  %s7: f32[3, 9, 9] = aten.linalg_matrix_exp(%r)
  %u0: f32[4, 3, 7, 7] = torchvision.roi_align(%p, %u, 0.5, 7, 7, -1, true)
  %u1: f32[4, 3, 7, 7], %u2: i32[4, 3, 7, 7] = torchvision.roi_pool(%p, %u, 0.5, 7, 7)
  return %a0, %a1, %b0, %b1, %c0, %c1, %e0, %e1, %f0, %f1, %g0, %g1, %h0, %h1, %i0, %i1, %j0, %j1, %j2, %k0, %k1, %m0, %n0, %n1, %o0, %q0,
    %q1, %r0, %r2, %r4, %r6, %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7, %u0, %u1
})";

// Random numbers, conditions, loops, and what they carry.
constexpr char kRandomAndControl[] =
    R"(graph f(%x: f32[64, 300], %p: f32[64], %n: i64[], %c: bool[], %w: f32[16, 16], %h: f32[16], %s: f32[5, 3, 16]) {
  %a: f32[64, 300] = aten.rand([64, 300], f32)
  %b: f64[9] = aten.rand([9], f64)
  %d: bf16[64, 300] = aten.randn([64, 300], bf16)
  %e: f32[64, 300] = aten.dropout(%x, 0.25, true)
  %f: f32[64] = aten.bernoulli(%p)
  %g: i64[40] = aten.randint.low(-3, 9, [40])
  %i: i64[12] = aten.randperm(12)
  %i1: f32[64] = aten.poisson(%p)
  %i2: f32[64] = aten.binomial(%i1, %p)
  %i3: f32[64] = aten._standard_gamma(%p)
  %j: f32[64, 300] = higher_order.cond(%c, [%x]) graph (%u: f32[64, 300]) {
    %v: f32[64, 300] = aten._softmax(%u, 1, false)
    return %v
  } graph (%u: f32[64, 300]) {
    %v: f32[64, 300] = aten.flip(%u, [0])
    return %v
  }
  %k: i64[], %l: f32[16, 16] = higher_order.while_loop([%n, %w], []) graph (%u: i64[], %v: f32[16, 16]) {
    %m: bool[] = aten.gt.Scalar(%u, 0)
    return %m
  } graph (%u: i64[], %v: f32[16, 16]) {
    %m: i64[] = aten.sub.Scalar(%u, 1)
    %o: f32[16, 16] = aten.mm(%v, %v)
    return %m, %o
  }
  %q: f32[16], %r: f32[5, 3] = higher_order.scan([%h], [%s], []) graph (%u: f32[16], %v: f32[3, 16]) {
    %t: f32[3] = aten.sum.dim_IntList(%v, [1])
    %y: f32[16] = aten.sum.dim_IntList(%v, [0])
    %z: f32[16] = aten.add.Tensor(%y, %u)
    return %z, %t
  }
  return %a, %b, %d, %e, %f, %g, %i, %i2, %i3, %j, %k, %l, %q, %r
})";

// Operators whose kernels have schedules or vocabulary of their own, which few models use.
// Windows over the innermost dimension, images that are resized, and gathered and written rows: of many elements.
constexpr char kNeighbours[] =
    R"(graph f(%x: bf16[8, 96, 56, 56], %w: bf16[96, 1, 7, 7], %k: f32[96, 1, 3, 3], %z: f32[8, 96, 56, 56], %i: i64[4096], %t: bf16[999, 1024], %r: bf16[4096, 1024]) {
  %a: bf16[8, 96, 56, 56] = aten.convolution(%x, %w, none, [1, 1], [3, 3], [1, 1], false, [0, 0], 96)
  %b: f32[8, 96, 56, 56] = aten.convolution(%z, %k, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 96)
  %c: bf16[8, 96, 28, 28], %d: i64[8, 96, 28, 28] = aten.max_pool2d_with_indices(%x, [3, 3], [2, 2], [1, 1])
  %e: f32[8, 96, 56, 56] = aten.avg_pool2d(%z, [5, 5], [1, 1], [2, 2])
  %f: bf16[8, 96, 112, 112] = aten.upsample_bilinear2d.vec(%x, none, false, [2.0, 2.0])
  %g: f32[8, 96, 112, 112] = aten.upsample_bicubic2d.vec(%z, none, false, [2.0, 2.0])
  %h: bf16[4096, 1024] = aten.embedding(%t, %i)
  %j: bf16[999, 1024] = aten.index_put(%t, [%i], %r)
  return %a, %b, %c, %d, %e, %f, %g, %h, %j
})";

TEST(CudaResources, ASampleOfOperatorsDoesNotSpill) {
  SKIP_WITHOUT_NVRTC();
  Kernels kernels;
  for (const char* text : {kOperators, kRandomAndControl, kNeighbours}) add_kernels_of_graph(text, &kernels);
  for (const auto& [name, rows] : resources_of(kernels)) {
    uint32_t most = 0;
    for (const KernelResources& row : rows) most = std::max(most, row.registers);
    fmt::print("{}: at most {} registers\n", name, most);
  }
}

constexpr char kTiled[] = R"(graph f(%x: f32[1, 64, 24, 24], %w: f32[128, 64, 3, 3]) {
  %y: f32[1, 128, 24, 24] = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  return %y
})";

// Tiles of TF32 of all shapes with factors that lie across the sum; the largest ones also with factors along it, copied
// and computed.
TEST(CudaResources, TilesOfTf32DoNotSpill) {
  SKIP_WITHOUT_NVRTC();
  constexpr char kTf32[] = "cuda:allow-tf32=on";
  Kernels kernels;
  for (const auto& [m, n] : {std::pair(128, 256), {128, 128}, {64, 1024}, {64, 128}, {64, 64}, {32, 128}, {32, 32}}) {
    const std::string text = fmt::format(R"(graph f(%a: f32[64, 64, {0}], %b: f32[64, 64, {1}]) {{
  %t: f32[64, {0}, 64] = aten.permute(%a, [0, 2, 1])
  %y: f32[64, {0}, {1}] = aten.bmm(%t, %b)
  return %y
}})",
                                         m, n);
    add_kernels_of_graph(text.c_str(), &kernels, kTf32);
  }
  std::set<std::string> shapes;
  for (const auto& [name, kernel] : kernels) {
    std::smatch found;
    if (std::regex_search(kernel.text.text, found,
                          std::regex("multiply_by_tf32<TilePair<[0-9]+, ([0-9]+), false, ([0-9]+), false>")))
      shapes.insert(found[1].str() + " x " + found[2].str());
  }
  EXPECT_EQ(shapes,
            (std::set<std::string>{"128 x 128", "128 x 64", "64 x 128", "64 x 64", "64 x 32", "32 x 64", "32 x 32"}));
  add_kernels_of_graph(R"(graph f(%a: f32[4096, 200], %d: f32[4096, 200], %e: f32[4096]) {
  %y: f32[4096, 4096] = aten.linear(%a, %d)
  %g: f32[4096, 200] = aten.silu(%a)
  %z: f32[4096, 4096] = aten.linear(%g, %d, %e)
  return %y, %z
})",
                       &kernels, kTf32);
  add_kernels_of_graph(kTiled, &kernels, kTf32);
  (void)resources_of(kernels);
}

// Tiles of a warpgroup of all shapes, with factors along and across the sum: for sm_90a alone.
TEST(CudaResources, TilesOfWarpgroupsDoNotSpill) {
  SKIP_WITHOUT_NVRTC();
  Kernels kernels;
  const struct {
    int m, n, k;
  } sizes[] = {{2837, 1184, 72},  {306, 4544, 72},   {196, 3632, 72},
               {306, 4544, 4104}, {157, 4544, 1096}, {1816, 4544, 4104}};
  for (const auto& size : sizes) {
    for (const bool across : {false, true}) {
      const std::string text =
          fmt::format(R"(graph f(%a: bf16[{0}, {2}], %w: bf16[{3}], %b: bf16[{1}]) {{
  %t: bf16[{1}, {2}] = aten.permute(%w, [{4}])
  %y: bf16[{0}, {1}] = aten.linear(%a, %t, %b)
  %z: bf16[{0}, {1}] = aten.gelu(%y)
  return %z
}})",
                      size.m, size.n, size.k,
                      across ? fmt::format("{}, {}", size.k, size.n) : fmt::format("{}, {}", size.n, size.k),
                      across ? "1, 0" : "0, 1");
      add_kernels_of_graph(text.c_str(), &kernels, "cuda:gpu=sm_90a");
    }
  }
  EXPECT_EQ(kernels.size(), 2 * std::size(sizes));
  for (const auto& [name, kernel] : kernels)
    EXPECT_NE(kernel.text.text.find("multiply_by_warpgroup"), std::string::npos) << name;
  for (const auto& [name, rows] : resources_of(kernels, {&kExact, 1}))
    fmt::print("{}: {} registers, {} bytes\n", name, rows[0].registers, kernels.at(name).dynamic_shared_bytes);
}

/// The bodies of a PTX program's kernels; the numbers of their labels' functions ("$L__BB12_3") as "#".
std::vector<std::string> bodies_of(const std::string& ptx) {
  std::vector<std::string> bodies;
  for (size_t at = ptx.find(".entry "); at != std::string::npos; at = ptx.find(".entry ", at + 1)) {
    const size_t begin = ptx.find("\n{", at), end = ptx.find("\n}", at);
    bodies.push_back(std::regex_replace(ptx.substr(begin, end - begin), std::regex("BB[0-9]+_"), "BB#_"));
  }
  return bodies;
}

// Statement C2 of docs/cuda_proofs.md. A compiler whose choices follow the order of addresses makes one of many copies
// another code.
TEST(CudaResources, CopiesOfASampleTiledKernelAreTheSameCode) {
  SKIP_WITHOUT_NVRTC();
  constexpr size_t kCopies = 24;
  constexpr Architecture kPtx = {90, true};
  Kernels kernels;
  add_kernels_of_graph(kTiled, &kernels);
  ASSERT_EQ(kernels.size(), 1u);
  const KernelText kernel = kernels.begin()->second.text;
  ASSERT_NE(kernel.text.find("multiply_by_fma"), std::string::npos) << kernel.text;
  std::vector<KernelText> copies;
  for (size_t i = 0; i < kCopies; ++i) {
    KernelText copy = kernel;
    copy.name = fmt::format("copy_{:02}", i);
    copy.text.replace(copy.text.find(kernel.name), kernel.name.size(), copy.name);
    copies.push_back(std::move(copy));
  }
  const auto codes = compile_device_code({copies.data(), copies.size()}, {&kPtx, 1});
  ASSERT_TRUE(codes.ok()) << compiler::render(codes.diag());
  std::vector<std::string> bodies = bodies_of({codes->front().bytes.begin(), codes->front().bytes.end()});
  ASSERT_EQ(bodies.size(), kCopies);
  for (size_t i = 0; i < kCopies; ++i) bodies[i] = std::regex_replace(bodies[i], std::regex(copies[i].name), "copy");
  const size_t others = static_cast<size_t>(
      std::count_if(bodies.begin(), bodies.end(), [&](const auto& body) { return body != bodies[0]; }));
  EXPECT_EQ(others, 0u);
}

// Statement C4 of docs/cuda_proofs.md: 10 s on two processors. Time of the processor: other work on the machine counts
// little. It is printed, not judged: another machine takes another time.
TEST(CudaResources, AHundredKernelsOfModelsCompileForEachTarget) {
  SKIP_WITHOUT_NVRTC();
  Kernels kernels;
  for (const std::string& model : models()) {
    for (const auto& kernel : kernels_of(model)) {
      if (kernels.size() < 100) kernels.insert(kernel);
    }
  }
  ASSERT_EQ(kernels.size(), 100u);
  std::vector<KernelText> texts;
  for (const auto& [name, kernel] : kernels) texts.push_back(kernel.text);
  for (const TargetLimits& target : kTargets) {
    const std::clock_t begin = std::clock();
    ASSERT_TRUE(compile_device_code({texts.data(), texts.size()}, {&target.architecture, 1}).ok());
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    fmt::print("{}: {:.1f} s of the processor\n", architecture_name(target.architecture), seconds);
  }
}

using Table = std::map<std::string, std::string>;  // rows by model; "" is the version

Table read_table() {
  Table table;
  std::ifstream file(kTable);
  std::getline(file, table[""]);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kTitle)) table[line.substr(0, line.find(' '))] = line;
  }
  return table;
}

void write_table(const Table& table) {
  std::ofstream file(kTable);
  file << table.at("") << "\n" << kTitle << "\n";
  for (const auto& [model, row] : table) {
    if (!model.empty()) file << row << "\n";
  }
}

class CudaResourcesOf : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaResourcesOf, EachKernelIsWithinTheLimitsAndTheTableKnowsTheMost) {
  SKIP_WITHOUT_NVRTC();
  const Nvrtc& library = **nvrtc();
  const Kernels kernels = kernels_of(GetParam()), exact = kernels_of(GetParam(), "cuda:gpu=sm_90a");
  const Resources resources = resources_of(kernels), of_exact = resources_of(exact, {&kExact, 1});
  ASSERT_EQ(resources.size(), kernels.size());
  ASSERT_EQ(of_exact.size(), exact.size());
  const std::string version = fmt::format("NVRTC {}.{}", library.major, library.minor);
  const std::string row =
      fmt::format("{} | {} | {}", GetParam(), most_of(kernels, resources), most_of(exact, of_exact));
  Table table = read_table();
  if (std::getenv("WICK_UPDATE_TABLE")) {  // NOLINT(concurrency-mt-unsafe)
    if (table[""] != version) table = {{"", version}};
    table[GetParam()] = row;
    write_table(table);
  } else if (table[""] != version || table.count(GetParam()) == 0) {
    fmt::print("the table is of {}, this is {}, or it lacks the model: only the limits are checked\n", table[""],
               version);
  } else {
    EXPECT_EQ(row, table[GetParam()]) << "WICK_UPDATE_TABLE=1 writes the row anew; review the diff";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaResourcesOf, ::testing::ValuesIn(models()),
                         [](const ::testing::TestParamInfo<std::string>& model) { return model.param; });

}  // namespace
}  // namespace wick::cuda
