// The header of an .npy file: a Python dict literal that names dtype, order and shape.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "wick/dtype.h"
#include "wick/span.h"

namespace wick::cli {

struct NpyHeader {
  DType dtype = DType::f32;
  bool fortran_order = false;
  std::vector<int64_t> sizes;
  uint64_t data_offset = 0;  // where the elements start
  uint64_t data_bytes = 0;   // how many bytes they take; checked against overflow, not against the file
};

/// Parses the start of an .npy file. Accepts the literals that NumPy writes, keys in any order.
compiler::Result<NpyHeader> parse_npy_header(Span<const uint8_t> file);

/// Magic, version 1.0, lengths, dict, padded so that the data starts at a multiple of 64.
std::string npy_header_text(DType dtype, const std::vector<int64_t>& sizes);

}  // namespace wick::cli
