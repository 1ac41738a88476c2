// A kernel before it is text: loops over rows and columns, reductions over the columns, and stores. C++20.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/compile/expression/expression.h"
#include "compiler/ir/graph.h"

namespace wick::cuda {

/// A loop from 0 to extent - 1. Index expressions contain its variable as a symbol.
struct Loop {
  Sym variable, extent;
};

enum class ReductionKind : uint8_t {
  sum,
  product,
  minimum,  // NaN-propagating
  maximum,
  conjunction,  // of booleans
  disjunction,
  arg_minimum,  // value and first position; NaN-propagating
  arg_maximum,
  last_minimum,  // the same with the last position
  last_maximum,
  log_sum_exp,
};

/// Combines `element` over all columns of a row. `element` may read earlier reductions of the kernel.
struct Reduction {
  ReductionKind kind = ReductionKind::sum;
  ScalarType type = ScalarType::f32;
  ExpressionPtr element = nullptr;
  ExpressionPtr guard = nullptr;  // null: all columns count
  /// For kinds with positions: the position of a column; null: the column's number.
  ExpressionPtr position = nullptr;
};

/// buffer[offset] = value, as `dtype`.
struct Store {
  uint32_t buffer = 0;
  DType dtype = DType::f32;
  ExpressionPtr offset = nullptr, value = nullptr;
  ExpressionPtr guard = nullptr;  // null: always
};

/// softmax(score(query . key)) . value. The kernel's rows are queries, its columns the features of the result. Stores
/// read the result as reduction 0.
struct Attention {
  Loop key;      // positions of keys and values
  Loop feature;  // of query and key
  ExpressionPtr query = nullptr, key_element = nullptr, value = nullptr;
  ExpressionPtr score = nullptr;  // of one query and key; reads their product as reduction 1
  bool causal = false;            // `score` masks keys at positions after the innermost row's number
  bool guarded = true;            // a row whose scores are all -inf is 0; otherwise NaN
};

/// A row in which each column's value depends on other columns. Column stores read it as reduction 0.
struct Line {
  enum class Kind : uint8_t {
    running,  // the reduction of all columns up to this one
    sorted,   // the element at this column of the sorted row. The reduction's kind is arg_minimum for ascending order,
              // arg_maximum for descending. Elements for which its guard is false come last, at kNoPosition
    merged,   // the same for a row that is two sorted runs in memory; the reduction's element and guard are not used
  } kind = Kind::running;
  // running: the value before the first column; null: that of an empty reduction
  ExpressionPtr from = nullptr, from_position = nullptr;
  uint32_t tile = 0;  // sorted: a power of two that no row exceeds
  // Merged: the two runs of a row are in these buffers, from begins[i] on, counts[i] elements.
  uint32_t values = 0, positions = 0;  // buffers
  ExpressionPtr begins[2] = {}, counts[2] = {};
};
/// The position in a sorted row of columns that hold no element.
constexpr int32_t kNoPosition = 0x7fffffff;

/// A call of a function of the vocabulary, which a block runs for each row: FUNCTION<threads>(addresses .., numbers
/// ..).
struct BlockCall {
  struct Place {
    uint32_t buffer = 0;
    ExpressionPtr offset = nullptr;  // of the row's first element
    bool writes = false;
  };
  const char* function = "";
  std::vector<Place> places;
  std::vector<ExpressionPtr> numbers;  // indices as i64, real numbers
  bool waits = true;                   // the function has barriers
  bool has_shared = false;             // after the addresses it takes shared memory: one Positioned<f64> per warp
  uint32_t threads = 32;
  Sym operations;  // estimate, per row
};

/// Stores of some rows of a kernel, besides its row stores: the rows from `first` on, as many as `loops` have
/// iterations. The loops are decoded from the number of the row in this part.
struct RowPart {
  int64_t first = 0;
  std::vector<Loop> loops;
  std::vector<Store> stores;
};

/// A kernel. Iterations are independent of each other, except through reductions, which are computed in
/// order. A kernel without columns is a map.
///   prologues; for rows: reductions[0] .. over columns; row_stores; row_parts; for columns: column_stores
struct LoopKernel {
  std::vector<Loop> rows, columns;
  std::vector<Reduction> reductions;
  std::vector<Store> row_stores, column_stores;
  std::vector<RowPart> row_parts;  // only in kernels with reductions
  /// Kernels without rows that each block runs first. Their column stores go to the block's shared memory, from which
  /// this kernel loads. Only kernels with columns have prologues.
  std::vector<std::shared_ptr<const LoopKernel>> prologues;
  /// Kernels whose blocks run in the same launch, after those of this one. They do not depend on each other.
  std::vector<std::shared_ptr<const LoopKernel>> beside;
  std::optional<Attention> attention;  // then `reductions` is empty
  bool in_order = false;               // columns run in order: one may read what an earlier one of its row has stored
  std::optional<Line> line;
  std::optional<BlockCall> call;               // then the kernel has only rows besides
  std::vector<const compiler::Node*> nodes;    // of the model, in order
  std::vector<const compiler::Node*> inlined;  // nodes whose values these read and compute inline
  std::string why;                             // why its results are stored instead of being computed by their reader
};

/// All expressions of the kernel, some of them null; not those of its prologues and of the kernels beside it.
std::vector<ExpressionPtr> expressions_of(const LoopKernel& kernel);
/// The same, for replacing them.
std::vector<ExpressionPtr*> expressions_in(LoopKernel& kernel);

}  // namespace wick::cuda
