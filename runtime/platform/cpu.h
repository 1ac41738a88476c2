// The instruction sets that the processor and the operating system support, and the limit that the user sets. Hosted.
#pragma once
#include <stdint.h>

#include "wick/kernel.h"

namespace wick {

/// Instruction sets of x86-64, each level with all before it.
enum class CpuLevel : uint8_t {
  baseline,  // SSE2
  sse4_1,    // and SSSE3
  avx,
  avx2,    // and FMA, F16C
  avx512,  // F, BW, DQ, VL
  native,  // whatever there is
};
inline constexpr const char* kCpuLevelNames[] = {"baseline", "sse4.1", "avx", "avx2", "avx512", "native"};
inline constexpr const char* kCpuLevelList = "baseline, sse4.1, avx, avx2, avx512 or native";

/// False if `text` names no level.
bool parse_cpu_level(const char* text, CpuLevel* level);

/// The highest level to use, from the environment variable WICK_CPU, which is read once. native if it is not set or
/// names no level. In the latter case `unknown` (unless null) becomes its text, else null.
CpuLevel cpu_limit(const char** unknown = nullptr);

/// The best level of this machine within cpu_limit(): avx512 needs F, BW, DQ, VL; avx2 needs AVX2, FMA, F16C; both need
/// their registers saved by the operating system. baseline on other architectures.
IsaLevel detect_isa_level();

}  // namespace wick
