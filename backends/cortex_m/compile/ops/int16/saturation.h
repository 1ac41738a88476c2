// Magnitudes beyond which a value may saturate, because its readers saturate there. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

struct Saturation {
  double largest = 0;  // all numbers x > largest give the same elements, and so do all x < -largest; infinite: none do
  double step = 0;     // the smallest difference between numbers that shows in those elements
};

/// The saturation of a value, in its real numbers. It is known if a chain of single readers leads from the value to a
/// result with elements, and each of them multiplies by a constant, adds a constant or moves elements. Otherwise
/// {infinity, 0}.
Saturation saturation_of(const compiler::Value& value);

}  // namespace wick::cortex_m
