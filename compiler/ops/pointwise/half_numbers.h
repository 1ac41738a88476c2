// How eager reads numbers that are combined with tensors of 16-bit floats. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The number rounded to `dtype`, if that is f16 or bf16; else unchanged.
double half_number(double number, DType dtype);

/// f16 or bf16.
bool is_16_bit(DType dtype);
/// f32 for 16-bit floats, the dtype itself otherwise.
inline DType wide_dtype(DType dtype) { return is_16_bit(dtype) ? DType::f32 : dtype; }

/// Whether the tensor is known to have one element.
bool is_element(const Value* x);

/// The dtype in which eager's kernel computes a sum, product or comparison: that of the result, or for comparisons the
/// promoted dtype of the operands.
DType computed_in(const Node& node);

/// Whether eager's kernel converts argument `place`, a number or a tensor of another dtype, to the dtype that it
/// computes in. Sums, remainders, powers, comparisons and atan2 convert all arguments. Products and quotients convert
/// all but numbers and second operands of one element, which they read as f32. Activations read numbers as f32, too.
bool reads_half_numbers(const Node& node, size_t place);

}  // namespace wick::compiler
