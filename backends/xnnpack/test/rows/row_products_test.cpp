// Rows that are gathered and added at positions that are data: one delegate, with the numbers of the model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/testing/pipeline.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing::row_products_test {
namespace {

constexpr int64_t kNodes = 6, kEdges = 10;

std::string sizes(size_t dim, int64_t count) {
  std::vector<int64_t> out = {2, 3, 4};
  out[dim] = count;
  return fmt::format("[{}]", fmt::join(out, ", "));
}

// An index [kEdges], between `least` and kNodes + `least` - 1, that stands at `dim` of a tensor of three dimensions.
std::string positions(size_t dim, int64_t least, const char* dtype) {
  std::vector<int64_t> column(3, 1);
  column[dim] = kEdges;
  return fmt::format(
      "  %r: {0}[{1}] = aten.remainder.Scalar(%i, {2})\n  %p: {0}[{1}] = aten.add.Scalar(%r, {3})\n"
      "  %v: {0}[{4}] = aten.view(%p, [{4}])\n  %e: {0}{5} = aten.expand(%v, {5})\n",
      dtype, kEdges, kNodes, least, fmt::join(column, ", "), sizes(dim, kEdges));
}

std::string nones(size_t dim) {
  std::string out = "[";
  for (size_t i = 0; i < dim; ++i) out += "none, ";
  return out + "%p]";
}

// A layer of a graph network: a matmul, gather, a function of messages, their sums, a matmul.
std::string layer(size_t dim, const std::string& gather, const std::string& scatter, int64_t least, const char* dtype) {
  const std::string nodes = sizes(dim, kNodes), edges = sizes(dim, kEdges);
  const int64_t columns = dim == 2 ? kNodes : 4;
  return fmt::format("graph f(%x: f32{}, %i: {}[{}]) {{\n", nodes, dtype, kEdges) +
         fmt::format("  const %w: f32[{0}, {0}] = ...\n  const %z: f32{1} = [", columns, nodes) +
         [&] {
           std::string zeros;
           for (int64_t i = 0; i < 24 / (dim == 0 ? 2 : dim == 1 ? 3 : 4) * kNodes; ++i) zeros += i ? ", 0" : "0";
           return zeros;
         }() +
         "]\n" + positions(dim, least, dtype) +
         fmt::format("  %h: f32{0} = aten.linear(%x, %w)\n  %g: f32{1} = {2}\n  %m: f32{1} = aten.relu(%g)\n", nodes,
                     edges, gather) +
         fmt::format("  %s: f32{0} = {1}\n  %o: f32{0} = aten.linear(%s, %w)\n  return %o\n}}", nodes, scatter);
}

void expect_one_delegate(const std::string& text) {
  SCOPED_TRACE(text);
  Pipeline p = Pipeline::from_text(text);
  p.backend("xnnpack")
      .at(Stage::partition)
      .check_delegates(1)
      .check_not("aten.scatter_add")
      .check_not("aten.index_put");
  if (has_xnnpack_library()) p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

TEST(RowProducts, ALayerOfAGraphNetworkIsOneDelegate) {
  for (const size_t dim : {0, 1, 2}) {
    const std::vector<std::string> gathers = {fmt::format("aten.index.Tensor(%h, {})", nones(dim)),
                                              fmt::format("aten.index_select(%h, {}, %p)", dim),
                                              fmt::format("aten.gather(%h, {}, %e)", dim)};
    const std::vector<std::string> scatters = {
        fmt::format("aten.index_put(%z, {}, %m, true)", nones(dim)), fmt::format("aten.index_add(%z, {}, %p, %m)", dim),
        fmt::format("aten.index_put(%x, {}, %m, true)", nones(dim)),
        fmt::format("aten.scatter_add(%z, {}, %e, %m)", dim), fmt::format("aten.scatter_add(%x, {}, %e, %m)", dim)};
    for (const std::string& gather : gathers) {
      for (const std::string& scatter : scatters) expect_one_delegate(layer(dim, gather, scatter, 0, "i64"));
    }
    expect_one_delegate(layer(dim, gathers[1], scatters[1], 0, "i32"));
    expect_one_delegate(layer(dim, gathers[0], scatters[0], -3, "i64"));
  }
}

// Positions outside the range are refused when the program runs, as by the operators that are replaced.
TEST(RowProducts, PositionsOutsideTheRangeAreRefused) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "no XNNPACK";
  for (const char* scatter : {"aten.index_put(%z, [%p], %m, true)", "aten.scatter_add(%z, 0, %e, %m)"}) {
    for (const int64_t least : {kNodes, -2 * kNodes - 1}) {
      Pipeline p = Pipeline::from_text(layer(0, "aten.index_select(%h, 0, %r)", scatter, least, "i64"));
      p.backend("xnnpack").run_and_compare();
      EXPECT_NE(p.failures(), "") << scatter << " " << least;
    }
  }
}

}  // namespace
}  // namespace wick::testing::row_products_test
