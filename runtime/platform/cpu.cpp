#include "runtime/platform/cpu.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace wick {

bool parse_cpu_level(const char* text, CpuLevel* level) {
  for (uint8_t i = 0; i < sizeof kCpuLevelNames / sizeof *kCpuLevelNames; ++i) {
    if (strcmp(text, kCpuLevelNames[i]) != 0) continue;
    *level = static_cast<CpuLevel>(i);
    return true;
  }
  return false;
}

CpuLevel cpu_limit(const char** unknown) {
  struct Limit {
    Limit() {
      const char* text = getenv("WICK_CPU");
      if (text && *text && !parse_cpu_level(text, &level)) unknown = text;
    }
    CpuLevel level = CpuLevel::native;
    const char* unknown = nullptr;
  };
  static const Limit limit;
  if (unknown) *unknown = limit.unknown;
  return limit.level;
}

namespace {

IsaLevel within(CpuLevel limit, IsaLevel machine) {
  const IsaLevel most = limit >= CpuLevel::avx512 ? IsaLevel::avx512
                        : limit == CpuLevel::avx2 ? IsaLevel::avx2
                                                  : IsaLevel::baseline;
  return machine < most ? machine : most;
}

}  // namespace

#if defined(__x86_64__) || defined(__i386__)
namespace {

uint64_t read_xcr0() {
  uint32_t low;
  uint32_t high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool has_bits(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

IsaLevel machine_level() {
  constexpr uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;  // 1: ecx
  constexpr uint32_t kAvx2 = 1u << 5, kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;     // 7: ebx F DQ BW VL
  constexpr uint64_t kYmmSaved = 0x6, kZmmSaved = 0xe6;                                        // xcr0
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return IsaLevel::baseline;
  if (!has_bits(ecx, kFma | kOsxsave | kAvx | kF16c)) return IsaLevel::baseline;
  const uint64_t saved = read_xcr0();
  if (!has_bits(saved, kYmmSaved)) return IsaLevel::baseline;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !has_bits(ebx, kAvx2)) return IsaLevel::baseline;
  return has_bits(saved, kZmmSaved) && has_bits(ebx, kAvx512) ? IsaLevel::avx512 : IsaLevel::avx2;
}

}  // namespace
#else
namespace {
IsaLevel machine_level() { return IsaLevel::baseline; }
}  // namespace
#endif

IsaLevel detect_isa_level() { return within(cpu_limit(), machine_level()); }

}  // namespace wick
