// Numbers beside tensors of 16-bit floats. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The number as an element of `dtype`; unchanged unless that is f16 or bf16.
double half_number(double number, DType dtype);

/// f16 or bf16.
bool is_16_bit(DType dtype);
/// f32 for these, the dtype itself otherwise.
inline DType wide_dtype(DType dtype) { return is_16_bit(dtype) ? DType::f32 : dtype; }

/// Whether the tensor is known to have one element.
bool is_element(const Value* x);

/// In which dtype eager's kernel computes a sum, product or comparison: that of the result, or the common one of what
/// is compared.
DType computed_in(const Node& node);

/// Whether eager's kernel reads a number or a tensor of another dtype in this place as elements of the dtype that it
/// computes in: sums, remainders, powers, comparisons and atan2 read all so, products and quotients all but numbers and
/// second operands of one element, which they read as f32, as activations do.
bool reads_half_numbers(const Node& node, size_t place);

}  // namespace wick::compiler
