// The inner loops of this build for cores without vectors: DSP if the processor has these instructions and
// WICK_CORTEX_M_SCALAR is not defined, else scalar. C++17, freestanding.
#pragma once

#if defined(__ARM_FEATURE_DSP) && !defined(WICK_CORTEX_M_SCALAR)
#include "backends/cortex_m/kernels/isa/dsp.h"
namespace wick::cortex_m::plain {
using Isa = Dsp;
}
#else
#include "backends/cortex_m/kernels/isa/scalar.h"
namespace wick::cortex_m::plain {
using Isa = Scalar;
}
#endif
