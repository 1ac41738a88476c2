// Tensors without an upper bound, and where their memory comes from. C++17, freestanding.
#pragma once
#include "wick/tensor.h"

namespace wick {

class TensorMemory;
struct MemoryBlock;

/// Every Tensor whose dynamism is `unbounded` is the base of one of these. A plain copy of such a Tensor is not: set
/// its dynamism to `fixed`.
struct UnboundedTensor : Tensor {
  TensorMemory* memory = nullptr;
  MemoryBlock* block = nullptr;  // its own; `data` may lie elsewhere: in a view's source, in an input of the caller
  bool is_given = false;         // an input that was set for the next execution
};

/// The source of memory without an upper bound for a method, its kernels and its delegates.
class TensorMemory {
 public:
  /// Called before the first execution with all tensors of the method.
  virtual void set_tensors(Span<Tensor> bounded, Span<UnboundedTensor> unbounded) = 0;
  /// Empties all unbounded tensors but inputs that were set.
  virtual void begin_execution() = 0;
  /// After it, inputs must be set again.
  virtual void end_execution() = 0;
  /// Gives the tensor room for `size_bytes` in memory of its own and keeps its elements. False: failure() says why.
  virtual bool grow(UnboundedTensor& tensor, size_t size_bytes) = 0;
  /// Empties the tensor; others may take its memory.
  virtual void release(UnboundedTensor& tensor) = 0;
  /// Scratch memory, aligned to 64, valid until free_scratch. Null: failure() says why.
  virtual void* take_scratch(size_t size_bytes) = 0;
  virtual void free_scratch() = 0;
  /// Frees all memory. The tensors must not be used any more.
  virtual void free_all() = 0;
  /// Why the last request since free_scratch failed; null if it succeeded.
  virtual const char* failure() const = 0;

 protected:
  ~TensorMemory() = default;
};

}  // namespace wick
