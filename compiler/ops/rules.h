// Helpers of shape functions: argument checks, result types, common shape rules.
#pragma once
#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/literal.h"
#include "compiler/ir/op_def.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

/// Throws Failure(unsupported_model): the arguments are not valid for the operator, or not supported.
[[noreturn]] void reject(std::string message);
[[noreturn]] void reject(const char* message);
inline void require(bool condition, const char* message) {
  if (!condition) reject(message);
}

/// True for a Python number: int, float, bool, or a scalar value computed at run time.
bool is_number(const Arg& arg);
/// Whether the number is floating: its Python type decides.
bool is_float_number(const Arg& arg);

void set_result(Node& node, size_t index, DType dtype, Sizes sizes);
inline void set_result(Node& node, DType dtype, Sizes sizes) { set_result(node, 0, dtype, std::move(sizes)); }

/// The dtype of a complex number's parts; a real dtype itself.
DType real_dtype(DType dtype);
/// The complex dtype whose parts have this dtype, c64 if there is none; a complex dtype itself.
DType complex_dtype(DType dtype);

/// False only if both are constants and differ.
bool may_equal(const Sym& a, const Sym& b);
/// Throws unless may_equal; `what` names the quantity.
void require_equal(const Sym& a, const Sym& b, const char* what);
void require_rank(const Value* x, size_t rank, const char* what);
/// The broadcast of the sizes of all operands; numbers have no sizes.
Sizes broadcast_all(const Args& operands);
/// `list`; if it has one entry, that entry `count` times. Throws if it has another length.
Ints repeat_to(Ints list, size_t count, const char* what);

/// Dimensions of a reduction: wrapped, sorted, unique; empty or None means all.
std::vector<int64_t> reduced_dims(const Node& node, const char* name, size_t rank);
Sizes reduce_sizes(const Sizes& sizes, const std::vector<int64_t>& dims, bool keepdim);
std::vector<int64_t> all_dims(size_t rank);

/// Output size of a convolution or pooling window along one dimension.
Sym window_size(const Sym& in, const Sym& pad, const Sym& kernel, const Sym& stride, const Sym& dilation,
                bool ceil_mode);
/// Whether matrices [.., m, n] and [.., k, l] have the same number of leading sizes, and these are equal expressions.
bool have_equal_batches(const Value* a, const Value* b);
/// A position as Python means it: negative numbers count from the end. Not clamped.
Sym from_start(const Sym& position, const Sym& size);
/// A slice bound as Python means it, clamped to [0, size].
Sym clamp_bound(const Sym& bound, const Sym& size);
/// The arguments `dim`, `start`, `end` and `step` of a slice of `self`, with bounds as clamp_bound() gives them. The
/// end is not before the start if both are known, or if one of them may count from the end.
struct SliceBounds {
  int64_t dim;
  Sym start, end, step;
};
SliceBounds slice_bounds(const Node& node);

// Shape functions used by several families.
void infer_same(Node& node);         // result 0 is like argument 0
void infer_float_unary(Node& node);  // integral and bool become float32
void infer_predicate(Node& node);    // bool, sizes of argument 0
void infer_broadcast(Node& node);    // arguments 0 and 1 broadcast and promote
void infer_compare(Node& node);      // arguments 0 and 1 broadcast to bool
void infer_true_divide(Node& node);  // as infer_broadcast, integral becomes float32
/// Keeps the preset type, because sizes depend on values. Checks only that there is one.
void infer_preset(Node& node);

// Decompositions used by several families.
std::vector<Value*> decompose_identity(Builder& builder, Node& node);  // argument 0 unchanged

/// Declares the rows of a table and their number.
#define WICK_OP_TABLE(Family, rows)     \
  extern const OpDef k##Family##Rows[]; \
  extern const size_t k##Family##Count;

}  // namespace wick::compiler
