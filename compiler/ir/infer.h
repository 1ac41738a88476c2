// Types of results from the arguments of a node.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Calls the operator's shape function, which must exist. Quantized operands appear as the numbers that they represent,
/// and results get types of numbers, unless the operator reads stored elements (kElements). Throws Failure if the
/// arguments are not valid.
void infer_types(Node& node);

/// As infer_types, for a node that reads the stored elements of quantized operands.
void infer_elements(Node& node);

/// The types that infer_types would set. The node keeps its own.
std::vector<Type> inferred_types(Node& node);

/// Whether a result of type `inferred` may be stored as `stated`: the kind is the same, and `stated` has the same dtype
/// or, unless the operator is kElements, is a quantization of it. Sizes and layout are ignored.
bool may_be_stored_as(const OpDef& op, const Type& inferred, const Type& stated);

}  // namespace wick::compiler
