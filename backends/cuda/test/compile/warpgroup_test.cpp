// Tiles by matrix instructions of four warps, for sm_90a, on the twin. Skipped without NVRTC, because the programs
// contain code for that target.
#include <set>

#include "backends/cuda/compile/kernel/schedule.h"
#include "backends/cuda/nvrtc/compile.h"
#include "backends/cuda/nvrtc/library.h"
#include "backends/cuda/test/compile/tile_layout_test_support.h"
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::warpgroup_test {
namespace {

#define SKIP_WITHOUT_NVRTC() \
  if (const auto library = nvrtc(); !library.ok()) GTEST_SKIP() << compiler::render(library.diag())

// Instructions of a warpgroup XOR bits 4 to 6 of an address with bits 7 to 9.
TEST(WarpgroupLayout, ElementsLieWhereTheSwizzleOf128BytesPutsThem) {
  std::set<uint32_t> places;
  for (uint32_t row = 0; row < 64; ++row) {
    for (uint32_t column = 0; column < 256; ++column) {
      const uint32_t linear = column / 64 * 64 * 128 + row * 128 + column % 64 * 2;
      const uint32_t place = wick_text::swizzled_place<64>(row, column);
      ASSERT_EQ(place * 2, linear ^ (linear >> 7 & 7) << 4) << row << ", " << column;
      places.insert(place);
    }
  }
  EXPECT_EQ(places.size(), 64u * 256);
  EXPECT_EQ(*places.rbegin(), 64u * 256 - 1);
}

Schedule chosen(int64_t m, int64_t n, int64_t k, bool by_warpgroups) {
  ContractionFacts facts;
  facts.m = m;
  facts.n = n;
  facts.k = k;
  facts.by_matrices = facts.copies = true;
  facts.by_warpgroups = by_warpgroups;
  return choose_tiles(facts);
}

TEST(WarpgroupChoice, TilesFitTheDeviceAndTheirResultsFitTheTiles) {
  size_t found = 0;
  for (int64_t m = 2; m <= 16384; m *= 2) {
    for (int64_t n = 16; n <= 16384; n *= 2) {
      for (const int64_t k : {16, 80, 512, 4096}) {
        ASSERT_NE(chosen(m, n, k, false).kind, ScheduleKind::warpgroup_tiles);
        const Schedule s = chosen(m, n, k, true);
        if (s.kind != ScheduleKind::warpgroup_tiles) continue;
        ++found;
        ASSERT_EQ(arithmetic_of(s), Arithmetic::matrix_warpgroup);
        ASSERT_LE(bytes_of_tiles(s), kMostWarpgroupBytes);
        ASSERT_GT(bytes_of_tiles(s), kPlainSharedBytes);  // aligned like dynamic shared memory
        ASSERT_LE(bytes_of_results(s), bytes_of_tiles(s));
        ASSERT_GT(s.stages, kTilesInUse);
        ASSERT_EQ(s.tile.k, kWarpgroupDepth);
        ASSERT_EQ(s.threads, s.tile.m * 2);  // four warps per 64 lines
      }
    }
  }
  EXPECT_GT(found, 100u);
  EXPECT_EQ(schedule_text(chosen(4096, 4096, 4096, true)), "warpgroup tiles 128 x 256 x 64, 4 stages");
}

class Warpgroup : public CudaLower {
 protected:
  void compile_for(const std::string& text, const char* gpu = "sm_90a") {
    text_ = text;
    ++twins_;
    program_ = program_of(text, "cuda", {{"gpu", gpu}, {"twin", twin()}}, &result_);
    ASSERT_FALSE(program_.empty());
    ASSERT_EQ(result_.methods[0].delegates, 1u);
    const auto& payload = result_.method_plans[0].delegates[0]->payload;
    ASSERT_EQ(read_plan({payload.data(), payload.size()}, &plan_, nullptr), Error::Ok);
  }
  bool has_warpgroups() const {
    for (const Kernel& kernel : plan_.kernels) {
      if (kernel.schedule.rfind("warpgroup tiles", 0) == 0) return true;
    }
    return false;
  }
};

constexpr char kLinear[] = R"(graph f(%x: {3}[{0}, {2}], %w: {3}[{1}, {2}], %b: {3}[{1}], %r: {3}[{0}, {1}]) {{
  %y: {3}[{0}, {1}] = aten.linear(%x, %w, %b)
  %z: {3}[{0}, {1}] = aten.gelu(%y, "tanh")
  %s: {3}[{0}, {1}] = aten.add.Tensor(%z, %r)
  return %s
}})";

// Partial tiles in all three sizes, all widths of instructions, splits, and all kinds of epilogues.
TEST_F(Warpgroup, LinearLayersWithActivationsAndResidualsAreThoseOfThePortableKernels) {
  SKIP_WITHOUT_NVRTC();
  const struct {
    int32_t m, n, k;
    DType dtype;
    const char* schedule;
  } cases[] = {{196, 3632, 72, DType::bf16, "warpgroup tiles 128 x 64 x 64, 4 stages"},
               {306, 4545, 72, DType::f16, "warpgroup tiles 128 x 128 x 64, 4 stages"},
               {2837, 1184, 72, DType::bf16, "warpgroup tiles 128 x 256 x 64, 4 stages"},
               {101, 600, 4104, DType::bf16, "warpgroup tiles 128 x 64 x 64, 4 stages, 13 splits"}};
  for (const auto& each : cases) {
    const char* const name = each.dtype == DType::f16 ? "f16" : "bf16";
    compile_for(fmt::format(kLinear, each.m, each.n, each.k, name));
    EXPECT_EQ(plan_.kernels[0].schedule, each.schedule);
    expect_like_portable({numbers(each.dtype, {each.m, each.k}, 1), numbers(each.dtype, {each.n, each.k}, 2),
                          numbers(each.dtype, {each.n}, 3), numbers(each.dtype, {each.m, each.n}, 4)},
                         each.dtype == DType::f16 ? 1e-3 : 8e-3);
  }
}

// Factors with lines side by side in memory, which the instructions read transposed.
TEST_F(Warpgroup, FactorsMayLieEitherWay) {
  SKIP_WITHOUT_NVRTC();
  for (const bool left_across : {false, true}) {
    for (const bool right_across : {false, true}) {
      compile_for(fmt::format(R"(graph f(%a: bf16[{0}], %b: bf16[{1}]) {{
  %c: bf16[3, 200, 136] = aten.permute(%a, [0, {2}])
  %d: bf16[3, 136, 520] = aten.permute(%b, [0, {3}])
  %y: bf16[3, 200, 520] = aten.bmm(%c, %d)
  return %y
}})",
                              left_across ? "3, 136, 200" : "3, 200, 136", right_across ? "3, 136, 520" : "3, 520, 136",
                              left_across ? "2, 1" : "1, 2", right_across ? "1, 2" : "2, 1"));
      EXPECT_TRUE(has_warpgroups()) << plan_.kernels[0].schedule;
      expect_like_portable(
          {numbers(DType::bf16, left_across ? std::vector{3, 136, 200} : std::vector{3, 200, 136}, 1),
           numbers(DType::bf16, right_across ? std::vector{3, 136, 520} : std::vector{3, 520, 136}, 2)},
          8e-3);
    }
  }
}

// Kernels are as for sm_90 if copies cannot bring a factor, or if there are other targets.
TEST_F(Warpgroup, OtherKernelsAndTargetsHaveNone) {
  SKIP_WITHOUT_NVRTC();
  const std::string text = fmt::format(kLinear, 1024, 1024, 512, "bf16");
  compile_for(text, "sm_90a,sm_90");
  EXPECT_FALSE(has_warpgroups());
  ASSERT_EQ(result_.methods[0].notes.size(), 1u);
  EXPECT_EQ(result_.methods[0].notes[0].rfind("1 kernel of matmuls and convolutions for sm_90a is ", 0), 0u);
  compile_for(text, "sm_90");
  EXPECT_EQ(result_.methods[0].notes.size(), 0u);
  compile_for(fmt::format(kLinear, 1024, 1024, 511, "bf16"));
  EXPECT_FALSE(has_warpgroups());
  compile_for(fmt::format(kLinear, 1024, 1024, 512, "f32"));
  EXPECT_FALSE(has_warpgroups());
  for (const char* one : {"sm_90a", "sm_90a,sm_90a"}) {
    compile_for(text, one);
    EXPECT_TRUE(has_warpgroups()) << one;
    EXPECT_EQ(result_.methods[0].notes.size(), 0u) << one;
    ASSERT_EQ(plan_.modules.size(), 1u) << one;
    EXPECT_TRUE(plan_.modules[0].is_exact) << one;
  }
}

// Explain compiles no code, but its plan names the modules.
TEST_F(Warpgroup, AReportNamesTheTargetsThatAreAskedFor) {
  const auto modules_for = [](const std::string& backend) {
    auto function = compiler::parse_graph(fmt::format(kLinear, 1024, 1024, 512, "bf16"));
    EXPECT_TRUE(function.ok());
    function->name = "forward";
    std::vector<compiler::Function> functions;
    functions.push_back(std::move(*function));
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets(backend);
    options.for_report = true;
    const auto compiled = compiler::compile(std::move(functions), options);
    EXPECT_TRUE(compiled.ok());
    Plan plan;
    const auto& payload = compiled->method_plans[0].delegates[0]->payload;
    EXPECT_EQ(read_plan({payload.data(), payload.size()}, &plan, nullptr), Error::Ok);
    std::string names;
    for (const Module& module : plan.modules)
      names += fmt::format("{} ", architecture_name({module.architecture, module.is_ptx, module.is_exact}));
    return names;
  };
  EXPECT_EQ(modules_for("cuda:gpu=sm_90a"), "sm_90a ");
  EXPECT_EQ(modules_for("cuda"), "sm_80 sm_90 sm_100 sm_120 ptx_90 ");
  EXPECT_EQ(modules_for("cuda:gpu=none"), "sm_90 ");
}

}  // namespace
}  // namespace wick::cuda::warpgroup_test
