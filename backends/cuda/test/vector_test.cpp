// Vectors in maps and reductions: what is loaded and stored at once, and what must not be.
#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

class VectorAccess : public ::testing::Test {
 protected:
  Loop loop(const char* name, int64_t extent) {
    graph_.ranges[name] = {0, extent - 1};
    return {Sym::symbol(name), Sym(extent)};
  }
  Access access(const Sym& offset, const Loop& along, uint32_t count) {
    return access_of(graph_, graph_.pool.load(0, DType::f32, graph_.pool.index(offset)), along, count);
  }

  LoweredGraph graph_;
  const compiler::SymScope scope_{graph_.ranges};
};

TEST_F(VectorAccess, NeighboursFromAlignedElementsOnAreAVector) {
  const Loop row = loop("r", 10), column = loop("c", 64);
  EXPECT_EQ(access(row.variable * 64 + column.variable, column, 4), Access::vector);
  EXPECT_EQ(access(row.variable * 64 + column.variable + 8, column, 8), Access::vector);
  EXPECT_EQ(access(row.variable, column, 4), Access::one);
  // Rows that begin at other places, offsets that are not aligned, and other strides.
  EXPECT_EQ(access(row.variable * 66 + column.variable, column, 4), Access::scattered);
  EXPECT_EQ(access(row.variable * 64 + column.variable + 2, column, 4), Access::scattered);
  EXPECT_EQ(access(row.variable * 64 + column.variable + 2, column, 2), Access::vector);
  EXPECT_EQ(access(row.variable * 64 + column.variable * 2, column, 4), Access::scattered);
}

TEST_F(VectorAccess, QuotientsAndRemaindersThatGroupsDoNotCrossAreFollowed) {
  const Loop row = loop("r", 10), column = loop("c", 192);
  const Sym head = floor_div(column.variable, Sym(64)), feature = sym_mod(column.variable, Sym(64));
  EXPECT_EQ(access(head * 640 + row.variable * 64 + feature, column, 4), Access::vector);
  EXPECT_EQ(access(head * 640 + row.variable * 64, column, 4), Access::one);
  const Sym odd = floor_div(column.variable, Sym(6)), rest = sym_mod(column.variable, Sym(6));
  EXPECT_EQ(access(odd * 64 + rest, column, 4), Access::scattered);
  EXPECT_EQ(access(odd * 64 + rest, column, 2), Access::vector);
}

// A row that another tensor selects: the beginnings of its groups must still be multiples.
TEST_F(VectorAccess, RowsThatDataNamesAreVectorsWhereTheirLengthIsAMultiple) {
  const Loop row = loop("r", 10), column = loop("c", 64);
  ExpressionPool& pool = graph_.pool;
  const auto gathered = [&](ExpressionPtr at, const Sym& length, const Sym& offset) {
    const ExpressionPtr named = pool.cast(pool.load(1, DType::i64, at), ScalarType::index);
    const ExpressionPtr place = pool.add(pool.multiply(named, pool.index(length)), pool.index(offset));
    return access_of(graph_, pool.load(0, DType::f32, place), column, 4);
  };
  const ExpressionPtr of_row = pool.index(row.variable), of_column = pool.index(column.variable);
  EXPECT_EQ(gathered(of_row, 64, column.variable), Access::vector);
  EXPECT_EQ(gathered(of_row, 64, column.variable + 8), Access::vector);
  EXPECT_EQ(gathered(of_row, 64, 3), Access::one);
  EXPECT_EQ(gathered(of_row, 66, column.variable), Access::scattered);
  EXPECT_EQ(gathered(of_row, 64, column.variable + 2), Access::scattered);
  EXPECT_EQ(gathered(of_row, 64, column.variable * 2), Access::scattered);
  EXPECT_EQ(gathered(of_column, 64, column.variable), Access::scattered);  // each element is of another row
}

TEST_F(VectorAccess, GroupsFitIfTheInnermostLoopIsAMultiple) {
  EXPECT_TRUE(groups_fit({loop("r", 3), loop("c", 8)}, 8));
  EXPECT_FALSE(groups_fit({loop("r", 8), loop("c", 12)}, 8));
  EXPECT_FALSE(groups_fit({}, 2));
}

using Vectors = CudaLower;

// Large maps of all dtypes, one with rows that are no multiple of a vector, and one through a permuted view.
TEST_F(Vectors, MapsGiveTheSameAsOneByOne) {
  compile(R"(graph f(%x: f32[300, 512], %y: bf16[300, 512], %z: f32[300, 509], %u: bf16[300, 520]) {
  %a: f32[300, 512] = aten.mul.Tensor(%x, %x)
  %b: bf16[300, 520] = aten.neg(%u)
  %c: f32[300, 512] = aten.add.Tensor(%x, %y)
  %d: f32[300, 509] = aten.relu(%z)
  %v: f32[300, 8, 64] = aten.view(%x, [300, 8, 64])
  %t: f32[8, 300, 64] = aten.permute(%v, [1, 0, 2])
  %e: f32[8, 300, 64] = aten.relu(%t)
  return %a, %b, %c, %d, %e
})");
  EXPECT_EQ(launches(), 4u);  // one for %a and %c
  expect_like_portable({numbers(DType::f32, {300, 512}, 1), numbers(DType::bf16, {300, 512}, 2),
                        numbers(DType::f32, {300, 509}, 3), numbers(DType::bf16, {300, 520}, 4)},
                       1e-7);
}

TEST_F(Vectors, ReductionsNormsAndMatvecsGiveTheSameAsOneByOne) {
  compile(
      R"(graph f(%x: f32[9, 512], %g: f32[512], %h: f32[512], %y: bf16[5, 2048], %w: bf16[70, 2048], %o: bf16[1, 2048], %i: f32[40, 130]) {
  %n: f32[9, 512], %m: f32[9, 1], %r: f32[9, 1] = aten.native_layer_norm(%x, [512], %g, %h, 1e-05)
  %s: f32[9, 512] = aten._softmax(%x, 1, false)
  %k: i64[9] = aten.argmax(%x, 1)
  %a: bf16[5, 70] = aten.linear(%y, %w)
  %b: bf16[1, 70] = aten.linear(%o, %w)
  %u: f32[40] = aten.sum.dim_IntList(%i, [1])
  return %n, %s, %k, %a, %b, %u
})");
  EXPECT_EQ(launches(), 6u);
  expect_like_portable({numbers(DType::f32, {9, 512}, 1), numbers(DType::f32, {512}, 2), numbers(DType::f32, {512}, 3),
                        numbers(DType::bf16, {5, 2048}, 4), numbers(DType::bf16, {70, 2048}, 5),
                        numbers(DType::bf16, {1, 2048}, 6), numbers(DType::f32, {40, 130}, 7)},
                       1.0 / 128);
}

// Norms and softmax read a row once: a warp or a block keeps it in registers. Includes rows that do not fill the
// vectors, rows read by single elements, and one that is too long.
TEST_F(Vectors, RowsAreHeldForAllWalksOverThem) {
  const std::pair<int, const char*> columns[] = {
      {197, "held0[7]"}, {192, "held0[2]"}, {2056, "held0[2]"}, {5120, "held0[3]"}, {40001, ""}};
  for (const auto& [count, held] : columns) {
    compile(fmt::format(R"(graph f(%x: bf16[3, {0}], %y: bf16[3, {0}], %g: bf16[{0}]) {{
  %a: bf16[3, {0}] = aten.add.Tensor(%x, %y)
  %n: bf16[3, {0}], %m: bf16[3, 1], %r: bf16[3, 1] = aten.native_layer_norm(%a, [{0}], %g, none, 1e-05)
  %s: bf16[3, {0}] = aten._softmax(%x, 1, false)
  return %n, %s
}})",
                        count));
    EXPECT_EQ(launches(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(kernel_text(i).find("held0[") != std::string::npos, *held != 0) << kernel_text(i);
      EXPECT_NE(kernel_text(i).find(held), std::string::npos) << kernel_text(i);
    }
    expect_like_portable(
        {numbers(DType::bf16, {3, count}, 1), numbers(DType::bf16, {3, count}, 2), numbers(DType::bf16, {count}, 3)},
        1.0 / 128);
  }
}

// Many short rows share a warp.
TEST_F(Vectors, FewLanesTakeAShortRow) {
  compile(R"(graph f(%x: f32[33792, 64], %y: f32[33793, 64]) {
  %n: f32[33792, 64], %m: f32[33792, 1], %r: f32[33792, 1] = aten.native_layer_norm(%x, [64], none, none, 1e-05)
  %s: f32[33793] = aten.sum.dim_IntList(%y, [1])
  return %n, %r, %s
})");
  EXPECT_EQ(launches(), 2u);
  EXPECT_NE(kernel_text(0).find("warp_reduce<Sum, 4>"), std::string::npos) << kernel_text(0);
  // warps would not be full
  EXPECT_NE(kernel_text(1).find("warp_reduce<Sum, 32>"), std::string::npos) << kernel_text(1);
  expect_like_portable({numbers(DType::f32, {33792, 64}, 1), numbers(DType::f32, {33793, 64}, 2)}, 1e-5);
}

// Rows side by side in memory: a thread takes neighbouring rows, and threads share their columns. Few and many columns,
// a number of rows that does not fill the last block, walks that read results of earlier ones, positions.
TEST_F(Vectors, RowsSideBySideAreReducedTogether) {
  compile(R"(graph f(%x: bf16[300, 1032], %y: f32[3, 50, 1032], %z: f32[2, 12, 1024]) {
  %a: bf16[1032] = aten.sum.dim_IntList(%x, [0])
  %b: f32[3, 1032] = aten.mean.dim(%y, [1])
  %c: f32[3, 50, 1032] = aten._softmax(%y, 1, false)
  %d: f32[2, 1024] = aten.amax(%z, [1])
  %e: i64[2, 1024] = aten.argmax(%z, 1)
  %k: f32[2, 1024] = aten.mul.Tensor(%d, %e)
  return %a, %b, %c, %k
})");
  for (size_t i = 0; i < launches(); ++i)
    EXPECT_NE(kernel_text(i).find("lane_of_rows"), std::string::npos) << kernel_text(i);
  expect_like_portable({numbers(DType::bf16, {300, 1032}, 1), numbers(DType::f32, {3, 50, 1032}, 2),
                        numbers(DType::f32, {2, 12, 1024}, 3)},
                       1.0 / 128);
}

// If each thread took a row, neighbouring threads would read elements that are far apart.
TEST_F(Vectors, RunningSumsTakeNeighboursTogether) {
  for (const int dim : {0, 1}) {
    compile(fmt::format(
        "graph f(%x: f32[20000, 20000]) {{\n  %y: f32[20000, 20000] = aten.cumsum(%x, {})\n  return %y\n}}", dim));
    EXPECT_EQ(kernel_text(0).find("block_running") != std::string::npos, dim == 1) << kernel_text(0);
  }
}

// A map that stores along one dimension and loads along another passes through squares in shared memory: elements of 1
// to 8 bytes, sizes that are no multiples of vectors or squares, padding, and a second operand that is loaded along the
// same dimension.
TEST_F(Vectors, PermutedMapsPassThroughSquares) {
  compile(R"(graph f(%x: bf16[520, 512], %y: f32[333, 801], %z: f32[2, 100, 30, 48], %u: bf16[512, 520]) {
  %xt: bf16[512, 520] = aten.permute(%x, [1, 0])
  %a: bf16[512, 520] = aten.add.Tensor(%xt, %u)
  %yt: f32[801, 333] = aten.permute(%y, [1, 0])
  %b: f32[801, 333] = aten.neg(%yt)
  %zt: f32[2, 30, 48, 100] = aten.permute(%z, [0, 2, 3, 1])
  %c: f32[2, 30, 48, 100] = aten.relu(%zt)
  %p: f32[2, 104, 30, 48] = aten.constant_pad_nd(%z, [0, 0, 0, 0, 1, 3], 0.5)
  %pt: f32[2, 30, 48, 104] = aten.permute(%p, [0, 2, 3, 1])
  %d: f32[2, 30, 48, 104] = aten.abs(%pt)
  return %a, %b, %c, %d
})");
  const auto expect_squares = [&](size_t count) {
    EXPECT_EQ(launches(), count);
    for (size_t i = 0; i < launches(); ++i)
      EXPECT_NE(kernel_text(i).find("turn_in("), std::string::npos) << kernel_text(i);
  };
  expect_squares(4);
  expect_like_portable({numbers(DType::bf16, {520, 512}, 1), numbers(DType::f32, {333, 801}, 2),
                        numbers(DType::f32, {2, 100, 30, 48}, 3), numbers(DType::bf16, {512, 520}, 4)},
                       1e-6);
  compile(R"(graph f(%x: bf16[520, 512], %l: i64[500, 528]) {
  %g: bool[520, 512] = aten.gt.Scalar(%x, 0.25)
  %gt: bool[512, 520] = aten.permute(%g, [1, 0])
  %m: bool[512, 520] = aten.logical_not(%gt)
  %lt: i64[528, 500] = aten.permute(%l, [1, 0])
  %n: i64[528, 500] = aten.neg(%lt)
  return %m, %n
})");
  expect_squares(2);
  std::vector<int64_t> values(500 * 528);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i) << 20;
  expect_bits_of_portable({numbers(DType::bf16, {520, 512}, 5), integers(values, {500, 528})});
}

size_t count_in(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

// Rows of a table, and images, that an index selects: 8 elements at once if their length is a multiple, 2 for rows of
// 10; single elements if an index selects columns, or the length is odd.
TEST_F(Vectors, RowsThatAnIndexNamesAreLoadedAtOnce) {
  compile(
      R"(graph f(%t: bf16[37, 1024], %i: i64[3, 100], %j: i64[96], %n: bf16[50, 24, 64], %o: bf16[37, 1023], %p: bf16[37, 1022]) {
  %a: bf16[3, 100, 1024] = aten.embedding(%t, %i)
  %b: bf16[50, 96, 64] = aten.index_select(%n, 1, %j)
  %c: bf16[96, 24, 64] = aten.index.Tensor(%n, [%j])
  %d: bf16[3, 100, 1023] = aten.embedding(%o, %i)
  %e: bf16[3, 100, 1022] = aten.embedding(%p, %i)
  return %a, %b, %c, %d, %e
})");
  ASSERT_EQ(launches(), 5u);
  size_t of_eight = 0, of_two = 0;
  for (size_t i = 0; i < launches(); ++i) {
    of_eight += count_in(kernel_text(i), "load_vector<bf16, 8>(");
    of_two += count_in(kernel_text(i), "load_vector<bf16, 2>(");
  }
  EXPECT_EQ(of_eight, 3u);
  EXPECT_EQ(of_two, 1u);
  std::vector<int64_t> rows(300), places(96);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i * 11 % 37);
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i * 7 % 24);
  expect_bits_of_portable({numbers(DType::bf16, {37, 1024}, 1), integers(rows, {3, 100}), integers(places, {96}),
                           numbers(DType::bf16, {50, 24, 64}, 2), numbers(DType::bf16, {37, 1023}, 3),
                           numbers(DType::bf16, {37, 1022}, 4)});
  rows[299] = 37;
  expect_error(
      {numbers(DType::bf16, {37, 1024}, 1), integers(rows, {3, 100}), integers(places, {96}),
       numbers(DType::bf16, {50, 24, 64}, 2), numbers(DType::bf16, {37, 1023}, 3), numbers(DType::bf16, {37, 1022}, 4)},
      "an index is out of bounds");
}

// Many rows of one element: a thread's group must not be along the columns.
TEST_F(Vectors, ReductionsOfOneElement) {
  compile(R"(graph f(%x: f32[1, 36, 1024]) {
  %a: f32[36, 1024] = aten.amax(%x, [0])
  %y: f32[36, 1024] = aten.neg(%a)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {1, 36, 1024}, 1)}, 0);
}

// A depthwise convolution of one pixel is a function of indices, in the kernels of its readers.
TEST_F(Vectors, ConvolutionsOfOneProductAreInlined) {
  compile(
      R"(graph f(%x: f32[2, 18, 32, 32], %w: f32[18, 1, 1, 1], %b: f32[18], %v: f32[36, 1, 1, 1], %k: f32[18, 1, 3, 3], %h: f16[2, 18, 32, 32], %u: f16[18, 1, 1, 1]) {
  %c: f32[2, 18, 32, 32] = aten.convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 18)
  %d: f32[2, 18, 32, 32] = aten.convolution(%x, %k, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 18)
  %y: f32[2, 18, 32, 32] = aten.add.Tensor(%d, %c)
  %z: f32[2, 36, 17, 17] = aten.convolution(%x, %v, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 18)
  %g: f16[2, 18, 32, 32] = aten.convolution(%h, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 18)
  return %y, %z, %g
})");
  EXPECT_EQ(launches(), 3u);
  expect_like_portable(
      {numbers(DType::f32, {2, 18, 32, 32}, 1), numbers(DType::f32, {18, 1, 1, 1}, 2), numbers(DType::f32, {18}, 3),
       numbers(DType::f32, {36, 1, 1, 1}, 4), numbers(DType::f32, {18, 1, 3, 3}, 5),
       numbers(DType::f16, {2, 18, 32, 32}, 6), numbers(DType::f16, {18, 1, 1, 1}, 7)},
      1e-6);
}

// Otherwise each output would compute the exponentials of its input again.
TEST_F(Vectors, ConvolutionsOfOneProductStoreWhatSeveralOutputsRead) {
  const auto graph = [](int outputs) {
    return fmt::format(R"(graph f(%x: f32[2, 3, 8, 8], %v: f32[{0}, 1, 1, 1]) {{
  %g: f32[2, 3, 8, 8] = aten.silu(%x)
  %y: f32[2, {0}, 8, 8] = aten.convolution(%g, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 3)
  return %y
}})",
                       outputs);
  };
  compile(graph(3));
  EXPECT_EQ(launches(), 1u);
  compile(graph(12));
  EXPECT_EQ(launches(), 2u);
  expect_like_portable({numbers(DType::f32, {2, 3, 8, 8}, 1), numbers(DType::f32, {12, 1, 1, 1}, 2)}, 1e-5);
}

// Otherwise kernels of long functions would take long to compile, and many registers.
TEST_F(Vectors, LongFunctionsComputeFewerElementsAtOnce) {
  for (const auto& [length, vector] : {std::pair(10, 8), {60, 4}}) {
    std::string text = "graph f(%x: bf16[256, 1024]) {\n  %y0: bf16[256, 1024] = aten.neg(%x)\n";
    for (int i = 1; i <= length; ++i)
      text += fmt::format("  %y{}: bf16[256, 1024] = aten.add.Tensor(%y{}, %x)\n", i, i - 1);
    compile(text + fmt::format("  return %y{}\n}}", length));
    EXPECT_EQ(launches(), 1u);
    EXPECT_NE(kernel_text(0).find("store_vector"), std::string::npos);
    EXPECT_NE(kernel_text(0).find(fmt::format("Vector<bf16, {}>", vector)), std::string::npos) << kernel_text(0);
    expect_like_portable({numbers(DType::bf16, {256, 1024}, 1)}, 0);
  }
}

}  // namespace
}  // namespace wick::cuda
