// Tensors without an upper bound, and where their memory comes from. C++17, freestanding.
#pragma once
#include "wick/tensor.h"

namespace wick {

class TensorMemory;
struct MemoryBlock;

/// Every Tensor whose dynamism is `unbounded` is the base of one of these. A plain copy of it is not: make it fixed.
struct UnboundedTensor : Tensor {
  TensorMemory* memory = nullptr;
  MemoryBlock* block = nullptr;  // its own; `data` may lie elsewhere: in a view's source, in an input of the caller
  bool is_given = false;         // an input that was set for the next execution
};

/// Where a method, its kernels and delegates take memory from that has no upper bound.
class TensorMemory {
 public:
  /// Before the first execution: all tensors of the method.
  virtual void set_tensors(Span<Tensor> bounded, Span<UnboundedTensor> unbounded) = 0;
  /// Empties all unbounded tensors but inputs that were set.
  virtual void begin_execution() = 0;
  /// Inputs must be set anew.
  virtual void end_execution() = 0;
  /// Room for `size_bytes` in memory of the tensor's own; the elements that it has stay. False: failure() says why.
  virtual bool grow(UnboundedTensor& tensor, size_t size_bytes) = 0;
  /// Empties the tensor; others may take its memory.
  virtual void release(UnboundedTensor& tensor) = 0;
  /// Bytes, aligned to 64, until free_scratch. Null: failure() says why.
  virtual void* take_scratch(size_t size_bytes) = 0;
  virtual void free_scratch() = 0;
  /// Gives everything back; the tensors are no more.
  virtual void free_all() = 0;
  /// Why there was no memory since free_scratch; null: there was what was last asked for.
  virtual const char* failure() const = 0;

 protected:
  ~TensorMemory() = default;
};

}  // namespace wick
