// A kernel before it is text: loops over rows and columns, reductions along the columns, and what is stored. C++20.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/compile/expression/expression.h"
#include "compiler/ir/graph.h"

namespace wick::cuda {

/// A loop from 0 to extent - 1. The variable is a symbol of index expressions.
struct Loop {
  Sym variable, extent;
};

enum class ReductionKind : uint8_t {
  sum,
  product,
  minimum,  // NaN wins
  maximum,
  conjunction,  // of booleans
  disjunction,
  arg_minimum,  // value and first position; NaN wins
  arg_maximum,
  last_minimum,  // the same of the last position
  last_maximum,
  log_sum_exp,
};

/// For each row: combines `element` of all columns. `element` may read earlier reductions of the kernel.
struct Reduction {
  ReductionKind kind = ReductionKind::sum;
  ScalarType type = ScalarType::f32;
  ExpressionPtr element = nullptr;
  ExpressionPtr guard = nullptr;  // null: all columns count
  /// Of kinds with positions: what stands for the number of the column, if not null.
  ExpressionPtr position = nullptr;
};

/// buffer[offset] = value, as `dtype`.
struct Store {
  uint32_t buffer = 0;
  DType dtype = DType::f32;
  ExpressionPtr offset = nullptr, value = nullptr;
  ExpressionPtr guard = nullptr;  // null: always
};

/// softmax(score(query . key)) . value of a row: rows of the kernel are queries, its columns the features of the
/// result, which reads reduction 0.
struct Attention {
  Loop key;      // positions of keys and values
  Loop feature;  // of query and key
  ExpressionPtr query = nullptr, key_element = nullptr, value = nullptr;
  ExpressionPtr score = nullptr;  // of one query and key, from their product: reduction 1
  bool causal = false;            // keys behind the innermost row's number count nothing, as the score says
  bool guarded = true;            // a row whose scores are all -inf is 0; otherwise NaN
};

/// A row whose columns depend on each other. Column stores read reduction 0.
struct Line {
  enum class Kind : uint8_t {
    running,  // it is the reduction of all columns up to the store's
    sorted,   // it is the element that stands at the store's column when the row is sorted; its kind is arg_minimum for
              // ascending order, arg_maximum for descending. Columns behind its guard come last, at kNoPosition
    merged,   // the same of a row that is two sorted runs in memory; the element and the guard are not read
  } kind = Kind::running;
  ExpressionPtr from = nullptr, from_position = nullptr;  // running: what stands before the first column, if not null
  uint32_t tile = 0;                                      // sorted: a power of two that no row exceeds
  // merged
  uint32_t values = 0, positions = 0;  // buffers
  ExpressionPtr begins[2] = {}, counts[2] = {};
};
/// The position of what is no element of a sorted row.
constexpr int32_t kNoPosition = 0x7fffffff;

/// A function of the vocabulary that a block runs for each row: FUNCTION<threads>(addresses .., numbers ..).
struct BlockCall {
  struct Place {
    uint32_t buffer = 0;
    ExpressionPtr offset = nullptr;  // of the row's first element
    bool writes = false;
  };
  const char* function = "";
  std::vector<Place> places;
  std::vector<ExpressionPtr> numbers;  // indices as i64, real numbers
  bool waits = true;                   // its threads wait for each other
  bool has_shared = false;             // behind the addresses: one Positioned<f64> per warp
  uint32_t threads = 32;
  Sym operations;  // of a row, about
};

/// What some of a kernel's rows store besides its row stores: those from `first` on, as many as `loops` count. The
/// loops run in the order of the rows.
struct RowPart {
  int64_t first = 0;
  std::vector<Loop> loops;
  std::vector<Store> stores;
};

/// Without columns: a map. Rows, and columns within a row, are independent of each other but for the reductions, which
/// are computed in order.
///   prologues; for rows: reductions[0] .. over columns; row_stores; row_parts; for columns: column_stores
struct LoopKernel {
  std::vector<Loop> rows, columns;
  std::vector<Reduction> reductions;
  std::vector<Store> row_stores, column_stores;
  std::vector<RowPart> row_parts;  // of kernels with reductions
  /// Kernels without rows that each block computes for itself: their column stores go to its shared memory, from which
  /// this kernel loads. Kernels with columns may have some.
  std::vector<std::shared_ptr<const LoopKernel>> prologues;
  /// Kernels whose blocks run in the same launch, behind those of this one. They do not depend on each other.
  std::vector<std::shared_ptr<const LoopKernel>> beside;
  std::optional<Attention> attention;  // then there are no reductions
  bool in_order = false;  // columns are walked in order: one may read what an earlier one of its row has stored
  std::optional<Line> line;
  std::optional<BlockCall> call;               // then there is nothing besides rows
  std::vector<const compiler::Node*> nodes;    // of the model, in order
  std::vector<const compiler::Node*> inlined;  // functions of indices that these read, computed where they are read
  std::string why;                             // its results are stored and no reader became part of it
};

/// The expressions that the kernel computes but for its prologues', null ones among them.
std::vector<ExpressionPtr> expressions_of(const LoopKernel& kernel);
/// The same, to replace them.
std::vector<ExpressionPtr*> expressions_in(LoopKernel& kernel);

}  // namespace wick::cuda
