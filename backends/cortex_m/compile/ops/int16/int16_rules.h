// Rows of operators whose tensors are int16. C++20.
#pragma once
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

/// Whether an operand or a result of the node is quantized to int16.
bool computes_on_int16(const compiler::Node& node);

/// Why a tensor of the node is not int16 with one scale (refuse_int16), or "".
Refusal refuse_int16(const compiler::Node& node);

/// Calls the lookup of a function of the int16 elements `x`. `numbers`: its 65536 results, for -32768 first. The result
/// has elements of `q`. The table is the smallest uniform one that is accurate enough, or else a graded one, whose
/// entries lie closer together near 0. Null: none is accurate enough.
compiler::Value* lookup_int16(compiler::Builder& builder, compiler::Value* x, const std::vector<double>& numbers,
                              const Affine& q);
/// The same for a function of int8 elements with zero point `zero`. `numbers`: its 256 results. `x` holds these
/// elements as int16, kStepsOfInt8 steps for one step of int8.
compiler::Value* lookup_int8(compiler::Builder& builder, compiler::Value* x, int32_t zero,
                             const std::vector<double>& numbers, const Affine& q);

extern const RuleFamily kInt16BinaryRules, kInt16ConvolutionRules, kInt16GluRules, kInt16LinearRules, kInt16LookupRules,
    kInt16MatmulRules;
/// The rule of element-wise operators with one operand that is not a single constant number.
extern const OpRule kInt16TableRule;

}  // namespace wick::cortex_m
