// Rows of operators whose tensors are int16. C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"

namespace wick::cortex_m {

/// Whether a tensor that the node reads or gives is quantized to int16.
bool computes_on_int16(const compiler::Node& node);

/// Why the node's tensors are not int16 with one scale each, as refuse_int16, or "".
std::string refuse_int16(const compiler::Node& node);

extern const RuleFamily kInt16BinaryRules, kInt16ConvolutionRules, kInt16LinearRules, kInt16MatmulRules;
/// The rule of element-wise operators that read one tensor, besides numbers.
extern const OpRule kInt16TableRule;

}  // namespace wick::cortex_m
