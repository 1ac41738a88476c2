#include "wick/unbounded_memory.h"

#include <string.h>

namespace wick {

/// The header in front of each block. Blocks that no tensor holds form lists.
struct MemoryBlock {
  MemoryBlock* next;
  size_t size_bytes;  // behind this header
  bool is_used;       // in this execution
};

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHeaderBytes = kAlignment;
static_assert(sizeof(MemoryBlock) <= kHeaderBytes, "the header has no room");
// A spare block serves requests of at least half its size; a block of at most this size serves any that fits.
constexpr size_t kSmallBytes = 4096;

uint8_t* bytes_of(MemoryBlock* block) { return reinterpret_cast<uint8_t*>(block) + kHeaderBytes; }

/// Rounds up to one of four sizes per power of two, so that blocks serve requests of other executions.
size_t size_class(size_t size_bytes) {
  size_t step = kAlignment;
  while (step <= size_bytes / 8) step *= 2;
  return (size_bytes + step - 1) / step * step;
}

bool contains(const MemoryBlock& block, const void* data) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(&block);
  const uintptr_t at = reinterpret_cast<uintptr_t>(data);
  return at >= begin && at - begin < kHeaderBytes + block.size_bytes;
}

void push(MemoryBlock** list, MemoryBlock* block) {
  block->next = *list;
  *list = block;
}

/// Moves the blocks of `from` that `chosen` takes to `to`.
template <typename Chosen>
void move_blocks(MemoryBlock** from, MemoryBlock** to, Chosen chosen) {
  for (MemoryBlock** at = from; *at;) {
    MemoryBlock* block = *at;
    if (!chosen(*block)) {
      at = &block->next;
      continue;
    }
    *at = block->next;
    push(to, block);
  }
}

void make_empty(UnboundedTensor& tensor) {
  for (size_t d = 0; d < tensor.rank; ++d) {
    tensor.sizes[d] = 0;
    tensor.strides[d] = 1;
  }
  tensor.numel = 0;
  tensor.read_only = false;
  tensor.data = tensor.block ? bytes_of(tensor.block) : nullptr;
  tensor.capacity_bytes = tensor.block ? tensor.block->size_bytes : 0;
}

}  // namespace

MemoryBlock* UnboundedMemory::take_spare(size_t size_bytes) {
  MemoryBlock** best = nullptr;
  for (MemoryBlock** at = &spare_; *at; at = &(*at)->next) {
    const size_t size = (*at)->size_bytes;
    if (size < size_bytes || (size > kSmallBytes && size / 2 > size_bytes)) continue;
    if (!best || size < (*best)->size_bytes) best = at;
  }
  if (!best) return nullptr;
  MemoryBlock* block = *best;
  *best = block->next;
  return block;
}

MemoryBlock* UnboundedMemory::allocate(size_t size_bytes) {
  if (size_bytes > max_bytes_ || kHeaderBytes > max_bytes_ - size_bytes ||
      held_bytes_ > max_bytes_ - size_bytes - kHeaderBytes) {
    failure_ = "values without an upper bound need more memory than the limit allows";
    return nullptr;
  }
  void* memory = allocator_.allocate(allocator_.state, kHeaderBytes + size_bytes, kAlignment);
  if (!memory) {
    failure_ = "the allocator has no memory for a value without an upper bound";
    return nullptr;
  }
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment != 0) {
    allocator_.free(allocator_.state, memory, kHeaderBytes + size_bytes, kAlignment);
    failure_ = "the allocator gave misaligned memory";
    return nullptr;
  }
  held_bytes_ += kHeaderBytes + size_bytes;
  if (held_bytes_ > peak_bytes_) peak_bytes_ = held_bytes_;
  MemoryBlock* block = static_cast<MemoryBlock*>(memory);
  block->size_bytes = size_bytes;
  return block;
}

MemoryBlock* UnboundedMemory::take(size_t size_bytes) {
  if (size_bytes > SIZE_MAX / 4) {
    failure_ = "values without an upper bound need more memory than there are addresses";
    return nullptr;
  }
  MemoryBlock* block = take_spare(size_bytes);
  if (!block) block = allocate(size_class(size_bytes));
  if (!block) {
    free_spare([this](const MemoryBlock& spare) { return is_referenced(spare); });
    block = allocate((size_bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (!block) return nullptr;
  failure_ = nullptr;
  block->is_used = true;
  block->next = nullptr;
  return block;
}

template <typename Keep>
void UnboundedMemory::free_spare(Keep keep) {
  for (MemoryBlock** at = &spare_; *at;) {
    MemoryBlock* block = *at;
    if (keep(*block)) {
      at = &block->next;
      continue;
    }
    *at = block->next;
    const size_t size_bytes = kHeaderBytes + block->size_bytes;
    held_bytes_ -= size_bytes;
    allocator_.free(allocator_.state, block, size_bytes, kAlignment);
  }
}

bool UnboundedMemory::is_referenced(const MemoryBlock& block) const {
  for (const Tensor& tensor : bounded_) {
    if (contains(block, tensor.data)) return true;
  }
  for (const UnboundedTensor& tensor : unbounded_) {
    if (contains(block, tensor.data)) return true;
  }
  return false;
}

void UnboundedMemory::set_tensors(Span<Tensor> bounded, Span<UnboundedTensor> unbounded) {
  bounded_ = bounded;
  unbounded_ = unbounded;
}

void UnboundedMemory::begin_execution() {
  free_scratch();
  const auto all = [](const MemoryBlock&) { return true; };
  move_blocks(&lent_, &spare_, all);
  for (UnboundedTensor& tensor : unbounded_) {
    if (!tensor.is_given) release(tensor);
  }
  // An input may lie in memory that the last execution returned.
  move_blocks(&spare_, &lent_, [this](const MemoryBlock& block) {
    for (const UnboundedTensor& tensor : unbounded_) {
      if (tensor.is_given && contains(block, tensor.data)) return true;
    }
    return false;
  });
  free_spare([](const MemoryBlock& block) { return block.is_used; });
  for (MemoryBlock* block = spare_; block; block = block->next) block->is_used = false;
}

void UnboundedMemory::end_execution() {
  for (UnboundedTensor& tensor : unbounded_) tensor.is_given = false;
}

void UnboundedMemory::free_all() {
  free_scratch();
  move_blocks(&lent_, &spare_, [](const MemoryBlock&) { return true; });
  for (UnboundedTensor& tensor : unbounded_) release(tensor);
  free_spare([](const MemoryBlock&) { return false; });
  set_tensors({}, {});
}

void UnboundedMemory::release(UnboundedTensor& tensor) {
  if (tensor.block) push(&spare_, tensor.block);
  tensor.block = nullptr;
  make_empty(tensor);
}

bool UnboundedMemory::grow(UnboundedTensor& tensor, size_t size_bytes) {
  const size_t kept_bytes = tensor.nbytes();
  // Growth by half keeps a result that grows step by step from moving often.
  const size_t ample_bytes = kept_bytes / 2 * 3;
  MemoryBlock* block = ample_bytes > size_bytes ? take(ample_bytes) : nullptr;
  if (!block) block = take(size_bytes);
  if (!block) return false;
  if (kept_bytes != 0 && tensor.data) memcpy(bytes_of(block), tensor.data, kept_bytes);
  // The kernel may still read the old memory.
  if (tensor.block) push(&scratch_, tensor.block);
  move_blocks(&spare_, &scratch_, [&](const MemoryBlock& spare) { return contains(spare, tensor.data); });
  tensor.block = block;
  tensor.data = bytes_of(block);
  tensor.capacity_bytes = block->size_bytes;
  tensor.read_only = false;
  return true;
}

void* UnboundedMemory::take_scratch(size_t size_bytes) {
  MemoryBlock* block = take(size_bytes);
  if (!block) return nullptr;
  push(&scratch_, block);
  return bytes_of(block);
}

void UnboundedMemory::free_scratch() {
  failure_ = nullptr;
  move_blocks(&scratch_, &spare_, [](const MemoryBlock&) { return true; });
}

}  // namespace wick
