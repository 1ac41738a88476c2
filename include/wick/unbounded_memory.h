// Memory of tensors without an upper bound from an allocator of the caller. C++17, freestanding.
#pragma once
#include "wick/tensor_memory.h"

namespace wick {

/// The caller's functions, called on the thread that executes or destroys the method.
struct Allocator {
  /// A block of `size_bytes` (at least 1) at a multiple of `alignment`, a power of two, with any content; null if there
  /// is none.
  void* (*allocate)(void* state, size_t size_bytes, size_t alignment);
  /// Frees a block that `allocate` gave for the same size and alignment.
  void (*free)(void* state, void* block, size_t size_bytes, size_t alignment);
  void* state;
};

/// Blocks of an allocator, for one method at a time. A block serves one tensor after another and stays between
/// executions; a block that an execution did not use is freed at the start of the next one. No block is freed while a
/// tensor points into it, whatever the instructions of a program do.
class UnboundedMemory final : public TensorMemory {
 public:
  /// `max_bytes`: the limit of the bytes held from the allocator at any time.
  UnboundedMemory(const Allocator& allocator, uint64_t max_bytes) : allocator_(allocator), max_bytes_(max_bytes) {}
  UnboundedMemory(const UnboundedMemory&) = delete;
  UnboundedMemory& operator=(const UnboundedMemory&) = delete;

  void set_tensors(Span<Tensor> bounded, Span<UnboundedTensor> unbounded) override;
  void begin_execution() override;
  void end_execution() override;
  bool grow(UnboundedTensor& tensor, size_t size_bytes) override;
  void release(UnboundedTensor& tensor) override;
  void* take_scratch(size_t size_bytes) override;
  void free_scratch() override;
  void free_all() override;
  const char* failure() const override { return failure_; }

  uint64_t held_bytes() const { return held_bytes_; }
  /// The most that was held at one time.
  uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  MemoryBlock* take(size_t size_bytes);
  MemoryBlock* take_spare(size_t size_bytes);
  MemoryBlock* allocate(size_t size_bytes);
  template <typename Keep>
  void free_spare(Keep keep);
  bool is_referenced(const MemoryBlock& block) const;

  Allocator allocator_;
  uint64_t max_bytes_;
  uint64_t held_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  MemoryBlock* spare_ = nullptr;    // held by no tensor
  MemoryBlock* scratch_ = nullptr;  // of the kernel that runs, and blocks that it may still read
  MemoryBlock* lent_ = nullptr;     // inputs of this execution lie there
  const char* failure_ = nullptr;
  Span<Tensor> bounded_;
  Span<UnboundedTensor> unbounded_;
};

}  // namespace wick
