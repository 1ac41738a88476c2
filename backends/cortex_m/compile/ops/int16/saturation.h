// The bounds beyond which a value may saturate, because its readers saturate there. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

struct Saturation {
  double largest = 0;  // numbers beyond it, of either sign, give what any larger ones give; infinite: none do
  double step = 0;     // differences that show in what is computed of them
};

/// Of a value whose only reader, or the last of a chain of those, gives elements. The chain multiplies by constants,
/// adds constants and moves elements.
Saturation saturation_of(const compiler::Value& value);

}  // namespace wick::cortex_m
