// What the processor and the operating system allow kernels to use. Hosted.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// The best level of this machine: avx512 needs F, BW, DQ, VL; avx2 needs AVX2, FMA, F16C; both need their registers
/// saved by the operating system. baseline on other architectures.
IsaLevel detect_isa_level();

}  // namespace wick
