// Numbers beside tensors of integers, and numbers that a dtype cannot hold. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The least and the largest element, as doubles. Integers of 64 bits: the largest rounds to the next power of two.
struct NumberLimits {
  double least, largest;
};
NumberLimits limits_of(DType dtype);

/// An integer dtype, not bool.
bool is_integer_dtype(DType dtype);

/// The integer modulo 2^bits, as an element of `dtype`, one of integers.
int64_t wrapped(int64_t number, DType dtype);

/// Whether eager's checked conversion takes the literal number. Unsigned dtypes take negative integers down to the
/// opposite of their largest element; floats take infinities and NaN; bool takes all numbers.
bool fits(const Arg& number, DType dtype);

/// Throws Failure(unsupported_model): argument `place` is a number that eager refuses as an element of `dtype`.
[[noreturn]] void refuse_number(const Node& node, size_t place, DType dtype);

/// refuse_number if the argument is a literal that does not fit.
void require_fits(const Node& node, std::string_view name, DType dtype);

// Shape functions: as infer_broadcast, with what eager asks of numbers.
void infer_power(Node& node);  // no negative power of integers
void infer_sum(Node& node);  // a + alpha * b, a - alpha * b: alpha is no float beside integers; no difference of bools

}  // namespace wick::compiler
