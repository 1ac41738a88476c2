// Does a tensor hold what eager says?
#pragma once
#include <string>

#include "wick/module.h"

namespace wick::conformance {

/// Elements agree if they are equal, both NaN, or finite with |got - want| <= absolute + relative * |want|.
struct Tolerance {
  double relative = 0, absolute = 0;
};

/// The tolerance of a dtype: exact for integers and bool; a few roundings of the dtype for floating point.
Tolerance tolerance_of(DType dtype);

/// "" if dtype, sizes and elements agree, else what differs first, with numbers.
std::string difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance, bool shape_only);

}  // namespace wick::conformance
