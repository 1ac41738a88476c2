// Summaries of arrays, in one line of text.
#pragma once
#include <string>
#include <vector>

#include "cli/arrays/npz.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {

/// Element `index` as a double: exact except for 64-bit integers beyond 2^53; the real part of a complex number.
double element_of(const NamedArray& array, size_t index);

/// Whether elements of this type may be those of a quantized tensor.
inline bool is_grid(DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16; }

/// "f32[2, 3]".
std::string array_text(DType dtype, const std::vector<int64_t>& sizes);

/// "out0  f32[1, 10]  min -3.1  max 8.2  mean 0.4  [0.1, 2.5, ..]".
std::string summary(const NamedArray& array);

/// One object: name, dtype, sizes, and for numbers min, max, mean (NaN left out) and nan_count.
void write_summary(const NamedArray& array, compiler::JsonWriter& json);

}  // namespace wick::cli
