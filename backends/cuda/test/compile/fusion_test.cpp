// Kernels that are fused after lowering, and kernels that are not.
#include <algorithm>

#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::fusion_test {
namespace {

using Texts = std::vector<std::string>;

class CudaFusion : public CudaLower {
 protected:
  // The launches of a graph that is not run.
  size_t launches_of(const std::string& text) {
    (void)program_of(text, "cuda", {{"gpu", "none"}}, &result_);
    EXPECT_EQ(result_.methods[0].delegates, 1u);
    return kernels().size();
  }
  // The nodes of each kernel: "linear + mul".
  Texts kernels() const {
    Texts out;
    const auto& delegate = *result_.method_plans[0].delegates[0];
    for (const auto& step : static_cast<const Kept*>(delegate.kept.get())->steps) {
      std::string text;
      for (const compiler::NodeName& node : step.nodes) {
        const std::string name = node.op.substr(node.op.find('.') + 1);
        text += (text.empty() ? "" : " + ") + name.substr(0, name.find('.'));
      }
      if (!text.empty()) out.push_back(text);
    }
    return out;
  }
};

// --- join_sums ---

// A gated layer for `rows` tokens; `act`: the activation of the first layer's result, which the second one's is
// multiplied by.
std::string gated(const char* dtype, int rows, int inner, const char* act) {
  return fmt::format(R"(graph f(%x: {0}[{1}, 96], %wg: {0}[{2}, 96], %wu: {0}[{2}, 96]) {{
  %g: {0}[{1}, {2}] = aten.linear(%x, %wg)
  %u: {0}[{1}, {2}] = aten.linear(%x, %wu)
  %a: {0}[{1}, {2}] = {3}
  %y: {0}[{1}, {2}] = aten.mul.Tensor(%a, %u)
  return %y
}})",
                     dtype, rows, inner, act);
}

TEST_F(CudaFusion, ALayerAndTheOneThatGatesItAreOneKernel) {
  for (const auto& [name, dtype, error] : {std::tuple("f32", DType::f32, 1e-5), {"bf16", DType::bf16, 1.0 / 64}}) {
    compile(gated(name, 1, 70, "aten.silu(%g)"));
    EXPECT_EQ(launches(), 1u);
    expect_like_portable({numbers(dtype, {1, 96}, 1), numbers(dtype, {70, 96}, 2), numbers(dtype, {70, 96}, 3)}, error);
  }
}

TEST_F(CudaFusion, TilesHaveOneProductEach) { EXPECT_EQ(launches_of(gated("f32", 40, 70, "aten.silu(%g)")), 2u); }

TEST_F(CudaFusion, ASumThatOtherRowsReadIsAKernelOfItsOwn) {
  EXPECT_EQ(launches_of(gated("f32", 1, 70, "aten.flip(%g, [1])")), 2u);
}

// The loop over the columns is in the text once.
TEST_F(CudaFusion, SumsOfOneRangeShareItsWalk) {
  compile(R"(graph f(%x: f32[6, 200], %y: f32[6, 200]) {
  %a: f32[6] = aten.amax(%x, [1])
  %b: f32[6] = aten.sum.dim_IntList(%y, [1])
  %c: f32[6] = aten.add.Tensor(%a, %b)
  return %c
})");
  EXPECT_EQ(launches(), 1u);
  const std::string& text = kernel_text(0);
  EXPECT_EQ(text.find("for (idx r"), text.rfind("for (idx r")) << text;
  expect_like_portable({numbers(DType::f32, {6, 200}, 1), numbers(DType::f32, {6, 200}, 2)}, 1e-5);
}

// Each row of the first sum reads all elements that the second one stores.
TEST_F(CudaFusion, ASumOfTheBufferThatTheOtherOneWritesIsAKernelOfItsOwn) {
  const auto cell = [](const char* updates) {
    return fmt::format(R"(graph f(%x: f32[1, 64], %wh: f32[64, 64], %wx: f32[64, 64]) {{
  state %h: f32[1, 64] "h" = ...
  %a: f32[1, 64] = aten.linear(%h, %wh)
  %b: f32[1, 64] = aten.linear(%x, %wx)
  %c: f32[1, 64] = aten.add.Tensor(%a, %b)
  %t: f32[1, 64] = aten.tanh(%c)
  {}
}})",
                       updates);
  };
  EXPECT_EQ(launches_of(cell("update %h = %t\n  return 0")), 2u);
  EXPECT_EQ(launches_of(cell("return %t")), 1u);
}

// --- absorb_readers ---

// Rotary positions for 3 heads of 32 features, by halves or by neighbours.
std::string rotated(const char* halves) {
  return fmt::format(R"(graph f(%x: bf16[1, 128], %w: bf16[96, 128], %cos: bf16[1, 32], %sin: bf16[1, 32]) {{
  %q: bf16[1, 96] = aten.linear(%x, %w)
  %h: bf16[1, 3, 32] = aten.view(%q, [1, 3, 32])
{}
  %c: bf16[1, 3, 32] = aten.mul.Tensor(%h, %cos)
  %s: bf16[1, 3, 32] = aten.mul.Tensor(%r, %sin)
  %y: bf16[1, 3, 32] = aten.add.Tensor(%c, %s)
  return %y
}})",
                     halves);
}

constexpr const char* kHalves = R"(  %a: bf16[1, 3, 16] = aten.slice.Tensor(%h, 2, 0, 16)
  %b: bf16[1, 3, 16] = aten.slice.Tensor(%h, 2, 16, 32)
  %n: bf16[1, 3, 16] = aten.neg(%b)
  %r: bf16[1, 3, 32] = aten.cat([%n, %a], 2))";
constexpr const char* kNeighbours = R"(  %p: bf16[1, 3, 16, 2] = aten.view(%h, [1, 3, 16, 2])
  %a: bf16[1, 3, 16, 1] = aten.slice.Tensor(%p, 3, 0, 1)
  %b: bf16[1, 3, 16, 1] = aten.slice.Tensor(%p, 3, 1, 2)
  %n: bf16[1, 3, 16, 1] = aten.neg(%b)
  %i: bf16[1, 3, 16, 2] = aten.cat([%n, %a], 3)
  %r: bf16[1, 3, 32] = aten.view(%i, [1, 3, 32]))";
constexpr const char* kReversed = R"(  %r: bf16[1, 3, 32] = aten.flip(%h, [2]))";

TEST_F(CudaFusion, RotaryPositionsArePartOfTheLayerBeforeThem) {
  for (const char* pairs : {kHalves, kNeighbours}) {
    compile(rotated(pairs));
    EXPECT_EQ(launches(), 1u);
    expect_like_portable({numbers(DType::bf16, {1, 128}, 1), numbers(DType::bf16, {96, 128}, 2),
                          numbers(DType::bf16, {1, 32}, 3), numbers(DType::bf16, {1, 32}, 4)},
                         1.0 / 64);
  }
}

TEST_F(CudaFusion, AMapOfOtherPairsIsAKernelOfItsOwn) { EXPECT_EQ(launches_of(rotated(kReversed)), 2u); }

// Rows that are one row and eight million rows apart are no group: one row of the kernel would have that many
// reductions.
TEST_F(CudaFusion, AMapOfRowsFarApartIsAKernelOfItsOwn) {
  EXPECT_EQ(launches_of(R"(graph f(%x: f32[1, 64], %w: f32[16777216, 1]) {
  %p: f32[16777216, 64] = aten.mul.Tensor(%x, %w)
  %m: f32[16777216] = aten.amax(%p, [1])
  %a: f32[8388608] = aten.slice.Tensor(%m, 0, 0, 8388608)
  %b: f32[8388608] = aten.slice.Tensor(%m, 0, 1, 8388609)
  %c: f32[8388608] = aten.slice.Tensor(%m, 0, 8388607, 16777215)
  %d: f32[8388608] = aten.add.Tensor(%a, %b)
  %y: f32[8388608] = aten.add.Tensor(%d, %c)
  return %y
})"),
            2u);
}

// Rows of 24 numbers are too short for the 3 elements per row that the map reads and writes.
TEST_F(CudaFusion, AMapThatReadsMuchIsAKernelOfItsOwn) {
  const auto sliced = [](int columns) {
    return fmt::format(R"(graph f(%x: f32[1, {0}], %w: f32[80, {0}], %a: f32[40], %b: f32[40]) {{
  %q: f32[1, 80] = aten.linear(%x, %w)
  %s: f32[1, 40] = aten.slice.Tensor(%q, 1, 20, 60)
  %t: f32[1, 40] = aten.mul.Tensor(%s, %a)
  %y: f32[1, 40] = aten.add.Tensor(%t, %b)
  return %y
}})",
                       columns);
  };
  EXPECT_EQ(launches_of(sliced(47)), 2u);
  compile(sliced(48));
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {1, 48}, 1), numbers(DType::f32, {80, 48}, 2), numbers(DType::f32, {40}, 3),
                        numbers(DType::f32, {40}, 4)},
                       1e-5);
}

// Writes into a cache, where the layer's result is also read by another node.
TEST_F(CudaFusion, WritesIntoACacheArePartOfTheLayerToo) {
  compile(R"(graph f(%x: f32[1, 128], %w: f32[64, 128], %cache: f32[2, 10, 32], %at: i64[1]) {
  %k: f32[1, 64] = aten.linear(%x, %w)
  %h: f32[2, 1, 32] = aten.view(%k, [2, 1, 32])
  %y: f32[2, 10, 32] = aten.index_put(%cache, [none, %at], %h)
  %t: f32[64, 1] = aten.permute(%k, [1, 0])
  %s: f32[1, 1] = aten.mm(%k, %t)
  return %y, %s
})");
  EXPECT_EQ(kernels(), (Texts{"index_put", "linear + index_put", "mm"}));
  HostTensor at;
  at.dtype = DType::i64;
  at.sizes = {1};
  at.bytes = {7, 0, 0, 0, 0, 0, 0, 0};
  expect_like_portable(
      {numbers(DType::f32, {1, 128}, 1), numbers(DType::f32, {64, 128}, 2), numbers(DType::f32, {2, 10, 32}, 3), at},
      1e-5);
}

// --- add_prologues ---

std::string normed(int width, int outputs) {
  return fmt::format(R"(graph f(%x: f32[1, {0}], %g: f32[{0}], %w: f32[{1}, {0}]) {{
  %n: f32[1, {0}] = aten.rms_norm(%x, [{0}], %g, 1e-05)
  %y: f32[1, {1}] = aten.linear(%n, %w)
  return %y
}})",
                     width, outputs);
}

TEST_F(CudaFusion, ANormOfOneRowIsComputedByEachBlockOfTheLayerBehindIt) {
  compile(normed(160, 50));
  EXPECT_EQ(kernels(), Texts{"rms_norm + linear"});
  expect_like_portable(
      {numbers(DType::f32, {1, 160}, 1), numbers(DType::f32, {160}, 2), numbers(DType::f32, {50, 160}, 3)}, 1e-5);
}

// A single row is computed by more than a warp, whatever its block computes before.
TEST_F(CudaFusion, ANormOfANormIsComputedByAWholeBlock) {
  compile(R"(graph f(%x: f32[1, 2048], %g: f32[2048], %h: f32[2048]) {
  %n: f32[1, 2048] = aten.rms_norm(%x, [2048], %g, 1e-05)
  %y: f32[1, 2048] = aten.rms_norm(%n, [2048], %h, 1e-05)
  return %y
})");
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(plan_.kernels[0].schedule.find("warp"), std::string::npos) << plan_.kernels[0].schedule;
  EXPECT_GE(plan_.kernels[0].block[0], 256u);
  expect_like_portable(
      {numbers(DType::f32, {1, 2048}, 1), numbers(DType::f32, {2048}, 2), numbers(DType::f32, {2048}, 3)}, 1e-5);
}

// There are more rows than warps in all blocks: the blocks loop over them.
TEST_F(CudaFusion, OfManyRowsToo) {
  compile(normed(32, 20000));
  EXPECT_EQ(launches(), 1u);
  EXPECT_NE(kernel_text(0).find("i += "), std::string::npos);
  expect_like_portable(
      {numbers(DType::f32, {1, 32}, 1), numbers(DType::f32, {32}, 2), numbers(DType::f32, {20000, 32}, 3)}, 1e-5);
}

TEST_F(CudaFusion, ALineThatIsTooLongForSharedMemoryIsComputedOnce) {
  EXPECT_EQ(launches_of(normed(4096, 4)), 1u);
  EXPECT_EQ(launches_of(normed(4097, 4)), 2u);
}

// Other blocks would have overwritten its operands when a block computes it again.
TEST_F(CudaFusion, ALineOfTheBufferThatItsReaderWritesIsComputedOnce) {
  EXPECT_EQ(launches_of(R"(graph f(%w: f32[64, 64]) {
  state %h: f32[1, 64] "h" = ...
  %n: f32[1, 64] = aten.rms_norm(%h, [64], none, 1e-05)
  %y: f32[1, 64] = aten.linear(%n, %w)
  update %h = %y
  return 0
})"),
            2u);
}

// --- integer weights ---

std::string weight(const char* name, int rows, int columns = 64, const char* dtype = "f32") {
  std::string numbers, scales;
  for (int i = 0; i < rows * columns; ++i)
    numbers += fmt::format(
        "{}{}", i == 0 ? "" : ", ",
        static_cast<int>(philox4x32(static_cast<uint64_t>(name[1]), static_cast<uint64_t>(i)).words[0] % 16) - 8);
  for (int i = 0; i < rows * columns / 32; ++i) scales += fmt::format("{}{}", i == 0 ? "" : ", ", (1 + i % 7) / 64.0);
  return fmt::format(R"(
  const %{0}q: i8[{1}, {4}] = [{2}]
  const %{0}s: {6}[{1}, {5}] = [{3}]
  %{0}: {6}[{1}, {4}] = torchao.dequantize_affine(%{0}q, [1, 32], %{0}s, none, i8, -8, 7, {6}))",
                     name, rows, numbers, scales, columns, columns / 32, dtype);
}

// Also by matrix instructions.
TEST_F(CudaFusion, RowsOfPackedIntegersBecomeOneLikeOthers) {
  for (const auto& [name, dtype, width, error] :
       {std::tuple("f32", DType::f32, 64, 1e-5), {"bf16", DType::bf16, 128, 1.0 / 64}}) {
    compile(fmt::format(R"(graph f(%x: {0}[1, {1}], %g: {0}[{1}], %cos: {0}[32], %sin: {0}[32]) {{{2}{3}{4}
  %l: {0}[1, {1}] = aten.rms_norm(%x, [{1}], %g, 1e-05)
  %e: {0}[1, 40] = aten.linear(%l, %wg)
  %ea: {0}[1, 40] = aten.silu(%e)
  %u: {0}[1, 40] = aten.linear(%l, %wu)
  %y: {0}[1, 40] = aten.mul.Tensor(%ea, %u)
  %q: {0}[1, 64] = aten.linear(%l, %wq)
  %h: {0}[1, 2, 32] = aten.view(%q, [1, 2, 32])
  %a: {0}[1, 2, 16] = aten.slice.Tensor(%h, 2, 0, 16)
  %b: {0}[1, 2, 16] = aten.slice.Tensor(%h, 2, 16, 32)
  %n: {0}[1, 2, 16] = aten.neg(%b)
  %r: {0}[1, 2, 32] = aten.cat([%n, %a], 2)
  %c: {0}[1, 2, 32] = aten.mul.Tensor(%h, %cos)
  %s: {0}[1, 2, 32] = aten.mul.Tensor(%r, %sin)
  %z: {0}[1, 2, 32] = aten.add.Tensor(%c, %s)
  return %y, %z
}})",
                        name, width, weight("wg", 40, width, name), weight("wu", 40, width, name),
                        weight("wq", 64, width, name)));
    // Also in one launch.
    const char* const silu = dtype == DType::f32 ? "" : " + _to_copy";
    EXPECT_EQ(kernels(), Texts{fmt::format("rms_norm + linear{} + linear + mul + linear + view + add", silu)});
    EXPECT_NE(kernel_text(0).find(dtype == DType::f32 ? "nibble(" : "NibbleChunk<8>"), std::string::npos);
    expect_like_portable(
        {numbers(dtype, {1, width}, 1), numbers(dtype, {width}, 2), numbers(dtype, {32}, 3), numbers(dtype, {32}, 4)},
        error);
  }
}

TEST_F(CudaFusion, FourProductsOfPackedIntegersShareALaunchUnlessOneReadsAnother) {
  std::string graph = "graph f(%x: f32[1, 64]) {", results;
  for (int i = 0; i < 5; ++i) {
    const std::string name = fmt::format("w{}", static_cast<char>('a' + i));
    graph += weight(name.c_str(), 32) + fmt::format("\n  %y{}: f32[1, 32] = aten.linear(%x, %{})", i, name);
    results += fmt::format("{}%y{}", i == 0 ? "" : ", ", i);
  }
  EXPECT_EQ(launches_of(graph + "\n  return " + results + "\n}"), 2u);
  EXPECT_EQ(launches_of("graph f(%x: f32[1, 64]) {" + weight("wa", 64) + weight("wb", 64) + R"(
  %y: f32[1, 64] = aten.linear(%x, %wa)
  %z: f32[1, 64] = aten.linear(%y, %wb)
  return %y, %z
})"),
            2u);
}

// A kernel has 48 KiB of shared memory; a line of 4096 takes 16 KiB.
TEST_F(CudaFusion, LinesOfProductsThatShareALaunchFitIntoSharedMemory) {
  for (const auto& [columns, wanted] : {std::pair(2048, 1u), {4096, 2u}}) {
    std::string graph = fmt::format("graph f(%x: f32[1, {0}], %g: f32[{0}]) {{", columns), results;
    graph += fmt::format("\n  %n: f32[1, {0}] = aten.rms_norm(%x, [{0}], %g, 1e-05)", columns);
    for (const char* name : {"wa", "wb", "wc"}) {
      graph += weight(name, 16, columns) + fmt::format("\n  %y{0}: f32[1, 16] = aten.linear(%n, %{0})", name);
      results += fmt::format("{}%y{}", results.empty() ? "" : ", ", name);
    }
    EXPECT_EQ(launches_of(graph + "\n  return " + results + "\n}"), wanted) << columns;
  }
}

// --- chain_maps ---

// A step of an LSTM: a layer, and its next state, each element of which depends on four parts of the layer's result.
// The next state is read by the next output, and is an output itself.
std::string lstm_step(int rows, int features, int columns) {
  return fmt::format(R"(graph f(%x: f32[{0}, {2}], %c: f32[{0}, {1}], %w: f32[{3}, {2}], %b: f32[{3}]) {{
  %g: f32[{0}, {3}] = aten.linear(%x, %w, %b)
  %g0: f32[{0}, {1}] = aten.slice.Tensor(%g, 1, 0, {1})
  %g1: f32[{0}, {1}] = aten.slice.Tensor(%g, 1, {1}, {4})
  %g2: f32[{0}, {1}] = aten.slice.Tensor(%g, 1, {4}, {5})
  %g3: f32[{0}, {1}] = aten.slice.Tensor(%g, 1, {5}, {3})
  %i: f32[{0}, {1}] = aten.sigmoid(%g0)
  %f: f32[{0}, {1}] = aten.sigmoid(%g1)
  %n: f32[{0}, {1}] = aten.tanh(%g2)
  %o: f32[{0}, {1}] = aten.sigmoid(%g3)
  %k: f32[{0}, {1}] = aten.mul.Tensor(%f, %c)
  %t: f32[{0}, {1}] = aten.mul.Tensor(%i, %n)
  %d: f32[{0}, {1}] = aten.add.Tensor(%k, %t)
  %e: f32[{0}, {1}] = aten.tanh(%d)
  %h: f32[{0}, {1}] = aten.mul.Tensor(%o, %e)
  return %h, %d
}})",
                     rows, features, columns, 4 * features, 2 * features, 3 * features);
}

TEST_F(CudaFusion, AStepOfAnLstmIsOneKernelForOneRowAndTwoForMore) {
  for (const auto& [rows, columns, wanted] : {std::tuple(1, 40, 1u), {1, 11, 2u}, {3, 40, 2u}}) {
    compile(lstm_step(rows, 24, columns));
    EXPECT_EQ(launches(), wanted) << rows << " rows of " << columns;
    expect_like_portable({numbers(DType::f32, {rows, columns}, 1), numbers(DType::f32, {rows, 24}, 2),
                          numbers(DType::f32, {96, columns}, 3), numbers(DType::f32, {96}, 4)},
                         1e-5);
  }
}

TEST_F(CudaFusion, MapsOfTheSameElementsAreOneKernelAndStoreWhatOthersRead) {
  const char* const graph = R"(graph f(%x: f32[6, 50], %y: f32[{0}, 50]) {{
  %a: f32[6, 50] = aten.exp(%x)
  %s: f32[6, 50] = aten.sin(%a)
  %r: f32[6, 50] = {1}
  %b: f32[6, 50] = aten.mul.Tensor(%r, %y)
  %c: f32[6, 50] = aten.sin(%b)
  return %b, %c, {2}
}})";
  compile(fmt::format(fmt::runtime(graph), 6, "aten.neg(%s)", "%s"));
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {6, 50}, 1), numbers(DType::f32, {6, 50}, 2)}, 1e-6);
  // The map reads elements that other threads have computed, so they must be in memory.
  compile(fmt::format(fmt::runtime(graph), 1, "aten.flip(%s, [1])", "%s"));
  EXPECT_EQ(launches(), 2u);
  expect_like_portable({numbers(DType::f32, {6, 50}, 1), numbers(DType::f32, {1, 50}, 2)}, 1e-6);
}

// --- join_maps ---

TEST_F(CudaFusion, SmallMapsOfOneSizeAreOneKernelUnlessOneReadsTheOther) {
  compile(R"(graph f(%x: f32[6, 50], %y: f32[6, 50], %z: f32[6, 51]) {
  %a: f32[6, 50] = aten.exp(%x)
  %b: f32[6, 50] = aten.sin(%y)
  %c: f32[6, 51] = aten.sin(%z)
  %e: f32[6, 50] = aten.flip(%a, [0])
  %f: f32[6, 50] = aten.cos(%e)
  return %a, %b, %c, %f
})");
  EXPECT_EQ(kernels(), (Texts{"exp + sin", "sin", "cos"}));
  expect_like_portable(
      {numbers(DType::f32, {6, 50}, 1), numbers(DType::f32, {6, 50}, 2), numbers(DType::f32, {6, 51}, 3)}, 1e-6);
}

TEST_F(CudaFusion, LargeMapsStayApart) {
  for (const auto& [size, wanted] : {std::pair(1 << 20, 1u), {(1 << 20) + 1, 2u}}) {
    EXPECT_EQ(launches_of(fmt::format(R"(graph f(%x: f32[{0}], %y: f32[{0}]) {{
  %a: f32[{0}] = aten.neg(%x)
  %b: f32[{0}] = aten.abs(%y)
  return %a, %b
}})",
                                      size)),
              wanted);
  }
}

// --- a decoder ---

// A layer of Llama for one token, with the shapes of Llama-3.2-1B divided by eight: 8 heads of 32 features in 2 groups.
// It writes keys and values into caches of 64 positions.
std::string decoder_layer(int i) {
  std::string text = fmt::format(R"(
  %n{0}: bf16[1, 256] = aten.rms_norm(%x{0}, [256], %g, 1e-05)
  %q{0}: bf16[1, 256] = aten.linear(%n{0}, %wq)
  %k{0}: bf16[1, 64] = aten.linear(%n{0}, %wk)
  %v{0}: bf16[1, 64] = aten.linear(%n{0}, %wk))",
                                 i);
  for (const auto& [z, heads] : {std::pair("q", 8), {"k", 2}}) {
    text += fmt::format(R"(
  %{1}v{0}: bf16[1, 1, {2}, 32] = aten.view(%{1}{0}, [1, 1, {2}, 32])
  %{1}h{0}: bf16[1, {2}, 1, 32] = aten.permute(%{1}v{0}, [0, 2, 1, 3])
  %{1}a{0}: bf16[1, {2}, 1, 16] = aten.slice.Tensor(%{1}h{0}, 3, 0, 16)
  %{1}b{0}: bf16[1, {2}, 1, 16] = aten.slice.Tensor(%{1}h{0}, 3, 16, 32)
  %{1}n{0}: bf16[1, {2}, 1, 16] = aten.neg(%{1}b{0})
  %{1}t{0}: bf16[1, {2}, 1, 32] = aten.cat([%{1}n{0}, %{1}a{0}], 3)
  %{1}c{0}: bf16[1, {2}, 1, 32] = aten.mul.Tensor(%{1}h{0}, %cos)
  %{1}s{0}: bf16[1, {2}, 1, 32] = aten.mul.Tensor(%{1}t{0}, %sin)
  %{1}r{0}: bf16[1, {2}, 1, 32] = aten.add.Tensor(%{1}c{0}, %{1}s{0}))",
                        i, z, heads);
  }
  return text + fmt::format(R"(
  %vv{0}: bf16[1, 1, 2, 32] = aten.view(%v{0}, [1, 1, 2, 32])
  %vh{0}: bf16[1, 2, 1, 32] = aten.permute(%vv{0}, [0, 2, 1, 3])
  %ck{0}: bf16[1, 2, 64, 32] = aten.index_put(%keys{0}, [none, none, %at], %kr{0})
  %cv{0}: bf16[1, 2, 64, 32] = aten.index_put(%values{0}, [none, none, %at], %vh{0})
  %z{0}: bf16[1, 8, 1, 32] = aten.scaled_dot_product_attention(%qr{0}, %ck{0}, %cv{0}, %m, 0.0, false, none, true)
  %zt{0}: bf16[1, 1, 8, 32] = aten.permute(%z{0}, [0, 2, 1, 3])
  %zv{0}: bf16[1, 256] = aten.view(%zt{0}, [1, 256])
  %o{0}: bf16[1, 256] = aten.linear(%zv{0}, %wq)
  %y{0}: bf16[1, 256] = aten.add.Tensor(%x{0}, %o{0})
  %l{0}: bf16[1, 256] = aten.rms_norm(%y{0}, [256], %g, 1e-05)
  %e{0}: bf16[1, 1024] = aten.linear(%l{0}, %wu)
  %ea{0}: bf16[1, 1024] = aten.silu(%e{0})
  %u{0}: bf16[1, 1024] = aten.linear(%l{0}, %wu)
  %f{0}: bf16[1, 1024] = aten.mul.Tensor(%ea{0}, %u{0})
  %d{0}: bf16[1, 256] = aten.linear(%f{0}, %wd)
  %x{1}: bf16[1, 256] = aten.add.Tensor(%y{0}, %d{0}))",
                            i, i + 1);
}

// `holds`: the caches are mutable buffers; otherwise they are inputs, and new caches are outputs.
std::string decoder(int layers, bool holds) {
  std::string inputs = "%token: i64[1], %at: i64[1]", results = "%w", states, body, updates;
  for (int i = 0; i < layers; ++i) {
    for (const char* name : {"keys", "values"}) {
      const std::string cache = fmt::format("%{}{}: bf16[1, 2, 64, 32]", name, i);
      if (holds) states += fmt::format("  state {0} \"{1}{2}\" = ...\n", cache, name, i);
      if (holds) updates += fmt::format("  update %{1}{0} = %c{2}{0}\n", i, name, name[0]);
      if (!holds) inputs += ", " + cache;
      if (!holds) results += fmt::format(", %c{1}{0}", i, name[0]);
    }
    body += decoder_layer(i);
  }
  return fmt::format(R"(graph f({0}) {{
{4}  const %table: bf16[512, 256]
  const %angles: bf16[64, 32]
  const %g: bf16[256]
  const %wq: bf16[256, 256]
  const %wk: bf16[64, 256]
  const %wu: bf16[1024, 256]
  const %wd: bf16[256, 1024]
  const %positions: i64[64]
  %x0: bf16[1, 256] = aten.embedding(%table, %token)
  %cos: bf16[1, 32] = aten.index.Tensor(%angles, [%at])
  %sin: bf16[1, 32] = aten.index.Tensor(%angles, [%at])
  %le: bool[64] = aten.le.Tensor(%positions, %at)
  %m: bool[1, 1, 1, 64] = aten.view(%le, [1, 1, 1, 64]){1}
  %w1: bf16[1, 256] = aten.rms_norm(%x{2}, [256], %g, 1e-05)
  %w: bf16[1, 512] = aten.linear(%w1, %table)
{5}  return {3}
}})",
                     inputs, body, layers, results, states, updates);
}

// The rest: the token's embedding with the mask, the position's angles, the head.
TEST_F(CudaFusion, ALayerOfADecoderTakesFiveKernelsForOneToken) { EXPECT_LE(launches_of(decoder(16, true)), 84u); }

// One kernel for 4 copies.
TEST_F(CudaFusion, AndCopiesOfItsCachesIfTheyAreResults) { EXPECT_LE(launches_of(decoder(16, false)), 84u + 8); }

}  // namespace
}  // namespace wick::cuda::fusion_test
