// Scalar expressions: what one element of a tensor is, in terms of loop variables and elements in memory. C++20.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/sym/sym.h"
#include "wick/dtype.h"

namespace wick::cuda {

using compiler::Sym;

/// Types in registers. `index` counts elements: 32 or 64 bits, as a kernel's buffers need.
enum class ScalarType : uint8_t { boolean, i32, i64, f32, f64, index };

/// The register type in which elements of a dtype are computed: f16 and bf16 as f32, which each operator rounds again;
/// small integers as i32.
ScalarType scalar_type(DType dtype);
bool is_real(ScalarType type);
/// The name of the type in the vocabulary of kernels.
const char* type_name(ScalarType type);

enum class ExpressionKind : uint8_t {
  index,    // an integer expression over loop variables and sizes
  number,   // a constant of a floating-point type, or true and false
  load,     // an element of a buffer; args: offset in elements, and maybe a guard: if it is false, nothing is read and
            // the element is 0
  call,     // `text` with {0}, {1}, .. for the args
  reduced,  // the result of reduction number `buffer` of the kernel; i64: the position that an arg reduction found
};

/// Immutable. Equal expressions of one pool are one object.
struct Expression {
  ExpressionKind kind = ExpressionKind::index;
  ScalarType type = ScalarType::index;
  Sym index;
  double number = 0;
  std::string text;
  std::vector<const Expression*> args;
  uint32_t buffer = 0;       // load: which one; reduced: number of the reduction
  DType dtype = DType::f32;  // load: of the elements in memory
  uint32_t id = 0;           // order of creation
};
using ExpressionPtr = const Expression*;
using Indices = std::vector<ExpressionPtr>;

/// Calls visit(expression) once for each distinct expression that the roots consist of, including the roots. Skips null
/// roots.
void for_each(std::vector<ExpressionPtr> roots, const std::function<void(ExpressionPtr)>& visit);
/// The symbols of all index expressions in it.
std::set<std::string, std::less<>> symbols_of(ExpressionPtr expression);

/// How a call combines two indices of which at least one depends on data. Any other call is `other`.
enum class IndexArithmetic : uint8_t { sum, difference, product, other };
IndexArithmetic index_arithmetic(ExpressionPtr call);

/// Makes and owns expressions. Index arithmetic is done in `Sym`, which simplifies it with the ranges of the SymScope
/// that is open on this thread.
class ExpressionPool {
 public:
  ExpressionPtr index(Sym sym);
  ExpressionPtr number(double value, ScalarType type);
  /// A constant of any type: an integer, true, false or a real number.
  ExpressionPtr constant(double real, int64_t integer, ScalarType type);
  ExpressionPtr call(ScalarType type, std::string text, std::vector<ExpressionPtr> args);
  ExpressionPtr load(uint32_t buffer, DType dtype, ExpressionPtr offset);
  ExpressionPtr reduced(uint32_t reduction, ScalarType type, bool position = false);

  /// Until pop_guard(), each new load reads memory only where `condition` holds.
  void push_guard(ExpressionPtr condition);
  void pop_guard() { guards_.pop_back(); }
  ExpressionPtr guard() const { return guards_.empty() ? nullptr : guards_.back(); }

  // Index arithmetic; an operand may depend on data.
  ExpressionPtr add(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr subtract(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr multiply(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr floor_divide(ExpressionPtr a, ExpressionPtr b);  // b > 0
  ExpressionPtr modulo(ExpressionPtr a, ExpressionPtr b);        // b > 0, result >= 0
  ExpressionPtr minimum(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr maximum(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr less(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr equal(ExpressionPtr a, ExpressionPtr b);

  ExpressionPtr both(ExpressionPtr a, ExpressionPtr b);
  ExpressionPtr negation(ExpressionPtr a);
  ExpressionPtr select(ExpressionPtr condition, ExpressionPtr then, ExpressionPtr otherwise);
  /// Converts to another register type. Floats become integers as by static_cast; NaN and values out of range give what
  /// eager gives on x86-64.
  ExpressionPtr cast(ExpressionPtr value, ScalarType type);
  /// Rounds to a value that `dtype` can hold. The register type stays.
  ExpressionPtr rounded(ExpressionPtr value, DType dtype);

  /// The expression with `change` applied to each index expression in it. `known` maps expressions to their
  /// replacements: those that are there are not rewritten again.
  ExpressionPtr rewrite(ExpressionPtr expression, const std::function<Sym(const Sym&)>& change,
                        std::map<ExpressionPtr, ExpressionPtr>& known);

 private:
  struct Less {
    bool operator()(ExpressionPtr a, ExpressionPtr b) const;
  };
  ExpressionPtr intern(Expression expression);
  ExpressionPtr arithmetic(ExpressionPtr a, ExpressionPtr b, Sym (*combine)(const Sym&, const Sym&), const char* text,
                           ScalarType type);
  std::deque<Expression> expressions_;
  std::set<ExpressionPtr, Less> known_;
  std::vector<ExpressionPtr> guards_;
};

/// True for a constant `true`, or an index that is 1.
bool is_true(ExpressionPtr expression);
bool is_false(ExpressionPtr expression);

}  // namespace wick::cuda
