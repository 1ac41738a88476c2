// Makes inputs and compares outputs of a pipeline under test. C++20.
#pragma once
#include <string>
#include <vector>

#include "compiler/plan/method_plan.h"
#include "wick/module.h"

namespace wick::testing {

/// How far two outputs may be apart: |got - want| <= absolute + relative * |want| + of_largest * (the largest finite
/// |want|) + quantization_steps * (the step of the output: the scale of the dequantize that makes it, 1 for integers,
/// else 0). NaN agrees with NaN, an infinity with itself.
struct Tolerance {
  double absolute = 1e-6, relative = 1e-5, of_largest = 1e-5, quantization_steps = 0;
};

/// Seeded inputs of the declared types, at the upper bounds of their sizes: floats in [-1, 1), 32- and 64-bit integers
/// 0 or 1, smaller ones 0 to 127, bools either; burnt-in inputs have their value. Errors: usage (an input of more than
/// 2^24 elements, or without a bound).
compiler::Result<std::vector<HostValue>> sample_inputs(const compiler::MethodPlan& plan, uint64_t seed);

/// "" or what differs first and by how much. `step` is that of the output.
std::string difference(const HostValue& got, const HostValue& want, const Tolerance& tolerance, double step);

/// Constants that are all zeros, as those that a graph's text leaves out, get seeded floats in [-0.5, 0.5).
void fill_constants(compiler::Graph& graph, uint64_t seed);

}  // namespace wick::testing
