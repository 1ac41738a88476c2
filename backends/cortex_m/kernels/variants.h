// The tables of kernels by variant. C++17, freestanding.
#pragma once
#include "wick/cortex_m_backend.h"

namespace wick::cortex_m {

/// The specification of all kernels: portable C++ for any target. cortex_m_kernels() is the table for the instruction
/// set of this build.
KernelTable reference_kernels();

}  // namespace wick::cortex_m
