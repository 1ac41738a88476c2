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
/// 0 or 1, smaller integers 0 to 127, bools either value. Inputs fixed at export have that value. Errors: usage (an
/// input has more than 2^24 elements, or no upper bound).
compiler::Result<std::vector<HostValue>> sample_inputs(const compiler::MethodPlan& plan, uint64_t seed);

/// "", or the first difference and its size. `step`: the quantization step of the output.
std::string difference(const HostValue& got, const HostValue& want, const Tolerance& tolerance, double step);

/// Gives seeded floats to floating constants that are all zeros, such as those that a graph's text leaves out: in
/// [-0.5, 0.5) if they are f32 or f16, else in [-1, 1).
void fill_constants(compiler::Graph& graph, uint64_t seed);

}  // namespace wick::testing
