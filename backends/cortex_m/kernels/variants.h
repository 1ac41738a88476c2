// The tables of kernels by variant. C++17, freestanding.
#pragma once
#include "wick/cortex_m_backend.h"

namespace wick::cortex_m {

/// The specification of all: portable C++, on any target. cortex_m_kernels() is the table of the instruction set that
/// this build is for.
KernelTable reference_kernels();

}  // namespace wick::cortex_m
