// The call of a case with the quantize and dequantize nodes that a quantizer puts around it.
#pragma once
#include <optional>

#include "tests/conformance/case_program.h"

namespace wick::cortex_m {

/// The integers that a value is quantized to. Scales come from the case's numbers.
struct ElementGrid {
  DType dtype;
  int64_t zero, min, max;
};
constexpr ElementGrid kInt8 = {DType::i8, 3, -128, 127}, kInt16 = {DType::i16, 0, -32767, 32767};

/// Null: what it stands for stays f32.
struct Borders {
  const ElementGrid *first, *others;  // the first f32 operand and the others: both or none
  const ElementGrid* results;
};

/// Nothing: the call has no f32 numbers, or it changes an operand.
std::optional<compiler::Function> quantized_call(const conformance::Case& test, const Borders& borders);

}  // namespace wick::cortex_m
