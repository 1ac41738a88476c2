#include "backends/xnnpack/runtime/xnn/library_memory.h"

#include <gtest/gtest.h>
#include <string.h>

namespace wick::xnnpack {
namespace {

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

TEST(BlockSource, CutsBlocksOutOfOnePieceWhileTheyFit) {
  BlockSource source(1 << 20);
  const Block a = source.take(100), b = source.take(100), large = source.take(size_t{8} << 20);
  ASSERT_TRUE(a.data && b.data && large.data);
  EXPECT_TRUE(is_aligned(a.data) && is_aligned(b.data) && is_aligned(large.data));
  EXPECT_EQ(static_cast<uint8_t*>(b.data) - static_cast<uint8_t*>(a.data), 128);
  EXPECT_EQ(a.piece, b.piece);
  EXPECT_NE(a.piece, large.piece);
  memset(large.data, 1, large.size_bytes);
}

TEST(BlockSource, APieceLivesAsLongAsABlock) {
  Block block;
  {
    BlockSource source(0);
    block = source.take(1000);
  }
  memset(block.data, 1, 1000);
  EXPECT_EQ(block.piece.use_count(), 1);
}

TEST(BlockSource, BlocksStayWhereTheRestOfAPieceIsTrimmed) {
  BlockSource source(1 << 20);
  const Block before = source.take(100);
  memset(before.data, 1, 100);
  source.trim();
  const Block after = source.take(100);
  EXPECT_EQ(static_cast<uint8_t*>(before.data)[99], 1);
  EXPECT_EQ(static_cast<uint8_t*>(after.data)[0], 0);
  EXPECT_NE(before.piece, after.piece);
}

TEST(BlockSource, RefusesWhatNoMemoryHolds) {
  BlockSource source(0);
  EXPECT_EQ(source.take(SIZE_MAX / 4).data, nullptr);
  EXPECT_EQ(source.take(SIZE_MAX).data, nullptr);
}

class LibraryAllocator : public ::testing::TestWithParam<bool> {
 protected:
  void* allocate(size_t size) { return kAllocator.allocate(kAllocator.context, size); }
  void* reallocate(void* block, size_t size) { return kAllocator.reallocate(kAllocator.context, block, size); }
  void deallocate(void* block) { kAllocator.deallocate(kAllocator.context, block); }
  const xnn_allocator& kAllocator = library_allocator();
};

TEST_P(LibraryAllocator, GrowsAndShrinksWithoutLosingBytes) {
  Arena arena(1 << 16);
  const ArenaScope scope(GetParam() ? &arena : nullptr);
  uint8_t* block = static_cast<uint8_t*>(allocate(10));
  for (uint8_t i = 0; i < 10; ++i) block[i] = i;
  for (const size_t size : {size_t{100}, size_t{100000}, size_t{3} << 20, size_t{10}})
    block = static_cast<uint8_t*>(reallocate(block, size));
  for (uint8_t i = 0; i < 10; ++i) EXPECT_EQ(block[i], i);
  deallocate(block);
  void* aligned = kAllocator.aligned_allocate(kAllocator.context, 64, 100);
  EXPECT_TRUE(is_aligned(aligned));
  kAllocator.aligned_deallocate(kAllocator.context, aligned);
  deallocate(nullptr);
  EXPECT_EQ(allocate(SIZE_MAX), nullptr);
}

TEST_P(LibraryAllocator, GivesMemoryOfOneKindBackWhereTheOtherIsInUse) {
  Arena arena(1 << 16);
  void* inside = nullptr;
  void* outside = allocate(100);
  {
    const ArenaScope scope(&arena);
    inside = allocate(100);
    outside = reallocate(outside, 200);
    deallocate(outside);
    const ArenaScope inner(nullptr);
    outside = allocate(300);
  }
  inside = reallocate(inside, 200);
  memset(inside, 1, 200);
  deallocate(inside);
  deallocate(outside);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutAnArena, LibraryAllocator, ::testing::Bool());

}  // namespace
}  // namespace wick::xnnpack
