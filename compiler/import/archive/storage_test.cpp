#include "compiler/import/archive/storage.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"
#include "compiler/ops/sharing.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace storage_test {

// A program with an input of [n, m] elements, n and m from 1 to 8, whose storage the tests name, read and write.
class Storage : public testing::Test {
 protected:
  Storage() : scope_(ranges()), x_(graph_.add_input(Type::of(DType::f32, {n_, m_}), "x")), base_(fresh_ref(x_)) {}

  SymRanges& ranges() {
    graph_.ranges["n"] = graph_.ranges["m"] = {1, 8};
    return graph_.ranges;
  }
  void add_one(const RefPtr& ref) {
    write(*ref, builder_.call("aten.add.Scalar", {read(*ref, builder_), 1}), builder_);
  }
  std::string text() {
    GraphOutput output;
    output.value = read(*base_, builder_);
    graph_.add_output(std::move(output));
    return to_text(graph_, "forward");
  }

  Graph graph_;
  Sym n_ = Sym::symbol("n"), m_ = Sym::symbol("m");
  SymScope scope_;
  Builder builder_{graph_, nullptr};
  Value* x_;
  RefPtr base_;
};

TEST_F(Storage, AWriteToAViewIsSeenThroughTheOthers) {
  Value* turned = builder_.permute(x_, {1, 0});
  const RefPtr view = view_ref(*base_, x_, turned);
  ASSERT_TRUE(view);
  add_one(view);
  const std::string graph = text();
  EXPECT_NE(graph.find("aten.add.Scalar"), std::string::npos) << graph;
  EXPECT_EQ(graph.find("aten.where"), std::string::npos) << graph;
}

TEST_F(Storage, AnOperatorThatIsNoViewGivesNone) {
  EXPECT_EQ(view_ref(*base_, x_, builder_.call("aten.relu", {x_})), nullptr);
}

TEST_F(Storage, WhereSizesDecideAWriteReachesTheOtherUnderThatCondition) {
  Value* turned = builder_.permute(x_, {1, 0});
  const Sym single = make_sym(SymOp::eq, {n_, 1});
  const RefPtr result = maybe_shared_ref(*base_, x_, turned, single, "unused");
  add_one(result);
  const std::string graph = text();
  EXPECT_NE(graph.find("aten.where.self"), std::string::npos) << graph;
  EXPECT_NE(graph.find("eq("), std::string::npos) << graph;
  EXPECT_EQ(base_->storage->version, 1u);
}

TEST_F(Storage, AWriteToTheOperandReachesTheResultUnderThatCondition) {
  const RefPtr result = maybe_shared_ref(*base_, x_, x_, make_sym(SymOp::eq, {n_, 1}), "unused");
  Value* before = read(*result, builder_);
  add_one(base_);
  Value* after = read(*result, builder_);
  ASSERT_NE(before, after);
  EXPECT_TRUE(after->producer && after->producer->is("aten.where.self"));
}

TEST_F(Storage, WhatIsNotKnownIsRefusedWhereItIsReadAndOnlyThere) {
  const RefPtr result = maybe_shared_ref(*base_, x_, x_, std::nullopt, "it depends on n");
  EXPECT_EQ(read(*result, builder_), x_);
  add_one(result);
  EXPECT_NE(read(*result, builder_), x_);
  try {
    read(*base_, builder_);
    FAIL() << "read a tensor that nobody knows";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.diag.code, Code::unsupported_model);
    EXPECT_EQ(failure.diag.message, "it depends on n");
  }
}

TEST_F(Storage, AWriteReachesTheEndOfALongChainOfResults) {
  std::vector<RefPtr> chain = {base_};
  while (chain.size() < 50000)
    chain.push_back(maybe_shared_ref(*chain.back(), x_, x_, make_sym(SymOp::eq, {n_, 1}), "unused"));
  add_one(base_);
  EXPECT_NE(read(*chain.back(), builder_), x_);
}

TEST_F(Storage, AWriteThroughAnExpandedDimensionIsRefused) {
  Value* wide = builder_.expand(x_, {4, n_, m_});
  const RefPtr view = view_ref(*base_, x_, wide);
  ASSERT_TRUE(view);
  EXPECT_THROW(add_one(view), Failure);
}

// Sharing that depends on dynamic sizes: whether a tensor with these strides is contiguous, or can be viewed with other
// sizes.
class SharingRules : public testing::Test {
 protected:
  SharingRules() : scope_(ranges()) {}
  SymRanges& ranges() {
    graph_.ranges["n"] = {1, 8};
    graph_.ranges["m"] = {2, 8};
    return graph_.ranges;
  }
  // The condition of the operator's sharing rule (OpFacts::shares) for a tensor with these sizes and strides, as text.
  std::string answer(std::string_view op_name, Sizes sizes, Ints strides, Args more = {}) {
    Value* x = graph_.add_input(Type::of(DType::f32, std::move(sizes)), "x");
    Args args = {x};
    args.insert(args.end(), more.begin(), more.end());
    const Node* node = Builder(graph_, nullptr).node(op_name, std::move(args));
    const Placement placement{std::move(strides), 0};
    const Sharing sharing = node->op->facts.shares({*node, 0, {&placement}});
    return sharing.when ? sharing.when->text() : "unknown";
  }

  Graph graph_;
  Sym n_ = Sym::symbol("n"), m_ = Sym::symbol("m");
  SymScope scope_;
};

TEST_F(SharingRules, RowsAreContiguousForEverySize) {
  EXPECT_EQ(answer("aten.contiguous", {n_, m_}, {m_, 1}), "1");
  EXPECT_EQ(answer("aten.reshape", {n_, m_, 3}, {m_ * 3, 3, 1}, {Ints{n_ * m_, 3}}), "1");
}

TEST_F(SharingRules, ColumnsAreContiguousWhereADimensionIsOne) {
  EXPECT_EQ(answer("aten.contiguous", {3, n_}, {1, 3}), "eq(1, n)");
  EXPECT_EQ(answer("aten.contiguous", {3, m_}, {1, 3}), "0");
  EXPECT_EQ(answer("aten.contiguous", {1, m_}, {1, 1}), "1");
  EXPECT_EQ(answer("aten.ravel", {m_, n_}, {1, m_}), "eq(1, n)");
  EXPECT_EQ(answer("aten.reshape", {4, n_}, {1, 4}, {Ints{n_ * 4}}), "eq(1, n)");
  EXPECT_EQ(answer("aten.flatten.using_ints", {4, m_, n_}, {1, n_ * 4, 4}, {1, 2}), "1");
}

TEST_F(SharingRules, ColumnsOfRowsAreContiguousWhereTheRowsEndThere) {
  EXPECT_EQ(answer("aten.contiguous", {4, m_}, {8, 1}), "eq(8, m)");
  EXPECT_EQ(answer("aten.contiguous", {4, m_}, {9, 1}), "0");
}

TEST_F(SharingRules, AConversionThatChangesNothingReturnsItsOperand) {
  EXPECT_EQ(answer("aten.to.dtype", {n_, m_}, {1, n_}, {DType::f32}), "1");
  EXPECT_EQ(answer("aten.to.dtype", {n_, m_}, {1, n_}, {DType::f32, false, true}), "0");
  EXPECT_EQ(answer("aten.to.dtype", {n_, m_}, {1, n_}, {DType::f16}), "0");
}

}  // namespace storage_test
}  // namespace wick::compiler
