// Payloads some of whose values have no elements. The library has no such tensors. C++17, both halves.
#pragma once
#include <utility>
#include <vector>

#include "backends/xnnpack/payload/payload.h"

namespace wick::xnnpack {

/// The part of a payload that is left to compute when inputs are empty.
struct NonEmptyPart {
  /// The nodes whose results have elements. Where a node makes elements of none (a sum or mean over them, a matmul over
  /// them, padding around them), its result is a constant; a concatenation leaves empty operands out. Values keep their
  /// ids. Constants after those of the whole payload hold the elements of `fills`.
  Payload payload;
  /// For each argument of that payload, its place among those of the whole one: those with elements.
  std::vector<uint32_t> arguments;
  /// Constants that the whole payload does not have, with their bytes.
  std::vector<std::pair<uint32_t, std::vector<uint8_t>>> fills;
  /// The dims of all values of the whole payload, by id.
  std::vector<Dims> dims;
};

/// `input_dims` as for check_payload, but may be 0.
/// Requires: check_payload takes the payload. Errors: DelegateInvalidCompatibility, with text: sizes do not fit, an
/// output needs an element of an empty tensor, or an image without rows or columns.
Error non_empty_part(const Payload& payload, const std::vector<Dims>& input_dims, NonEmptyPart* part, ErrorText* text);

}  // namespace wick::xnnpack
