// The elements of the tensors in an operator's row. tests/fixtures/exporters/case_values.py makes the same.
#pragma once
#include "compiler/ir/op_case.h"
#include "wick/module.h"

namespace wick::conformance {

/// Element i comes of word i of the Philox stream (common/random.h) keyed by the tensor's seed; complex elements take
/// two words each.
HostTensor filled(const compiler::CaseTensor& tensor);

}  // namespace wick::conformance
