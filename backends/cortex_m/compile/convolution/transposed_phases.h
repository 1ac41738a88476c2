// A transposed convolution as a plain one with an output for each output and phase of the stride. C++20.
#pragma once
#include <functional>
#include <vector>

#include "backends/cortex_m/compile/convolution/convolution.h"

namespace wick::cortex_m {

/// The part of each group `times` times: what the outputs of all phases have, phase by phase.
template <typename T>
std::vector<T> repeated(const std::vector<T>& list, int64_t groups, int64_t times) {
  std::vector<T> out;
  const auto part = static_cast<std::ptrdiff_t>(list.size()) / groups;
  for (auto from = list.begin(); from != list.end(); from += part) {
    for (int64_t i = 0; i < times; ++i) out.insert(out.end(), from, from + part);
  }
  return out;
}

/// Whether the constants of all phases take less memory if weights of four bits are packed: less than those of the
/// phases as int8, or, if it can be computed whole, than the convolution's.
bool are_phases_smaller_packed(const Convolution& convolution, bool has_whole_form);

/// Pads the image `x`, has `compute` make the plain convolution (whose bias, multipliers and shifts are those of
/// `convolution`, repeated), and weaves its outputs together.
compiler::Value* by_phases(
    compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
    const std::function<compiler::Value*(compiler::Value* padded, const Convolution& plain)>& compute);

}  // namespace wick::cortex_m
