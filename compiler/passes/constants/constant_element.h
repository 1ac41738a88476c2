// Tensors whose elements are all one number.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// One element of a tensor of any dtype but the complex and 8-bit floating ones.
struct Element {
  bool floating = false;
  double real = 0;      // floating: the value; else `integer` as a double
  int64_t integer = 0;  // integers and bools (0, 1)
  DType dtype = DType::f32;

  /// The number as an argument: a float, an int or a bool.
  Arg as_number() const;
  bool is(double value) const { return real == value; }
  bool is_negative_zero() const;
};

/// The element that all elements of `value` equal, bit for bit. `value` may be a constant, a fill, or a view of one.
/// Reads at most 1 MiB of data.
std::optional<Element> uniform_element(const Value* value);

/// The number in an argument: a literal, converted as eager does it for a tensor of `dtype`, or a uniform tensor.
std::optional<Element> number_of(const Arg& arg, DType dtype);
/// As number_of, for a factor or divisor: beside tensors of 16-bit floats eager reads it as f32.
std::optional<Element> factor_of(const Arg& arg, DType dtype);

}  // namespace wick::compiler
