// Types of values: tensors with symbolic sizes, and scalars.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/sym/sym.h"
#include "wick/dtype.h"

namespace wick::compiler {

class Value;
struct Quantization;  // quantization.h

using Sizes = SymList;

/// Element type and logical sizes; `dim_order` lists dimensions from outermost to innermost, empty = 0, 1, 2 ..
/// `quantization`: the elements are integers that stand for real numbers. An operator computes on these numbers, and
/// each result is quantized as its own type says (OpFlags::kElements names those that do not). Null: the elements are
/// the numbers.
struct TensorType {
  DType dtype = DType::f32;
  Sizes sizes;
  std::vector<uint8_t> dim_order;
  std::shared_ptr<const Quantization> quantization = nullptr;

  size_t rank() const { return sizes.size(); }
  /// The dtype of the numbers: that of the elements, or what they stand for.
  DType real_dtype() const;
  friend bool operator==(const TensorType& a, const TensorType& b);  // quantizations by contents
};

enum class TypeKind : uint8_t { tensor, integer, real, boolean };

/// The type of a value. For integers (and booleans computed from them) `expr` is the value itself, often a lone symbol.
struct Type {
  TypeKind kind = TypeKind::tensor;
  TensorType tensor;
  Sym expr;

  static Type of(TensorType t) { return {TypeKind::tensor, std::move(t), Sym()}; }
  static Type of(DType dtype, Sizes sizes) { return of(TensorType{dtype, std::move(sizes), {}}); }
  static Type integer(Sym expr) { return {TypeKind::integer, {}, std::move(expr)}; }
  static Type real() { return {TypeKind::real, {}, Sym()}; }
  static Type boolean(Sym expr = Sym()) { return {TypeKind::boolean, {}, std::move(expr)}; }
  bool is_tensor() const { return kind == TypeKind::tensor; }
  friend bool operator==(const Type& a, const Type& b) = default;
};

/// "f32[1, s0, 8]", "int(s0)", "float", "bool"; a dim order that is not 0, 1, 2 .. follows as "{0,2,3,1}", a
/// quantization as "q(scale=0.5, zero=3)". A list of more than `max_numbers` scales or zero points is printed as its
/// dtype, "f32[...]": enough for messages, but IR text has all of them.
constexpr size_t kFewNumbers = 16, kAllNumbers = SIZE_MAX;
std::string to_text(const Type& type, size_t max_numbers = kFewNumbers);

/// Product of the sizes.
Sym numel(const Sizes& sizes);
/// The sizes as integers if none is symbolic.
std::optional<std::vector<int64_t>> static_sizes(const Sizes& sizes);
bool is_static(const Sizes& sizes);

}  // namespace wick::compiler
