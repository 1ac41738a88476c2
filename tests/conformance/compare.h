// Does a tensor hold what eager says?
#pragma once
#include <string>
#include <vector>

#include "wick/module.h"

namespace wick::conformance {

/// Elements agree if they are equal, both NaN, or finite with |got - want| <= absolute + relative * |want|.
struct Tolerance {
  double relative = 0, absolute = 0;
};

/// The tolerance of a dtype: exact for integers and bool; a few roundings of the dtype for floating point.
Tolerance tolerance_of(DType dtype);

/// The largest finite magnitude, 0 for integers.
double magnitude(const HostTensor& tensor);

/// "" if dtype, sizes and elements agree, else what differs first, with numbers. Elements listed in `quirks` must
/// differ.
std::string difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance,
                       const std::vector<size_t>& quirks = {});
/// The same for dtype and sizes only.
std::string shape_difference(const HostTensor& got, const HostTensor& want);

}  // namespace wick::conformance
