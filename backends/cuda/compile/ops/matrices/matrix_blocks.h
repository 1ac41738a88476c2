// Rules for batches of matrices: a block runs a function of the vocabulary on each matrix, in f64. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {

inline Sizes batch_of(const Value* a) { return {a->sizes().begin(), a->sizes().end() - 2}; }
inline const Sym& rows_of(const Value* a) { return a->sizes()[a->rank() - 2]; }
inline const Sym& columns_of(const Value* a) { return a->sizes().back(); }
inline Sym flag(bool value) { return value ? 1 : 0; }

/// A matrix or a vector of f64 for each element of the batch, in a buffer.
struct Matrices {
  uint32_t buffer = 0;
  Sym area;
};

class MatrixBlocks {
 public:
  MatrixBlocks(Lowering& l, const Node& node, const Value* batch_of_matrices)
      : l_(l), pool_(l.pool()), node_(node), batch_(batch_of(batch_of_matrices)), matrices_(compiler::numel(batch_)) {}

  /// A copy of an operand, transposed or not.
  Matrices copy(const Value* x, bool transposed = false);
  Matrices identity(const Sizes& sizes);
  /// Matrices with the given elements.
  Matrices filled(const Sizes& sizes, const Element& element);
  /// Uninitialized memory: `numbers` f64 for each matrix.
  Matrices room(const Sym& numbers) { return {l_.scratch(DType::f64, matrices_ * numbers), numbers}; }

  /// Defines result `index` as the contents of a buffer, transposed or not.
  void give(size_t index, uint32_t buffer, DType held, bool transposed = false);
  /// Defines result `index`, which has no elements.
  void give_nothing(size_t index);

 protected:
  struct Place {
    uint32_t buffer;
    Sym size;  // elements of one matrix
    bool writes;
  };
  /// Emits a kernel that runs the call. Blocks for small matrices are one warp.
  void run(BlockCall call, const Sym& area, const std::vector<Place>& places);
  std::vector<ExpressionPtr> indices(const std::vector<Sym>& numbers);
  void require_zero(uint32_t info, const char* message);

  Lowering& l_;
  ExpressionPool& pool_;
  const Node& node_;
  const Sizes batch_;
  const Sym matrices_;
};

// Whether the node's first operand holds matrices that are not empty, or square ones.
inline constexpr char kEmptyMatrix[] = "a matrix is empty";
bool has_elements(const Value* x);
compiler::Verdict has_matrices(const Node& node, const compiler::TargetContext& context);
compiler::Verdict is_square(const Node& node, const compiler::TargetContext& context);

}  // namespace wick::cuda
