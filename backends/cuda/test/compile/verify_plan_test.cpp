// Plans that are broken on purpose. Statement V9 of docs/cuda_proofs.md.
#include "backends/cuda/compile/plan/verify_plan.h"

#include <gtest/gtest.h>

#include "backends/cuda/compile/fusion/fuse_kernels.h"
#include "compiler/ir/text/text.h"

namespace wick::cuda {
namespace {

class CudaVerifyPlan : public ::testing::Test {
 protected:
  // Input 0, output 1, and from 2 on buffers of the arena, 256 bytes each.
  void SetUp() override {
    add_buffer(Space::input, 0);
    add_buffer(Space::output, 0);
    for (const uint64_t offset : {0, 256, 512}) add_buffer(Space::arena, offset);
  }
  void add_buffer(Space space, uint64_t offset) {
    Buffer buffer;
    buffer.space = space;
    buffer.size_bytes = 256;
    buffer.offset = offset;
    plan_.buffers.push_back(std::move(buffer));
  }
  uint32_t launch(const std::vector<uint32_t>& reads, const std::vector<uint32_t>& writes,
                  std::vector<uint32_t> after = {}) {
    return add(NodeKind::launch, reads, writes, std::move(after));
  }
  uint32_t add(NodeKind kind, const std::vector<uint32_t>& reads, const std::vector<uint32_t>& writes,
               std::vector<uint32_t> after) {
    PlanNode node;
    node.kind = kind;
    for (const auto* list : {&reads, &writes}) {
      for (const uint32_t buffer : *list) {
        Argument argument;
        argument.index = buffer;
        argument.writes = list == &writes;
        node.arguments.push_back(argument);
      }
    }
    node.after = std::move(after);
    plan_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(plan_.nodes.size() - 1);
  }
  std::string flaw() const { return find_memory_flaw(plan_, in_parts_); }

  Plan plan_;
  std::set<uint32_t> in_parts_;
};

TEST_F(CudaVerifyPlan, BuffersThatAreAliveTogetherDoNotOverlap) {
  launch({0}, {2});
  launch({0}, {3});
  launch({2, 3}, {4}, {0, 1});
  launch({4}, {1}, {2});
  EXPECT_EQ(flaw(), "");
  plan_.buffers[4].offset = 1;  // half of what the node reads is where it writes, which one launch must not do
  EXPECT_EQ(flaw(), "");
  launch({2}, {1}, {2, 3});
  EXPECT_EQ(flaw(), "node 4 reads buffer 2, but buffer 4 lies there");
  plan_.buffers[4].offset = 512;
  EXPECT_EQ(flaw(), "");
  plan_.buffers[3].offset = 255;
  EXPECT_EQ(flaw(), "node 2 reads buffer 2, but buffer 3 lies there");
}

TEST_F(CudaVerifyPlan, WhatIsReadHasBeenWritten) {
  launch({0}, {2});
  launch({3}, {1}, {0});
  EXPECT_EQ(flaw(), "node 1 reads buffer 3, but nothing has been written there");
  plan_.nodes[0].arguments[1].index = 3;
  EXPECT_EQ(flaw(), "");
}

// A later buffer in the bytes of an earlier one must wait for that one's readers, whatever the order of nodes is.
TEST_F(CudaVerifyPlan, NodesWaitForThoseWhoseMemoryTheyUse) {
  launch({0}, {2});
  launch({2}, {3}, {0});
  launch({0}, {4});
  launch({3, 4}, {1}, {1, 2});
  EXPECT_EQ(flaw(), "");
  plan_.buffers[4].offset = 0;
  EXPECT_EQ(flaw(), "nodes 0 and 2 touch the same memory, and neither waits for the other");
  plan_.nodes[2].after = {0};
  EXPECT_EQ(flaw(), "nodes 1 and 2 touch the same memory, and neither waits for the other");
  plan_.nodes[2].after = {1};
  EXPECT_EQ(flaw(), "");
  plan_.nodes[3].after = {1};
  EXPECT_EQ(flaw(), "nodes 2 and 3 touch the same memory, and neither waits for the other");
}

TEST_F(CudaVerifyPlan, OnlyWritersOfPartsOfABufferMayRunTogether) {
  launch({0}, {2});
  launch({0}, {2});
  launch({2}, {1}, {0, 1});
  EXPECT_EQ(flaw(), "nodes 0 and 1 touch the same memory, and neither waits for the other");
  in_parts_ = {2};
  EXPECT_EQ(flaw(), "");
  plan_.nodes[2].after = {0};
  EXPECT_EQ(flaw(), "nodes 1 and 2 touch the same memory, and neither waits for the other");
}

// The second round still reads a value that was written before the loop.
TEST_F(CudaVerifyPlan, WhatALoopReadsStaysForAllRounds) {
  launch({0}, {2});
  const uint32_t loop = add(NodeKind::repeat, {}, {}, {0});
  launch({2}, {3});
  launch({3}, {4}, {2});
  plan_.nodes[loop].first_end = plan_.nodes[loop].second_end = 4;
  launch({4}, {1}, {loop});
  EXPECT_EQ(flaw(), "");
  plan_.buffers[4].offset = 0;
  EXPECT_EQ(flaw(), "node 2 reads buffer 2, but buffer 4 lies there");
}

// After a condition, only what both branches have written is valid.
TEST_F(CudaVerifyPlan, BothBranchesWriteWhatIsReadBehindThem) {
  launch({0}, {2});
  const uint32_t choose = add(NodeKind::choose, {2}, {}, {0});
  launch({0}, {3});
  launch({0}, {3});
  plan_.nodes[choose].first_end = 3;
  plan_.nodes[choose].second_end = 4;
  launch({3}, {1}, {choose});
  EXPECT_EQ(flaw(), "");
  plan_.nodes[3].arguments[1].index = 4;
  EXPECT_EQ(flaw(), "node 4 reads buffer 3, but nothing has been written there");
}

TEST_F(CudaVerifyPlan, NoNodeThatCountsIsMissing) {
  auto function = compiler::parse_graph(R"(graph f(%x: f32[4, 8]) {
  %a: f32[4, 8] = aten.exp(%x)
  %b: f32[4, 8] = aten.neg(%a)
  %t: f32[8, 4] = aten.permute(%b, [1, 0])
  %s: f32[8] = aten.sum.dim_IntList(%t, [1])
  %unused: f32[8] = aten.abs(%s)
  return %s
})");
  ASSERT_TRUE(function.ok());
  const compiler::Graph& graph = *function->graph;
  std::vector<const compiler::Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  LoweredGraph lowered;
  lowered.views = {nodes[2]};
  lowered.kernels.resize(1);
  lowered.kernels[0].nodes = {nodes[3]};
  lowered.kernels[0].inlined = {nodes[0], nodes[1]};
  EXPECT_EQ(find_missing_node(lowered, graph), "");
  lowered.views.clear();
  EXPECT_EQ(find_missing_node(lowered, graph), "aten.permute.default");
  lowered.views = {nodes[2]};
  lowered.kernels[0].inlined = {nodes[0]};
  EXPECT_EQ(find_missing_node(lowered, graph), "aten.neg.default");
}

// Removes each store of a part, or duplicates it.
TEST_F(CudaVerifyPlan, EachPartOfABufferIsStoredOnce) {
  const auto function = compiler::parse_graph(R"(graph f(%x: f32[5, 8], %y: f32[3, 6], %w: f32[8, 6], %o: f32[30, 6]) {
  %a: f32[5, 6] = aten.mm(%x, %w)
  %i: f32[8, 6] = aten.cat([%a, %y], 0)
  %c: f32[11, 6] = aten.cat([%i, %y], 0)
  %k: f32[30, 6] = aten.slice_scatter(%o, %a, 0, 2, 7)
  return %c, %i, %k
})");
  ASSERT_TRUE(function.ok());
  LoweredGraph lowered;
  const compiler::SymScope scope(lowered.ranges);
  Lowering(*function->graph, lowered).run();
  fuse_kernels(lowered);
  EXPECT_EQ(find_missing_part(lowered), "");
  std::set<uint32_t> tried;
  for (LoopKernel& kernel : lowered.kernels) {
    for (std::vector<Store>* stores : {&kernel.row_stores, &kernel.column_stores}) {
      const std::vector<Store> all = *stores;
      for (size_t i = 0; i < all.size(); ++i) {
        const KernelBuffer& buffer = lowered.buffers[all[i].buffer];
        if (!buffer.in_parts) continue;
        tried.insert(all[i].buffer);
        stores->erase(stores->begin() + static_cast<ptrdiff_t>(i));
        EXPECT_NE(find_missing_part(lowered), "");
        *stores = all;
        if (all[i].guard) continue;
        stores->push_back(all[i]);
        EXPECT_NE(find_missing_part(lowered), "");
        *stores = all;
      }
    }
  }
  EXPECT_EQ(tried.size(), 2u);
}

TEST_F(CudaVerifyPlan, BranchesStoreEachPartOnce) {
  LoweredGraph lowered;
  lowered.buffers.resize(1);
  lowered.buffers[0].in_parts = true;
  lowered.buffers[0].elements = 12;
  EXPECT_EQ(find_missing_part(lowered), "no kernel stores buffer 0");
  Store store;
  LoopKernel part;
  part.rows = {{Sym::symbol("i"), 6}};
  part.row_stores = {store};
  lowered.kernels = {part, part, part, part};
  EXPECT_EQ(find_missing_part(lowered), "kernels store 24 elements of buffer 0, which has 12");
  ControlMark otherwise;
  otherwise.at = 2;
  lowered.marks = {otherwise};
  EXPECT_EQ(find_missing_part(lowered), "");
  lowered.marks[0].at = 1;
  EXPECT_EQ(find_missing_part(lowered), "kernels store 6 elements of buffer 0, which has 12");
}

}  // namespace
}  // namespace wick::cuda
