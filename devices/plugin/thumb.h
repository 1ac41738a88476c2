// Cost of a Thumb instruction in a simple model of a Cortex-M55.
#pragma once
#include <stdint.h>

namespace wick::device::thumb {

/// The encoding space of floating-point and vector instructions.
constexpr bool is_float_or_vector(uint16_t first) { return (first & 0xEC00) == 0xEC00; }

/// A vector (MVE) instruction; scalar floating point uses coprocessors 9 to 11.
constexpr bool is_vector(uint16_t first, uint16_t second) {
  if (!is_float_or_vector(first)) return false;
  const unsigned coprocessor = second >> 8 & 15;
  const bool is_dup = (first & 0xFFB0) == 0xEEA0 && (second & 0x0F10) == 0x0B10;
  return (first & 0xEF00) == 0xEF00 || coprocessor == 8 || coprocessor >= 14 || is_dup;
}

/// How many elements a gather load or scatter store moves one by one; 0 for any other instruction.
constexpr unsigned gathered_lanes(uint16_t first, uint16_t second) {
  // A base and a vector of offsets.
  if ((first & 0xEFE0) == 0xEC80 && (second & 0x1E00) == 0x0E00) return 16u >> (second >> 7 & 3);
  // A vector of addresses: words or double words.
  if ((first & 0xFF00) == 0xFD00 && (second & 0x1E00) == 0x1E00) return (second & 0x100) != 0 ? 2 : 4;
  return 0;
}

/// Weighted cycles. A scalar instruction: 1. A vector instruction: 2, the time of its beats. A gather: one per lane.
constexpr unsigned weight(uint16_t first, uint16_t second) {
  const unsigned lanes = gathered_lanes(first, second);
  return lanes != 0 ? lanes : is_vector(first, second) ? 2 : 1;
}

}  // namespace wick::device::thumb
