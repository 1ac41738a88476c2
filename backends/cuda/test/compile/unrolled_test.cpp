// Kernels whose rows are written out because their loads are not vectors: which loads are combined, and what they
// compute.
#include <algorithm>

#include "backends/cuda/compile/kernel/neighbours/load_runs.h"
#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

class LoadRuns : public ::testing::Test {
 protected:
  LoadRuns() { graph_.ranges["g"] = {0, 99}; }
  ExpressionPtr load(ExpressionPtr offset, DType dtype = DType::f32) { return graph_.pool.load(0, dtype, offset); }
  ExpressionPtr load(const Sym& offset, DType dtype = DType::f32) { return load(graph_.pool.index(offset), dtype); }
  ExpressionPtr guarded(const Sym& offset, ExpressionPtr guard) {
    graph_.pool.push_guard(guard);
    const ExpressionPtr made = load(offset);
    graph_.pool.pop_guard();
    return made;
  }
  // The lengths of the runs, in the order of their offsets.
  static std::vector<size_t> lengths(const std::vector<ExpressionPtr>& loads) {
    std::vector<LoadRun> runs = load_runs(loads);
    const auto place = [&](const LoadRun& run) { return std::find(loads.begin(), loads.end(), run[0]); };
    std::sort(runs.begin(), runs.end(), [&](const LoadRun& a, const LoadRun& b) { return place(a) < place(b); });
    std::vector<size_t> out;
    for (const LoadRun& run : runs) out.push_back(run.size());
    return out;
  }

  const Sym group_ = Sym::symbol("g");
  LoweredGraph graph_;
  const compiler::SymScope scope_{graph_.ranges};
};

using Lengths = std::vector<size_t>;

// The taps of a window of three elements, for several neighbouring outputs.
TEST_F(LoadRuns, BeginAtMultiplesOfTheirLength) {
  std::vector<ExpressionPtr> loads;
  for (int64_t i = -1; i < 5; ++i) loads.push_back(load(group_ * 4 + i));
  EXPECT_EQ(lengths(loads), (Lengths{1, 4, 1}));
  loads.clear();
  for (int64_t i = -1; i < 5; ++i) loads.push_back(load(group_ * 6 + i));
  EXPECT_EQ(lengths(loads), (Lengths{1, 2, 2, 1}));
  loads.clear();
  for (int64_t i = 0; i < 4; ++i) loads.push_back(load(group_ * 5 + i));
  EXPECT_EQ(lengths(loads), (Lengths{1, 1, 1, 1}));
}

TEST_F(LoadRuns, AreSixteenBytesAtMost) {
  std::vector<ExpressionPtr> loads;
  for (int64_t i = 0; i < 12; ++i) loads.push_back(load(group_ * 16 + i, DType::bf16));
  EXPECT_EQ(lengths(loads), (Lengths{8, 4}));
  loads.clear();
  for (int64_t i = 0; i < 4; ++i) loads.push_back(load(group_ * 16 + i, DType::f64));
  EXPECT_EQ(lengths(loads), (Lengths{2, 2}));
}

// An element that nobody reads leaves a gap in a run: it may be outside the tensor.
TEST_F(LoadRuns, ReadNothingThatNobodyReads) {
  EXPECT_EQ(lengths({load(group_ * 4), load(group_ * 4 + 1), load(group_ * 4 + 3)}), (Lengths{2, 1}));
  EXPECT_EQ(lengths({load(group_ * 4), load(group_ * 4 + 2)}), (Lengths{1, 1}));
}

TEST_F(LoadRuns, HaveOneGuard) {
  ExpressionPool& pool = graph_.pool;
  const ExpressionPtr first = pool.less(pool.index(group_), pool.index(5)),
                      second = pool.less(pool.index(group_), pool.index(6));
  EXPECT_EQ(lengths({guarded(group_ * 2, first), guarded(group_ * 2 + 1, first)}), (Lengths{2}));
  EXPECT_EQ(lengths({guarded(group_ * 2, first), guarded(group_ * 2 + 1, second)}), (Lengths{1, 1}));
  EXPECT_EQ(lengths({guarded(group_ * 2, first), load(group_ * 2 + 1)}), (Lengths{1, 1}));
}

TEST_F(LoadRuns, MayStandInARowThatDataNames) {
  ExpressionPool& pool = graph_.pool;
  const ExpressionPtr named = pool.cast(pool.load(1, DType::i64, pool.index(group_)), ScalarType::index);
  const auto in_row = [&](int64_t length, int64_t at) {
    return load(pool.add(pool.multiply(named, pool.index(length)), pool.index(at)));
  };
  const std::vector<ExpressionPtr> even = {in_row(8, 2), in_row(8, 3)}, odd = {in_row(9, 2), in_row(9, 3)};
  const std::vector<LoadRun> of_even = load_runs(even), of_odd = load_runs(odd);
  ASSERT_EQ(of_even.size(), 2u);  // the load that chooses the row comes first
  EXPECT_EQ(of_even[0], (LoadRun{named->args[0]}));
  EXPECT_EQ(of_even[1], even);
  EXPECT_EQ(of_odd.size(), 3u);
}

class CudaUnrolled : public CudaLower {
 protected:
  std::string schedule(size_t kernel) const { return plan_.kernels[plan_.nodes[kernel].kernel].schedule; }
};

// Windows over the innermost dimension: rows that are and are not multiples of a vector, strides, dilations, padding on
// both sides, and an epilogue.
TEST_F(CudaUnrolled, DepthwiseConvolutionsGiveTheSameAsOneByOne) {
  const struct {
    const char* dtype;
    int32_t width, kernel, stride, dilation;
    bool written_out;
  } cases[] = {{"bf16", 56, 3, 1, 1, true}, {"bf16", 56, 3, 2, 1, true},  {"f32", 60, 7, 1, 1, true},
               {"f16", 58, 5, 1, 2, true},  {"bf16", 57, 3, 1, 1, false}, {"f32", 68, 3, 1, 3, true}};
  for (const auto& c : cases) {
    const int32_t pad = c.dilation * (c.kernel - 1) / 2, out = (c.width - 1) / c.stride + 1;
    compile(fmt::format(
        R"(graph f(%x: {0}[2, 24, {1}, {1}], %w: {0}[24, 1, {2}, {2}], %b: {0}[24], %r: {0}[2, 24, {3}, {3}]) {{
  %c: {0}[2, 24, {3}, {3}] = aten.convolution(%x, %w, %b, [{4}, {4}], [{5}, {5}], [{6}, {6}], false, [0, 0], 24)
  %a: {0}[2, 24, {3}, {3}] = aten.add.Tensor(%c, %r)
  %y: {0}[2, 24, {3}, {3}] = aten.relu(%a)
  return %y
}})",
        c.dtype, c.width, c.kernel, out, c.stride, pad, c.dilation));
    ASSERT_EQ(launches(), 1u);
    EXPECT_EQ(schedule(0).rfind("rows written out", 0) == 0, c.written_out) << schedule(0);
    const DType dtype = c.dtype[0] == 'b' ? DType::bf16 : c.dtype == std::string("f16") ? DType::f16 : DType::f32;
    expect_like_portable({numbers(dtype, {2, 24, c.width, c.width}, 1), numbers(dtype, {24, 1, c.kernel, c.kernel}, 2),
                          numbers(dtype, {24}, 3), numbers(dtype, {2, 24, out, out}, 4)},
                         dtype == DType::f32 ? 1e-6 : 1.0 / 128);
  }
}

TEST_F(CudaUnrolled, PoolsGiveTheSameAsOneByOne) {
  compile(R"(graph f(%x: bf16[3, 20, 64, 64], %z: f32[3, 20, 62, 62]) {
  %m: bf16[3, 20, 32, 32], %i: i64[3, 20, 32, 32] = aten.max_pool2d_with_indices(%x, [3, 3], [2, 2], [1, 1])
  %a: bf16[3, 20, 64, 64] = aten.avg_pool2d(%x, [3, 3], [1, 1], [1, 1], false, false)
  %b: f32[3, 20, 31, 31] = aten.avg_pool2d(%z, [2, 2], [2, 2])
  %n: f32[3, 20, 60, 60], %k: i64[3, 20, 60, 60] = aten.max_pool2d_with_indices(%z, [3, 3], [1, 1])
  return %m, %i, %a, %b, %n
})");
  size_t written_out = 0;
  for (size_t i = 0; i < launches(); ++i) written_out += schedule(i).rfind("rows written out", 0) == 0;
  EXPECT_EQ(launches(), 4u);
  EXPECT_EQ(written_out, 3u);  // not the rows of 31
  expect_like_portable({numbers(DType::bf16, {3, 20, 64, 64}, 1), numbers(DType::f32, {3, 20, 62, 62}, 2)}, 1.0 / 128);
}

// Stores are vectors although loads are not: reversed elements, shifts by padding, rows that begin anywhere, columns
// that an index selects, images of two sizes.
TEST_F(CudaUnrolled, MapsGiveTheSameAsOneByOne) {
  compile(R"(graph f(%x: bf16[400, 512], %z: f32[400, 509], %i: i64[400, 512], %p: bf16[6, 5, 60, 60]) {
  %a: bf16[400, 512] = aten.flip(%x, [1])
  %b: bf16[400, 516] = aten.constant_pad_nd(%x, [1, 3], 0.5)
  %c: f32[400, 508] = aten.slice.Tensor(%z, 1, 1, 509)
  %d: f32[400, 508] = aten.neg(%c)
  %e: bf16[400, 512] = aten.gather(%x, 1, %i)
  %u: bf16[6, 5, 120, 120] = aten.upsample_nearest2d.vec(%p, none, [2.0, 2.0])
  return %a, %b, %d, %e, %u
})");
  ASSERT_EQ(launches(), 4u);  // one for %a and %e
  for (size_t i = 0; i < launches(); ++i) EXPECT_EQ(schedule(i).rfind("rows written out", 0), 0u) << schedule(i);
  std::vector<int64_t> columns(400 * 512);
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int64_t>(i * 37 % 512);
  expect_bits_of_portable({numbers(DType::bf16, {400, 512}, 1), numbers(DType::f32, {400, 509}, 2),
                           integers(columns, {400, 512}), numbers(DType::bf16, {6, 5, 60, 60}, 3)});
  columns.back() = 512;
  expect_error({numbers(DType::bf16, {400, 512}, 1), numbers(DType::f32, {400, 509}, 2), integers(columns, {400, 512}),
                numbers(DType::bf16, {6, 5, 60, 60}, 3)},
               "an index is out of bounds");
}

// If an image grows or shrinks by whole factors, nearest neighbours are found by integers, otherwise by floats; also by
// floats if the model's scale is not the ratio of the sizes.
TEST_F(CudaUnrolled, NearestNeighboursGiveTheSameAsOneByOne) {
  const struct {
    const char* op;
    int32_t in, out;
    const char* scale;
    bool whole;
  } cases[] = {{"nearest", 40, 80, "2.0", true},         {"nearest", 40, 120, "none", true},
               {"nearest", 84, 28, "none", true},        {"_nearest_exact", 40, 80, "none", true},
               {"_nearest_exact", 84, 28, "none", true}, {"nearest", 40, 60, "1.5", false},
               {"nearest", 40, 80, "2.04", false},       {"_nearest_exact", 28, 42, "none", false}};
  for (const auto& c : cases) {
    compile(fmt::format(R"(graph f(%x: bf16[2, 8, {0}, {0}]) {{
  %y: bf16[2, 8, {1}, {1}] = aten.{2}2d(%x, [{1}, {1}], {3}, {3})
  return %y
}})",
                        c.in, c.out, c.op[0] == '_' ? "_upsample_nearest_exact" : "upsample_nearest", c.scale));
    EXPECT_EQ(kernel_text(0).find("floor(") == std::string::npos, c.whole) << kernel_text(0);
    expect_bits_of_portable({numbers(DType::bf16, {2, 8, c.in, c.in}, 1)});
  }
}

// Neighbouring elements whose places depend on their own results are no vectors: columns that are sorted, each element
// at its rank, and the largest elements of columns, which are read again at their positions.
TEST_F(CudaUnrolled, PlacesThatResultsNameAreNotSharedByNeighbours) {
  compile(R"(graph f(%x: f32[4, 40000], %y: f32[64, 2048]) {
  %s: f32[4, 40000], %p: i64[4, 40000] = aten.sort(%x, 0, true)
  %i: i64[1, 2048] = aten.argmax(%y, 0, true)
  %g: f32[1, 2048] = aten.gather(%y, 0, %i)
  return %s, %p, %i, %g
})");
  expect_bits_of_portable({numbers(DType::f32, {4, 40000}, 1), numbers(DType::f32, {64, 2048}, 2)});
}

// Fewer rows than a device has threads, and sizes known only at run time with a large upper bound.
TEST_F(CudaUnrolled, RowsOfRunTimeAndFewOnes) {
  compile(R"(graph f(%x: bf16[s0, 512], %y: bf16[16, 512]) {
  range s0: 1..4096
  %a: bf16[s0, 512] = aten.flip(%x, [1])
  %b: bf16[16, 512] = aten.flip(%y, [1])
  return %a, %b
})");
  ASSERT_EQ(launches(), 2u);
  size_t written_out = 0;
  for (size_t i = 0; i < launches(); ++i) written_out += schedule(i).rfind("rows written out", 0) == 0;
  EXPECT_EQ(written_out, 1u);
  for (const int32_t rows : {1, 33, 400})
    expect_bits_of_portable({numbers(DType::bf16, {rows, 512}, 1), numbers(DType::bf16, {16, 512}, 2)});
}

}  // namespace
}  // namespace wick::cuda
