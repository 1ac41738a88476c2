// Numbers beside tensors of 16-bit floats. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The number as an element of `dtype`; unchanged unless that is f16 or bf16.
double half_number(double number, DType dtype);

/// Whether eager's kernel reads numbers and tensors of other dtypes as elements of the dtype that it computes in: sums,
/// remainders, powers and comparisons. Products, quotients and activations read them as f32.
bool reads_half_numbers(const Node& node);

}  // namespace wick::compiler
