// Answers the XNNPACK library's questions about an x86-64 processor: the instruction sets that processor and operating
// system both have, up to the level that the environment variable WICK_CPU names (runtime/platform/cpu.h, whose levels
// these are). Stands in for the cpuinfo library when Wick builds XNNPACK; no file of Wick includes it. C99.
#pragma once
#if !defined(__x86_64__)
#error "this cpuinfo.h knows x86-64 only"
#endif
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum cpuinfo_uarch { cpuinfo_uarch_unknown, cpuinfo_uarch_zen, cpuinfo_uarch_dhyana, cpuinfo_uarch_zen4 };
struct cpuinfo_core {
  enum cpuinfo_uarch uarch;
};

enum wick_cpu_level {
  wick_cpu_baseline,
  wick_cpu_sse4_1,
  wick_cpu_avx,
  wick_cpu_avx2,
  wick_cpu_avx512,
  wick_cpu_native
};

static inline enum wick_cpu_level wick_cpu_limit(void) {
  static const char* const names[] = {"baseline", "sse4.1", "avx", "avx2", "avx512"};
  const char* text = getenv("WICK_CPU");
  for (int i = 0; text && i < wick_cpu_native; ++i) {
    if (strcmp(text, names[i]) == 0) return (enum wick_cpu_level)i;
  }
  return wick_cpu_native;
}

/// CPUID leaves, read once per thread; 0 where the processor has no such leaf. In virtual machines CPUID is slow.
struct wick_leaves {
  bool known;
  enum wick_cpu_level limit;
  uint32_t leaf1[4], leaf7[4], leaf7_1[4];  // eax, ebx, ecx, edx
  uint32_t saved;  // XCR0: register states that the operating system keeps across context switches
};

static inline void wick_read_leaf(uint32_t leaf, uint32_t subleaf, uint32_t regs[4]) {
  __cpuid_count(leaf, subleaf, regs[0], regs[1], regs[2], regs[3]);
}

static inline const struct wick_leaves* wick_cpuid(void) {
  static __thread struct wick_leaves leaves;
  if (leaves.known) return &leaves;
  leaves.known = true;
  leaves.limit = wick_cpu_limit();
  const uint32_t last = (uint32_t)__get_cpuid_max(0, 0);
  if (last >= 1) wick_read_leaf(1, 0, leaves.leaf1);
  if (last >= 7) wick_read_leaf(7, 0, leaves.leaf7);
  if (last >= 7 && leaves.leaf7[0] >= 1) wick_read_leaf(7, 1, leaves.leaf7_1);
  if ((leaves.leaf1[2] >> 27) & 1) {
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(leaves.saved), "=d"(high) : "c"(0));
  }
  return &leaves;
}

// Bits of XCR0: 1 SSE, 2 AVX, 5-7 AVX-512, 17-18 AMX tiles.
#define WICK_STATE_NONE 0u
#define WICK_STATE_AVX 0x6u
#define WICK_STATE_AVX512 0xe6u
#define WICK_STATE_AMX 0x600e6u

#define WICK_CPUINFO_HAS(name, leaf, reg, bit, state, level)                          \
  static inline bool cpuinfo_has_x86_##name(void) {                                   \
    const struct wick_leaves* leaves = wick_cpuid();                                  \
    return leaves->limit >= wick_cpu_##level && ((leaves->leaf[reg] >> (bit)) & 1) && \
           (leaves->saved & (state)) == (state);                                      \
  }
WICK_CPUINFO_HAS(sse2, leaf1, 3, 26, WICK_STATE_NONE, baseline)
WICK_CPUINFO_HAS(ssse3, leaf1, 2, 9, WICK_STATE_NONE, sse4_1)
WICK_CPUINFO_HAS(sse4_1, leaf1, 2, 19, WICK_STATE_NONE, sse4_1)
WICK_CPUINFO_HAS(fma3, leaf1, 2, 12, WICK_STATE_AVX, avx2)
WICK_CPUINFO_HAS(avx, leaf1, 2, 28, WICK_STATE_AVX, avx)
WICK_CPUINFO_HAS(f16c, leaf1, 2, 29, WICK_STATE_AVX, avx2)
WICK_CPUINFO_HAS(avx2, leaf7, 1, 5, WICK_STATE_AVX, avx2)
WICK_CPUINFO_HAS(avx512f, leaf7, 1, 16, WICK_STATE_AVX512, avx512)
WICK_CPUINFO_HAS(avx512dq, leaf7, 1, 17, WICK_STATE_AVX512, avx512)
WICK_CPUINFO_HAS(avx512bw, leaf7, 1, 30, WICK_STATE_AVX512, avx512)
WICK_CPUINFO_HAS(avx512vl, leaf7, 1, 31, WICK_STATE_AVX512, avx512)
WICK_CPUINFO_HAS(avx512vbmi, leaf7, 2, 1, WICK_STATE_AVX512, native)
WICK_CPUINFO_HAS(gfni, leaf7, 2, 8, WICK_STATE_NONE, native)
WICK_CPUINFO_HAS(avx512vnni, leaf7, 2, 11, WICK_STATE_AVX512, native)
WICK_CPUINFO_HAS(avx512fp16, leaf7, 3, 23, WICK_STATE_AVX512, native)
WICK_CPUINFO_HAS(amx_int8, leaf7, 3, 25, WICK_STATE_AMX, native)
WICK_CPUINFO_HAS(avxvnni, leaf7_1, 0, 4, WICK_STATE_AVX, native)
WICK_CPUINFO_HAS(avx_vnni_int8, leaf7_1, 3, 4, WICK_STATE_AVX, native)

static inline bool cpuinfo_initialize(void) { return true; }

/// All cores are of one kind. The AMD generations for which the library has tilings of their own.
static inline const struct cpuinfo_core* cpuinfo_get_core(uint32_t index) {
  static const struct cpuinfo_core cores[] = {
      {cpuinfo_uarch_unknown}, {cpuinfo_uarch_zen}, {cpuinfo_uarch_dhyana}, {cpuinfo_uarch_zen4}};
  const uint32_t signature = wick_cpuid()->leaf1[0];
  const uint32_t base_family = (signature >> 8) & 0xf;
  const uint32_t family = base_family == 0xf ? base_family + ((signature >> 20) & 0xff) : base_family;
  const uint32_t model = ((signature >> 12) & 0xf0) | ((signature >> 4) & 0xf);
  (void)index;
  if (family == 0x17) return &cores[cpuinfo_uarch_zen];
  if (family == 0x18) return &cores[cpuinfo_uarch_dhyana];
  if (family == 0x19 && ((model >= 0x10 && model < 0x20) || model >= 0x60)) return &cores[cpuinfo_uarch_zen4];
  return &cores[cpuinfo_uarch_unknown];
}
