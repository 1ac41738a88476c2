// How eager reads numbers that are combined with tensors of integers, and which numbers a dtype can hold. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The least and the largest element, as doubles. The largest integer of 64 bits rounds to the next power of two.
struct NumberLimits {
  double least, largest;
};
NumberLimits limits_of(DType dtype);

/// An integer dtype, not bool.
bool is_integer_dtype(DType dtype);

/// The integer modulo 2^bits, as an element of the integer dtype `dtype`.
int64_t wrapped(int64_t number, DType dtype);

/// Whether eager's checked conversion accepts the literal number. Unsigned dtypes accept negative integers down to
/// minus their largest element; floats accept infinities and NaN; bool accepts all numbers.
bool fits(const Arg& number, DType dtype);

/// Throws Failure(unsupported_model): argument `place` is a number that eager refuses as an element of `dtype`.
[[noreturn]] void refuse_number(const Node& node, size_t place, DType dtype);

/// refuse_number if the argument is a literal that does not fit.
void require_fits(const Node& node, std::string_view name, DType dtype);

// Shape functions: as infer_broadcast, with eager's checks of numbers.
void infer_power(Node& node);  // refuses negative powers of integers
/// a + alpha * b or a - alpha * b: refuses a float alpha for integers, and differences of bools.
void infer_sum(Node& node);

}  // namespace wick::compiler
