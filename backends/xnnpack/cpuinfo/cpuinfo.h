// What the XNNPACK library asks about an x86-64 processor: the instruction sets that processor and operating system
// both have. Stands in for the cpuinfo library when Wick builds XNNPACK; no file of Wick includes it. C99.
#pragma once
#if !defined(__x86_64__)
#error "this cpuinfo.h knows x86-64 only"
#endif
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

enum cpuinfo_uarch { cpuinfo_uarch_unknown, cpuinfo_uarch_zen, cpuinfo_uarch_dhyana, cpuinfo_uarch_zen4 };
struct cpuinfo_core {
  enum cpuinfo_uarch uarch;
};

/// Register `reg` (0 eax, 1 ebx, 2 ecx, 3 edx) of a CPUID leaf; 0 if the processor has no such leaf.
static inline uint32_t wick_cpuid(uint32_t leaf, uint32_t subleaf, int reg) {
  uint32_t regs[4];
  if (!__get_cpuid_count(leaf, subleaf, &regs[0], &regs[1], &regs[2], &regs[3])) return 0;
  if (leaf == 7 && subleaf > 0 && wick_cpuid(7, 0, 0) < subleaf) return 0;
  return regs[reg];
}

/// Does the operating system keep all register states of `mask` (bits of XCR0) across context switches?
static inline bool wick_os_saves(uint32_t mask) {
  if (!((wick_cpuid(1, 0, 2) >> 27) & 1)) return false;  // no xgetbv
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & mask) == mask;
}

// Bits of XCR0: 1 SSE, 2 AVX, 5-7 AVX-512, 17-18 AMX tiles.
#define WICK_STATE_NONE 0u
#define WICK_STATE_AVX 0x6u
#define WICK_STATE_AVX512 0xe6u
#define WICK_STATE_AMX 0x600e6u

#define WICK_CPUINFO_HAS(name, leaf, subleaf, reg, bit, state)                                                      \
  static inline bool cpuinfo_has_x86_##name(void) {                                                                 \
    return ((wick_cpuid(leaf, subleaf, reg) >> (bit)) & 1) && ((state) == WICK_STATE_NONE || wick_os_saves(state)); \
  }
WICK_CPUINFO_HAS(sse2, 1, 0, 3, 26, WICK_STATE_NONE)
WICK_CPUINFO_HAS(ssse3, 1, 0, 2, 9, WICK_STATE_NONE)
WICK_CPUINFO_HAS(sse4_1, 1, 0, 2, 19, WICK_STATE_NONE)
WICK_CPUINFO_HAS(fma3, 1, 0, 2, 12, WICK_STATE_AVX)
WICK_CPUINFO_HAS(avx, 1, 0, 2, 28, WICK_STATE_AVX)
WICK_CPUINFO_HAS(f16c, 1, 0, 2, 29, WICK_STATE_AVX)
WICK_CPUINFO_HAS(avx2, 7, 0, 1, 5, WICK_STATE_AVX)
WICK_CPUINFO_HAS(avx512f, 7, 0, 1, 16, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(avx512dq, 7, 0, 1, 17, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(avx512bw, 7, 0, 1, 30, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(avx512vl, 7, 0, 1, 31, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(avx512vbmi, 7, 0, 2, 1, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(gfni, 7, 0, 2, 8, WICK_STATE_NONE)
WICK_CPUINFO_HAS(avx512vnni, 7, 0, 2, 11, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(avx512fp16, 7, 0, 3, 23, WICK_STATE_AVX512)
WICK_CPUINFO_HAS(amx_int8, 7, 0, 3, 25, WICK_STATE_AMX)
WICK_CPUINFO_HAS(avxvnni, 7, 1, 0, 4, WICK_STATE_AVX)
WICK_CPUINFO_HAS(avx_vnni_int8, 7, 1, 3, 4, WICK_STATE_AVX)

static inline bool cpuinfo_initialize(void) { return true; }

/// All cores are of one kind. The AMD generations for which the library has tilings of their own.
static inline const struct cpuinfo_core* cpuinfo_get_core(uint32_t index) {
  static const struct cpuinfo_core cores[] = {
      {cpuinfo_uarch_unknown}, {cpuinfo_uarch_zen}, {cpuinfo_uarch_dhyana}, {cpuinfo_uarch_zen4}};
  const uint32_t signature = wick_cpuid(1, 0, 0);
  const uint32_t base_family = (signature >> 8) & 0xf;
  const uint32_t family = base_family == 0xf ? base_family + ((signature >> 20) & 0xff) : base_family;
  const uint32_t model = ((signature >> 12) & 0xf0) | ((signature >> 4) & 0xf);
  (void)index;
  if (family == 0x17) return &cores[cpuinfo_uarch_zen];
  if (family == 0x18) return &cores[cpuinfo_uarch_dhyana];
  if (family == 0x19 && ((model >= 0x10 && model < 0x20) || model >= 0x60)) return &cores[cpuinfo_uarch_zen4];
  return &cores[cpuinfo_uarch_unknown];
}
