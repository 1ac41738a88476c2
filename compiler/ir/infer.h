// Types of results from the arguments of a node.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Calls the operator's shape function, which must exist. Unless the operator reads elements as they are stored
/// (kElements), it sees the numbers that quantized operands stand for; the results come out as numbers. Throws Failure
/// if the arguments are not valid.
void infer_types(Node& node);

/// As infer_types for a node that reads the elements of its operands, whatever these stand for.
void infer_elements(Node& node);

/// The types that infer_types finds. The node keeps those that it has.
std::vector<Type> inferred_types(Node& node);

/// Whether a result for which infer_types found `inferred` may have the type `stated`, apart from sizes and layout: it
/// may be quantized.
bool may_be_stored_as(const OpDef& op, const Type& inferred, const Type& stated);

}  // namespace wick::compiler
