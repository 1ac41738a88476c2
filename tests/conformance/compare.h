// Does a tensor hold what eager says?
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/op_def.h"
#include "wick/module.h"

namespace wick::conformance {

using compiler::Tolerance;

/// The largest finite magnitude of floating or complex elements; complex ones count as two.
double largest_element(const HostTensor& tensor);
/// What an operator's tolerances say of results like `want`: |got - want| <= absolute + relative * |want|.
Tolerance tolerance_of(const compiler::Tolerances& tolerances, const HostTensor& want);

/// "" if dtype, sizes and elements agree, else what differs first, with numbers. Elements listed in `quirks` must
/// differ.
std::string difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance,
                       const std::vector<size_t>& quirks = {});
/// Where `want` is NaN or infinite, `got` becomes it. Requires equal shapes.
void overlook_infinite(HostTensor& got, const HostTensor& want);
/// The largest difference of two elements; infinite where only one of them is finite. Requires equal shapes.
double largest_error(const HostTensor& got, const HostTensor& want);
/// difference() for dtype and sizes only.
std::string shape_difference(const HostTensor& got, const HostTensor& want);

}  // namespace wick::conformance
