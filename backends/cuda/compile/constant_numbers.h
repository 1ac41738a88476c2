// Facts about the elements of constants, and constants stored as integers of four bits. C++20.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::cuda {

struct NumberRange {
  double least = 0, largest = 0;
  bool whole = true;  // all are integers
};
/// The range of a constant's elements, which are read once. Nothing for other values, and for constants that have no
/// elements, NaN or complex numbers.
std::optional<NumberRange> range_of_constant(const compiler::Value& value);

/// A constant of 8-bit integers stored with two elements in a byte: element 2i in the lower half of byte i. An element
/// is `least` plus its four bits. The bytes are computed when they are read.
struct PackedConstant {
  compiler::ConstantData data;
  int64_t least = 0;
};
/// Nothing if the elements lie neither all in -8 .. 7 nor all in 0 .. 15, or if there are too few to matter.
std::optional<PackedConstant> pack_4_bits(const compiler::Value& value);

}  // namespace wick::cuda
