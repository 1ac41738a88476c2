// A transposed convolution as a plain one with an output for each output and phase of the stride. C++20.
#pragma once
#include <functional>
#include <vector>

#include "backends/cortex_m/compile/convolution.h"

namespace wick::cortex_m {

/// Each element `times` times in a row: what all phases of an output have.
template <typename T>
std::vector<T> repeated(const std::vector<T>& list, int64_t times) {
  std::vector<T> out;
  for (const T& each : list) out.insert(out.end(), static_cast<size_t>(times), each);
  return out;
}

/// Pads the image `x`, has `compute` make the plain convolution (whose bias, multipliers and shifts are those of
/// `convolution`, repeated), and weaves its outputs together.
compiler::Value* by_phases(
    compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
    const std::function<compiler::Value*(compiler::Value* padded, const Convolution& plain)>& compute);

}  // namespace wick::cortex_m
