// Computes a transposed convolution as a plain one with an output for each output and phase of the stride. C++20.
#pragma once
#include <functional>
#include <vector>

#include "backends/cortex_m/compile/convolution/convolution.h"

namespace wick::cortex_m {

/// Repeats the part of each of `groups` groups `times` times: from constants of the outputs, those of the outputs of
/// all phases.
template <typename T>
std::vector<T> repeated(const std::vector<T>& list, int64_t groups, int64_t times) {
  std::vector<T> out;
  const auto part = static_cast<std::ptrdiff_t>(list.size()) / groups;
  for (auto from = list.begin(); from != list.end(); from += part) {
    for (int64_t i = 0; i < times; ++i) out.insert(out.end(), from, from + part);
  }
  return out;
}

/// Whether packing weights of four bits saves memory for all phases: compared with int8 phases or, if stock's kernel
/// can compute the convolution as a whole, with its own constants.
bool are_phases_smaller_packed(const Convolution& convolution, bool has_whole_form);

/// Pads the image `x`, lets `compute` build the plain convolution (with the bias, multipliers and shifts of
/// `convolution`, repeated), and interleaves its outputs.
compiler::Value* by_phases(
    compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
    const std::function<compiler::Value*(compiler::Value* padded, const Convolution& plain)>& compute);

}  // namespace wick::cortex_m
