#include "backends/xnnpack/runtime/xnn/library_memory.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

namespace wick::xnnpack {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMaxPieceBytes = size_t{256} << 20;
constexpr size_t kMinPieceBytes = size_t{256} << 10;
constexpr size_t kHugeBytes = size_t{4} << 20;   // what is worth huge pages of its own
constexpr size_t kMaxInArena = size_t{1} << 20;  // larger ones are few

thread_local Arena* t_arena = nullptr;

/// In front of each block.
struct Header {
  size_t size_bytes;
  size_t offset;  // from the heap's allocation to the block; 0: the block is an arena's
};
static_assert(sizeof(Header) == 16);

Header* header_of(void* block) { return reinterpret_cast<Header*>(static_cast<uint8_t*>(block) - sizeof(Header)); }

void* allocate_aligned(void*, size_t alignment, size_t size_bytes) {
  const size_t offset = std::max(alignment, sizeof(Header));
  if (size_bytes > SIZE_MAX / 4 || offset > SIZE_MAX / 4) return nullptr;
  const bool in_arena = t_arena && size_bytes <= kMaxInArena && alignment <= kAlignment;
  const size_t whole = (offset + size_bytes + offset - 1) / offset * offset;
  void* base = in_arena ? t_arena->take(whole) : aligned_alloc(offset, whole);
  if (!base) return nullptr;
  if (!in_arena && size_bytes >= kHugeBytes) prefer_huge_pages(base, whole);
  void* block = static_cast<uint8_t*>(base) + offset;
  *header_of(block) = {size_bytes, in_arena ? 0 : offset};
  return block;
}

void* allocate(void* context, size_t size_bytes) { return allocate_aligned(context, sizeof(Header), size_bytes); }

void deallocate(void*, void* block) {
  if (!block) return;
  const size_t offset = header_of(block)->offset;
  if (offset != 0) free(static_cast<uint8_t*>(block) - offset);
}

void* reallocate(void* context, void* block, size_t size_bytes) {
  void* made = allocate(context, size_bytes);
  if (!made || !block) return made;
  memcpy(made, block, std::min(size_bytes, header_of(block)->size_bytes));
  deallocate(context, block);
  return made;
}

}  // namespace

Block BlockSource::take(size_t size_bytes) {
  if (size_bytes > SIZE_MAX / 2) return {};
  const size_t whole = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (!piece_ || whole > piece_->bytes().size() - used_bytes_) {
    const size_t wanted = std::clamp(expected_bytes_, kMinPieceBytes, kMaxPieceBytes);
    auto piece = std::make_shared<Mapping>();
    if (!Mapping::reserve_huge(std::max(wanted, whole), piece.get())) return {};
    piece_ = std::move(piece);
    used_bytes_ = 0;
  }
  Block block{piece_->bytes().data() + used_bytes_, size_bytes, piece_};
  used_bytes_ += whole;
  expected_bytes_ -= std::min(expected_bytes_, whole);
  return block;
}

void BlockSource::trim() {
  if (!piece_) return;
  discard_pages(piece_->bytes().data() + used_bytes_, piece_->bytes().size() - used_bytes_);
  piece_.reset();
  used_bytes_ = 0;
}

void* Arena::take(size_t size_bytes) {
  Block block = source_.take(size_bytes);
  if (block.piece && (pieces_.empty() || pieces_.back() != block.piece)) pieces_.push_back(std::move(block.piece));
  return block.data;
}

ArenaScope::ArenaScope(Arena* arena) : before_(t_arena) { t_arena = arena; }
ArenaScope::~ArenaScope() { t_arena = before_; }

const xnn_allocator& library_allocator() {
  static constexpr xnn_allocator kAllocator = {nullptr, allocate, reallocate, deallocate, allocate_aligned, deallocate};
  return kAllocator;
}

}  // namespace wick::xnnpack
