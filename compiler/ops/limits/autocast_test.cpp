#include "compiler/ops/limits/autocast.h"

#include <gtest/gtest.h>

namespace wick::compiler {
namespace {

Autocast einsum(std::string equation, Values operands = {}) {
  return autocast_of(op("aten.einsum.default"), {std::move(equation), std::move(operands)}, true);
}

TEST(Autocast, OperatorsKeepLowerOrMixTheirDtypes) {
  const auto on_cpu = [](const char* name) { return autocast_of(op(name), {}, true); };
  const auto elsewhere = [](const char* name) { return autocast_of(op(name), {}, false); };
  for (const char* name : {"aten.mm.default", "aten.conv2d.padding", "aten.prelu.default", "aten.lstm.input"}) {
    EXPECT_EQ(on_cpu(name), Autocast::lowers) << name;
    EXPECT_EQ(elsewhere(name), Autocast::lowers) << name;
  }
  EXPECT_EQ(on_cpu("aten.mv.default"), Autocast::keeps);
  EXPECT_EQ(elsewhere("aten.mv.default"), Autocast::lowers);
  EXPECT_EQ(on_cpu("aten.tensordot.default"), Autocast::lowers);
  EXPECT_EQ(elsewhere("aten.tensordot.default"), Autocast::keeps);
  EXPECT_EQ(on_cpu("aten.lstm_cell.default"), Autocast::mixes);
  EXPECT_EQ(elsewhere("aten.lstm_cell.default"), Autocast::lowers);
  EXPECT_EQ(on_cpu("aten.exp.default"), Autocast::keeps);
}

TEST(Autocast, EinsumLowersWhereItSumsOverALetterOfTwoOperands) {
  EXPECT_EQ(einsum("ij,jk->ik"), Autocast::lowers);
  EXPECT_EQ(einsum("...i, ...i -> ..."), Autocast::lowers);
  EXPECT_EQ(einsum("a,bc,c->ab"), Autocast::lowers);
  EXPECT_EQ(einsum("ij,jk"), Autocast::lowers);
  EXPECT_EQ(einsum("i,j->ij"), Autocast::keeps);
  EXPECT_EQ(einsum("ij->i"), Autocast::keeps);
  EXPECT_EQ(einsum("ij,i->ij"), Autocast::keeps);
}

TEST(Autocast, EinsumMultipliesAndAddsOverLettersOfSize1) {
  Graph graph;
  const auto floats = [&](Sizes sizes) { return graph.add_input(Type::of(DType::f32, std::move(sizes)), "x"); };
  Value* column = floats({4, 1});
  Value* square = floats({4, 4});
  Value* matrices = floats({2, 4, 1});
  EXPECT_EQ(einsum("ij,kj->ik", {column, column}), Autocast::keeps);
  EXPECT_EQ(einsum("ij,kj->ik", {square, column}), Autocast::keeps);
  EXPECT_EQ(einsum("ij,kj->ik", {square, square}), Autocast::lowers);
  EXPECT_EQ(einsum("i j, j i", {column, floats({1, 4})}), Autocast::lowers) << "i has 4";
  EXPECT_EQ(einsum("...j,kj->...k", {matrices, column}), Autocast::keeps);
  EXPECT_EQ(einsum("...jk,j->...k", {matrices, floats({4})}), Autocast::lowers);
}

TEST(Autocast, LongEquationsTakeTimeInProportion) {
  EXPECT_EQ(einsum(std::string(1 << 22, 'a') + "," + std::string(1 << 22, 'b') + "->a"), Autocast::keeps);
}

}  // namespace
}  // namespace wick::compiler
