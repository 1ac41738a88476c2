// Compares a tensor with eager's result.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/op_def.h"
#include "wick/module.h"

namespace wick::conformance {

using compiler::Tolerance;

/// The largest finite magnitude of floating or complex elements; a complex element counts as two.
double largest_element(const HostTensor& tensor);
/// The tolerance for a result with the dtype and elements of `want`: |got - want| <= absolute + relative * |want|.
Tolerance tolerance_of(const compiler::Tolerances& tolerances, const HostTensor& want);

/// "" if dtype, sizes and elements agree within the tolerance; else a description of the first difference, with
/// numbers. Elements listed in `quirks` must differ.
std::string difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance,
                       const std::vector<size_t>& quirks = {});
/// Copies the elements of `want` that are NaN or infinite to `got`. Requires equal shapes.
void overlook_infinite(HostTensor& got, const HostTensor& want);
/// The largest difference of two elements; infinite where only one of them is finite. Requires equal shapes.
double largest_error(const HostTensor& got, const HostTensor& want);
/// difference() for dtype and sizes only.
std::string shape_difference(const HostTensor& got, const HostTensor& want);

}  // namespace wick::conformance
