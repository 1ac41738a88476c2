// Rows of operators whose tensors are int16. C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// Whether a tensor that the node reads or gives is quantized to int16.
bool computes_on_int16(const compiler::Node& node);

/// Why the node's tensors are not int16 with one scale each, as refuse_int16, or "".
Refusal refuse_int16(const compiler::Node& node);

/// The call that looks up what a function gives for all elements of int16, from the least on, as elements of `q`: in a
/// table with the fewest elements that are enough, or in one whose elements lie the closer the smaller `x` is. Null:
/// none is fine enough.
compiler::Value* lookup_int16(compiler::Builder& builder, compiler::Value* x, const std::vector<double>& numbers,
                              const Affine& q);
/// The same of a function of int8 elements with this zero point, which `x` has as int16 with kStepsOfInt8 steps for
/// each of theirs.
compiler::Value* lookup_int8(compiler::Builder& builder, compiler::Value* x, int32_t zero,
                             const std::vector<double>& numbers, const Affine& q);

extern const RuleFamily kInt16BinaryRules, kInt16ConvolutionRules, kInt16GluRules, kInt16LinearRules, kInt16LookupRules,
    kInt16MatmulRules;
/// The rule of element-wise operators that read one tensor, besides numbers.
extern const OpRule kInt16TableRule;

}  // namespace wick::cortex_m
