// Batches of matrices in f64, and functions of the vocabulary that a block runs for each of them. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {

inline Sizes batch_of(const Value* a) { return {a->sizes().begin(), a->sizes().end() - 2}; }
inline const Sym& rows_of(const Value* a) { return a->sizes()[a->rank() - 2]; }
inline const Sym& columns_of(const Value* a) { return a->sizes().back(); }
inline Sym flag(bool value) { return value ? 1 : 0; }

/// Matrices or lines of f64, one for each element of the batch.
struct Matrices {
  uint32_t buffer = 0;
  Sym area;
};

class MatrixBlocks {
 public:
  MatrixBlocks(Lowering& l, const Node& node, const Value* batch_of_matrices)
      : l_(l), pool_(l.pool()), node_(node), batch_(batch_of(batch_of_matrices)), matrices_(compiler::numel(batch_)) {}

  /// What an operand holds, transposed or not.
  Matrices copy(const Value* x, bool transposed = false);
  Matrices identity(const Sizes& sizes);
  /// Each element as said.
  Matrices filled(const Sizes& sizes, const Element& element);
  /// Room for `numbers` of each matrix.
  Matrices room(const Sym& numbers) { return {l_.scratch(DType::f64, matrices_ * numbers), numbers}; }

  /// Result `index` is what lies in a buffer, transposed or not.
  void give(size_t index, uint32_t buffer, DType held, bool transposed = false);
  /// Result `index` has no elements.
  void give_nothing(size_t index);

 protected:
  struct Place {
    uint32_t buffer;
    Sym size;  // of a matrix
    bool writes;
  };
  /// Small matrices take a warp.
  void run(BlockCall call, const Sym& area, const std::vector<Place>& places);
  std::vector<ExpressionPtr> indices(const std::vector<Sym>& numbers);
  void require_zero(uint32_t info, const char* message);

  Lowering& l_;
  ExpressionPool& pool_;
  const Node& node_;
  const Sizes batch_;
  const Sym matrices_;
};

// Whether the node's first operand holds matrices with elements, or square ones.
inline constexpr char kEmptyMatrix[] = "a matrix is empty";
bool has_elements(const Value* x);
compiler::Verdict has_matrices(const Node& node, const compiler::TargetContext& context);
compiler::Verdict is_square(const Node& node, const compiler::TargetContext& context);

}  // namespace wick::cuda
