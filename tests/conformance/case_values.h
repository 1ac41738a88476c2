// Computes the elements of the tensors in an operator's row. tests/fixtures/exporters/case_values.py computes the same.
#pragma once
#include "compiler/ir/op_case.h"
#include "wick/module.h"

namespace wick::conformance {

/// Element i is computed from word i of the Philox stream (common/random.h) whose key is the tensor's seed. A complex
/// element takes two words.
HostTensor filled(const compiler::CaseTensor& tensor);

}  // namespace wick::conformance
