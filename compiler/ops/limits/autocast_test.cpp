#include "compiler/ops/limits/autocast.h"

#include <gtest/gtest.h>

namespace wick::compiler {
namespace {

Autocast einsum(const char* equation) {
  return autocast_of(op("aten.einsum.default"), {std::string(equation), Values{}}, true);
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

}  // namespace
}  // namespace wick::compiler
